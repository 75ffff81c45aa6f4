/* The notes of a core: one NT_PRSTATUS per thread and its vector registers, NT_PRPSINFO, NT_AUXV,
 * NT_FILE.
 *
 *   u32 name bytes, u32 contents bytes, u32 type, name, contents     each padded to 4 bytes
 *
 * Headers are read where they lie, contents only of the notes that are used. Sources: core(5),
 * include/uapi/linux/elfcore.h, fill_files_note in fs/binfmt_elf.c. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "core_private.h"
#include "target/kernel_words.h"

enum {
    NOTE_HEAD_BYTES = 12,
    NOTE_NAME_BYTES = 8, /* "CORE" and its padding */
    /* struct elf_prstatus */
    STATUS_TID_AT = 32,
    STATUS_REGS_AT = 112,
    /* struct elf_prpsinfo */
    INFO_PID_AT = 24,
    INFO_NAME_AT = 40,
    INFO_NAME_BYTES = 16,
    INFO_ARGS_BYTES = 80,
    INFO_BYTES = 136,
    AUXV_BYTES = 16,
    AUXV_MAX_BYTES = 1 << 14,
    FILE_ROW_BYTES = 24,
    FILE_MAX_BYTES = 1 << 26,
    STATE_MAX_BYTES = 1 << 14,
};

struct note {
    uint32_t type;
    uint64_t at, n_bytes; /* of its contents */
};

struct notes_read {
    struct hs_core *core;
    struct hs_target *target;
    bool has_info, has_files;
};

enum note_origin { NOTE_OF_CORE, NOTE_OF_LINUX, NOTE_OF_OTHERS };

/* The next note at *at; false at the end or where the rest makes no sense. */
static bool notes_next(struct hs_core *core, uint64_t *at, uint64_t end, struct note *ret,
                       enum note_origin *ret_origin)
{
    uint8_t bytes[NOTE_HEAD_BYTES + NOTE_NAME_BYTES];
    struct hs_error ignored = HS_ERROR_INIT;

    if (end - *at < sizeof bytes ||
        hs_core_file_read(core->file, *at, bytes, sizeof bytes, &ignored) != HS_OK)
        return false;
    struct hs_cursor c = hs_cursor_make(bytes, sizeof bytes);
    uint64_t n_name = hs_cursor_u32(&c), n = hs_cursor_u32(&c);
    ret->type = hs_cursor_u32(&c);
    *ret_origin = NOTE_OF_OTHERS;
    if (n_name == 5 && memcmp(bytes + NOTE_HEAD_BYTES, "CORE", 5) == 0)
        *ret_origin = NOTE_OF_CORE;
    if (n_name == 6 && memcmp(bytes + NOTE_HEAD_BYTES, "LINUX", 6) == 0)
        *ret_origin = NOTE_OF_LINUX;
    ret->at = *at + NOTE_HEAD_BYTES + ((n_name + 3) & ~UINT64_C(3));
    ret->n_bytes = n;
    if (ret->at > end || n > end - ret->at) {
        core->n_damaged++;
        return false;
    }
    uint64_t next = ret->at + ((n + 3) & ~UINT64_C(3));
    *at = next < end ? next : end;
    return true;
}

static hs_status notes_contents(const struct hs_core *core, const struct note *note, size_t n_bytes,
                                void *bytes, struct hs_error *err)
{
    return hs_core_file_read(core->file, note->at, bytes, n_bytes, err);
}

static hs_status notes_thread(struct notes_read *r, const struct note *note, struct hs_error *err)
{
    uint8_t bytes[HS_PRSTATUS_BYTES];
    struct hs_target *target = r->target;
    struct hs_thread thread = {0};

    if (note->n_bytes < sizeof bytes) {
        r->core->n_damaged++;
        return HS_OK;
    }
    HS_TRY(notes_contents(r->core, note, sizeof bytes, bytes, err));
    struct hs_cursor c = hs_cursor_make(bytes, sizeof bytes);
    hs_cursor_seek(&c, STATUS_TID_AT);
    thread.tid = (pid_t)hs_cursor_u32(&c);
    static_assert(HS_PRSTATUS_REGS_BYTES <= sizeof thread.regs);
    memcpy(&thread.regs, bytes + STATUS_REGS_AT, HS_PRSTATUS_REGS_BYTES);
    if (thread.tid <= 0) {
        r->core->n_damaged++;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&target->threads, &target->threads_capacity, target->n_threads + 1, err));
    target->threads[target->n_threads++] = thread;
    return HS_OK;
}

/* Arguments, else "[name]"; what is no text becomes '?' as in the command of a live process. */
static hs_status notes_command(struct hs_target *target, const uint8_t *info, struct hs_error *err)
{
    char text[INFO_ARGS_BYTES + 1] = {0};
    size_t n;

    memcpy(target->name, info + INFO_NAME_AT, INFO_NAME_BYTES);
    target->name[INFO_NAME_BYTES - 1] = '\0';
    memcpy(text, info + INFO_NAME_AT + INFO_NAME_BYTES, INFO_ARGS_BYTES);
    for (n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
    if (n == 0) {
        memset(text, 0, sizeof text);
        memcpy(text, info + INFO_NAME_AT, INFO_NAME_BYTES);
    }
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    hs_free(HS_STEAL(target->command));
    return hs_strdup(text, &target->command, err);
}

static hs_status notes_info(struct notes_read *r, const struct note *note, struct hs_error *err)
{
    uint8_t bytes[INFO_BYTES];

    if (r->has_info || note->n_bytes < sizeof bytes) {
        r->core->n_damaged++;
        return HS_OK;
    }
    HS_TRY(notes_contents(r->core, note, sizeof bytes, bytes, err));
    struct hs_cursor c = hs_cursor_make(bytes, sizeof bytes);
    hs_cursor_seek(&c, INFO_PID_AT);
    r->target->pid = (pid_t)hs_cursor_u32(&c);
    r->has_info = true;
    return notes_command(r->target, bytes, err);
}

static hs_status notes_auxv(struct notes_read *r, const struct note *note, struct hs_error *err)
{
    uint8_t bytes[AUXV_MAX_BYTES];
    size_t n = note->n_bytes < sizeof bytes ? (size_t)note->n_bytes : sizeof bytes;
    struct hs_core_auxv *auxv = &r->core->auxv;

    HS_TRY(notes_contents(r->core, note, n, bytes, err));
    struct hs_cursor c = hs_cursor_make(bytes, n);
    while (hs_cursor_left(&c) >= AUXV_BYTES) {
        uint64_t key = hs_cursor_u64(&c), value = hs_cursor_u64(&c);
        if (key == AT_NULL)
            break;
        if (key == AT_PHDR)
            auxv->phdr = value;
        else if (key == AT_ENTRY)
            auxv->entry = value;
        else if (key == AT_RANDOM)
            auxv->random = value;
        else if (key == AT_EXECFN)
            auxv->execfn = value;
        else if (key == AT_SYSINFO_EHDR)
            auxv->vdso = value;
    }
    return HS_OK;
}

/* Rows of one file stand together, so the path before is the only one looked at. A file that is
 * mapped at two places becomes two binaries: that costs a second look at it. */
static hs_status notes_binary(struct hs_core *core, const char *path, uint32_t *ret,
                              struct hs_error *err)
{
    size_t n = strlen(path) + 1;

    if (core->n_binaries != 0 &&
        strcmp(core->paths + core->binaries[core->n_binaries - 1].path_at, path) == 0) {
        *ret = (uint32_t)core->n_binaries - 1;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&core->paths, &core->paths_capacity, core->n_path_bytes + n, err));
    HS_TRY(HS_GROW(&core->binaries, &core->binaries_capacity, core->n_binaries + 1, err));
    memcpy(core->paths + core->n_path_bytes, path, n);
    core->binaries[core->n_binaries] =
        (struct hs_core_binary){.path_at = (uint32_t)core->n_path_bytes, .first_row = HS_CORE_NONE};
    core->n_path_bytes += n;
    *ret = (uint32_t)core->n_binaries++;
    return HS_OK;
}

static hs_status notes_rows(struct hs_core *core, const uint8_t *bytes, size_t n_bytes,
                            struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes), names = c;
    uint64_t n = hs_cursor_u64(&c), unit = hs_cursor_u64(&c), names_at;

    if (c.failed || !hs_mul_fits(n, FILE_ROW_BYTES, &names_at) || names_at > hs_cursor_left(&c)) {
        core->n_damaged++;
        return HS_OK;
    }
    hs_cursor_seek(&names, c.at + (size_t)names_at);
    for (uint64_t i = 0; i < n; i++) {
        struct hs_core_row row = {.begin = hs_cursor_u64(&c), .end = hs_cursor_u64(&c)};
        uint64_t pages = hs_cursor_u64(&c);
        const char *path = hs_cursor_string(&names);
        if (path == NULL || row.begin >= row.end || row.begin % HS_CORE_PAGE != 0 ||
            row.end % HS_CORE_PAGE != 0 || !hs_mul_fits(pages, unit, &row.file_offset) ||
            row.file_offset > INT64_MAX - (row.end - row.begin)) {
            core->n_damaged++;
            continue;
        }
        HS_TRY(notes_binary(core, path, &row.binary, err));
        HS_TRY(HS_GROW(&core->rows, &core->rows_capacity, core->n_rows + 1, err));
        core->rows[core->n_rows++] = row;
    }
    return HS_OK;
}

static hs_status notes_files(struct notes_read *r, const struct note *note, struct hs_error *err)
{
    void *bytes;

    if (r->has_files || note->n_bytes > FILE_MAX_BYTES) {
        r->core->n_damaged++;
        return HS_OK;
    }
    r->has_files = true;
    HS_TRY(hs_alloc(note->n_bytes, 1, &bytes, err));
    hs_status status = notes_contents(r->core, note, note->n_bytes, bytes, err);
    if (status == HS_OK)
        status = notes_rows(r->core, bytes, note->n_bytes, err);
    hs_free(bytes);
    return status;
}

/* Vector registers of the thread whose status stands before. */
static hs_status notes_state(struct notes_read *r, const struct note *note, struct hs_error *err)
{
    uint8_t bytes[STATE_MAX_BYTES];
    size_t n_bytes = note->n_bytes < sizeof bytes ? note->n_bytes : sizeof bytes;

    if (r->target->n_threads == 0)
        return HS_OK;
    HS_TRY(notes_contents(r->core, note, n_bytes, bytes, err));
    return hs_kernel_words_of_state(r->target, r->target->threads[r->target->n_threads - 1].tid,
                                    bytes, n_bytes, err);
}

static hs_status notes_take(struct notes_read *r, const struct note *note, struct hs_error *err)
{
    switch (note->type) {
    case NT_PRSTATUS:
        return notes_thread(r, note, err);
    case NT_PRPSINFO:
        return notes_info(r, note, err);
    case NT_AUXV:
        return notes_auxv(r, note, err);
    case NT_FILE:
        return notes_files(r, note, err);
    case NT_FPREGSET:
        return notes_state(r, note, err);
    default:
        return HS_OK;
    }
}

static int notes_compare_threads(const void *a, const void *b)
{
    const struct hs_thread *x = a, *y = b;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void notes_sort_threads(struct hs_core *core, struct hs_target *target)
{
    size_t n = 0;

    qsort(target->threads, target->n_threads, sizeof *target->threads, notes_compare_threads);
    for (size_t i = 0; i < target->n_threads; i++) {
        if (n != 0 && target->threads[n - 1].tid == target->threads[i].tid)
            core->n_damaged++;
        else
            target->threads[n++] = target->threads[i];
    }
    target->n_threads = n;
}

static int notes_compare_rows(const void *a, const void *b)
{
    const struct hs_core_row *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static void notes_sort_rows(struct hs_core *core)
{
    size_t n = 0;
    hs_addr end = 0;

    if (core->n_rows != 0)
        qsort(core->rows, core->n_rows, sizeof *core->rows, notes_compare_rows);
    for (size_t i = 0; i < core->n_rows; i++) {
        struct hs_core_row row = core->rows[i];
        core->n_damaged += row.begin < end;
        if (row.end <= end)
            continue;
        if (row.begin < end) {
            row.file_offset += end - row.begin;
            row.begin = end;
        }
        end = row.end;
        if (core->binaries[row.binary].first_row == HS_CORE_NONE)
            core->binaries[row.binary].first_row = (uint32_t)n;
        core->rows[n++] = row;
    }
    core->n_rows = n;
}

hs_status hs_core_read_notes(struct hs_core *core, struct hs_target *target, struct hs_error *err)
{
    struct notes_read r = {.core = core, .target = target};
    struct note note;
    enum note_origin origin;

    for (size_t i = 0; i < core->n_notes; i++) {
        uint64_t at = core->notes[i].at, end = at + core->notes[i].n_bytes;
        while (notes_next(core, &at, end, &note, &origin)) {
            if (origin == NOTE_OF_CORE)
                HS_TRY(notes_take(&r, &note, err));
            if (origin == NOTE_OF_LINUX && note.type == HS_ARCH_STATE_NOTE)
                HS_TRY(notes_state(&r, &note, err));
        }
    }
    if (target->n_threads == 0) {
        (void)hs_fail(err, HS_FORMAT, "cannot use '%s' as a core: no thread is in it",
                      core->file->name);
        return hs_hint(err, "it is cut within its first pages, or no core of a process");
    }
    notes_sort_threads(core, target);
    notes_sort_rows(core);
    if (target->pid <= 0)
        target->pid = target->threads[0].tid;
    return target->command == NULL ? hs_strdup("?", &target->command, err) : HS_OK;
}
