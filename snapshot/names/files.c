/* Debug files of the binaries of a snapshot, by build-id. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "names_private.h"
#include "runtimes/debug_server.h"
#include "symbols/debugfile.h"
#include "symbols/lines.h"

enum { FILES_PAGE = 4096, FILES_MOST_BINARIES = 1 << 12, FILES_MOST_DIGITS = 128 };

static const struct hs_binary *binary_of(const struct names *names, size_t object)
{
    return &hs_snap_facts(names->snap)->binaries[object];
}

static const char *old_text(const struct names *names, hs_str string)
{
    return hs_snap_string(names->snap, string);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Tells whether a text is a build-id: it goes into paths, and to servers. */
static bool is_build_id(const char *text)
{
    size_t n = strlen(text);
    return n >= 4 && n % 2 == 0 && n <= FILES_MOST_DIGITS && strspn(text, "0123456789abcdef") == n;
}

static bool is_wanted(const struct names *names, size_t object)
{
    const struct hs_binary *binary = binary_of(names, object);
    return (!binary->has_symtab || !binary->has_debug_info) &&
           is_build_id(old_text(names, binary->build_id));
}

/* Places an object as the binary was. False where the file says another place. */
static bool place(const struct hs_binary *binary, struct hs_elf *elf, struct hs_object *object)
{
    hs_addr low, high;

    if (!hs_elf_extent(elf, &low, &high))
        return false;
    object->bias = binary->begin - (low & ~(hs_addr)(FILES_PAGE - 1));
    object->begin = binary->begin;
    object->end = high + object->bias;
    return object->end > object->begin && (hs_elf_is_dyn(elf) || object->bias == 0);
}

/* Takes a file that has what is missing; passes over others. */
static hs_status take(struct names *names, size_t number, const char *path, bool *ret_taken,
                      struct hs_error *err)
{
    struct hs_object *object = &names->dump.objects.objects[number];
    const struct hs_binary *binary = binary_of(names, number);
    struct hs_elf *elf = NULL;

    *ret_taken = false;
    HS_TRY(hs_debugfile_open_build_id(old_text(names, binary->build_id), path, &elf, err));
    if (elf == NULL)
        return HS_OK;
    bool has_more = (hs_elf_has_symtab(elf) && !binary->has_symtab) ||
                    (hs_dwarf_present(elf) && !binary->has_debug_info);
    if (!has_more || !place(binary, elf, object)) {
        hs_elf_close(elf);
        return HS_OK;
    }
    hs_elf_close(object->elf);
    object->elf = elf;
    names->is_found[number] = *ret_taken = true;
    names->report->n_found++;
    return HS_OK;
}

/* Tries the places of a directory: by build-id, and by the name of the binary. */
static hs_status seek_in(struct names *names, size_t number, const char *directory,
                         struct hs_error *err)
{
    const char *id = old_text(names, binary_of(names, number)->build_id);
    const char *name = base_name(old_text(names, binary_of(names, number)->path));
    char path[PATH_MAX];
    bool is_taken = false;

    for (unsigned i = 0; i < 3 && !is_taken; i++) {
        int n = i == 0   ? snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", directory, id,
                                    id + 2)
                : i == 1 ? snprintf(path, sizeof path, "%s/%s.debug", directory, name)
                         : snprintf(path, sizeof path, "%s/%s", directory, name);
        if (n > 0 && (size_t)n < sizeof path)
            HS_TRY(take(names, number, path, &is_taken, err));
    }
    return HS_OK;
}

/* Looks for the file of an object on this machine. */
static hs_status seek(struct names *names, size_t number, struct hs_error *err)
{
    const struct hs_names_options *options = names->options;
    bool is_taken;

    for (size_t i = 0; i < options->n_debug_dirs && !names->is_found[number]; i++)
        HS_TRY(seek_in(names, number, options->debug_dirs[i], err));
    if (!names->is_found[number])
        HS_TRY(seek_in(names, number, HS_DEBUG_DIRECTORY, err));
    if (names->is_found[number])
        return HS_OK;
    return take(names, number, old_text(names, binary_of(names, number)->path), &is_taken, err);
}

static void count_served(struct names *names, const char *path)
{
    struct stat about;

    names->report->n_served++;
    if (stat(path, &about) == 0 && about.st_size > 0)
        names->report->served_bytes += (uint64_t)about.st_size;
}

/* Asks the servers, and keeps what is to be said of them. */
static hs_status ask(struct names *names, struct hs_debug_answers *answers, struct hs_error *err)
{
    const struct hs_names_options *options = names->options;

    if (answers->n == 0)
        return HS_OK;
    HS_TRY(hs_debug_server_ask(options->debug_server, options->debug_server_ns, options->progress,
                               answers, err));
    if (answers->note[0] != '\0')
        snprintf(names->report->note, sizeof names->report->note, "%s", answers->note);
    return HS_OK;
}

static hs_status ask_files(struct names *names, struct hs_debug_answers *answers,
                           struct hs_error *err)
{
    for (size_t i = 0; i < names->dump.objects.n; i++)
        if (is_wanted(names, i) && !names->is_found[i])
            HS_TRY(hs_debug_answers_add(answers, old_text(names, binary_of(names, i)->build_id), i,
                                        err));
    HS_TRY(ask(names, answers, err));
    for (size_t i = 0; i < answers->n; i++) {
        const struct hs_debug_answer *answer = &answers->list[i];
        bool is_taken = false;
        if (answer->path != NULL)
            HS_TRY(take(names, answer->object, answer->path, &is_taken, err));
        if (is_taken)
            count_served(names, answer->path);
    }
    return HS_OK;
}

/* Opens what dwz moved out of the file of an object, here or from a server. */
static hs_status seek_supplement(struct names *names, size_t number, struct hs_error *err)
{
    struct hs_object *object = &names->dump.objects.objects[number];
    struct hs_debug_answers answers = {0};
    struct hs_debugfile_link link;
    const char *directory = HS_DEBUG_DIRECTORY;

    if (!hs_debugfile_supplement(object->elf, &link))
        return HS_OK;
    HS_TRY(hs_debugfile_open_supplement(object->elf, &link, "", names->options->debug_dirs,
                                        names->options->n_debug_dirs, &object->supplement, err));
    if (object->supplement == NULL)
        HS_TRY(hs_debugfile_open_supplement(object->elf, &link, "", &directory, 1,
                                            &object->supplement, err));
    hs_status status = HS_OK;
    if (object->supplement == NULL && names->options->debug_server != NULL) {
        status = hs_debug_answers_add(&answers, link.build_id, number, err);
        if (status == HS_OK)
            status = ask(names, &answers, err);
        if (status == HS_OK && answers.list[0].path != NULL)
            status =
                hs_debugfile_try_supplement(&link, answers.list[0].path, &object->supplement, err);
        if (status == HS_OK && object->supplement != NULL)
            count_served(names, answers.list[0].path);
        hs_debug_answers_fini(&answers);
    }
    HS_TRY(status);
    if (object->supplement != NULL)
        hs_elf_set_supplement(object->elf, object->supplement);
    else
        snprintf(names->report->note, sizeof names->report->note,
                 "types and names of '%.100s' are missing: dwz moved them to '%.200s', which is "
                 "not there or of another build",
                 object->name, link.path);
    return HS_OK;
}

/* Makes the objects: of each binary its name and path, and no symbols yet. */
static hs_status make_objects(struct names *names, struct hs_error *err)
{
    static const uint8_t nothing[64] = {0x7f, 'E',      'L',       'F',      2,        1,
                                        1,    [16] = 3, [18] = 62, [20] = 1, [52] = 64};
    const struct hs_snap_facts *facts = hs_snap_facts(names->snap);
    struct hs_objects *objects = &names->dump.objects;
    size_t n = facts->n_binaries < FILES_MOST_BINARIES ? facts->n_binaries : FILES_MOST_BINARIES;

    HS_TRY(HS_ALLOC(&names->is_found, n, err));
    HS_TRY(HS_GROW(&objects->objects, &objects->capacity, n, err));
    for (size_t i = 0; i < n; i++) {
        struct hs_object *object = &objects->objects[i];
        const char *path = old_text(names, facts->binaries[i].path);
        *object = (struct hs_object){
            .is_executable = i == 0, .debug_tried = true, .begin = facts->binaries[i].begin};
        objects->n++;
        HS_TRY(hs_strdup(path, &object->path, err));
        HS_TRY(hs_strdup(base_name(path), &object->name, err));
        HS_TRY(hs_elf_open_memory(nothing, sizeof nothing, object->path, &object->elf, err));
    }
    return HS_OK;
}

hs_status hs_names_find_files(struct names *names, struct hs_error *err)
{
    struct hs_debug_answers answers = {0};
    hs_status status = HS_OK;

    HS_TRY(make_objects(names, err));
    size_t n = names->dump.objects.n;
    for (size_t i = 0; i < n; i++) {
        if (!is_wanted(names, i))
            continue;
        names->report->n_wanted++;
        HS_TRY(seek(names, i, err));
    }
    if (names->options->debug_server != NULL)
        status = ask_files(names, &answers, err);
    hs_debug_answers_fini(&answers);
    HS_TRY(status);
    for (size_t i = 0; i < n; i++) {
        if (names->is_found[i])
            HS_TRY(seek_supplement(names, i, err));
        else if (is_wanted(names, i) && names->report->missing[0] == '\0')
            snprintf(names->report->missing, sizeof names->report->missing, "%s",
                     names->dump.objects.objects[i].name);
    }
    return HS_OK;
}
