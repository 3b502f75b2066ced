# mete adapt and mete predict: datasets, tables, arrays and images that were never imported get the
# same answer, one at a time and all at once; and what is refused leaves nothing behind.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/.." && pwd)
case $METE in /*) ;; *) METE=$PWD/$METE ;; esac
cd "$tmp" || exit 1
export METE_DATA=
nothing() { same "$1: nothing is half written" "" "$(ls x.* 2>/dev/null)"; }

# ---- people in a table ----
"$here/people_table" people.csv --people 30 --rows 20 --known 0.5
ok "a table of people" "$METE" data import table people.csv --label activity --user person -o data/people
ok "a model that compares" "$METE" train people:6s@300 --method protonet --net mlp --set train.steps=100 --threads 1 -o runs/protonet
ok "one with a head" "$METE" train people:6s@300 --method maml --net mlp --set train.steps=50 --threads 1 -o runs/maml
ok "adapt" "$METE" adapt runs/protonet data/people --user p007 -o me.safetensors
same "says to what" "me.safetensors: adapted to 10 labels of p007" "$(cat out)"
ok "as C" "$METE" adapt runs/protonet data/people --user p007 -o me.c
ok "by name of the format" "$METE" adapt runs/maml data/people --user p007 --format onnx -o onnx.bin
ok "predictions of one person" "$METE" predict runs/protonet data/people --user p007 -o one.csv --save saved.safetensors
same "say what they are" "20 items in one.csv, adapted to 10 labels" "$(cat out)"
ok "the model they came from is" cmp saved.safetensors me.safetensors
same "their columns" item,line,user,label,predicted,entropy,p_climb,p_cycle,p_run,p_sit,p_walk "$(head -1 one.csv)"
same "a known label stands beside" 10 "$(awk -F, 'NR > 1 && $4 != ""' one.csv | wc -l)"
same "probabilities add up to 1" 20 "$(awk -F, 'NR > 1 {s = $7 + $8 + $9 + $10 + $11; if (s > 0.99999 && s < 1.00001) n++} END {print n}' one.csv)"
same "the class is the most likely, by its name" 20 "$(awk -F, 'NR == 1 {for (i = 7; i <= NF; i++) name[i] = substr($i, 3); next}
    {b = 7; for (i = 7; i <= NF; i++) if ($i > $b) b = i; n += name[b] == $5} END {print n}' one.csv)"
ok "predictions of everybody" "$METE" predict runs/protonet data/people --user all -o all.csv
same "each by their own model" "600 items in all.csv, adapted to 300 labels of 30 people" "$(cat out)"
ok "the same as of one" cmp one.csv <(grep -e ^item -e ,p007, all.csv)
ok "rows that were never imported" "$METE" predict me.safetensors people.csv -o rows.csv
ok "get the dataset's answers" cmp <(tail -n +2 one.csv | cut -d, -f5-) <(tail -n +142 rows.csv | head -20 | cut -d, -f2-)
ok "and a dataset those of the model as it is" "$METE" predict me.safetensors data/people -o whole.csv
ok "which are those of its rows" cmp <(cut -d, -f5- whole.csv) <(cut -d, -f2- rows.csv)
ok "a model for all" "$METE" predict runs/maml data/people -o maml.csv
same "is measured by what is known" 1 "$(grep -c 'right of 300 whose label is known' out)"
ok "a model for all, of rows" "$METE" predict runs/maml people.csv -o x.csv
ok "is the same" cmp <(cut -d, -f5- maml.csv) <(cut -d, -f2- x.csv)
rm x.csv

# One at a time, in another order of columns, between other separators, compressed.
worst=0
for line in 2 77 145 599; do
    { head -1 people.csv; sed -n ${line}p people.csv; } >single.csv
    "$METE" predict me.safetensors single.csv -o single.out >/dev/null 2>err || worst=1
    [ "$(tail -1 single.out | cut -d, -f2-)" = "$(sed -n ${line}p rows.csv | cut -d, -f2-)" ] || worst=1
done
same "one at a time as all at once" 0 "$worst"
awk -F, -v OFS=';' '{print $11, $10, $9, $8, $7, "x" NR, $6, $5, $4, $3, $2, $1}' people.csv | gzip >turned.csv.gz
if "$METE" predict me.safetensors turned.csv.gz -o turned.out 2>err >/dev/null; then
    ok "columns in any order" cmp turned.out rows.csv
else
    grep -q libarchive err && skip "built without libarchive" || bad "columns in any order" "$(cat err)"
fi

# ---- somebody new, and somebody of whom nothing is known ----
ok "somebody new" sh -c "'$here/people_table' new.csv --people 2 --rows 10 --first 30"
ok "imported like those before" "$METE" data import table new.csv --label activity --user person --set like=data/people -o data/new
refuses "nothing is known of them" 2 "p030: no item has a label yet; 'mete label next'" "$METE" adapt runs/protonet data/new --user p030 -o x.safetensors
refuses "and so no class" 2 "knows no classes before it is adapted" "$METE" predict runs/protonet data/new --user p030 -o x.csv
nothing "unknown people"
ok "all the same by a model that has them" "$METE" predict runs/maml data/new --user p030 -o new.out
ok "questions" "$METE" label next runs/protonet data/new --user p030 --n 3 -o ask.csv
awk -F, 'FNR == NR {t[$1] = $2; next} {print $0 (FNR > 1 ? t[$1] : "")}' new.csv.truth ask.csv >answers.csv
ok "answers" "$METE" label import data/new answers.csv
ok "predictions for those who answered" "$METE" predict runs/protonet data/new --user all -o new.out
same "and the others are counted" "10 items in new.out, adapted to 3 labels; without a label and left out: 1" "$(cat out)"

# ---- NumPy ----
for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
    python=
done
if [ "$python" ]; then
    "$python" - <<'PY'
import csv, json, numpy
columns = json.load(open("data/people/meta.json"))["columns"]
rows = list(csv.DictReader(open("people.csv")))
x = [[float(r[c["name"]] or "nan") if c["kind"] == "number" else float(r[c["name"]] == w)
      for c in columns for w in c.get("words", [""])] for r in rows]
numpy.save("raw.npy", numpy.array(x))
numpy.save("raw32.npy", numpy.array(x, "f4"))
numpy.save("wide.npy", numpy.zeros((3, 12)))
numpy.save("pixels.npy", numpy.zeros((3, 11), "u1"))
x[5][3] = float("inf")
numpy.save("bad.npy", numpy.array(x))
PY
    ok "an array" "$METE" predict me.safetensors raw.npy -o array.out
    ok "gets the rows' answers" cmp <(cut -d, -f2- array.out) <(cut -d, -f2- rows.csv)
    ok "of floats, too" "$METE" predict me.safetensors raw32.npy -o array.out
    ok "the same classes" cmp <(cut -d, -f2 array.out) <(cut -d, -f2 rows.csv)
    refuses "too many features" 2 "expected rows of 11 features" "$METE" predict me.safetensors wide.npy -o x.csv
    refuses "pixels" 2 "pixels.npy: holds uint8" "$METE" predict me.safetensors pixels.npy -o x.csv
    refuses "infinity" 1 "bad.npy: row 5: value 3 is inf" "$METE" predict me.safetensors bad.npy -o x.csv
else
    skip "NumPy is not installed (python3-numpy)"
fi

# ---- images ----
cat >images.py <<'PY'
import os, random, struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for k, name in enumerate("abc"):
    os.makedirs("photos/" + name)
    for i in range(20):
        r = random.Random(100 * k + i)
        rows = b"".join(b"\0" + bytes(255 if r.random() < 0.1 + 0.3 * ((x * k // 4 + y) % 2) else 0 for x in range(28)) for y in range(28))
        with open("photos/%s/%02d.png" % (name, i), "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)) +
                    chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
PY
python3 images.py
if "$METE" data import folder photos -o data/photos 2>err >out; then
    ok "a model of images" "$METE" train glyphs:3w-5s@300 --method protonet --threads 1 -o runs/photos \
        --set train.steps=5 --set net.filters=8 --set test.tasks=20
    ok "adapted" "$METE" adapt runs/photos data/photos -o photos.safetensors
    ok "of a dataset" "$METE" predict photos.safetensors data/photos -o photos.csv
    ok "of a folder" "$METE" predict photos.safetensors ./photos -o folder.csv
    ok "is the same" cmp <(cut -d, -f4- photos.csv) <(cut -d, -f2- folder.csv)
    same "and says the file" a/00.png "$(sed -n 2p folder.csv | cut -d, -f1)"
    tar cf photos.tar photos
    ok "of an archive" "$METE" predict photos.safetensors photos.tar -o archive.csv
    ok "is the same, in the archive's order" cmp <(cut -d, -f2- archive.csv | sort) <(cut -d, -f2- folder.csv | sort)
    ok "of one image" "$METE" predict photos.safetensors photos/b/07.png -o image.csv
    ok "the same, too" cmp <(tail -1 image.csv | cut -d, -f2-) <(grep '^b/07' folder.csv | cut -d, -f2-)
    mkdir none && echo >none/notes.md
    refuses "a folder without images" 1 "none: holds no .png or .jpg" "$METE" predict photos.safetensors none -o x.csv
    echo text >photos/c/19.png
    refuses "an image that is none" 1 "photos/c/19.png: expected a PNG or JPEG" "$METE" predict photos.safetensors ./photos -o x.csv
    refuses "a table" 2 "people.csv is a table" "$METE" predict photos.safetensors people.csv -o x.csv
    refuses "other images" 2 "takes items of 28 x 28 x 1" "$METE" predict photos.safetensors data/people -o x.csv
    nothing "images"
else
    grep -q libpng err && skip "built without libpng" || bad "images are imported" "$(cat err)"
fi

# ---- what cannot be ----
sed '40s/,[^,]*,\([^,]*\)$/,red,\1/' people.csv >word.csv
refuses "a word for a number" 1 "word.csv:40:" "$METE" predict me.safetensors word.csv -o x.csv
cut -d, -f1-5,7- people.csv >short.csv
refuses "a column that is not there" 1 "no column 's3', which the model takes" "$METE" predict me.safetensors short.csv -o x.csv
sed '9s/$/,1/' people.csv >long.csv
refuses "a field too many" 1 "long.csv:9:" "$METE" predict me.safetensors long.csv -o x.csv
: >empty.csv
refuses "an empty table" 1 "empty.csv" "$METE" predict me.safetensors empty.csv -o x.csv
refuses "no file" 2 "no such file, and no dataset" "$METE" predict me.safetensors nope.csv -o x.csv
refuses "no model" 1 "cannot read nope" "$METE" predict nope.safetensors people.csv -o x.csv
refuses "a model that is a table" 1 "not a safetensors file" "$METE" predict people.csv people.csv -o x.csv
refuses "nowhere" 2 "-o FILE" "$METE" predict me.safetensors people.csv
refuses "no such folder" 1 "cannot write no/x.csv" "$METE" predict me.safetensors people.csv -o no/x.csv
refuses "over what is read" 2 "write over" "$METE" predict me.safetensors people.csv -o people.csv
refuses "over the model" 2 "write over" "$METE" predict me.safetensors people.csv -o me.safetensors
refuses "one over the other" 2 "write over" "$METE" predict me.safetensors people.csv -o x.onnx --save x.onnx
refuses "a user of a table" 2 "people.csv is no dataset" "$METE" predict me.safetensors people.csv --user p007 -o x.csv
refuses "nobody by that name" 2 "did you mean 'p007'?" "$METE" predict runs/protonet data/people --user p07 -o x.csv
refuses "whose model is saved" 2 "each person has another" "$METE" predict runs/protonet data/people --user all -o x.csv --save x.onnx
refuses "a format" 2 "expected one that ends in .onnx" "$METE" predict me.safetensors people.csv -o x.csv --save x.bin
refuses "statistics of the others" 2 "no setting named 'bn'" "$METE" predict me.safetensors people.csv -o x.csv --set bn=batch
refuses "for whom" 2 "say who, --user NAME" "$METE" adapt runs/protonet data/people -o x.onnx
refuses "everybody" 2 "no user 'all'" "$METE" adapt runs/protonet data/people --user all -o x.onnx
refuses "adapted to nowhere" 2 "-o FILE" "$METE" adapt runs/protonet data/people --user p007
refuses "on no data" 2 "no dataset 'nope'" "$METE" adapt runs/protonet nope -o x.onnx
nothing "what cannot be"
finish
