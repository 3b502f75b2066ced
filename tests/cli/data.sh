# mete data: info, sheets, fetching; importing is in data_import.sh.
. "$(dirname "$0")/lib.sh"
ok "help" "$METE" data --help
ok "import help" "$METE" data import --help
same "import help names the importers" 1 "$(grep -c '^  omniglot ' "$tmp/out")"
refuses "no verb" 2 "expected import, info, sheet or fetch" "$METE" data
refuses "unknown verb" 2 "got 'inspect'" "$METE" data inspect

# generated sets have no folder
ok "info of glyphs" "$METE" data info glyphs --json
same "info is JSON with the promised fields" "400 28x28x1 0" "$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(d["classes"], "x".join(map(str, d["shape"])), d["users"])' "$tmp/out")"
if "$METE" data sheet glyphs -o "$tmp/sheet.png" 2>&1 | grep -q "need libpng"; then
    skip "built without libpng"
else
    ok "sheet of glyphs" "$METE" data sheet glyphs -o "$tmp/sheet.png" --rows 3 --cols 4
    same "a sheet is a PNG" "89504e47" "$(head -c 4 "$tmp/sheet.png" | od -An -tx1 | tr -d ' \n')"
    # 4 columns of 28 pixels doubled, and 5 gaps of 2
    same "a sheet's width" 234 "$(od -An -tu1 -j 16 -N 4 "$tmp/sheet.png" | awk '{print $3 * 256 + $4}')"
    ok "sheet by user" "$METE" data sheet glyphs-users -o "$tmp/users.png" --rows 3 --by user
    refuses "sheet in no folder" 1 "cannot write" "$METE" data sheet glyphs -o "$tmp/none/x.png"
fi
refuses "sheet by user without users" 2 "has no users" "$METE" data sheet glyphs -o "$tmp/x.png" --by user
refuses "sheet without a file" 2 "-o sheet.png" "$METE" data sheet glyphs
refuses "info of nothing" 2 "data info takes DATASET, got nothing" "$METE" data info
refuses "unknown dataset" 2 "no dataset 'nonesuch'" "$METE" data info nonesuch
refuses "known dataset that is absent" 2 "mete data fetch omniglot" env -u METE_DATA "$METE" data info omniglot
mkdir "$tmp/half"
refuses "a folder that is no dataset" 2 "holds no meta.json" "$METE" data info "$tmp/half"

refuses "fetch: licence" 2 "forbid a public address" "$METE" data fetch miniimagenet
refuses "fetch: no files" 2 "LEAF publishes the program" "$METE" data fetch femnist
refuses "fetch: unknown" 2 "did you mean 'omniglot'" "$METE" data fetch omnigot
refuses "fetch: no such mirror" 1 "images_background.zip" "$METE" data fetch omniglot -o "$tmp/f" --mirror "file://$tmp/none"
finish
