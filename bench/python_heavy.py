"""Objects, JSON, expressions and sorting: a program that does little but allocate. Says its own
processor time, as bench/record reads it."""

import json
import re
import sys
import time


class Record:
    def __init__(self, number):
        self.number = number
        self.name = "n%d" % number
        self.tags = [number, number + 1]


def work():
    records = [Record(i) for i in range(60000)]
    by_name = {record.name: record for record in records}
    text = json.dumps([{"id": r.number, "name": r.name, "tags": r.tags} for r in records[:20000]])
    read = json.loads(text)
    found = [re.match(r"n(\d+)", record.name).group(1) for record in records[:20000]]
    turned = sorted(records, key=lambda record: -record.number)
    pairs = [(i, float(i)) for i in range(100000)]
    return len(by_name) + len(read) + len(found) + len(turned) + len(pairs)


begun = time.process_time()
for _ in range(int(sys.argv[1])):
    work()
print("%f 0" % (time.process_time() - begun))
