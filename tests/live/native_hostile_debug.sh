# Debug information, symbols, unwind tables and section headers with wrong bytes in them, in a debug
# file and in the program itself: a dump is done soon, in little memory, and its snapshot is sound.
# HS_FAULTS_TIMES=10 for 600 variants.
. "$(dirname "$0")/_faults.sh"

python <<'END_OF_TEST'
from native_faults import *

# The target waits in read(2): what is changed here, it does not need.
SECTIONS = [".debug_info", ".debug_abbrev", ".debug_str", ".debug_line", ".debug_line_str",
            ".debug_loclists", ".debug_loc", ".debug_rnglists", ".debug_ranges", ".debug_aranges",
            ".eh_frame", ".eh_frame_hdr", ".symtab", ".strtab", ".shstrtab"]
HEADER_BYTES = 64
flags = {"dwarf 5": ["-gdwarf-5"], "dwarf 4": ["-gdwarf-4", "-fdebug-types-section"],
         "compressed": ["-g", "-gz"]}


def sections(path):
    """[(name, offset, bytes)] of a whole file, the table of headers as well."""
    with open(path, "rb") as file:
        data = file.read()
    table, = struct.unpack_from("<Q", data, 40)
    each, n, names = struct.unpack_from("<HHH", data, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * each) for i in range(n)]
    strings = rows[names][4]
    found = [("headers", table, n * each)]
    for row in rows:
        begin = strings + row[0]
        name = data[begin:data.index(b"\0", begin)].decode()
        if row[1] != 8 and row[5] != 0: # not NOBITS
            found.append((name, row[4], row[5]))
    return data, found


def hurt(data, found):
    """Some bytes of one part changed, in one of several ways; what was done."""
    data = bytearray(data)
    name, at, size = random.choice([part for part in found if part[0] in SECTIONS + ["headers"]])
    how = random.choice(["bits", "bytes", "ones", "words", "zeros", "copy"])
    for _ in range(1 << random.randrange(7)):
        place = at + random.randrange(size)
        if how == "bits":
            data[place] ^= 1 << random.randrange(8)
        elif how == "bytes":
            data[place] = random.randrange(256)
        else:
            n = min(random.choice([1, 2, 4, 8, 12, 40]), at + size - place)
            word = random.choice([0, 1, size, 1 << 31, (1 << 32) - 1, 1 << 63, place - at])
            other = at + random.randrange(size)
            data[place:place + n] = {"ones": b"\xff" * n, "zeros": bytes(n),
                                     "words": (word.to_bytes(8, "little") * 5)[:n],
                                     "copy": bytes(data[other:other + n]).ljust(n, b"\0")}[how]
    return bytes(data), f"{how} in {name}"


def build(variant):
    name = variant.replace(" ", "_")
    program = compile_c("native_basic.c", name, "-O1", *flags[variant])
    for how, to in [("--only-keep-debug", ".debug"), ("--strip-all", ".stripped")]:
        subprocess.run(["objcopy", how, program, program + to], check=True)
    number = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True)
    number = next(line.split()[-1] for line in number.stdout.splitlines() if "Build ID" in line)
    return program, number


def judge(target, what, *options):
    began = time.monotonic()
    dump(target, what, *options, seconds=30 if IS_SANITISED else 10)
    target.check_lives(what)
    (_, blocks), = [map(int, line) for line in target.lines("ALL")]
    found = look("info")["objects"]
    check(blocks <= found < blocks + 200, f"{what}: {found} blocks, made {blocks}")
    return time.monotonic() - began


def keep(data):
    path = os.environ.get("HS_FAULTS_KEEP")
    if path:
        with open(path, "wb") as file:
            file.write(data)


def in_debug_files():
    slowest = 0, ""
    for variant in flags:
        program, number = build(variant)
        data, found = sections(program + ".debug")
        target = Target(program + ".stripped")
        directory = os.path.join(WORK, "debug", ".build-id", number[:2])
        os.makedirs(directory, exist_ok=True)
        for turn in range(turns(12)):
            hurt_data, what = hurt(data, found) if turn else (data, "nothing")
            what = f"{variant}, debug file {turn}: {what}"
            keep(hurt_data)
            with open(os.path.join(directory, number[2:] + ".debug"), "wb") as file:
                file.write(hurt_data)
            seconds = judge(target, what, "--debug-path", os.path.join(WORK, "debug"))
            slowest = max(slowest, (seconds, what))
            check(turn or "struct item" in json.dumps(look("types")), f"{what}: it is not used")
        target.end()
    return f"{turns(12) * len(flags)} variants, {slowest[0]:.1f} s at most: {slowest[1]}"


def in_programs():
    slowest = 0, ""
    for variant in flags:
        program, _ = build(variant)
        data, found = sections(program)
        for turn in range(turns(8)):
            hurt_data, what = hurt(data, found)
            what = f"{variant}, program {turn}: {what}"
            keep(hurt_data)
            path = os.path.join(WORK, "hurt")
            with open(path, "wb") as file:
                file.write(hurt_data)
            os.chmod(path, 0o755)
            target = Target(path)
            slowest = max(slowest, (judge(target, what), what))
            target.end()
            os.unlink(path)
    return f"{turns(8) * len(flags)} variants, {slowest[0]:.1f} s at most: {slowest[1]}"


main(in_debug_files, in_programs)
END_OF_TEST
