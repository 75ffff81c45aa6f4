# parts: export
# KCachegrind opens our files on a screen that nobody sees, and is read as a blind user reads it:
# the total in its status line, the functions in its list, no window but its own.
. "$(dirname "$0")/_client.sh"
need kcachegrind Xvfb dbus-run-session
launcher=/usr/libexec/at-spi-bus-launcher
[ -x $launcher ] && /usr/bin/python3 -c 'import gi; gi.require_version("Atspi", "2.0")' \
    2>"$work/err" || skip "there is no at-spi2-core with Python's gi here: scripts/deps"

mkdir -p "$work/home/.config" "$work/run"
chmod 700 "$work/run"
printf '[TipOfDay]\nRunOnStart=false\n' >"$work/home/.config/kcachegrindrc"
Xvfb -displayfd 7 -screen 0 1000x800x24 -nolisten tcp -noreset 7>"$work/display" 2>"$work/xvfb" &
screen=$!
trap 'kill $screen 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 300); do
    [ -s "$work/display" ] && break
    sleep 0.1
done
[ -s "$work/display" ] || fail "no screen: $(cat "$work/xvfb")"
export DISPLAY=:$(cat "$work/display") QT_LINUX_ACCESSIBILITY_ALWAYS_ON=1 NO_AT_BRIDGE=0

cat >"$work/read.py" <<'PY'
# Prints the role and name of all that KCachegrind shows. What it has learned once of the screen is
# not learned anew: it is started again for each look.
import gi
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib


def names(of, found):
    try:
        found.append(f"{of.get_role_name()}\t{of.get_name()}")
        for i in range(min(of.get_child_count(), 300)):
            child = of.get_child_at_index(i)
            if child is not None:
                names(child, found)
    except GLib.Error:  # it has gone meanwhile
        pass
    return found


desktop, found = Atspi.get_desktop(0), []
for i in range(desktop.get_child_count()):
    program = desktop.get_child_at_index(i)
    if program is not None and program.get_name() == "kcachegrind":
        names(program, found)
print("\n".join(found))
PY
cat >"$work/session.sh" <<'SH'
# session.sh LAUNCHER FILE READER SHOWN WANTED: until all lines of WANTED are somewhere in SHOWN.
"$1" --launch-immediately &
bus=$!
/usr/bin/python3 "$3"
kcachegrind "$2" &
client=$!
for _ in $(seq 40); do
    /usr/bin/python3 "$3" >"$4"
    missing=
    while IFS= read -r text; do
        grep -qF -- "$text" "$4" || missing=1
    done <"$5"
    [ -z "$missing" ] && break
    sleep 0.3
done
kill $client $bus
SH

# shows FILE TEXT...: with it open, each of these is somewhere on the screen, and nothing is asked.
# Programs of a desktop may miss each other when they start on a busy machine: it is tried anew.
shows()
{
    local file=$1 text
    shift
    printf '%s\n' "$@" >"$work/wanted"
    for _ in 1 2 3 4; do
        env -i PATH="$PATH" LC_ALL=C.UTF-8 DISPLAY="$DISPLAY" HOME="$work/home" \
            XDG_RUNTIME_DIR="$work/run" QT_LINUX_ACCESSIBILITY_ALWAYS_ON=1 \
            timeout -k 5 40 dbus-run-session -- bash "$work/session.sh" "$launcher" "$file" \
            "$work/read.py" "$work/shown" "$work/wanted" >"$work/shown.err" 2>&1 || true
        text=$(grep -c . "$work/shown" || true)
        [ "$text" -gt 5 ] && break
    done
    for text in "$@"; do
        grep -qF -- "$text" "$work/shown" ||
            fail "$file: no '$text' in: $(grep ^label "$work/shown"; tail -5 "$work/shown.err")"
    done
    ! grep -E "^(dialog|alert)" "$work/shown" >"$work/asks" || fail "it asks: $(cat "$work/asks")"
}

# with_spaces N: as KCachegrind prints numbers.
with_spaces()
{
    printf '%s' "$1" | rev | sed 's/.../& /g' | rev | sed 's/^ //'
}

export_to callgrind
shows "$work/heap.callgrind" "Total Bytes Cost: $(with_spaces "$heap_bytes")" \
    'root global sessions' 'struct session' 'root stack slot' 'root global </script><b>&amp;' \
    'struct semi;colon; 12' "'; drop table blocks; --" 'struct \x1b[31mred' 'struct fn=(1) cfn'

a_trace
trace_to callgrind
shows "$work/trace.callgrind" "Cost: $(with_spaces "$live_bytes")"
