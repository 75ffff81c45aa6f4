# parts: ocaml
# The memory of a dump is foreseen: what a watcher sees of it at the most lies near what was told,
# and stays under --memory, files and debug information included. Whatever is accepted works.
. "$(dirname "$0")/_target.sh"
need gcc python3
[ -z "${SANITIZED:-}" ] || [ "$SANITIZED" = OFF ] ||
    { echo "skipped: sanitizers take memory of their own"; exit 77; }

gcc -g -O1 -o "$work/blocks" "$fixtures/held_blocks.c" || fail "building"
jemalloc=$(jemalloc_library)

# mib NUMBER UNIT
mib()
{
    awk -v n="$1" -v unit="$2" \
        'BEGIN { print unit == "GiB" ? 1024 * n : unit == "KiB" ? n / 1024 : n }'
}

# near NAME PID: a dump of a process that is ready.
near()
{
    local foreseen seen unit
    "$HEAPSNAP" dump "$2" -v -o "$work/heap.snap" 2>"$work/talk" ||
        { cat "$work/talk"; fail "$1: dump"; }
    read -r foreseen unit < <(sed -nE \
        's/.*memory: foreseen about ([0-9.]+) ([KMG]iB) for .*/\1 \2/p' "$work/talk")
    foreseen=$(mib "$foreseen" "$unit")
    read -r seen unit < <(sed -nE 's/.*at most ([0-9.]+) ([KMG]iB) were resident.*/\1 \2/p' \
        "$work/talk")
    seen=$(mib "$seen" "$unit")
    awk -v f="$foreseen" -v s="$seen" 'BEGIN { exit !(f >= 0.8 * s && f <= 1.7 * s) }' ||
        fail "$1: $foreseen MiB were foreseen, $seen MiB were resident"
    echo "$1: $foreseen MiB were foreseen, $seen MiB were resident"
}

# within NAME PID: from the least that is accepted on, each dump works in what it may take, and all
# find as many objects (live.native_budget compares whole graphs). A page table, a stack and a file
# that is looked at once may stand beside the limit; and clean pages of the program's own file, of
# which some kernels map more than the 12 MiB that are always counted, as many as are told.
within()
{
    local limit seen files unit n_objects="" found too_little
    "$HEAPSNAP" dump "$2" -o "$work/small.snap" --memory 24Mi 2>"$work/talk" && fail "$1: in 24 MiB"
    least=$(sed -nE 's/.*needs at least ([0-9.]+) MiB of memory.*/\1/p' "$work/talk")
    [ -n "$least" ] || { cat "$work/talk"; fail "$1: no figure"; }
    # And what is always taken; the figure is rounded to a tenth.
    read -r too_little least < <(awk -v n="$least" \
        'BEGIN { print int(n - 0.05 + 12 + 0.9999) - 1, int(n + 0.05 + 12 + 0.9999) }')
    for limit in "$too_little" "$least" $((least + 9)) $((least + 60)); do
        if "$HEAPSNAP" dump "$2" -v -o "$work/small.snap" --memory "${limit}Mi" 2>"$work/talk"; then
            [ "$limit" -ge "$least" ] || fail "$1: less than the least is enough: $limit MiB"
        else
            [ "$limit" -lt "$least" ] || { cat "$work/talk"; fail "$1: $limit MiB are too little"; }
            continue
        fi
        read -r seen unit < <(sed -nE 's/.*at most ([0-9.]+) ([KMG]iB) were resident.*/\1 \2/p' \
            "$work/talk")
        seen=$(mib "$seen" "$unit")
        read -r files unit < <(sed -nE 's/.* ([0-9.]+) ([KMG]iB) those of mapped files.*/\1 \2/p' \
            "$work/talk")
        files=$(mib "$files" "$unit")
        awk -v s="$seen" -v limit="$limit" -v files="$files" \
            'BEGIN { exit !(s - (files > 12 ? files - 12 : 0) <= limit + 3) }' ||
            { cat "$work/talk"; fail "$1: $seen MiB were resident under $limit"; }
        found=$("$HEAPSNAP" info "$work/small.snap" --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["objects"])')
        [ "$found" = "${n_objects:=$found}" ] || fail "$1: $found objects, and $n_objects"
        echo "$1: $seen MiB were resident under $limit"
    done
}

# blocks NAME N [PRELOADED]
blocks()
{
    start env LD_PRELOAD="${3:-}" "$work/blocks" "$2"
    near "$1" "$pid"
    stop_target
}

blocks "glibc, 1,000 blocks" 1000
blocks "glibc, 1 million blocks" 1000000
[ -z "$jemalloc" ] || blocks "jemalloc, 1 million blocks" 1000000 "$jemalloc"

# One array is all there is, in no order: its columns are longer than any other's.
gcc -O1 -g -o "$work/one_array" "$fixtures/one_array.c" || fail "building"
start "$work/one_array" 12000000
near "one array" "$pid"
stop_target

# Debug information is far more than the heap, and has more names for its size than any that is
# foreseen: it comes in pieces, its lists end, and at last it gives way, which is said. Compressed
# sections are held whole, or unpacked into files where there is no room for them.
python3 - "$work/types.c" <<'END'
import sys
with open(sys.argv[1], "w") as file:
    print("#include <stdio.h>\n#include <stdlib.h>", file=file)
    for i in range(24000):
        print(f"struct of_type_{i} {{ struct of_type_{i} *next; long " +
              ", ".join(f"{'member_of_a_record_' * 3}{i * 16 + k}" for k in range(16)) + "; };",
              file=file)
    print("struct of_type_7 *kept;\n"
          "int main(void) { for (int i = 0; i < 40000; i++) {\n"
          "struct of_type_7 *more = calloc(1, sizeof *more); more->next = kept; kept = more; }\n"
          "puts(\"READY\"); fflush(stdout); getchar(); return kept == NULL; }", file=file)
END
gcc -g -O0 -gz=none -fno-eliminate-unused-debug-types -o "$work/types" "$work/types.c" ||
    fail "building"
for packed in none zlib; do
    objcopy --compress-debug-sections=$packed "$work/types" || fail "objcopy"
    start "$work/types"
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" || fail "$packed: dump"
    "$HEAPSNAP" types "$work/heap.snap" -n 1 | grep "struct of_type_7" >/dev/null ||
        fail "$packed: no types"
    within "many types, $packed" "$pid"
    "$HEAPSNAP" types "$work/small.snap" -n 1 | grep "struct of_type_7" >/dev/null ||
        fail "$packed: no types where there is room"
    "$HEAPSNAP" dump "$pid" -o "$work/small.snap" --memory "${least}Mi" 2>"$work/talk" ||
        fail "$packed: $least MiB"
    "$HEAPSNAP" types "$work/small.snap" -n 1 | grep "struct of_type_7" >/dev/null ||
        fail "$packed: no types in $least MiB"
    ! "$HEAPSNAP" info "$work/small.snap" | grep "left out" || fail "$packed: in $least MiB"
    stop_target
done
# Names without end, as far as the file says.
objcopy --decompress-debug-sections --dump-section .debug_str="$work/names" "$work/types"
truncate -s +320M "$work/names"
objcopy --update-section .debug_str="$work/names" "$work/types"
objcopy --compress-debug-sections=zlib "$work/types" || fail "objcopy"
rm "$work/names"
start "$work/types"
"$HEAPSNAP" dump "$pid" -v -o "$work/small.snap" --memory "${least}Mi" 2>"$work/talk" ||
    { cat "$work/talk"; fail "320 MB of names"; }
"$HEAPSNAP" info "$work/small.snap" | grep "types of 'types' are left out" >/dev/null ||
    fail "types had no room, and nothing says so"
stop_target

cat >"$work/held.py" <<'END'
import sys
held = [{"number": i, "list": [i]} for i in range(200000)]
print("READY", flush=True)
sys.stdin.read()
END
# Debian's, where there is one: what a file takes while it is looked at differs by its debug
# information, 23 MB of it in some libpython.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
start "$python" "$work/held.py"
near python "$pid"
within python "$pid"
stop_target

if command -v coqtop >/dev/null; then
    mkfifo "$work/said"
    coqtop -q <"$work/said" >"$work/answers" 2>&1 &
    pid=$!
    exec 9>"$work/said"
    echo "Eval compute in 20 + 22." >&9
    for _ in $(seq 600); do
        grep -q "= 42" "$work/answers" && break
        sleep 0.1
    done
    grep -q "= 42" "$work/answers" || fail "coqtop does not answer"
    near coqtop "$pid"
    within coqtop "$pid"
    stop_target
fi
