/* CPython, as the driver of a dump sees it (runtimes/runtime.h). Its blocks are the allocators'. */
#include <limits.h>

#include "base/alloc.h"
#include "python.h"

/* The bounds of what a process may ask for: so much, and so much more for each block that it has.
 */
enum { REASON_BYTES = 160, LOOKS = 1 << 22, LOOKS_OF_A_BLOCK = 64 };
enum { NAMES_SHARE = 4 }; /* of the memory that is left then: a quarter for its names */

static bool python_serves(const struct hs_objects *objects)
{
    return hs_python_object(objects) != NULL;
}

static hs_status python_open(struct hs_dump *dump, void **ret_state, struct hs_error *err)
{
    struct py_state *s;

    HS_TRY(HS_ALLOC(&s, 1, err));
    s->dump = dump;
    s->view.dump = dump;
    s->view.looks_left = &s->looks_left;
    s->findings.strings = &dump->strings;
    *ret_state = s;
    return HS_OK;
}

static void python_forget(void *state)
{
    struct py_state *s = state;

    hs_python_blocks_fini(&s->blocks);
    hs_python_classes_fini(&s->classes);
    hs_python_names_fini(&s->names);
    hs_bitmap_fini(&s->named);
    hs_bitmap_fini(&s->own);
    hs_roots_fini(&s->roots);
    s->roots = (struct hs_roots){0};
    s->is_known = false;
    s->n_modules = s->n_names = s->n_definitions = 0;
    hs_findings_fini(&s->findings);
    s->findings = (struct hs_findings){.strings = &s->dump->strings};
}

static void python_close(void *state)
{
    struct py_state *s = state;

    if (s == NULL)
        return;
    python_forget(s);
    hs_findings_fini(&s->findings);
    hs_free(s);
}

/* Does nothing: what is copied is the native runtime's to choose: all private memory. */
static hs_status python_nothing(void *state, struct hs_error *err)
{
    (void)state;
    (void)err;
    return HS_OK;
}

static void python_rehearse(void *state, bool copies)
{
    (void)state;
    (void)copies;
}

static void allow_looks(struct py_state *s)
{
    const uint64_t most = UINT64_C(1) << 27, n_blocks = s->dump->heaps.map.n_blocks;
    s->looks_left = n_blocks < most / LOOKS_OF_A_BLOCK ? LOOKS + n_blocks * LOOKS_OF_A_BLOCK : most;
}

static hs_status python_roots(void *state, struct hs_error *err)
{
    struct py_state *s = state;
    char reason[REASON_BYTES];

    allow_looks(s);
    if (!hs_python_locate(&s->view, &s->interpreter, reason, sizeof reason))
        return reason[0] == '\0'
                   ? HS_OK
                   : hs_findings_note(&s->findings, false, err,
                                      "%s; its objects are read as memory of C", reason);
    if (s->interpreter.is_told)
        HS_TRY(hs_findings_note(&s->findings, true, err,
                                "python 3.%u: its interpreter is read as it says itself, not as "
                                "that version has it: codecs and callbacks of atexit have no names",
                                s->view.layout->minor));
    if (s->interpreter.n_more != 0)
        HS_TRY(hs_findings_note(&s->findings, true, err,
                                "python: %u more interpreters in the process; their objects are "
                                "read as memory of C",
                                s->interpreter.n_more));
    HS_TRY(hs_dump_plan_reserve(&s->dump->plan,
                                s->dump->heaps.map.n_blocks * sizeof *s->blocks.known,
                                "what Python's blocks are", err));
    HS_TRY(hs_python_find_blocks(&s->view, &s->classes, &s->blocks, err));
    hs_python_find_spare(s);
    HS_TRY(hs_strtab_add(&s->dump->strings, "interned texts", &s->interned_name, err));
    s->is_known = true;
    if (s->classes.is_full)
        HS_TRY(hs_findings_note(&s->findings, true, err,
                                "python: more types than are remembered; objects of the rest are "
                                "read as memory of C"));
    allow_looks(s);
    if (s->dump->options->no_names)
        return hs_python_label_classes(s, /* reads_names= */ false, err);
    HS_TRY(hs_dump_plan_reserve(&s->dump->plan, s->dump->heaps.map.n_blocks / CHAR_BIT * 2,
                                "what Python's names hold", err));
    HS_TRY(hs_bitmap_init(&s->named, s->dump->heaps.map.n_blocks, err));
    s->lacks_memory = false;
    s->most_name_bytes = hs_dump_plan_room(&s->dump->plan) / NAMES_SHARE;
    s->main_file = hs_python_main_file(&s->view, s->interpreter.modules);
    HS_TRY(hs_python_name_modules(s, err));
    HS_TRY(hs_python_name_locals(s, err));
    HS_TRY(hs_python_name_kept(s, err));
    HS_TRY(hs_python_name_frames(s, err));
    HS_TRY(hs_python_name_tasks(s, err));
    HS_TRY(hs_python_name_greenlets(s, err));
    HS_TRY(hs_python_name_states(s, err));
    HS_TRY(hs_python_name_syntax(s, err));
    HS_TRY(hs_python_label_classes(s, /* reads_names= */ true, err));
    HS_TRY(hs_python_find_shapes(s, err));
    if (s->lacks_memory)
        HS_TRY(hs_findings_note(&s->findings, true, err,
                                "python: memory for %llu names alone, the rest has none: allow "
                                "more with --memory",
                                (unsigned long long)s->n_names));
    else if (s->looks_left == 0)
        HS_TRY(hs_findings_note(&s->findings, true, err,
                                "python: more names than were looked at; the rest has none"));
    return hs_findings_note(
        &s->findings, false, err,
        "python 3.%u: %llu names of %llu modules and of frames are roots, %llu of them definitions",
        s->view.layout->minor, (unsigned long long)s->n_names, (unsigned long long)s->n_modules,
        (unsigned long long)s->n_definitions);
}

static const struct hs_roots *python_leaves(const void *state)
{
    const struct py_state *s = state;
    return &s->roots;
}

static const struct hs_object_model *python_objects(const void *state)
{
    const struct py_state *s = state;
    return s->is_known ? &hs_python_objects : NULL;
}

static hs_status python_facts(void *state, struct hs_runtime_facts *ret,
                              struct hs_snap_facts *facts, struct hs_error *err)
{
    struct py_state *s = state;

    (void)facts;
    (void)err;
    *ret = (struct hs_runtime_facts){.findings = &s->findings};
    return HS_OK;
}

/* ---- it has no blocks of its own */

static uint64_t python_n_blocks(const void *state)
{
    (void)state;
    return 0;
}

static uint64_t python_below(const void *state, hs_addr address)
{
    (void)state;
    (void)address;
    return 0;
}

static uint64_t python_rank(const void *state, hs_addr block)
{
    (void)state;
    (void)block;
    return HS_NO_NODE;
}

static bool python_peek(void *state, hs_addr *ret)
{
    (void)state;
    (void)ret;
    return false;
}

static hs_status python_next(void *state, hs_addr not_before, struct hs_runtime_block *ret,
                             struct hs_error *err)
{
    (void)state;
    (void)not_before;
    (void)ret;
    return hs_fail(err, HS_LIMIT, "python has no blocks of its own");
}

static hs_status python_types(void *state, struct hs_type_tables *ret, struct hs_error *err)
{
    (void)state;
    (void)err;
    *ret = (struct hs_type_tables){0};
    return HS_OK;
}

static hs_status python_samples(void *state, struct hs_runtime_samples *ret, struct hs_error *err)
{
    (void)state;
    (void)err;
    *ret = (struct hs_runtime_samples){0};
    return HS_OK;
}

const struct hs_runtime hs_runtime_python = {
    .name = "python",
    .has_no_blocks = true,
    .bytes_of_a_block = sizeof(uint64_t),
    .serves = python_serves,
    .open = python_open,
    .close = python_close,
    .prepare = python_nothing,
    .rehearse = python_rehearse,
    .forget = python_forget,
    .copy = python_nothing,
    .list = python_nothing,
    .roots = python_roots,
    .leaves = python_leaves,
    .facts = python_facts,
    .n_blocks = python_n_blocks,
    .below = python_below,
    .rank = python_rank,
    .peek = python_peek,
    .next = python_next,
    .objects = python_objects,
    .types = python_types,
    .samples = python_samples,
};
