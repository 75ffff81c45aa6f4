#!/usr/bin/env bash
# parts: python
# Python in a program of C: begun, ended and begun again, with a second interpreter. The names of
# both are there and told apart, and what C keeps is C's: as a library, in the program itself, and
# stripped, where nothing says which version it is.
. "$(dirname "$0")/_native.sh"

# looked_up PYTHON: where its headers and libraries are.
looked_up()
{
    "$1" -c 'import sysconfig as s
for name in "INCLUDEPY", "LIBDIR", "LIBPL", "LDVERSION": print(s.get_config_var(name))
print(s.get_config_var("LIBS"), s.get_config_var("SYSLIBS"))'
}

# check WHAT BINARY library|static
check()
{
    start env PYTHONHOME="$home" "$2"
    dump
    echo "$1:"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$1: roots"
    python3 "$SOURCE_DIR/tests/live/_python_embedded_compare.py" "$work/roots.json" \
        "$(basename "$2")" "$3" || fail "$1"
    leave
}

n_checked=0
declare -A seen
for python in /usr/bin/python3 "$HOME"/.pyenv/versions/3.{9,10,12,13}.*/bin/python3; do
    [ -x "$python" ] || continue
    home=$("$python" -c 'import sys; print(sys.base_prefix)')
    mapfile -t where < <(looked_up "$python")
    include=${where[0]} libraries=${where[1]} static=${where[2]}/libpython${where[3]}.a
    [ -f "$include/Python.h" ] && [ -z "${seen[$include]:-}" ] || continue
    seen[$include]=1
    ls "$libraries/libpython${where[3]}.so" "$static" >"$work/found" 2>/dev/null || true
    if grep -q "\.so$" "$work/found"; then
        cc -g -I"$include" "$fixtures/python_embedded.c" -o "$work/host" \
            -L"$libraries" -Wl,-rpath,"$libraries" "-lpython${where[3]}" || fail "$python: shared"
        check "$python" "$work/host" library
        n_checked=$((n_checked + 1))
    fi
    if [ "$python" = /usr/bin/python3 ] && grep -q "\.a$" "$work/found"; then
        # shellcheck disable=SC2086 # several
        cc -g -no-pie -I"$include" "$fixtures/python_embedded.c" -o "$work/own" \
            -Wl,-export-dynamic "$static" ${where[4]} -lm -lz -lexpat || continue
        check "in the program itself" "$work/own" static
        strip -s "$work/own" -o "$work/bare"
        check "stripped" "$work/bare" static
    fi
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no library of Python to build with"; exit 77; }
