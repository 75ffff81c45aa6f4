/* Source names for root leaves: found before the stop, applied after the roots are collected. */
#include <stdio.h>
#include <string.h>

#include "field_users.h"
#include "private.h"
#include "session.h"
#include "symbols/demangle.h"

enum { ROOT_NAME_BYTES = 1024, NAMES_NOTE_BYTES = 640 };

static struct hs_names_request names_request(const struct hs_ocaml_session *s)
{
    const struct hs_dump_options *o = s->dump->options;

    return (struct hs_names_request){.helper = o->names_helper,
                                     .dirs = o->names_dirs,
                                     .n_dirs = o->n_names_dirs,
                                     .timeout_ns = o->names_timeout_ns};
}

/* Takes a helper's failure as a remark: it only costs names. */
static hs_status names_judge(struct hs_ocaml_session *s, hs_status status,
                             const struct hs_error *failure, struct hs_error *err)
{
    if (status == HS_IO || status == HS_FORMAT) {
        snprintf(s->names_failure, sizeof s->names_failure, "no source names: %s",
                 failure->message);
        return HS_OK;
    }
    if (status != HS_OK)
        *err = *failure;
    return status;
}

/* Finds source names; a table that the user gave must be good. */
hs_status hs_ocaml_find_names(struct hs_ocaml_session *s, struct hs_error *err)
{
    const struct hs_dump_options *o = s->dump->options;
    struct hs_error failure = HS_ERROR_INIT;

    if (o->names_file != NULL)
        return hs_names_load_file(o->names_file, &s->names, err);
    if (o->no_names || o->names_helper == NULL || s->names_come_late)
        return HS_OK;
    struct hs_names_request request = names_request(s);
    hs_status status =
        hs_names_run_helper(&request, &s->dump->target, &s->dump->objects, &s->names, &failure);
    return names_judge(s, status, &failure, err);
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

static hs_status names_apply(struct hs_ocaml_session *s, struct hs_error *err)
{
    HS_TRY(names_note(s, err));
    for (size_t i = 0; i < s->roots.roots.n_leaves && s->names.n_entries != 0; i++) {
        struct hs_root *root = &s->roots.roots.leaves[i].root;
        if (root->kind == HS_ROOT_GLOBAL || root->kind == HS_ROOT_DYNAMIC_GLOBAL)
            HS_TRY(names_apply_leaf(s, root, err));
    }
    return s->dump->options->no_names ? HS_OK : hs_ocaml_tell_field_users(&s->rt, &s->roots, err);
}

hs_status hs_ocaml_apply_names(struct hs_ocaml_session *s, struct hs_error *err)
{
    s->names_place = s->rt.findings.n_notes;
    return s->names_come_late ? HS_OK : names_apply(s, err);
}

/* ---- names that come with the types */

/* The part of an answer between the lines "#names" and "#types". */
struct names_part {
    const uint8_t *begin, *end; /* the lines between */
};

static bool names_part_of(const struct hs_buffer *answer, struct names_part *ret)
{
    static const char first[] = "\n#names\n", last[] = "\n#types\n";
    const uint8_t *end = answer->bytes + answer->n_bytes;
    const uint8_t *names =
        answer->n_bytes == 0 ? NULL : memmem(answer->bytes, answer->n_bytes, first, strlen(first));

    if (names == NULL)
        return false;
    ret->begin = names + strlen(first);
    const uint8_t *types =
        memmem(ret->begin - 1, (size_t)(end - ret->begin) + 1, last, strlen(last));
    ret->end = types == NULL ? NULL : types + 1;
    return types != NULL;
}

static hs_status names_take_part(struct hs_ocaml_session *s, struct hs_buffer *answer,
                                 struct hs_error *err)
{
    struct hs_error failure = HS_ERROR_INIT;
    struct names_part part;

    if (!names_part_of(answer, &part)) {
        const struct hs_names_request request = names_request(s);
        const struct hs_buffer question = {.bytes = s->question.bytes,
                                           .n_bytes = s->n_request_bytes};
        hs_status status = hs_names_run_written(&request, &s->dump->target, &s->dump->objects,
                                                &question, &s->names, &failure);
        return names_judge(s, status, &failure, err);
    }
    hs_status status =
        hs_names_take(&s->names, (const char *)part.begin, (size_t)(part.end - part.begin),
                      "heapsnap-ocaml-types", &s->dump->objects, &failure);
    uint8_t *begin = answer->bytes + (part.begin - answer->bytes) - strlen("#names\n");
    const uint8_t *rest = part.end + strlen("#types\n");
    memmove(begin, rest, (size_t)(answer->bytes + answer->n_bytes - rest));
    answer->n_bytes -= (size_t)(rest - begin);
    return names_judge(s, status, &failure, err);
}

/* Moves the note to where it would stand if the names had come before. */
static void names_place_note(struct hs_ocaml_session *s, size_t n_before)
{
    struct hs_findings *findings = &s->rt.findings;

    if (findings->n_notes == n_before || s->names_place >= n_before)
        return;
    struct hs_note last = findings->notes[n_before];
    memmove(&findings->notes[s->names_place + 1], &findings->notes[s->names_place],
            (n_before - s->names_place) * sizeof last);
    findings->notes[s->names_place] = last;
}

hs_status hs_ocaml_late_names(struct hs_ocaml_session *s, struct hs_buffer *answer,
                              struct hs_error *err)
{
    size_t n_before = s->rt.findings.n_notes;

    if (!s->names_come_late)
        return HS_OK;
    HS_TRY(names_take_part(s, answer, err));
    HS_TRY(names_apply(s, err));
    names_place_note(s, n_before);
    return HS_OK;
}
