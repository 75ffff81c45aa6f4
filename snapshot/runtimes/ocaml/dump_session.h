/* One dump from open to written: what its parts share. Private to dump.c and dump_facts.c. */
#ifndef HS_OCAML_DUMP_SESSION_H
#define HS_OCAML_DUMP_SESSION_H

#include "ocaml.h"
#include "ocaml/dump.h"
#include "ocaml/names.h"
#include "process/dump_plan.h"
#include "process/image.h"
#include "process/objects.h"

struct hs_dump_session {
    const struct hs_dump_options *options;
    const struct hs_dump_beside *beside; /* borrowed; NULL: none */
    struct hs_target *target;            /* borrowed, like the four below */
    struct hs_objects *objects;
    struct hs_image *image;
    struct hs_dump_plan *plan; /* over the image */
    struct hs_strtab *strings;
    struct hs_names names;
    char names_failure[256]; /* why the helper gave no names; empty when it ran */
    struct hs_ocaml rt;
    struct hs_ocaml_roots roots;
    struct hs_block_map map;
    struct hs_ocaml_marks marks;
    uint32_t n_attempts;
    bool was_located; /* the runtime was found once: not to find it again is a bad moment */
    /* for the writer, made by hs_dump_facts */
    struct hs_snap_facts facts;
    struct hs_runtime runtime;
    struct hs_sampler sampler;   /* of Gc.Memprof */
    struct hs_binary *binaries;  /* owned */
    struct hs_range *unreadable; /* owned */
};

/* names/session.c: before the stop, and after the roots are collected. */
hs_status hs_dump_find_names(struct hs_dump_session *session, struct hs_error *err);
hs_status hs_dump_apply_names(struct hs_dump_session *session, struct hs_error *err);

/* Everything the snapshot says before its first block; borrowed from the session. */
hs_status hs_dump_facts(struct hs_dump_session *session, struct hs_error *err);

#endif
