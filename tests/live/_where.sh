# Sourced by where_*.sh: a program with a library, a heapsnap that any user may run, and who runs
# what. The lists of the program have 7000 and 11000 words.
. "$SOURCE_DIR/tests/live/_target.sh"
need python3 gcc setpriv unshare

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root, to become others"; exit 77; }
export GCOV_PREFIX=$work/gcov # a build that counts coverage writes where everybody may
mkdir -m 777 "$work/gcov" "$work/out"
mkdir "$work/bin"
chmod 755 "$work" "$work/bin"
cp "$HEAPSNAP" "$work/bin/heapsnap"
chmod 755 "$work/bin/heapsnap"

TARGET_USER=54321
TOOL_USER=54322
user()
{
    echo "setpriv --reuid=$1 --regid=$1 --clear-groups"
}
as_target="$(user $TARGET_USER)"
as_other="$(user $TOOL_USER)"
# CAP_SYS_PTRACE and nothing else: no CAP_KILL, no CAP_DAC_OVERRIDE.
as_tracer="$as_other --inh-caps=-all,+sys_ptrace --ambient-caps=-all,+sys_ptrace
 --bounding-set=-all,+sys_ptrace"
$as_tracer true 2>/dev/null || { echo "skipped: CAP_SYS_PTRACE cannot be handed on here"; exit 77; }
$as_other test -x "$work/bin/heapsnap" ||
    { echo "skipped: another user cannot reach the program to test"; exit 77; }

# build DIR [CFLAGS...]: the program and its library in DIR, which anybody may read.
build()
{
    local dir=$1
    shift
    mkdir -p "$dir"
    gcc -O1 -g -fPIC -shared "$@" -o "$dir/libwhere.so" "$fixtures/where_list.c"
    gcc -O1 -g "$@" -o "$dir/where" "$fixtures/where_main.c" -L"$dir" -lwhere \
        '-Wl,-rpath,$ORIGIN'
    chmod 755 "$dir" "$dir/where" "$dir/libwhere.so"
}

# A library of the same name whose symbols lie elsewhere and are called otherwise.
build_wrong()
{
    echo 'char wrong_space[4096] = {1}; void *wrong_a, *wrong_b, *wrong_c, *wrong_d;
        void *where_exported; void where_fill(int n) { wrong_space[n & 1] = 2; }' |
        gcc -O1 -g -fPIC -shared "${@:2}" -o "$1" -x c -
    chmod 755 "$1"
}

# heapsnap_as "WHO" ARGUMENTS...: its exit code in $code, output in $work/out/stdout and /talk.
heapsnap_as()
{
    local who=$1
    shift
    code=0
    # shellcheck disable=SC2086
    (cd "$work/out" && $who "$work/bin/heapsnap" "$@" >stdout 2>talk) || code=$?
}

# dumps "WHO" PID NAMES [OPTIONS...]: the lists are whole. NAMES: "all", "exported" or "none" of
# their two names are known. The program goes on.
dumps()
{
    local who=$1 target=$2 names=$3
    shift 3
    rm -f "$work/out/heap.snap" "$work/out/heap.snap.idx"
    heapsnap_as "$who" dump "$target" -o heap.snap "$@"
    [ "$code" -eq 0 ] || fail "dump as '$who': exit $code: $(cat "$work/out/talk")"
    kill -0 "$target" || fail "the program did not survive"
    "$HEAPSNAP" check "$work/out/heap.snap" >/dev/null || fail "check"
    "$HEAPSNAP" roots "$work/out/heap.snap" --json >"$work/roots"
    "$HEAPSNAP" info "$work/out/heap.snap" --json >"$work/info"
    python3 - "$work/roots" "$names" <<'END' || fail "dump as '$who': $(cat "$work/info")"
import json, sys
document = json.load(open(sys.argv[1]))
kept = {root["retained_words"]: root["name"] for root in document["roots"]}
exported, local = kept.get(11000), kept.get(7000)
assert exported is not None and local is not None, f"lists are missing: {kept}"
assert (exported == "where_exported") == (sys.argv[2] != "none"), f"exported: {exported}"
assert (local == "where_local") == (sys.argv[2] == "all"), f"local: {local}"
assert not any("wrong" in (root["name"] or "") for root in document["roots"]), document["roots"]
END
}
notes()
{
    grep -qF -- "$1" "$work/info" || fail "no note '$1' in $(cat "$work/info")"
}
notes_nothing_of()
{
    ! grep -qF -- "$1" "$work/info" || fail "a note '$1' in $(cat "$work/info")"
}

# refused "WHO" PID CHECK MESSAGE HINT: by dump, and by that check of doctor in the same words.
refused()
{
    local who=$1 target=$2 check=$3 message=$4 hint=$5
    heapsnap_as "$who" dump "$target" -o never.snap
    [ "$code" -eq 3 ] || fail "dump as '$who': exit $code, not 3: $(cat "$work/out/talk")"
    [ ! -e "$work/out/never.snap" ] || fail "a file was left"
    grep -qF -- "$message" "$work/out/talk" || fail "no '$message' in $(cat "$work/out/talk")"
    grep -q "^hint: .*$hint" "$work/out/talk" || fail "no hint '$hint' in $(cat "$work/out/talk")"
    cp "$work/out/talk" "$work/said"
    heapsnap_as "$who" doctor "$target" --json
    [ "$code" -eq 3 ] || fail "doctor as '$who': exit $code, not 3: $(cat "$work/out/stdout")"
    cmp -s "$work/said" "$work/out/talk" || fail "doctor says $(cat "$work/out/talk")"
    judged "$check" refused "$message"
    grep -q '"can_dump": false' "$work/out/stdout" || fail "it says that it can be dumped"
}

# judged CHECK VERDICT TEXT: of the last doctor.
judged()
{
    python3 - "$work/out/stdout" "$@" <<'END' || fail "doctor: $(cat "$work/out/stdout")"
import json, sys
document = json.load(open(sys.argv[1]))
assert document["schema"] == "heapsnap.doctor/1", document
found = {check["name"]: check for check in document["checks"]}
check = found[sys.argv[2]]
assert check["verdict"] == sys.argv[3], check
assert sys.argv[4] in check["found"], check
assert check["verdict"] != "refused" or check["hint"], check
END
}

# agrees "WHO" PID: doctor says that it can be dumped.
agrees()
{
    heapsnap_as "$1" doctor "$2" --json
    [ "$code" -eq 0 ] || fail "doctor as '$1': exit $code: $(cat "$work/out/stdout")"
    grep -q '"can_dump": true' "$work/out/stdout" || fail "it cannot be dumped"
}
