# Sourced by stop_*.sh: what the tests of a stop need.
. "$(dirname "${BASH_SOURCE[0]}")/_faults.sh"
: "${STOP_DRIVER:?the program that stops}"
