# method.absent: what each choice trains, and where there are no shared prototypes.
. "$(dirname "$0")/lib.sh"
train() { # FOLDER BENCH [SETTING...]
    local folder=$1 bench=$2
    shift 2
    "$METE" train "$bench" --method protonet --set net.filters=4 --set train.steps=10 --set train.val_tasks=10 \
        --set test.tasks=10 --threads 1 "$@" -o "$tmp/$folder"
}
weights() { tail -c 1500 "$tmp/$1/last.safetensors" | cksum; }
for absent in origin left-out; do
    ok "$absent" train $absent glyphs:5w-1s@500 --set method.absent=$absent
done
ok "the one is not the other" test "$(weights origin)" != "$(weights left-out)"
refuses "tasks of different classes share no prototypes" 2 "method.absent=prior: tasks of glyphs have different classes" \
    train none glyphs:5w-1s@500 --set method.absent=prior
refuses "nor their means" 2 "method.absent=prior-mean: tasks of glyphs have different classes" \
    train none glyphs:5w-1s@500 --set method.absent=prior-mean

users=glyphs-users:users=40:1s@500
ok "people share prototypes" train prior $users --set method.absent=prior
ok "which are part of the model" grep -q '"prior.mean"' "$tmp/prior/best.safetensors"
ok "with their counts" grep -q '"prior.log_count"' "$tmp/prior/best.safetensors"
ok "and how often each is asked for" grep -q '"prior.log_odds"' "$tmp/prior/best.safetensors"
ok "or follow their class means" train mean $users --set method.absent=prior-mean
ok "to other places" test "$(weights prior)" != "$(weights mean)"
ok "and not of one without" bash -c '! grep -q "\"prior[.]" "$1"' - "$tmp/left-out/best.safetensors"
"$METE" train $users --method protonet --set net.filters=4 --set train.steps=1000000 --set train.validate_every=2 \
    --set train.val_tasks=5 --set method.absent=prior --threads 1 -o "$tmp/killed" >/dev/null 2>&1 &
for i in $(seq 100); do [ -e "$tmp/killed/checkpoint.safetensors" ] && break; sleep 0.1; done
kill -9 $! && wait $! 2>/dev/null
ok "a checkpoint has them" grep -q '"prior.mean"' "$tmp/killed/checkpoint.safetensors"
finish
