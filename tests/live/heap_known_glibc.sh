#!/usr/bin/env bash
# Every block that a program knows of is listed with its size, none is missing, none is false: on
# glibc's malloc in all its shapes, stripped, static, with other sizes of everything.
. "$(dirname "$0")/_native.sh"
need "${CC:-cc}"
cc=${CC:-cc}

build_known()
{
    "$cc" -O1 -g -pthread "$@" "$fixtures/heap_known.c" -o "$work/known" || fail "building $*"
    cp "$work/known" "$work/stripped"
    strip -s "$work/stripped"
}

# wait_ready: the program on its way has said "ready".
wait_ready()
{
    for _ in $(seq 600); do
        grep -q '^ready' "$work/log" && return
        kill -0 "$pid" 2>/dev/null || fail "the program ended before it was ready"
        sleep 0.1
    done
    fail "the program did not get ready"
}

# check NAME UNKNOWN COMMAND...: UNKNOWN blocks of libc's own may be listed besides.
check()
{
    local name=$1 unknown=$2
    shift 2
    : >"$work/log" # the program before said "ready" too
    "$@" >"$work/log" 2>&1 &
    pid=$!
    wait_ready
    "$HEAP_PROBE" "$pid" >"$work/probe" 2>"$work/times" || { cat "$work/times"; fail "$name"; }
    stop_target
    python3 "$SOURCE_DIR/tests/live/_heap_known_compare.py" "$work/known.txt" "$work/probe" \
        "$unknown" >"$work/verdict" || { cat "$work/verdict" "$work/times"; fail "$name"; }
    echo "$name: $(cat "$work/verdict")"
    case $name in
    huge*) ;; # sets its own limit of size
    *"brk refused") # the arena grows by a MiB then: one of them may have room there (glibc 2.41)
        grep -Eq "^P (405 405|406 406) .*mapping of their own" "$work/probe" ||
            fail "$name: mapped blocks"
        ;;
    *) grep -q "^P 406 406 .*mapping of their own" "$work/probe" || fail "$name: mapped blocks" ;;
    esac
}

build_known
check "with symbols" 0 "$work/known" "$work/known.txt"
check "stripped" 0 "$work/stripped" "$work/known.txt"
grep -q "^V 2\.[0-9]" "$work/probe" || fail "no version"
check "foreign sbrk" 0 "$work/stripped" "$work/known.txt" sbrk
check "brk refused" 0 "$work/stripped" "$work/known.txt" brk
check "false headers" 0 "$work/stripped" "$work/known.txt" false
check "two arenas" 0 env MALLOC_ARENA_MAX=2 "$work/stripped" "$work/known.txt"
check "no thread caches" 0 env GLIBC_TUNABLES=glibc.malloc.tcache_count=0 \
    "$work/stripped" "$work/known.txt"
check "large thread caches" 0 \
    env GLIBC_TUNABLES=glibc.malloc.tcache_max=500:glibc.malloc.tcache_count=100 \
    "$work/stripped" "$work/known.txt"
check "huge pages advised" 0 env GLIBC_TUNABLES=glibc.malloc.hugetlb=1 \
    "$work/stripped" "$work/known.txt"
check "huge pages" 0 env GLIBC_TUNABLES=glibc.malloc.hugetlb=2 \
    "$work/stripped" "$work/known.txt"

# A part of the heap that nobody may read: told as that, and what lies behind it is listed.
: >"$work/log"
"$work/stripped" "$work/known.txt" protect >"$work/log" 2>&1 &
pid=$!
wait_ready
"$HEAP_PROBE" "$pid" >"$work/probe" 2>"$work/times" || { cat "$work/times"; fail "protected part"; }
"$HEAPSNAP" dump "$pid" -o "$work/protected.snap" 2>"$work/said" || fail "dump of a protected part"
stop_target
grep -q "^N 1 .*protected against reading in 1 place (6[0-9]* bytes)" "$work/probe" &&
    grep -q "^T 0" "$work/probe" || { grep '^[NT]' "$work/probe"; fail "protected part"; }
python3 "$SOURCE_DIR/tests/live/_heap_known_compare.py" "$work/known.txt" "$work/probe" 0 \
    >"$work/verdict" || true # it is not all
missing=$(sed -n 's/.* missing \([0-9]*\) .*/\1/p' "$work/verdict" | head -1)
[ "$missing" -gt 0 ] && [ "$missing" -lt 600 ] || { cat "$work/verdict"; fail "behind the part"; }
grep -q "damaged\|inconsistent" "$work/said" && { cat "$work/said"; fail "a protected part"; }
echo "protected part: $missing blocks in it are not listed"

# libc's own calls cannot be noted there: stdio, the threads' DTVs, static TLS.
build_known -static -DHEAP_KNOWN_STATIC
check "static" 40 "$work/known" "$work/known.txt"
check "static, stripped" 40 "$work/stripped" "$work/known.txt"
check "static, foreign sbrk" 40 "$work/stripped" "$work/known.txt" sbrk
check "static, brk refused" 40 "$work/stripped" "$work/known.txt" brk
build_known -static-pie -DHEAP_KNOWN_STATIC
check "static, placed anywhere" 40 "$work/stripped" "$work/known.txt"

# Stops of threads that do nothing but allocate and free: never damage; what is caught in the middle
# of a change is known to be so.
"$cc" -O1 -pthread "$fixtures/heap_known_storm.c" -o "$work/storm" || fail "building the storm"
: >"$work/log"
"$work/storm" >"$work/log" 2>&1 &
pid=$!
wait_ready
"$HEAP_PROBE" "$pid" stops 60 >"$work/stops" 2>"$work/times" || fail "stops"
stop_target
# About one stop in 500 falls into the splitting of a chunk, whose rest has no header yet: then the
# stop must be known as torn, so that a dump tries another one.
awk '$2 != 0 { damaged++; if ($3 == 0) wrong++ }
     $3 == 0 { exact++; if ($4 != 1) wrong++ }
     END { printf "%d stops, %d exact, %d damaged\n", NR, exact, damaged
           exit NR != 60 || damaged > 3 || wrong > 0 || exact < 10 }' "$work/stops" ||
    fail "stops: $(cat "$work/stops")"
echo "all as known"
