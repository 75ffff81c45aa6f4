#!/usr/bin/env bash
# parts: import export
# Chrome's DevTools and we find the same retained size for every object of a heap of Node.js, folded
# sizes included; and what we export of it gives the same answer again.
. "$(dirname "$0")/_oracle.sh"
need python3
need_npm devtools chrome-devtools-frontend@1.0.1705227 esbuild@0.24.0

# What its build generates and the package has not; and what Node.js has from version 22 on.
front_end=$npm_dir/node_modules/chrome-devtools-frontend/front_end
locales=$front_end/core/i18n/locales.js
[ -e "$locales" ] || cat >"$locales" <<'END'
export const LOCALES = ['en-US'], BUNDLED_LOCALES = ['en-US'], DEFAULT_LOCALE = 'en-US';
export const REMOTE_FETCH_PATTERN = '', LOCAL_FETCH_PATTERN = '';
END
resolvers='Promise.withResolvers ??= () => { let resolve, reject; const promise = new Promise(
    (yes, no) => { resolve = yes; reject = no; }); return {promise, resolve, reject}; };'
"$npm_dir/node_modules/.bin/esbuild" "$here/devtools_sizes.mjs" --bundle --platform=node \
    --format=esm --log-level=error --outfile="$work/sizes.mjs" --banner:js="$resolvers" \
    --alias:@worker="$front_end/entrypoints/heap_snapshot_worker" ||
    fail "DevTools cannot be bundled"

sizes()
{
    node "$work/sizes.mjs" "$1" "$2" 2>"$work/devtools.log" || {
        tail -5 "$work/devtools.log"
        fail "DevTools cannot read $1"
    }
}

echo "a heap of $(node --version):"
node "$here/shop.js" 2 "$work/shop.heapsnapshot"
sizes "$work/shop.heapsnapshot" "$work/theirs"
"$HEAPSNAP" import --from v8 "$work/shop.heapsnapshot" -o "$work/shop.snap"
"$HEAPSNAP" info --json "$work/shop.snap" >"$work/info"
graph "$work/shop.snap"
python3 "$here/compare_v8.py" import "$work/theirs" "$work/graph" "$work/info" || fail "import"

echo "with sizes as they are in the file:"
"$HEAPSNAP" import --from v8 --sizes own "$work/shop.heapsnapshot" -o "$work/other.snap"
graph "$work/other.snap"
python3 "$here/compare_v8.py" import "$work/theirs" "$work/graph" "$work/info" --differ ||
    fail "a rule that changes nothing"

echo "every edge, exported again:"
"$HEAPSNAP" import --from v8 --policy all "$work/shop.heapsnapshot" -o "$work/all.snap"
"$HEAPSNAP" export --to v8 "$work/all.snap" -o "$work/all.heapsnapshot"
"$HEAPSNAP" info --json "$work/all.snap" >"$work/info"
sizes "$work/all.heapsnapshot" "$work/theirs"
graph "$work/all.snap"
python3 "$here/compare_v8.py" export "$work/theirs" "$work/graph" "$work/info" || fail "export"
