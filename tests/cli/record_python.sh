#!/usr/bin/env bash
# parts: record python
# record: a Python program's small objects are in the trace under the lines that made them; where
# the interpreter's frames are not known that is said, and of a program that is none nothing is.
. "$(dirname "$0")/lib.sh"
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
case $SANITIZED in *thread*) skip "the program's threads are not ours to judge" ;; esac
cd "$work"

cat >small.py <<'PYTHON'
def fill():
    return [bytes([i % 251]) * 40 for i in range(60000)]
kept = fill()
PYTHON

# 60,000 of 8, of 33 + 1 and of 33 + 40 bytes are 862,500 words; a list that grows by an eighth
# takes nine times what it has in the end, 540,000.
known()
{
    heapsnap record --rate 4KiB -o python.trace -- "$1" small.py
    [ "$code" -eq 0 ] || fail "exit $code: $(cat err)"
    ! grep -q "Python" err || fail "$1: said of a version that is known: $(cat err)"
    heapsnap trace top python.trace --json -n 0
    python3 - out <<'PYTHON' || fail "$1: the trace"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
mine = [row for row in rows if row["file"] and row["file"].endswith("/small.py") and
        row["line"] == 2 and row["function"].startswith("fill")]
words = sum(row["words"] for row in mine)
assert 1250000 < words < 1550000, [mine, rows[:5]]
PYTHON
}

unknown()
{
    heapsnap record --rate 4KiB -o python.trace -- "$1" small.py
    [ "$code" -eq 0 ] || fail "exit $code: $(cat err)"
    mentions "Python's own frames are known of CPython 3.11 to 3.14 alone"
    heapsnap trace info python.trace --json
    python3 -c "
import json
assert json.load(open('out'))['allocated']['words'] > 500000" || fail "$1: small objects"
}

n_checked=0
for python in /usr/bin/python3 "$HOME"/.pyenv/versions/3.10.*/bin/python3; do
    [ -x "$python" ] || continue
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || continue
    case $version in
    3.11 | 3.12 | 3.13 | 3.14) known "$python" ;;
    *) unknown "$python" ;;
    esac
    n_checked=$((n_checked + 1))
done
[ "$n_checked" != 0 ] || skip "no Python of the system"

heapsnap record --rate 4KiB -o sort.trace -- sort --parallel=1 "$SOURCE_DIR/README.md"
[ "$code" -eq 0 ] || fail "exit $code: $(cat err)"
! grep -q "Python" err || fail "Python of a program that is none: $(cat err)"
