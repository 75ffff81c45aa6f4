/* record: runs a program and writes where its memory was allocated. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "commands.h"
#include "program_find.h"
#include "run.h"
#include "switch.h"
#include <heapsnap/recorded.h>

#define OCAML_RATE_BYTES 80000 /* 1e-4 samples per word, what Gc.Memprof is known to bear */

static hs_status check_options(const struct hs_invocation *inv, struct hs_error *err)
{
    if (hs_given(inv, HS_OPT_RATE) && inv->number[HS_OPT_RATE] == 0)
        return hs_fail(err, HS_USAGE, "--rate: a sample every 0 bytes cannot be taken");
    if (hs_given(inv, HS_OPT_SEND_TO) && !hs_given(inv, HS_OPT_TOKEN)) {
        (void)hs_fail(err, HS_USAGE, "--to needs --token");
        return hs_hint(err, "the file that the 'heapsnap gather' there was given");
    }
    if (hs_given(inv, HS_OPT_TRACE_FILE) && strcmp(inv->text[HS_OPT_TRACE_FILE], "-") == 0) {
        (void)hs_fail(err, HS_USAGE,
                      "cannot write the trace to standard output: it is the "
                      "program's");
        return hs_hint(err, "-o FILE, or -o of a named pipe");
    }
    return HS_OK;
}

/* A traced file is worth nothing when the program never spoke. */
static void talk_result(const struct hs_recording *r)
{
    uint64_t n_allocs = 0, n_missing = 0, n_bytes = 0, n_cut = r->files.n_homeless;
    char size[HS_UNIT_TEXT_BYTES];
    for (size_t i = 0; i < r->files.n_files; i++) {
        n_allocs += r->files.files[i].n_allocs;
        n_missing += r->files.files[i].n_missing;
        n_bytes += r->files.files[i].n_bytes;
        n_cut += r->files.files[i].n_cut;
    }
    hs_format_bytes(n_bytes, size);
    if (r->files.n_files != 0)
        hs_talk("%lu sampled allocations of process %d in '%s' (%s)%s", (unsigned long)n_allocs,
                r->pid, r->files.files[0].name, size,
                r->files.n_files > 1 ? " and others beside it" : "");
    if (n_missing != 0)
        hs_talk("%lu more were lost on the way: too many at once", (unsigned long)n_missing);
    if (n_cut != 0)
        hs_talk("%lu more came and could not be written", (unsigned long)n_cut);
    if (r->held.n_torn != 0)
        hs_talk("the last packet of %lu programs was being written when they ended, and is lost",
                (unsigned long)r->held.n_torn);
    if (r->n_damaged != 0)
        hs_talk("%lu packets were damaged and left out", (unsigned long)r->n_damaged);
    for (size_t i = 0; i < hs_namer_n_notes(r->namer); i++)
        hs_talk("%s", hs_namer_note(r->namer, i));
}

/* Says why OCaml's own heap was not sampled. */
static void talk_ocaml(const struct hs_recording *r, bool is_ocaml)
{
    static const char *const reasons[HS_RECORD_N_OCAML] = {
        [HS_RECORD_OCAML_BYTECODE] = "it runs bytecode",
        [HS_RECORD_OCAML_UNABLE] = "OCaml 5.0 to 5.2 have no sampler (Gc.Memprof)",
        [HS_RECORD_OCAML_UNKNOWN] = "its runtime is of a version that is not known",
        [HS_RECORD_OCAML_GUARDED] = "its code cannot be changed, as is needed to give way to the "
                                    "program's own use of Gc.Memprof",
        [HS_RECORD_OCAML_REFUSED] = "its sampler (Gc.Memprof) is in use already",
    };
    if (r->held.ocaml == HS_RECORD_OCAML_OF_PROGRAM)
        hs_talk("OCaml's own heap was sampled until the program used Gc.Memprof itself");
    else if (reasons[r->held.ocaml] != NULL)
        hs_talk("OCaml's own heap was not sampled: %s", reasons[r->held.ocaml]);
    else if (r->held.ocaml == HS_RECORD_OCAML_NONE && is_ocaml)
        hs_talk("OCaml's own heap was not sampled: its runtime was not seen to start");
}

static void talk_sender(const struct hs_sender *sender, const char *place)
{
    struct hs_wire_counts counts = hs_sender_counts(sender);
    const char *trouble = hs_sender_trouble(sender);
    hs_talk("%lu packets sent to '%s', %lu dropped (%lu bytes)%s%s", (unsigned long)counts.n_sent,
            place, (unsigned long)counts.n_dropped, (unsigned long)counts.n_dropped_bytes,
            trouble != NULL ? ": " : "", trouble != NULL ? trouble : "");
}

/* Passes on the program's exit. Its own status wins over ours: whoever runs a program through us
 * wants that. */
static hs_status pass_on(struct hs_tool *tool, const struct hs_recording *r, struct hs_error *err)
{
    tool->exit_code = r->exit_code;
    tool->exit_signal = r->exit_signal;
    if (!r->is_failed || r->exit_code != 0 || r->exit_signal != 0)
        return HS_OK;
    return hs_fail(err, HS_IO, "the trace of '%s' is not whole", r->program);
}

static hs_status record(struct hs_tool *tool, const struct hs_invocation *inv,
                        struct hs_recording *r, struct hs_error *err)
{
    bool is_ocaml = hs_program_is_ocaml(r->program);
    if (is_ocaml && r->rate_bytes == 0 && (r->ocaml == NULL || strcmp(r->ocaml, "off") != 0))
        r->rate_bytes = OCAML_RATE_BYTES;
    const char *debug_dirs[HS_MAX_REPEATED];
    size_t n_dirs = hs_repeated(inv, HS_OPT_DEBUG_PATH, debug_dirs);
    hs_auto(hs_namer) *namer = NULL;
    HS_TRY(hs_namer_new(debug_dirs, n_dirs, &namer, err));
    r->namer = namer;
    HS_TRY(hs_recording_run(r, err));
    if (!r->has_heard) {
        r->is_failed = true;
        hs_talk("'%s' sent nothing: the recorder's library was not loaded into it", r->program);
    }
    if (!hs_given(inv, HS_OPT_QUIET)) {
        talk_result(r);
        talk_ocaml(r, is_ocaml);
    }
    if (r->sender != NULL && (!hs_given(inv, HS_OPT_QUIET) || hs_sender_trouble(r->sender) != NULL))
        talk_sender(r->sender, inv->text[HS_OPT_SEND_TO]);
    r->is_failed |= r->sender != NULL && hs_sender_trouble(r->sender) != NULL;
    return pass_on(tool, r, err);
}

static hs_status open_sender(const struct hs_invocation *inv, struct hs_token *token,
                             struct hs_sender **ret, struct hs_error *err)
{
    if (!hs_given(inv, HS_OPT_SEND_TO))
        return HS_OK;
    HS_TRY(hs_token_load(inv->text[HS_OPT_TOKEN], token, err));
    return hs_sender_open(inv->text[HS_OPT_SEND_TO], token, ret, err);
}

/* A place that cannot be reached is no reason for the program not to run; words that cannot be
 * meant are. */
static hs_status open_or_go_without(const struct hs_invocation *inv, struct hs_token *token,
                                    struct hs_sender **ret, bool *ret_is_failed,
                                    struct hs_error *err)
{
    hs_status status = open_sender(inv, token, ret, err);
    if (status == HS_OK || status == HS_USAGE)
        return status;
    *ret_is_failed = true;
    hs_talk_error(err);
    *err = (struct hs_error)HS_ERROR_INIT;
    if (!hs_given(inv, HS_OPT_TRACE_FILE))
        hs_talk("'%s' runs all the same; nothing is recorded", inv->rest[0]);
    return HS_OK;
}

hs_status hs_cmd_record(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    char program[PATH_MAX], library[PATH_MAX];
    struct hs_token token = {0};
    if (hs_given(inv, HS_OPT_SWITCH))
        return hs_record_switch(inv, err);
    HS_TRY(check_options(inv, err));
    HS_TRY(hs_program_find(inv->rest[0], program, err));
    HS_TRY(hs_program_library(library, err));
    hs_auto(hs_sender) *sender = NULL;
    bool is_failed = false;
    hs_status status = open_or_go_without(inv, &token, &sender, &is_failed, err);
    struct hs_recording r = {
        .command = inv->rest,
        .program = program,
        .library = library,
        .output = hs_given(inv, HS_OPT_TRACE_FILE) ? inv->text[HS_OPT_TRACE_FILE] : NULL,
        .access = &tool->access,
        .ignored = &tool->ignored,
        .rate_bytes = hs_given(inv, HS_OPT_RATE) ? inv->number[HS_OPT_RATE] : 0,
        .stacks = hs_given(inv, HS_OPT_STACKS) ? inv->text[HS_OPT_STACKS] : NULL,
        .start = hs_given(inv, HS_OPT_START) ? inv->text[HS_OPT_START] : NULL,
        .ocaml = hs_given(inv, HS_OPT_OCAML) ? inv->text[HS_OPT_OCAML] : NULL,
        .with_children = hs_given(inv, HS_OPT_CHILDREN),
        .keeps_file = hs_given(inv, HS_OPT_TRACE_FILE) || !hs_given(inv, HS_OPT_SEND_TO),
        .is_failed = is_failed,
        .sender = sender,
    };
    if (status == HS_OK) {
        status = record(tool, inv, &r, err);
        hs_recording_fini(&r);
    }
    hs_token_fini(&token);
    return status;
}
