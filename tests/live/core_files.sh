#!/usr/bin/env bash
# A core whose program and libraries are not where they were: moved away, below a sysroot, of
# another build, or left out of the core. What can be had is used, what is missing is told, and
# nothing of another build is ever taken.
. "$(dirname "$0")/_core.sh"
need gcc

mkdir "$work/bin" "$work/sysroot"
cat >"$work/lib.c" <<'END'
#include <stdlib.h>
void *kept_by_library;
void keep(void) { kept_by_library = calloc(100, 8); }
END
cat >"$work/program.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
void keep(void);
void *kept_by_program;
int main(void)
{
    kept_by_program = calloc(200, 8);
    keep();
    puts("READY");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return VALUE;
}
END
build()
{
    gcc -O1 -g -shared -fPIC -o "$work/bin/libkept.so" "$work/lib.c" -Wl,-soname,libkept.so &&
        gcc -O1 -g -DVALUE="$2" -o "$1" "$work/program.c" -L"$work/bin" -lkept \
            -Wl,-rpath,"$work/bin" || fail "building"
}
build "$work/bin/program" 0
build "$work/rebuilt" 1

start_at_home "$work/bin/program"
stop_by_user
dump_live
take_gcore by_gcore
cores=by_gcore
if take_kernel_core by_kernel; then
    cores="by_gcore by_kernel"
fi
stop_target

has_root() { grep -q "\"name\": \"$1\"" "$work/other/roots.json"; }
# Both blocks are held by what has no name any more.
holds_both()
{
    python3 - "$work/other/roots.json" <<'PYTHON' || fail "$1: what is held"
import json, sys
roots = json.load(open(sys.argv[1]))["roots"]
sizes = {root["retained_words"] for root in roots if root["kind"] == "global"}
print(sorted(sizes, reverse=True)[:6])
sys.exit(not {200, 100} <= {size - size % 10 for size in sizes})
PYTHON
}
told() { grep -q "$1" "$work/talk" || { cat "$work/talk"; fail "not told: $1"; }; }
refused()
{
    local code=0
    "$HEAPSNAP" dump --core "$@" -o "$work/other/heap.snap" 2>"$work/talk" || code=$?
    [ "$code" = 3 ] || { cat "$work/talk"; fail "exit $code, not 3"; }
    [ ! -e "$work/other/heap.snap" ] || fail "a snapshot is left"
}

# serve BINARY FILE: the file is what a server has under the build-id of the binary.
serve()
{
    local id
    id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
    mkdir -p "$work/served/buildid/$id"
    cp "$2" "$work/served/buildid/$id/executable"
}
served()
{
    DEBUGINFOD_URLS=file://$work/served DEBUGINFOD_CACHE_PATH=$work/cache "$@"
}

for core in $cores; do
    core=$work/$core
    dump_core "$core"
    same "all in place" reserved "shared memory" "mapped files"
    has_root kept_by_program && has_root kept_by_library || fail "names"

    # The program is gone: names are, what its variables hold is not.
    mv "$work/bin/program" "$work/elsewhere"
    dump_core "$core"
    has_root kept_by_program && fail "a name from nowhere"
    has_root kept_by_library || fail "names of the library"
    holds_both "without the program"
    told "'$work/bin/program' is not to be had"
    told "\-\-exe, --sysroot"

    dump_core "$core" --exe "$work/elsewhere"
    same "--exe" reserved "shared memory" "mapped files"

    rm -f "$work/other/heap.snap"
    refused "$core" --exe "$work/rebuilt"
    told "another build than the program of the core (build-id [0-9a-f]\{40\}.* was [0-9a-f]\{40\})"
    told "^hint: "
    refused "$core" --exe "$work/lib.c"
    refused "$core" --exe "$work/nowhere"

    # At its place another build.
    cp "$work/rebuilt" "$work/bin/program"
    dump_core "$core"
    has_root kept_by_program && fail "a name of another build"
    holds_both "with another build"
    "$HEAPSNAP" info "$work/other/heap.snap" >"$work/info"
    grep -q "it is another build (build-id" "$work/info" || fail "info does not tell"

    # The program and its library are below a directory, and the library is gone, too.
    mkdir -p "$work/sysroot$work/bin"
    mv "$work/elsewhere" "$work/sysroot$work/bin/program"
    mv "$work/bin/libkept.so" "$work/sysroot$work/bin/"
    dump_core "$core" --sysroot "$work/sysroot"
    same "--sysroot" reserved "shared memory" "mapped files"
    dump_core "$core"
    told "2 files are not to be had"
    holds_both "without both"

    # A symbol server has both; then, under the program's number, another build.
    case " $PARTS " in
    *" debuginfod "*)
        rm -rf "$work/served" "$work/cache"
        serve "$work/sysroot$work/bin/program" "$work/sysroot$work/bin/program"
        serve "$work/sysroot$work/bin/libkept.so" "$work/sysroot$work/bin/libkept.so"
        served dump_core "$core"
        same "from a server" reserved "shared memory" "mapped files"
        told "2 .* from the symbol server"
        rm -rf "$work/cache"
        serve "$work/sysroot$work/bin/program" "$work/rebuilt"
        served dump_core "$core"
        has_root kept_by_program && fail "a name of another build, from a server"
        has_root kept_by_library || fail "names of the library, from a server"
        told "'$work/bin/program' is not to be had"
        ;;
    esac

    mv "$work/sysroot$work/bin/program" "$work/sysroot$work/bin/libkept.so" "$work/bin/"
done

# --exe and --sysroot are of cores.
code=0
"$HEAPSNAP" dump $$ --exe "$work/bin/program" -o "$work/other/heap.snap" 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "exit $code for --exe without --core"
