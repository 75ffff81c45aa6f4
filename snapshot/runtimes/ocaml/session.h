/* OCaml's share of one dump: what its parts have found. */
#ifndef HS_OCAML_SESSION_H
#define HS_OCAML_SESSION_H

#include "base/buffer.h"
#include "emit.h"
#include "ocaml.h"
#include "ocaml/names.h"
#include "runtimes/runtime.h"
#include "source_types/push.h"

struct hs_ocaml_session {
    struct hs_dump *dump; /* borrowed */
    struct hs_names names;
    char names_failure[256]; /* why the helper gave no names; empty when it ran */
    hs_str names_remark;     /* how many units have names; 0: nobody was asked */
    bool names_come_late;    /* with the types */
    size_t names_place;      /* of the note on them among the findings, when they come late */
    struct hs_ocaml rt;
    struct hs_ocaml_roots roots;
    struct hs_block_map map;
    struct hs_ocaml_marks marks;
    bool was_located; /* the runtime was found once: not to find it again is a bad moment */
    struct hs_names_running types_helper;
    struct hs_buffer question;        /* what it was asked first */
    size_t n_request_bytes;           /* of that, what is asked for names */
    struct hs_stables source_types;   /* what the helper said */
    char source_types_note[320];      /* why it said nothing, or not all; empty when it did */
    struct hs_spush push;             /* the source type of each block */
    struct hs_ocaml_emitter *emitter; /* owned: made when the roots are known */
    struct hs_runtime_fact fact;
    struct hs_sampler sampler; /* of Gc.Memprof */
};

/* Finds source names before the stop, and applies them after the roots are collected:
 * names/session.c. Where the helper of types runs it gives the names, too, and both is done when
 * its answer is there; its part that is a table of names is taken out. If it has none the helper of
 * names is asked after all. */
hs_status hs_ocaml_find_names(struct hs_ocaml_session *session, struct hs_error *err);
hs_status hs_ocaml_apply_names(struct hs_ocaml_session *session, struct hs_error *err);
hs_status hs_ocaml_late_names(struct hs_ocaml_session *session, struct hs_buffer *answer,
                              struct hs_error *err);

/* Starts the helper of types before the stop, which works while the process is read, and uses its
 * answer after marking, when the map has its index: source_types/session.c. Types that cannot be
 * had cost the dump nothing but a note. */
hs_status hs_ocaml_start_source_types(struct hs_ocaml_session *session, struct hs_error *err);
hs_status hs_ocaml_push_source_types(struct hs_ocaml_session *session, struct hs_error *err);

#endif
