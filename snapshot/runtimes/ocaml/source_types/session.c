/* Source types of a dump: asked for before the stop, pushed after marking, told in notes. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "bodies.h"
#include "local_storage.h"
#include "names/private.h"
#include "session.h"
#include "shapes.h"

enum { CHARGED_MOST = 3 };

/* Makes the path of the helper of types, which lies beside that of names: heapsnap-ocaml-types,
 * heapsnap-ocaml-names. */
static bool helper_path(const char *names_helper, char *path, size_t n)
{
    static const char names[] = "names", types[] = "types";
    size_t length = strlen(names_helper);

    if (length < strlen(names) || length >= n ||
        strcmp(names_helper + length - strlen(names), names) != 0)
        return false;
    memcpy(path, names_helper, length + 1);
    memcpy(path + length - strlen(names), types, strlen(types));
    return true;
}

/* Tells whether the helper of types gives names, too; it does unless the helper of names alone is
 * of the program's compiler. */
static bool gives_names(const struct hs_dump_options *o, const char *version, const char *helper,
                        const char *chosen)
{
    char names[PATH_MAX];

    hs_names_choose_helper(o->names_helper, version, names, sizeof names);
    return o->names_file == NULL &&
           (strcmp(names, o->names_helper) == 0 || strcmp(chosen, helper) != 0);
}

/* Reads what was said in whole lines; a bad one costs all. */
static hs_status types_read(struct hs_ocaml_session *s, struct hs_buffer *answer, const char *note,
                            struct hs_error *err)
{
    struct hs_error failure = HS_ERROR_INIT;

    while (answer->n_bytes > 0 && answer->bytes[answer->n_bytes - 1] != '\n')
        answer->n_bytes--;
    hs_status status =
        hs_stables_parse(&s->source_types, (const char *)answer->bytes, answer->n_bytes, &failure);
    if (status == HS_FORMAT)
        snprintf(s->source_types_note, sizeof s->source_types_note, "no source types: %s",
                 failure.message);
    else if (status != HS_OK)
        *err = failure;
    else if (note[0] != '\0')
        snprintf(s->source_types_note, sizeof s->source_types_note,
                 "source types are not complete: %s", note);
    else if (s->source_types.stopped[0] != '\0')
        snprintf(
            s->source_types_note, sizeof s->source_types_note,
            "source types are not complete: the search ended early (%s)%s", s->source_types.stopped,
            strcmp(s->source_types.stopped, "time") == 0 ? "; --names-timeout gives it more" : "");
    else if (!s->source_types.is_whole)
        snprintf(s->source_types_note, sizeof s->source_types_note,
                 "source types are not complete: the answer has no end");
    return status == HS_FORMAT ? HS_OK : status;
}

/* Writes the time in which the helper ends by itself with what it has, a little before it would be
 * ended. */
static hs_status put_seconds(struct hs_buffer *out, uint64_t timeout_ns, bool with_names,
                             struct hs_error *err)
{
    char line[64];
    int n = snprintf(line, sizeof line, "seconds %.3f\nlater 1\n%s", (double)timeout_ns / 1e9 * 0.8,
                     with_names ? "names 1\n" : "");

    HS_TRY(hs_buffer_reserve(out, (size_t)n, err));
    hs_buffer_put_bytes(out, line, (size_t)n);
    return HS_OK;
}

/* Has the helper of another compiler built where there is none. */
static hs_status types_build(struct hs_ocaml_session *s, const char *helper, const char *version,
                             char chosen[static PATH_MAX], struct hs_error *err)
{
    char built[PATH_MAX];

    HS_TRY(
        hs_progress_tell(s->dump->options->progress, "looking for the program's OCaml", 0, 0, err));
    if (hs_names_build_helper(helper, version, built, sizeof built))
        memcpy(chosen, built, sizeof built);
    return HS_OK;
}

static hs_status types_ask(struct hs_ocaml_session *s, const char *helper, struct hs_error *err)
{
    struct hs_buffer *question = &s->question;
    const struct hs_dump_options *o = s->dump->options;
    const struct hs_names_request request = {.dirs = o->names_dirs, .n_dirs = o->n_names_dirs};
    const uint64_t timeout_ns =
        o->names_timeout_ns != 0 ? o->names_timeout_ns : HS_NAMES_TIMEOUT_NS;
    char chosen[PATH_MAX], version[32] = "";
    struct hs_error failure = HS_ERROR_INIT;

    (void)hs_names_version(&s->dump->objects, version, sizeof version);
    hs_names_choose_helper(helper, version, chosen, sizeof chosen);
    if (strcmp(chosen, helper) == 0)
        HS_TRY(types_build(s, helper, version, chosen, err));
    if (access(chosen, X_OK) != 0)
        return HS_OK; /* none is installed */
    HS_TRY(hs_names_write_request(&request, &s->dump->target, &s->dump->objects, question, err));
    s->n_request_bytes = question->n_bytes;
    bool with_names = gives_names(o, version, helper, chosen);
    HS_TRY(put_seconds(question, timeout_ns, with_names, err));
    const struct hs_names_process process = {.program = chosen,
                                             .what = "source types",
                                             .input = question->bytes,
                                             .n_input_bytes = question->n_bytes,
                                             .uid = s->dump->target.uid,
                                             .gid = s->dump->target.gid,
                                             .timeout_ns = timeout_ns};
    hs_status status = hs_names_start(&process, &s->types_helper, &failure);
    if (status == HS_IO) {
        snprintf(s->source_types_note, sizeof s->source_types_note, "no source types: %s",
                 failure.message);
        return HS_OK;
    }
    if (status != HS_OK)
        *err = failure;
    s->names_come_late = with_names;
    return status;
}

hs_status hs_ocaml_start_source_types(struct hs_ocaml_session *s, struct hs_error *err)
{
    const struct hs_dump_options *o = s->dump->options;
    char helper[PATH_MAX];

    if (o->no_names || o->names_helper == NULL ||
        !helper_path(o->names_helper, helper, sizeof helper))
        return HS_OK;
    return types_ask(s, helper, err);
}

static hs_status types_collect(struct hs_ocaml_session *s, struct hs_error *err)
{
    const struct hs_sheap heap = {&s->rt, &s->map, &s->roots, &s->marks};
    struct hs_buffer answer = {0}, question = {0};
    char note[200] = "";

    if (s->types_helper.child == 0)
        return HS_OK;
    hs_status status = hs_sbodies_ask(&heap, &question, err);
    const struct hs_names_later later = {.bytes = question.bytes, .n_bytes = question.n_bytes};
    if (status == HS_OK)
        status = hs_names_collect(&s->types_helper, later, &answer, note, sizeof note, err);
    if (status == HS_OK)
        status = hs_ocaml_late_names(s, &answer, err);
    if (status == HS_OK)
        status = types_read(s, &answer, note, err);
    hs_buffer_fini(&answer);
    hs_buffer_fini(&question);
    return status;
}

/* ---- what is told of them */

static double share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* Tells that types are not complete; who dumps is told, too, as the same program has all types
 * another time. */
static hs_status tell_incomplete(struct hs_ocaml_session *s, struct hs_error *err)
{
    const char *of_names = hs_strtab_get(&s->dump->strings, s->names_remark);
    char text[2 * sizeof s->source_types_note];

    snprintf(text, sizeof text, "%s%s%s", of_names, s->names_remark == 0 ? "" : "; ",
             s->source_types_note);
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &s->names_remark, err));
    return hs_findings_note(&s->rt.findings, false, err, "%s", s->source_types_note);
}

static hs_status tell_counts(struct hs_ocaml_session *s, struct hs_error *err)
{
    const struct hs_spush_counts *c = &s->push.counts;
    const struct hs_ocaml_marks *m = &s->marks;

    return hs_findings_note(
        &s->rt.findings, false, err,
        "source types: %.1f %% of %llu structured blocks (%.1f %% of words); %llu fits, "
        "%llu agreements, %llu joins, %llu misfits, %llu conflicts",
        share(c->n_typed_blocks, m->n_structured_blocks),
        (unsigned long long)m->n_structured_blocks, share(c->n_typed_words, m->n_structured_words),
        (unsigned long long)c->n_fits, (unsigned long long)c->n_agreements,
        (unsigned long long)c->n_joins, (unsigned long long)c->n_misfits,
        (unsigned long long)c->n_conflicts);
}

static hs_status tell_probable(struct hs_ocaml_session *s, struct hs_error *err)
{
    const struct hs_spush_counts *c = &s->push.counts;

    if (c->n_probable_blocks == 0 && c->n_unlikely == 0)
        return HS_OK;
    return hs_findings_note(&s->rt.findings, false, err,
                            "source types: %llu of these blocks only probably, by variables in "
                            "scope at the calls on stacks; %llu times what these lead to did not "
                            "fit, and got no type",
                            (unsigned long long)c->n_probable_blocks,
                            (unsigned long long)c->n_unlikely);
}

/* Tells behind which types most of what does not fit is. */
static hs_status tell_charged(struct hs_ocaml_session *s, struct hs_error *err)
{
    const struct hs_spush *push = &s->push;
    uint32_t largest[CHARGED_MOST] = {0};
    hs_stype types[CHARGED_MOST] = {0};
    char text[320] = "";
    size_t used = 0;

    for (hs_stype i = 0; i < push->n_charged; i++) {
        unsigned at = CHARGED_MOST;
        while (at > 0 && largest[at - 1] < push->charged[i])
            at--;
        for (unsigned k = CHARGED_MOST - 1; k > at; k--) {
            largest[k] = largest[k - 1];
            types[k] = types[k - 1];
        }
        if (at < CHARGED_MOST) {
            largest[at] = push->charged[i];
            types[at] = i;
        }
    }
    for (unsigned i = 0; i < CHARGED_MOST && largest[i] != 0 && used < sizeof text; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%u behind %.80s", i == 0 ? "" : ", ", largest[i],
            hs_strtab_get(&push->tables->strings, push->tables->types[types[i]].display));
    return used == 0 ? HS_OK
                     : hs_findings_note(&s->rt.findings, false, err,
                                        "source types: blocks that do not fit: %s", text);
}

static hs_status tell_units(struct hs_ocaml_session *s, struct hs_error *err)
{
    static const struct {
        enum hs_sunit_state state;
        const char *what;
    } states[] = {
        {HS_SUNIT_NO_CMT, "have no .cmt"},
        {HS_SUNIT_STALE, "have a .cmt of another build"},
        {HS_SUNIT_NO_FILE, "have neither .cmi nor .cmt"},
    };
    const struct hs_stables *t = &s->source_types;
    uint64_t n_lacking = t->n_units[1] + t->n_units[2] + t->n_units[3];
    uint64_t n_units = n_lacking + t->n_units[HS_SUNIT_TYPED];
    char text[160] = "", names[160] = "";
    size_t used = 0;

    if (n_lacking == 0)
        return HS_OK;
    for (size_t i = 0; i < sizeof states / sizeof *states && used < sizeof text; i++)
        if (t->n_units[states[i].state] != 0)
            used += (size_t)snprintf(
                text + used, sizeof text - used, "%s%llu %s", used == 0 ? "" : ", ",
                (unsigned long long)t->n_units[states[i].state], states[i].what);
    used = 0;
    for (size_t i = 0; i < 3 && t->missing[i] != 0 && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", i == 0 ? "" : ", ",
                                 hs_strtab_get(&t->strings, t->missing[i]));
    return hs_findings_note(
        &s->rt.findings, false, err,
        "source types: of %llu units, %s (%s%s); the program's -dev package may have them, or the "
        "directory it was built in: --names-path",
        (unsigned long long)n_units, text, names, n_lacking > 3 ? ", ..." : "");
}

/* Tells the containers by shape, of blocks without a source type. */
static hs_status tell_shapes(struct hs_ocaml_session *s, struct hs_error *err)
{
    const struct hs_spush_counts *c = &s->push.counts;
    const struct hs_ocaml_marks *m = &s->marks;

    if (c->n_shaped_blocks == 0 && !c->shapes_stopped)
        return HS_OK;
    return hs_findings_note(
        &s->rt.findings, false, err,
        "shapes: %.1f %% of %llu structured blocks (%.1f %% of words) are told by their shape "
        "alone: lists, maps, sets, hash tables, queues, stacks%s",
        share(c->n_shaped_blocks, m->n_structured_blocks),
        (unsigned long long)m->n_structured_blocks, share(c->n_shaped_words, m->n_structured_words),
        c->shapes_stopped ? "; not all blocks were looked at, for that would have cost too much"
                          : "");
}

static hs_status tell_all(struct hs_ocaml_session *s, bool has_source, struct hs_error *err)
{
    if (has_source) {
        HS_TRY(tell_counts(s, err));
        HS_TRY(tell_probable(s, err));
        HS_TRY(tell_charged(s, err));
    }
    return tell_shapes(s, err);
}

hs_status hs_ocaml_push_source_types(struct hs_ocaml_session *s, struct hs_error *err)
{
    struct hs_error failure = HS_ERROR_INIT;

    HS_TRY(hs_progress_tell(s->dump->options->progress, "finding source types", 0, 0, err));
    HS_TRY(types_collect(s, err));
    if (s->source_types_note[0] != '\0')
        HS_TRY(tell_incomplete(s, err));
    HS_TRY(tell_units(s, err));
    bool has_source = s->source_types.n_types != 0;
    s->push.tables = &s->source_types;
    const struct hs_sheap heap = {&s->rt, &s->map, &s->roots, &s->marks};
    HS_TRY(hs_slocal_add(&s->push, &heap, err));
    HS_TRY(hs_sshapes_add(&s->push, err));
    hs_status status =
        hs_spush_run(&s->push, &s->rt, &s->map, &s->roots, &s->marks, &s->dump->plan, &failure);
    if (status == HS_LIMIT)
        return hs_findings_note(&s->rt.findings, false, err, "no source types: %s",
                                failure.message);
    if (status != HS_OK) {
        *err = failure;
        return status;
    }
    return tell_all(s, has_source, err);
}
