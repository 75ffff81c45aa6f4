#!/usr/bin/env bash
# Eclipse MAT's own parser opens `export --to hprof`, and its dominator tree is ours.
#
#     bench/mat/compare.sh BUILD_DIR MAT_SOURCE SNAP...
#
# MAT_SOURCE is a clone of its repository (eclipse-mat/mat): no registry has it, so this is run by
# hand. It is compiled with a JDK of 17 or later against Debian's parts of Eclipse:
#     libeclipse-core-runtime-java libeclipse-core-resources-java libeclipse-osgi-java
#     libequinox-app-java libicu4j-java
# Left out of it are its windows, with them its page of settings (each has its default), and what
# only starts it as a program.
set -euo pipefail
build=$(realpath "${1:?usage: bench/mat/compare.sh BUILD_DIR MAT_SOURCE SNAP...}")
mat=$(realpath "${2:?usage: bench/mat/compare.sh BUILD_DIR MAT_SOURCE SNAP...}")
shift 2
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/plugins" "$work/stub" "$work/out"
for part in report api parser hprof; do
    cp -r "$mat/plugins/org.eclipse.mat.$part" "$work/plugins/"
done
python3 - "$work" <<'END'
import os, re, sys
work = sys.argv[1]
hprof = f"{work}/plugins/org.eclipse.mat.hprof/src/org/eclipse/mat/hprof"
path = f"{hprof}/ui/HprofPreferences.java"
text = open(path, encoding="utf-8").read()
text, n = re.subn(r"Platform\s*\.getPreferencesService\(\)\.get(?:String|Boolean)"
                  r"\([^;]*?,\s*([^,;]+),\s*null\)", r"\1", text)
if n != 3:
    sys.exit(f"{path}: settings are asked for in {n} places, not 3: MAT has changed")
open(path, "w", encoding="utf-8").write(text)
open(f"{hprof}/HprofPlugin.java", "w").write(
    "package org.eclipse.mat.hprof;\n"
    "public class HprofPlugin extends org.eclipse.core.runtime.Plugin {\n"
    "    public static HprofPlugin getDefault() { return null; }\n}\n")
stub = f"{work}/stub/edu/umd/cs/findbugs/annotations"
os.makedirs(stub)
for name, members in (("CheckForNull", ""),
                      ("SuppressFBWarnings", "String[] value() default {}; "
                                             "String justification() default \"\";")):
    open(f"{stub}/{name}.java", "w").write(
        f"package edu.umd.cs.findbugs.annotations; public @interface {name} {{ {members} }}\n")
END
class_path=$(printf '%s:' /usr/share/java/{eclipse,equinox}-*[a-z].jar /usr/share/java/icu4j.jar \
    /usr/share/java/osgi.{core,annotation,cmpn}.jar)
find "$work/plugins" "$work/stub" -name '*.java' |
    grep -vE '/ui/(HPROFPreferencePage|PreferenceInitializer)|apps/ParseSnapshotApp' \
        >"$work/sources"
javac -nowarn -proc:none -encoding UTF-8 -d "$work/out" -cp "$class_path" "@$work/sources" \
    "$here/MatRead.java" 2>"$work/javac.log" || {
    grep -A2 'error:' "$work/javac.log" | head -20 >&2
    echo "compare.sh: MAT does not compile" >&2
    exit 1
}
for part in "$work"/plugins/*/src; do
    (cd "$part" && find . -name '*.properties' -exec cp --parents {} "$work/out/" \;)
done

for snap in "$@"; do
    "$build/bin/heapsnap" export "$snap" --to hprof -o "$work/heap.hprof"
    "$build/bin/heapsnap" sql "$snap" --policy conservative --format tsv \
        'select id, idom from blocks where idom is not null' >"$work/ours"
    java -Xmx4g -cp "$work/out:$class_path" org.eclipse.mat.parser.internal.MatRead \
        "$work/heap.hprof" "$work"/plugins/org.eclipse.mat.{api,parser,hprof} \
        >"$work/theirs" 2>"$work/mat.log" || { tail -5 "$work/mat.log" >&2; exit 1; }
    python3 - "$work" "$snap" <<'END'
import sys
work, snap = sys.argv[1:]
ours, theirs, roots = {}, {}, set()
with open(f"{work}/ours") as lines:
    next(lines)
    for line in lines:
        node, dominator = map(int, line.split("\t")[:2])
        ours[node] = dominator
with open(f"{work}/theirs", errors="replace") as lines:
    for line in lines:
        what, node, dominator, *_ = line.split("\t")
        if what == "object":
            theirs[int(node)] = int(dominator)
        elif what == "root":
            roots.add(int(node))
# Of Java there are the table of properties, its array and MAT's own loader of classes. MAT has no
# module and no unit above our roots: what these dominate has no dominator there.
extra, missing = theirs.keys() - ours.keys(), ours.keys() - theirs.keys()
other = [node for node in ours.keys() & theirs.keys() if theirs[node] != ours[node] and
         (theirs[node] != -1 or ours[node] in ours or ours[node] in roots)]
print(f"{snap}: {len(ours)} objects, {len(roots)} roots, {len(missing)} missing, "
      f"{len(extra)} of Java, {len(other)} with another dominator")
sys.exit(bool(missing or other or len(extra) > 3))
END
    rm -f "$work"/heap.*
done
