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
finish
