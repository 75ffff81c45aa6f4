# parts: watch export
# The examples for systemd and Kubernetes are what these programs take, and what heapsnap is started
# with there are words that it takes.
. "$(dirname "$0")/lib.sh"
examples=$SOURCE_DIR/docs/examples

# runs WORDS...: a command line that is right, of a process that is not there.
runs()
{
    exits 3 "$@"
    mentions 'no such process'
}

# command_of UNIT: the words of heapsnap in ExecStart, with a pid that nobody has.
command_of()
{
    sed -n '/^ExecStart=/,/[^\\]$/p' "$examples/$1" | tr -d '\\\n' |
        sed -e "s|.*heapsnap \([a-z]*\) \"\$\$([^)]*)\"|\1 2147483647|" -e "s/'$//" \
            -e "s|\"\$\$STATE_DIRECTORY[^ ]*.*|$work/never|" -e 's|"\$\$EVERY"|1m|' \
            -e 's|"\$\$KEEP"|2|' -e 's|"\$\$KEEP_BYTES"|1GiB|'
}
for unit in heapsnap-watch@.service heapsnap-dump@.service; do
    # shellcheck disable=SC2046
    runs $(command_of "$unit")
done
if command -v systemd-analyze >/dev/null; then
    mkdir "$work/units"
    printf '[Service]\nExecStart=/bin/true\n' >"$work/units/shop.service"
    for unit in "$examples"/*@.service "$examples"/*@.timer; do
        name=${unit##*/}
        cp "$unit" "$work/units/"
        ln -s "$name" "$work/units/${name/@./@shop.}"
    done
    (cd "$work/units" && SYSTEMD_UNIT_PATH=$work/units: \
        systemd-analyze verify --man=no ./heapsnap-*@shop.*) >"$work/out" 2>&1 ||
        fail "systemd-analyze: $(cat "$work/out")"
    ! grep 'heapsnap-.*:[0-9]*:' "$work/out" || fail "systemd warns of a line"
    systemd-analyze calendar "$(sed -n 's/^OnCalendar=//p' "$examples/heapsnap-dump@.timer")" \
        >"$work/out" || fail "when: $(cat "$work/out")"
else
    echo "no systemd-analyze here: units are not verified"
fi

/usr/bin/python3 -c 'import yaml' 2>/dev/null || skip "there is no python3-yaml here: scripts/deps"
EXAMPLES=$examples WORK=$work /usr/bin/python3 -B - <<'PY' || fail "the DaemonSet"
import os
import re
import yaml

examples = os.environ["EXAMPLES"]
(made,) = yaml.safe_load_all(open(examples + "/heapsnap-daemonset.yaml"))
assert (made["apiVersion"], made["kind"]) == ("apps/v1", "DaemonSet"), made
spec = made["spec"]
pod = spec["template"]["spec"]
assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
(container,) = pod["containers"]
assert pod["hostPID"] is True
may = set(container["securityContext"]["capabilities"]["add"])
for unit in ("heapsnap-watch@.service", "heapsnap-dump@.service"):
    text = open(f"{examples}/{unit}").read()
    bound = re.search(r"^CapabilityBoundingSet=(.*)$", text, re.M)[1].split()
    assert {"CAP_" + name for name in may} == set(bound), (may, bound)
mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
assert set(mounts) == {volume["name"] for volume in pod["volumes"]}, mounts
arguments = container["args"]
assert f"--output={mounts['snapshots']}" in arguments, arguments
place = next(v for v in pod["volumes"] if v["name"] == "snapshots")["hostPath"]["path"]
assert place == "/var/lib/heapsnap/shop", place
# Of no process, into a directory that is there.
arguments[1] = "2147483647"
arguments[-1] = "--output=" + os.environ["WORK"]
with open(os.environ["WORK"] + "/arguments", "w") as file:
    file.write("\n".join(arguments))
PY
mapfile -t arguments <"$work/arguments"
runs "${arguments[@]}"
