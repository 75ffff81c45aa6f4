/* Separate files of debug information. */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/budget.h"
#include "runtimes/debug_server.h"
#include "runtimes/dump.h"
#include "symbols/debugfile.h"
#include "symbols/lines.h"
#include "symbols/split.h"
#include "target/core.h"

enum { DEBUG_DIRECTORIES_MAX = 64, NOTE_BYTES = 1024, SPLIT_SHARE = 4 };

/* Directories to look in. A target in a root of its own has its debug files there, if anywhere. */
struct prepare_places {
    const char *list[DEBUG_DIRECTORIES_MAX];
    size_t n;
    char root[PATH_MAX]; /* "" when it is ours */
    char inside[PATH_MAX + sizeof HS_DEBUG_DIRECTORY];
};

static bool prepare_is_our_root(const char *root)
{
    struct stat ours, theirs;
    return stat("/", &ours) != 0 || stat(root, &theirs) != 0 ||
           (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino);
}

static void prepare_places(const struct hs_dump *dump, struct prepare_places *p)
{
    const struct hs_dump_options *options = dump->options;

    p->n = 0;
    for (size_t i = 0; i < options->n_debug_dirs && p->n < DEBUG_DIRECTORIES_MAX - 2; i++)
        p->list[p->n++] = options->debug_dirs[i];
    if (dump->target.core != NULL)
        snprintf(p->root, sizeof p->root, "%s", hs_core_sysroot(&dump->target));
    else
        snprintf(p->root, sizeof p->root, "/proc/%d/root", dump->target.pid);
    if (p->root[0] == '\0' || prepare_is_our_root(p->root)) {
        p->root[0] = '\0';
    } else {
        snprintf(p->inside, sizeof p->inside, "%s%s", p->root, HS_DEBUG_DIRECTORY);
        p->list[p->n++] = p->inside;
    }
    p->list[p->n++] = HS_DEBUG_DIRECTORY;
}

/* Tells whether an object has full symbols and types of its own: it needs no other file. */
static bool prepare_is_complete(const struct hs_object *object)
{
    return hs_elf_has_symtab(object->elf) && hs_dwarf_present(object->elf);
}

static hs_status prepare_add_note(struct hs_dump *dump, hs_str note, struct hs_error *err)
{
    HS_TRY(HS_GROW(&dump->debug_notes, &dump->debug_notes_capacity, dump->n_debug_notes + 1, err));
    dump->debug_notes[dump->n_debug_notes++] = note;
    return HS_OK;
}

/* Notes a debug file that is there and cannot be used; that there is none at all is not worth a
 * word. */
static hs_status prepare_note(struct hs_dump *dump, const struct hs_object *object,
                              const struct hs_debugfile_search *search, struct hs_error *err)
{
    char why[NOTE_BYTES], text[NOTE_BYTES];
    hs_str note;

    if (search->outcome != HS_DEBUGFILE_UNREADABLE && search->outcome != HS_DEBUGFILE_OTHER_BUILD &&
        search->outcome != HS_DEBUGFILE_OTHER_CONTENT &&
        search->outcome != HS_DEBUGFILE_OTHER_LAYOUT)
        return HS_OK;
    hs_debugfile_explain(search, why, sizeof why);
    snprintf(text, sizeof text, "names of '%.200s' are missing: %.600s", object->name, why);
    HS_TRY(hs_strtab_add(&dump->strings, text, &note, err));
    return prepare_add_note(dump, note, err);
}

/* The directories in which the .dwo files of an object may be. */
struct prepare_split {
    const struct prepare_places *places;
    const char *own_path; /* of the object, as we reach it; NULL: unknown */
};

/* Opens a .dwo or .dwp file: only a regular one, and never waiting, as the program says what it is
 * called. */
static bool prepare_try_split(const char *path, struct hs_elf **ret, hs_status *status,
                              struct hs_error *err)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return false;
    *status = fstat(fd, &found) == 0 && S_ISREG(found.st_mode)
                  ? hs_elf_open_sections(fd, path, ret, err)
                  : HS_FORMAT;
    close(fd);
    return *status == HS_OK || *status == HS_LIMIT;
}

/* Looks for a .dwo file in the directory that it was compiled in, beside the program, and where
 * debug files are. */
static hs_status prepare_open_split(void *context, const char *directory, const char *name,
                                    struct hs_elf **ret, struct hs_error *err)
{
    const struct prepare_split *split = context;
    const char *slash = strrchr(name, '/'), *last = slash != NULL ? slash + 1 : name;
    const char *root = split->places->root;
    const char *own = split->own_path != NULL ? strrchr(split->own_path, '/') : NULL;
    char path[PATH_MAX];
    hs_status status = HS_OK;

    int n = name[0] == '/' ? snprintf(path, sizeof path, "%s%s", root, name)
                           : snprintf(path, sizeof path, "%s%s/%s", root, directory, name);
    if (n > 0 && (size_t)n < sizeof path && path[0] == '/' &&
        prepare_try_split(path, ret, &status, err))
        return status;
    n = own == NULL ? 0
                    : snprintf(path, sizeof path, "%.*s/%s", (int)(own - split->own_path),
                               split->own_path, last);
    if (n > 0 && (size_t)n < sizeof path && prepare_try_split(path, ret, &status, err))
        return status;
    for (size_t i = 0; i < split->places->n; i++) {
        n = snprintf(path, sizeof path, "%s/%s", split->places->list[i], last);
        if (n > 0 && (size_t)n < sizeof path && prepare_try_split(path, ret, &status, err))
            return status;
    }
    return HS_OK;
}

/* Looks for PROGRAM.dwp beside the program and where debug files are. */
static hs_status prepare_open_package(void *context, struct hs_elf **ret, struct hs_error *err)
{
    const struct prepare_split *split = context;
    const char *own = split->own_path != NULL ? strrchr(split->own_path, '/') : NULL;
    char path[PATH_MAX];
    hs_status status = HS_OK;

    if (own == NULL)
        return HS_OK;
    int n = snprintf(path, sizeof path, "%s.dwp", split->own_path);
    if (n > 0 && (size_t)n < sizeof path && prepare_try_split(path, ret, &status, err))
        return status;
    for (size_t i = 0; i < split->places->n; i++) {
        n = snprintf(path, sizeof path, "%s%s.dwp", split->places->list[i], own);
        if (n > 0 && (size_t)n < sizeof path && prepare_try_split(path, ret, &status, err))
            return status;
    }
    return HS_OK;
}

/* Merges the .dwo files that lie beside it (-gsplit-dwarf) as its debug file. */
static hs_status prepare_merge(struct hs_dump *dump, const struct prepare_places *places,
                               struct hs_object *object, const char *own_path, struct hs_error *err)
{
    struct prepare_split split = {places, own_path};
    const struct hs_split_places opener = {prepare_open_split, prepare_open_package, &split};
    struct hs_split_found found;
    uint64_t most = hs_budget_left_bytes(dump->options->budget) / SPLIT_SHARE;
    char name[NOTE_BYTES];

    if (object->debug != NULL || !hs_dwarf_present(object->elf))
        return HS_OK;
    HS_TRY(hs_split_merge(object->elf, &opener, most, &object->merged, &found, err));
    if (found.n_used == 0)
        return HS_OK;
    if (found.n_packaged == found.n_used)
        snprintf(name, sizeof name, "%zu unit%s of a .dwp file", found.n_used,
                 found.n_used == 1 ? "" : "s");
    else
        snprintf(name, sizeof name, "%zu .dwo file%s", found.n_used, found.n_used == 1 ? "" : "s");
    return hs_elf_open_memory(object->merged.bytes, object->merged.n_bytes, name, &object->debug,
                              err);
}

static hs_status prepare_find(struct hs_dump *dump, const struct prepare_places *places,
                              struct hs_object *object, struct hs_error *err)
{
    struct hs_debugfile_search search = {0};
    char path[PATH_MAX];

    object->debug_tried = true;
    const char *found =
        dump->target.core != NULL ? hs_core_found_path(&dump->target, object->begin) : NULL;
    int n = found != NULL ? snprintf(path, sizeof path, "%s", found)
                          : snprintf(path, sizeof path, "%s%s", places->root, object->path);
    bool is_whole = n > 0 && (size_t)n < sizeof path;
    HS_TRY(prepare_merge(dump, places, object, is_whole ? path : NULL, err));
    if (prepare_is_complete(object) || object->debug != NULL)
        return HS_OK;
    HS_TRY(hs_debugfile_find(object->elf, is_whole ? path : NULL, places->list, places->n,
                             &object->debug, &search, err));
    return object->debug != NULL ? HS_OK : prepare_note(dump, object, &search, err);
}

/* Tells whether a server may know more of an object: a file with a build-id. */
static bool prepare_is_asked(const struct hs_object *object)
{
    return object->debug == NULL && !prepare_is_complete(object) && object->path[0] == '/' &&
           *hs_elf_build_id(object->elf) != '\0';
}

static void prepare_count_served(struct hs_dump *dump, const char *path)
{
    struct stat about;
    dump->n_served++;
    if (stat(path, &about) == 0 && about.st_size > 0)
        dump->served_bytes += (uint64_t)about.st_size;
}

static hs_status prepare_take(struct hs_dump *dump, struct hs_object *object,
                              const struct hs_debug_answer *answer, struct hs_error *err)
{
    struct hs_debugfile_search search = {0};

    if (answer->path == NULL)
        return HS_OK;
    HS_TRY(hs_debugfile_open_file(object->elf, answer->path, &object->debug, &search, err));
    if (object->debug == NULL)
        return prepare_note(dump, object, &search, err);
    prepare_count_served(dump, answer->path);
    return HS_OK;
}

/* Asks the server, and keeps what is to be said of it. */
static hs_status prepare_question(struct hs_dump *dump, struct hs_debug_answers *answers,
                                  struct hs_error *err)
{
    const struct hs_dump_options *options = dump->options;
    hs_str note;

    if (answers->n == 0)
        return HS_OK;
    HS_TRY(hs_debug_server_ask(options->debug_server, options->debug_server_ns, options->progress,
                               answers, err));
    if (answers->note[0] == '\0')
        return HS_OK;
    HS_TRY(hs_strtab_add(&dump->strings, answers->note, &note, err));
    return prepare_add_note(dump, note, err);
}

/* Takes a program or library that a server has, unless it is of another build. */
static hs_status prepare_offer(struct hs_dump *dump, const struct hs_debug_answer *answer,
                               struct hs_error *err)
{
    size_t at = answer->object - 1;

    if (answer->path == NULL)
        return HS_OK;
    HS_TRY(hs_core_offer(&dump->target, answer->object, answer->path, err));
    const char *id = hs_core_next_missing(&dump->target, &at);
    if (id == NULL || at != answer->object)
        prepare_count_served(dump, answer->path);
    return HS_OK;
}

hs_status hs_dump_find_programs(struct hs_dump *dump, struct hs_error *err)
{
    struct hs_debug_answers answers = {.of_programs = true};
    const char *build_id;
    hs_status status = HS_OK;

    if (dump->target.core == NULL || dump->options->no_names || dump->options->debug_server == NULL)
        return HS_OK;
    for (size_t at = 0;
         status == HS_OK && (build_id = hs_core_next_missing(&dump->target, &at)) != NULL;)
        status = hs_debug_answers_add(&answers, build_id, at, err);
    if (status == HS_OK)
        status = prepare_question(dump, &answers, err);
    for (size_t i = 0; i < answers.n && status == HS_OK; i++)
        status = prepare_offer(dump, &answers.list[i], err);
    hs_debug_answers_fini(&answers);
    return status;
}

/* Asks the server of the new objects that nobody here has a debug file of. */
static hs_status prepare_ask(struct hs_dump *dump, const bool *is_new, struct hs_error *err)
{
    struct hs_debug_answers answers = {0};
    hs_status status = HS_OK;

    for (size_t i = 0; i < dump->objects.n && status == HS_OK; i++)
        if (is_new[i] && prepare_is_asked(&dump->objects.objects[i]))
            status = hs_debug_answers_add(&answers, hs_elf_build_id(dump->objects.objects[i].elf),
                                          i, err);
    if (status == HS_OK)
        status = prepare_question(dump, &answers, err);
    for (size_t i = 0; i < answers.n && status == HS_OK; i++)
        status = prepare_take(dump, &dump->objects.objects[answers.list[i].object],
                              &answers.list[i], err);
    hs_debug_answers_fini(&answers);
    return status;
}

/* ---- what dwz moved to a file that programs share */

struct prepare_missing {
    struct hs_debugfile_link link;
    size_t object;
};

struct prepare_supplements {
    struct hs_dump *dump; /* borrowed, as is the next */
    const struct prepare_places *places;
    struct prepare_missing *missing; /* owned */
    size_t n, capacity;
};

static void prepare_take_supplement(struct hs_object *object, struct hs_elf *supplement)
{
    object->supplement = supplement;
    hs_elf_set_supplement(hs_object_with_types(object), supplement);
}

/* Looks for the supplementary file of an object here. */
static hs_status prepare_seek_supplement(struct prepare_supplements *s, size_t number,
                                         struct hs_error *err)
{
    struct hs_object *object = &s->dump->objects.objects[number];
    struct hs_elf *elf = hs_object_with_types(object), *found = NULL;
    struct prepare_missing missing = {.object = number};

    if (elf == NULL || object->supplement != NULL || !hs_debugfile_supplement(elf, &missing.link))
        return HS_OK;
    HS_TRY(hs_debugfile_open_supplement(elf, &missing.link, s->places->root, s->places->list,
                                        s->places->n, &found, err));
    if (found != NULL) {
        prepare_take_supplement(object, found);
        return HS_OK;
    }
    HS_TRY(HS_GROW(&s->missing, &s->capacity, s->n + 1, err));
    s->missing[s->n++] = missing;
    return HS_OK;
}

/* Takes an answer for all objects that the file is of. */
static hs_status prepare_answer_supplement(struct prepare_supplements *s,
                                           const struct hs_debug_answer *answer,
                                           struct hs_error *err)
{
    bool is_counted = false;

    for (size_t i = 0; i < s->n && answer->path != NULL; i++) {
        struct hs_object *object = &s->dump->objects.objects[s->missing[i].object];
        struct hs_elf *found = NULL;
        if (strcmp(s->missing[i].link.build_id, answer->build_id) != 0)
            continue;
        HS_TRY(hs_debugfile_try_supplement(&s->missing[i].link, answer->path, &found, err));
        if (found == NULL)
            continue;
        prepare_take_supplement(object, found);
        if (!is_counted)
            prepare_count_served(s->dump, answer->path);
        is_counted = true;
    }
    return HS_OK;
}

/* Asks the server for those that are not here, each once. */
static hs_status prepare_ask_supplements(struct prepare_supplements *s, uint64_t spent_ns,
                                         struct hs_error *err)
{
    struct hs_debug_answers answers = {.spent_ns = spent_ns};
    hs_status status = HS_OK;

    for (size_t i = 0; i < s->n && status == HS_OK; i++) {
        const char *id = s->missing[i].link.build_id;
        bool is_asked = false;
        for (size_t j = 0; j < answers.n && !is_asked; j++)
            is_asked = strcmp(answers.list[j].build_id, id) == 0;
        if (!is_asked)
            status = hs_debug_answers_add(&answers, id, i, err);
    }
    if (status == HS_OK)
        status = prepare_question(s->dump, &answers, err);
    for (size_t i = 0; i < answers.n && status == HS_OK; i++)
        status = prepare_answer_supplement(s, &answers.list[i], err);
    hs_debug_answers_fini(&answers);
    return status;
}

/* Says of what is still missing where it would be. */
static hs_status prepare_note_supplements(struct prepare_supplements *s, struct hs_error *err)
{
    char text[NOTE_BYTES];
    hs_str note;

    for (size_t i = 0; i < s->n; i++) {
        const struct hs_object *object = &s->dump->objects.objects[s->missing[i].object];
        if (object->supplement != NULL)
            continue;
        snprintf(
            text, sizeof text,
            "types and names of '%.200s' are missing: dwz moved them to '%.400s', which is not "
            "there or of another build",
            object->name, s->missing[i].link.path);
        HS_TRY(hs_strtab_add(&s->dump->strings, text, &note, err));
        HS_TRY(prepare_add_note(s->dump, note, err));
    }
    return HS_OK;
}

static hs_status prepare_supplements(struct hs_dump *dump, const struct prepare_places *places,
                                     const bool *is_new, uint64_t spent_ns, struct hs_error *err)
{
    struct prepare_supplements s = {.dump = dump, .places = places};
    hs_status status = HS_OK;

    for (size_t i = 0; i < dump->objects.n && status == HS_OK; i++)
        if (is_new[i])
            status = prepare_seek_supplement(&s, i, err);
    if (status == HS_OK && dump->options->debug_server != NULL)
        status = prepare_ask_supplements(&s, spent_ns, err);
    if (status == HS_OK)
        status = prepare_note_supplements(&s, err);
    hs_free(s.missing);
    return status;
}

hs_status hs_dump_find_debug(struct hs_dump *dump, struct hs_error *err)
{
    struct prepare_places places;
    hs_auto_free bool *is_new = NULL;
    uint64_t began_ns = hs_now_ns();

    if (dump->options->no_names)
        return HS_OK;
    prepare_places(dump, &places);
    HS_TRY(HS_ALLOC(&is_new, dump->objects.n + 1, err));
    for (size_t i = 0; i < dump->objects.n; i++) {
        is_new[i] = !dump->objects.objects[i].debug_tried;
        if (is_new[i])
            HS_TRY(prepare_find(dump, &places, &dump->objects.objects[i], err));
    }
    if (dump->options->debug_server != NULL)
        HS_TRY(prepare_ask(dump, is_new, err));
    return prepare_supplements(dump, &places, is_new, hs_now_ns() - began_ns, err);
}
