#include "copy.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "rules/rules.h"

/* A private map of a file that is larger is data that was read, not memory that was made. */
#define FILE_BYTES_MAX (UINT64_C(256) << 20)
/* Shared memory is mostly the buffers of a database, in which there are no pointers of one process.
 */
#define SHARED_BYTES_MAX (UINT64_C(256) << 20)

enum { COPY_NOTE_BYTES = 160 };

enum copy_verdict {
    COPY_IT,
    COPY_NOTHING_THERE, /* unreadable, the kernel's, constant parts of files */
    COPY_SHARED,
    COPY_LARGE_FILE
};

static bool copy_is_device(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/zero", 9) != 0 &&
           strncmp(path, "/dev/shm/", 9) != 0;
}

static enum copy_verdict copy_judge(const struct hs_native *native, const struct hs_mapping *m)
{
    const char *path = hs_mapping_path(&native->dump->target, m);

    if (strncmp(path, "[v", 2) == 0 || copy_is_device(path))
        return COPY_NOTHING_THERE;
    if (m->shared)
        return hs_mapping_is_shared_memory(&native->dump->target, m) ? COPY_SHARED
                                                                     : COPY_NOTHING_THERE;
    if (m->inode == 0)
        return COPY_IT; /* once written, perhaps protected since */
    if (!m->readable)
        return COPY_NOTHING_THERE;
    if (!m->writable)
        return COPY_NOTHING_THERE; /* relocated read-only data is copied by object */
    if (m->end - m->begin > FILE_BYTES_MAX &&
        hs_objects_object_at(&native->dump->objects, m->begin) == NULL)
        return COPY_LARGE_FILE;
    return COPY_IT;
}

/* Tells whether shared memory is copied: all of it, or nothing, as a part would tell nothing of
 * what the rest holds. */
static bool copy_takes_shared(const struct hs_native *native, uint64_t *ret_n, uint64_t *ret_bytes)
{
    *ret_n = *ret_bytes = 0;
    for (size_t i = 0; i < native->dump->target.n_mappings; i++) {
        const struct hs_mapping *m = &native->dump->target.mappings[i];
        bool is_shared = copy_judge(native, m) == COPY_SHARED;
        *ret_n += is_shared;
        *ret_bytes += is_shared ? m->end - m->begin : 0;
    }
    return *ret_bytes <= SHARED_BYTES_MAX;
}

hs_status hs_native_copy(struct hs_native *native, struct hs_error *err)
{
    uint64_t n_shared, shared_bytes;
    bool takes_shared = copy_takes_shared(native, &n_shared, &shared_bytes);

    for (size_t i = 0; i < native->dump->target.n_mappings; i++) {
        const struct hs_mapping *m = &native->dump->target.mappings[i];
        enum copy_verdict verdict = copy_judge(native, m);
        if (verdict == COPY_IT || (verdict == COPY_SHARED && takes_shared))
            HS_TRY(
                hs_image_copy(&native->dump->image, &native->dump->target, m->begin, m->end, err));
    }
    return hs_objects_copy_data(&native->dump->objects, &native->dump->image, &native->dump->target,
                                err);
}

/* Tells whether a core lacks shared memory, which its writer may leave out: core(5),
 * coredump_filter. */
static bool copy_core_lacks(const struct hs_native *native)
{
    const struct hs_target *target = &native->dump->target;

    for (size_t i = 0; target->core != NULL && i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        if (copy_judge(native, m) == COPY_SHARED &&
            hs_image_resident_bytes(&native->dump->image, m->begin, m->end) == 0)
            return true;
    }
    return false;
}

/* Notes why no leak is certain, and sets native->is_blind. */
static hs_status note_blind(struct hs_native *native, const char *why, struct hs_error *err)
{
    native->is_blind = true;
    return hs_findings_note(&native->dump->findings, false, err, "%s" HS_NOTE_NOT_CERTAIN, why);
}

static hs_status note_shared(struct hs_native *native, struct hs_error *err)
{
    uint64_t n_shared, shared_bytes;
    bool takes_shared = copy_takes_shared(native, &n_shared, &shared_bytes);
    char size[HS_UNIT_TEXT_BYTES], text[COPY_NOTE_BYTES];

    if (n_shared == 0 || (takes_shared && !copy_core_lacks(native)))
        return HS_OK;
    hs_format_bytes(shared_bytes, size);
    (void)snprintf(text, sizeof text, "%s of shared memory were not read (%llu mapping%s)", size,
                   (unsigned long long)n_shared, n_shared == 1 ? "" : "s");
    return note_blind(native, text, err);
}

/* Tells whether there is a ring for asynchronous input and output (io_setup(2)), whose requests
 * under way the kernel shows to nobody. */
static bool has_aio_ring(const struct hs_target *target)
{
    for (size_t i = 0; i < target->n_mappings; i++)
        if (strncmp(hs_mapping_path(target, &target->mappings[i]), "/[aio]", 6) == 0)
            return true;
    return false;
}

/* Notes the places in the kernel that cannot be looked into. */
static hs_status note_untold(struct hs_native *native, struct hs_error *err)
{
    static const struct {
        enum hs_untold what;
        const char *why;
    } notes[] = {
        {HS_UNTOLD_URING, "the kernel does not tell which requests of io_uring are under way"},
        {HS_UNTOLD_REGISTERED, "what is registered with io_uring alone cannot be seen"},
        {HS_UNTOLD_QUEUE, "what waits in pipes, sockets or signals could not all be seen"},
        {HS_UNTOLD_FILES, "not all files that threads have open could be looked into"},
        {HS_UNTOLD_MESSAGES, "messages wait in a queue, and cannot be seen"},
        {HS_UNTOLD_LOOP, "what waits in a connection or a terminal of which the process has both "
                         "ends cannot be seen"},
        {HS_UNTOLD_NAMELESS, "files without a name could not all be looked into"},
        {HS_UNTOLD_DETACHED,
         "memory of System V to which the process is not attached was not read"},
        {HS_UNTOLD_BPF, "maps of BPF cannot be looked into"},
        {HS_UNTOLD_SHARERS, "another process has the same memory, and its registers are not read"},
        {HS_UNTOLD_MANY, "the kernel holds more for the program than is looked at"},
    };
    const struct hs_target *target = &native->dump->target;

    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if ((target->untold & notes[i].what) != 0)
            HS_TRY(note_blind(native, notes[i].why, err));
    if (has_aio_ring(target))
        HS_TRY(note_blind(native,
                          "the kernel does not tell which requests of io_submit are under "
                          "way",
                          err));
    return HS_OK;
}

/* Tells whether there is such a name among these. Linkers may keep one as the end of another: with
 * `is_whole` it counts by itself alone. */
static bool has_name(const uint8_t *names, size_t n, const char *name, bool is_whole)
{
    size_t n_name = strlen(name) + 1;
    const uint8_t *at = names;

    while ((at = memmem(at, n - (size_t)(at - names), name, n_name)) != NULL) {
        if (!is_whole || at == names || at[-1] == '\0')
            return true;
        at += n_name;
    }
    return false;
}

/* Finds an object other than the system's own that may call one of these functions; NULL: none
 * does. What is linked statically and has no symbols may call all. Of functions that fill keys of
 * the kernel whole names count, and not libraries that put no addresses there. */
static const char *find_caller(const struct hs_native *native, const char *const *names, size_t n,
                               bool of_keys)
{
    const struct hs_rules *rules = native->dump->options->rules;

    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_object *object = &native->dump->objects.objects[i];
        struct hs_error ignored = HS_ERROR_INIT;
        const uint8_t *names_there = NULL;
        size_t n_there = 0;
        if (native->of_object[i].is_system || object->elf == NULL ||
            (of_keys && hs_rules_name(rules, HS_RULE_KEYS_DATA, object->name) != NULL))
            continue;
        bool is_linked = hs_elf_section_bytes_named(object->elf, ".dynstr", &names_there, &n_there,
                                                    &ignored) == HS_OK &&
                         names_there != NULL;
        if (i == 0 && !is_linked && !hs_elf_has_symtab(object->elf) &&
            !hs_elf_has_interpreter(object->elf))
            return object->name;
        for (size_t k = 0; k < n; k++)
            if (is_linked ? has_name(names_there, n_there, names[k], of_keys)
                          : hs_elf_find(object->elf, names[k]) != NULL)
                return object->name;
    }
    return NULL;
}

/* Notes that a core lacks what the kernel held, where the program may have given it anything. */
static hs_status note_core(struct hs_native *native, struct hs_error *err)
{
    static const char *const names[] = {
        "epoll_ctl",      "timer_create", "sigqueue",           "mq_notify", "io_uring_queue_init",
        "io_uring_setup", "io_submit",    "pthread_sigqueue",   "mq_send",   "msgsnd",
        "shmdt",          "add_key",      "bpf_map_update_elem"};
    const char *caller;
    char text[COPY_NOTE_BYTES];

    if (native->dump->target.core == NULL)
        return HS_OK;
    caller = find_caller(native, names, sizeof names / sizeof *names, false);
    if (caller == NULL)
        return HS_OK;
    (void)snprintf(text, sizeof text,
                   "a core does not hold what '%.40s' may have given to epoll, timers and the like",
                   caller);
    return note_blind(native, text, err);
}

/* Keys of the kernel are shown to who possesses them. Many a name ends in add_key: of libcrypto's,
 * say, which puts nothing there. */
static hs_status note_keyring(struct hs_native *native, struct hs_error *err)
{
    static const char *const names[] = {"add_key", "keyctl_update", "keyctl_instantiate"};
    char text[COPY_NOTE_BYTES];
    const char *caller = native->dump->target.core == NULL
                             ? find_caller(native, names, sizeof names / sizeof *names, true)
                             : NULL;

    if (caller == NULL)
        return HS_OK;
    (void)snprintf(text, sizeof text,
                   "the kernel does not tell what '%.40s' may have put into its keys", caller);
    return note_blind(native, text, err);
}

/* Tells whether the core has no page of some private memory of the program. */
static bool has_empty_mapping(const struct hs_native *native)
{
    const struct hs_target *target = &native->dump->target;

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        if (m->writable && !m->shared && copy_judge(native, m) == COPY_IT &&
            hs_image_resident_bytes(&native->dump->image, m->begin, m->end) == 0)
            return true;
    }
    return false;
}

/* Notes that memory is closed by a protection key. The kernel writes no page of a core that one
 * closes, and does not say that it was one: it looks like memory that was never touched
 * (get_dump_page in mm/gup.c asks for what the program itself may read). Debuggers read it. */
static hs_status note_keys(struct hs_native *native, struct hs_error *err)
{
    static const char *const names[] = {"pkey_mprotect"};
    const char *caller;
    char text[COPY_NOTE_BYTES];

    if (native->dump->target.core == NULL || !has_empty_mapping(native))
        return HS_OK;
    caller = find_caller(native, names, sizeof names / sizeof *names, false);
    if (caller == NULL)
        return HS_OK;
    (void)snprintf(text, sizeof text,
                   "a core lacks memory that '%.40s' may have closed by a protection key", caller);
    return note_blind(native, text, err);
}

void hs_native_find_signal_stacks(struct hs_native *native)
{
    static const char *const names[] = {"sigaltstack"};
    native->has_signal_stacks = find_caller(native, names, 1, false) != NULL;
}

hs_status hs_native_note_uncopied(struct hs_native *native, struct hs_error *err)
{
    uint64_t n_files = 0, file_bytes = 0;
    char text[HS_UNIT_TEXT_BYTES];

    for (size_t i = 0; i < native->dump->target.n_mappings; i++) {
        const struct hs_mapping *m = &native->dump->target.mappings[i];
        enum copy_verdict verdict = copy_judge(native, m);
        n_files += verdict == COPY_LARGE_FILE;
        file_bytes += verdict == COPY_LARGE_FILE ? m->end - m->begin : 0;
    }
    HS_TRY(note_shared(native, err));
    HS_TRY(note_untold(native, err));
    HS_TRY(note_core(native, err));
    HS_TRY(note_keyring(native, err));
    HS_TRY(note_keys(native, err));
    if (native->dump->image.lacks_runs)
        HS_TRY(note_blind(native,
                          "protected or shared memory was not all read: its pages lie apart in too "
                          "many places",
                          err));
    if (native->dump->image.lacks_memory)
        HS_TRY(note_blind(native,
                          "memory of the process could not be read (memfd_secret, or alike)", err));
    if (native->dump->image.lacks_shared)
        HS_TRY(note_blind(native,
                          "shared memory that others may have filled could not be looked into "
                          "without CAP_SYS_ADMIN",
                          err));
    if (hs_residency_awaits_pages(&native->dump->residency))
        HS_TRY(note_blind(native, "userfaultfd has pages to bring that are not there yet", err));
    if (n_files == 0)
        return HS_OK;
    native->is_blind = true;
    hs_format_bytes(file_bytes, text);
    return hs_findings_note(
        &native->dump->findings, true, err,
        "large private maps of files were not read: %llu of %s" HS_NOTE_NOT_CERTAIN,
        (unsigned long long)n_files, text);
}
