# parts: export
# Prometheus' own parser reads the figures: they add up to the heap, a root is one series whatever
# it is called, and there are few of them.
. "$(dirname "$0")/_client.sh"
/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null ||
    skip "there is no prometheus_client here: scripts/deps"

export_to prometheus --service 'a "shop" \n'
export BYTES=$heap_bytes WORK=$work
python3 -B - <<'PY'
from snapcli import *
s = a_snap()
last = s.block(1)
HOSTILE = ["a'b\"c\n\t", "\\", "\\n", "\u202etxt", "", "x" * 3000, "} 5\nfake_metric{a=\"",
           "\U0001f600", b"\xff\xfebad"]
for at, name in enumerate(HOSTILE * 2):
    block = s.block(3 + at)
    s.root(block, name, unit="Hostile", address=0x7f0000000000 + at)
    s.edge(block, last, 0)
for at in range(40):
    s.root(s.block(2), f"small{at}", unit="Many", address=0x7f1000000000 + at)
path = s.write("hostile.snap")
with open(os.environ["WORK"] + "/hostile.bytes", "w") as file:
    file.write(str(8 * run("info", path, "--json").json()["words"]))
PY
exits 0 export "$work/hostile.snap" --to prometheus -o "$work/hostile.prometheus"

/usr/bin/python3 -B - <<'PY' || fail "what Prometheus reads"
import os
from prometheus_client.parser import text_string_to_metric_families

WORK = os.environ["WORK"]


def read(name, heap, service):
    text = open(f"{WORK}/{name}.prometheus", encoding="utf-8", newline="").read()
    samples = [sample for family in text_string_to_metric_families(text)
               for sample in family.samples]
    assert all(sample.name.startswith("heapsnap_") for sample in samples), text
    assert {sample.labels["service"] for sample in samples} == {service}, text
    series = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in samples]
    assert len(set(series)) == len(series), "a series stands twice"

    def total(name):
        return sum(sample.value for sample in samples if sample.name == "heapsnap_" + name)
    roots = [sample for sample in samples if sample.name == "heapsnap_retained_bytes"]
    assert len(roots) <= 21 and roots[-1].labels["root"] == "", roots
    assert total("heap_bytes") == heap, (total("heap_bytes"), heap)
    assert total("heap_bytes") == total("retained_bytes") + total("shared_bytes") + total(
        "lost_bytes"), text
    return roots


roots = read("heap", int(os.environ["BYTES"]), 'a "shop" \\n')
assert any(root.labels["root"] == "cache" and root.labels["kind"] == "global" and root.value == 96
           for root in roots), roots
roots = read("hostile", int(open(WORK + "/hostile.bytes").read()), "coqtop")
assert len(roots) == 21 and roots[-1].value > 0, roots
PY
