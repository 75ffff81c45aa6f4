"""Every rule of scripts/lint.py fires on what it forbids and is silent on its neighbour that is
allowed. A case is a small tree of files; a rule without a case fails the test."""

import importlib.util
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.normpath(os.path.join(HERE, "..", ".."))


def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(TOP, "scripts", name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lint = load("lint")


def function(name="f", lines=1, static=True, body="    x++;\n", parameters="void"):
    head = "static void" if static else "void"
    return "%s %s(%s)\n{\n%s}\n" % (head, name, parameters, body * lines)


def header(text, guard="HS_GRAPH_A_H"):
    return "/* What it is for. */\n#ifndef %s\n#define %s\n\n%s\n#endif\n" % (guard, guard, text)


def many(n, make):
    return "\n".join(make(i) for i in range(n))


CALLS = "void hs_%s(void)\n{\n    %s();\n}\n"
PARTS = 'hs_part(IMPORT "it"\n  FOLDERS snapshot/import tools/import COMMANDS import)\n'
BRANCH = "    if (x)\n        x++;\n"
PUBLIC = "graph/include/graph/a.h"

# rule: [(files that make it fire, files that do not)]
CASES = {
    "format": [
        ({"graph/a.c": "static int  f( void ){return 1;}\n"}, {"graph/a.c": function()}),
    ],
    "line-width": [
        ({"graph/a.c": "/* %s */\n" % ("x" * 95)}, {"graph/a.c": "/* %s */\n" % ("x" * 94)}),
        ({"scripts/a.sh": "# %s\n" % ("x" * 99)}, {"a.md": "x" * 200 + "\n"}),
        ({"a.md": "x " * 50 + "x\n"}, {"a.md": "```\n" + "x " * 50 + "x\n```\n"}),
        ({"a.md": "```\n```\n" + "x " * 50 + "x\n"}, {"a.md": "| " + "x | " * 50 + "\n"}),
    ],
    "whitespace": [
        ({"graph/a.c": "int hs_x; \n"}, {"graph/a.c": "int hs_x;\n"}),
        ({"graph/a.c": "\tint hs_x;\n"}, {"graph/a.c": "    int hs_x;\n"}),
        ({"graph/a.c": "int hs_x;"}, {"graph/a.c": "int hs_x;\n"}),
        ({"graph/a.c": "int hs_x;\n\n"}, {"graph/a.c": "int hs_x;\n\nint hs_y;\n"}),
        ({"graph/a.c": "int hs_x;\r\n"}, {}),
    ],
    "file-length": [({"graph/a.c": "int hs_x;\n" * 801}, {"graph/a.c": "int hs_x;\n" * 800})],
    "file-name": [
        ({"graph/b.c": '#include "x/a.h"\n', "graph/x/a.h": header("", "HS_X_A_H"),
          "graph/include/x/a.h": header("", "HS_X_A_H")},
         {"graph/b.c": '#include "x/a.h"\n', "graph/x/a.h": header("", "HS_X_A_H"),
          "base/a.h": header("", "HS_BASE_A_H")}),
    ],
    "function-length": [
        ({"graph/a.c": function(lines=78)}, {"graph/a.c": function(lines=77)}),
        ({"graph/a.c": many(30, lambda i: function("f%d" % i, 10 if i < 20 else 50))},
         {"graph/a.c": many(30, lambda i: function("f%d" % i, 10 if i < 29 else 50))}),
    ],
    "complexity": [
        ({"graph/a.c": function(body=BRANCH, lines=20)},
         {"graph/a.c": function(body=BRANCH, lines=19)}),
        ({"graph/a.c": function(body="    x = a && b || c ? 1 : 2;\n", lines=7)},
         {"graph/a.c": function(body="    x = a & b | c + 1 * 2;\n", lines=7)}),
        ({"graph/a.c": function(body="#if A\n    x++;\n#endif\n", lines=20)},
         {"graph/a.c": function(body='    x = "if if ? && case";\n', lines=30)}),
        ({"graph/a.c": many(25, lambda i: function("f%d" % i, 16 if i < 2 else 1, body=BRANCH))},
         {"graph/a.c": many(25, lambda i: function("f%d" % i, 16 if i < 1 else 1, body=BRANCH))}),
    ],
    "parameters": [
        ({"graph/a.c": function(parameters=", ".join(["int a"] * 8))},
         {"graph/a.c": function(parameters="int (*g)(int, int), " + ", ".join(["int a"] * 6))}),
    ],
    "recursion": [
        ({"graph/a.c": function("walk", body="    walk();\n")},
         {"graph/a.c": function("walk", body="    x->walk();\n")}),
        ({"graph/a.c": function("f", body="    g();\n") + function("g", body="    f();\n")},
         {"graph/a.c": function("f", body="    g();\n") + function("g", body="    h();\n")}),
    ],
    "goto": [
        ({"graph/a.c": function(body="    goto a;\n    goto b;\na:\n    x++;\nb:\n    x++;\n")},
         {"graph/a.c": function(body="    goto a;\n    goto a;\na:\n    x++;\n")}),
        ({"graph/a.c": function(body="    x++;\nagain:\n    x++;\n    goto again;\n")}, {}),
    ],
    "banned": [
        ({"graph/a.c": function(body="    p = malloc(3);\n")},
         {"base/alloc.c": function(body="    p = malloc(3);\n")}),
        ({"base/other.c": function(body="    free(p);\n")},
         {"tests/unit/a_test.c": function(body="    free(p);\n")}),
        ({"tests/unit/a_test.c": function(body="    strcpy(a, b);\n")},
         {"graph/a.c": function(body='    s = "strcpy(a, b)"; /* strcpy(a, b) */\n')}),
        ({"tools/a.c": function(body='    system("ls");\n')},
         {"tools/a.c": function(body="    table.free(p);\n")}),
    ],
    "library-output": [
        ({"graph/a.c": function(body='    printf("x");\n')},
         {"tools/a.c": function(body='    printf("x");\n')}),
        ({"base/a.c": function(body='    fputs("x", stderr);\n')},
         {"base/a.c": function(body='    fputs("x", file);\n')}),
        ({"symbols/a.c": function(body="    exit(1);\n")}, {}),
    ],
    "parts": [
        ({"cmake/HsParts.cmake": PARTS, "tools/a.c": '#include "import/a.h"\n',
          "snapshot/import/include/import/a.h": header("int hs_a(void);", "HS_IMPORT_A_H")},
         {"cmake/HsParts.cmake": PARTS, "tools/import/a.c": '#include "import/a.h"\n',
          "tools/b.c": '#if HS_WITH_IMPORT\n#include "import/a.h"\n#endif\n',
          "snapshot/import/include/import/a.h": header("int hs_a(void);", "HS_IMPORT_A_H")}),
        ({"cmake/HsParts.cmake": PARTS + 'hs_part(OCAML "it"\n  FOLDERS snapshot/runtimes/ocaml)\n',
          "snapshot/dump/a.c": '#if HS_WITH_OCAML\n#include "ocaml/a.h"\n#endif\n',
          "snapshot/runtimes/ocaml/include/ocaml/a.h": header("int hs_a(void);", "HS_OCAML_A_H")},
         {"cmake/HsParts.cmake": PARTS + 'hs_part(OCAML "it"\n  FOLDERS query NEEDS IMPORT)\n',
          "query/a.c": '#include "import/a.h"\n',
          "snapshot/import/include/import/a.h": header("int hs_a(void);", "HS_IMPORT_A_H")}),
    ],
    "layers": [
        ({"base/a.c": '#include "report/sheet.h"\n'}, {"report/a.c": '#include "base/error.h"\n'}),
        ({"report/a.c": '#include "symbols/elf.h"\n'}, {"tools/a.c": '#include "symbols/elf.h"\n'}),
        ({"snapshot/format/a.c": '#include "symbols/elf.h"\n'},
         {"snapshot/process/a.c": '#include "symbols/elf.h"\n'}),
        ({"graph/a.c": '#include "dominator/tree.h"\n'},
         {"dominator/a.c": '#include "graph/graph.h"\n'}),
        ({"graph/a.c": '#include "../base/include/base/error.h"\n'}, {}),
        ({"graph/a.c": '#include "elsewhere/error.h"\n'}, {}),
        ({PUBLIC: header('#include "inside.h"\n'),
          "graph/inside.h": header("", "HS_GRAPH_INSIDE_H")},
         {"graph/a.c": '#include "inside.h"\n',
          "graph/inside.h": header("", "HS_GRAPH_INSIDE_H")}),
        ({"graph/a.c": '#include "inside.h"\n',
          "base/inside.h": header("", "HS_BASE_INSIDE_H")},
         {"graph/a.c": '#include "deep/inside.h"\n',
          "graph/deep/inside.h": header("", "HS_DEEP_INSIDE_H")}),
        ({"graph/a.c": "#include <sys/ptrace.h>\n"},
         {"snapshot/target/a.c": "#include <sys/ptrace.h>\n"}),
        ({"snapshot/target/a.c": "#include <sys/user.h>\n"},
         {"arch/x86_64/a.c": "#include <sys/user.h>\n"}),
        ({"elsewhere/a.c": function()}, {"docs/examples/a.c": function()}),
        ({"snapshot/runtimes/python/a.c": '#include "ocaml/blocks.h"\n'},
         {"snapshot/runtimes/python/a.c": '#include "runtimes/runtime.h"\n'}),
        ({PUBLIC: header('#include "graph/b.h"\n'),
          "graph/include/graph/b.h": header('#include "graph/a.h"\n', "HS_GRAPH_B_H")},
         {PUBLIC: header('#include "graph/b.h"\n'),
          "graph/include/graph/b.h": header('#include "base/types.h"\n', "HS_GRAPH_B_H")}),
    ],
    "circles": [
        ({"graph/a.c": CALLS % ("a", "hs_b"), "graph/b.c": CALLS % ("b", "hs_a")},
         {"graph/a.c": CALLS % ("a", "hs_b"), "graph/b.c": CALLS % ("b", "hs_c"),
          "graph/c.c": CALLS % ("c", "x->hs_a")}),
        ({"graph/a.c": CALLS % ("a", "hs_b"), "graph/b.c": CALLS % ("b", "hs_c"),
          "graph/c.c": CALLS % ("c", "hs_a"), "scripts/lint-exceptions.txt":
          "graph/a.c circles three are too many for any reason\n"},
         {"graph/a.c": CALLS % ("a", "hs_b"), "graph/b.c": CALLS % ("b", "hs_a"),
          "scripts/lint-exceptions.txt": "graph/a.c circles each walks the other's half\n"}),
        ({"graph/a.c": CALLS % ("a", "hs_b"),
          "graph/b.c": CALLS % ("b", "x") + "static const struct hs_row rows[] = {{hs_a}};\n"},
         {"graph/a.c": CALLS % ("a", "hs_b") + "struct hs_b {\n    int a;\n};\n",
          "graph/b.c": CALLS % ("b", "x") + function(body="    struct hs_a *a = hs_b(1);\n")}),
        ({"graph/a.c": CALLS % ("a", "x"), "graph/a.h": "static " + CALLS % ("in", "hs_b"),
          "graph/b.c": CALLS % ("b", "hs_a")},
         {"graph/a.c": CALLS % ("a", "x"), "graph/c.h": "static " + CALLS % ("in", "hs_b"),
          "graph/b.c": CALLS % ("b", "hs_a")}),
    ],
    "processor": [
        ({"symbols/a.c": function(body="    x = regs->rip;\n")},
         {"arch/x86_64/a.c": function(body="    x = regs->rip;\n"),
          "recorder/a.c": function(body="    x = regs->rip;\n"),
          "symbols/a.c": function(body="    x = si + bp; /* rip */\n")}),
        ({"symbols/a.c": function(body='    s = "rax";\n')},
         {"symbols/a.c": function(body='    s = "the word rax in a text";\n')}),
        ({"snapshot/target/a.c": function(body="    x = HS_R15;\n")},
         {"tests/unit/a_test.c": function(body="    x = HS_R15;\n")}),
        ({"base/a.c": "#ifdef __x86_64__\nint hs_x;\n#endif\n"}, {}),
        ({"snapshot/target/a.c": "struct user_regs_struct hs_x;\n"}, {}),
    ],
    "header-doc": [
        ({PUBLIC: header("").split("\n", 1)[1]}, {PUBLIC: header("")}),
        ({PUBLIC: header("int hs_x(int a);\n").split("\n", 1)[1]},
         {PUBLIC: header("/* Does x. */\nint hs_x(int a);\n")}),
        ({PUBLIC: header(many(9, lambda i: "int hs_x%d(int a);" % i))},
         {PUBLIC: header(many(8, lambda i: "int hs_x%d(int a);" % i))}),
        ({PUBLIC: header("struct hs_s {\n    int a; /* not about functions */\n};\n"
                         + many(9, lambda i: "int hs_x%d(int a);" % i))},
         {PUBLIC: header(many(9, lambda i: "/* Does it. */\nint hs_x%d(int a);" % i))}),
    ],
    "comment-verb": [
        ({"base/a.c": "/* What x is. */\nstatic int x;\n" + function()},
         {"base/a.c": "/* The x. */\nstatic int x;\n" + function()}),
        ({"base/a.h": "struct hs_s {\n    int a; /* Whether it is. */\n};\n"},
         {"base/a.c": "int hs_x(void)\n{\n    /* Where it is, stop. */\n    return 0;\n}\n"}),
    ],
    "header-guard": [
        ({PUBLIC: "/* For x. */\n#ifndef A_H\n#define A_H\n#endif\n"}, {PUBLIC: header("")}),
        ({PUBLIC: header("", "HS_A_H")}, {"graph/a.h": header("", "HS_A_H")}),
    ],
    "public-prefix": [
        ({"graph/a.c": function("walk", static=False)},
         {"graph/a.c": function("hs_walk", static=False), "tools/b.c": function("walk")}),
        ({"graph/walk.c": function("walker", static=False)},
         {"graph/walk.c": function("walk_on", static=False)}),
    ],
    "struct-typedef": [
        ({"graph/a.c": "typedef struct hs_a {\n    int a;\n} hs_a;\n"},
         {"graph/a.c": "typedef enum hs_a { HS_A } hs_a;\nstruct hs_b {\n    int a;\n};\n"}),
    ],
    "assertions": [
        ({"graph/a.c": many(50, lambda i: function("f%d" % i))},
         {"graph/a.c": many(50, lambda i: function("f%d" % i, body="    assert(x);\n"))}),
        ({"dominator/a.c": many(50, lambda i: function("f%d" % i))},
         {"symbols/a.c": many(50, lambda i: function("f%d" % i))}),
    ],
    "marker": [
        ({"graph/a.c": "/* TO" + "DO: later */\n"}, {"graph/a.c": "/* Limit: 2^32 nodes */\n"}),
        ({"docs/a.md": "FIX" + "ME\n"}, {"docs/a.md": "prefix meta\n"}),
    ],
    "machine-path": [
        ({"scripts/a.sh": "cd /" + "root/x\n"},
         {"scripts/a.sh": "cd ./ro" + "ot/x $HOME/wo" + "rk/y\n"}),
        ({"docs/a.md": "see /" + "home/ann/x\n"}, {"docs/a.md": "see home/ann and /proc/1/maps\n"}),
    ],
    "doc-link": [
        ({"docs/a.md": "as in [b](b.md) said\n"},
         {"docs/a.md": "as in [b](c/b.md#x), [`d`](../d), [e](#e), [f](https://g/h.md), `[i](j)`\n"
                       "```\n[k](l.md)\n```\n# E\n", "docs/c/b.md": "## X\n", "d/e.md": "e\n"}),
        ({"docs/a.md": "[b](b.md#who-is-it)\n", "docs/b.md": "```\n# Who is it\n```\n"},
         {"docs/a.md": "[b](b.md#who-is-it-1)\n", "docs/b.md": "## Who is it?\n# `Who` is it\n"}),
        ({"docs/a.md": "[b](#e)\n"}, {"docs/a.md": "[b](#e)\n# E\n"}),
    ],
    "doc-path": [
        ({"docs/a.md": "see `graph/b.c`\n", "graph/a.c": function()},
         {"docs/a.md": "see `graph/a.c`, `runtime/b.c`\n```\ngraph/b.c\n```\n",
          "graph/a.c": function()}),
        ({"graph/a.c": "/* As\n * graph/b.h says. */\n" + function()},
         {"graph/a.c": "/* As graph/b.h says. */\n" + function(),
          "graph/include/graph/b.h": header("/* f. */\nvoid hs_f(void);\n", "HS_GRAPH_B_H")}),
    ],
    "stale-exception": [
        ({"scripts/lint-exceptions.txt": "graph/a.c:f goto a reason\n", "graph/a.c": function()},
         {"scripts/lint-exceptions.txt": "graph/a.c:f banned a reason\n",
          "graph/a.c": function(body="    free(x);\n")}),
    ],
}


class LintTest(unittest.TestCase):
    def findings(self, files, rule):
        with tempfile.TemporaryDirectory() as top:
            for path, text in files.items():
                name = os.path.join(top, path)
                os.makedirs(os.path.dirname(name), exist_ok=True)
                with open(name, "w", encoding="utf-8", newline="") as file:
                    file.write(text)
            shutil.copy(os.path.join(TOP, ".clang-format"), top)
            found = lint.Lint(top, with_format=rule == "format").run()
            return [f for f in found if f[2] == rule]

    def test_every_rule_has_a_case(self):
        self.assertEqual(set(lint.RULES), set(CASES))

    def test_exception_silences_its_rule_only(self):
        files = {
            "scripts/lint-exceptions.txt": "graph/a.c:f banned measured, see above\n",
            "graph/a.c": "".join(function(name, body="    free(x);\n") for name in "fg"),
        }
        self.assertEqual([f[1] for f in self.findings(files, "banned")], [7])

    def test_exception_needs_a_reason(self):
        with self.assertRaises(SystemExit):
            self.findings({"scripts/lint-exceptions.txt": "graph/a.c:f banned\n"}, "banned")

    def test_function_is_found_behind_attributes_and_pointers(self):
        text = ("static const char *__attribute__((cold)) name(int (*f)(int), int b)\n{\n}\n"
                "struct a table[] = {{1, f(2)}};\nstruct b {\n    int (*call)(int);\n};\n"
                "[[nodiscard]] static int last(void)\n{\n}\n")
        source = lint.Source("graph/a.c", text)
        self.assertEqual([f.name for f in source.functions], ["name", "last"])
        self.assertEqual(lint.count_parameters(source.functions[0].declaration), 2)
        self.assertEqual([f.length for f in source.functions], [3, 3])


def add_case(rule, number, bad, good):
    def test(self):
        if rule == "format" and not shutil.which("clang-format-14"):
            self.skipTest("clang-format 14 is not here")
        if bad:
            self.assertTrue(self.findings(bad, rule), "does not fire on %r" % bad)
        if good:
            self.assertEqual(self.findings(good, rule), [])

    setattr(LintTest, "test_%s_%d" % (rule.replace("-", "_"), number), test)


for case_rule, cases in CASES.items():
    for case_number, (case_bad, case_good) in enumerate(cases):
        add_case(case_rule, case_number, case_bad, case_good)

if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
