# A suite's database, number by number, computed again with NumPy from the runs' own models and
# the tasks that `mete tasks` names.
. tests/cli/lib.sh
for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
    python=
done
if [ -z "$python" ]; then
    skip "NumPy is not installed (python3-numpy)"
    finish
fi
export METE_DATA=$tmp/data
mkdir -p "$METE_DATA"
ok "tables are made" "$python" tests/golden/recompute.py make "$tmp"
ok "a table is imported" "$METE" data import table "$tmp/plain.csv" --label label -o "$METE_DATA/plain"
ok "a table of people is imported" "$METE" data import table "$tmp/people.csv" --label label --user who \
    --set standardise=yes -o "$METE_DATA/people"
ok "the suite runs" "$METE" run tests/suites/golden.yaml --db "$tmp/golden.db" --threads 1
ok "every number is computed again" "$python" tests/golden/recompute.py check "$METE" "$tmp/golden.db" "$METE_DATA"
cat "$tmp/out" >&2
finish
