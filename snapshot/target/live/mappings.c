/* One careful parser of /proc/PID/maps.
 *
 *   begin-end perms offset major:minor inode      path
 *
 * The path is the target's to choose: it may hold spaces, tabs, invalid UTF-8 and "\012" (a newline
 * as the kernel writes it, see seq_file_path in fs/seq_file.c), or end in " (deleted)". */
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "target/procfs.h"
#include "target_private.h"

struct mappings_text {
    const char *at, *end;
};

struct mappings_new {
    struct hs_mapping *mappings;
    size_t n, capacity;
    char *paths;
    size_t path_bytes, path_capacity;
};

static bool mappings_digits(struct mappings_text *t, unsigned base, uint64_t *ret)
{
    uint64_t value = 0;
    const char *begin = t->at;

    for (; t->at < t->end; t->at++) {
        unsigned digit;
        if (*t->at >= '0' && *t->at <= '9')
            digit = (unsigned)(*t->at - '0');
        else if (base == 16 && *t->at >= 'a' && *t->at <= 'f')
            digit = (unsigned)(*t->at - 'a') + 10;
        else
            break;
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret = value;
    return t->at != begin;
}

static bool mappings_expect(struct mappings_text *t, char c)
{
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static bool mappings_permissions(struct mappings_text *t, struct hs_mapping *m)
{
    if (t->end - t->at < 4)
        return false;
    m->readable = t->at[0] == 'r';
    m->writable = t->at[1] == 'w';
    m->executable = t->at[2] == 'x';
    m->shared = t->at[3] == 's';
    t->at += 4;
    return true;
}

/* The fields before the path. */
static bool mappings_fields(struct mappings_text *t, struct hs_mapping *m)
{
    uint64_t device;
    bool good = mappings_digits(t, 16, &m->begin) && mappings_expect(t, '-') &&
                mappings_digits(t, 16, &m->end) && mappings_expect(t, ' ') &&
                mappings_permissions(t, m) && mappings_expect(t, ' ') &&
                mappings_digits(t, 16, &m->file_offset) && mappings_expect(t, ' ') &&
                mappings_digits(t, 16, &device) && mappings_expect(t, ':') &&
                mappings_digits(t, 16, &device) && mappings_expect(t, ' ') &&
                mappings_digits(t, 10, &m->inode);
    if (!good || m->begin >= m->end)
        return false;
    while (t->at < t->end && *t->at == ' ')
        t->at++;
    return true;
}

/* Copies [t->at, t->end) with "\012" as the newline it stands for; a NUL ends it. */
static size_t mappings_decode(const struct mappings_text *t, char *to)
{
    size_t n = 0;

    for (const char *at = t->at; at < t->end && *at != '\0'; at++) {
        if (*at == '\\' && t->end - at >= 4 && memcmp(at, "\\012", 4) == 0) {
            to[n++] = '\n';
            at += 3;
        } else {
            to[n++] = *at;
        }
    }
    to[n++] = '\0';
    return n;
}

/* Appends a path, or finds it in the mapping before: a file is mapped several times in a row. */
static hs_status mappings_add_path(struct mappings_new *new, const struct mappings_text *t,
                                   struct hs_mapping *m, struct hs_error *err)
{
    size_t most = (size_t)(t->end - t->at) + 1;

    if (new->path_bytes + most > UINT32_MAX)
        return hs_fail(err, HS_TARGET, "cannot keep the target's mappings: too many paths");
    HS_TRY(HS_GROW(&new->paths, &new->path_capacity, new->path_bytes + most, err));
    char *path = new->paths + new->path_bytes;
    size_t n = mappings_decode(t, path);
    m->path_at = (uint32_t) new->path_bytes;
    if (new->n > 0) {
        uint32_t before = new->mappings[new->n - 1].path_at;
        if (strcmp(new->paths + before, path) == 0) {
            m->path_at = before;
            return HS_OK;
        }
    }
    new->path_bytes += n;
    return HS_OK;
}

/* The list of a process that runs is of several moments, a page of text of each (m_start in
 * fs/proc/task_mmu.c): a mapping that grew or was joined with others meanwhile may begin below the
 * end of the one before. The earlier line keeps what both have. False: nothing is left. */
static bool mappings_clip(const struct mappings_new *new, struct hs_mapping *m)
{
    hs_addr end = new->n > 0 ? new->mappings[new->n - 1].end : 0;

    if (m->begin < end && end < m->end) {
        m->file_offset += m->inode != 0 ? end - m->begin : 0;
        m->begin = end;
    }
    return m->begin >= end;
}

static hs_status mappings_parse_line(struct mappings_new *new, struct mappings_text *line,
                                     struct hs_error *err)
{
    struct hs_mapping m = {0};

    if (!mappings_fields(line, &m))
        return hs_fail(err, HS_TARGET, "cannot understand line %zu of the target's mappings",
                       new->n + 1);
    if (!mappings_clip(new, &m))
        return HS_OK;
    HS_TRY(mappings_add_path(new, line, &m, err));
    HS_TRY(HS_GROW(&new->mappings, &new->capacity, new->n + 1, err));
    new->mappings[new->n++] = m;
    return HS_OK;
}

static hs_status mappings_parse_all(struct mappings_new *new, const char *text, size_t n_bytes,
                                    struct hs_error *err)
{
    const char *end = n_bytes != 0 ? text + n_bytes : text; /* no text may be NULL */

    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (stop == NULL)
            stop = end;
        struct mappings_text line = {text, stop};
        HS_TRY(mappings_parse_line(new, &line, err));
        text = stop == end ? end : stop + 1;
    }
    return HS_OK;
}

hs_status hs_mappings_parse(struct hs_target *target, const char *text, size_t n_bytes,
                            struct hs_error *err)
{
    struct mappings_new new = {0};
    hs_status status = mappings_parse_all(&new, text, n_bytes, err);

    if (status != HS_OK) {
        hs_free(new.mappings);
        hs_free(new.paths);
        return status;
    }
    hs_mappings_fini(target);
    target->n_refreshes++;
    target->mappings = new.mappings;
    target->n_mappings = new.n;
    target->mappings_capacity = new.capacity;
    target->path_text = new.paths;
    target->path_text_bytes = new.path_bytes;
    target->path_text_capacity = new.path_capacity;
    return HS_OK;
}

hs_status hs_mappings_refresh(struct hs_target *target, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n;

    HS_TRY(
        hs_proc_read_until(target->live.pid, "maps", hs_bound_deadline_ns(target), &text, &n, err));
    return hs_mappings_parse(target, text, n, err);
}

void hs_mappings_fini(struct hs_target *target)
{
    hs_free(target->mappings);
    hs_free(target->path_text);
    target->mappings = NULL;
    target->path_text = NULL;
    target->n_mappings = target->mappings_capacity = 0;
    target->path_text_bytes = target->path_text_capacity = 0;
}

const char *hs_mapping_path(const struct hs_target *target, const struct hs_mapping *mapping)
{
    return mapping->path_at < target->path_text_bytes ? target->path_text + mapping->path_at : "";
}

static bool mappings_begins(const char *path, const char *const *beginnings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(path, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* Devices and what drivers map may notice that they are read, and are no memory of the program. */
bool hs_mapping_is_shared_memory(const struct hs_target *target, const struct hs_mapping *mapping)
{
    static const char *const memory[] = {"/dev/zero", "/dev/shm/", "/dev/hugepages/"};
    static const char *const others[] = {"/dev/", "/proc/", "/sys/", "/[aio]", "/dmabuf:"};
    const char *path = hs_mapping_path(target, mapping);

    if (!mapping->shared || !mapping->readable || !mapping->writable || path[0] != '/')
        return false;
    return mappings_begins(path, memory, sizeof memory / sizeof *memory) ||
           !mappings_begins(path, others, sizeof others / sizeof *others);
}

const struct hs_mapping *hs_target_mapping_at(const struct hs_target *target, hs_addr address)
{
    size_t low = HS_FIRST_ABOVE(target->mappings, target->n_mappings, end, address);

    if (low == target->n_mappings || target->mappings[low].begin > address)
        return NULL;
    return &target->mappings[low];
}
