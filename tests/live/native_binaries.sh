# Binaries that are gone, replaced, without section headers, with many symbols, with debug files
# that are not theirs or lead in a circle: the heap is listed all the same, and names are never
# another's.
. "$(dirname "$0")/_faults.sh"

python <<'END_OF_TEST'
from native_faults import *

N_SYMBOLS = turns(100000)
basic = compile_c("native_basic.c", "basic", "-O1", "-g")
stripped = compile_c("native_basic.c", "basic.stripped", "-O1", "-s")
LD = "/lib64/ld-linux-x86-64.so.2"


def judge(target, what, *options, named=None):
    """The heap is whole; `named`: whether g_list has its name."""
    dump(target, what, *options)
    target.check_lives(what)
    info = look("info")
    check(check_proofs(info, what) == 0, f"{what}: {info['proofs']} {gaps(info)}")
    (_, blocks), = [map(int, line) for line in target.lines("ALL")]
    check(blocks <= info["objects"] < blocks + 200, f"{what}: {info['objects']}, made {blocks}")
    (_, lost), = [map(int, line) for line in target.lines("LOST")]
    leaks = look("leaks")
    # Without symbols of libc its own words may lead to some more.
    check(leaks["certain"]["count"] == lost, f"{what}: {leaks['certain']}, lost are {lost}")
    roots = look("roots")["roots"]
    names = {root["name"] for root in roots}
    check(named is None or named == any(name.split("::")[-1] == "g_list" for name in names),
          f"{what}: names {sorted(names)[:20]}")
    target.end()
    return info


def copy_of(program, name):
    path = os.path.join(WORK, name)
    shutil.copy(program, path)
    return path


def deleted():
    path = copy_of(basic, "deleted")
    target = Target(path)
    os.unlink(path)
    info = judge(target, "deleted", named=True)
    return info["command"]


def by_link():
    """Started by a link of another name, as redis-server: that name, of the program and its file.
    A name alone (`exec -a`) is no file's."""
    path, link = copy_of(basic, "checker"), os.path.join(WORK, "server")
    os.symlink("checker", link)
    info = judge(Target(link), "by a link", named=True)
    check(info["build_ids"][0]["path"] == link, f"by a link: {info['build_ids'][0]}")
    info = judge(Target("bash", "-c", f"exec -a {WORK}/nobody {path}"), "by a name", named=True)
    check(info["build_ids"][0]["path"] == path, f"by a name: {info['build_ids'][0]}")
    return "server"


def replaced():
    """The path has another program with other symbols at the same places."""
    path = copy_of(basic, "replaced")
    target = Target(path)
    other = os.path.join(WORK, "other.c")
    with open(os.path.join(FIXTURES, "native_basic.c"), encoding="ascii") as file:
        text = file.read()
    with open(other, "w", encoding="ascii") as file:
        file.write(text.replace("g_list", "x_list").replace("s_table", "x_table"))
    built = compile_c(other, "other", "-O1", "-g")
    os.replace(built, path)
    judge(target, "replaced", named=True)
    names = {root["name"] for root in look("roots")["roots"]}
    check(not any("x_list" in name for name in names), f"names of another program: {names}")
    return f"{len(names)} names"


def find(name):
    done = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True,
                          check=True)
    return os.path.realpath(done.stdout.strip())


def replaced_libc():
    """A private copy by its own loader: upgraded as packages do, and deleted."""
    if not os.path.exists(LD):
        return "left out: no loader"
    said = {}
    for how in ["upgraded", "deleted"]:
        root = os.path.join(WORK, "lib." + how)
        os.mkdir(root)
        libc = os.path.join(root, "libc.so.6")
        shutil.copy(find("libc.so.6"), libc)
        shutil.copy(LD, os.path.join(root, "ld.so"))
        target = Target(os.path.join(root, "ld.so"), "--library-path", root, basic)
        if how == "upgraded":
            shutil.copy(find("libm.so.6"), libc + ".new")
            os.replace(libc + ".new", libc)
        else:
            shutil.rmtree(root)
        info = judge(target, f"libc {how}")
        said[how] = [runtime["version"] for runtime in info["runtimes"]]
    return said


def symbols():
    """A library of so many symbols, all at variables that hold nothing, but for the last."""
    source = os.path.join(WORK, "many.S")
    with open(source, "w", encoding="ascii") as file:
        file.write(".data\n.balign 8\n")
        file.writelines(f".globl v{i}\n.type v{i},@object\n.size v{i},8\nv{i}: .quad 0\n"
                        for i in range(N_SYMBOLS))
        file.write('.section .note.GNU-stack,"",@progbits\n')
    library = compile_c(source, "libmany.so", "-shared", "-nostdlib")
    user = os.path.join(WORK, "user.c")
    with open(user, "w", encoding="ascii") as file:
        file.write('#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n'
                   f'extern void *v{N_SYMBOLS - 1};\n'
                   f'int main(void) {{ char c; v{N_SYMBOLS - 1} = calloc(1, 5000); puts("READY");'
                   'fflush(stdout); while (read(0, &c, 1) > 0) ; return 0; }\n')
    program = compile_c(user, "user", "-O1", library, f"-Wl,-rpath,{WORK}")
    target = Target(program)
    began = time.monotonic()
    dump(target, "many symbols")
    names = [root["name"] for root in look("roots")["roots"] if root["reachable_words"] >= 625]
    check(f"v{N_SYMBOLS - 1}" in names, f"the last of many is not named: {names}")
    target.end()
    return f"{N_SYMBOLS} symbols, {time.monotonic() - began:.1f} s"


def build_id(path):
    done = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    return next(line.split()[-1] for line in done.stdout.splitlines() if "Build ID" in line)


def wrong_debug_file():
    """Under the program's build-id lies the file of another program."""
    path = copy_of(stripped, "wrong")
    other = os.path.join(WORK, "wrong.c")
    with open(other, "w", encoding="ascii") as file:
        file.write("void *wrong_name[1000];\nint main(void) { return wrong_name[3] != 0; }\n")
    built = compile_c(other, "wrong.debug", "-O1", "-g")
    number = build_id(path)
    directory = os.path.join(WORK, "debug", ".build-id", number[:2])
    os.makedirs(directory)
    shutil.copy(built, os.path.join(directory, number[2:] + ".debug"))
    judge(Target(path), "wrong debug file", "--debug-path", os.path.join(WORK, "debug"),
          named=False)
    check("wrong_name" not in json.dumps(look("roots")), "a name of the wrong debug file")
    return "not used"


def circle():
    """A .gnu_debuglink that names the program itself, and one that names the next of three."""
    for name in ["self", "one"]:
        path = copy_of(stripped, name)
        links = {"self": "self", "one": "two"}
        for link in [links[name], "three"]:
            with open(os.path.join(WORK, link), "ab"):
                pass
        subprocess.run(["objcopy", f"--add-gnu-debuglink={os.path.join(WORK, links[name])}", path,
                        path + ".linked"], check=True)
        if name == "one": # two -> three -> two
            for a, b in [("two", "three"), ("three", "two")]:
                subprocess.run(["objcopy", f"--add-gnu-debuglink={os.path.join(WORK, b)}", stripped,
                                os.path.join(WORK, a)], check=True)
        os.replace(path + ".linked", path)
        judge(Target(path), f"link {name}", named=False)
    return "found nothing"


def no_sections():
    """What `sstrip` leaves: segments only."""
    said = []
    for program in [basic, stripped]:
        path = copy_of(program, "sstripped")
        with open(path, "r+b") as file:
            file.seek(40) # e_shoff
            file.write(bytes(8))
            file.seek(58) # e_shentsize, e_shnum, e_shstrndx
            file.write(bytes(6))
        info = judge(Target(path), "no section headers")
        said.append(info["objects"])
    return said


main(deleted, by_link, replaced, replaced_libc, symbols, wrong_debug_file, circle, no_sections)
END_OF_TEST
