# mete tasks: a benchmark's tasks, for people and for programs.
. "$(dirname "$0")/lib.sh"
ok "few-shot tasks" "$METE" tasks glyphs:classes=40:5w-1s --n 20
same "coverage of stratified" 1 "$(grep -c '5.0 labels of 5.00 classes' "$tmp/out")"
ok "user tasks" "$METE" tasks glyphs-users:users=40:1s --part train
same "a task for each training user" 1 "$(grep -c ': 25 train tasks' "$tmp/out")"
ok "a file" "$METE" tasks glyphs:classes=40:5w-2s --n 20 -o "$tmp/a.json"
"$METE" tasks glyphs:classes=40:5w-2s --n 20 --json >"$tmp/b.json"
ok "the same on standard output" cmp "$tmp/a.json" "$tmp/b.json"
"$METE" tasks glyphs:classes=40:5w-2s --n 20 --json --seed 1 >"$tmp/c.json"
if cmp -s "$tmp/a.json" "$tmp/c.json"; then bad "another seed" "gives the same tasks"; else pass; fi
if command -v python3 >/dev/null; then
    python3 - "$tmp/a.json" <<'P' || bad "read by another program" "see above"
import json, sys
f = json.load(open(sys.argv[1]))
assert f["format"] == "mete-tasks" and f["ways"] == 5 and len(f["tasks"]) == 20
for t in f["tasks"]:
    items = t["support"] + t["query"]
    labels = t["support_labels"] + t["query_labels"]
    assert len(set(items)) == len(items) == len(labels) == 15
    assert all(t["classes"][l] == i // 20 for i, l in zip(items, labels))
P
    pass
else
    skip "no python3 to read tasks.json with"
fi
# a model scored on the tasks of a file: as on its own, which are the same
small="glyphs:classes=40:5w-1s"
ok "a model" "$METE" train $small@400 --method protonet -o "$tmp/run" --threads 1 --json \
    --set train.steps=4 --set train.meta_batch=4 --set net.filters=8 --set test.tasks=40 --set test.shots=1 \
    --set train.val_tasks=8
ok "its tasks" "$METE" tasks $small --n 40 -o "$tmp/test.json" --set task.query=1
ok "scored" "$METE" eval "$tmp/run/best.safetensors" --threads 1 --json --set test.support=stratified --set test.query=1
sed 's/, "valid.*/}/' "$tmp/out" >"$tmp/own"
ok "scored from the file" "$METE" eval "$tmp/run/best.safetensors" --tasks "$tmp/test.json" --threads 1 --json
cp "$tmp/out" "$tmp/given"
ok "the same" cmp "$tmp/own" "$tmp/given"
ok "more shots than it was trained on" "$METE" eval "$tmp/run/best.safetensors" --tasks "$tmp/a.json" --threads 1
"$METE" tasks glyphs:classes=40:3w-1s --n 2 -o "$tmp/three.json" >/dev/null
refuses "other ways" 2 "tasks of 3 ways" "$METE" eval "$tmp/run/best.safetensors" --tasks "$tmp/three.json"
refuses "no such file" 1 "none.json" "$METE" eval "$tmp/run/best.safetensors" --tasks "$tmp/none.json"
refuses "no benchmark" 2 "tasks takes BENCH, got nothing" "$METE" tasks
refuses "a wrong benchmark" 2 "omniglot:5w-1s@30K" "$METE" tasks glyphs
refuses "more ways than classes" 2 "60 ways" "$METE" tasks glyphs:classes=40:60w-1s
refuses "more shots than points" 2 "20 shots and 1 query items need" "$METE" tasks glyphs:classes=40:5w-20s
refuses "an unknown part" 2 "train, val or test" "$METE" tasks glyphs:classes=40:5w-1s --part dev
refuses "a strategy that needs a learner" 2 "random or stratified" "$METE" tasks glyphs:classes=40:5w-1s --labels active
refuses "an unknown setting" 2 "did you mean 'task.query'" "$METE" tasks glyphs:classes=40:5w-1s --set task.qury=3
refuses "overlapping parts" 2 "overlap" "$METE" tasks glyphs:classes=40:5w-1s --set data.split=30/10/10
refuses "more users than there are" 2 "has 8 users" "$METE" tasks glyphs-users:users=40:1s --n 30
refuses "a place that cannot be written" 1 "/nowhere" "$METE" tasks glyphs:classes=40:5w-1s -o /nowhere/t.json
finish
