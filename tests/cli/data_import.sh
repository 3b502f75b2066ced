# mete data import: the user's own data in, and what must not be left behind.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/people.csv" <<'CSV'
age,height,hospital,sick
10,1.5,north,no
20,2.5,south,yes
30,3.5,north,no
CSV
import() { "$METE" data import "$@"; }
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

ok "a table" import table "$tmp/people.csv" --label sick --user hospital -o "$tmp/people"
ok "into a folder that is made" import table "$tmp/people.csv" --label sick --set ignore=hospital -o "$tmp/new/er/people"
same "its items" 3 "$("$METE" data info "$tmp/people" --json | field items)"
same "its users" 2 "$("$METE" data info "$tmp/people" --json | field users)"
same "its shape" "[1, 1, 2]" "$("$METE" data info "$tmp/people" --json | field shape)"
ok "its checksum" "$METE" data info "$tmp/people" --check
refuses "a sheet of rows" 2 "rows of numbers" "$METE" data sheet "$tmp/people" -o "$tmp/x.png"
refuses "an existing target" 2 "exists already" import table "$tmp/people.csv" --label sick -o "$tmp/people"
same "which is left alone" 2 "$("$METE" data info "$tmp/people" --json | field users)"
ok "unless forced" import table "$tmp/people.csv" --label sick --set ignore=hospital --force -o "$tmp/people"
same "then it is replaced" 0 "$("$METE" data info "$tmp/people" --json | field users)"
mkdir "$tmp/precious" && echo x >"$tmp/precious/file"
refuses "a folder that is no dataset is never replaced" 2 "will not be replaced" \
    import table "$tmp/people.csv" --label sick --force -o "$tmp/precious"
same "and keeps its file" x "$(cat "$tmp/precious/file")"

refuses "no kind" 2 "data import takes KIND" import
refuses "unknown kind" 2 "did you mean 'table'" import tabel "$tmp/people.csv" -o "$tmp/no"
refuses "no target" 2 "-o DIR" import table "$tmp/people.csv" --label sick
refuses "too few paths" 2 "omniglot takes" import omniglot -o "$tmp/no"
refuses "unknown setting" 2 "did you mean 'label'" import table "$tmp/people.csv" --set labl=x -o "$tmp/no"
refuses "unknown column" 2 "people.csv:1:1: no column 'sck' for the label; did you mean 'sick'?" \
    import table "$tmp/people.csv" --label sck -o "$tmp/no"
refuses "no file" 1 "none.csv" import table "$tmp/none.csv" --label sick -o "$tmp/no"
refuses "no archive" 1 "archive" import omniglot "$tmp/people.csv" -o "$tmp/no"
refuses "no folder to write in" 1 "people.csv" import table "$tmp/people.csv" --label sick -o "$tmp/people.csv/x"
same "no refusal leaves anything" 0 "$(find "$tmp" -maxdepth 1 -name 'no*' | wc -l)"

# NumPy opens what was written, and what NumPy writes is read
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    /usr/bin/python3 - "$tmp" <<'PY'
import numpy, sys
x = numpy.load(sys.argv[1] + "/people/x.npy", mmap_mode="r")
y = numpy.load(sys.argv[1] + "/people/y.npy")
print(x.shape, x.dtype, y.tolist(), file=open(sys.argv[1] + "/numpy", "w"))
numpy.savez_compressed(sys.argv[1] + "/own.npz", x=numpy.arange(2 * 4 * 4, dtype="uint8").reshape(2, 4, 4),
                       y=numpy.array([3, 4]), user=numpy.array([8, 8]))
PY
    same "NumPy opens it" "(3, 2) float32 [0, 1, 0]" "$(cat "$tmp/numpy")"
    if import arrays "$tmp/own.npz" -o "$tmp/own" 2>&1 | grep -q "needs libarchive"; then
        skip "built without libarchive"
    else
        same "an npz of NumPy's" "[4, 4, 1]" "$("$METE" data info "$tmp/own" --json | field shape)"
    fi
else
    skip "no NumPy"
fi

# a killed import leaves nothing that looks complete
mkfifo "$tmp/pipe"
{ cat "$tmp/people.csv"; for i in $(seq 3000); do echo "$i,1,north,no"; done; sleep 30; } >"$tmp/pipe" &
feeder=$!
"$METE" data import table "$tmp/pipe" --label sick --user hospital -o "$tmp/killed" 2>/dev/null &
victim=$!
for _ in $(seq 100); do
    ls "$tmp"/killed.tmp/x.npy >/dev/null 2>&1 && break
    sleep 0.05
done
kill -9 $victim
wait $victim 2>/dev/null
kill $feeder 2>/dev/null
wait $feeder 2>/dev/null
same "a killed import has no target" no "$([ -e "$tmp/killed" ] && echo yes || echo no)"
left=$tmp/killed.tmp
same "but it had begun" yes "$([ -d "$left" ] && echo yes || echo no)"
refuses "and what it leaves cannot be opened" 2 "import was not finished" "$METE" data info "$left"
ok "nor is it in the way" import table "$tmp/people.csv" --label sick --user hospital -o "$tmp/killed"
same "and is removed by the next import" no "$([ -e "$left" ] && echo yes || echo no)"
mkdir "$tmp/precious2.tmp" && echo x >"$tmp/precious2.tmp/file"
ok "a folder of that name is not ours" import table "$tmp/people.csv" --label sick --user hospital -o "$tmp/precious2"
same "and keeps its file, too" x "$(cat "$tmp/precious2.tmp/file")"

# a disk that is full: a limit on the size of files, and a small disk where one can be mounted
for i in $(seq 3000); do echo "$i,1,north,no"; done >>"$tmp/people.csv"
(
    trap '' XFSZ
    ulimit -f 8
    exec "$METE" data import table "$tmp/people.csv" --label sick --user hospital -o "$tmp/large"
) 2>"$tmp/err"
same "a file too large fails" 1 $?
same "in one sentence" 1 "$(grep -c 'cannot write x.npy of .*large: File too large' "$tmp/err")"
same "and leaves nothing" 0 "$(find "$tmp" -maxdepth 1 -name 'large*' | wc -l)"
mkdir "$tmp/disk"
if mount -t tmpfs -o size=16k tmpfs "$tmp/disk" 2>/dev/null; then
    refuses "a full disk fails" 1 "No space left on device" \
        import table "$tmp/people.csv" --label sick --user hospital -o "$tmp/disk/full"
    same "and leaves nothing on it" "" "$(ls "$tmp/disk")"
    umount "$tmp/disk"
else
    skip "no small disk can be mounted here"
fi
finish
