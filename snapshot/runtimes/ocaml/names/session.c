/* Source names for root leaves: found before the stop, applied after the roots are collected. */
#include <stdio.h>
#include <string.h>

#include "session.h"
#include "symbols/demangle.h"

enum { ROOT_NAME_BYTES = 1024, NAMES_NOTE_BYTES = 640 };

/* A table that the user gave must be good; the helper's failure only costs names. */
hs_status hs_ocaml_find_names(struct hs_ocaml_session *s, struct hs_error *err)
{
    const struct hs_dump_options *o = s->dump->options;
    struct hs_error failure = HS_ERROR_INIT;

    if (o->names_file != NULL)
        return hs_names_load_file(o->names_file, &s->names, err);
    if (o->no_names || o->names_helper == NULL)
        return HS_OK;
    struct hs_names_request request = {.helper = o->names_helper,
                                       .dirs = o->names_dirs,
                                       .n_dirs = o->n_names_dirs,
                                       .timeout_ns = o->names_timeout_ns};
    hs_status status =
        hs_names_run_helper(&request, &s->dump->target, &s->dump->objects, &s->names, &failure);
    if (status == HS_IO || status == HS_FORMAT) {
        snprintf(s->names_failure, sizeof s->names_failure, "no source names: %s", failure.message);
        return HS_OK;
    }
    if (status != HS_OK)
        *err = failure;
    return status;
}

static hs_status names_apply_leaf(struct hs_ocaml_session *s, struct hs_root *root,
                                  struct hs_error *err)
{
    const char *symbol = hs_strtab_get(&s->dump->strings, root->symbol);
    char text[ROOT_NAME_BYTES], unit[ROOT_NAME_BYTES / 2];
    struct hs_name name;

    if (root->field == HS_NO_FIELD || strncmp(symbol, "caml", 4) != 0 ||
        !hs_names_find(&s->names, symbol + strlen("caml"), root->field, &name))
        return HS_OK;
    (void)hs_demangle(symbol, unit, sizeof unit);
    snprintf(text, sizeof text, "%s.%s", unit, name.name);
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &root->name, err));
    if (name.file[0] == '\0')
        return HS_OK;
    root->line = name.line;
    return hs_strtab_add(&s->dump->strings, name.file, &root->file, err);
}

static hs_status names_note(struct hs_ocaml_session *s, struct hs_error *err)
{
    char text[NAMES_NOTE_BYTES];

    if (s->names_failure[0] != '\0')
        snprintf(text, sizeof text, "%s", s->names_failure);
    else if (s->names.note[0] != '\0')
        snprintf(text, sizeof text, "%s", s->names.note);
    else if (!hs_names_tell(&s->names, text, sizeof text))
        return HS_OK;
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &s->names_remark, err));
    return hs_findings_note(&s->rt.findings, false, err, "%s", text);
}

hs_status hs_ocaml_apply_names(struct hs_ocaml_session *s, struct hs_error *err)
{
    HS_TRY(names_note(s, err));
    for (size_t i = 0; i < s->roots.roots.n_leaves && s->names.n_entries != 0; i++) {
        struct hs_root *root = &s->roots.roots.leaves[i].root;
        if (root->kind == HS_ROOT_GLOBAL || root->kind == HS_ROOT_DYNAMIC_GLOBAL)
            HS_TRY(names_apply_leaf(s, root, err));
    }
    return HS_OK;
}
