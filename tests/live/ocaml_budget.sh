# parts: ocaml
# A dump of an OCaml program with little memory finds the same as one with enough.
. "$(dirname "$0")/_target.sh"
need ocamlfind python3 zstd

cp "$fixtures/budget.ml" "$work/budget.ml"
(cd "$work" && ocamlfind ocamlopt -package unix budget.ml -o budget 2>build.log) ||
    { cat "$work/build.log"; fail "building"; }
told() { awk -v name="$1" '$1 == name { print $2 }' "$work/told"; }
# try CODE BYTES: a dump that must end with this exit code.
try()
{
    local code=0
    rm -f "$work/heap.snap"
    "$BUDGET_DUMP" "$pid" "$work/heap.snap" "$2" >"$work/told" 2>"$work/talk" || code=$?
    [ "$code" = "$1" ] || { cat "$work/talk"; fail "exit $code with budget $2, not $1"; }
    [ "$code" = 0 ] || [ ! -e "$work/heap.snap" ] || fail "a half snapshot is left"
    kill -0 "$pid" || fail "the target did not survive"
}

start "$work/budget" 600
kill -STOP "$pid"
sleep 0.1
try 0 0
mv "$work/heap.snap" "$work/all.snap"
in_memory=$(told peak_rss_mib)
try 0 $((88 << 20))
"$HEAPSNAP" check "$work/heap.snap" >/dev/null || fail "check"
"$HEAPSNAP" info "$work/heap.snap" | grep "through a temporary file" >/dev/null || fail "no note"
python3 -B "$SOURCE_DIR/tests/live/_same_graph.py" "$work/all.snap" "$work/heap.snap" ||
    fail "they differ"
echo "$(told blocks) blocks: the same in $(told peak_rss_mib) MiB as in $in_memory MiB"
try 6 $((16 << 20))
kill -CONT "$pid"
try 0 $((88 << 20)) # a running one
leave
