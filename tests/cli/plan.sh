# mete plan: what to do with so many labels.
. "$(dirname "$0")/lib.sh"
command -v sqlite3 >/dev/null || { skip "no sqlite3"; finish; }
"$METE" plan --help 2>/dev/null | grep -q DATA || { skip "no plans"; finish; }
USERS=glyphs-users:classes=4,users=40,images=24
SMALL="--net mlp --set net.hidden=1 --set net.units=8 --set train.steps=40 --methods protonet,reptile,tuned,nearest"
plan() { "$METE" plan "$@"; }

# shellcheck disable=SC2086
ok "a plan" plan $USERS --labels 120 $SMALL --db "$tmp/a.db" --target 50% --threads 1
cp "$tmp/out" "$tmp/one"
same "no line is longer than 80 columns" 0 "$(awk 'length > 80' "$tmp/one" | wc -l)"
same "it recommends" 1 "$(grep -c '^Buy ' "$tmp/one")"
same "and names a runner-up" 1 "$(grep -c '^Runner-up: ' "$tmp/one")"
same "five budgets" 5 "$(grep -cE '^ +[0-9,]+ +[0-9,]+ +[0-9]+ +[0-9.]+ +[0-9.]+ to ' "$tmp/one")"
same "the test part is not looked at" 0 \
    "$(sqlite3 "$tmp/a.db" "SELECT count(*) FROM settings WHERE key = 'test.part' AND value = 'test'")"
same "all of its runs ended" 0 "$(sqlite3 "$tmp/a.db" "SELECT count(*) FROM runs WHERE status != 'done'")"
command=$(sed -n '/^To carry it out/,$p' "$tmp/one" | tail -n +2 | sed 's/\\$//' | tr -d '\n')
ok "its command works" eval "${command/mete/\"\$METE\"} -o $tmp/run"
# shellcheck disable=SC2086
ok "on two threads" plan $USERS --labels 120 $SMALL --db "$tmp/b.db" --target 50% --threads 2
same "the same plan" "$(cat "$tmp/one")" "$(cat "$tmp/out")"
# shellcheck disable=SC2086
ok "as JSON, from the same runs" plan $USERS --labels 120 $SMALL --db "$tmp/a.db" --json
same "which is JSON" mete-plan "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["format"])' <"$tmp/out")"

# killed at any moment, it goes on to the same plan
# shellcheck disable=SC2086
for seconds in 0.3 0.9 1.5; do
    "$METE" plan $USERS --labels 120 $SMALL --db "$tmp/c.db" --threads 1 >"$tmp/killed" 2>&1 &
    pid=$!
    sleep "$seconds"
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
done
# shellcheck disable=SC2086
ok "a plan that was killed three times" plan $USERS --labels 120 $SMALL --db "$tmp/c.db" --target 50%
same "is the plan" "$(cat "$tmp/one")" "$(cat "$tmp/out")"

# what cannot be
refuses "no labels" 2 "a plan needs a whole number of labels" "$METE" plan $USERS
refuses "below one task" 2 "does not pay for one task of 10 labels (5 ways, 1 shot and its query); ask for 10 or more" \
    "$METE" plan glyphs:5w-1s --labels 8
refuses "more people than there are" 2 "has 40 people" "$METE" plan $USERS --labels 100 --people 41
refuses "nobody to validate on" 2 "leaves nobody to validate on; ask at most 36" "$METE" plan $USERS --labels 100 --people 40
refuses "people of classes" 2 "has no people" "$METE" plan glyphs:5w-1s --labels 100 --people 5
refuses "more labels than items" 2 "items in all; ask for at most as many" "$METE" plan $USERS --labels 100000
refuses "a budget twice" 2 "--labels says it" "$METE" plan glyphs:5w-1s@2K --labels 100
refuses "a setting of nobody" 2 "no method that the plan compares has that setting" "$METE" plan $USERS --labels 100 --set inner.lx=3
refuses "a setting that it decides" 2 "a plan decides that itself" "$METE" plan $USERS --labels 100 --set method=maml
refuses "a method of nobody" 2 "none of them is one that plans compare" "$METE" plan $USERS --labels 100 --methods mmal
refuses "a target that is none" 2 "expected an accuracy" "$METE" plan $USERS --labels 100 --target high
refuses "a price that is none" 2 "expected a number above 0" "$METE" plan $USERS --labels 100 --price much
# shellcheck disable=SC2086
ok "a target above any curve" plan $USERS --labels 120 $SMALL --db "$tmp/a.db" --target 99.9%
same "is said to be" 1 "$(grep -c 'is above what the curve reaches' "$tmp/out")"

refuses "a time that is none" 2 "expected a number of minutes above 0" "$METE" plan $USERS --labels 100 --minutes -3
# shellcheck disable=SC2086
ok "a little time" plan $USERS --labels 100 $SMALL --methods protonet,nearest --set train.steps=60 --minutes 0.0001 --db "$tmp/m.db"
same "means fewer steps" 1 "$(grep -c 'Runs were of 30 training steps' "$tmp/out")"
same "and it is said how long it takes" 1 "$(grep -c 'Planning takes about' "$tmp/err")"
same "the plan is in the database" 1 "$(sqlite3 "$tmp/m.db" "SELECT count(*) FROM plans WHERE text LIKE '%a plan for 100 labels%'")"

refuses "a billion labels and more" 2 "at most a billion" "$METE" plan $USERS --labels 1e12
refuses "a page that cannot be written" 2 "cannot be written" "$METE" plan $USERS --labels 100 -o "$tmp/no/plan.html"
# shellcheck disable=SC2086
ok "three labels" plan $USERS --labels 3 $SMALL --methods protonet,fedavg --set train.steps=10 --db "$tmp/t.db"
same "make no curve" 1 "$(grep -cE '^ +[0-9,]+ +[0-9,]+ +[0-9]+ +[0-9.]+ +[0-9.]+ to ' "$tmp/out")"

# as a page, and in the report of its database
# shellcheck disable=SC2086
ok "a page" plan $USERS --labels 120 $SMALL --methods protonet,nearest --db "$tmp/p.db" -o "$tmp/plan.html"
ok "has the words" grep -q 'a plan for 120 labels' "$tmp/plan.html"
same "a cell of the map for each number of people and of labels" \
    "$(sqlite3 "$tmp/p.db" "SELECT count(*) FROM plan_points WHERE kind = 'map'")" "$(grep -c '<rect class="k0 m"' "$tmp/plan.html")"
same "an interval at each budget of the curve" 0 \
    "$(sqlite3 "$tmp/p.db" "SELECT count(*) FROM plan_points WHERE kind = 'curve' AND (low IS NULL OR low > accuracy OR high < accuracy)")"
ok "a report" "$METE" report "$tmp/p.db" -o "$tmp/report.html"
same "has the plan" 1 "$(grep -c '<section id="plans">' "$tmp/report.html")"

# nothing answered yet: from a prior; some answered: from those, and beyond
people() { # NAME SHARE [PEOPLE]
    tests/people_table "$tmp/$1.csv" --people "${3:-40}" --known "$2" &&
        "$METE" data import table "$tmp/$1.csv" --label activity --user person --set standardise=yes -o "$tmp/$1" >/dev/null 2>&1
}
ok "people who have answered nothing" people none 0
ok "a plan for them" plan "$tmp/none" --labels 800 --db "$tmp/n.db"
same "says that it is a prior" 1 "$(grep -c 'No label is known' "$tmp/out")"
same "and what to ask first" 1 "$(grep -c 'mete label next .*--labels-left 200' "$tmp/out")"
ok "as JSON" plan "$tmp/none" --labels 800 --db "$tmp/n.db" --json
same "the same" prior "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["case"])' <"$tmp/out")"
ok "people who have answered a little" people few 0.2
ok "a plan for more" plan "$tmp/few" --labels 950 --methods reptile --set net.units=8 --set train.steps=40 --db "$tmp/w.db"
same "goes beyond what is known" 1 "$(grep -c 'all that are known; beyond is' "$tmp/out")"
same "and asks for a pilot" 1 "$(grep -c 'labels first, then ask again' "$tmp/out")"
same "no longer than 80 columns" 0 "$(awk 'length > 80 && !/mete label/' "$tmp/out" | wc -l)"
ok "a dozen people who have" people dozen 0.2 12
ok "a plan for little more" plan "$tmp/dozen" --labels 150 --methods reptile --set net.units=8 --set train.steps=40 --db "$tmp/d.db"
same "is too vague to decide by" 1 "$(tr '\n' ' ' <"$tmp/out" | grep -c 'leaves an interval too wide')"

# beside the full grid
# shellcheck disable=SC2086
ok "how good it is" plan eval $USERS --labels 120 $SMALL --methods protonet,tuned --db "$tmp/a.db" --seeds 1
same "the best of the grid is no worse" 1 "$(grep -cE '^the plan .* [0-9.]+% +[0-9.]+ ' "$tmp/out")"
work=$(sed -nE "s/.*runs took ([0-9]+) % of the grid's work.*/\1/p" <(tr '\n' ' ' <"$tmp/out"))
same "a share of the grid's work is said" yes "$([ "${work:-0}" -gt 0 ] && echo yes)"
same "four advisors" 4 "$(grep -c "with the plan's method" "$tmp/out")"
same "of the test part" 0 "$(sqlite3 "$tmp/a.db" "SELECT count(*) FROM settings JOIN suite_runs USING (run) JOIN suites USING (suite) WHERE name LIKE '%grid%' AND key = 'test.part' AND value != 'test'")"
finish
