# mete serve: the token, limits and ends of the server, and its pages in a browser.
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")/../serve
build=$(cd "$(dirname "$METE")" && pwd)
refuses "no argument" 2 "takes" "$METE" serve
refuses "a port that is none" 2 "expected 0 to 65535" "$METE" serve x.db --port 99999
if "$METE" serve "$tmp/none.db" 2>&1 | grep -q libmicrohttpd-dev; then
    skip "built without libmicrohttpd"
    finish
fi
if ! "$build/fixture_db" "$tmp/x.db" 2>"$tmp/err"; then
    skip "no live runs without SQLite: $(cat "$tmp/err")"
    finish
fi
refuses "no database" 1 "$tmp/none.db" "$METE" serve "$tmp/none.db"
echo text >"$tmp/text.db"
refuses "no results database" 1 "not a results database" "$METE" serve "$tmp/text.db"
refuses "an address that is none" 2 "--bind x: expected an address" "$METE" serve "$tmp/x.db" --bind x
timeout 2 "$METE" serve "$tmp/x.db" --bind 0.0.0.0 --port 0 >"$tmp/out" 2>"$tmp/err"
same "other machines are told this one's name" "http://$(hostname)" "$(cut -d: -f1,2 "$tmp/out")"
same "with a warning" 1 "$(grep -c '^warning: --bind 0.0.0.0' "$tmp/err")"
if ! command -v python3 >/dev/null; then
    skip "python3 asks the server, and is not here"
    finish
fi
part() { # NAME COMMAND...: adds up what a script says
    "$@" >"$tmp/log" 2>&1
    local rc=$? p f
    grep FAILED "$tmp/log" >&2
    read -r p _ f _ <<<"$(grep -E '^[0-9]+ passed' "$tmp/log" | tail -n 1)"
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
    [ $rc -eq 0 ] || tail -n 5 "$tmp/log" >&2
}
part python3 "$here/check_http.py" "$METE" "$tmp/x.db"

"$here/../people_table" "$tmp/people.csv" --people 40 --rows 24
python3 "$here/shapes.py" "$tmp/shapes" 60
ok "people to label" "$METE" data import table "$tmp/people.csv" --label activity --user person \
    --set classes=climb,cycle,run,sit,walk -o "$tmp/data/people"
ok "pictures to label" "$METE" data import folder "$tmp/shapes" -o "$tmp/data/shapes"
ok "questions to the first" "$METE" label next "$tmp/data/people" --user p000 --n 5 -o "$tmp/ask.csv"
"$here/../people_table" "$tmp/known.csv" --people 40 --rows 24 --known 1
ok "people whose labels are known" "$METE" data import table "$tmp/known.csv" --label activity --user person -o "$tmp/data/known"
ok "a model of them" "$METE" train "$tmp/data/known:1s@200" --method protonet --net mlp -o "$tmp/run"
for model in "" "$tmp/run"; do
    rm -rf "$tmp/data/asked"
    cp -r "$tmp/data/people" "$tmp/data/asked"
    part python3 "$here/check_labelling.py" "$METE" "$tmp/data/asked" ${model:+"$model"}
done
part python3 "$here/kill_labelling.py" "$METE" "$tmp/people.csv" 6
refuses "a model for a database" 2 "are for labelling" "$METE" serve "$tmp/x.db" --model "$tmp/run"
refuses "no dataset" 2 "no dataset" "$METE" serve "$tmp/none"
refuses "data whose labels are known" 2 "nobody to ask" "$METE" serve glyphs-users
refuses "a strategy that needs a model" 2 "there is none" "$METE" serve "$tmp/data/people" --labels active
refuses "no such strategy" 2 "kmaens" "$METE" serve "$tmp/data/people" --labels kmaens

# playwright-core is fetched once into the build folder.
export PLAYWRIGHT=$build/node CHROMIUM METE
CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$CHROMIUM" ] || ! command -v node >/dev/null; then
    skip "chromium and node open the pages, and are not here"
    finish
fi
if [ ! -d "$PLAYWRIGHT/node_modules/playwright-core" ]; then
    mkdir -p "$PLAYWRIGHT"
    (cd "$PLAYWRIGHT" && npm install --no-audit --no-fund --no-save playwright-core) >"$tmp/npm" 2>&1 || {
        skip "npm cannot fetch playwright-core, which drives the browser: $(tail -n 1 "$tmp/npm")"
        finish
    }
fi
"$build/fixture_db" "$tmp/few.db" 1
part node --no-warnings "$here/live.mjs" "$tmp/few.db"

part node --no-warnings "$here/label.mjs" "$tmp/data/people" "$tmp/data/shapes" "$tmp/ask.csv"
grep '^next picture' "$tmp/log" >&2
finish
