#!/usr/bin/env bash
# Names of a stripped program come from its separate debug file: beside it, below --debug-path, and
# never from that of another build, which is told.
. "$(dirname "$0")/_native.sh"
need gcc
need objcopy

# says PATTERN: `info` of the snapshot has such a line
says()
{
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "info"
    grep -q -e "$1" "$work/info" || { cat "$work/info"; fail "info lacks '$1'"; }
}

# named NUMBER: of the roots that are the program's own variables with their lines
named()
{
    local n
    n=$("$HEAPSNAP" roots "$work/heap.snap" -n 0 | grep -c 'native_basic.c:' || true)
    [ "$n" -ge "$1" ] || { "$HEAPSNAP" roots "$work/heap.snap"; fail "$n roots have a line"; }
    [ "$1" != 0 ] || [ "$n" = 0 ] || fail "$n roots have a line, where could it be from?"
}

gcc -g -O1 -o "$work/basic" "$fixtures/native_basic.c" || fail "building"
objcopy --only-keep-debug "$work/basic" "$work/basic.debug"
strip "$work/basic"
objcopy --add-gnu-debuglink="$work/basic.debug" "$work/basic"
id=$(readelf -n "$work/basic" | sed -n 's/.*Build ID: //p')

start "$work/basic"
dump
says "debug information in $work/basic.debug"
named 4
mkdir "$work/elsewhere"
mv "$work/basic.debug" "$work/elsewhere/"
dump
named 0
says "no debug information"
dump --debug-path /nonexistent --debug-path "$work/elsewhere"
says "debug information in $work/elsewhere/basic.debug"
named 4
"$HEAPSNAP" types "$work/heap.snap" -n 0 | grep 'struct item' >/dev/null || fail "no types"
dump --debug-path "$work/elsewhere" --no-names
named 0
if [ -n "$id" ]; then
    mkdir -p "$work/by-id/.build-id/${id:0:2}"
    mv "$work/elsewhere/basic.debug" "$work/by-id/.build-id/${id:0:2}/${id:2}.debug"
    dump --debug-path "$work/by-id"
    named 4
fi
gcc -g -O1 -DOTHER=1 -Wl,--build-id=0x0123456789 -o "$work/basic.debug" "$fixtures/native_basic.c"
dump
named 0
says "names of 'basic' are missing: its debug file '$work/basic.debug' is of another build"
leave

# Files beside the program, of -gsplit-dwarf, are read if they are of this build; others are told.
# Before DWARF 5 they have another form.
lacks="types and variables of 'split' are missing: .* (-gsplit-dwarf) is in '.*dwo'"
build_split()
{
    (cd "$work" && rm -f ./*.dwo && "$@" -gsplit-dwarf -O1 -o split "$fixtures/native_basic.c") ||
        fail "building: $*"
}
for kind in "gcc -gdwarf-4 -fdebug-types-section" "clang -gdwarf-4" "clang -gdwarf-5" \
    "gcc -gdwarf-4" "gcc -gdwarf-5"; do
    command -v "${kind%% *}" >"$work/said" || continue
    # shellcheck disable=SC2086
    build_split $kind
    start "$work/split"
    dump
    says "debug information in 1 .dwo file"
    named 4
    "$HEAPSNAP" types "$work/heap.snap" -n 0 | grep 'struct item' >"$work/said" || fail "no types"
    ! "$HEAPSNAP" info "$work/heap.snap" | grep 'gsplit-dwarf' || fail "$kind: no .dwo"
    if [ "$kind" = "gcc -gdwarf-4" ]; then
        truncate -s 2000 "$work"/*.dwo # as if it were not there, and told
        dump
        says "$lacks"
    fi
    [ "$kind" = "gcc -gdwarf-5" ] || leave
done
mkdir "$work/packed"
mv "$work"/*.dwo "$work/packed/"
dump
says "$lacks"
named 0
dump --debug-path "$work/packed"
named 4
(cd "$work/packed" && gcc -gdwarf-5 -gsplit-dwarf -O1 -DOTHER=1 -o split \
    "$fixtures/native_basic.c") || fail "building another"
dump --debug-path "$work/packed" # of another build
says "$lacks"
named 0
leave
# All .dwo in one, beside the program; of units of types a .dwo has as many sections as types. (With
# some .dwo of gcc's llvm-dwp 14 does not end.)
if command -v dwp >"$work/said"; then
    build_split gcc -gdwarf-4 -fdebug-types-section
    (cd "$work" && dwp -e split -o split.dwp) || fail "packing"
    rm "$work"/*.dwo
    start "$work/split"
    dump
    says "debug information in 1 unit of a .dwp file"
    named 4
    "$HEAPSNAP" types "$work/heap.snap" -n 0 | grep 'struct item' >"$work/said" || fail "no types"
    leave
    rm "$work/split.dwp"
fi
if command -v clang >"$work/said" && command -v llvm-dwp >"$work/said"; then
    build_split clang -gdwarf-5 -fdebug-types-section
    (cd "$work" && timeout 20 llvm-dwp -e split -o split.dwp) || fail "packing"
    rm "$work"/*.dwo
    start "$work/split"
    dump
    says "debug information in 1 unit of a .dwp file"
    named 4
    "$HEAPSNAP" types "$work/heap.snap" -n 0 | grep 'struct item' >"$work/said" || fail "no types"
    leave
    rm "$work/split.dwp"
fi
gcc -gdwarf-4 -O1 -o "$work/whole" "$fixtures/native_basic.c" || fail "building"
start "$work/whole"
dump
! "$HEAPSNAP" info "$work/heap.snap" | grep split || fail "split without -gsplit-dwarf"
leave
