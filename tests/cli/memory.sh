# Memory that a file or a setting asks for may be refused: an error, and never the program's end.
. tests/cli/lib.sh
faults=$(dirname "$METE")/mete_faults
if ! [ -x "$faults" ] || ! command -v python3 >/dev/null; then
    skip "no program whose memory can fail, or no python3"
    finish
fi
export METE_DATA=$tmp/data
python3 - "$tmp" <<'PY'
import json, os, struct, sys
at, n = sys.argv[1], 80000
with open(f"{at}/rows.csv", "w") as f:
    f.write("a,b,kind,who\n" + "".join(f"{i % 7},{i % 3},k{i % 5},u{i // 2}\n" for i in range(n)))
with open(f"{at}/images", "wb") as f:
    f.write(struct.pack(">IIII", 0x803, n, 1, 1) + bytes(i % 251 for i in range(n)))
for name, kind, code in (("labels", 0x801, "B"), ("writers", 0xc01, ">i")):
    with open(f"{at}/{name}", "wb") as f:
        f.write(struct.pack(">II", kind, n) + b"".join(struct.pack(code, i // 2 % (100 if code == "B" else n)) for i in range(n)))
os.makedirs(f"{at}/leaf/train")
users = [f"u{i}" for i in range(24000)]
json.dump({"users": users, "num_samples": [3] * len(users), "user_data":
           {u: {"x": [[.1], [.2], [.3]], "y": [0, 1, 2]} for u in users}}, open(f"{at}/leaf/train/a.json", "w"))
PY

# every NAME COMMAND...: each piece of more than 256 KiB is not there, in turn.
every() {
    local name=$1 n i rc
    shift
    rm -rf "$tmp/out"
    METE_FAULT_COUNT=$tmp/counts "$faults" "$@" >/dev/null 2>"$tmp/err" || bad "$name" "$(cat "$tmp/err")"
    rm -rf "$tmp/whole"
    mv "$tmp/out" "$tmp/whole"
    n=$(awk '$1 == "big" {print $2}' "$tmp/counts")
    [ "$n" -gt 2 ] || bad "$name" "only $n pieces of memory are large"
    for ((i = 1; i <= n; i++)); do
        rm -rf "$tmp/out"
        METE_FAULT=big:$i:ENOMEM "$faults" "$@" >/dev/null 2>"$tmp/err"
        rc=$?
        # Exit 0 where it does without: qsort sorts in place when it must.
        if [ $rc -eq 0 ] && diff -r "$tmp/out" "$tmp/whole" >"$tmp/err"; then
            continue
        elif [ $rc -ne 1 ] || ! grep -q "no memory" "$tmp/err"; then
            bad "$name" "large piece $i of $n: exit $rc: $(cat "$tmp/err")"
            return
        fi
    done
    pass
}
every "a table" data import table "$tmp/rows.csv" --label kind --user who -o "$tmp/out"
every "a table that is standardised" data import table "$tmp/rows.csv" --label kind --user who \
    --set standardise=yes -o "$tmp/out"
every "LEAF" data import leaf "$tmp/leaf" --set classes=3 --set kind=rows -o "$tmp/out"
every "IDX" data import idx "$tmp/images" "$tmp/labels" --set writers="$tmp/writers" -o "$tmp/out"
every "made images" data sheet glyphs:classes=500 -o "$tmp/out"
finish
