# What commands print is what they printed when somebody last looked (tests/golden/exact.py).
. tests/cli/lib.sh
if ! command -v python3 >/dev/null; then
    skip "python3 compares outputs, and is not here"
    finish
fi
if ! "$(dirname "$METE")/fixture_db" "$tmp/x.db" 2>"$tmp/err"; then
    skip "no reports without SQLite: $(cat "$tmp/err")"
    finish
fi
python3 tests/golden/exact.py check "$METE"
