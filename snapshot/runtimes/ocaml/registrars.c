#include "registrars.h"

#include <stdio.h>
#include <string.h>

#include "symbols/elf_users.h"
#include "v5/ocaml5.h"

enum { MOST_NAMED = 3, MOST_CALLERS = 32, NAME_BYTES = 512 };

/* Tells whether a function is the runtime's own: its roots are variables or have a name, but those
 * of domain.c, of which there are none while there is one domain (libasmrun.a of 4.13 and 5.3). */
static bool is_of_runtime(const struct hs_ocaml *rt, const char *name)
{
    static const char *const own[] = {
        "caml_debugger_init",     "caml_init_backtrace",       "caml_init_signal_handling",
        "caml_memprof_start",     "caml_register_named_value", "caml_install_signal_handler",
        "caml_record_backtraces", "caml_runtime_events_init",  "caml_sys_init",
        "domain_create",
    };

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    return rt->five != NULL && rt->five->n_domains == 1 && strcmp(name, "caml_domain_spawn") == 0;
}

/* Keeps those callers that are not the runtime's; returns how many. */
static size_t keep_stubs(const struct hs_ocaml *rt, const struct hs_elf_symbol **callers, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!is_of_runtime(rt, callers[i]->name))
            callers[kept++] = callers[i];
    return kept;
}

static hs_status name_stubs(struct hs_ocaml *rt, const struct hs_elf_symbol *const *stubs, size_t n,
                            struct hs_registrar *ret, struct hs_error *err)
{
    char text[NAME_BYTES] = "";
    size_t at = 0;

    for (size_t i = 0; i < n && at < sizeof text; i++) {
        const char *joint = i == 0 ? "" : i + 1 < n ? ", " : " or ";
        int n_more = snprintf(text + at, sizeof text - at, "%s%.100s", joint, stubs[i]->name);
        at += n_more < 0 ? 0 : (size_t)n_more;
    }
    return hs_strtab_add(rt->strings, text, &ret->name, err);
}

static hs_status find_one(struct hs_ocaml *rt, struct hs_object_lines *lines, const char *function,
                          struct hs_registrar *ret, struct hs_error *err)
{
    const struct hs_elf_symbol *callers[MOST_CALLERS];
    struct hs_live_symbol symbol;
    size_t n;

    if (!hs_objects_find(rt->objects, function, &symbol))
        return HS_OK;
    const struct hs_object *object = symbol.object;
    HS_TRY(hs_elf_callers(object->elf, object->elf, symbol.address - object->bias, callers,
                          MOST_CALLERS, &n, err));
    if (n > MOST_CALLERS)
        return HS_OK;
    n = keep_stubs(rt, callers, n);
    if (n == 0 || n > MOST_NAMED)
        return HS_OK;
    HS_TRY(name_stubs(rt, callers, n, ret, err));
    struct hs_lines *reader = n == 1 ? hs_object_lines_of(lines, object) : NULL;
    if (n == 1)
        HS_TRY(hs_strtab_add(rt->strings, callers[0]->name, &ret->function, err));
    if (reader == NULL)
        return HS_OK;
    struct hs_source source = hs_lines_find_code(reader, callers[0]->vaddr);
    ret->line = source.line;
    return source.file[0] == '\0' ? HS_OK
                                  : hs_strtab_add(rt->strings, source.file, &ret->file, err);
}

hs_status hs_registrars_find(struct hs_ocaml *rt, struct hs_object_lines *lines,
                             struct hs_registrars *ret, struct hs_error *err)
{
    *ret = (struct hs_registrars){0};
    HS_TRY(find_one(rt, lines, "caml_register_global_root", &ret->plain, err));
    return find_one(rt, lines, "caml_register_generational_global_root", &ret->generational, err);
}
