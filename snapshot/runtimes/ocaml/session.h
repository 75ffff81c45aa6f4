/* OCaml's share of one dump: what its parts have found. */
#ifndef HS_OCAML_SESSION_H
#define HS_OCAML_SESSION_H

#include "emit.h"
#include "ocaml.h"
#include "ocaml/names.h"
#include "runtimes/runtime.h"

struct hs_ocaml_session {
    struct hs_dump *dump; /* borrowed */
    struct hs_names names;
    char names_failure[256]; /* why the helper gave no names; empty when it ran */
    hs_str names_remark;     /* how many units have names; 0: nobody was asked */
    struct hs_ocaml rt;
    struct hs_ocaml_roots roots;
    struct hs_block_map map;
    struct hs_ocaml_marks marks;
    bool was_located; /* the runtime was found once: not to find it again is a bad moment */
    struct hs_ocaml_emitter *emitter; /* owned: made when the roots are known */
    struct hs_runtime_fact fact;
    struct hs_sampler sampler; /* of Gc.Memprof */
};

/* names/session.c: before the stop, and after the roots are collected. */
hs_status hs_ocaml_find_names(struct hs_ocaml_session *session, struct hs_error *err);
hs_status hs_ocaml_apply_names(struct hs_ocaml_session *session, struct hs_error *err);

#endif
