# A suite: the same results for any number of threads, after kills, and shared by
# two processes; and what cannot be run is refused before any work.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/same_results.sh.inc"
command -v sqlite3 >/dev/null || { skip "no sqlite3"; finish; }
"$METE" run --help 2>/dev/null | grep -q SUITE || bad "help" "no help"
# SUITE_SET="--set train.steps=600" KILLS=50 makes the killing thorough
suite="tests/suites/tiny.yaml ${SUITE_SET:-}"

ok "one thread" "$METE" run $suite --db "$tmp/one.db" --threads 1
results_of "$tmp/one.db" >"$tmp/one"
same "all runs are done" 12 "$(grep -c '^run|.*|done$' "$tmp/one")"
same "a line for each run that is done" 12 "$(grep -cE '^(reptile|maml|protonet) · (random|active) · seed [12] +[0-9.]+ % +[0-9]+ labels +[0-9]+ s$' "$tmp/err")"
if git -C "$(dirname "$0")" rev-parse 2>/dev/null; then # built since: of what commit, is not asked
    ok "the database names a commit" grep -Eqx '[0-9a-f]{7,40}(-dirty)?' <(sqlite3 "$tmp/one.db" \
        "SELECT DISTINCT json_extract(json, '$.commit') FROM environments")
fi
same "every curve starts before the first step, with no label bought and no loss" 12 \
    "$(sqlite3 "$tmp/one.db" "SELECT count(*) FROM checkpoints WHERE step = 0 AND labels_used = 0 AND train_loss IS NULL")"

for threads in 2 4; do
    ok "$threads threads" "$METE" run $suite --db "$tmp/$threads.db" --threads $threads
    results_of "$tmp/$threads.db" >"$tmp/$threads"
    ok "the results of $threads threads are those of one" cmp "$tmp/one" "$tmp/$threads"
done

# kill -9 at random moments, then let it finish; a finished run keeps its starting time
finished() { sqlite3 "$1" "SELECT id, started FROM runs JOIN times USING (run) ORDER BY id" 2>/dev/null; }
kills=${KILLS:-8}
for ((i = 0; i < kills; i++)); do
    "$METE" run $suite --db "$tmp/killed.db" --threads 2 >/dev/null 2>&1 &
    pid=$!
    sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    finished "$tmp/killed.db" >"$tmp/done.$i"
done
ok "a killed suite goes on" "$METE" run $suite --db "$tmp/killed.db" --threads 2
results_of "$tmp/killed.db" >"$tmp/killed"
ok "its results are those of an undisturbed one" cmp "$tmp/one" "$tmp/killed"
finished "$tmp/killed.db" >"$tmp/done"
same "no finished run was repeated" "" "$(cat "$tmp"/done.* | sort -u | comm -23 - "$tmp/done")"

# two processes on one database
"$METE" run $suite --db "$tmp/shared.db" --threads 1 >"$tmp/first" 2>&1 &
pid=$!
ok "a second process" "$METE" run $suite --db "$tmp/shared.db" --threads 1
wait $pid
ok "the rest" "$METE" run $suite --db "$tmp/shared.db" --threads 1
results_of "$tmp/shared.db" >"$tmp/shared"
ok "two processes give the same results" cmp "$tmp/one" "$tmp/shared"

# a part of a suite: the suite is planned whole, and the rest comes later
ok "a part" "$METE" run $suite --db "$tmp/part.db" --threads 2 --only method=protonet --only labels='rand*'
same "only what was asked for" "protonet|random" "$(sqlite3 "$tmp/part.db" "SELECT DISTINCT method, labels FROM runs WHERE status = 'done'")"
ok "the rest of it" "$METE" run $suite --db "$tmp/part.db" --threads 2
results_of "$tmp/part.db" >"$tmp/part"
ok "in parts, the same results" cmp "$tmp/one" "$tmp/part"
refuses "nothing fits" 2 "no run fits" "$METE" run $suite --db "$tmp/x.db" --only method=nosuch
refuses "launches shared without a GPU" 2 "add --device cuda" "$METE" run $suite --db "$tmp/x.db" --together 4
refuses "launches shared on a CPU" 2 "add --runs 8 --device cuda" "$METE" speed --runs 2 --together 2 --seconds 0.1
refuses "launches shared by no number" 2 "needs a value" "$METE" speed --runs 2 --together
refuses "a part without a pattern" 2 "KEY=PATTERN" "$METE" run $suite --db "$tmp/x.db" --only protonet

# new numbers for a bought task's classes: another model, the same for any number of threads
for threads in 1 2; do
    ok "relabelled, $threads" "$METE" train glyphs:5w-1s@500 --method maml --set net.filters=4 --set train.steps=12 \
        --set test.tasks=20 --set val_tasks=20 --set train.relabel=yes --threads $threads -o "$tmp/relabel$threads"
done
ok "as they were numbered" "$METE" train glyphs:5w-1s@500 --method maml --set net.filters=4 --set train.steps=12 \
    --set test.tasks=20 --set val_tasks=20 --threads 1 -o "$tmp/relabel0"
# the weights alone: the header says how they were trained
weights() { tail -c 3000 "$1/last.safetensors" | cksum; }
same "relabelled alike" "$(weights "$tmp/relabel1")" "$(weights "$tmp/relabel2")"
ok "and not as before" test "$(weights "$tmp/relabel1")" != "$(weights "$tmp/relabel0")"
refuses "users' classes keep their numbers" 2 "same for all users" "$METE" train glyphs-users:users=40:1s@500 \
    --set train.relabel=yes -o "$tmp/relabel3"

ok "drawn anew" "$METE" train glyphs:5w-1s@500 --method protonet --set net.filters=4 --set train.steps=12 \
    --set test.tasks=20 --set val_tasks=20 --set train.resplit=yes --threads 1 -o "$tmp/resplit"
ok "as they were split" "$METE" train glyphs:5w-1s@500 --method protonet --set net.filters=4 --set train.steps=12 \
    --set test.tasks=20 --set val_tasks=20 --threads 1 -o "$tmp/resplit0"
ok "which is another model" test "$(weights "$tmp/resplit")" != "$(weights "$tmp/resplit0")"
refuses "labels that are not paid for" 2 "not paid for" "$METE" train glyphs:5w-1s@500 \
    --set train.resplit=yes --set budget.charge=support -o "$tmp/resplit1"

ok "made anew of bought points" "$METE" train glyphs:5w-1s@500 --method protonet --set net.filters=4 --set train.steps=12 \
    --set test.tasks=20 --set val_tasks=20 --set train.remix=yes --threads 1 -o "$tmp/remix"
ok "with two threads" "$METE" train glyphs:5w-1s@500 --method protonet --set net.filters=4 --set train.steps=12 \
    --set test.tasks=20 --set val_tasks=20 --set train.remix=yes --threads 2 -o "$tmp/remix2"
ok "which is another model" test "$(weights "$tmp/remix")" != "$(weights "$tmp/resplit0")"
ok "and the same" test "$(weights "$tmp/remix")" = "$(weights "$tmp/remix2")"
refuses "points of people" 2 "stay theirs" "$METE" train glyphs-users:users=40:1s@500 \
    --set train.remix=yes -o "$tmp/remix3"
refuses "labels that are not paid for, mixed" 2 "not paid for" "$METE" train glyphs:5w-1s@500 \
    --set train.remix=yes --set budget.charge=support -o "$tmp/remix4"

# refusals
bench() { printf 'name: x\nbase: {train.steps: 2}\naxes:\n  bench: ["%s"]\n' "$1" >"$tmp/bad.yaml"; }
bench "glyphs:classes=60:500w-1s@1M"
refuses "more ways than classes" 2 "bad.yaml:4:" "$METE" run "$tmp/bad.yaml" --db "$tmp/x.db"
bench "glyphs:classes=60:5w-100s@1M"
refuses "more shots than points" 2 "bad.yaml:4:" "$METE" run "$tmp/bad.yaml" --db "$tmp/x.db"
bench "glyphs:classes=20:5w-1s@1K"
refuses "too few classes to validate on" 2 "of the 3 val classes" "$METE" run "$tmp/bad.yaml" --db "$tmp/x.db"
bench "glyphs:classes=60:5w-1s@3"
refuses "a budget below one task" 2 "does not pay for one task" "$METE" run "$tmp/bad.yaml" --db "$tmp/x.db"
bench "nosuchset:5w-1s@1K"
refuses "a missing dataset" 2 "nosuchset" "$METE" run "$tmp/bad.yaml" --db "$tmp/x.db"
printf 'name: x\nbase: {train.stepz: 2}\naxes:\n  bench: ["glyphs:5w-1s@1K"]\n' >"$tmp/bad.yaml"
refuses "an unknown key" 2 "train.steps" "$METE" run "$tmp/bad.yaml" --db "$tmp/x.db"
printf 'name: x\nbase: {train.steps: many}\naxes:\n  bench: ["glyphs:5w-1s@1K"]\n' >"$tmp/bad.yaml"
refuses "a wrong type" 2 "bad.yaml:2:" "$METE" run "$tmp/bad.yaml" --db "$tmp/x.db"
refuses "a missing suite" 1 "no-such.yaml" "$METE" run "$tmp/no-such.yaml" --db "$tmp/x.db"
same "no database was made by what was refused" "no" "$([ -e "$tmp/x.db" ] && echo yes || echo no)"

# a long run saves itself soon and again, and a killed one can go on from there
"$METE" train glyphs:5w-1s@500 --method protonet --set net.filters=4 --set train.steps=1000000 --set validate_every=5 \
    --set val_tasks=5 --threads 1 -o "$tmp/long" >/dev/null 2>&1 &
saved=
for i in $(seq 200); do
    now=$(stat -c %i "$tmp/long/checkpoint.safetensors" 2>/dev/null) # written anew, it is another file
    [ -n "$now" ] && [ -n "$saved" ] && [ "$now" != "$saved" ] && break
    saved=${now:-$saved}
    sleep 0.1
done
kill -9 $! && wait $! 2>/dev/null
ok "a checkpoint, and a later one" test -n "$now" -a "$now" != "$saved"

# a checkpoint that is no good
id=$(sqlite3 "$tmp/one.db" "SELECT id FROM runs ORDER BY run LIMIT 1")
mkdir -p "$tmp/broken.db.runs/$id"
echo garbage >"$tmp/broken.db.runs/$id/checkpoint.safetensors"
ok "a corrupt checkpoint" "$METE" run $suite --db "$tmp/broken.db" --threads 2
same "it is kept aside" yes "$([ -e "$tmp/broken.db.runs/$id/checkpoint.safetensors.unusable" ] && echo yes)"
results_of "$tmp/broken.db" >"$tmp/broken"
ok "and the run starts anew" cmp "$tmp/one" "$tmp/broken"

# a full disk: a sentence, and what was finished stays readable
if mkdir "$tmp/small" && mount -t tmpfs -o size=600k tmpfs "$tmp/small" 2>/dev/null; then
    "$METE" run $suite --db "$tmp/small/full.db" --threads 1 2>"$tmp/said"
    same "a full disk fails" 1 $?
    ok "and is named" grep -Eqi "disk is full|no space left" "$tmp/said"
    ok "the database is whole" sqlite3 "$tmp/small/full.db" "PRAGMA integrity_check"
    umount "$tmp/small"
else
    skip "cannot mount a small disk here"
fi
cp "$tmp/one.db" "$tmp/newer.db"
sqlite3 "$tmp/newer.db" "PRAGMA user_version = 999"
refuses "a newer database" 1 "newer.db" "$METE" run $suite --db "$tmp/newer.db"
finish
