/* The search for rule files, and the choice of those that are wanted. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/nearest.h"
#include "private.h"

static const char load_end[] = ".rules";
enum { LOAD_PATH_BYTES = 4096 };

/* A file of rules that may be read. */
struct load_file {
    char name[HS_RULES_MAX_NAME_BYTES + 1];
    char *path;       /* owned; NULL: shipped */
    const char *text; /* of a shipped one */
    bool is_users;    /* in his directory: nobody else may write it */
    bool is_off;
};

struct load {
    struct load_file *files; /* owned */
    size_t n, capacity;
};

static void load_fini(struct load *load)
{
    for (size_t i = 0; i < load->n; i++)
        hs_free(load->files[i].path);
    hs_free(load->files);
}

static struct load_file *find(const struct load *load, const char *name)
{
    for (size_t i = 0; i < load->n; i++)
        if (strcmp(load->files[i].name, name) == 0)
            return &load->files[i];
    return NULL;
}

/* Adds a file unless one of its name, which comes before it, is there. */
static hs_status add(struct load *load, const char *path, const struct load_file *like,
                     struct hs_error *err)
{
    if (find(load, like->name) != NULL)
        return HS_OK;
    if (load->n == HS_RULES_MAX_SETS)
        return hs_fail(err, HS_LIMIT, "more than %d files of rules", HS_RULES_MAX_SETS);
    HS_TRY(HS_GROW(&load->files, &load->capacity, load->n + 1, err));
    load->files[load->n] = *like;
    if (path != NULL)
        HS_TRY(hs_strdup(path, &load->files[load->n].path, err));
    load->n++;
    return HS_OK;
}

/* The name of a set from that of its file; false when it can be none. */
static bool name_of(const char *file, char *ret)
{
    size_t n = strlen(file), n_end = strlen(load_end);

    if (n > n_end && strcmp(file + n - n_end, load_end) == 0)
        n -= n_end;
    if (n == 0 || n > HS_RULES_MAX_NAME_BYTES || strchr(".+-", file[0]) != NULL ||
        memchr(file, ',', n) != NULL)
        return false;
    memcpy(ret, file, n);
    ret[n] = '\0';
    return true;
}

static hs_status add_given(struct load *load, const char *path, struct hs_error *err)
{
    const char *slash = strrchr(path, '/');
    struct load_file file = {0};

    if (!name_of(slash == NULL ? path : slash + 1, file.name))
        return hs_fail(err, HS_USAGE, "'%s' is no name of a file of rules", path);
    return add(load, path, &file, err);
}

/* ---- the user's directory */

/* Finds the user's directory. False when there is none, or it is somebody else's: HOME may be that
 * of who called sudo. */
static bool users_directory(char *ret)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool has_config = config != NULL && config[0] == '/';
    struct stat about;

    if (getauxval(AT_SECURE) != 0 || (!has_config && (home == NULL || home[0] != '/')))
        return false;
    int n = snprintf(ret, LOAD_PATH_BYTES, "%s%s/heapsnap/rules.d", has_config ? config : home,
                     has_config ? "" : "/.config");
    return n > 0 && n < LOAD_PATH_BYTES && stat(ret, &about) == 0 && S_ISDIR(about.st_mode) &&
           (about.st_uid == geteuid() || about.st_uid == 0);
}

static int compare_names(const void *a, const void *b)
{
    const struct load_file *left = a, *right = b;
    return strcmp(left->name, right->name);
}

static hs_status add_of_directory(struct load *load, const char *directory, DIR *files,
                                  struct hs_error *err)
{
    char path[LOAD_PATH_BYTES];
    size_t first = load->n;

    for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
        struct load_file file = {.is_users = true};
        size_t n = strlen(entry->d_name), n_end = strlen(load_end);
        if (n < n_end || strcmp(entry->d_name + n - n_end, load_end) != 0 ||
            !name_of(entry->d_name, file.name))
            continue;
        int n_path = snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (n_path > 0 && (size_t)n_path < sizeof path)
            HS_TRY(add(load, path, &file, err));
    }
    if (load->n > first)
        qsort(load->files + first, load->n - first, sizeof *load->files, compare_names);
    return HS_OK;
}

static hs_status add_users(struct load *load, struct hs_error *err)
{
    char directory[LOAD_PATH_BYTES];

    if (!users_directory(directory))
        return HS_OK;
    DIR *files = opendir(directory);
    if (files == NULL)
        return hs_fail_errno(err, HS_IO, "cannot read the directory '%s'", directory);
    hs_status status = add_of_directory(load, directory, files, err);
    (void)closedir(files);
    return status;
}

static hs_status add_shipped(struct load *load, struct hs_error *err)
{
    for (size_t i = 0; i < hs_rules_n_files; i++) {
        struct load_file file = {.text = hs_rules_files[i].text};
        (void)snprintf(file.name, sizeof file.name, "%s", hs_rules_files[i].name);
        HS_TRY(add(load, NULL, &file, err));
    }
    return HS_OK;
}

/* ---- what is wanted */

static const char *name_at(const void *context, size_t i)
{
    const struct load *load = context;
    return load->files[i].name;
}

/* Turns one set of "-NAME,-NAME" on or off; *text goes on behind it. */
static hs_status turn(struct load *load, const char **text, struct hs_error *err)
{
    char name[HS_RULES_MAX_NAME_BYTES + 1];
    bool is_off = **text == '-';
    size_t n = strcspn(*text + 1, ",");
    int n_shown = (int)(n < HS_RULES_MAX_NAME_BYTES ? n : HS_RULES_MAX_NAME_BYTES);

    (void)snprintf(name, sizeof name, "%.*s", n_shown, *text + 1);
    bool is_all = strcmp(name, "all") == 0;
    struct load_file *file = is_all ? NULL : find(load, name);
    if ((**text != '-' && **text != '+') || (!is_all && file == NULL)) {
        const char *near = hs_nearest(name, name_at, load, load->n);
        (void)hs_fail(err, HS_USAGE, "--rules: no set of rules is called '%s'", name);
        return near == NULL ? hs_hint(err, "'heapsnap rules' lists them")
                            : hs_hint(err, "did you mean '%s'? 'heapsnap rules' lists them", near);
    }
    for (size_t i = 0; i < load->n; i++)
        if (is_all || &load->files[i] == file)
            load->files[i].is_off = is_off;
    *text += 1 + n;
    *text += **text == ',';
    return HS_OK;
}

static bool is_turn(const char *given)
{
    return given[0] == '-' || given[0] == '+';
}

static hs_status list(struct load *load, const char *const *given, size_t n_given,
                      struct hs_error *err)
{
    for (size_t i = 0; i < n_given; i++)
        if (!is_turn(given[i]))
            HS_TRY(add_given(load, given[i], err));
    HS_TRY(add_users(load, err));
    HS_TRY(add_shipped(load, err));
    for (size_t i = 0; i < n_given; i++)
        for (const char *text = given[i]; is_turn(given[i]) && *text != '\0';)
            HS_TRY(turn(load, &text, err));
    return HS_OK;
}

/* ---- reading */

static hs_status open_file(const struct load_file *file, struct hs_map *ret, struct hs_error *err)
{
    struct stat about;

    if (!file->is_users)
        return hs_map_open(file->path, ret, err);
    if (stat(file->path, &about) == 0 && (about.st_mode & S_IWOTH) != 0) {
        (void)hs_fail(err, HS_IO, "cannot believe rules of '%s': everybody may write it",
                      file->path);
        return hs_hint(err, "chmod o-w %.200s", file->path);
    }
    return hs_map_open_trusted(file->path, geteuid(), ret, err);
}

static hs_status read_file(struct hs_rules *rules, const struct load_file *file,
                           struct hs_error *err)
{
    struct hs_rule_source source = {
        .name = file->name, .path = file->path, .is_enabled = !file->is_off};
    struct hs_map map = {0};

    if (file->path == NULL) {
        source.bytes = file->text;
        source.n_bytes = strlen(file->text);
        return hs_rules_add(rules, &source, err);
    }
    hs_status status = open_file(file, &map, err);
    source.bytes = map.bytes;
    source.n_bytes = map.n_bytes;
    if (status == HS_OK)
        status = hs_rules_add(rules, &source, err);
    else if (file->is_off)
        status = HS_OK; /* what is turned off need not be sound */
    hs_map_close(&map);
    return status;
}

static hs_status read_all(const struct load *load, struct hs_rules *ret, struct hs_error *err)
{
    struct hs_rules rules = {0};
    hs_status status = HS_OK;

    for (size_t i = 0; i < load->n && status == HS_OK; i++)
        status = read_file(&rules, &load->files[i], err);
    if (status == HS_OK)
        *ret = rules;
    else
        hs_rules_fini(&rules);
    return status;
}

hs_status hs_rules_load(const char *const *given, size_t n_given, struct hs_rules *ret,
                        struct hs_error *err)
{
    struct load load = {0};
    hs_status status = list(&load, given, n_given, err);

    if (status == HS_OK)
        status = read_all(&load, ret, err);
    load_fini(&load);
    return status;
}

hs_status hs_rules_shipped(struct hs_rules *ret, struct hs_error *err)
{
    struct load load = {0};
    hs_status status = add_shipped(&load, err);

    if (status == HS_OK)
        status = read_all(&load, ret, err);
    load_fini(&load);
    return status;
}
