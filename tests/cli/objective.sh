# method.objective: what each choice trains, and where it is refused.
. "$(dirname "$0")/lib.sh"
train() { # FOLDER [SETTING...]
    local folder=$1
    shift
    "$METE" train glyphs-users:users=30:1s@300 --method maml --net mlp --set net.units=8 --set train.steps=5 --set train.meta_batch=4 \
        --set inner.lr=0.1 --set test.tasks=5 --set test.shots=1 --threads 1 "$@" -o "$tmp/$folder"
}
weights() { tail -c 1500 "$tmp/$1/last.safetensors" | cksum; }
ok "held-out labels" train plain
ok "which is the default" train heldout --set method.objective=heldout
same "to the byte" "$(weights plain)" "$(weights heldout)"
ok "all labels" train empirical --set method.objective=empirical
ok "both" train blend --set method.objective=blend
ok "all labels, second order" train second --set method.objective=empirical --set first_order=no
ok "the three differ" test "$(for f in plain empirical blend; do weights $f; done | sort -u | wc -l)" = 3
ok "both, with all the weight on held-out labels" train none --set method.objective=blend --set blend_labels=1e9
ok "nearly those" test "$(weights none)" != "$(weights empirical)"
ok "inner batches of all labels" train shuffled --set method.objective=empirical --set inner.batching=shuffled
refuses "two adaptations in one order" 2 "use inner.batching=full" train x --set method.objective=blend --set inner.batching=shuffled
refuses "a study of it" 2 "studies measure MAML by the labels that it holds out" \
    "$METE" stability glyphs:5w-1s --net mlp --set method.objective=blend
"$METE" list 2>/dev/null | grep -q '^ *cuda' && "$METE" speed --device cuda >/dev/null 2>&1 &&
    refuses "a GPU" 2 "method.objective=blend is not computed on cuda" train x --device cuda --set method.objective=blend
finish
