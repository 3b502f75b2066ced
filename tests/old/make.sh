#!/usr/bin/env bash
# Made the files of this folder with the mete of before identities: 0.1.0, in whose files nothing
# says what a data set, a split or a price file held.  tests/cli/old.sh opens them with today's.
#   METE=path/to/that/mete tests/old/make.sh
# Kept as the record of how they were made: today's mete would make others.
set -eu
cd "$(dirname "$0")"
export METE_DATA=data
rm -rf data results.db model.safetensors killed killed-classical tasks.json
mkdir -p data
cp cups.csv.txt cups.csv
"$METE" data import table cups.csv --label cup -o data/cups --threads 1
rm cups.csv
"$METE" run old.yaml --db results.db --threads 2
rm -rf results.db.runs
sqlite3 results.db "PRAGMA journal_mode=DELETE; PRAGMA page_size=512; VACUUM;"
"$METE" tasks cups:3w-1s --n 20 -o tasks.json
small="--net mlp --set net.hidden=1 --set net.units=4 --set train.meta_batch=4 --set val_tasks=8 --set test.tasks=12 --set test.shots=1,2"
"$METE" train cups:3w-1s@60 --method reptile $small --set train.steps=20 --set validate_every=10 -o model --threads 1
mv model/best.safetensors . && rm -r model && mv best.safetensors model.safetensors
# Killed once there is a checkpoint.
killed() { # FOLDER BENCH OPTIONS...
    local folder=$1
    shift
    "$METE" train "$@" $small --set train.steps=20000 --set validate_every=50 -o "$folder" --threads 1 &
    local pid=$!
    until [ -f "$folder/checkpoint.safetensors" ]; do sleep 0.01; done
    kill -9 $pid
    wait $pid || true
    rm -f "$folder"/*.tmp
}
killed killed cups:3w-1s@60 --method reptile
killed killed-classical cups:3w-1s --method protonet
