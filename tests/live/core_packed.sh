#!/usr/bin/env bash
# Cores as systemd keeps them (zstd, lz4), through standard input, and cut: what is whole is read,
# what is missing is told; a disk without room ends with a message, and nothing is left on it.
. "$(dirname "$0")/_core.sh"
need gcc lz4

head -c 20000 /dev/urandom | base64 >"$work/file"
gcc -O1 -g -pthread -o "$work/world" "$fixtures/core_world.c" || fail "building"
start_at_home "$work/world" "$work/file"
stop_by_user
dump_live
take_gcore core
take_kernel_core core || stop_target
allowed=(reserved "shared memory" "mapped files")

dump_core "$work/core"
same "plain" "${allowed[@]}"
cp "$work/other/heap.snap" "$work/plain.snap"
as_plain() { cmp "$work/plain.snap" "$work/other/heap.snap" || fail "$1 differs"; echo "$1: same"; }

zstd -q -T2 "$work/core" -o "$work/core.zst"
lz4 -q "$work/core" "$work/core.lz4"
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
dump_core "$work/core.zst" && as_plain "zstd"
dump_core "$work/core.lz4" && as_plain "lz4"
dump_core - <"$work/core" && as_plain "standard input, a file"
cat "$work/core" | dump_core - && as_plain "standard input, a pipe"
cat "$work/core.zst" | dump_core - && as_plain "standard input, zstd"
zstd -dcq "$work/core.zst" | dump_core - && as_plain "zstd -dc |"
[ -z "$(ls -A "$TMPDIR")" ] || fail "temporary files are left: $(ls "$TMPDIR")"
# Not sparse any more: the same.
cp --sparse=never "$work/core" "$work/filled"
dump_core "$work/filled" && as_plain "without holes"
rm "$work/filled"

# cut BYTES CODE...: the first bytes of it end with one of these codes, never by a signal.
size=$(stat -c %s "$work/core")
cut()
{
    local code=0 bytes=$1
    shift
    rm -f "$work/x.snap"
    head -c "$bytes" "$work/core" >"$work/cut"
    "$HEAPSNAP" dump --core "$work/cut" -o "$work/x.snap" 2>"$work/talk" || code=$?
    case " $* " in
    *" $code "*) ;;
    *) cat "$work/talk"; fail "exit $code of a core cut at $bytes" ;;
    esac
    [ "$code" != 0 ] || "$HEAPSNAP" check "$work/x.snap" >/dev/null || fail "check, cut at $bytes"
    cut_code=$code
}
for bytes in 0 1 63 64 65 119 120 1000 3000 5000; do
    cut "$bytes" 4 3
    grep -q "^hint: " "$work/talk" || { cat "$work/talk"; fail "cut at $bytes: no hint"; }
done
for part in 5 10 20 30 40 50 60 70 80 90; do
    cut $((size / 100 * part)) 0 3
    grep -q "the core is cut: [0-9.]* .iB of memory are missing" "$work/talk" ||
        { cat "$work/talk"; fail "$part %: not told"; }
done
cut $((size - 4096)) 0
grep -q "not exact: .*the core is cut" "$work/talk" || fail "the last page: not told"
# Half of the packed file is half of the core.
head -c $(($(stat -c %s "$work/core.zst") / 2)) "$work/core.zst" >"$work/cut"
code=0
"$HEAPSNAP" dump --core "$work/cut" -o "$work/x.snap" 2>"$work/talk" || code=$?
[ "$code" = 0 ] || [ "$code" = 3 ] || { cat "$work/talk"; fail "exit $code of a cut frame"; }
grep -q "the core is cut" "$work/talk" || { cat "$work/talk"; fail "a cut frame: not told"; }

# What is no core, by its name.
refused()
{
    local code=0
    "$HEAPSNAP" dump --core "$1" -o "$work/x.snap" 2>"$work/talk" </dev/null || code=$?
    [ "$code" = "$2" ] || { cat "$work/talk"; fail "exit $code for $1"; }
    grep -q "$3" "$work/talk" || { cat "$work/talk"; fail "$1: not told"; }
}
refused "$work/world" 4 "it is a program or library"
refused "$work/file" 4 "it is no ELF file"
refused "$work/nowhere" 5 "No such file"
refused - 4 "it is no ELF file"
gzip -c "$work/file" >"$work/file.gz"
refused "$work/file.gz" 4 "gzip -dc FILE | heapsnap dump --core -"

# No room: in a directory of 8 MiB.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir "$work/small"
    head -c 30000000 /dev/urandom >"$work/noise"
    cat "$work/core" "$work/noise" | zstd -q >"$work/large.zst"
    unshare -m sh -c 'mount -t tmpfs -o size=8m none "$1" && shift && exec "$@"' - "$work/small" \
        "$HEAPSNAP" dump --core "$work/large.zst" --spill-dir "$work/small" -o "$work/x.snap" \
        2>"$work/talk" && fail "8 MiB were enough"
    grep -q "hint: name a directory with more room by --spill-dir" "$work/talk" ||
        { cat "$work/talk"; fail "no hint"; }
    echo "no room: $(head -1 "$work/talk")"
else
    echo "NOT TESTED: a small disk (needs root and mount namespaces)"
fi
