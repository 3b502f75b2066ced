# mete stability and mete drift: small studies, and what cannot be studied.
. "$(dirname "$0")/lib.sh"
bench=glyphs:classes=60,drawers=10,size=16:5w-1s
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
refuses "no benchmark" 2 "stability takes BENCH, got nothing" stability
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

if "$METE" run suites/theory.yaml --print-config 2>&1 | grep -q "build again" ||
    "$METE" results "$tmp/none.db" 2>&1 | grep -q "build again"; then
    skip "built without SQLite or YAML: no suites"
else
    cat >"$tmp/study.yaml" <<YAML
name: tiny-theory
study: stability
base: {net: mlp, net.units: 8, train.steps: 4, train.meta_batch: 4, theory.fresh: 4, theory.removals: 2, theory.probed: 1}
axes:
  theory.tasks: [4, 9, 16]
  bench: ["$bench", "${bench%1s}3s"]
method: x
YAML
    refuses "a suite's mistakes are named" 2 "a suite has no 'method'" "$METE" run "$tmp/study.yaml" --db "$tmp/t.db"
    sed -i '/^method/d' "$tmp/study.yaml"
    ok "a suite of studies" "$METE" run "$tmp/study.yaml" --db "$tmp/t.db"
    ok "again: nothing left to do" "$METE" run "$tmp/study.yaml" --db "$tmp/t.db"
    same "it says so" yes "$(grep -q '6 done, 0 failed, 0 to do' "$tmp/err" && echo yes)"
    ok "results of a study" "$METE" results "$tmp/t.db"
    same "are its measures" yes "$(grep -qE '^  gap +6( +-?[0-9.e-]+){3}$' "$tmp/out" && echo yes)"
    same "within 80 columns" "" "$(awk 'length > 80' "$tmp/out")"
    ok "for a program" "$METE" results "$tmp/t.db" --format csv
    same "a line each" 103 "$(wc -l <"$tmp/out")"
    ok "the shape" "$METE" stability fit "$tmp/t.db"
    same "of the gap, by n and m" yes "$(grep -A9 '^maml, random labels, glyphs' "$tmp/out" | grep -q '^  gap  *6 .*±.*±.*±' && echo yes)"
    ok "its dry run" "$METE" run "$tmp/study.yaml" --dry-run
    cat >"$tmp/drift.yaml" <<YAML
name: tiny-drift
study: drift
base: {bench: "$bench", method: maml, net: mlp, net.units: 8, train.steps: 4, train.meta_batch: 4, task.query: 5, theory.tasks: 8, theory.probed: 2}
axes: {theory.trained: [no, yes], theory.lr: [0.001, 0.1], theory.steps: [1, 3]}
YAML
    refuses "drift of another method" 2 "drift is about reptile, got 'maml'" "$METE" run "$tmp/drift.yaml" --db "$tmp/d.db"
    sed -i 's/method: maml/method: reptile/' "$tmp/drift.yaml"
    ok "a suite of drift" "$METE" run "$tmp/drift.yaml" --db "$tmp/d.db" --device ref64
    ok "its dry run" "$METE" run "$tmp/drift.yaml" --dry-run
    if command -v sqlite3 >/dev/null; then
        for trained in "" --trained; do
            # shellcheck disable=SC2086 # none, or one word
            drift $bench $trained --lr 0.001,0.1 --steps 1,3 --csv --set train.steps=4 --set train.meta_batch=4 |
                awk -F, 'NR > 1 { printf "%.6g %d %.6g %.6g\n", $1, $2, $4, $6 }' >"$tmp/by-command"
            sqlite3 -separator ' ' "$tmp/d.db" "SELECT printf('%.6g', a.value), CAST(b.value AS INTEGER),
                printf('%.6g', c.value), printf('%.6g', d.value) FROM measures t JOIN measures a USING (run)
                JOIN measures b USING (run) JOIN measures c USING (run) JOIN measures d USING (run)
                WHERE t.name = 'trained' AND t.value = ${trained:+1}+0 AND a.name = 'lr' AND b.name = 'steps'
                AND c.name = 'cosine' AND d.name = 'deviation' ORDER BY a.value, b.value" >"$tmp/by-suite"
            ok "the suite measures what the command does (${trained:-initial weights})" \
                cmp "$tmp/by-command" "$tmp/by-suite"
        done
        # killed at random moments, a suite of studies goes on and measures the same
        measures_of() { sqlite3 "$1" "SELECT r.id, m.name, m.value, m.half FROM runs r JOIN measures m USING (run)
            ORDER BY 1, 2"; }
        for _ in 1 2 3 4; do
            "$METE" run "$tmp/study.yaml" --db "$tmp/killed.db" --threads 1 >/dev/null 2>&1 &
            pid=$!
            sleep "0.0$((RANDOM % 10))"
            kill -9 $pid 2>/dev/null
            wait $pid 2>/dev/null
        done
        ok "a killed suite of studies goes on" "$METE" run "$tmp/study.yaml" --db "$tmp/killed.db"
        measures_of "$tmp/t.db" >"$tmp/undisturbed"
        measures_of "$tmp/killed.db" >"$tmp/killed"
        ok "and measures the same" cmp "$tmp/undisturbed" "$tmp/killed"
        same "all of it" 102 "$(wc -l <"$tmp/killed")"
    else
        skip "no sqlite3 to compare measures with"
    fi
    same "the shipped suites resolve" "90 64" "$(for s in theory theory-drift; do
        "$METE" run suites/$s.yaml --dry-run 2>&1 | grep -oE '[0-9]+ runs' | head -n 1 | cut -d' ' -f1
    done | paste -sd' ')"
    sed -i 's/^study: stability/study: stabilty/' "$tmp/study.yaml"
    refuses "another study" 2 "study: expected stability or drift, got 'stabilty'" "$METE" run "$tmp/study.yaml" --db "$tmp/t.db"
    sed /^study/d "$tmp/study.yaml" >"$tmp/training.yaml"
    refuses "theory settings of a training suite" 2 "no setting named 'theory." "$METE" run "$tmp/training.yaml" --db "$tmp/u.db"
fi
finish
