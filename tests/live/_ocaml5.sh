# Sourced by ocaml5_*.sh: OCaml 5 in its scratch root, made at the first use and shared by all, or
# the compiler that OCAML5 names. Other variables: those of _target.sh, ocaml5, built (where
# heapsnap was built).
. "$SOURCE_DIR/tests/live/_target.sh"
need python3

export XDG_CACHE_HOME=$work/cache # no helper that was built before
ocaml5=${OCAML5:-}
built=$(dirname "$HEAPSNAP")
if [ -z "$ocaml5" ]; then
    ocaml5_root=${OCAML5_ROOT:-$SOURCE_DIR/build/ocaml5-root}
    status=0
    # shellcheck disable=SC2086
    "$SOURCE_DIR/scripts/ocaml5-root" ${OCAML5_WITH:-} "$ocaml5_root" >"$work/log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        tail -3 "$work/log"
        [ "$status" -ne 77 ] || { echo "skipped: no scratch root of OCaml 5"; exit 77; }
        fail "making the scratch root of OCaml 5"
    fi
    ocaml5=$ocaml5_root/ocamlopt
fi

# compile5 OUTPUT OPTIONS... SOURCES: copies of the fixtures, so that nothing is left beside them.
compile5()
{
    local output=$1 argument arguments=()
    shift
    for argument in "$@"; do
        case $argument in
        *.ml | *.c | *.mli) cp "$fixtures/$argument" "$work/" ;;
        esac
        arguments+=("$argument")
    done
    (cd "$work" && "$ocaml5" -w -a -g -I +unix -I +threads unix.cmxa "${arguments[@]}" \
        -o "$output") || fail "building $output"
}

# build OUTPUT OPTIONS... SOURCES: also without symbols.
build()
{
    compile5 "$@"
    cp "$work/$1" "$work/$1.stripped"
    strip "$work/$1.stripped"
}

# with_names: HEAPSNAP becomes a copy beside which lies the helper that reads this compiler's files.
with_names()
{
    mkdir "$work/bin" "$work/names"
    cp "$(dirname "$HEAPSNAP")"/heapsnap* "$work/bin/"
    cp "$SOURCE_DIR"/tools/ocaml-names/*.ml "$work/names/"
    echo 'let findlib = []' >"$work/names/build_paths.ml"
    (cd "$work/names" && "$ocaml5" -w -a -I +compiler-libs -I +unix unix.cmxa ocamlcommon.cmxa \
        build_paths.ml wanted.ml slots.ml search.ml request.ml compiled.ml names_table.ml \
        heapsnap_ocaml_names.ml -o helper) ||
        fail "building heapsnap-ocaml-names"
    cp "$work/names/helper" "$work/bin/heapsnap-ocaml-names-$("$ocaml5" -version | cut -d. -f1,2)"
    [ -e "$work/bin/heapsnap-ocaml-names" ] ||
        cp "$work/names/helper" "$work/bin/heapsnap-ocaml-names"
    HEAPSNAP=$work/bin/heapsnap
}

# with_types: the helper of source types, which gives names, too, built as a user does it.
with_types()
{
    [ -d "$work/bin" ] || { mkdir "$work/bin" && cp "$built"/heapsnap* "$work/bin/"; }
    "$built/heapsnap-ocaml-helper" -o "$work/bin" "$ocaml5" >"$work/log" 2>&1 ||
        fail "building heapsnap-ocaml-types"
    HEAPSNAP=$work/bin/heapsnap
}
