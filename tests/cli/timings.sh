# --timings: the stages of a command add up to it; what a command prints stays as it is.
. "$(dirname "$0")/lib.sh"

python <<'END'
from snapcli import *
a_snap().write()
END
snap=$work/heap.snap

exits 0 roots "$snap" --timings-file "$work/timings"
cp "$work/out" "$work/first"
exits 0 roots "$snap" --timings json
cmp -s "$work/out" "$work/first" || fail "the listing is another with --timings"
cp "$work/err" "$work/again"
python <<'END'
import json, os
work = os.environ["WORK"]
for name in "timings", "again":
    told = json.load(open(f"{work}/{name}"))
    assert told["schema"] == "heapsnap.timings/1" and told["command"] == "roots", told
    stages = told["stages"]
    names = [stage["stage"] for stage in stages]
    assert names[0] == "beginning" and len(set(names)) == len(names), names
    assert ("finding dominators" in names) == (name == "timings"), names  # the index is kept
    for key in "wall_seconds", "user_seconds", "system_seconds", "read_bytes", "written_bytes":
        assert abs(sum(stage[key] for stage in stages) - told[key]) < 1e-6, key
    peaks = [stage["peak_bytes"] for stage in stages]
    assert told["peak_bytes"] == max(peaks) >= 1 << 20
    assert told["wall_seconds"] > 0 and told["read_bytes"] > 0
END
# Every command has stages: at least where it opened a file and where it answered.
for command in roots types suspects leaks dominators samples "object #1" "paths --to #5" \
    index check "diff $snap" sql export; do
    case $command in
        sql*) has_part sql && exits 0 sql "$snap" "SELECT count(*) FROM roots" \
            --timings-file "$work/of" || continue ;;
        export*) has_part export && exits 0 export --to folded "$snap" -o "$work/folded" \
            --timings-file "$work/of" || continue ;;
        *)
            # shellcheck disable=SC2086
            set -- $command
            name=$1
            shift
            heapsnap "$name" "$snap" "$@" --timings-file "$work/of"
            ;;
    esac
    [ "$(grep -c '"stage":' "$work/of")" -ge 3 ] || fail "stages of $command: $(cat "$work/of")"
    grep -q '"stage": "answering"' "$work/of" || fail "$command: no answer: $(cat "$work/of")"
done
exits 0 types "$snap" --timings text
grep -Eq '^ *WALL S +USER S +SYSTEM S +PEAK +READ +WRITTEN  STAGE$' "$work/err" || fail "no heading"
grep -Eq '^ +[0-9.]+ .* types$' "$work/err" || fail "no sum: $(cat "$work/err")"

# A command that fails tells what it did until then; a file that cannot be written is told.
exits 2 paths "$snap" --to type:nothing --timings-file "$work/failed"
grep -q '"command": "paths"' "$work/failed" || fail "nothing of a command that failed"
exits 5 roots "$snap" --timings-file "$work/no/such/file"
says "cannot create '$work/no/such/file': No such file or directory"
exits 2 roots "$snap" --timings never
