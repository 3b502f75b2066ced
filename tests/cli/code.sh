# What the paper's code did, as settings: what each refuses, and what is counted.
. "$(dirname "$0")/lib.sh"
train() { # FOLDER BENCH [OPTION...]
    local folder=$1 bench=$2
    shift 2
    "$METE" train "$bench" --set net.filters=4 --set train.steps=12 --set train.validate_every=4 --set train.val_tasks=10 \
        --set test.tasks=10 --threads 1 "$@" -o "$tmp/$folder"
}
items() { sed -n 's/.* labels of \([0-9]*\) items: .*/\1/p' "$1" | head -1; }
ok "redraw" train redraw glyphs:5w-1s@60 --method protonet --set train.redraw=yes
shown=$(items "$tmp/err")
ok "as it is" train plain glyphs:5w-1s@60 --method protonet
bought=$(items "$tmp/err")
ok "redrawn tasks show more than was bought ($shown, $bought)" test "$shown" -gt $((2 * bought))
refuses "with remix" 2 "set one of them" train x glyphs:5w-1s@60 --set train.redraw=yes --set train.remix=yes
refuses "of people" 2 "is a person" train x glyphs-users:users=40:1s@500 --set train.redraw=yes
refuses "without a budget" 2 "without a budget" train x glyphs:5w-1s --set train.redraw=yes
refuses "fixed queries of people" 2 "leave it at drawn" train x glyphs-users:users=40:1s@500 --set task.query_items=fixed

ok "Adam inside" train adam glyphs:5w-1s@60 --method reptile --set inner.optimiser=adam
refuses "not through second derivatives" 2 "set method.first_order=yes" \
    train x glyphs:5w-1s@60 --method maml --set first_order=no --set inner.optimiser=adam
ok "repeated images" train repeated glyphs:5w-1s@60 --method maml --set inner.batching=shuffled --set inner.batch=50 \
    --set inner.loss=sum --set inner.lr=0.002
refuses "which are shuffled" 2 "set inner.batching=shuffled" train x glyphs:5w-1s@60 --method maml --set inner.batch=50

# More ways in training than in tests: the weights of a run of so many ways, tested as one of few.
weights() { python3 -c 'import struct, sys; b = open(sys.argv[1], "rb").read(); sys.stdout.buffer.write(b[8 + struct.unpack("<Q", b[:8])[0]:])' "$1"; }
ok "20 ways to train and to test" train twenty glyphs:20w-1s@400 --method protonet
ok "to train alone" train apart glyphs:5w-1s@400 --method protonet --set task.train_ways=20
same "the same is learned" "$(weights "$tmp/twenty/last.safetensors" | sha256sum)" "$(weights "$tmp/apart/last.safetensors" | sha256sum)"
ok "tested by 5 ways" "$METE" eval "$tmp/twenty/last.safetensors" glyphs:5w-1s --json
given=$(grep -o '"accuracy": *[0-9.]*' "$tmp/out" | head -1)
ok "so is this one" "$METE" eval "$tmp/apart/last.safetensors" --json
same "as well" "$given" "$(grep -o '"accuracy": *[0-9.]*' "$tmp/out" | head -1)"
ok "a baseline" train near glyphs:5w-1s@400 --method nearest --set task.train_ways=20
refuses "where a net has outputs" 2 "has an output for each class" train x glyphs:5w-1s@400 --method maml --set task.train_ways=20
refuses "where predictions choose" 2 "use random or stratified" \
    train x glyphs:5w-1s@400 --method protonet --labels entropy --set task.train_ways=20
refuses "more than there are" 2 "500 ways" train x glyphs:5w-1s@9K --method protonet --set task.train_ways=500
refuses "people" 2 "is a person" train x glyphs-users:1s@200 --method protonet --set task.train_ways=20
finish
