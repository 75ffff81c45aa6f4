# Programs without a heap that can be read are told so, with the name of their allocator and exit
# code 3; beside blocks of glibc the rest is a note. They go on.
. "$(dirname "$0")/_native.sh"
need gcc

cat >"$work/program.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *kept[1000];
int main(void)
{
    for (int i = 0; i < 1000; i++)
        kept[i] = malloc(10 + (size_t)i);
    puts("READY");
    fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0)
        ;
    return 0;
}
EOF

# refused WHAT PATTERN: the message names the program and says PATTERN
refused()
{
    local code=0
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" >"$work/out" 2>&1 || code=$?
    [ "$code" = 3 ] || { cat "$work/out"; fail "$1: exit code $code, expected 3"; }
    grep -q "^heapsnap: cannot dump process '$pid': no heap block was found in '.*'" "$work/out" &&
        grep -q -e "$2" "$work/out" && grep -q "^hint: " "$work/out" ||
        { cat "$work/out"; fail "$1: the message"; }
    [ ! -e "$work/heap.snap" ] || fail "$1: a file was left behind"
    kill -0 "$pid" || fail "$1: the target did not survive"
    echo "$1: $(head -1 "$work/out")"
}

# No library, no stack frame, no heap.
echo '__attribute__((naked)) void _start(void) { __asm__("1: mov $34,%eax; syscall; jmp 1b"); }' \
    >"$work/pause.c"
gcc -nostdlib -static -o "$work/pause" "$work/pause.c" || fail "building"
"$work/pause" &
pid=$!
sleep 0.2
refused "no heap" "has not allocated anything yet"
stop_target

gcc -g -o "$work/program" "$work/program.c" || fail "building"
path=$(gcc -print-file-name=libmimalloc.so.3)
if [ -e "$path" ]; then
    start env LD_PRELOAD="$path" "$work/program"
    refused "mimalloc 3" "its allocator is mimalloc"
    leave
fi

if command -v musl-gcc >/dev/null; then
    for how in dynamic static; do
        flag=""
        [ "$how" = dynamic ] || flag=-static
        musl-gcc -g $flag -o "$work/musl" "$work/program.c" || fail "building"
        start "$work/musl"
        refused "musl, $how" "its allocator is musl"
        leave
    done
fi

# Blocks of glibc, and an allocator beside it that is read.
cat >"$work/two.c" <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *kept[1000];
int main(void)
{
    void *other = dlmopen(LM_ID_NEWLM, getenv("OTHER"), RTLD_NOW);
    void *(*take)(size_t) = (void *(*)(size_t))dlsym(other, getenv("TAKE"));
    for (int i = 0; i < 1000; i++)
        kept[i] = (i % 2 ? take : malloc)(10 + (size_t)i);
    puts("READY");
    fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0)
        ;
    return 0;
}
EOF
gcc -g -o "$work/two" "$work/two.c" || fail "building"
for library in tcmalloc_minimal.so.4:tc_malloc mimalloc.so.2:mi_malloc; do
    path=$(gcc -print-file-name="lib${library%:*}")
    [ -e "$path" ] || { echo "left out: no lib${library%:*}"; continue; }
    OTHER=$path TAKE=${library#*:} start "$work/two"
    dump
    "$HEAPSNAP" info "$work/heap.snap" >"$work/info"
    grep -q "^runtime *glibc" "$work/info" &&
        grep -q "^runtime *${library%%[_.]*} 2" "$work/info" &&
        ! grep "^missing" "$work/info" ||
        { cat "$work/info"; fail "two allocators, $library"; }
    leave
    echo "two allocators: $(grep "^runtime" "$work/info" | tr -s '\n ' ' ')"
done

# And one that is known by its name, and not read.
echo 'int hoard;' >"$work/hoard.c"
gcc -shared -fPIC -o "$work/libhoard.so" "$work/hoard.c" || fail "building"
start env LD_PRELOAD="$work/libhoard.so" "$work/program"
dump
"$HEAPSNAP" info "$work/heap.snap" >"$work/info"
grep -q "^missing.*hoard.*recognised, not supported" "$work/info" ||
    { cat "$work/info"; fail "two allocators: no note"; }
leave
echo "two allocators: $(grep "^missing.*hoard" "$work/info")"
