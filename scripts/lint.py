"""The gates on the source. Each rule has a name, listed with what it asks in RULES; every finding
is printed as "file:line: rule: what to do". Named exceptions, each with its reason, stand in
scripts/lint-exceptions.txt.

The C reader is a tokenizer, not a parser: it knows comments, literals, preprocessor lines,
brackets and where a function begins, which is enough for sizes, branches, calls and layers.
"""

import argparse
import bisect
import os
import re
import shutil
import subprocess
import sys

RULES = {
    "format": "run scripts/format",
    "line-width": "at most 100 columns",
    "whitespace": "no tabs, no trailing blanks, one newline at the end",
    "file-length": "at most 800 lines: split the file",
    "file-name": "one header answers to each include line: rename the other",
    "function-length": "at most 80 lines, and 40 for 95 % of the functions: split it",
    "complexity": "at most 20 branches, and 15 for 99.5 % of the functions: split it",
    "parameters": "at most 7 parameters: pass a struct",
    "recursion": "no recursion: the depth would be up to the input; use an explicit stack",
    "goto": "goto only forward, to the one cleanup label of the function",
    "banned": "unsafe or uncounted function: see what it names",
    "library-output": "libraries never print and never exit: return a status",
    "layers": "include only from the floors below, never in a circle",
    "parts": "nothing includes a part that may be left out, but it itself and those that need it",
    "circles": "no circle of calls between sources: two need a reason, more are cut",
    "processor": "a register, or anything else of one processor, is named in arch/ alone",
    "header-doc": "a public header begins with a comment and documents its functions",
    "comment-verb": "begin with a verb or an article: what it does, not What, Of, Whose or Where",
    "header-guard": "a header has a guard named after its path, HS_FOLDER_NAME_H",
    "public-prefix": "a function that is not static is called hs_something or FILE_something",
    "struct-typedef": "no typedef of a struct: write struct hs_thing",
    "assertions": "at least 10 assertions per 1000 lines in graph, dominator and format",
    "marker": "no notes to self: do it, or state it as a limit",
    "machine-path": "no path of one machine: make it relative or take it as an argument",
    "doc-path": "a file that a document or a comment names exists",
    "doc-link": "a link of a document leads to a file, a folder or a heading that exists",
    "stale-exception": "delete the exception: nothing needs it",
}

EXCEPTIONS = "scripts/lint-exceptions.txt"
WIDTH, FILE_LINES = 100, 800
FUNCTION_LINES, FUNCTION_LINES_P95 = 80, 40
COMPLEXITY, COMPLEXITY_RARE, COMPLEXITY_RARE_SHARE = 20, 15, 0.005
PARAMETERS = 7
DOCUMENTED_GROUP = 8
ASSERTIONS_PER_1000 = 10
ASSERTED = ("format", "graph", "dominator")

# Folder -> (floor's name, prefix of its public headers). The longest folder wins.
FLOORS = {
    "base": ("base", "base"),
    "arch": ("arch", "arch"),
    "rules": ("rules", "rules"),
    "report": ("report", "report"),
    "symbols": ("symbols", "symbols"),
    "symbols/boxed": ("boxed", "boxed"),
    "trace": ("trace", "trace"),
    "trace/stats": ("stats", "stats"),
    "recorder": ("recorder", "recorder"),
    "snapshot/format": ("format", "snapshot"),
    "snapshot/target": ("target", "target"),
    "snapshot/process": ("process", "process"),
    "snapshot/heaps": ("heaps", "heaps"),
    "snapshot/runtimes": ("runtimes", "runtimes"),
    "snapshot/runtimes/ocaml": ("ocaml", "ocaml"),
    "snapshot/runtimes/native": ("native", "native"),
    "snapshot/runtimes/python": ("python", "python"),
    "snapshot/dump": ("dump", "dump"),
    "snapshot/names": ("names", "names"),
    "snapshot/import": ("import", "import"),
    "graph": ("graph", "graph"),
    "dominator": ("dominator", "dominator"),
    "dominator/passes": ("passes", "passes"),
    "dominator/index": ("index", "index"),
    "analysis": ("analysis", "analysis"),
    "analysis/library": ("library", "library"),
    "query": ("query", "query"),
    "export": ("export", "export"),
    "export/parquet": ("parquet", "parquet"),
    "viewer": ("viewer", "viewer"),
    "server": ("server", "server"),
    "tools": ("tools", "tools"),
    "tools/dwarf-box": ("box program", "box program"),
}
BELOW = {
    "base": set(),
    "arch": {"base"},
    "rules": {"base"},
    "report": {"base"},
    "symbols": {"base", "arch", "rules"},
    "boxed": {"base", "arch", "symbols"},
    "trace": {"base"},
    "stats": {"base", "trace"},
    "recorder": set(), # inside of foreign programs: nothing of ours is there
    "format": {"base"},
    "target": {"base", "arch", "symbols"},
    "process": {"base", "arch", "symbols", "format", "target"},
    "heaps": {"base", "arch", "rules", "symbols", "format", "target", "process"},
    # A runtime knows the list of all, and never another one.
    "runtimes": {"base", "arch", "symbols", "format", "target", "process", "heaps"},
    "ocaml": {"base", "arch", "symbols", "format", "target", "process", "heaps", "runtimes"},
    "native": {"base", "arch", "rules", "symbols", "format", "target", "process",
               "heaps", "runtimes"},
    "python": {"base", "arch", "symbols", "format", "target", "process", "heaps", "runtimes"},
    "dump": {"base", "arch", "symbols", "format", "target", "process", "heaps", "runtimes"},
    "names": {"base", "symbols", "format", "process", "runtimes", "native"},
    "import": {"base", "format"},
    "graph": {"base", "format"},
    "dominator": {"base", "format", "graph"},
    "passes": {"base", "format", "graph", "dominator"},
    "index": {"base", "format", "graph", "dominator", "passes"},
    "library": {"base", "format", "graph", "index", "analysis"},
    "analysis": {"base", "trace", "stats", "format", "graph", "dominator", "passes", "index"},
    "query": {"base", "report", "format", "graph", "index", "analysis"},
    "parquet": {"base", "report"},
    "viewer": {"base", "report", "format", "graph", "index", "analysis", "trace", "stats"},
    "server": {"base", "report"},
    "tools": {"base", "arch", "rules", "report", "trace", "stats", "recorder", "symbols", "format",
              "target", "process", "heaps", "runtimes", "dump", "names", "import", "graph",
              "dominator", "passes", "index", "analysis", "export", "query", "viewer",
              "server"},
    "export": {"base", "report", "trace", "stats", "format", "graph", "dominator", "passes",
               "index", "analysis", "parquet", "query"},
    "box program": {"base", "boxed"},
}
# System headers that only one floor may know.
OWNED_HEADERS = {
    "libdwarf.h": {"boxed"},
    "dwarf.h": {"symbols", "boxed"},
    "libdwarf/libdwarf.h": {"boxed"},
    "libdwarf/dwarf.h": {"symbols", "boxed"},
    "gelf.h": {"symbols"},
    "libelf.h": {"symbols"},
    "sys/ptrace.h": {"target"},
    "zstd.h": {"format", "target", "parquet", "analysis", "symbols"},
    "lz4frame.h": {"target"},
    "lzma.h": {"symbols"},
    "zlib.h": {"export", "symbols", "viewer"},
    "Zydis/Zydis.h": {"arch"},
    "sys/user.h": {"arch"},
    "sys/reg.h": {"arch"},
    "cpuid.h": {"arch"},
    "libiberty/demangle.h": {"symbols"},
    "sqlite3.h": {"query"},
    "sqlite3ext.h": {"query"},
    "editline/readline.h": {"tools"},
    "microhttpd.h": {"tools"},
}

# What is of one processor: registers by their names, the kernel's numbers and layouts. The recorder
# stands alone, in foreign programs, and may name them.
PROCESSOR = re.compile(
    r"(?:HS_)?(?:[re](?:[abcd]x|[sd]i|[sb]p|ip)|r(?:[89]|1[0-5]))|orig_[re]ax|[fg]s_base|eflags"
    r"|user_(?:fp)?regs_struct|__NR_\w+|__(?:x86_64|i386|aarch64)__|EM_(?:X86_64|AARCH64)"
    r"|AUDIT_ARCH_\w+|NT_(?:X86|ARM)_\w+|R_(?:X86_64|AARCH64)_\w+|Zydis\w*", re.I)
PROCESSOR_HOMES = {"arch", "recorder"}

UNSAFE = {
    "strcpy": "use snprintf or memcpy with a checked size",
    "strcat": "use snprintf or struct hs_buffer",
    "sprintf": "use snprintf",
    "vsprintf": "use vsnprintf",
    "gets": "use getline",
    "atoi": "use the parsers of base/units.h",
    "atol": "use the parsers of base/units.h",
    "atoll": "use the parsers of base/units.h",
    "atof": "use strtod and check the end",
    "strtok": "use strchr or strcspn on a copy of the pointer",
    "system": "use posix_spawn with an argument vector",
    "popen": "use posix_spawn with an argument vector",
    "alloca": "use a fixed buffer or base/alloc.h",
    "tmpnam": "use mkstemp",
    "mktemp": "use mkstemp",
    "longjmp": "return a status",
}
ALLOCATORS = {
    "malloc": "use hs_alloc of base/alloc.h",
    "calloc": "use hs_alloc of base/alloc.h",
    "realloc": "use hs_grow of base/alloc.h",
    "reallocarray": "use hs_grow of base/alloc.h",
    "free": "use hs_free of base/alloc.h",
    "strdup": "use hs_strdup of base/alloc.h",
    "strndup": "use hs_strdup of base/alloc.h",
    "asprintf": "use struct hs_buffer",
    "vasprintf": "use struct hs_buffer",
    "posix_memalign": "use hs_pages_alloc of base/alloc.h",
    "aligned_alloc": "use hs_pages_alloc of base/alloc.h",
}
ALLOCATOR_HOME = "base/alloc.c"
PRINTERS = {"printf", "puts", "putchar", "perror", "exit", "abort", "err", "errx", "warn", "warnx"}
STREAMS = {"stdout", "stderr"}

C_DIRS = tuple(sorted({folder.split("/")[0] for folder in FLOORS})) + ("tests", "bench", "include")
EXAMPLES = "docs/"
TEXT_SUFFIXES = (".c", ".h", ".sh", ".py", ".ml", ".mli", ".cmake", ".txt", ".md", ".json",
                 ".def", "")
PROSE_SUFFIXES = (".md", ".json", ".txt")
SKIPPED_DIRS = {".git", "__pycache__", "corpus", "golden"}

# A link of Markdown to a file of the tree, and what stands in code.
LINK = re.compile(r"\]\((?![a-z]+:)([^()\s]+)\)")
CODE_WORDS = re.compile(r"`[^`]*`")
RIDDLE = re.compile(r"/\*\s*((?:What|Who|Which|When|Where)(?:ever)?|Whom|Whose|Whether|How|Why|Of"
                    r"|That|Its?)\b")
DOC_PATH = re.compile(r"(?<![\w./-])[a-z][\w-]*(?:/[\w-]+)+\.(?:c|h|sh|py|md|ml)\b")
DOC_FOLDERS = {"bench", "docs", "scripts", "tests"}
FOREIGN_FOLDERS = {"arch"} # of the kernel's tree, as comments name it
MARKER = re.compile(r"\b(?:TO" + "DO|FIX" + "ME|XX" + "X|HA" + r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.}$*/])/(?:root|work|Users|home/[a-z]\w*|tmp/[\w.-]*/)(?![\w-])")

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<directive>^[ \t]*\#(?:/\*.*?\*/|[^\n\\]|\\.)*)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*)
      | (?P<operator>->|&&|\|\||\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^<>=!]=|\.\.\.|[^\s\w])""",
    re.X | re.S | re.M,
)


class Token:
    __slots__ = ("kind", "text", "line")

    def __init__(self, kind, text, line):
        self.kind, self.text, self.line = kind, text, line


class Function:
    """A definition: `line` is where its declaration begins, `last` its closing brace."""

    def __init__(self, name, declaration, body):
        self.name, self.declaration, self.body = name, declaration, body
        self.line, self.last = declaration[0].line, body[-1].line
        self.static = any(t.text == "static" for t in declaration)

    @property
    def length(self):
        return self.last - self.line + 1


class Source:
    """One C file: its tokens, functions and includes."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.lines = text.split("\n")
        starts = [0] + [m.end() for m in re.finditer("\n", text)]
        self.tokens = [
            Token(m.lastgroup, m.group().strip(), bisect.bisect_right(starts, m.start()))
            for m in TOKEN.finditer(text)
        ]
        self.code = [t for t in self.tokens if t.kind not in ("comment", "directive")]
        self.directives = [t for t in self.tokens if t.kind == "directive"]
        self.functions, self.statements = split_top_level(self.code)
        self.includes = []
        for token in self.directives:
            match = re.match(r'#\s*include\s*(["<])([^">]+)[">]', token.text)
            if match:
                self.includes.append((token.line, match.group(1) == '"', match.group(2)))
        self.floor, self.folder = floor_of(path)
        self.production = self.floor is not None

    @property
    def public_header(self):
        return self.path.endswith(".h") and "/include/" in "/" + self.path

    def code_lines(self):
        return len({t.line for t in self.code})


def breakable(line):
    """A line of a document that is neither a table's row, nor code, nor one long word."""
    return not line.startswith(("|", "    ")) and " " in line.strip()


def floor_of(path):
    best = None
    for folder in FLOORS:
        if path.startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return (FLOORS[best][0], best) if best else (None, None)


def declared_name(declaration):
    """The name before the parameter list, and the tokens of that list; None for other things."""
    depth, at, skip = 0, 0, {"__attribute__", "__typeof__", "typeof", "_Alignas", "__declspec"}
    while at < len(declaration):
        token = declaration[at]
        if token.text in ("[", "{"):
            depth += 1
        elif token.text in ("]", "}"):
            depth -= 1
        elif token.text == "(":
            before = declaration[at - 1] if at else None
            end = matching(declaration, at)
            if depth == 0 and before is not None and before.kind == "word":
                if before.text not in skip:
                    return before.text, declaration[at + 1 : end]
            at = end
        at += 1
    return None, []


def matching(tokens, at):
    depth = 0
    for index in range(at, len(tokens)):
        if tokens[index].text in ("(", "[", "{"):
            depth += 1
        elif tokens[index].text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return index
    return len(tokens) - 1


def split_top_level(code):
    """Functions, and the other statements of the file's top level (each a list of tokens)."""
    functions, statements, start, at = [], [], 0, 0
    while at < len(code):
        text = code[at].text
        if text == ";":
            statements.append(code[start : at + 1])
            start = at + 1
        elif text in ("(", "["):
            at = matching(code, at)
        elif text == "{":
            end = matching(code, at)
            declaration = code[start:at]
            name, _ = declared_name(declaration)
            if name and declaration[-1].text == ")" and all(t.text != "=" for t in declaration):
                functions.append(Function(name, declaration, code[at : end + 1]))
                start = end + 1
            at = end
        at += 1
    return functions, statements


def count_parameters(declaration):
    _, parameters = declared_name(declaration)
    if not parameters or [t.text for t in parameters] == ["void"]:
        return 0
    depth, count = 0, 1
    for token in parameters:
        if token.text in ("(", "[", "{"):
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
        elif token.text == "," and depth == 0:
            count += 1
    return count


def complexity(source, function):
    branches = {"if", "for", "while", "case", "&&", "||", "?"}
    count = 1 + sum(1 for t in function.body if t.text in branches and t.kind != "string")
    count += sum(
        1
        for t in source.directives
        if function.line < t.line < function.last and re.match(r"#\s*(?:if|elif)", t.text)
    )
    return count


def calls(tokens):
    """Names followed by '(' that are not members: (name, line)."""
    for at in range(len(tokens) - 1):
        token = tokens[at]
        if token.kind == "word" and tokens[at + 1].text == "(":
            if at == 0 or tokens[at - 1].text not in (".", "->"):
                yield token.text, token.line


class Lint:
    def __init__(self, top, with_format=True):
        self.top, self.with_format = top, with_format
        self.findings, self.sources, self.texts = [], [], []
        self.anchors_of = {}
        self.exceptions, self.used = read_exceptions(top), set()
        self.parts, self.needed = read_parts(top)

    def report(self, path, line, rule, message, name=None):
        for subject in (name, "*"):
            key = (path, subject, rule)
            if subject and key in self.exceptions:
                self.used.add(key)
                return
        self.findings.append((path, line, rule, message))

    def read(self):
        for directory, folders, files in os.walk(self.top):
            inside = os.path.relpath(directory, self.top)
            folders[:] = sorted(
                f
                for f in folders
                if f not in SKIPPED_DIRS and not (inside == "." and f.startswith("build"))
            )
            for name in sorted(files):
                path = os.path.normpath(os.path.join(inside, name))
                if name not in SKIPPED_DIRS and os.path.splitext(name)[1] in TEXT_SUFFIXES:
                    self.read_one(path)

    def read_one(self, path):
        try:
            with open(os.path.join(self.top, path), encoding="utf-8", newline="") as file:
                text = file.read()
        except (UnicodeDecodeError, OSError):
            return
        if "\0" in text or path == "LICENSE":
            return
        self.texts.append((path, text))
        if not path.endswith((".c", ".h")):
            return
        if path.startswith(tuple(d + "/" for d in C_DIRS)):
            self.sources.append(Source(path, text))
        elif not path.startswith(EXAMPLES):
            message = "no floor has this folder: name it in FLOORS of scripts/lint.py"
            self.report(path, 1, "layers", message)

    def run(self):
        self.read()
        self.headers = Headers(self.sources)
        for path, text in self.texts:
            self.check_text(path, text)
        for source in self.sources:
            self.check_sizes(source)
            self.check_goto(source)
            self.check_recursion(source)
            self.check_banned(source)
            self.check_output(source)
            self.check_layers(source)
            self.check_parts(source)
            self.check_processor(source)
            self.check_header(source)
            self.check_comments(source)
            self.check_names(source)
        self.check_shares()
        self.check_file_names()
        self.check_paths()
        self.check_links()
        self.check_circles()
        self.check_call_circles()
        self.check_assertions()
        if self.with_format:
            self.check_format()
        for key, line in self.exceptions.items():
            if key not in self.used and (key[2] != "format" or self.with_format):
                message = "nothing needs '%s %s': delete the line" % (key[0], key[2])
                self.findings.append((EXCEPTIONS, line, "stale-exception", message))
        return sorted(set(self.findings))

    # Text

    def check_text(self, path, text):
        prose = path.endswith(PROSE_SUFFIXES) and not path.endswith("CMakeLists.txt")
        document, fenced = path.endswith(".md"), False
        makefile = os.path.basename(path).startswith("Makefile")
        for number, line in enumerate(text.split("\n"), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if len(line) > WIDTH and (not prose or not fenced and document and breakable(line)):
                self.report(path, number, "line-width", "%d columns: break the line" % len(line))
            if line != line.rstrip() and not path.endswith(".md"):
                self.report(path, number, "whitespace", "blanks or CR at the end: delete them")
            if "\t" in line and not prose and not makefile:
                self.report(path, number, "whitespace", "a tab: use spaces (or \\t in a string)")
            if MARKER.search(line):
                self.report(path, number, "marker", "do it now, or write 'Limit: ...'")
            match = MACHINE_PATH.search(line)
            if match:
                self.report(path, number, "machine-path", "'%s': make it relative" % match.group())
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            self.report(path, text.count("\n") + 1, "whitespace", "end with exactly one newline")

    # Sizes

    def check_sizes(self, source):
        n_lines = source.text.count("\n")
        if n_lines > FILE_LINES:
            self.report(source.path, n_lines, "file-length", "%d lines: split the file" % n_lines)
        for function in source.functions:
            name, path, line = function.name, source.path, function.line
            if function.length > FUNCTION_LINES:
                message = "'%s' has %d lines (at most %d): split it"
                message %= (name, function.length, FUNCTION_LINES)
                self.report(path, line, "function-length", message, name)
            branches = complexity(source, function)
            if branches > COMPLEXITY:
                message = "'%s' has complexity %d (at most %d): split it"
                message %= (name, branches, COMPLEXITY)
                self.report(path, line, "complexity", message, name)
            n_parameters = count_parameters(function.declaration)
            if n_parameters > PARAMETERS:
                message = "'%s' takes %d parameters: pass a struct" % (name, n_parameters)
                self.report(path, line, "parameters", message, name)

    def check_shares(self):
        """What may be rare but not common; the worst are named."""
        production = [s for s in self.sources if s.production]
        all_functions = [(f.length, s, f) for s in production for f in s.functions]
        if len(all_functions) < 20:
            return
        all_functions.sort(key=lambda item: item[0])
        p95 = all_functions[int(0.95 * (len(all_functions) - 1))][0]
        if p95 > FUNCTION_LINES_P95:
            for length, source, function in all_functions:
                if FUNCTION_LINES_P95 < length <= FUNCTION_LINES:
                    message = "'%s' has %d lines, and the tree's 95th percentile is %d (at most %d)"
                    message %= (function.name, length, p95, FUNCTION_LINES_P95)
                    self.report(source.path, function.line, "function-length", message)
        complex_ones = []
        for _, source, function in all_functions:
            branches = complexity(source, function)
            key = (source.path, function.name, "complexity")
            if branches > COMPLEXITY_RARE and key not in self.exceptions:
                complex_ones.append((branches, source, function))
        if len(complex_ones) > max(1, COMPLEXITY_RARE_SHARE * len(all_functions)):
            for branches, source, function in complex_ones:
                if branches <= COMPLEXITY:
                    message = "'%s' has complexity %d, and too many are above %d: simplify it"
                    message %= (function.name, branches, COMPLEXITY_RARE)
                    self.report(source.path, function.line, "complexity", message)

    # Control flow

    def check_goto(self, source):
        for function in source.functions:
            body = function.body
            jumps = [
                (body[i + 1].text, body[i].line)
                for i in range(len(body) - 1)
                if body[i].text == "goto"
            ]
            if not jumps:
                continue
            labels = {
                body[i].text: body[i].line
                for i in range(1, len(body) - 1)
                if body[i].kind == "word"
                and body[i + 1].text == ":"
                and body[i - 1].text in (";", "{", "}", ":")
            }
            for label, line in jumps:
                if label != jumps[0][0]:
                    message = "a second label '%s' in '%s': one cleanup label" % (
                        label, function.name)
                    self.report(source.path, line, "goto", message, function.name)
                elif labels.get(label, line + 1) <= line:
                    message = "'%s' jumps back in '%s': write a loop" % (label, function.name)
                    self.report(source.path, line, "goto", message, function.name)

    def check_recursion(self, source):
        if not source.production and not source.path.startswith("bench/"):
            return
        defined = {f.name: f for f in source.functions}
        called = {
            f.name: {name for name, _ in calls(f.body) if name in defined} for f in source.functions
        }
        for function in source.functions:
            seen, stack = set(), list(called[function.name])
            while stack:
                name = stack.pop()
                if name not in seen:
                    seen.add(name)
                    stack.extend(called[name])
            if function.name in seen:
                message = "'%s' calls itself, directly or in a circle: use a stack" % function.name
                self.report(source.path, function.line, "recursion", message, function.name)

    # Calls

    def enclosing(self, source, line):
        for function in source.functions:
            if function.line <= line <= function.last:
                return function.name
        return None

    def check_banned(self, source):
        counted = source.production and source.path != ALLOCATOR_HOME
        for name, line in calls(source.code):
            why = UNSAFE.get(name) or (counted and ALLOCATORS.get(name))
            if why:
                message = "'%s': %s" % (name, why)
                self.report(source.path, line, "banned", message, self.enclosing(source, line))

    def check_output(self, source):
        if not source.production or source.floor in ("tools", "box program"):
            return
        found = [(name, line) for name, line in calls(source.code) if name in PRINTERS]
        found += [(t.text, t.line) for t in source.code if t.text in STREAMS]
        for name, line in found:
            message = "'%s' in a library: return a status or write to what the caller gave" % name
            self.report(source.path, line, "library-output", message, self.enclosing(source, line))

    # Includes

    def check_layers(self, source):
        prefixes = {prefix: floor for floor, prefix in FLOORS.values()}
        for line, ours, name in source.includes:
            if not ours:
                owners = OWNED_HEADERS.get(name)
                if owners and source.production and source.floor not in owners:
                    message = "<%s> belongs to %s alone" % (name, ", ".join(sorted(owners)))
                    self.report(source.path, line, "layers", message)
                continue
            if name.startswith(".") or name.startswith("/"):
                message = "'%s': include by the header's own folder, not by a path" % name
                self.report(source.path, line, "layers", message)
            elif name.endswith(".def") and self.is_beside(source, name):
                continue # a list of macro calls, included more than once: no header
            elif source.production and self.is_private(source, name):
                if source.public_header:
                    message = "a public header may not include the private '%s'" % name
                    self.report(source.path, line, "layers", message)
            elif source.production and "/" in name:
                target = prefixes.get(name.split("/")[0])
                if target is None:
                    message = "'%s' is no public header of a floor" % name
                    self.report(source.path, line, "layers", message)
                elif target != source.floor and target not in BELOW[source.floor]:
                    message = "%s may not include '%s': take a callback" % (source.floor, name)
                    self.report(source.path, line, "layers", message)
            elif source.production:
                message = "'%s' is no header of this folder" % name
                self.report(source.path, line, "layers", message)

    def check_parts(self, source):
        """Under "#if HS_WITH_NAME" the table of options may look at a part; what reads processes
        (snapshot/) may not even so."""
        if not source.production or not self.parts:
            return
        ours = self.needed_by(self.parts_of(source.path))
        switched = {} if source.path.startswith("snapshot/") else switched_lines(source.text)
        for line, quoted, name in source.includes:
            target = self.headers.find(source, name) if quoted else None
            theirs = self.parts_of(target.path) if target else set()
            if theirs and not theirs & (ours | self.needed_by(switched.get(line, set()))):
                message = "'%s' is of the part %s, which may be missing here" % (
                    name, " or ".join(sorted(theirs)))
                self.report(source.path, line, "parts", message)

    def parts_of(self, path):
        """Those that own the innermost folder of a part that the file is in."""
        folders = [folder for folder in self.parts if path.startswith(folder + "/")]
        return self.parts[max(folders, key=len)] if folders else set()

    def needed_by(self, parts):
        """The parts, and all that they need."""
        found, stack = set(), list(parts)
        while stack:
            part = stack.pop()
            if part not in found:
                found.add(part)
                stack.extend(self.needed.get(part, ()))
        return found

    def check_processor(self, source):
        if not source.production or source.floor in PROCESSOR_HOMES:
            return
        for token in source.code + source.directives:
            words = re.findall(r"\w+", token.text) if token.kind != "word" else [token.text]
            if token.kind == "string":
                words = words if len(words) == 1 else []
            for word in words:
                if PROCESSOR.fullmatch(word):
                    message = "'%s' is of one processor: name its role, in arch/" % word
                    self.report(source.path, token.line, "processor", message)

    def is_private(self, source, name):
        """A header of the same floor or one around it, not a public one."""
        found = self.headers.find(source, name)
        return (found is not None and not found.public_header and found.folder is not None
                and (source.folder + "/").startswith(found.folder + "/"))

    def is_beside(self, source, name):
        return (os.path.dirname(source.path), name) in {os.path.split(p) for p, _ in self.texts}

    def check_circles(self):
        state = {}
        for first in sorted(self.headers.by_path.values(), key=lambda s: s.path):
            stack = [(first, iter(first.includes))]
            while stack:
                source, includes = stack[-1]
                state[source.path] = "open"
                for line, ours, name in includes:
                    target = self.headers.find(source, name) if ours else None
                    if target is None or state.get(target.path) == "done":
                        continue
                    if state.get(target.path) == "open":
                        message = "'%s' includes itself by way of '%s'" % (name, source.path)
                        self.report(source.path, line, "layers", message)
                        continue
                    stack.append((target, iter(target.includes)))
                    break
                else:
                    state[source.path] = "done"
                    stack.pop()

    def check_call_circles(self):
        """The reason of a pair stands in the exceptions, at the first of the two."""
        calls_of = call_graph(self.sources)
        for circle in circles_of(calls_of):
            if len(circle) == 2:
                message = "'%s.c' calls back: cut it, or give the reason" % circle[1]
                self.report(circle[0] + ".c", 1, "circles", message)
                continue
            for unit in circle: # no exception for these
                names = sorted({n for o in circle for n in calls_of[unit].get(o, ())})
                message = "one of %d sources in a circle of calls, by %s"
                message %= (len(circle), ", ".join(names[:3]))
                self.findings.append((unit + ".c", 1, "circles", message))

    # Headers and names

    def check_header(self, source):
        if not source.path.endswith(".h") or not source.production:
            return
        guard, private_guard = guards_of(source)
        allowed = guard if source.public_header else "(?:%s|%s)" % (guard, private_guard)
        texts = [t.text for t in source.directives]
        if not any(re.match(r"#\s*ifndef\s+%s$" % allowed, text) for text in texts):
            self.report(source.path, 1, "header-guard", "#ifndef %s, #define %s" % (guard, guard))
        if not source.public_header:
            return
        if not source.tokens or source.tokens[0].kind != "comment":
            message = "begin with a paragraph: what it is for and what it refuses"
            self.report(source.path, 1, "header-doc", message)
        self.check_prototypes(source)

    def check_comments(self, source):
        """What stands at a declaration, inside of no function, says first what that does."""
        if not source.production:
            return
        inside = [(f.body[0].line, f.last) for f in source.functions]
        for token in source.tokens:
            match = RIDDLE.match(token.text) if token.kind == "comment" else None
            if match and not any(a <= token.line <= b for a, b in inside):
                message = "'%s ...': begin with a verb or an article" % match.group(1)
                self.report(source.path, token.line, "comment-verb", message)

    def check_prototypes(self, source):
        """A comment at the top level documents the functions up to the next one, within reason."""
        inside = [(f.declaration[0].line, f.last) for f in source.functions]
        inside += [(s[0].line, s[-1].line) for s in source.statements]
        comments = [
            t.line
            for t in source.tokens
            if t.kind == "comment" and not any(a <= t.line <= b for a, b in inside)
        ]
        prototypes = [(f.line, f.name) for f in source.functions]
        for statement in source.statements:
            words = [t.text for t in statement]
            name, _ = declared_name(statement)
            if name and words[0] not in ("typedef", "_Static_assert", "static_assert"):
                if "{" not in words and "=" not in words and name.islower():
                    prototypes.append((statement[0].line, name))
        used = {}
        for line, name in sorted(prototypes):
            above = [c for c in comments if c < line]
            group = above[-1] if above else 0
            used[group] = used.get(group, 0) + 1
            if group == 0 or used[group] > DOCUMENTED_GROUP:
                message = "'%s' has no comment (one may document at most %d functions)"
                message %= (name, DOCUMENTED_GROUP)
                self.report(source.path, line, "header-doc", message, name)

    def check_names(self, source):
        if not source.production:
            return
        for function in source.functions:
            if source.path.endswith(".c") and not function.static and function.name != "main":
                module = os.path.splitext(os.path.basename(source.path))[0]
                theirs = "heapsnap_" if source.floor == "library" else "hs_"
                if not function.name.startswith(("hs_", theirs, module + "_")):
                    message = "'%s': make it static or call it hs_%s" % ((function.name,) * 2)
                    self.report(source.path, function.line, "public-prefix", message, function.name)
        for statement in source.statements:
            words = [t.text for t in statement]
            if words[0] == "typedef" and words[1:2] in (["struct"], ["union"]):
                message = "write 'struct hs_thing' where it is used"
                self.report(source.path, statement[0].line, "struct-typedef", message)

    def check_paths(self):
        """What begins with the name of a floor's folder is a path of ours, or the end of one. Not
        in fenced lines, which show other programs, nor where a name is left open (NAME_test.c)."""
        paths = [path for path, _ in self.texts]
        folders = {word for folder in FLOORS for word in folder.split("/")} | DOC_FOLDERS
        known = {p[i:] for p in paths for i in range(len(p)) if i == 0 or p[i - 1] == "/"}
        mentions = [(s.path, t.line + t.text.count("\n", 0, m.start()), m.group())
                    for s in self.sources for t in s.tokens if t.kind == "comment"
                    for m in DOC_PATH.finditer(t.text)]
        for path, text in self.texts:
            fenced = False
            for line, words in enumerate(text.split("\n") if path.endswith(".md") else [], 1):
                fenced ^= words.lstrip().startswith("```")
                if not fenced:
                    mentions += [(path, line, m.group()) for m in DOC_PATH.finditer(words)]
        for path, line, name in mentions:
            ours = name.split("/")[0] in folders - FOREIGN_FOLDERS and "NAME" not in name
            if ours and name not in known:
                self.report(path, line, "doc-path", "'%s': there is no such file" % name)

    def check_links(self):
        """Links within the tree, by where their document is; not in fenced lines and code."""
        for path, text in self.texts:
            fenced = False
            for line, words in enumerate(text.split("\n") if path.endswith(".md") else [], 1):
                fenced ^= words.lstrip().startswith("```")
                for match in LINK.finditer("" if fenced else CODE_WORDS.sub("", words)):
                    target, _, anchor = match.group(1).partition("#")
                    where = os.path.normpath(os.path.join(os.path.dirname(path), target))
                    where = where if target else path
                    if not os.path.exists(os.path.join(self.top, where)):
                        self.report(path, line, "doc-link", "'%s': there is no such file" % target)
                    elif anchor and where.endswith(".md") and anchor not in self.anchors(where):
                        self.report(path, line, "doc-link", "'#%s': no such heading in %s"
                                    % (anchor, where))

    def anchors(self, path):
        """What links to the headings of a document are called, as GitHub does it."""
        if path not in self.anchors_of:
            with open(os.path.join(self.top, path), encoding="utf-8") as file:
                lines = re.sub(r"(?ms)^```.*?^```", "", file.read()).split("\n")
            names, seen = set(), {}
            for heading in [line.lstrip("#") for line in lines if re.match("#+ ", line)]:
                words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
                name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
                seen[name] = seen.get(name, -1) + 1
                names.add("%s-%d" % (name, seen[name]) if seen[name] else name)
            self.anchors_of[path] = names
        return self.anchors_of[path]

    def check_file_names(self):
        """Beside a file, in its floor's folder, by its public prefix: one of these must answer."""
        for source in self.sources:
            for line, ours, name in source.includes:
                if not ours or not source.production:
                    continue
                beside = os.path.join(os.path.dirname(source.path), name)
                above = os.path.join(source.folder, name)
                found = {p for p in (beside, above) if p in self.headers.by_path}
                if name in self.headers.public:
                    found.add(self.headers.public[name].path)
                if len(found) > 1:
                    message = "'%s' may be %s: rename one" % (name, " or ".join(sorted(found)))
                    self.report(source.path, line, "file-name", message)

    def check_assertions(self):
        for floor in ASSERTED:
            sources = [s for s in self.sources if s.floor == floor and s.path.endswith(".c")]
            n_lines = sum(s.code_lines() for s in sources)
            n_assertions = sum(count_assertions(s) for s in sources)
            if n_lines >= 100 and n_assertions * 1000 < ASSERTIONS_PER_1000 * n_lines:
                message = "%s has %d assertions in %d lines: state its invariants (10 per 1000)"
                message %= (floor, n_assertions, n_lines)
                self.report(sources[0].folder, 1, "assertions", message)

    def check_format(self):
        tool = shutil.which("clang-format-14") or shutil.which("clang-format")
        if not tool or "version 14." not in output_of([tool, "--version"])[0]:
            print("lint: format: skipped, it is judged by clang-format 14", file=sys.stderr)
            return
        paths = [s.path for s in self.sources]
        if not paths:
            return
        complaints = output_of([tool, "--style=file", "--dry-run", *paths], self.top)[1]
        for match in re.finditer(r"^(\S+?):(\d+):\d+: (?:warning|error)", complaints, re.M):
            self.report(match.group(1), int(match.group(2)), "format", "run scripts/format")


def output_of(command, directory=None):
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return result.stdout, result.stderr


def unit_of(path):
    """A source and the header of its name beside it are one."""
    return os.path.splitext(path)[0]


def call_graph(sources):
    """{unit: {other unit: names of its functions that are called, or whose address is taken}}."""
    production = [s for s in sources if s.production]
    homes, tags, graph = {}, set(), {}
    for source in production:
        for function in source.functions:
            if source.path.endswith(".c") and not function.static:
                homes.setdefault(function.name, set()).add(unit_of(source.path))
        for before, token in zip(source.code, source.code[1:]):
            if before.text in ("struct", "union", "enum"):
                tags.add(token.text)
    for source in production:
        unit, own = unit_of(source.path), {f.name for f in source.functions}
        bodies = [f.body for f in source.functions]
        bodies += [s[[t.text for t in s].index("=") :] for s in source.statements
                   if any(t.text == "=" for t in s)]
        for body in bodies:
            for at, token in enumerate(body):
                name = token.text
                if token.kind != "word" or name not in homes or name in own:
                    continue
                is_called = at + 1 < len(body) and body[at + 1].text == "("
                is_member = at > 0 and body[at - 1].text in (".", "->")
                if is_member or (name in tags and not is_called):
                    continue
                for home in homes[name] - {unit}:
                    graph.setdefault(unit, {}).setdefault(home, set()).add(name)
    return graph


def circles_of(graph):
    """The strongly connected units (Tarjan, without recursion), as paths of their sources."""
    number, low, open_units, found = {}, {}, [], []
    for first in sorted(graph):
        if first in number:
            continue
        stack = [(first, iter(sorted(graph[first])))]
        number[first] = low[first] = len(number)
        open_units.append(first)
        while stack:
            unit, others = stack[-1]
            for other in others:
                if other not in number:
                    number[other] = low[other] = len(number)
                    open_units.append(other)
                    stack.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in open_units:
                    low[unit] = min(low[unit], number[other])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[unit])
                if low[unit] == number[unit]:
                    at = open_units.index(unit)
                    circle, open_units[at:] = open_units[at:], []
                    if len(circle) > 1:
                        found.append(sorted(circle))
    return found


class Headers:
    """Which header an include line means: a public one by its prefix; of the private ones that
    beside the file, that at this path in the floor's folder, or FOLDER/that (in tests)."""

    def __init__(self, sources):
        self.by_path = {s.path: s for s in sources if s.path.endswith(".h")}
        self.public = {}
        for path, source in self.by_path.items():
            if source.public_header:
                self.public[("/" + path).rsplit("/include/", 1)[1]] = source
        self.tested = {}
        for folder in FLOORS:
            self.tested.setdefault(os.path.basename(folder), folder)

    def find(self, source, name):
        places = [os.path.join(os.path.dirname(source.path), name)]
        folder = source.folder
        while folder: # its floor's, and those of floors around it
            places.append(os.path.join(folder, name))
            folder = floor_of(os.path.dirname(folder) + "/")[1]
        for place in places:
            if place in self.by_path:
                return self.by_path[place]
        if name in self.public:
            return self.public[name]
        head, _, tail = name.partition("/")
        return self.by_path.get(os.path.join(self.tested.get(head, head), tail))


def guards_of(source):
    """The guard with the folder's name, and the short one that a private header may have."""
    stem = os.path.splitext(os.path.basename(source.path))[0]
    folder = os.path.basename(os.path.dirname(source.path))
    stem, folder = (re.sub(r"\W", "_", part).upper() for part in (stem, folder))
    return "HS_%s_%s_H" % (folder, stem), "HS_%s_H" % stem


def count_assertions(source):
    names = ("assert", "static_assert", "_Static_assert")
    return sum(1 for name, _ in calls(source.code) if name in names)


def read_parts(top):
    """{folder: parts that it is of}, {part: those that it needs}, of cmake/HsParts.cmake."""
    folders, needed = {}, {}
    try:
        with open(os.path.join(top, "cmake/HsParts.cmake"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return folders, needed
    for name, rest in re.findall(r'(?m)^hs_part\((\w+) "[^"]*"([^)]*)\)', text):
        lists, words = {}, []
        for word in rest.split():
            if word in ("FOLDERS", "COMMANDS", "NEEDS", "PACKAGES"):
                words = lists.setdefault(word, [])
            else:
                words.append(word)
        for folder in lists.get("FOLDERS", ()):
            folders.setdefault(folder, set()).add(name)
        needed[name] = lists.get("NEEDS", ())
    return folders, needed


def switched_lines(text):
    """{line: parts of the conditions "#if HS_WITH_NAME" around it}."""
    stack, found = [], {}
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"#\s*(if\w*|el\w+|endif)\b(.*)", line)
        if match and match.group(1).startswith("if"):
            stack.append(set(re.findall(r"^\s*HS_WITH_(\w+)", match.group(2))))
        elif match and stack:
            stack.pop()
            if match.group(1) != "endif":
                stack.append(set())
        found[number] = set().union(*stack)
    return found


def read_exceptions(top):
    """Lines "path:function rule reason" or "path rule reason": {(path, function, rule): line}."""
    exceptions = {}
    try:
        with open(os.path.join(top, EXCEPTIONS), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                fields = line.split(None, 2)
                if not fields or fields[0].startswith("#"):
                    continue
                if len(fields) < 3 or fields[1] not in RULES:
                    sys.exit("%s:%d: want 'path[:function] rule reason'" % (EXCEPTIONS, number))
                path, _, name = fields[0].partition(":")
                exceptions[(path, name or "*", fields[1])] = number
    except FileNotFoundError:
        pass
    return exceptions


def print_stats(lint):
    print("%-18s %6s %8s %9s %6s %6s %6s %7s" % (
        "folder", "files", "lines", "functions", "median", "p95", "max", "asserts"))
    groups = {}
    for source in lint.sources:
        groups.setdefault(source.folder or source.path.split("/")[0], []).append(source)
    for folder, sources in sorted(groups.items()) + [
        ("all but tests", [s for s in lint.sources if s.production])
    ]:
        lengths = sorted(f.length for s in sources for f in s.functions) or [0]
        n_lines = sum(s.text.count("\n") for s in sources)
        p95 = lengths[int(0.95 * (len(lengths) - 1))]
        n_assertions = sum(count_assertions(s) for s in sources)
        print("%-18s %6d %8d %9d %6d %6d %6d %7d" % (
            folder, len(sources), n_lines, len(lengths), lengths[len(lengths) // 2], p95,
            lengths[-1], n_assertions))
    circles = circles_of(call_graph(lint.sources))
    print("circles of calls: %d, the largest of %d sources" % (
        len(circles), max(map(len, circles), default=0)))
    worst = [(complexity(s, f), s.path, f.name)
             for s in lint.sources if s.production for f in s.functions]
    for branches, path, name in sorted(worst, reverse=True)[:5]:
        print("complexity %d: %s %s" % (branches, path, name))


def main(arguments):
    parser = argparse.ArgumentParser(prog="scripts/lint", description="gates on the source")
    parser.add_argument("paths", nargs="*", help="report only on these files and folders")
    parser.add_argument("--top", default=os.path.join(os.path.dirname(__file__), ".."))
    parser.add_argument("--rules", action="store_true", help="list the rules")
    parser.add_argument("--stats", action="store_true", help="print sizes, judge nothing")
    parser.add_argument("--no-format", action="store_true", help="leave out clang-format")
    options = parser.parse_args(arguments)
    if options.rules:
        for name, meaning in RULES.items():
            print("%-16s %s" % (name, meaning))
        return 0
    lint = Lint(os.path.normpath(options.top), with_format=not options.no_format)
    if options.stats:
        lint.read()
        print_stats(lint)
        return 0
    findings = lint.run()
    if options.paths:
        wanted = [os.path.relpath(p, lint.top) for p in options.paths]
        findings = [f for f in findings if any((f[0] + "/").startswith(w + "/") for w in wanted)]
    for path, line, rule, message in findings:
        print("%s:%d: %s: %s" % (path, line, rule, message))
    print("lint: %d files, %d findings" % (len(lint.texts), len(findings)), file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
