#!/usr/bin/env bash
# include/heapsnap/register.h is for other people's compilers: it has to be silent and to work in C
# and C++, in several source files of one program, in libraries, and whatever the linker drops.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fixture=$SOURCE_DIR/tests/live/fixtures/registered_areas.c
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror"
n_good=0
n_bad=0

cat > "$dir/one.c" <<'C'
#include <heapsnap/register.h>
#ifdef __cplusplus
extern "C"
#endif
int other(void);
static struct heapsnap_record record;
int main(void)
{
    heapsnap_register_root(&record, "x", &record, 8, HEAPSNAP_PRECISE);
    return other();
}
C
cp "$dir/one.c" "$dir/one.cc"
cat > "$dir/two.c" <<'C'
#include <heapsnap/register.h>
static struct heapsnap_record record;
int other(void); /* 0: this file and the other one share a list, and it comes apart again */
int other(void)
{
    int n = 0;
    heapsnap_register_pool(&record, "y", &record, 8, 8, 0);
    for (const struct heapsnap_record *r = heapsnap_registry_v1.first; r; r = r->next)
        n++;
    heapsnap_unregister(&record);
    heapsnap_unregister(&record);
    return n == 2 && heapsnap_registry_v1.first->next == 0 ? 0 : 1;
}
C

# Must compile without a word, run, and keep the note.
check() {
  local what=$1
  shift
  if "$@" -I "$SOURCE_DIR/include" -o "$dir/program" > "$dir/log" 2>&1 && [ ! -s "$dir/log" ] &&
    "$dir/program" && readelf -nW "$dir/program" 2> /dev/null | grep heapsnap >/dev/null; then
    n_good=$((n_good + 1))
  else
    echo "FAIL: $what" && cat "$dir/log"
    n_bad=$((n_bad + 1))
  fi
}

drop="-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections"
for compiler in gcc clang; do
  command -v "$compiler" > /dev/null || continue
  for options in "" "-O2" "-fPIE -pie" "-fno-pie -no-pie" "-static" "-flto -O2" "$drop" \
    "$drop -flto" "$drop -s" "-fuse-ld=gold $drop" "-fuse-ld=lld $drop"; do
    linker=${options#-fuse-ld=}
    [ "$linker" = "$options" ] || command -v "ld.${linker%% *}" > /dev/null || continue
    # shellcheck disable=SC2086
    check "$compiler $options" "$compiler" -std=gnu99 $warnings $options "$dir/one.c" "$dir/two.c"
  done
done
for compiler in g++ clang++; do
  command -v "$compiler" > /dev/null || continue
  cc=gcc
  [ "$compiler" = clang++ ] && cc=clang
  "$cc" -c -I "$SOURCE_DIR/include" "$dir/two.c" -o "$dir/two.o" || n_bad=$((n_bad + 1))
  for standard in c++11 c++17 c++20; do
    # shellcheck disable=SC2086
    check "$compiler $standard" "$compiler" -std=$standard $warnings -Wold-style-cast \
      "$dir/one.cc" "$dir/two.o"
  done
done

# A program and a library: each has a registry of its own, and no relocation in its note.
include="-I $SOURCE_DIR/include"
# shellcheck disable=SC2086
gcc $include -DLIBRARY -shared -fPIC "$fixture" -o "$dir/lib.so" &&
  gcc $include -DWITH_LIBRARY "$fixture" "$dir/lib.so" -o "$dir/both" || n_bad=$((n_bad + 1))
strip "$dir/both" "$dir/lib.so"
"$dir/both" < /dev/null > "$dir/says" || n_bad=$((n_bad + 1))
[ "$(grep -c '^root ' "$dir/says")" = 3 ] && [ "$(tail -n 1 "$dir/says")" = READY ] ||
  { echo "FAIL: the fixture" && n_bad=$((n_bad + 1)); }
for file in both lib.so; do
  [ "$(readelf -nW "$dir/$file" 2> /dev/null | grep -c '^  heapsnap ')" = 1 ] ||
    { echo "FAIL: $file has no note" && n_bad=$((n_bad + 1)); }
done
nm -D "$dir/both" "$dir/lib.so" | grep heapsnap_registry >/dev/null &&
  echo "FAIL: the registry is not hidden" && n_bad=$((n_bad + 1))

echo "$n_good builds are good, $n_bad checks failed"
[ "$n_bad" = 0 ] && [ "$n_good" -gt 0 ]
