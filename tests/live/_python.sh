# Sourced by tests of Python programs, after _target.sh: which interpreters there are.

# pythons VERSION...: a line each: Debian's, the one in PATH, those of pyenv; then those of these
# versions from a newer Debian, unpacked in scratch roots that all tests share. What cannot be had
# is said.
pythons()
{
    local python real version seen=" "
    for python in /usr/bin/python3 "$(command -v python3)" \
        "$HOME"/.pyenv/versions/3.{9,10,11,12,13,14}.*/bin/python3; do
        [ -x "$python" ] || continue
        real=$("$python" -c 'import os, sys
assert sys.version_info >= (3, 9)
print(os.path.realpath(sys.executable))' 2>/dev/null) || continue
        [[ $seen != *" $real "* ]] || continue
        seen+="$real "
        echo "$real"
    done
    for version in "$@"; do
        unpacked_python "$version"
    done
}

# unpacked_python VERSION
unpacked_python()
{
    local root=${PYTHON_ROOTS:-$SOURCE_DIR/build}/python$1-root status=0
    "$SOURCE_DIR/scripts/python-root" "$1" "$root" >"$work/root.log" 2>&1 8>&- || status=$?
    case $status in
    0) echo "$root/python" ;;
    77) echo "skipped: no Python $1: $(tail -1 "$work/root.log")" >&2 ;;
    *) fail "making the scratch root of Python $1: $(tail -1 "$work/root.log")" >&2 ;;
    esac
}

# minor PYTHON: of its version 3.x.
minor()
{
    "$1" -c 'import sys; print(sys.version_info[1])'
}
