# Sourced by roots_*.sh: builds a fixture, runs it unstripped and stripped, dumps it and compares
# what the snapshot says with what the program printed of itself.
. "$SOURCE_DIR/tests/live/_target.sh"
. "$SOURCE_DIR/tests/live/_roots_check.sh"
need ocamlfind python3

case "$(ocamlfind ocamlopt -version)" in
4.13.*|4.14.*) ;;
*) echo "skipped: the compiler is not OCaml 4.13 or 4.14"; exit 77 ;;
esac

# build OUTPUT PACKAGES SOURCES...: compiles copies, so that nothing is left beside the sources.
build()
{
    local output=$1 packages=$2
    shift 2
    for source in "$@"; do
        cp "$fixtures/$source" "$work/"
    done
    (cd "$work" && ocamlfind ocamlopt -w -a -g -thread -package "$packages" -linkpkg "$@" \
        -o "$output") || fail "building $output"
    cp "$work/$output" "$work/$output.stripped"
    strip "$work/$output.stripped"
}
