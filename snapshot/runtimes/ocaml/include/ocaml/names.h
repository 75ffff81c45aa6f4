/* Source names for the fields of OCaml modules: (unit, slot) -> name, file, line.
 *
 * They come from the compiler's own files (.cmi, .cmt), read by a program of its own,
 * heapsnap-ocaml-names, or from a ready table, tab-separated:
 *
 *   unit  slot  name  file  line  [interface digest]        # starts a comment
 *
 * The table is hostile input: it is checked line by line. The helper reads files that the target's
 * owner may have written, with a reader that trusts them; so it runs as that user, with a time
 * limit, and what it says before it dies still counts. */
#ifndef HS_OCAML_NAMES_H
#define HS_OCAML_NAMES_H

#include "base/strtab.h"
#include "process/objects.h"

struct hs_name_entry {
    hs_str unit, name, file; /* file may be 0 */
    uint32_t slot, line;     /* line 0: unknown */
    uint64_t number;         /* of the line in the table: the first of equal ones counts */
};

/* The text of the largest of some units, "Wp, Eva__Main", as the helper names them. */
#define HS_NAMES_EXAMPLES_BYTES 96

struct hs_names {
    struct hs_strtab strings;      /* owned */
    struct hs_name_entry *entries; /* owned; ascending by unit text and slot after parsing */
    size_t n_entries, capacity;
    /* The helper's counts of the units that the program consists of; all 0 for a ready table. */
    uint64_t n_units, n_named, n_partial, n_stale, n_missing;
    char partial[HS_NAMES_EXAMPLES_BYTES], stale[HS_NAMES_EXAMPLES_BYTES],
        missing[HS_NAMES_EXAMPLES_BYTES];
    char compiler[32]; /* the helper's, "5.3.0"; empty when it did not say */
    char note[240];    /* why names are missing that could be there; empty when all went well */
};

/* Text borrowed from the table. */
struct hs_name {
    const char *name; /* "VCS", "Inner.x" */
    const char *file; /* as the compiler was given it: "stm/stm.ml"; "" when unknown */
    uint32_t line;    /* 0 when unknown */
};

void hs_names_fini(struct hs_names *names);

/* Parses a table into an empty `names`. HS_FORMAT with the number of the line that is not one;
 * `what` names the table in messages. Of two lines for one slot the first counts. O(n log n). */
hs_status hs_names_parse(struct hs_names *names, const char *text, size_t n_bytes, const char *what,
                         struct hs_error *err);
hs_status hs_names_load_file(const char *path, struct hs_names *ret, struct hs_error *err);

/* Finds the name of a slot. `unit` as in the symbol, without "caml": "Stm", "Ltac_plugin__Tacenv".
 * O(log n). */
bool hs_names_find(const struct hs_names *names, const char *unit, uint32_t slot,
                   struct hs_name *ret);

/* Writes of how many units the variables have names, which lack files, and what helps; false, and
 * "", when nobody was asked. */
bool hs_names_tell(const struct hs_names *names, char *text, size_t n_bytes);

#define HS_NAMES_TIMEOUT_NS ((uint64_t)30000000000) /* unless a request says otherwise */

/* A helper that was started. */
struct hs_names_running {
    pid_t child; /* 0: none */
    int output;
    uint64_t deadline_ns, timeout_ns;
    const char *what; /* borrowed: a literal */
};
/* Ends a helper that was not collected, if there is one. */
void hs_names_abandon(struct hs_names_running *running);

struct hs_names_request {
    /* Path of heapsnap-ocaml-names. Beside it may lie others, which are preferred for programs of
     * their version: heapsnap-ocaml-names-5.3 */
    const char *helper;
    const char *const *dirs; /* searched first; may be NULL */
    size_t n_dirs;
    uint64_t timeout_ns; /* 0: HS_NAMES_TIMEOUT_NS */
};

/* Asks the helper about all units of a program and its plugins. Needs no stop: what it reads is
 * constant data of the files. HS_IO when the helper cannot be run; a helper that dies or takes too
 * long leaves what it has said, and a note. */
hs_status hs_names_run_helper(const struct hs_names_request *request,
                              const struct hs_target *target, const struct hs_objects *objects,
                              struct hs_names *ret, struct hs_error *err);

#endif
