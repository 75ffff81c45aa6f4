# Sourced by faults_*.sh: a directory to work in; `python` runs a test that imports faults_lib.
set -euo pipefail

: "${HEAPSNAP:?the program to test}" "${SOURCE_DIR:?its source}"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
WORK=$(mktemp -d)
export WORK PYTHONPATH=$SOURCE_DIR/tests/live PYTHONDONTWRITEBYTECODE=1
trap 'rm -rf "$WORK"' EXIT

python()
{
    python3 -B - "$@"
}
