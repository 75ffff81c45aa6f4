#!/usr/bin/env bash
# A program most of whose memory is in no heap that can be read is told of on every first line, with
# the runtime's name where it is known; one without is not.
. "$(dirname "$0")/_native.sh"
need cc

told='of the process.s own memory ([0-9.]* MiB) is not read'
build()
{
    cc -O1 -o "$work/$1" "$fixtures/unread.c" "${@:2}" || fail "building $1"
}
# says COMMAND PATTERN [OPTION...]: the command says it, on its standard output.
says()
{
    "$HEAPSNAP" "$1" "$work/heap.snap" "${@:3}" >"$work/said" 2>"$work/talked" || fail "$1"
    [ "$1" != suspects ] || printf '%s\n' "$(tr -s ' \n' ' ' <"$work/said")" >"$work/said"
    grep -q "$2" "$work/said" || { cat "$work/said"; fail "$1 does not say: $2"; }
}
silent()
{
    "$HEAPSNAP" "$1" "$work/heap.snap" >"$work/said" 2>&1 || fail "$1"
    ! grep -q "$told" "$work/said" || { cat "$work/said"; fail "$1 tells of little"; }
}

build unread
build beam -DRUNTIME -rdynamic
start "$work/beam" 16
"$HEAPSNAP" doctor "$pid" >"$work/said" 2>&1 || fail "doctor"
grep -q "the Erlang machine (beam)" "$work/said" || { cat "$work/said"; fail "doctor"; }
dump
head -1 "$work/talk" | grep -q 'not exact: 9[0-9] % of its own memory' ||
    { cat "$work/talk"; fail "the first line of dump"; }
head -1 "$work/talk" | grep -q 'the heap of the Erlang machine (beam) is not supported' ||
    { cat "$work/talk"; fail "the runtime in dump"; }
for command in roots types leaks suspects; do
    says "$command" "9[0-9] % $told: the heap of the Erlang machine (beam)"
done
# What is not read is a part of what every percentage is of: 125,000 words are 5.6 % of both.
says suspects ' kept (beam) alone keeps 976.6 KiB, 5.6 % of heap and unread memory'
for command in roots types; do
    says "$command" ' 94.3% .*\[not read\]'
    says "$command" ' 100.0% .*TOTAL'
done
says types 'TOTAL' -n 0
! grep -q '\[heap of' "$work/said" || { cat "$work/said"; fail "types tells it twice"; }
for command in roots types suspects; do
    "$HEAPSNAP" "$command" "$work/heap.snap" --json |
        python3 -c 'import json, sys; assert json.load(sys.stdin)["unread_words"] > 2090000' ||
        fail "unread_words of $command"
done
says dominators ' 5.6%  *[0-9].*kept'
says info 'the Erlang machine (beam) (its heap is not read)'
says info '^missing .*9[0-9] % of its own memory'
says info '"certainty": *"unread"' --json
# The heap owns the blocks that it alone holds, and no leak is certain: it may have encodings.
says roots '^ *125 .* heap of the Erlang machine' -n 0
says leaks 'possible  *1  *139 .*the heap of the Erlang machine, which is not read, may hold it'
! grep -q '^certain' "$work/said" || { cat "$work/said"; fail "a certain leak beside such a heap"; }
says roots ' of [0-9]* words of private memory: .*, other heaps 20[0-9]* words'
"$HEAPSNAP" roots "$work/heap.snap" --fail-unless-attributed 0 >"$work/said" 2>&1 || fail "0 %"
if "$HEAPSNAP" roots "$work/heap.snap" --fail-unless-attributed 50 >"$work/said" 2>&1; then
    fail "attributed though nothing is"
else
    [ $? = 1 ] || fail "the exit code of --fail-unless-attributed"
fi
grep -q 'less than the 50 % of --fail-unless-attributed' "$work/said" || fail "why"
leave

# An allocator that is recognised is called by its name everywhere, not in dump and info alone.
build collector -DCOLLECTOR=GC_malloc -rdynamic
start "$work/collector" 16
dump
says info "Boehm's collector (collector) (its heap is not read)"
for command in roots leaks suspects; do
    says "$command" "9[0-9] % $told: the heap of Boehm's collector (collector)"
done
leave

# By what its functions are called, and by the program's name where these are hidden.
build rpm -DCOLLECTOR=rpmalloc -rdynamic
cp "$work/unread" "$work/js102"
for known in 'rpm:rpmalloc (rpm)' 'js102:SpiderMonkey (js102)'; do
    start "$work/${known%%:*}" 16
    "$HEAPSNAP" doctor "$pid" >"$work/said" 2>&1 || fail "doctor"
    grep -qF "${known#*:}" "$work/said" || { cat "$work/said"; fail "doctor: $known"; }
    leave
done

start "$work/unread" 16
dump
grep -q 'not exact: 9[0-9] % of its own memory .*no allocator that is known has it' "$work/talk" ||
    { cat "$work/talk"; fail "no runtime"; }
says roots "$told: no known allocator has it"
leave

# What the memory is in place of a heap, and who leads to it, before any sentence on the heap.
build held -DHELD
start "$work/held" 16
dump
"$HEAPSNAP" suspects "$work/heap.snap" 2>&1 | tr -s ' \n' ' ' >"$work/said"
for text in '! 8[0-9] % is no heap: 1[56].[0-9] MiB of mappings that no allocator has' \
    '15.9 MiB of mappings hang on heap_of_mine'; do
    grep -q "$text" "$work/said" || { cat "$work/said"; fail "suspects does not say: $text"; }
done
leave

# A mapping that a variable of another binary has is the program's, whatever runtime is loaded.
echo 'void *enif_alloc(unsigned long n) { return (void *)n; }' >"$work/runtime.c"
cc -shared -fPIC -o "$work/libbeam.so" "$work/runtime.c" || fail "building libbeam.so"
build pool -DHELD -Wl,--no-as-needed,-rpath,"$work" "$work/libbeam.so"
start "$work/pool" 16
dump
says roots "the heap of the Erlang machine (libbeam.so) is not supported yet"
! grep -q 'heap of the Erlang machine  ' "$work/said" || { cat "$work/said"; fail "a pool"; }
says roots ' 125 .*heap_of_mine' -n 0
says leaks 'certain  *1  *139'
leave

start "$work/unread" 0
dump
says leaks 'certain  *1  *139'
! grep -q 'own memory' "$work/talk" || { cat "$work/talk"; fail "there is nothing to tell"; }
silent roots
silent leaks
"$HEAPSNAP" roots "$work/heap.snap" --fail-unless-attributed 90 >"$work/said" 2>&1 ||
    { cat "$work/said"; fail "90 %"; }
leave
echo "told of a runtime, of no runtime, and not told where there is nothing"
