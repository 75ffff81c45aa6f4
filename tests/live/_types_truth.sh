# Sourced by what compares the source types of a program with its own counts, after _target.sh.

# truth PROGRAM DUMP OPTIONS...: every count of its blocks by type is what `types` says; none
# misfits, none is in conflict.
truth()
{
    local program=$1
    shift
    start "$work/$program"
    "$HEAPSNAP" dump "$pid" --names-timeout 600s -o "$work/$program.snap" "$@" 2>"$work/talk" ||
        fail "$program: $(cat "$work/talk")"
    cp "$work/log" "$work/counts"
    leave
    "$HEAPSNAP" check "$work/$program.snap" >"$work/talk" 2>&1 || fail "$program: check"
    "$HEAPSNAP" info "$work/$program.snap" >"$work/info" 2>&1 || fail "$program: info"
    grep -q ' 0 misfits, 0 conflicts' "$work/info" ||
        fail "$program: $(grep 'source types' "$work/info")"
    "$HEAPSNAP" types "$work/$program.snap" --json --group-by instance >"$work/types.json" ||
        fail "$program: types"
    python3 "$SOURCE_DIR/tests/live/_types_truth.py" "$work/types.json" "$work/counts" ||
        fail "$program: counts"
    grep -q 'Ocaml_types.also' "$work/counts" || return 0
    "$HEAPSNAP" paths "$work/$program.snap" --to type:Ocaml_types.also -n 0 >"$work/paths" ||
        fail "$program: paths"
    grep -q 'closure Ocaml_types.keep.second' "$work/paths" &&
        grep -q 'closure Ocaml_types.(fun at ocaml_types.ml:[0-9]*).third' "$work/paths" ||
        fail "$program: a captured variable: $(cat "$work/paths")"
    grep -q 'source types: [1-9][0-9]* of these blocks only probably' "$work/info" ||
        fail "$program: $(grep 'source types' "$work/info")"
}

# shapes PROGRAM: the same of containers, where no file tells the types.
shapes()
{
    local program=$1
    start "$work/$program"
    "$HEAPSNAP" dump "$pid" --no-names -o "$work/$program.snap" 2>"$work/talk" ||
        fail "$program: $(cat "$work/talk")"
    cp "$work/log" "$work/counts"
    leave
    "$HEAPSNAP" check "$work/$program.snap" >"$work/talk" 2>&1 || fail "$program: check"
    "$HEAPSNAP" info "$work/$program.snap" |
            grep 'shapes: [1-9].* are told by their shape' >/dev/null ||
        fail "$program: no word of shapes"
    "$HEAPSNAP" types "$work/$program.snap" --json >"$work/types.json" || fail "$program: types"
    python3 "$SOURCE_DIR/tests/live/_types_truth.py" "$work/types.json" "$work/counts" ||
        fail "$program: counts"
}
