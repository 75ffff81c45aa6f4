/* Makes a snapshot of what another program wrote about its heap: V8's .heapsnapshot, the HPROF dump
 * of a Java virtual machine, or the tables of `export --to graph`.
 *
 * Words of the snapshot are bytes, so that sizes agree with the other tools to the byte; an object
 * without a size of its own (V8's synthetic ones) is a static block of one word, which counts
 * apart. Addresses of V8 objects are made up; those of HPROF are the file's object identifiers.
 *
 * No contents are copied: of strings, arrays and fields only types, sizes and pointers. Names of
 * classes, functions, fields and roots are kept, as they are from program text.
 *
 * The file is hostile: everything is bounds-checked, every count is held against what is there.
 * It is mapped and read in a few passes from front to end. Resident, reserved in the budget: some
 * bits per object, the types and roots, and what the policy needs (see struct hs_import_policy). */
#ifndef HS_IMPORT_IMPORT_H
#define HS_IMPORT_IMPORT_H

#include "base/budget.h"
#include "base/file.h"
#include "base/progress.h"
#include "snapshot/model.h"

enum hs_import_from { HS_IMPORT_V8, HS_IMPORT_HPROF, HS_IMPORT_GRAPH, HS_N_IMPORTS };

enum hs_import_preset {
    HS_POLICY_OWN,      /* heapsnap's: roots as fine as they can be, weak edges for looking only */
    HS_POLICY_MAT,      /* Eclipse Memory Analyzer */
    HS_POLICY_VISUALVM, /* VisualVM's heap library */
    HS_POLICY_MEMLAB,   /* memlab 2 */
    HS_POLICY_DEVTOOLS, /* Chrome's DevTools */
    HS_POLICY_ALL,      /* every edge retains */
    HS_N_POLICIES
};

enum hs_import_weak { HS_WEAK_KEEP, HS_WEAK_DROP, HS_WEAK_STRONG };
enum hs_import_page { HS_PAGE_NONE, HS_PAGE_DEVTOOLS, HS_PAGE_MEMLAB };
enum hs_import_sizes {
    HS_SIZES_OWN,      /* v8: as the file says; hprof: as HS_SIZES_MAT */
    HS_SIZES_FOLDED,   /* v8: helpers count for their owner, as in DevTools */
    HS_SIZES_MAT,      /* hprof: class objects weigh what their static fields do */
    HS_SIZES_VISUALVM, /* hprof: class objects weigh nothing */
};

/* The policy of an import: which edges retain, and whose sizes are taken. Needs memory: page (not
 * none) and folded sizes walk the graph: 5 bytes per edge and 16 per object. */
struct hs_import_policy {
    enum hs_import_preset preset; /* what it began as */
    enum hs_import_weak weak;     /* v8: weak edges; hprof: referents of java.lang.ref */
    bool shortcuts;           /* v8: shortcut edges retain everywhere, not from the root alone */
    bool weakmap_both;        /* v8: the table holds values too, not the key alone */
    enum hs_import_page page; /* v8: edges from what is not the page's into what is */
    bool thread_locals;       /* hprof: locals hang on their thread object */
    bool class_edges;         /* hprof: objects hold their class, classes the one above */
    bool static_roots;        /* hprof: static fields are roots, and not held by their class */
    enum hs_import_sizes sizes;
};

/* The rules of another tool. HS_USAGE when it does not read such files. */
hs_status hs_import_policy_init(enum hs_import_from from, enum hs_import_preset preset,
                                struct hs_import_policy *ret, struct hs_error *err);
/* The default for a kind of file. */
enum hs_import_preset hs_import_default(enum hs_import_from from);

/* Recognises a file by its first bytes; a directory is HS_IMPORT_GRAPH. HS_FORMAT when they tell
 * nothing, HS_USAGE of what cannot be read twice (a pipe). */
hs_status hs_import_recognise(const char *path, enum hs_import_from *ret, struct hs_error *err);

struct hs_import_options {
    enum hs_import_from from;
    const char *path; /* "-" is standard input; of HS_IMPORT_GRAPH a directory */
    struct hs_import_policy policy;
    const char *tool_version;
    struct hs_budget *budget;           /* may be NULL: no limit */
    const struct hs_progress *progress; /* may be NULL */
};

struct hs_import_report {
    struct hs_snap_totals totals;
    uint64_t n_roots;
};

/* Writes the snapshot to `out`, which the caller commits. HS_FORMAT when the file is not what it is
 * said to be, is cut or is damaged; HS_LIMIT over the budget. */
hs_status hs_import(const struct hs_import_options *options, struct hs_out *out,
                    struct hs_import_report *ret, struct hs_error *err);

#endif
