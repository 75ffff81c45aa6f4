/* Recognises the kind of program, by symbols and mapped libraries alone, so that a refusal needs no
 * guess. Symbols: CAMLexport of runtime/ in the tags 4.10.2, 4.11.2, 4.12.1, 4.13.1, 4.14.2, 5.0.0,
 * 5.1.1. */
#include <stdio.h>
#include <string.h>

#include "locate.h"
#include "runtimes/dump.h"

static bool refuse_has(const struct hs_ocaml *rt, const char *name)
{
    struct hs_live_symbol symbol;
    return hs_objects_find(rt->objects, name, &symbol);
}

static const char *refuse_program(const struct hs_ocaml *rt)
{
    return rt->objects->n != 0 && rt->objects->objects[0].name != NULL
               ? rt->objects->objects[0].name
               : "the program";
}

static hs_status refuse(const struct hs_ocaml *rt, const char *what, struct hs_error *err)
{
    (void)hs_fail(err, HS_TARGET, "'%s' is %s", refuse_program(rt), what);
    return hs_hint(err, HS_OCAML_SUPPORTED);
}

static bool refuse_is_ocaml5(const struct hs_ocaml *rt)
{
    return refuse_has(rt, "caml_minor_heaps_start") || refuse_has(rt, "caml_global_heap_state") ||
           refuse_has(rt, "caml_num_domains_running");
}

static bool refuse_is_ocaml(const struct hs_ocaml *rt)
{
    return refuse_has(rt, "Caml_state") || refuse_has(rt, "caml_heap_start") ||
           refuse_has(rt, "caml_alloc_shr") || refuse_has(rt, "caml_globals");
}

static bool refuse_is_bytecode(const struct hs_ocaml *rt)
{
    return refuse_has(rt, "caml_interprete") || refuse_has(rt, "caml_start_code") ||
           refuse_has(rt, "caml_prog");
}

bool hs_is_ocaml(const struct hs_objects *objects)
{
    struct hs_objects borrowed = *objects;
    struct hs_ocaml rt = {.objects = &borrowed};
    return refuse_is_bytecode(&rt) || refuse_is_ocaml5(&rt) || refuse_is_ocaml(&rt);
}

bool hs_ocaml_is_bytecode(const struct hs_objects *objects)
{
    struct hs_objects borrowed = *objects;
    struct hs_ocaml rt = {.objects = &borrowed};
    bool is_native = refuse_has(&rt, "caml_frametable") && refuse_has(&rt, "caml_globals");
    return !is_native && refuse_is_bytecode(&rt);
}

hs_status hs_ocaml_recognise_runtime(const struct hs_ocaml *rt, unsigned *ret_minor,
                                     struct hs_error *err)
{
    bool is_native = refuse_has(rt, "caml_frametable") && refuse_has(rt, "caml_globals");

    if (!is_native && refuse_is_bytecode(rt)) {
        if (refuse_is_ocaml5(rt))
            return refuse(rt, "an OCaml 5 bytecode program or its interpreter", err);
        if (!refuse_has(rt, "Caml_state") || !refuse_has(rt, "caml_do_exit"))
            return refuse(rt, "an OCaml bytecode program of a version before 4.13", err);
        *ret_minor = 13; /* or 14, as its chunks will tell */
        return HS_OK;
    }
    if (is_native && refuse_is_ocaml5(rt)) {
        if (!refuse_has(rt, "caml_alloc_shr_reserved")) /* alloc.c, always linked, from 5.1 on */
            return refuse(rt, "an OCaml 5 program of a version before 5.1", err);
        *ret_minor = 0;
        return HS_OK;
    }
    if (!refuse_is_ocaml(rt))
        return refuse(rt, hs_program_kind(rt->objects), err);
    if (!is_native)
        return refuse(rt, "linked with an OCaml runtime but has no OCaml modules that can be found",
                      err);
    if (!refuse_has(rt, "Caml_state")) /* the domain state came with 4.10 */
        return refuse(rt, "an OCaml program of version 4.09 or earlier", err);
    /* sys.c, always linked, exports caml_do_exit from 4.13 on; signals_nat.c got
     * caml_terminate_signals in 4.14. */
    if (!refuse_has(rt, "caml_do_exit")) {
        char version[32], what[80];
        if (!hs_ocaml_stated_version(rt, version, sizeof version))
            return refuse(rt, "an OCaml program of a version from 4.10 to 4.12", err);
        snprintf(what, sizeof what, "an OCaml %s program", version);
        return refuse(rt, what, err);
    }
    *ret_minor = refuse_has(rt, "caml_terminate_signals") ? 14 : 13;
    return HS_OK;
}

hs_status hs_ocaml_recognise(const struct hs_objects *objects, unsigned *ret_minor,
                             struct hs_error *err)
{
    struct hs_objects borrowed = *objects;
    struct hs_image nothing_copied = {0};
    struct hs_ocaml rt = {.objects = &borrowed, .image = &nothing_copied};
    return hs_ocaml_recognise_runtime(&rt, ret_minor, err);
}
