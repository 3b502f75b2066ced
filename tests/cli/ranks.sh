# Ranks: a run over MPI has the bytes of a run of one process; what cannot work is refused.
# tests/cluster/same_bytes tries many more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../cluster/mpi.sh"
small="--set net.filters=4 --set train.steps=6 --set validate_every=3 --set test.tasks=12 --set val_tasks=12
    --set meta_batch=6 --set test.shots=1"
files="best.safetensors last.safetensors ledger.csv metrics.jsonl config.yaml"
all_of() { (cd "$1" && cat $files | sha256sum); }

# a launcher, but no MPI to talk by
refuses "an MPI launcher without its MPI" 2 "copies were started by" env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 \
    PMI_SIZE=2 PMI_RANK=0 env -u PMI_FD "$METE" version
mpi_find || { skip "$mpi_why"; finish; }
ok "the version names the MPI" grep -q "$("$METE" version | tail -n 1)" <("$METE" version)
ok "and how many ranks there are" grep -q ", 2 ranks" <(mpi_run 2 "$METE" version)

trained() { # FOLDER COMMAND...: the bytes of a run
    local folder=$1
    shift
    ok "$* -o $folder" "$@" -o "$tmp/$folder"
    all_of "$tmp/$folder"
}
for what in "glyphs:5w-1s@200 --method maml --labels active" "glyphs-users:users=30:2s@120 --method protonet --labels kcenter"; do
    one=$(trained one "$METE" train $what $small --threads 1)
    two=$(trained two mpi_run 2 "$METE" train $what $small --threads 1)
    same "two ranks: $what" "$one" "$two"
    rm -rf "$tmp/two"
done
ok "eval" "$METE" eval "$tmp/one/best.safetensors" --set test.tasks=40 --threads 1
cp "$tmp/out" "$tmp/alone"
ok "eval over ranks" mpi_run 2 "$METE" eval "$tmp/one/best.safetensors" --set test.tasks=40 --threads 1
cp "$tmp/out" "$tmp/shared"
ok "says the same" cmp "$tmp/shared" "$tmp/alone"
ok "the environment says how many" test "$(grep -c '"ranks"' "$tmp/one/env.json")" = 0
said() { # TEXT COMMAND...: it fails with 1 and says TEXT
    local text=$1
    shift
    "$@" >/dev/null 2>"$tmp/said"
    same "status: $*" 1 $?
    ok "'$text' in: $(tail -n 20 "$tmp/said")" grep -q "$text" "$tmp/said"
    same "one sentence" 1 "$(grep -c '^mete: ' "$tmp/said")"
}
cat >"$tmp/other" <<'WRAP'
#!/usr/bin/env bash
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = 1 ] && export METE_CPU=portable
exec "$@"
WRAP
chmod +x "$tmp/other"
said "has another instruction set than rank 0" mpi_run 2 "$tmp/other" "$METE" train glyphs:5w-1s@200 $small -o "$tmp/x"
finish
