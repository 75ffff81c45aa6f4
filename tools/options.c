/* The options of every command, stated once. */
#include "commands.h"
#include "export/exporters.h"
#include "trace/trace_commands.h"

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
    [HS_OPT_HEAPS] = {"heaps", 0, HS_OPTION_CHOICE, "WHICH", "all|ocaml",
                      "of an OCaml program: its own heap (ocaml, default), or all: with what its C "
                      "code has from malloc, as one graph"},
    [HS_OPT_DEBUG_PATH] = {"debug-path", 0, HS_OPTION_REPEATED, "DIR", NULL,
                           "also look for separate debug files below DIR; may be repeated"},
    [HS_OPT_POINTER_MASK] = {"pointer-mask", 0, HS_OPTION_TEXT, "MASK", NULL,
                             "bits (0x...) to clear in words that lead nowhere as they are"},
    [HS_OPT_CORE] = {"core", 0, HS_OPTION_TEXT, "FILE", NULL,
                     "read this core (ELF, zstd or lz4; - for standard input), not a process"},
    [HS_OPT_EXE] = {"exe", 0, HS_OPTION_TEXT, "FILE", NULL,
                    "with --core: the program, when it is not where the core says"},
    [HS_OPT_SYSROOT] = {"sysroot", 0, HS_OPTION_TEXT, "DIR", NULL,
                        "with --core: look for its files below DIR"},
    [HS_OPT_STOP] = {"stop", 0, HS_OPTION_CHOICE, "HOW", "auto|copy|read",
                     "copy: stop until a frozen copy is made; read: until all is read; auto "
                     "(default): copy when it can be made"},
    [HS_OPT_MAX_PAUSE] = {"max-pause", 0, HS_OPTION_TEXT, "TIME", NULL,
                          "let go and exit with 6 after TIME (ms s m; default 2s; 0: no limit)"},
    [HS_OPT_MAX_GROWTH] = {"max-growth", 0, HS_OPTION_TEXT, "SIZE|N%", NULL,
                           "give the copy up when the process grows so much by it (default 10%)"},
    [HS_OPT_NO_RESTART_SYSCALLS] = {"no-restart-syscalls", 0, HS_OPTION_FLAG, NULL, NULL,
                                    "leave system calls that the stop broke off as they are"},
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
    [HS_OPT_TO] = {"to", 0, HS_OPTION_TEXT, "WHAT", NULL,
                   "the object that paths lead to; site:NAME: all samples of a site"},
    [HS_OPT_LIMIT] = {"limit", 0, HS_OPTION_COUNT, "N", NULL,
                      "at most N paths, each from another root (default 10)"},
    [HS_OPT_DISJOINT] = {"disjoint", 0, HS_OPTION_FLAG, NULL, NULL,
                         "paths that share no object on the way"},
    [HS_OPT_DEPTH] = {"depth", 0, HS_OPTION_COUNT, "N", NULL,
                      "levels below the start (default 4; of trace tree 24)"},
    [HS_OPT_FROM] = {"from", 0, HS_OPTION_TEXT, "WHAT", NULL,
                     "start at this object instead of at all roots"},
    [HS_OPT_EXPORT_TO] = {"to", 0, HS_OPTION_CHOICE, "FORMAT", HS_EXPORTER_CHOICES,
                          "graph: nodes.tsv and edges.tsv in a directory; v8: a .heapsnapshot"},
    [HS_OPT_IMPORT_FROM] = {"from", 0, HS_OPTION_CHOICE, "FORMAT", "v8|hprof|graph",
                            "what it is: v8, a .heapsnapshot; hprof, of Java; graph, as exported"},
    [HS_OPT_POLICY] = {"policy", 0, HS_OPTION_CHOICE, "NAME",
                       "own|mat|visualvm|memlab|devtools|all",
                       "whose rules say which edges retain: own (default for hprof), mat or "
                       "visualvm, devtools (default for v8) or memlab, all for every edge"},
    [HS_OPT_WEAK] = {"weak", 0, HS_OPTION_CHOICE, "HOW", "keep|drop|strong",
                     "weak references: keep them for looking, drop them, or let them retain"},
    [HS_OPT_SHORTCUTS] = {"shortcuts", 0, HS_OPTION_CHOICE, "HOW", "drop|strong",
                          "v8: shortcut edges that do not leave the root: drop or strong"},
    [HS_OPT_WEAKMAP] = {"weakmap", 0, HS_OPTION_CHOICE, "HOLDER", "key|both",
                        "v8: who holds a WeakMap's values: the key, or both key and table"},
    [HS_OPT_PAGE] = {"page", 0, HS_OPTION_CHOICE, "RULE", "none|devtools|memlab",
                     "v8: whose rule leaves out edges from a debugger into the page's objects"},
    [HS_OPT_SIZES] = {"sizes", 0, HS_OPTION_CHOICE, "WHOSE", "own|folded|mat|visualvm",
                      "v8: own (as the file says), or folded into owners as in DevTools; hprof: "
                      "class objects weigh their static fields (own, mat) or nothing (visualvm)"},
    [HS_OPT_THREAD_LOCALS] = {"thread-locals", 0, HS_OPTION_CHOICE, "HOW", "edge|root",
                              "hprof: locals are held by the thread's object (edge), or are roots"},
    [HS_OPT_CLASS_EDGES] = {"class-edges", 0, HS_OPTION_CHOICE, "HOW", "keep|drop",
                            "hprof: whether an object holds its class"},
    [HS_OPT_STATICS] = {"statics", 0, HS_OPTION_CHOICE, "HOW", "root|class",
                        "hprof: static fields are roots of their own, or are held by their class"},
    [HS_OPT_DIRECTORY] = {"output", 'o', HS_OPTION_TEXT, "DIR", NULL,
                          "the file, or for graph the directory, to write to; made when missing"},
    [HS_OPT_REBUILD] = {"rebuild", 0, HS_OPTION_FLAG, NULL, NULL,
                        "compute the index anew, whatever is there"},
    [HS_OPT_PROGRESS] = {"progress", 0, HS_OPTION_CHOICE, "WHEN", "auto|always|never",
                         "progress of long work: auto (on a terminal, default), always or never"},
    [HS_OPT_EVERY] = {"every", 0, HS_OPTION_DURATION, "TIME", NULL,
                      "dump, or with --when look, every TIME (ms s m h; default 10m)"},
    [HS_OPT_SERIES_DIR] = {"output", 'o', HS_OPTION_TEXT, "DIR", NULL,
                           "the directory for snapshots and log; made when missing, no link"},
    [HS_OPT_KEEP] = {"keep", 0, HS_OPTION_COUNT, "N", NULL,
                     "keep the newest N snapshots of this process, 0 for all (default 24)"},
    [HS_OPT_KEEP_BYTES] = {"keep-bytes", 0, HS_OPTION_SIZE, "SIZE", NULL,
                           "and of these no more than fit in SIZE; the newest always stays"},
    [HS_OPT_WHEN] = {"when", 0, HS_OPTION_REPEATED, "CONDITION", NULL,
                     "dump only when rss>SIZE, or growth>N% since the last dump; may be repeated"},
    [HS_OPT_QUIET] = {"quiet", 'q', HS_OPTION_FLAG, NULL, NULL,
                      "write the log to its file alone, not to standard error"},
    [HS_OPT_CERTAINTY] = {"certainty", 0, HS_OPTION_CHOICE, "WHICH", "all|certain|possible",
                          "which leaks: all (default), certain or possible"},
    [HS_OPT_SUPPRESSIONS] = {"suppressions", 0, HS_OPTION_TEXT, "FILE", NULL,
                             "leave out what FILE names: lines type:PATTERN, root:PATTERN"},
    [HS_OPT_FAIL_OVER] = {"fail-over", 0, HS_OPTION_COUNT, "WORDS", NULL,
                          "exit with 1 when more than WORDS leaked for certain (or --certainty)"},
    [HS_OPT_MEMORY] = {"memory", 0, HS_OPTION_SIZE, "SIZE", NULL,
                       "use at most SIZE (k M G Ki Mi Gi); default: 1/4 of what is available"},
    [HS_OPT_SPILL_DIR] = {"spill-dir", 0, HS_OPTION_TEXT, "DIR", NULL,
                          "temporary files in DIR (default: beside the file, or TMPDIR)"},
    [HS_OPT_THREADS] = {"threads", 0, HS_OPTION_COUNT, "N", NULL,
                        "use at most N threads (default: the processors, at most 8)"},
    [HS_OPT_VERBOSE] = {"verbose", 'v', HS_OPTION_FLAG, NULL, NULL,
                        "say what will be done at what cost, and what memory was used"},
    [HS_OPT_MODE] = {"mode", 0, HS_OPTION_TEXT, "MODE", NULL,
                     "mode of new files, octal (default: 0600, for their owner alone)"},
    [HS_OPT_GROUP] = {"group", 0, HS_OPTION_TEXT, "GROUP", NULL,
                      "group of new files, a name or a number; without --mode they are 0640"},
    [HS_OPT_TRACE] = {"trace", 0, HS_OPTION_TEXT, "FILE", NULL,
                      "the process's allocation trace (memtrace, heapsnap record): where samples "
                      "were allocated"},
    [HS_OPT_SITES] = {"sites", 0, HS_OPTION_FLAG, NULL, NULL,
                      "below each root, where most of what it retains was allocated (sampled)"},
    [HS_OPT_SAMPLE_GROUP_BY] = {"group-by", 0, HS_OPTION_CHOICES, "WHAT,...", "site|root|type",
                                "one row for each site, root or type, or each pair of them"},
    [HS_OPT_ALLOCATED] = {"allocated", 0, HS_OPTION_TEXT, "A..B", NULL,
                          "allocated in this time since the start (ns us ms s m h, or N%)"},
    [HS_OPT_LIVE_AT] = {"live-at", 0, HS_OPTION_TEXT, "T|A..B", NULL,
                        "alive at a time, at some time in a range, at the peak or at the end"},
    [HS_OPT_COLLECTED] = {"collected", 0, HS_OPTION_TEXT, "A..B|never", NULL,
                          "freed in this time, or never"},
    [HS_OPT_LIFETIME] = {"lifetime", 0, HS_OPTION_TEXT, "A..B", NULL,
                         "lived so long; what was never freed lived until the end, or longer"},
    [HS_OPT_SIZE] = {"size", 0, HS_OPTION_TEXT, "A..B", NULL, "of so many bytes (k M G Ki Mi Gi)"},
    [HS_OPT_INSIDE] = {"inside", 0, HS_OPTION_REPEATED, "TEXT|/RE/", NULL,
                       "allocated in or below a function, or in a source file, whose name contains "
                       "TEXT or matches RE; may be repeated: all must hold"},
    [HS_OPT_NOT_INSIDE] = {"not-inside", 0, HS_OPTION_REPEATED, "TEXT|/RE/", NULL,
                           "not in or below any such function or file; may be repeated"},
    [HS_OPT_HIDE] = {"hide", 0, HS_OPTION_REPEATED, "TEXT|/RE/", NULL,
                     "leave such frames out of backtraces; may be repeated"},
    [HS_OPT_HEAP] = {"heap", 0, HS_OPTION_CHOICES, "AREA,...", "minor|major|external",
                     "allocated in these areas"},
    [HS_OPT_GROUP_ALLOCATIONS] = {"group-allocations", 0, HS_OPTION_TEXT, "A..B", NULL,
                                  "only rows of so many allocations (estimated)"},
    [HS_OPT_GROUP_LEAKED] = {"group-leaked", 0, HS_OPTION_TEXT, "A%..B%", NULL,
                             "only rows of whose words such a share was never freed"},
    [HS_OPT_GROUP_INTERVAL] = {"group-interval", 0, HS_OPTION_TEXT, "A..B", NULL,
                               "only rows whose first and last allocation are so far apart"},
    [HS_OPT_TRACE_SORT] = {"sort", 0, HS_OPTION_CHOICE, "KEY",
                           "words|allocations|live|leaked|lifetime|name",
                           "order: words allocated (default), allocations, words never freed "
                           "(live), their share (leaked), median lifetime, name"},
    [HS_OPT_BY] = {"by", 0, HS_OPTION_CHOICE, "WHAT", "site|function|caller|file|stack|size",
                   "one row for each site (default), function, caller, file, stack or size"},
    [HS_OPT_POINTS] = {"points", 0, HS_OPTION_COUNT, "N", NULL,
                       "how many points in time (default 40), or parts of the run"},
    [HS_OPT_RATE] = {"rate", 0, HS_OPTION_SIZE, "SIZE", NULL,
                     "a sample every SIZE allocated bytes on average (default 512KiB)"},
    [HS_OPT_STACKS] = {"stacks", 0, HS_OPTION_CHOICE, "HOW", "auto|frames|tables|none",
                       "backtraces by frame pointers, unwind tables, or whichever the program has "
                       "(auto, default)"},
    [HS_OPT_START] = {"start", 0, HS_OPTION_CHOICE, "HOW", "on|off",
                      "sample from the start (on, default), or when it is switched on"},
    [HS_OPT_SEND_TO] = {"to", 0, HS_OPTION_TEXT, "HOST:PORT", NULL,
                        "send the trace to a 'heapsnap gather'"},
    [HS_OPT_LISTEN] = {"listen", 0, HS_OPTION_TEXT, "HOST:PORT", NULL,
                       "where to wait (default: 127.0.0.1, any port, which is told)"},
    [HS_OPT_TOKEN] = {"token", 0, HS_OPTION_TEXT, "FILE", NULL,
                      "the secret that both sides share; nobody else may read the file"},
    [HS_OPT_TRACE_FILE] = {"output", 'o', HS_OPTION_TEXT, "TRACE", NULL,
                           "write the trace to TRACE (default: heapsnap.PID.trace, unless --to)"},
    [HS_OPT_TRACE_DIR] = {"output", 'o', HS_OPTION_TEXT, "DIR", NULL,
                          "the directory for traces; made when missing, no link"},
    [HS_OPT_CHILDREN] = {"children", 0, HS_OPTION_FLAG, NULL, NULL,
                         "record the processes that it starts, too: TRACE.PID for each"},
    [HS_OPT_SWITCH] = {"switch", 0, HS_OPTION_CHOICE, "HOW", "on|off",
                       "start nothing: switch the sampling of the recorded process PID on or off"},
    [HS_OPT_PEERS] = {"peers", 0, HS_OPTION_COUNT, "N", NULL,
                      "at most N senders at a time (default 64)"},
    [HS_OPT_PEER_BYTES] = {"peer-bytes", 0, HS_OPTION_SIZE, "SIZE", NULL,
                           "take at most SIZE from each sender (default 4GiB)"},
    [HS_OPT_IDLE] = {"idle", 0, HS_OPTION_DURATION, "TIME", NULL,
                     "let a sender go that is silent for TIME (default 5m)"},
};

#define LOOK                                                               \
    (HS_BIT(HS_OPT_FORMAT) | HS_BIT(HS_OPT_JSON) | HS_BIT(HS_OPT_OUTPUT) | \
     HS_BIT(HS_OPT_PROGRESS) | HS_OPTIONS_OF_FILES | HS_OPTIONS_OF_LIMITS)

const struct hs_command hs_commands[] = {
    {"dump", "capture", "write a snapshot of a live process or of a core", "PID", 0, 1,
     HS_BIT(HS_OPT_OUTPUT) | HS_BIT(HS_OPT_CORE) | HS_BIT(HS_OPT_EXE) | HS_BIT(HS_OPT_SYSROOT) |
         HS_OPTIONS_OF_STOP | HS_BIT(HS_OPT_NAMES) | HS_BIT(HS_OPT_NAMES_PATH) |
         HS_BIT(HS_OPT_NO_NAMES) | HS_BIT(HS_OPT_HEAPS) | HS_BIT(HS_OPT_DEBUG_PATH) |
         HS_BIT(HS_OPT_POINTER_MASK) | HS_BIT(HS_OPT_PROGRESS) | HS_OPTIONS_OF_FILES |
         HS_OPTIONS_OF_LIMITS,
     "Stops every thread of process PID for a moment and writes the graph of its heap to standard "
     "output or to the file of -o. Where it can, the process is stopped only until a frozen copy "
     "of it is made, which shares its memory and ends with the dump; the pause is foreseen, "
     "bounded by --max-pause, told and recorded. The process goes on whatever happens to "
     "heapsnap. With --core a core file is read instead. The snapshot holds pointers, sizes "
     "and names from the program's binaries, and no byte of the program's data but the names of "
     "Python classes and of registered areas.\n"
     "Supported on x86-64, stripped or not: native OCaml 4.13, 4.14 and 5.1 to 5.4 programs, and "
     "programs of C, C++, Rust and CPython whose memory comes from glibc or jemalloc. Names and "
     "types come from "
     "the program's debug information, in the program or in a separate file that is found by its "
     "build-id.",
     "heapsnap dump 4242 > heap.snap\nheapsnap dump 4242 -o heap.snap --names-path ~/src/_build\n"
     "heapsnap dump 4242 -o heap.snap --debug-path ~/symbols\n"
     "heapsnap dump --core core.4242.zst -o heap.snap\n",
     hs_cmd_dump},
    {"watch", "capture", "snapshots of a live process again and again", "PID", 1, 1,
     HS_BIT(HS_OPT_EVERY) | HS_BIT(HS_OPT_SERIES_DIR) | HS_BIT(HS_OPT_KEEP) |
         HS_BIT(HS_OPT_KEEP_BYTES) | HS_BIT(HS_OPT_WHEN) | HS_BIT(HS_OPT_QUIET) |
         HS_OPTIONS_OF_STOP | HS_BIT(HS_OPT_NAMES) | HS_BIT(HS_OPT_NAMES_PATH) |
         HS_BIT(HS_OPT_NO_NAMES) | HS_BIT(HS_OPT_HEAPS) | HS_BIT(HS_OPT_DEBUG_PATH) |
         HS_BIT(HS_OPT_POINTER_MASK) | HS_OPTIONS_OF_FILES | HS_OPTIONS_OF_LIMITS,
     "Dumps process PID into the directory of -o every TIME until the process ends, as "
     "heap-YYYYMMDDTHHMMSSZ-NNNNNN.snap (UTC). Each dump is a process of its own, so that its "
     "failure costs that dump alone; after failures it tries less often. A dump that takes longer "
     "than TIME makes it skip ticks; one for which the disk has no room is skipped. Every dump, "
     "skip and failure is one line in DIR/watch.log and on standard error.\n"
     "With --when it only looks every TIME, and dumps when a condition holds: rss>4GiB, "
     "growth>10% (of the resident size at the last dump, or at the start). Any one of several is "
     "enough.\n"
     "Started again, it goes on with the series when PID is still the same process; otherwise it "
     "begins a new one and leaves the older files alone. SIGTERM and SIGINT end it, and a dump "
     "that is at work, without a trace. It exits with 0 when the process ends, and with 3 when "
     "the process cannot be dumped at all. The options of dump are handed on.",
     "heapsnap watch 4242 -o /var/lib/heapsnap/shop\n"
     "heapsnap watch 4242 --every 1m --when 'rss>4GiB' --when 'growth>10%' --keep 10 -o snaps\n",
     hs_cmd_watch},
    {"doctor", "capture", "why a process can or cannot be dumped", "PID", 1, 1,
     HS_BIT(HS_OPT_FORMAT) | HS_BIT(HS_OPT_JSON) | HS_BIT(HS_OPT_DEBUG_PATH) | HS_OPTIONS_OF_LIMITS,
     "Checks, one after the other, all that a dump of process PID depends on: that it exists and "
     "lives, who traces it, whose it is, kernel.yama.ptrace_scope, capabilities, whether it is "
     "dumpable, security modules, seccomp, namespaces, its machine; its runtime and allocator; how "
     "it would be stopped and for how long; memory and disk; whether its binaries, their debug "
     "information and frame tables can be read. Each check is ok, a warning, refused or unknown, "
     "with what was found and what to do. The process is not stopped.\n"
     "It exits with 0 when the process can be dumped, perhaps with warnings, and with 3 when not.",
     "heapsnap doctor 4242\nheapsnap doctor 4242 --json\n", hs_cmd_doctor},
    {"info", "look", "what is in a snapshot, and how complete it is", "SNAP", 1, 1, LOOK,
     "Prints the process, the runtime, the proofs that the listing is complete, the length of the "
     "pause, and what was assumed or is missing; of C, C++, Rust and Python programs also where "
     "the "
     "memory was, by owner and state, adding up to the resident size, and how to get more names. A "
     "cut file is reported as cut, with what is whole.",
     "heapsnap info heap.snap\n", hs_cmd_info},
    {"roots", "look", "reachable and retained words of every root", "SNAP", 1, 1,
     LOOK | HS_BIT(HS_OPT_MIN_WORDS) | HS_BIT(HS_OPT_ROOT_SORT) | HS_BIT(HS_OPT_KIND) |
         HS_BIT(HS_OPT_GROUP_BY) | HS_BIT(HS_OPT_ROWS) | HS_BIT(HS_OPT_SITES) |
         HS_BIT(HS_OPT_TRACE),
     "A root is a variable, a stack slot or another place that the runtime starts from. Reachable: "
     "all that can be reached from it; shared parts count for each root. Retained: what would be "
     "freed if it went away; roots' retained words, the shared ones and the unreached ones add up "
     "to the heap.\n"
     "--group-by thread and frame give one row for each: a thread's stack, registers and "
     "thread-local variables together. What such a row retains is exact; it reaches at most what "
     "it says (what several parts reach is counted for each).\n"
     "--sites lists below each root where most of what it retains was allocated, estimated from "
     "the samples of the snapshot; --trace takes their backtraces from the process's trace.",
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
     LOOK | HS_BIT(HS_OPT_TO) | HS_BIT(HS_OPT_LIMIT) | HS_BIT(HS_OPT_DISJOINT) |
         HS_BIT(HS_OPT_TRACE),
     "The shortest path from each of up to --limit roots to an object, shortest first. A run of "
     "alike steps is one line with its repeat count.\n"
     "WHAT is N or sample:N (a sampled allocation's id; sample:KIND:N where two samplers use it), "
     "0xADDR (a target address, inside a block is fine), #N (a node), root:NAME, or type:NAME (its "
     "instances that retain most).\n"
     "site:NAME explains all samples that were allocated by a function, or at a file:line, whose "
     "name contains NAME (site:...NAME: by it or by what it called): samples that are kept alike "
     "are one row, with what they stand for and the path of one of them.",
     "heapsnap paths heap.snap --to 1234 --trace app.ctf\n"
     "heapsnap paths heap.snap --to 0x7f3a5c001230 --disjoint\n"
     "heapsnap paths heap.snap --to site:Cache.add\n",
     hs_cmd_paths},
    {"types", "look", "objects, shallow and retained words of each type", "SNAP", 1, 1,
     LOOK | HS_BIT(HS_OPT_MIN_WORDS) | HS_BIT(HS_OPT_TYPE_SORT) | HS_BIT(HS_OPT_ROWS),
     "What a type retains is what would be freed if all its objects went away.",
     "heapsnap types heap.snap --sort words\n", hs_cmd_types},
    {"object", "look", "one object: fields, who points here, dominator", "SNAP WHAT", 2, 2,
     LOOK | HS_BIT(HS_OPT_ROWS) | HS_BIT(HS_OPT_TRACE),
     "WHAT is N, sample:N or sample:KIND:N (a sampled allocation's id), 0xADDR, #N, root:NAME or "
     "type:NAME.",
     "heapsnap object heap.snap 0x7f3a5c001230\nheapsnap object heap.snap '#4711' --json\n",
     hs_cmd_object},
    {"leaks", "look", "blocks that no root reaches", "SNAP", 1, 1,
     LOOK | HS_BIT(HS_OPT_MIN_WORDS) | HS_BIT(HS_OPT_ROWS) | HS_BIT(HS_OPT_CERTAINTY) |
         HS_BIT(HS_OPT_SUPPRESSIONS) | HS_BIT(HS_OPT_FAIL_OVER),
     "Blocks grouped by certainty, type and size. A leak is certain when no word of the program "
     "leads to it but words of other certain leaks; it is possible when only doubtful words do: "
     "one past its end, unaligned, or where its holder's type has no pointer. WORDS are the "
     "blocks' own; HELD is what hangs on those of them that no other lost block leads to (heads; "
     "of "
     "a cycle one block is): what that one fault loses. FIRST is one of the blocks, and WHAT says "
     "by which members it hangs on its head. --min-words compares the words of a group. In an "
     "OCaml heap such blocks are garbage, which its collector frees.\n"
     "A line of a suppressions file is type:PATTERN (blocks of such a type and what hangs on them "
     "alone), root:PATTERN (what such a root leads to counts as held) or a # comment; a pattern "
     "matches anywhere in the name, * is any text, ^ and $ tie it to an end.",
     "heapsnap leaks heap.snap\nheapsnap leaks heap.snap --certainty certain --fail-over 0\n",
     hs_cmd_leaks},
    {"samples", "look", "sampled allocations and who keeps them", "SNAP", 1, 1,
     LOOK | HS_BIT(HS_OPT_MIN_WORDS) | HS_BIT(HS_OPT_ROWS) | HS_BIT(HS_OPT_TRACE) |
         HS_BIT(HS_OPT_SAMPLE_GROUP_BY),
     "The blocks that a sampler (Gc.Memprof, memtrace, jemalloc's profiler, heapsnap record) was "
     "tracking, with the identifier it gave them, where they were allocated, and the root that "
     "retains each. --group-by sums what they stand for; site,root is the cross table: who "
     "allocated it, and who keeps it. Every estimate stands with its standard error.",
     "heapsnap samples heap.snap --trace app.ctf\n"
     "heapsnap samples heap.snap --group-by site,root\n",
     hs_cmd_samples},
    {"export", "share", "the graph as tables, for other programs", "SNAP", 1, 1,
     HS_BIT(HS_OPT_EXPORT_TO) | HS_BIT(HS_OPT_DIRECTORY) | HS_BIT(HS_OPT_PROGRESS) |
         HS_OPTIONS_OF_FILES | HS_OPTIONS_OF_LIMITS,
     "graph: writes nodes.tsv (id address words static type idom retained_words) and edges.tsv "
     "(from "
     "to offset strength), tab-separated, one header line each. Roots are nodes; node 0 is the "
     "root "
     "of all.\n"
     "v8: writes a .heapsnapshot that Chrome's DevTools (Memory, Load) and memlab open.",
     "heapsnap export heap.snap --to graph -o graph/\n"
     "heapsnap export heap.snap --to v8 -o heap.heapsnapshot\n",
     hs_cmd_export},
    {"index", "keep", "compute everything now", "SNAP", 1, 1,
     HS_BIT(HS_OPT_REBUILD) | HS_BIT(HS_OPT_PROGRESS) | HS_OPTIONS_OF_FILES | HS_OPTIONS_OF_LIMITS,
     "The other commands do it when they first need it. The index is kept beside the snapshot, or "
     "in the cache directory when that place is read-only; it can always be thrown away.\n"
     "Where the heap does not fit in --memory it is computed by passes over temporary files, which "
     "need disk instead and give the same. When that is interrupted, the next run goes on where it "
     "was; when it cannot be done with so much memory or disk, that is said before it is begun.",
     "heapsnap index heap.snap\n", hs_cmd_index},
    {"check", "keep", "verify a snapshot deeply", "SNAP", 1, 1,
     HS_BIT(HS_OPT_PROGRESS) | HS_OPTIONS_OF_LIMITS,
     "Reads everything and verifies every checksum, number, order and total; of the index that is "
     "kept of it, too.",
     "heapsnap check heap.snap\n", hs_cmd_check},
    {"import", "keep", "make a snapshot of what other programs wrote", "FILE", 1, 1,
     HS_BIT(HS_OPT_IMPORT_FROM) | HS_BIT(HS_OPT_OUTPUT) | HS_BIT(HS_OPT_POLICY) |
         HS_BIT(HS_OPT_WEAK) | HS_BIT(HS_OPT_SHORTCUTS) | HS_BIT(HS_OPT_WEAKMAP) |
         HS_BIT(HS_OPT_PAGE) | HS_BIT(HS_OPT_SIZES) | HS_BIT(HS_OPT_THREAD_LOCALS) |
         HS_BIT(HS_OPT_CLASS_EDGES) | HS_BIT(HS_OPT_STATICS) | HS_BIT(HS_OPT_PROGRESS) |
         HS_OPTIONS_OF_FILES | HS_OPTIONS_OF_LIMITS,
     "v8: the .heapsnapshot of Chrome, Node.js, Electron or Deno. hprof: the heap dump of a Java "
     "virtual machine (jcmd PID GC.heap_dump FILE), Android's too. graph: the directory with "
     "nodes.tsv and edges.tsv that 'export --to graph' writes.\n"
     "Which edges retain differs from tool to tool: --policy takes the rules of one, and the "
     "options below it change single rules. What was chosen is written into the snapshot and "
     "printed by info. Words of an imported heap are single bytes. No contents of strings, arrays "
     "or fields are copied.",
     "heapsnap import --from v8 app.heapsnapshot -o app.snap\n"
     "heapsnap import --from hprof app.hprof --policy visualvm -o app.snap\n"
     "heapsnap import --from graph graph/ -o heap.snap\n",
     hs_cmd_import},
    {"record", "record", "run a program and sample its allocations", "PROGRAM [ARGUMENT]...", 1,
     HS_TAKES_REST,
     HS_BIT(HS_OPT_TRACE_FILE) | HS_BIT(HS_OPT_RATE) | HS_BIT(HS_OPT_STACKS) |
         HS_BIT(HS_OPT_START) | HS_BIT(HS_OPT_SWITCH) | HS_BIT(HS_OPT_CHILDREN) |
         HS_BIT(HS_OPT_SEND_TO) | HS_BIT(HS_OPT_TOKEN) | HS_BIT(HS_OPT_DEBUG_PATH) |
         HS_BIT(HS_OPT_QUIET) | HS_OPTIONS_OF_FILES,
     "Runs PROGRAM with a library in it that samples malloc and its kin, on average one sample "
     "every --rate bytes, and writes each sampled allocation and its end, with the backtrace of "
     "the allocation, to heapsnap.PID.trace. Functions, what was inlined into them, files and "
     "lines come from symbols and debug information. The trace can be read at any time, also when "
     "heapsnap is killed; the program goes on whatever happens to heapsnap. A dump of the process "
     "finds its live samples, too.\n"
     "It exits as the program does, by the same signal if need be, and passes signals on. What "
     "goes wrong before the program runs has heapsnap's own codes: 2 no such program, 3 one that "
     "cannot be recorded (setuid, setgid or with capabilities, static, not of x86-64), 5 a trace "
     "that cannot be written. A trace that is not whole turns the program's 0 into 5.\n"
     "With --switch nothing is started: the sampling of process PID, which runs under record or "
     "with the library preloaded or linked, is switched on or off.",
     "heapsnap record -- ./server --port 8080\n"
     "heapsnap record --rate 64KiB -o server.trace ./server\n"
     "heapsnap record --start off ./server\n"
     "heapsnap record --switch on 4242\n"
     "heapsnap record --to 127.0.0.1:7411 --token token ./server\n",
     hs_cmd_record},
    {"gather", "record", "receive the traces of record --to", "", 0, 0,
     HS_BIT(HS_OPT_TRACE_DIR) | HS_BIT(HS_OPT_LISTEN) | HS_BIT(HS_OPT_TOKEN) |
         HS_BIT(HS_OPT_PEERS) | HS_BIT(HS_OPT_PEER_BYTES) | HS_BIT(HS_OPT_IDLE) |
         HS_BIT(HS_OPT_QUIET) | HS_OPTIONS_OF_FILES,
     "Waits for recordings and writes each into a file HOST-PID-TIME.trace in the directory of -o, "
     "several at once, until SIGINT or SIGTERM. It prints where it listens, which without --listen "
     "is a free port of this machine alone. Both sides prove to each other that they have the "
     "token without sending it; what is sent is protected against change, and not encrypted: over "
     "networks that others can read, send it through ssh -L. The trace of a sender that is cut off "
     "can be read as far as it came.",
     "(umask 077; head -c 32 /dev/urandom | base64 > token)\n"
     "heapsnap gather --token token -o traces\n"
     "heapsnap gather --listen 10.0.0.7:7411 --token token -o traces --peers 8\n",
     hs_cmd_gather},
    {"trace", "record", "what an allocation trace holds", "WHAT FILE", 2, 2,
     HS_BIT(HS_OPT_FORMAT) | HS_BIT(HS_OPT_JSON) | HS_BIT(HS_OPT_OUTPUT) | HS_TRACE_SPECIAL |
         HS_OPTIONS_OF_FILES | HS_OPTIONS_OF_LIMITS,
     "FILE is a trace in memtrace's format (versions 1 to 3), of memtrace itself or of heapsnap "
     "record. WHAT is one of:\n"
     "dump: its events, one a line: microseconds since the start, number of the allocation, and "
     "what happened to it; of an allocation also samples, words, domain, how many frames it shares "
     "with the one before, and the backtrace, the outermost first.\n"
     "info: what it is of, how many events it has, what was alive at most, what could not be "
     "read.\n"
     "top: a row for each place that allocated, or of what --by says.\n"
     "tree: the calls that lead to allocations; --by caller: upside down, --by site: by lines.\n"
     "live: what was alive over time, at --points points and at the peak.\n"
     "lifetimes: how long what each place allocates lives, and how that changes over the run, in "
     "--points parts (default 3).\n"
     "names: a copy with functions and lines where the trace has addresses, as one has that a "
     "preloaded library wrote by itself; the program's files must still be there.\n"
     "Options from --allocated to --heap say which allocations count; all that are given must "
     "hold. A range is A..B, A.., ..B or one value; times are seconds since the start, N% of the "
     "run, peak or end. Estimates stand with their standard error.",
     "heapsnap trace info app.ctf\n"
     "heapsnap trace top app.ctf --live-at peak\n"
     "heapsnap trace top app.ctf --by function --inside Cache. --collected never\n"
     "heapsnap trace tree app.ctf --allocated 10s..50% --hide /^Stdlib/\n"
     "heapsnap trace live app.ctf --points 100 --format tsv\n"
     "heapsnap trace lifetimes app.ctf --group-leaked 10%..\n",
     hs_cmd_trace},
    {"help", "help", "the help of a command", "[COMMAND]", 0, 1, 0,
     "Prints the same as COMMAND --help.", "heapsnap help roots\n", hs_cmd_help},
    {"version", "help", "the version of heapsnap and of its format", "", 0, 0, 0, "", "",
     hs_cmd_version},
    {"completion", "help", "a completion script for a shell", "SHELL", 1, 1, 0,
     "SHELL is bash, zsh or fish.", "source <(heapsnap completion bash)\n", hs_cmd_completion},
};

const size_t hs_n_commands = sizeof hs_commands / sizeof *hs_commands;
