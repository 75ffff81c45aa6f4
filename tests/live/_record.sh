# Sourced by the tests of the recorder: what runs inside of programs. Python sees the same helpers
# as `from _record_lib import *`.
. "$SOURCE_DIR/tests/live/_target.sh"
need python3 gcc
export HEAPSNAP_WORK=$work PYTHONPATH=$SOURCE_DIR/tests/live PYTHONDONTWRITEBYTECODE=1
unset "${!HEAPSNAP_RECORD_@}"
