#!/usr/bin/env bash
# parts: record debuginfod
# The .debs that cpack makes of this build are whole: lintian sees no error in them, they say what
# they need, and unpacked into a root the program there names what keeps the memory of a stripped
# program, with its names from a symbol server, in one command. How they install in a bare Debian is
# asked by scripts/packages.
source "$(dirname "$0")/lib.sh"
for tool in cpack dpkg-deb dpkg-shlibdeps file lintian objcopy strip readelf; do
    command -v $tool >/dev/null || skip "no $tool (scripts/deps packages)"
done
[ "$(sed -n 's/^ID=//p' /etc/os-release)" = debian ] || skip "no Debian, whose libraries are needed"

debs=$work/debs root=$work/root
export SOURCE_DATE_EPOCH=1700000000
(umask 077 && cpack -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B "$debs" \
    --config "$BUILD_DIR/CPackConfig.cmake") >"$work/cpack" 2>&1 ||
    fail "cpack: $(cat "$work/cpack")"
rm -rf "$debs/_CPack_Packages"

# ---- what they say of themselves
version=$("$HEAPSNAP" version | sed 's/^heapsnap \([^ ]*\) .*/\1/')
# control PACKAGE FIELD: of its control file.
control()
{
    dpkg-deb -f "$debs/$1"_*.deb "$2"
}
names="heapsnap heapsnap-recorder libheapsnap-dev libheapsnap0 python3-heapsnap"
for name in $names; do
    [[ $(control $name Version) == "$version"-1* ]] || fail "$name is $(control $name Version)"
    dpkg-deb -c "$debs/$name"_*.deb >"$work/files"
    ! awk '$2 != "root/root" || $4 != "2023-11-14"' "$work/files" | grep . ||
        fail "$name: owners or dates of who builds"
    ! grep -v '^-rw-r--r--\|^-rwxr-xr-x\|^drwxr-xr-x\|^l' "$work/files" ||
        fail "$name: the umask of who builds"
    for kept in copyright changelog.Debian.gz changelog.gz; do
        grep -q " ./usr/share/doc/$name/$kept$" "$work/files" || fail "$name has no $kept"
    done
    mkdir -p "$root"
    dpkg-deb -x "$debs/$name"_*.deb "$root"
done
[ "$(ls "$debs" | wc -l)" = 5 ] || fail "packages: $(ls "$debs")"
for needed in libc6 libdwarf1 libelf1 libdebuginfod1; do
    [[ " $(control heapsnap Depends)" == *" $needed"[\ t,]* ]] ||
        fail "heapsnap does not need $needed: $(control heapsnap Depends)"
done
! has_part serve || [[ $(control heapsnap Recommends) == *libmicrohttpd* ]] ||
    fail "serve does not know of its library: $(control heapsnap Recommends)"
[[ $(control libheapsnap-dev Depends) == "libheapsnap0 (= $(control heapsnap Version))" ]] ||
    fail "the headers may be of another version"
lintian --allow-root --fail-on error "$debs"/*.deb >"$work/lintian" 2>&1 ||
    fail "lintian: $(grep '^E:' "$work/lintian")"

# ---- what is in them
for program in "$root"/usr/bin/* "$root"/usr/lib/lib*.so; do
    ! readelf -SW "$program" | grep '\.debug_info\|\.symtab' >/dev/null ||
        fail "$program is not stripped"
done
for page in "$SOURCE_DIR"/docs/man/*.1; do
    gzip -cd "$root/usr/share/man/man1/${page##*/}.gz" | cmp - "$page" || fail "$page"
done
diff -r "$SOURCE_DIR/share/heapsnap/rules.d" "$root/usr/share/heapsnap/rules.d" || fail "rules"
[ "$(readlink "$root/usr/lib/libheapsnap.so")" = libheapsnap.so.0 ] || fail "the link of -dev"

# ---- a stripped program, a server of its names, one command
cat >"$work/stock.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
struct item {
    struct item *next;
    long price[5];
};
static struct {
    struct item *items;
} stock;
int main(void)
{
    for (int i = 0; i < 3000; i++) {
        struct item *one = calloc(1, sizeof *one);
        one->next = stock.items;
        stock.items = one;
    }
    puts("READY");
    fflush(stdout);
    getchar();
    return stock.items == NULL;
}
C
"${CC:-cc}" -g -O1 -Wl,--build-id -o "$work/stock" "$work/stock.c" || fail "building"
id=$(readelf -n "$work/stock" | sed -n 's/.*Build ID: //p')
mkdir -p "$work/served/buildid/$id"
objcopy --only-keep-debug "$work/stock" "$work/served/buildid/$id/debuginfo"
strip "$work/stock"
mkfifo "$work/input"
"$work/stock" <"$work/input" >"$work/log" &
pid=$!
started+=("$pid")
exec 9>"$work/input"
until grep -q READY "$work/log"; do
    kill -0 "$pid" || fail "the program ended"
    sleep 0.05
done
cd "$work"
HEAPSNAP=$root/usr/bin/heapsnap
export DEBUGINFOD_URLS=file://$work/served DEBUGINFOD_CACHE_PATH=$work/cache
exits 0 suspects "$pid"
tr -s ' \n' '  ' <"$work/out" |
    grep -q ' stock.items (.*stock.c:9) alone keeps .* 3000 struct item' ||
    fail "no cause by name: $(cat "$work/out" "$work/err")"
snap=stock.$pid.snap
exec 9>&-
wait "$pid" || fail "the program did not end well"

# ---- the library from Python, and the recorder
PYTHONPATH=$root/usr/lib/python3/dist-packages HEAPSNAP_LIBRARY=$root/usr/lib/libheapsnap.so.0 \
    python "$snap" <<'PYTHON' || fail "the module"
import heapsnap, sys
most = max(heapsnap.Snapshot(sys.argv[1]).roots(), key=lambda root: root.retained_words)
assert "stock" in most.name, most
PYTHON
exits 0 record -o "$work/true.trace" -- true
exits 0 version
says_version=$(cat "$work/out")
[[ $says_version == "heapsnap $version "* ]] || fail "the version: $says_version"
