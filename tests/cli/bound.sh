# mete bound: one point, sweeps, budgets, and what is out of its domain.
. "$(dirname "$0")/lib.sh"
bound() { "$METE" bound "$@"; }
field() { # the value of column $1 in row $2 (1: the first) of the CSV on stdin
    awk -F, -v name="$1" -v row="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
        NR == row + 1 { print $at }'
}

ok "help" bound --help
ok "one point" bound --method maml --n 1000
ok "json" bound --method reptile --n 1000 --m 10 --sweep delta=1e-12:1:log --json
if command -v python3 >/dev/null; then
    cp "$tmp/out" "$tmp/rows.json"
    ok "json can be read" python3 -m json.tool "$tmp/rows.json"
else
    skip "no python3 to read the JSON with"
fi

# Theorem 2 by hand: 2*0.01 + (4*100*0.01 + 1) sqrt(ln 2 / 200) = 0.31435250562886867...
same "a known stability" 0.314352505628 "$(bound --method maml --n 100 --delta 0.5 --outer-beta 0.01 --csv |
    field bound 1 | cut -c1-14)"
same "reptile adds twice beta" 0.514352505628 "$(bound --method reptile --n 100 --m 9 --delta 0.5 --outer-beta 0.01 \
    --inner-beta 0.1 --csv | field bound 1 | cut -c1-14)"

csv=$(bound --method reptile --m 10 --sweep n=10:1e6:log --csv)
same "a sweep has 21 points and a header" 22 "$(wc -l <<<"$csv")"
same "it starts where it was told to" 10 "$(field n 1 <<<"$csv")"
same "and ends there" 1000000 "$(field n 21 <<<"$csv")"
same "the bound falls with n" yes "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "bound") at = i }
    NR == 2 { last = $at } NR > 2 { if (!($at < last)) bad = 1; last = $at } END { print bad ? "no" : "yes" }' <<<"$csv")"
same "small n is vacuous" yes "$(field vacuous 1 <<<"$csv")"
same "large n is not" no "$(field vacuous 21 <<<"$csv")"
same "a grid" 7 "$(bound --method fedavg --sweep n=10:1000:log:3 --sweep m=5:6:2 --csv | wc -l)"
same "whole numbers only once" 4 "$(bound --method maml --sweep n=2:4:21 --csv | wc -l)"

csv=$(bound --method reptile --budget 10000 --query 3 --task-cost 2.5 --csv)
same "a budget is not passed" yes "$(awk -v n="$(field n 1 <<<"$csv")" -v m="$(field m 1 <<<"$csv")" \
    'BEGIN { print n * (m + 5.5) <= 10000 ? "yes" : "no" }')"
same "the held-out bound wants many small tasks" 500,5 \
    "$(bound --method maml --budget 10000 --query 15 --m 5 --csv | cut -d, -f1,2 | tail -n 1)"

same "a broken assumption is named" "outer-range outer-step outer-adam" \
    "$(bound --method maml --n 10 --M 2 --outer-adam --outer-T 10 --outer-lr 1 --outer-c 1 --csv | field broken 1)"
same "rescaling mends the range" "" "$(bound --method maml --n 10 --M 2 --rescale --csv | field broken 1)"

refuses "no method" 2 "bound needs --method" bound --n 5
refuses "unknown method" 2 "no bound for a method named 'sgd'" bound --method sgd --n 5
refuses "n below 2" 2 "n, the number of tasks, must be a whole number of at least 2, got 1" bound --method maml --n 1
refuses "m below 2" 2 "m, the number of points per task," bound --method reptile --n 5 --m 1
refuses "delta 0" 2 "delta must lie in (0, 1], got 0" bound --method maml --n 5 --delta 0
refuses "delta above 1" 2 "delta must lie in (0, 1], got 1.1" bound --method maml --n 5 --delta 1.1
refuses "a negative constant" 2 "inner gamma must be a number of at least 0, got -1" bound --method maml --n 5 --inner-gamma -1
refuses "M below the loss seen" 2 "M = 1 is below the largest loss seen, 2.3" bound --method maml --n 5 --loss-seen 2.3
refuses "a small budget" 2 "does not pay for two tasks" bound --method maml --budget 30 --query 15
refuses "n and a budget" 2 "not both" bound --method maml --budget 30 --n 4
refuses "a sweep of nothing" 2 "no number named 'k'" bound --method maml --sweep k=1:2
refuses "a sweep of one end" 2 "expected NAME=FROM:TO" bound --method maml --sweep n=5
refuses "a log sweep from 0" 2 "above 0" bound --method maml --sweep n=0:5:log
refuses "a sweep out of the domain prints no rows" 2 "got 1" bound --method maml --sweep n=5:1:5
same "nothing on stdout then" "" "$(cat "$tmp/out")"

if /usr/bin/python3 -c 'import mpmath' 2>/dev/null; then
    /usr/bin/python3 tests/golden/bound.py >"$tmp/golden.csv"
    ok "the committed table is what its script makes" cmp "$tmp/golden.csv" tests/golden/bound.csv
else
    skip "no mpmath to make the golden table with"
fi
finish
