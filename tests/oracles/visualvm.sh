#!/usr/bin/env bash
# parts: import export
# VisualVM's heap library and we find the same retained size for every object of a Java heap, once
# four ways of VisualVM's own are made idle; these explain the few differences on the heap as it is.
. "$(dirname "$0")/_oracle.sh"
need python3 java javac jcmd
need_visualvm
javac -d "$work" "$here/Shop.java" || fail "the program does not compile"
javac -cp "$visualvm" -d "$work" "$here/VisualVmSizes.java" || fail "VisualVM's library is another"

sizes()
{
    java -Xmx512m -cp "$visualvm$work" VisualVmSizes "$1" "$2" 2>"$work/visualvm.log" || {
        tail -5 "$work/visualvm.log"
        fail "VisualVM cannot read $1"
    }
}

start java -Xmx128m -XX:+UseSerialGC -cp "$work" Shop 3
jcmd "$pid" GC.heap_dump -overwrite "$work/shop.hprof" >/dev/null || fail "jcmd"
stop_target

echo "as it is:"
sizes "$work/shop.hprof" "$work/theirs"
"$HEAPSNAP" import --from hprof --policy visualvm "$work/shop.hprof" -o "$work/shop.snap"
graph "$work/shop.snap"
python3 "$here/compare_java.py" "$work/theirs" "$work/graph" 1000 || fail "import"

echo "without VisualVM's ways:"
python3 "$here/neutral_hprof.py" "$work/shop.hprof" "$work/theirs" "$work/neutral.hprof"
rm -rf "$work"/*.hwcache
sizes "$work/neutral.hprof" "$work/theirs"
"$HEAPSNAP" import --from hprof --policy visualvm "$work/neutral.hprof" -o "$work/neutral.snap"
graph "$work/neutral.snap"
python3 "$here/compare_java.py" "$work/theirs" "$work/graph" 0 || fail "import"

echo "by other rules:"
for rule in "--policy own" "--policy mat" "--policy all" "--policy mat --weak drop"; do
    # shellcheck disable=SC2086
    "$HEAPSNAP" import --from hprof $rule "$work/shop.hprof" -o "$work/other.snap"
    "$HEAPSNAP" check "$work/other.snap"
done
