# The quick start in a terminal of 80 columns: what it prints fits, and the verdict agrees with the
# table and with the database.  QUICK_FULL=1 runs all of it and holds it to what it should show:
# every method's validation rises by 8 points, and no 95 % interval is 12 points wide.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || { skip "no python3"; finish; }
"$METE" run --help 2>/dev/null | grep -q SUITE || { skip "no suites here"; finish; }
set --
[ -n "${QUICK_FULL:-}" ] || set -- --seeds 3 --set train.steps=20 --set train.validate_every=10 --set train.val_tasks=10 \
    --set test.tasks=30 --set net.filters=8
ok "the quick start" python3 "$(dirname "$0")/../report/check_quick.py" "$METE" "$tmp" "$@"
finish
