# python.sh - the Python package, with the library of this build: pytest of tests/python.
set -u
cd "$(dirname "$0")/../.." || exit 1
export METE_LIBRARY="${METE_LIBRARY:-$(dirname "$(realpath "$METE")")/libmete.so}" PYTHONDONTWRITEBYTECODE=1
python=${PYTHON:-/usr/bin/python3} # Debian's, which has the packages
skip() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
[ -e "$METE_LIBRARY" ] || skip "this build has no libmete.so"
"$python" -c "import numpy, pytest" 2>/dev/null || skip "Python, NumPy or pytest is missing"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m pytest -q -rs -p no:cacheprovider --basetemp "$scratch/tmp" tests/python "$@" >"$scratch/log" 2>&1
rc=$?
count() { grep -oE "[0-9]+ $1" <<<"$(tail -n 1 "$scratch/log")" | grep -oE '^[0-9]+' || echo 0; }
failed=$(($(count failed) + $(count error)))
[ $rc -eq 0 ] || cat "$scratch/log"
[ $rc -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
sed -n 's/^SKIPPED \[[0-9]*\] /skipped: /p' "$scratch/log"
echo "$(count passed) passed, $failed failed, $(count skipped) skipped"
[ "$failed" -eq 0 ]
