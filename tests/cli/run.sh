# mete run: how it ends, what it says on the way, and how it goes on.
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")
command -v sqlite3 >/dev/null || { skip "no sqlite3"; finish; }
if ! "$METE" run tests/suites/tiny.yaml --print-config >/dev/null 2>&1; then
    skip "built without YAML or SQLite"
    finish
fi
suite="tests/suites/tiny.yaml"
tests_done() { sqlite3 "$1" "SELECT count(*) FROM runs WHERE status = 'done'"; }
claimed() { sqlite3 "$1" "SELECT count(*) FROM runs WHERE status = 'running'"; }

# a summary
ok "a suite" "$METE" run $suite --db "$tmp/a.db" --only method=protonet
same "ends with what was done" "4 of 4 runs done; 4 now, with " "$(grep -o '^4 of 4 runs done; 4 now, with ' "$tmp/err")"
same "and what to do next" "Next: mete results $tmp/a.db" "$(grep '^Next' "$tmp/err")"
ok "again" "$METE" run $suite --db "$tmp/a.db" --only method=protonet
same "with nothing left" "4 of 4 runs done." "$(grep 'runs done' "$tmp/err")"

# stopped in training and in tests, by Ctrl-C and by SIGTERM
cat >"$tmp/long.yaml" <<YAML
name: long
base: {bench: "glyphs:5w-1s@500", method: protonet, net.filters: 4, train.steps: 20, train.validate_every: 10, train.val_tasks: 20, test.tasks: 20000, test.shots: "1"}
axes: {labels: [random, stratified]}
seeds: 1
YAML
cat >"$tmp/train.yaml" <<YAML
name: train
base: {bench: "glyphs:5w-1s@500", method: protonet, net.filters: 4, train.steps: 100000, train.validate_every: 50, train.val_tasks: 20, test.tasks: 20, test.shots: "1"}
axes: {labels: [random, stratified]}
seeds: 1
YAML
if command -v python3 >/dev/null; then
    for case in "long testing 2 130 Ctrl-C" "long testing 15 143 SIGTERM" "train 100000, 2 130 Ctrl-C" "train 100000, 15 143 SIGTERM"; do
        read -r name stage number status word <<<"$case"
        rm -rf "$tmp/s.db"*
        SIGNAL_AFTER="$stage $number" timeout 60 python3 "$here/terminal.py" 80 "$METE" run "$tmp/$name.yaml" --db "$tmp/s.db" --threads 1 >"$tmp/out"
        same "$name, $word: the status" "$status" $?
        same "$name, $word: the last line" "mete: stopped by $word" "$(tail -n 1 "$tmp/out" | tr -d '\r' | sed 's/.*\x1b\[K//')"
        same "$name, $word: how to go on" 1 "$(grep -c 'Run the same command again to go on' "$tmp/out")"
        same "$name, $word: what was done" 1 "$(grep -c '0 of 2 runs done, 2 to go' "$tmp/out")"
        same "$name, $word: nothing is claimed" 0 "$(claimed "$tmp/s.db")"
    done
    same "the line says what runs, and how well" yes \
        "$(grep -qE 'train  0 of 2  [0-9]+ %  .*protonet · random · seed 1, step [0-9]+ of 100000, [0-9.]+ %' "$tmp/out" && echo yes)"
    same "and fits the terminal" "" "$(tr '\r' '\n' <"$tmp/out" | sed 's/\x1b\[K//' | LC_ALL=C.UTF-8 grep -E '.{81}')"
    rm -rf "$tmp/t"
    SIGNAL_AFTER="step 2" timeout 60 python3 "$here/terminal.py" 80 "$METE" train glyphs:5w-1s@500 --method protonet --set net.filters=4 \
        --set train.steps=100000 --set val_tasks=20 -o "$tmp/t" >"$tmp/out"
    same "mete train: the status" 130 $?
    same "mete train: how to go on" 1 "$(grep -c 'continues from the last checkpoint' "$tmp/out")"
else
    skip "no python3 to make a terminal with"
fi

# a batch system may send a signal twice at once
"$METE" run "$tmp/train.yaml" --db "$tmp/twice.db" --threads 1 >/dev/null 2>"$tmp/err" &
for ((i = 0; i < 400; i++)); do
    [ -n "$(find "$tmp/twice.db.runs" -name checkpoint.safetensors 2>/dev/null)" ] && break
    sleep 0.05
done
kill $! && kill $!
wait $!
same "the status after two signals" 143 $?
same "and the last line" "mete: stopped by SIGTERM" "$(tail -n 1 "$tmp/err")"

# a time limit: runs stop at their checkpoints, and nothing else is started
ok "a little time" "$METE" run "$tmp/train.yaml" --db "$tmp/m.db" --threads 1 --minutes 0.02
same "it says what is left" 1 "$(grep -c '0.02 minutes are over: 2 runs to go; run the same command again' "$tmp/err")"
same "nothing is claimed" 0 "$(claimed "$tmp/m.db")"
same "one run was begun, and has saved itself" 1 "$(find "$tmp/m.db.runs" -name checkpoint.safetensors | wc -l)"
# in pieces of a moment each, the results are those of an undisturbed suite
. "$here/same_results.sh.inc"
sed 's/100000/120/' "$tmp/train.yaml" >"$tmp/short.yaml"
ok "undisturbed" "$METE" run "$tmp/short.yaml" --db "$tmp/whole.db" --threads 1
for _ in 1 2 3 4 5 6 7 8; do
    "$METE" run "$tmp/short.yaml" --db "$tmp/pieces.db" --threads 1 --minutes 0.001 2>/dev/null
done
ok "in pieces" "$METE" run "$tmp/short.yaml" --db "$tmp/pieces.db" --threads 1
results_of "$tmp/whole.db" >"$tmp/whole"
results_of "$tmp/pieces.db" >"$tmp/pieces"
ok "in pieces, the same results" cmp "$tmp/whole" "$tmp/pieces"
refuses "a negative time" 2 "--minutes: expected a number of 0 or more, got -1" "$METE" run $suite --minutes -1

cat >"$tmp/fails.yaml" <<YAML
name: fails
base: {bench: "glyphs:5w-1s@500", method: maml, net.filters: 4, train.steps: 20, train.val_tasks: 20, test.tasks: 20, test.shots: "1"}
axes: {labels: [random, stratified]}
when: [{labels: stratified, set: {inner.lr: 100, inner.steps: 20, net.bn: running}}]
YAML
"$METE" run "$tmp/fails.yaml" --db "$tmp/f.db" --threads 1 2>"$tmp/err"
same "a failed run fails the suite" 1 $?
same "the summary counts it" 1 "$(grep -c '^1 of 2 runs done, 1 failed; 1 now' "$tmp/err")"
# a dry run knows what is done, has a row for runs that differ in their seed, and fits 80 columns
ok "a dry run" "$METE" run $suite --dry-run --db "$tmp/a.db"
same "rows" 6 "$(grep -cE '^  (reptile|maml|protonet) ' "$tmp/out")"
same "what is done" "2 2 2 2" "$(awk '$1 == "protonet" { printf "%s%s %s", n++ ? " " : "", $4, $5 }' "$tmp/out")"
same "in all" 1 "$(grep -c '^12 runs: 4 done, 8 to go, with ' "$tmp/out")"
same "its width" "" "$(awk 'length > 80' "$tmp/out")"
ok "a dry run without a database" "$METE" run $suite --dry-run --db "$tmp/none.db"
same "nothing is done" 1 "$(grep -c '^12 runs: 0 done, 12 to go' "$tmp/out")"
same "and none is made" no "$([ -e "$tmp/none.db" ] && echo yes || echo no)"
ok "a dry run for a program" "$METE" run $suite --dry-run --db "$tmp/a.db" --json
same "states" "4 8" "$(grep -c '"state": "done"' "$tmp/out") $(grep -c '"state": "planned"' "$tmp/out")"
printf 'name: y\nbase: {bench: "glyphs:5w-1s@500", method: protonet, net.filters: 4}\naxes: {train.relabel: [no, yes]}\n' >"$tmp/differ.yaml"
ok "runs that differ in a setting" "$METE" run "$tmp/differ.yaml" --dry-run --db "$tmp/none.db"
same "say which" 2 "$(grep -cE '^    train.relabel=(yes|no)$' "$tmp/out")"
if command -v python3 >/dev/null; then
    ok "a dry run in a terminal" python3 "$here/terminal.py" 80 "$METE" run $suite --dry-run --db "$tmp/none.db"
    same "shows how far it is" yes "$(grep -q 'tiny  0 of 12  0 %  measuring how long runs take' "$tmp/out" && echo yes)"
fi
finish
