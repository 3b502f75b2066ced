# A sample of tests/kill_answers: imports of answers that are killed lose nothing that was confirmed
# and charge nothing twice.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/.." && pwd)
if command -v python3 >/dev/null; then
    ok "30 kills" "$here/kill_answers" "$METE" 30
    cat "$tmp/out" >&2
else
    skip "Python is missing"
fi
finish
