/* The memory that the machine can give to this process: its free memory and the limits of its
 * control groups. Sources: proc(5), the kernel's admin-guide/cgroup-v1/memory.rst and
 * admin-guide/cgroup-v2.rst. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/file.h"

/* ---- text files of the kernel ---- */

/* A line of a text; next_line moves on. */
struct line {
    const char *at, *end; /* end: of the line, without its newline */
    const char *text_end;
};

static bool line_next(struct line *line)
{
    const char *at = line->end == NULL ? line->at : line->end + 1;
    if (at >= line->text_end)
        return false;
    const char *newline = memchr(at, '\n', (size_t)(line->text_end - at));
    line->at = at;
    line->end = newline == NULL ? line->text_end : newline;
    return true;
}

/* A kernel file as lines; an unreadable one has none. */
static struct line line_open(const char *path, struct hs_map *map)
{
    struct hs_error err = HS_ERROR_INIT;
    *map = (struct hs_map){0};
    if (hs_map_open(path, map, &err) != HS_OK || map->n_bytes == 0)
        return (struct line){.at = "", .text_end = NULL};
    const char *text = (const char *)map->bytes;
    return (struct line){.at = text, .text_end = text + map->n_bytes};
}

static bool text_number(const char *at, const char *end, uint64_t *ret)
{
    uint64_t value = 0;

    while (at < end && *at == ' ')
        at++;
    if (at == end || *at < '0' || *at > '9')
        return false;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    *ret = value;
    return true;
}

/* The number behind `key` at the begin of a line of a file; `otherwise` when there is none ("max"
 * included). The key "" takes the first line. */
static uint64_t file_number(const char *path, const char *key, uint64_t otherwise)
{
    struct hs_map map;
    struct line line = line_open(path, &map);
    size_t n_key = strlen(key);
    uint64_t value = otherwise;

    while (line_next(&line))
        if ((size_t)(line.end - line.at) >= n_key && memcmp(line.at, key, n_key) == 0) {
            if (!text_number(line.at + n_key, line.end, &value))
                value = otherwise;
            break;
        }
    hs_map_close(&map);
    return value;
}

/* ---- control groups ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t group_number(const char *directory, const char *file, const char *key,
                             uint64_t otherwise)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", directory, file);
    return n < 0 || (size_t)n >= sizeof path ? otherwise : file_number(path, key, otherwise);
}

/* A limit of 2^63 less a page is none (v1). */
#define GROUP_LIMIT_MAX ((uint64_t)1 << 60)

/* The limit of one group. */
static uint64_t group_limit(const char *directory, bool is_v2)
{
    if (!is_v2)
        return group_number(directory, "memory.limit_in_bytes", "", UINT64_MAX);
    return least(group_number(directory, "memory.max", "", UINT64_MAX),
                 group_number(directory, "memory.high", "", UINT64_MAX));
}

/* Returns the bytes that are left in one control group. Reclaim takes file pages of the inactive
 * list first, so they are as good as free. */
static uint64_t group_left(const char *directory, bool is_v2)
{
    uint64_t limit = group_limit(directory, is_v2), used, cached;
    if (is_v2) {
        used = group_number(directory, "memory.current", "", 0);
        cached = group_number(directory, "memory.stat", "inactive_file ", 0);
    } else {
        used = group_number(directory, "memory.usage_in_bytes", "", 0);
        cached = group_number(directory, "memory.stat", "total_inactive_file ", 0);
    }
    used -= least(used, cached);
    return limit == UINT64_MAX ? limit : limit - least(limit, used);
}

static void groups_add(struct hs_memory_groups *groups, const char *directory, bool is_v2)
{
    size_t n = strlen(directory);

    if (group_limit(directory, is_v2) >= GROUP_LIMIT_MAX)
        return;
    if (groups->n == HS_MEMORY_GROUPS_MAX || n >= sizeof groups->groups->path) {
        groups->has_more = true;
        return;
    }
    memcpy(groups->groups[groups->n].path, directory, n + 1);
    groups->groups[groups->n++].is_v2 = is_v2;
}

/* The least of a group and all groups above it, as far as they are mounted: `path` is cut at its
 * last slashes down to the length of the mount point. `groups` (may be NULL) takes those with a
 * limit. */
static uint64_t groups_left(char *path, size_t n_mount, bool is_v2, struct hs_memory_groups *groups)
{
    uint64_t left = UINT64_MAX;
    for (;;) {
        left = least(left, group_left(path, is_v2));
        if (groups != NULL)
            groups_add(groups, path, is_v2);
        char *slash = strrchr(path, '/');
        if (slash == NULL || (size_t)(slash - path) < n_mount)
            return left;
        *slash = '\0';
    }
}

/* Tells whether a comma-separated list has a word. */
static bool list_has(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma == NULL ? end : comma;
        if ((size_t)(stop - at) == n && memcmp(at, word, n) == 0)
            return true;
        at = stop + 1;
    }
    return false;
}

/* The group of a process ("self", "1234") in the hierarchy of the memory controller: lines
 * "ID:CONTROLLERS:PATH", the ID of v2 is 0. False when there is none. */
static bool group_path(const char *proc, const char *who, bool is_v2, char *ret, size_t n_ret)
{
    char path[PATH_MAX];
    struct hs_map map;
    bool found = false;

    (void)snprintf(path, sizeof path, "%s/%s/cgroup", proc, who);
    struct line line = line_open(path, &map);
    while (!found && line_next(&line)) {
        size_t n = (size_t)(line.end - line.at);
        const char *colon = memchr(line.at, ':', n);
        const char *second =
            colon == NULL ? NULL : memchr(colon + 1, ':', (size_t)(line.end - colon) - 1);
        if (second == NULL)
            continue;
        bool matches = is_v2 ? colon == line.at + 1 && *line.at == '0' && second == colon + 1
                             : list_has(colon + 1, second, "memory");
        size_t n_path = (size_t)(line.end - second) - 1;
        if (!matches || n_path >= n_ret)
            continue;
        memcpy(ret, second + 1, n_path);
        ret[n_path] = '\0';
        found = true;
    }
    hs_map_close(&map);
    return found;
}

/* The next word of a line, spaces apart. */
static bool word_next(struct line *line, const char **ret, size_t *ret_n)
{
    while (line->at < line->end && *line->at == ' ')
        line->at++;
    *ret = line->at;
    while (line->at < line->end && *line->at != ' ')
        line->at++;
    *ret_n = (size_t)(line->at - *ret);
    return *ret_n != 0;
}

/* A path of mountinfo: space, tab, newline and backslash are three octal digits after a backslash.
 */
static bool mount_path(const char *word, size_t n, char *ret, size_t n_ret)
{
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        if (out + 1 >= n_ret)
            return false;
        if (word[i] == '\\' && n - i > 3) {
            ret[out++] =
                (char)((word[i + 1] - '0') * 64 + (word[i + 2] - '0') * 8 + (word[i + 3] - '0'));
            i += 3;
        } else {
            ret[out++] = word[i];
        }
    }
    ret[out] = '\0';
    return true;
}

/* A line of mountinfo: "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS". */
struct mount {
    char root[PATH_MAX], point[PATH_MAX];
};

static bool mount_of_memory(struct line line, bool is_v2, struct mount *ret)
{
    const char *word;
    size_t n;

    for (int i = 0; i < 5; i++) {
        if (!word_next(&line, &word, &n))
            return false;
        if ((i == 3 && !mount_path(word, n, ret->root, sizeof ret->root)) ||
            (i == 4 && !mount_path(word, n, ret->point, sizeof ret->point)))
            return false;
    }
    do {
        if (!word_next(&line, &word, &n))
            return false;
    } while (n != 1 || *word != '-');
    if (!word_next(&line, &word, &n))
        return false;
    if (is_v2)
        return n == 7 && memcmp(word, "cgroup2", n) == 0;
    return n == 6 && memcmp(word, "cgroup", n) == 0 && word_next(&line, &word, &n) &&
           word_next(&line, &word, &n) && list_has(word, word + n, "memory");
}

/* Returns the bytes left in a group below a mount whose root is a group, too. A group outside the
 * root (a namespace of its own) is looked for at the mount point itself. */
static uint64_t mount_left(struct mount *mount, const char *group, bool is_v2,
                           struct hs_memory_groups *groups)
{
    char path[2 * PATH_MAX];
    size_t n_root = strlen(mount->root), n_point = strlen(mount->point);

    if (strcmp(mount->root, "/") == 0)
        n_root = 0;
    bool below =
        strncmp(group, mount->root, n_root) == 0 && (group[n_root] == '/' || group[n_root] == '\0');
    const char *rest = below ? group + n_root : "";
    (void)snprintf(path, sizeof path, "%s%s", mount->point, strcmp(rest, "/") == 0 ? "" : rest);
    return groups_left(path, n_point, is_v2, groups);
}

static uint64_t hierarchy_left(const char *proc, const char *who, bool is_v2,
                               struct hs_memory_groups *groups)
{
    char group[PATH_MAX], path[PATH_MAX];
    struct hs_map map;
    struct mount mount;
    uint64_t left = UINT64_MAX;

    if (!group_path(proc, who, is_v2, group, sizeof group))
        return left;
    (void)snprintf(path, sizeof path, "%s/self/mountinfo", proc);
    struct line line = line_open(path, &map);
    while (line_next(&line))
        if (mount_of_memory(line, is_v2, &mount))
            left = least(left, mount_left(&mount, group, is_v2, groups));
    hs_map_close(&map);
    return left;
}

static uint64_t machine_left(const char *proc)
{
    char path[PATH_MAX];
    uint64_t left;

    (void)snprintf(path, sizeof path, "%s/meminfo", proc);
    uint64_t kib = file_number(path, "MemAvailable:", UINT64_MAX);
    if (kib == UINT64_MAX || __builtin_mul_overflow(kib, 1024, &left))
        return UINT64_MAX;
    return left;
}

static uint64_t available_to(const char *proc, const char *who, struct hs_memory_groups *groups)
{
    uint64_t left = machine_left(proc);

    left = least(left, hierarchy_left(proc, who, false, groups));
    return least(left, hierarchy_left(proc, who, true, groups));
}

uint64_t hs_memory_available_under(const char *proc)
{
    return available_to(proc, "self", NULL);
}

uint64_t hs_memory_available_bytes(void)
{
    return available_to("/proc", "self", NULL);
}

uint64_t hs_memory_available_to(pid_t pid)
{
    char who[32];
    (void)snprintf(who, sizeof who, "%d", pid);
    return available_to("/proc", who, NULL);
}

uint64_t hs_memory_groups_find(const char *proc, const char *who, struct hs_memory_groups *ret)
{
    *ret = (struct hs_memory_groups){0};
    (void)snprintf(ret->proc, sizeof ret->proc, "%s", proc);
    return available_to(proc, who, ret);
}

uint64_t hs_memory_available_at_least(const struct hs_memory_groups *groups)
{
    uint64_t left = groups->has_more ? 0 : machine_left(groups->proc);

    for (size_t i = 0; i < groups->n; i++) {
        const char *path = groups->groups[i].path;
        bool is_v2 = groups->groups[i].is_v2;
        uint64_t limit = group_limit(path, is_v2);
        uint64_t used =
            group_number(path, is_v2 ? "memory.current" : "memory.usage_in_bytes", "", 0);
        left = least(left, limit == UINT64_MAX ? limit : limit - least(limit, used));
    }
    return left;
}
