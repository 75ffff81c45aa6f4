/* The options of a dump. */
#ifndef HS_RUNTIMES_DUMP_OPTIONS_H
#define HS_RUNTIMES_DUMP_OPTIONS_H

#include <sys/types.h>

#include "base/progress.h"
#include "target/core.h"

struct hs_rules; /* rules/rules.h */

/* The order in which blocks and roots are gone through, on which no result depends: for tests. All
 * 0: as it is quickest. */
struct hs_dump_order {
    uint64_t seed; /* not 0: at random, by this */
    unsigned
        region_bits; /* not 0: by regions of so many bytes (1 << bits), however small the heap */
    uint64_t most_tries; /* not 0: cut the search for addresses in disguise after so many */
};

struct hs_dump_options {
    pid_t pid;                          /* of the process; not looked at with a core */
    const struct hs_core_options *core; /* NULL: the live process */
    struct hs_stop_options stop;
    unsigned max_growth_percent; /* of the resident size, at least 64 MiB; if stop has no bytes. 0:
                                  * as memory allows */
    const char *names_file;      /* a ready names.tsv, or NULL */
    const char *const *names_dirs; /* further directories for .cmi/.cmt */
    size_t n_names_dirs;
    uint64_t names_timeout_ns;     /* of each search for names and types; 0: 30 s */
    bool no_names;                 /* do not look for source names */
    const char *names_helper;      /* path of heapsnap-ocaml-names, or NULL: none is installed */
    const char *const *debug_dirs; /* further directories of separate debug files */
    size_t n_debug_dirs;
    const char *debug_server; /* path of heapsnap-debuginfod, or NULL: no server is asked */
    uint64_t debug_server_ns; /* of each round of questions to it; 0: 60 s */
    bool own_heap_alone;      /* of a runtime with a heap of its own: leave out what C code has, */
    bool unless_c_has_most;   /* but where that is most of a process's memory */
    uint64_t pointer_mask;    /* bits to clear in words of C before they are looked up; 0: none */
    uint64_t reasons_off;     /* rules of snapshot/reasons.def that are not asked: a bit for
                                 each number below 64 */
    const struct hs_rules *rules; /* borrowed; NULL: none are known */
    struct hs_dump_order order;
    const char *tool_version;
    const struct hs_progress *progress; /* may be NULL */
    struct hs_budget *budget;           /* what the dump may use; NULL: no limit */
};

#endif
