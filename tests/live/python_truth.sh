#!/usr/bin/env bash
# What each variable of a program owns is what the program itself finds by gc and sys.getsizeof,
# within 0.1 %: instances, slots, closures, generators, sets, deques, threads, coroutines. Larger
# programs: bench/python/truth.
. "$(dirname "$0")/_native.sh"

python=/usr/bin/python3
[ -x "$python" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "skipped: no python3 of 3.11 or later"; exit 77; }
for program in "leak 4000" "threads 3000" "asyncio 1500"; do
    # shellcheck disable=SC2086 # its name and size
    start "$python" "$fixtures/python_programs.py" $program
    dump
    echo "$program:"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$program: roots"
    python3 "$SOURCE_DIR/tests/live/_python_truth_compare.py" "$work/log" "$work/roots.json" ||
        fail "$program"
    leave
done
