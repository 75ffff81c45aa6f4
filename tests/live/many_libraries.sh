#!/usr/bin/env bash
# The tests find a library also where ldconfig has more to say than a pipe holds: a reader that
# stops earlier would end it, and under `pipefail` the test.
. "$(dirname "$0")/_target.sh"

mkdir "$work/bin"
cat >"$work/bin/ldconfig" <<'END'
#!/bin/sh
printf '\tlibjemalloc.so.2 (libc6,x86-64) => /there/libjemalloc.so.2\n'
printf '\tlibjemalloc.so.2 (libc6) => /elsewhere/libjemalloc.so.2\n'
yes "libother.so.1 (libc6,x86-64) => /there/libother.so.1" | head -n 20000
END
chmod +x "$work/bin/ldconfig"
found=$(PATH="$work/bin:$PATH" jemalloc_library) || fail "jemalloc_library fails"
[ "$found" = /there/libjemalloc.so.2 ] || fail "jemalloc_library says '$found'"
printf '#!/bin/sh\ntrue\n' >"$work/bin/ldconfig"
found=$(PATH="$work/bin:$PATH" jemalloc_library) || fail "jemalloc_library fails without any"
[ -z "$found" ] || fail "jemalloc_library says '$found' without any"
