# mete stability and mete drift: small studies, and what cannot be studied.
. "$(dirname "$0")/lib.sh"
bench=glyphs:classes=30,drawers=12,size=16:5w-1s
small="--net mlp --set net.units=8 --tasks 8 --probed 2 --threads 1"
# shellcheck disable=SC2086 # $small is several words
stability() { "$METE" stability $small --set train.steps=5 --fresh 4 --removals 2 "$@"; }
# shellcheck disable=SC2086
drift() { "$METE" drift $small --device ref64 "$@"; }

ok "stability help" "$METE" stability --help
ok "stability" stability $bench --method reptile
same "a gap in two parts" yes "$(grep -q 'between tasks, .* within a task' "$tmp/out" && echo yes)"
same "the same twice" "$(stability $bench --json)" "$(stability $bench --json)"
stability $bench@300 --tasks 0 --json >"$tmp/budget.json"
same "a budget says how many tasks" 10 "$(grep -o '"n": [0-9]*' "$tmp/budget.json" | cut -d' ' -f2)"
if command -v python3 >/dev/null; then
    ok "json can be read" python3 -m json.tool "$tmp/budget.json"
else
    skip "no python3 to read the JSON with"
fi
refuses "no benchmark" 2 "needs one benchmark" stability
refuses "no budget, no tasks" 2 "has no label budget" stability $bench --tasks 0
refuses "one task" 2 "two training tasks or more, got 1" stability $bench --tasks 1
refuses "M of 0" 2 "M must be a number above 0" stability $bench --M 0
refuses "delta above 1" 2 "delta must lie in (0, 1]" stability $bench --delta 2
refuses "unknown method" 2 "no bound for a method named 'mamll'" stability $bench --method mamll
refuses "unknown setting" 2 "no setting named 'inner.rate'" stability $bench --set inner.rate=1

ok "drift help" "$METE" drift --help
csv=$(drift $bench --lr 0.0001,0.01 --steps 1,3 --csv)
same "a row for each pair" 5 "$(wc -l <<<"$csv")"
same "small steps point along the gradient" yes "$(awk -F, 'NR == 2 { print ($4 > 0.999) ? "yes" : $4 }' <<<"$csv")"
same "more steps, more drift" yes "$(awk -F, '$2 == 1 { one[$1] = $6 } $2 == 3 { print ($6 > one[$1]) ? "yes" : "no" }' \
    <<<"$csv" | sort -u)"
drift $bench --lr 0.01 --steps 2 --trained --set train.steps=5 --json >"$tmp/drift.json"
same "json" yes "$(grep -q '"lr": 0.01, "steps": 2, "tasks": 2' "$tmp/drift.json" && echo yes)"
refuses "a step size of 0" 2 "must be a number above 0" drift $bench --lr 0
refuses "half a step" 2 "expected whole numbers" drift $bench --steps 1.5
refuses "no numbers" 2 "expected numbers with commas" drift $bench --lr x
finish
