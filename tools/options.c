/* The options of every command, stated once. */
#include "commands.h"

const struct hs_option hs_options[HS_N_OPTIONS] = {
    [HS_OPT_FORMAT] = {"format", 0, HS_OPTION_CHOICE, "FORMAT", "table|json|ndjson|tsv",
                       "how to print: table (default), json, ndjson or tsv"},
    [HS_OPT_JSON] = {"json", 0, HS_OPTION_FLAG, NULL, NULL, "short for --format json"},
    [HS_OPT_OUTPUT] = {"output", 'o', HS_OPTION_TEXT, "FILE", NULL,
                       "write to FILE: whole or not at all"},
    [HS_OPT_NAMES] = {"names", 0, HS_OPTION_TEXT, "FILE", NULL,
                      "take variable names and lines from this table (names.tsv)"},
    [HS_OPT_NAMES_PATH] = {"names-path", 0, HS_OPTION_REPEATED, "DIR", NULL,
                           "also look for .cmi and .cmt files below DIR; may be repeated"},
    [HS_OPT_NO_NAMES] = {"no-names", 0, HS_OPTION_FLAG, NULL, NULL,
                         "do not look for variable names: print module and field number"},
    [HS_OPT_MIN_WORDS] = {"min-words", 0, HS_OPTION_COUNT, "N", NULL,
                          "only what reaches (roots) or retains (others) at least N words"},
    [HS_OPT_ROOT_SORT] = {"sort", 0, HS_OPTION_CHOICE, "KEY", "retained|reachable|name",
                          "order: retained (default), reachable or name"},
    [HS_OPT_TYPE_SORT] = {"sort", 0, HS_OPTION_CHOICE, "KEY", "retained|words|objects|name",
                          "order: retained (default), words, objects or name"},
    [HS_OPT_KIND] = {"kind", 0, HS_OPTION_CHOICES, "KIND,...",
                     "global|dynamic_global|c_root|stack|local|register|tls|finaliser|memprof|"
                     "hook|registered|unclaimed",
                     "only roots of these kinds"},
    [HS_OPT_GROUP_BY] = {"group-by", 0, HS_OPTION_CHOICE, "LEVEL",
                         "root|kind|module|unit|thread|frame",
                         "one row for each group of roots: what the whole group retains"},
    [HS_OPT_ROWS] = {"rows", 'n', HS_OPTION_COUNT, "ROWS", NULL,
                     "print at most ROWS rows, 0 for all (default: 40 in a table, else all)"},
    [HS_OPT_TO] = {"to", 0, HS_OPTION_TEXT, "WHAT", NULL, "the object that paths lead to"},
    [HS_OPT_LIMIT] = {"limit", 0, HS_OPTION_COUNT, "N", NULL,
                      "at most N paths, each from another root (default 10)"},
    [HS_OPT_DISJOINT] = {"disjoint", 0, HS_OPTION_FLAG, NULL, NULL,
                         "paths that share no object on the way"},
    [HS_OPT_DEPTH] = {"depth", 0, HS_OPTION_COUNT, "N", NULL, "levels below the start (default 4)"},
    [HS_OPT_FROM] = {"from", 0, HS_OPTION_TEXT, "WHAT", NULL,
                     "start at this object instead of at all roots"},
    [HS_OPT_EXPORT_TO] = {"to", 0, HS_OPTION_CHOICE, "FORMAT", "graph",
                          "graph: nodes.tsv and edges.tsv in a directory"},
    [HS_OPT_DIRECTORY] = {"output", 'o', HS_OPTION_TEXT, "DIR", NULL,
                          "the directory to write to; made when it is missing"},
    [HS_OPT_REBUILD] = {"rebuild", 0, HS_OPTION_FLAG, NULL, NULL,
                        "compute the index anew, whatever is there"},
    [HS_OPT_PROGRESS] = {"progress", 0, HS_OPTION_CHOICE, "WHEN", "auto|always|never",
                         "progress of long work: auto (on a terminal, default), always or never"},
};

#define LOOK \
    (HS_BIT(HS_OPT_FORMAT) | HS_BIT(HS_OPT_JSON) | HS_BIT(HS_OPT_OUTPUT) | HS_BIT(HS_OPT_PROGRESS))

const struct hs_command hs_commands[] = {
    {"dump", "capture", "write a snapshot of a live process", "PID", 1, 1,
     HS_BIT(HS_OPT_OUTPUT) | HS_BIT(HS_OPT_NAMES) | HS_BIT(HS_OPT_NAMES_PATH) |
         HS_BIT(HS_OPT_NO_NAMES) | HS_BIT(HS_OPT_PROGRESS),
     "Stops every thread of process PID for a moment, copies what is needed, lets it go on, and "
     "writes the graph of its heap to standard output or to the file of -o. Its memory is never "
     "written, and it goes on whatever happens to heapsnap. The snapshot holds pointers, sizes "
     "and names from the program's binaries, and no byte of the program's data.\n"
     "Supported: native OCaml 4.13 and 4.14 programs on x86-64, stripped ones included.",
     "heapsnap dump 4242 > heap.snap\nheapsnap dump 4242 -o heap.snap --names-path ~/src/_build\n",
     hs_cmd_dump},
    {"info", "look", "what is in a snapshot, and how complete it is", "SNAP", 1, 1, LOOK,
     "Prints the process, the runtime, the proofs that the listing is complete, the length of the "
     "pause, and what was assumed or is missing. A cut file is reported as cut, with what is "
     "whole.",
     "heapsnap info heap.snap\n", hs_cmd_info},
    {"roots", "look", "reachable and retained words of every root", "SNAP", 1, 1,
     LOOK | HS_BIT(HS_OPT_MIN_WORDS) | HS_BIT(HS_OPT_ROOT_SORT) | HS_BIT(HS_OPT_KIND) |
         HS_BIT(HS_OPT_GROUP_BY) | HS_BIT(HS_OPT_ROWS),
     "A root is a variable, a stack slot or another place that the runtime starts from. Reachable: "
     "all that can be reached from it; shared parts count for each root. Retained: what would be "
     "freed if it went away; roots' retained words, the shared ones and the unreached ones add up "
     "to "
     "the heap.",
     "heapsnap roots heap.snap --min-words 100000\nheapsnap roots heap.snap --group-by unit\n"
     "heapsnap roots heap.snap --kind stack --json\n",
     hs_cmd_roots},
    {"dominators", "look", "who keeps what, as a tree", "SNAP", 1, 1,
     LOOK | HS_BIT(HS_OPT_MIN_WORDS) | HS_BIT(HS_OPT_ROWS) | HS_BIT(HS_OPT_DEPTH) |
         HS_BIT(HS_OPT_FROM),
     "The dominator tree: each object stands below the one without which it would be freed.",
     "heapsnap dominators heap.snap --depth 6\nheapsnap dominators heap.snap --from root:Stm.VCS\n",
     hs_cmd_dominators},
    {"paths", "look", "how roots reach an object", "SNAP", 1, 1,
     LOOK | HS_BIT(HS_OPT_TO) | HS_BIT(HS_OPT_LIMIT) | HS_BIT(HS_OPT_DISJOINT),
     "The shortest path from each of up to --limit roots to an object, shortest first. A run of "
     "alike steps is one line with its repeat count.\n"
     "WHAT is N or sample:N (a sampled allocation's id), 0xADDR (a target address, inside a block "
     "is "
     "fine), #N (a node), root:NAME, or type:NAME (its instances that retain most).",
     "heapsnap paths heap.snap --to 1234\nheapsnap paths heap.snap --to 0x7f3a5c001230 "
     "--disjoint\n",
     hs_cmd_paths},
    {"types", "look", "objects, shallow and retained words of each type", "SNAP", 1, 1,
     LOOK | HS_BIT(HS_OPT_MIN_WORDS) | HS_BIT(HS_OPT_TYPE_SORT) | HS_BIT(HS_OPT_ROWS),
     "What a type retains is what would be freed if all its objects went away.",
     "heapsnap types heap.snap --sort words\n", hs_cmd_types},
    {"object", "look", "one object: fields, who points here, dominator", "SNAP WHAT", 2, 2,
     LOOK | HS_BIT(HS_OPT_ROWS),
     "WHAT is N or sample:N (a sampled allocation's id), 0xADDR, #N, root:NAME or type:NAME.",
     "heapsnap object heap.snap 0x7f3a5c001230\nheapsnap object heap.snap '#4711' --json\n",
     hs_cmd_object},
    {"samples", "look", "sampled allocations and who keeps them", "SNAP", 1, 1,
     LOOK | HS_BIT(HS_OPT_MIN_WORDS) | HS_BIT(HS_OPT_ROWS),
     "The blocks that the program's own sampler (Gc.Memprof, memtrace) was tracking, with the "
     "identifier it gave them, and the root that retains each.",
     "heapsnap samples heap.snap\n", hs_cmd_samples},
    {"export", "share", "the graph as tables, for other programs", "SNAP", 1, 1,
     HS_BIT(HS_OPT_EXPORT_TO) | HS_BIT(HS_OPT_DIRECTORY) | HS_BIT(HS_OPT_PROGRESS),
     "graph: writes nodes.tsv (id address words static type idom retained_words) and edges.tsv "
     "(from "
     "to offset strength), tab-separated, one header line each. Roots are nodes; node 0 is the "
     "root "
     "of all.",
     "heapsnap export heap.snap --to graph -o graph/\n", hs_cmd_export},
    {"index", "keep", "compute everything now", "SNAP", 1, 1,
     HS_BIT(HS_OPT_REBUILD) | HS_BIT(HS_OPT_PROGRESS),
     "The other commands do it when they first need it. The index is kept beside the snapshot, or "
     "in the cache directory when that place is read-only; it can always be thrown away.",
     "heapsnap index heap.snap\n", hs_cmd_index},
    {"check", "keep", "verify a snapshot deeply", "SNAP", 1, 1, HS_BIT(HS_OPT_PROGRESS),
     "Reads everything and verifies every checksum, number, order and total.",
     "heapsnap check heap.snap\n", hs_cmd_check},
    {"help", "help", "the help of a command", "[COMMAND]", 0, 1, 0,
     "Prints the same as COMMAND --help.", "heapsnap help roots\n", hs_cmd_help},
    {"version", "help", "the version of heapsnap and of its format", "", 0, 0, 0, "", "",
     hs_cmd_version},
    {"completion", "help", "a completion script for a shell", "SHELL", 1, 1, 0,
     "SHELL is bash, zsh or fish.", "source <(heapsnap completion bash)\n", hs_cmd_completion},
};

const size_t hs_n_commands = sizeof hs_commands / sizeof *hs_commands;
