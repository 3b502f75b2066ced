# From people without a label to a model for each of them: questions, answers, training, more
# questions, predictions, exports.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/.." && pwd)
case $METE in /*) ;; *) METE=$PWD/$METE ;; esac
cd "$tmp" || exit 1
field() { awk -F, -v n="$2" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == n) c = i; next} {print $c}' "$1"; }
# Fills in the true label of every question: what people do. FILE OUT [WHO]
answer() {
    awk -F, -v who="${3-}" 'FNR == NR {truth[$1] = $2; next}
        FNR == 1 {print $0 (who ? ",who" : ""); next}
        {print $0 truth[$1] (who ? "," who : "")}' people.csv.truth "$1" >"$2"
}

"$here/people_table" people.csv --people 40 --rows 24
ok "people without a label" "$METE" data import table people.csv --label activity --user person \
    --set classes=climb,cycle,run,sit,walk -o data/people

# ---- questions without a model ----
ok "the first questions" "$METE" label next data/people --user all --n 6 -o ask.csv
same "they are told" "240 questions to 40 people, chosen by kmeans, in ask.csv" "$(cat out)"
same "their columns" item,line,user,round,cluster,entropy,label "$(head -1 ask.csv)"
same "six of everybody" "40 6 6" "$(field ask.csv user | sort | uniq -c | awk '{n++; if (!m || $1 < m) m = $1; if ($1 > x) x = $1} END {print n, m, x}')"
same "none twice" 240 "$(field ask.csv item | sort -u | wc -l)"
same "of different clusters" 6 "$(grep ,p007, ask.csv | cut -d, -f5 | sort -u | wc -l)"
same "a line is that of the table" 0 "$(awk -F, 'FNR == NR {user[FNR] = $1; next} FNR > 1 && user[$2] != $3' people.csv ask.csv | wc -l)"
ok "the same again" "$METE" label next data/people --user all --n 6 -o again.csv
ok "is the same" cmp ask.csv again.csv
ok "another seed" "$METE" label next data/people --user all --n 6 --seed 1 -o other.csv
same "is not" 1 "$(cmp -s ask.csv other.csv; echo $?)"
ok "within a total" "$METE" label next data/people --user all --n 6 --labels-left 50 -o few.csv
same "of all together" 50 "$(field few.csv item | wc -l)"
ok "of one" "$METE" label next data/people --user p007 --n 3 --labels kcenter -o one.csv
same "of whom all are" "p007 p007 p007" "$(field one.csv user | xargs)"
refuses "nobody by that name" 2 "did you mean 'p007'?" "$METE" label next data/people --user p07 -o x.csv
refuses "whom to ask" 2 "--user all" "$METE" label next data/people -o x.csv
refuses "where to" 2 "-o FILE" "$METE" label next data/people --user all
refuses "a strategy that asks a model" 2 "there is none" "$METE" label next data/people --user all --labels active -o x.csv
refuses "one that knows the answers" 2 "true labels" "$METE" label next data/people --user all --labels stratified -o x.csv
refuses "data whose labels are known" 2 "nobody to ask" "$METE" label next glyphs-users --user 1 -o x.csv
refuses "no questions" 2 "--n: expected 1 question or more" "$METE" label next data/people --user all --n 0 -o x.csv
refuses "none for all" 2 "--labels-left: expected" "$METE" label next data/people --user all --labels-left 0 -o x.csv
same "nothing is half written" "" "$(ls x.csv* 2>/dev/null)"

# ---- answers ----
answer ask.csv answers.csv
sed '3s/,[a-z]*$/,wlak/' answers.csv >bad.csv
refuses "an unknown class" 2 "bad.csv:3:$(sed -n 3p bad.csv | awk '{print index($0, "wlak")}'): no class 'wlak'; did you mean 'walk'?" \
    "$METE" label import data/people bad.csv
sed '5s/p0[0-9]*/p039/' answers.csv >bad.csv
refuses "an item of somebody else" 1 "bad.csv:5:" "$METE" label import data/people bad.csv
sed '6s/^[0-9]*,/960,/' answers.csv >bad.csv
refuses "an item that is not there" 1 "bad.csv:6:1: no item 960" "$METE" label import data/people bad.csv
sed '6s/^\([0-9]*\),[0-9]*,/\1,7,/' answers.csv >bad.csv
refuses "another line" 1 "bad.csv:6:" "$METE" label import data/people bad.csv
{ cat answers.csv; sed -n 2p answers.csv | sed 's/,[a-z]*$/,climb/'; sed -n 2p answers.csv | sed 's/,[a-z]*$/,sit/'; } >bad.csv
refuses "a contradiction" 2 "bad.csv:24" "$METE" label import data/people bad.csv
{ sed -n 1p answers.csv | sed 's/$/,label/'; sed -n 2p answers.csv | sed 's/$/,sit/'; } >bad.csv
refuses "two columns of labels" 1 "bad.csv:1:44: a second column named 'label'" "$METE" label import data/people bad.csv
refuses "a cost below nothing" 2 "--cost: expected" "$METE" label import data/people answers.csv --cost -2
refuses "a cost that is no number" 2 "--cost: expected" "$METE" label import data/people answers.csv --cost nan
refuses "a budget without end" 2 "--budget: expected" "$METE" label status data/people --budget inf
refuses "a file without labels" 1 "no column 'item'" "$METE" label import data/people people.csv.truth
same "and nothing was taken" no "$([ -s data/people/answers.log ] && echo yes || echo no)"
cp answers.csv before
refuses "questions over answers that nobody took" 2 "answers.csv:2: an answer that was not imported" \
    "$METE" label next data/people --user p001 -o answers.csv
ok "which are still there" cmp before answers.csv
ok "a budget" "$METE" label status data/people --budget 500
ok "answers" "$METE" label import data/people answers.csv --by ann
same "they are charged" "240 labels added; charged 240, spent 240 of 500" "$(cat out)"
cp data/people/answers.log before
# As a spreadsheet saves it where the comma is a decimal point.
{ printf '\357\273\277'; sed 's/,/;/g; s/$/\r/' answers.csv; } >again.csv
ok "the same file again, from a spreadsheet" "$METE" label import data/people again.csv --by ann
same "costs nothing" "0 labels added, 240 known before; charged 0, spent 240 of 500" "$(cat out)"
ok "and changes nothing" cmp before data/people/answers.log
sed '2s/,[a-z]*$/,sit/; 3s/,[a-z]*$/,run/; 4s/,[a-z]*$/,walk/' answers.csv >bad.csv
refuses "another answer than the one that stands" 2 "by ann, and now" "$METE" label import data/people bad.csv
cp answers.csv over.csv
ok "questions over answers that were taken" "$METE" label next data/people --user p001 -o over.csv
ok "where the people are" "$METE" label status data/people
same "in words" "spent     240 of 500 labels; 260 left" "$(grep spent out | head -1)"
same "a line for each" 40 "$(grep -c '^p0' out)"
ok "in JSON" "$METE" label status data/people --json
command -v python3 >/dev/null && same "that is JSON" "240 500 40 6" "$(python3 -c '
import json; s = json.load(open("out")); print(s["answered"], s["budget"], len(s["each"]), s["each"][7]["answered"])')"
ok "a second round" "$METE" label next data/people --user p007 --n 2 -o two.csv
same "is the second" "2 2" "$(field two.csv round | xargs)"
same "of what was not asked" 0 "$(field two.csv item | grep -cxF "$(field ask.csv item)")"
sed '2s/$/?/' two.csv >unknown.csv
ok "who does not know" "$METE" label import data/people unknown.csv --by p007 --cost 0.5
same "is paid, and the other question waits" "0 labels added, 1 not known, 1 not answered; charged 0.5, spent 240.5 of 500" "$(cat out)"
ok "and is not asked again" "$METE" label next data/people --user p007 --n 24 -o rest.csv
same "but about all else" 17 "$(field rest.csv item | wc -l)"
ok "a budget that is nearly spent" "$METE" label status data/people --budget 243
ok "leaves few questions" "$METE" label next data/people --user all -o left.csv
same "of all people" 2 "$(field left.csv item | wc -l)"
answer rest.csv over.csv
refuses "and no more answers" 1 "over.csv: " "$METE" label import data/people over.csv
ok "a budget below what is spent" "$METE" label status data/people --budget 3
same "leaves nothing" "spent     240.5 of 3 labels; 0 left" "$(grep spent out | head -1)"
ok "no budget" "$METE" label status data/people --budget none

# ---- Label Studio ----
ok "questions as tasks" "$METE" label next data/people --user p001 --n 3 --format label-studio -o ask.json
if command -v python3 >/dev/null; then
    python3 - <<'PY'
import json
tasks, truth = json.load(open("ask.json")), [r.strip().split(",")[1] for r in open("people.csv.truth")][1:]
rows = [r.rstrip("\n").split(",") for r in open("people.csv")]
for t in tasks:
    d = t["data"]
    row = rows[int(d["line"]) - 1]
    assert d["user"] == row[0] == "p001" and d["device"] == row[1], (d, row)
    assert all(c == "" or float(c) == d["s%d" % i] for i, c in enumerate(row[2:10])), (d, row)
    t["annotations"] = [{"completed_by": {"id": 3, "email": "eve@example.org"}, "was_cancelled": False, "result": [
        {"from_name": "activity", "to_name": "row", "type": "choices", "value": {"choices": [truth[d["item"]]]}}]}]
tasks[2]["annotations"][0]["was_cancelled"] = True
json.dump(tasks, open("done.json", "w"), indent=1)
tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = ["nap"]
json.dump(tasks, open("nap.json", "w"), indent=1)
json.dump([{"item": tasks[2]["data"]["item"], "user": "p001", "label": truth[tasks[2]["data"]["item"]], "annotator": 3}], open("min.json", "w"))
PY
    refuses "a class it does not know" 2 "nap.json:$(grep -n '"nap"' nap.json | cut -d: -f1):" "$METE" label import data/people nap.json
    ok "what was annotated" "$METE" label import data/people done.json
    same "but what was cancelled" "2 labels added, 1 not answered; charged 2, spent 242.5" "$(cat out)"
    same "by whom" 2 "$(grep -c 'eve@example.org' data/people/answers.log)"
    ok "the short form" "$METE" label import data/people min.json
    same "too" "1 label added; charged 1, spent 243.5" "$(cat out)"
    ok "classes that come up" "$METE" label next data/people --user p002 --n 1 -o new.csv
    sed -i '2s/$/swim/' new.csv
    refuses "are refused" 2 "no class 'swim'" "$METE" label import data/people new.csv
    ok "unless they are wanted" "$METE" label import data/people new.csv --new-classes
    same "and are new" 6 "$("$METE" data info data/people --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["classes"])')"
fi
finish
