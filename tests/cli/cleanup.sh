# What a test has started ends with it, also what a recorder that is killed leaves; what has the
# number of a process that ended long before, and is somebody else's, does not.
. "$(dirname "$0")/lib.sh"

cd /
sleep 300 &
stranger=$!
started+=("$stranger")
export STRANGER=$stranger LIB=$SOURCE_DIR/tests/cli/lib.sh
bash >"$work/began" <<'END' || fail "the test within"
. "$LIB"
sleep 300 &
child=$!
cd "$work"
left=$(bash -c 'sleep 300 >/dev/null & echo $!')
started+=("$STRANGER" "$child" "$left")
echo "$child $left"
END
read -r child left <"$work/began"

# has_ended PID WHAT
has_ended()
{
    for _ in $(seq 200); do
        ! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null || { sleep 0.05; continue; }
        return 0
    done
    fail "$2 goes on"
}
has_ended "$child" "the child"
has_ended "$left" "what a child left"
kill -0 "$stranger" || fail "a stranger was killed"
