# parts: import export
# VisualVM's heap library opens our dumps, and our own import reads them back: the same objects, of
# the same sizes.
. "$(dirname "$0")/_client.sh"
export_to hprof

# Of Java there are a table of properties and its array.
java_bytes=40 java_objects=2
statics=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["static_words"])' \
    "$work/info.json")
total=$((heap_bytes + 8 * statics + java_bytes))

"$HEAPSNAP" import --from hprof --sizes visualvm "$work/heap.hprof" -o "$work/back.snap" \
    2>"$work/err"
exits 0 check "$work/back.snap"
"$HEAPSNAP" export "$work/back.snap" --to graph -o "$work/back"
bytes=$(awk -F'\t' 'NR > 1 && $4 == 0 { sum += $3 } END { print sum }' "$work/back/nodes.tsv")
same "imported" "$bytes" "$total"
"$HEAPSNAP" roots "$work/back.snap" -n 0 --format tsv >"$work/roots"
grep -qF 'root global sessions.target' "$work/roots" || fail "no root by its name"

need java javac
need_visualvm
javac -cp "$visualvm" -d "$work" "$SOURCE_DIR/tests/oracles/VisualVmSizes.java" ||
    fail "VisualVM's library is another"
java -Xmx256m -cp "$visualvm$work" VisualVmSizes "$work/heap.hprof" "$work/theirs" \
    2>"$work/visualvm.log" || fail "VisualVM: $(tail -3 "$work/visualvm.log")"
read -r found n < <(awk -F'\t' '$2 == "object" { sum += $3; n++ } END { print sum, n }' \
    "$work/theirs")
same "VisualVM's bytes" "$found" "$total"
same "VisualVM's objects" "$n" "$((heap_objects + 1 + java_objects))"
