# Ranks: a run over MPI has the bytes of a run of one process; what cannot work is refused.
# tests/cluster/same_bytes tries many more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../cluster/mpi.sh"
export TMPDIR=$tmp # where Open MPI keeps what a rank that ends early leaves
small="--set net.filters=4 --set train.steps=6 --set validate_every=3 --set test.tasks=12 --set val_tasks=12
    --set meta_batch=6 --set test.shots=1"
files="best.safetensors last.safetensors ledger.csv metrics.jsonl config.yaml"
all_of() { (cd "$1" && cat $files | sha256sum); }

# a launcher, but no MPI to talk by
refuses "an MPI launcher without its MPI" 2 "copies were started by" env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 \
    PMI_SIZE=2 PMI_RANK=0 env -u PMI_FD "$METE" version
mpi_find || { skip "$mpi_why"; finish; }
ok "the version names the MPI" grep -q "$("$METE" version | tail -n 1)" <("$METE" version)
ok "help, of one rank" mpi_run 2 "$METE" train --help
same "and once" 1 "$(grep -c '^usage' "$tmp/out")"
ok "and how many ranks there are" grep -q ", 2 ranks" <(mpi_run 2 "$METE" version)

trained() { # FOLDER COMMAND...: the bytes of a run
    local folder=$1
    shift
    ok "$* -o $folder" "$@" -o "$tmp/$folder"
    all_of "$tmp/$folder"
}
for what in "glyphs:5w-1s@200 --method maml --labels active" "glyphs-users:users=30:2s@120 --method protonet --labels kcenter"; do
    rm -rf "$tmp/one"
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
# the gradient of a step goes there and back
field() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$tmp/out"; }
ok "speed over ranks" mpi_run 2 "$METE" speed --method protonet --set net.filters=16 --set meta_batch=4 --seconds 0.1 --json
same "it says how many" 2 "$(field ranks)"
sent=$(field sent_bytes) most=$(field most_bytes)
gradient=$((4 * (9 * 16 + 3 * 9 * 16 * 16 + 4 * 3 * 16)))
ok "a gradient goes there and back: $sent of 2 x $gradient bytes" \
    awk "BEGIN { x = $sent - 2 * $gradient; exit !(0 < x && x < 4000) }"
ok "each way by another" awk "BEGIN { exit !(0 < $most && $most < 0.7 * $sent) }"
of_both() { mpi_run 2 "$METE" speed --runs 2 2>&1 | grep "^mete: "; }
ok "runs side by side, over ranks, are refused" grep -q "use one of the two" <(of_both)
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

# another data set on rank 1, in one run, a study and a suite
cat >"$tmp/its_own" <<WRAP
#!/usr/bin/env bash
export METE_DATA=$tmp/data\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
exec "\$@"
WRAP
chmod +x "$tmp/its_own"
for rank in 0 1; do
    awk -v s=$rank 'BEGIN { print "a,b,y"; for (i = 0; i < 800; i++) print i % 7 + s "," i % 11 ",c" i % 80 }' >"$tmp/rows.csv"
    ok "rows of rank $rank" "$METE" data import table "$tmp/rows.csv" --label y -o "$tmp/data$rank/rows"
done
other="holds something else than on the first rank"
small_net="--method protonet --net mlp --set train.steps=3"
said "$other" mpi_run 2 "$tmp/its_own" "$METE" train rows:5w-1s@100 $small_net -o "$tmp/x"
said "$other" mpi_run 2 "$tmp/its_own" "$METE" stability rows:5w-1s --tasks 6 --fresh 6 --removals 2 $small_net
cat >"$tmp/rows.yaml" <<YAML
name: rows
base: {train.steps: 3, net: mlp}
axes: {bench: ["rows:5w-1s@100"], method: [protonet]}
YAML
said "$other" mpi_run 2 "$tmp/its_own" "$METE" run "$tmp/rows.yaml" --db "$tmp/rows.db"

# a study, whose models are trained by all
study="glyphs:5w-1s --tasks 6 --fresh 10 --removals 4 --method reptile --set net.filters=4 --set train.steps=6 --threads 1"
ok "a study" "$METE" stability $study --json
cp "$tmp/out" "$tmp/alone"
ok "over three ranks" mpi_run 3 "$METE" stability $study --json
cp "$tmp/out" "$tmp/shared"
ok "says the same" cmp "$tmp/shared" "$tmp/alone"

# a suite: runs to ranks, or to teams of two; a rank that is killed gives its run back
. "$(dirname "$0")/same_results.sh.inc"
suite="tests/suites/tiny.yaml --only method=maml --only labels=random"
refuses "teams without ranks" 2 "this process is alone" "$METE" run $suite --db "$tmp/x.db" --ranks-per-run 2
command -v sqlite3 >/dev/null || { skip "no sqlite3"; finish; }
ok "a suite by one process" "$METE" run $suite --db "$tmp/alone.db" --threads 1
results_of "$tmp/alone.db" >"$tmp/rows"
ok "by teams of two ranks" mpi_run 3 "$METE" run $suite --db "$tmp/teams.db" --threads 1 --ranks-per-run 2
results_of "$tmp/teams.db" >"$tmp/teams"
ok "has the same results" cmp "$tmp/rows" "$tmp/teams"
same "its environment has the ranks of a run" "2" \
    "$(sqlite3 "$tmp/teams.db" "SELECT max(json_extract(json, '$.ranks')) FROM environments")"
ok "no sign is left" test -z "$(find "$tmp/teams.db.runs" -name '.ranks*')"
# a plan makes its runs as a suite does
plan="glyphs-users:classes=4,users=40,images=24 --labels 120 --net mlp --set net.units=8 --set train.steps=40 --methods protonet,nearest"
ok "a plan" "$METE" plan $plan --db "$tmp/plan.db" --threads 1
cp "$tmp/out" "$tmp/alone"
ok "over ranks" mpi_run 2 "$METE" plan $plan --db "$tmp/plans.db" --threads 1
cp "$tmp/out" "$tmp/shared"
ok "is the same" cmp "$tmp/shared" "$tmp/alone"
long="$suite --set train.steps=$(lasting 4 "$METE" run $suite --db "$tmp/probe.db" --threads 1)"
ok "longer, by one process" "$METE" run $long --db "$tmp/long.db" --threads 1
results_of "$tmp/long.db" >"$tmp/long"
mpi_noted "$tmp/ranks" 2 "$METE" run $long --db "$tmp/killed.db" --threads 1 >"$tmp/said" 2>&1 &
job=$!
for ((i = 0; i < 200; i++)); do # until a run has begun on rank 1
    [ "$(sqlite3 "$tmp/killed.db" "SELECT count(*) FROM claims" 2>/dev/null || echo 0)" = 2 ] && break
    sleep 0.05
done
sleep 0.3
mpi_kill "$tmp/ranks" 1
wait $job
same "the job ends well" 0 $?
ok "it says who died" grep -q "^mete: rank 1 on .* was ended by signal 9 (Killed); the others go on" "$tmp/said"
ok "and where its run goes" grep -q "goes to another rank" "$tmp/said"
results_of "$tmp/killed.db" >"$tmp/killed"
ok "the results are those of one process" cmp "$tmp/long" "$tmp/killed"
finish
