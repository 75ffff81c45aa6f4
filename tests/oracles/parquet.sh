# parts: export
# What the Parquet writer writes, as DuckDB reads it: numbers at their limits, texts of any bytes,
# many row groups, pages and dictionaries; and that the bounds of a group are right.
. "$SOURCE_DIR/tests/oracles/_oracle.sh"

need python3
need_npm duckdb @duckdb/node-api@1.5.6-r.1
rows=$BUILD_DIR/bin/parquet_rows
duckdb() { node "$here/duckdb.mjs" "$npm_dir"; }

python3 - "$work" "$rows" <<'EOF' || fail "cannot write the tables"
import json, random, subprocess, sys

work, program = sys.argv[1:]
random.seed(1)

def quote(data):
    return "".join("%%%02X" % byte for byte in data)

def write(name, columns, rows):
    lines = ["\t".join("%s:%s" % column for column in columns)]
    for row in rows:
        lines.append("\t".join(quote(v) if isinstance(v, bytes) else str(v) for v in row))
    subprocess.run([program, f"{work}/{name}.parquet"], check=True,
                   input="\n".join(lines).encode() + b"\n")
    truth = [[v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in row]
             for row in rows]
    json.dump(truth, open(f"{work}/{name}.json", "w"))

texts = [b"", b"x", b"NULL", b"null", b"a'b\"c", b"a\nb\r\tc", b"</script>", b"'; drop table t; --",
         "\u202eright to left".encode(), "\u00e9\U0001f600".encode(), b"\xff", b"a\xc3",
         b"\xed\xa0\x80", b"\x01\x7f", b"x" * 1000000, b"z" * 65, b"\xc3\xa9" * 40, b"%00",
         b"\\N", b"0", b"-1", b"nan"]
columns = [("n", "number"), ("o", "ordered"), ("a", "address"), ("s", "text"), ("b", "truth")]
ends = [0, 1, -1, 2**63 - 1, -2**63, 2**31, 2**53 + 1]
write("odd", columns, [(ends[i % 7], ends[i * 3 % 7], (2**64 - 1, 0, 2**63)[i % 3], text, i % 2)
                       for i, text in enumerate(texts)])
write("empty", columns, [])
write("one", columns, [(-5, -5, 5, b"one", 1)])
# Over the ends of pages (32,768), and of dictionaries (2^17).
write("many", columns, [(random.getrandbits(random.randrange(1, 60)), i, 4096 + i * 16,
                         b"t%d" % (i - i // 4), int(i % 3 == 0)) for i in range(200000)])
EOF

# Python counts the bytes of a broken character once, we and the rules of UTF-8 for each byte: they
# are compared with all runs of U+FFFD made one.
compare()
{
    echo "select n, o, a, s, b from '$work/$1.parquet'" | duckdb >"$work/$1.rows" || fail "$1"
    python3 - "$work/$1" <<'EOF' || fail "$1: not what was written"
import json, re, sys
def plain(row):
    return [re.sub("\ufffd+", "\ufffd", v) for v in row[:4]] + [str(row[4]) in ("1", "True")]
truth = [plain(row) for row in json.load(open(sys.argv[1] + ".json"))]
found = [plain([str(v) for v in json.loads(line)]) for line in open(sys.argv[1] + ".rows")]
if truth != found:
    print(len(truth), len(found), [(a, b) for a, b in zip(truth, found) if a != b][:3])
    sys.exit(1)
EOF
}
for table in odd empty one many; do
    compare $table
done

# Each group's bounds are those of its rows, and a question that they answer reads no other group.
echo "select path_in_schema, row_group_num_rows, stats_min_value, stats_max_value, stats_null_count
      from parquet_metadata('$work/many.parquet') order by row_group_id, column_id
;
select count(*), min(o), max(o) from '$work/many.parquet' where o >= 199990
;
select name, type, converted_type, repetition_type from parquet_schema('$work/one.parquet')
;
select decode(key), decode(value) from parquet_kv_metadata('$work/one.parquet')" |
    duckdb >"$work/meta" || fail "metadata"
python3 - "$work" <<'EOF' || fail "metadata: $(cat "$work/meta")"
import json, sys
work = sys.argv[1]
truth = json.load(open(work + "/many.json"))
lines = [json.loads(line) for line in open(work + "/meta")]
at, groups = 0, [line for line in lines if line[0] in "noasb" and len(line) == 5]
while groups:
    group, groups = groups[:5], groups[5:]
    n = int(group[0][1])
    rows, at = truth[at:at + n], at + n
    for column, (name, _, least, most, nulls) in enumerate(group[:4]):
        values = [row[column] if name == "s" else int(row[column]) for row in rows]
        if name == "s": # "" is in every dictionary
            assert least == "" and most == max(values), (name, least, most)
        else:
            assert (int(least), int(most)) == (min(values), max(values)), (name, least, most)
        assert int(nulls) == 0
assert at == 200000, at
assert ["10", "199990", "199999"] in lines
assert ["a", "INT64", "UINT_64", "REQUIRED"] in lines and ["schema", "test/1"] in lines
EOF

# Cut anywhere, it is refused and not read halfway.
for n in 3 100 1000; do
    head -c -$n "$work/one.parquet" >"$work/cut.parquet"
    echo "select * from '$work/cut.parquet'" | duckdb >/dev/null 2>&1 && fail "cut by $n: read"
done
exit 0
