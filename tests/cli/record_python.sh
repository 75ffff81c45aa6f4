#!/usr/bin/env bash
# record: of a Python program it is said that its objects are not sampled one by one; of another
# program nothing is.
. "$(dirname "$0")/lib.sh"
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
case $SANITIZED in *thread*) skip "the program's threads are not ours to judge" ;; esac
python=/usr/bin/python3
[ -x "$python" ] || skip "no Python of the system"
cd "$work"

text="a = [bytes([i % 251]) * 40 for i in range(60000)]; b = [bytes(3000) for i in range(200)]"
heapsnap record --rate 4KiB -o python.trace -- "$python" -c "$text"
[ "$code" -eq 0 ] || fail "exit $code: $(cat err)"
mentions "Python objects of up to 512 bytes are not sampled one by one"
[ "$(grep -c "one by one" err)" -eq 1 ] || fail "said more than once: $(cat err)"

heapsnap record --rate 4KiB -o sort.trace -- sort --parallel=1 "$SOURCE_DIR/README.md"
[ "$code" -eq 0 ] || fail "exit $code: $(cat err)"
! grep -q "Python" err || fail "Python of a program that is none: $(cat err)"
