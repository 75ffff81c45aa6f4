/* The ELF objects loaded in a target. */
#include "process/objects.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/checked.h"
#include "process/image.h"
#include "symbols/cfi.h"
#include "symbols/dwarf_box.h"
#include "symbols/elf.h"
#include "symbols/elf_loaded.h"
#include "symbols/lines.h"
#include "target/core.h"

#define OBJECTS_PAGE ((uint64_t)4096)
#define OBJECTS_NOTE_BYTES ((size_t)256)
/* The linker maps a file in at most a handful of pieces, with reservations between them. */
#define OBJECTS_PIECES 64

/* The mappings of one loaded file. */
struct object_file {
    const struct hs_mapping *lowest; /* the one with the lowest file offset */
    hs_addr begin, end;              /* with the zeroed memory (.bss) that follows */
    bool has_code;
};

static void object_fini(struct hs_object *object)
{
    hs_cfi_close(object->cfi);
    hs_elf_close(object->debug);
    hs_elf_close(object->supplement);
    hs_buffer_fini(&object->merged);
    hs_elf_close(object->elf);
    hs_pages_free(object->loaded, object->n_loaded_bytes, 1);
    hs_free(object->why);
    hs_free(object->path);
    hs_free(object->name);
    memset(object, 0, sizeof *object);
}

void hs_objects_close(struct hs_objects *objects)
{
    if (objects == NULL)
        return;
    for (size_t i = 0; i < objects->n; i++)
        object_fini(&objects->objects[i]);
    hs_free(objects->objects);
    for (size_t i = 0; i < objects->n_lost; i++) {
        hs_free(objects->lost[i].path);
        hs_free(objects->lost[i].why);
    }
    hs_free(objects->lost);
    hs_dwarf_box_free(objects->box);
    memset(objects, 0, sizeof *objects);
}

hs_status hs_objects_check(const struct hs_objects *objects, struct hs_error *err)
{
    for (size_t i = 0; i < objects->n; i++)
        if (hs_elf_had_no_room(objects->objects[i].elf)) {
            (void)hs_fail(err, HS_LIMIT, "no memory to read '%s'",
                          hs_elf_name(objects->objects[i].elf));
            return hs_hint(err, "its size in addresses is needed: see 'ulimit -v'");
        }
    return HS_OK;
}

struct hs_dwarf_box *hs_objects_box(struct hs_objects *objects)
{
    struct hs_error ignored = HS_ERROR_INIT;

    if (objects->box == NULL && hs_dwarf_box_new(NULL, &objects->box, &ignored) != HS_OK)
        return NULL;
    return objects->box;
}

/* Is `m`, which maps the first page of the file of `head` again, one more piece of that load? A
 * linker may let segments share pages of the file (lld does, so that of a small program each is
 * mapped at offset 0): the program headers, which `head` maps, say where the piece belongs. */
static bool object_has_piece(struct hs_target *target, const struct hs_mapping *head,
                             const struct hs_mapping *m)
{
    uint8_t page[OBJECTS_PAGE];
    hs_auto(hs_elf) *elf = NULL;
    struct hs_error ignored = HS_ERROR_INIT;
    size_t n;

    if (hs_target_read(target, head->begin, page, sizeof page, &ignored) != HS_OK ||
        hs_elf_open_memory(page, sizeof page, hs_mapping_path(target, head), &elf, &ignored) !=
            HS_OK)
        return false;
    const struct hs_elf_segment *s = hs_elf_segments(elf, &n);
    for (size_t i = 1; i < n; i++)
        if (s[i].file_offset < OBJECTS_PAGE && s[i].executable == m->executable &&
            s[i].vaddr / OBJECTS_PAGE - s[0].vaddr / OBJECTS_PAGE ==
                (m->begin - head->begin) / OBJECTS_PAGE)
            return true;
    return false;
}

/* Gathers the mappings of the file that is mapped at number `at`. The same file may be loaded
 * twice (dlmopen): a second load begins where its first page is mapped again, for no segment. */
static struct object_file object_gather(struct hs_target *target, size_t at)
{
    const struct hs_mapping *m = target->mappings;
    struct object_file file = {.lowest = &m[at], .begin = m[at].begin, .end = m[at].end};
    const char *path = hs_mapping_path(target, &m[at]);

    file.has_code = m[at].executable;
    for (size_t i = at + 1; i < target->n_mappings && i <= at + OBJECTS_PIECES; i++) {
        if (m[i].inode == m[at].inode && strcmp(hs_mapping_path(target, &m[i]), path) == 0) {
            if (m[i].file_offset == 0 && file.lowest->file_offset == 0 &&
                !object_has_piece(target, file.lowest, &m[i]))
                break;
            if (m[i].file_offset < file.lowest->file_offset)
                file.lowest = &m[i];
            file.end = m[i].end;
            file.has_code |= m[i].executable;
        } else if (m[i].inode != 0 && m[i].file_offset == 0) {
            break; /* another file begins: an object is loaded in one piece */
        } else if (m[i].inode == 0 && m[i].begin == file.end && m[i].writable) {
            file.end = m[i].end;
        }
    }
    return file;
}

static void object_strip(char *text, const char *suffix)
{
    size_t n = strlen(text), k = strlen(suffix);
    if (n > k && strcmp(text + n - k, suffix) == 0)
        text[n - k] = '\0';
}

static hs_status object_name(struct hs_object *object, const char *mapped, struct hs_error *err)
{
    HS_TRY(hs_strdup(mapped, &object->path, err));
    object_strip(object->path, " (deleted)");
    const char *slash = strrchr(object->path, '/');
    HS_TRY(hs_strdup(slash != NULL ? slash + 1 : object->path, &object->name, err));
    object_strip(object->name, ".cmxs");
    return HS_OK;
}

enum object_build { BUILD_UNKNOWN, BUILD_SAME, BUILD_OTHER };

/* Does the mapped build-id note equal that of the file? */
static enum object_build object_build(struct hs_elf *elf, hs_addr bias, struct hs_target *target)
{
    static const char note_name[] = ".note.gnu.build-id";
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_elf_section section;
    const uint8_t *expected;
    uint8_t found[OBJECTS_NOTE_BYTES];
    size_t n;

    if (!hs_elf_section_named(elf, note_name, &section) || section.vaddr == 0 ||
        hs_elf_section_bytes_named(elf, note_name, &expected, &n, &ignored) != HS_OK || n == 0 ||
        n > sizeof found ||
        hs_target_read(target, section.vaddr + bias, found, n, &ignored) != HS_OK)
        return BUILD_UNKNOWN;
    return memcmp(found, expected, n) == 0 ? BUILD_SAME : BUILD_OTHER;
}

/* Without a build-id: the links of /proc lead to the file that was loaded, a path to whatever has
 * that name today. Who gave the files of a core has chosen them. */
static bool object_is_linked(const struct hs_target *target, const char *path,
                             const struct hs_mapping *mapping)
{
    char root[64];
    struct stat found;

    snprintf(root, sizeof root, "/proc/%d/%s/", target->live.pid, "root");
    if (target->core != NULL || strncmp(path, root, strlen(root)) != 0)
        return true;
    return stat(path, &found) == 0 && found.st_ino == mapping->inode;
}

static hs_status object_place(struct hs_object *object, const struct object_file *file,
                              const char *mapped, struct hs_error *err)
{
    hs_addr low, high;

    if (!hs_elf_bias(object->elf, file->lowest->begin, file->lowest->file_offset, &object->bias) ||
        !hs_elf_extent(object->elf, &low, &high))
        return hs_fail(err, HS_FORMAT, "cannot place '%s': no segment is mapped as it says",
                       mapped);
    object->begin = (low + object->bias) & ~(OBJECTS_PAGE - 1);
    object->end = high + object->bias; /* the file says so; what is mapped decides */
    /* A program may give its first pages back, or never have had them. */
    if (file->lowest->file_offset != 0 && object->begin < file->begin)
        object->begin = file->begin;
    if (object->end > file->end)
        object->end = file->end;
    if (object->begin != file->begin || object->end <= object->begin)
        return hs_fail(err, HS_FORMAT, "cannot place '%s': its segments do not fit", mapped);
    return HS_OK;
}

/* Opens the file behind some mappings. HS_FORMAT for what is no object of ours. */
static hs_status object_open_file(struct hs_object *object, struct hs_target *target,
                                  const struct object_file *file, struct hs_error *err)
{
    const char *mapped = hs_mapping_path(target, file->lowest);
    char path[PATH_MAX];

    HS_TRY(hs_target_file_path(target, file->lowest, path, sizeof path, err));
    HS_TRY(hs_elf_open_path(path, &object->elf, err));
    HS_TRY(object_place(object, file, mapped, err));
    enum object_build build = object_build(object->elf, object->bias, target);
    if (build == BUILD_SAME ||
        (build == BUILD_UNKNOWN && object_is_linked(target, path, file->lowest)))
        return HS_OK;
    return hs_fail(err, HS_TARGET, "cannot use '%s': the file was replaced since it was loaded",
                   mapped);
}

static bool object_read_target(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    struct hs_error ignored = HS_ERROR_INIT;
    return hs_target_read(context, at, ret, n_bytes, &ignored) == HS_OK;
}

/* A core may hold no more than the first page of a file: what else there is reads as zeros. */
static bool object_read_core(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    struct hs_error ignored = HS_ERROR_INIT;
    uint8_t *bytes = ret;
    size_t done = 0, n;

    while (done < n_bytes) {
        if (hs_target_read_some(context, at + done, bytes + done, n_bytes - done, &n, &ignored) !=
            HS_OK)
            return false;
        done += n;
        if (done == n_bytes)
            break;
        size_t page_end = OBJECTS_PAGE - (at + done) % OBJECTS_PAGE;
        n = n_bytes - done < page_end ? n_bytes - done : page_end;
        memset(bytes + done, 0, n);
        done += n;
    }
    return true;
}

/* Opens what is loaded of it. The reason why, which *err holds, is kept. */
static hs_status object_open_loaded(struct hs_object *object, struct hs_target *target,
                                    const struct object_file *file, struct hs_error *err)
{
    const struct hs_memory_reader reader = {
        target->core != NULL ? object_read_core : object_read_target, target};
    const char *mapped = hs_mapping_path(target, file->lowest);
    void *bytes;

    HS_TRY(hs_strdup(err->message, &object->why, err));
    if (file->lowest->file_offset != 0)
        return hs_fail(err, HS_TARGET, "cannot read '%s' from memory: its head is not mapped",
                       mapped);
    HS_TRY(hs_elf_read_loaded(&reader, file->lowest->begin, file->end, &bytes,
                              &object->n_loaded_bytes, err));
    object->loaded = bytes;
    HS_TRY(hs_elf_open_memory(object->loaded, object->n_loaded_bytes, mapped, &object->elf, err));
    return object_place(object, file, mapped, err);
}

static hs_status object_open(struct hs_object *object, struct hs_target *target,
                             const struct object_file *file, struct hs_error *err)
{
    hs_status status = object_open_file(object, target, file, err);

    if (status != HS_OK && status != HS_LIMIT) {
        const struct hs_error first = *err;
        hs_elf_close(object->elf);
        object->elf = NULL;
        status = object_open_loaded(object, target, file, err);
        if (status != HS_OK && status != HS_LIMIT && target->core != NULL) {
            *err = first; /* with its hint: where the file may be given */
            status = first.status;
        }
    }
    HS_TRY(status);
    return object_name(object, hs_mapping_path(target, file->lowest), err);
}

const struct hs_object *hs_objects_object_at(const struct hs_objects *objects, hs_addr address)
{
    if (objects->n == 0)
        return NULL;
    if (objects->objects[0].begin <= address && address < objects->objects[0].end)
        return &objects->objects[0];
    size_t at = 1 + HS_FIRST_ABOVE(&objects->objects[1], objects->n - 1, end, address);
    if (at == objects->n || objects->objects[at].begin > address)
        return NULL;
    return &objects->objects[at];
}

/* Puts an object at its place; there is room for it. */
static void objects_place(struct hs_objects *objects, struct hs_object object)
{
    size_t at = objects->n;

    while (at > 1 && !object.is_executable && objects->objects[at - 1].begin > object.begin)
        at--;
    if (object.is_executable)
        at = 0;
    memmove(objects->objects + at + 1, objects->objects + at, (objects->n - at) * sizeof object);
    objects->objects[at] = object;
    objects->n++;
}

/* Lists a library that cannot be had; *err says why. */
static hs_status objects_lose(struct hs_objects *objects, const struct hs_target *target,
                              const struct object_file *file, struct hs_error *err)
{
    struct hs_lost_object *lost;
    char why[sizeof err->message];

    memcpy(why, err->message, sizeof why);
    HS_TRY(HS_GROW(&objects->lost, &objects->lost_capacity, objects->n_lost + 1, err));
    lost = &objects->lost[objects->n_lost];
    lost->begin = file->begin;
    HS_TRY(hs_strdup(hs_mapping_path(target, file->lowest), &lost->path, err));
    objects->n_lost++; /* owns both from here on */
    return hs_strdup(why, &lost->why, err);
}

static bool objects_is_lost(const struct hs_objects *objects, const struct hs_target *target,
                            const struct hs_mapping *mapping)
{
    for (size_t i = 0; i < objects->n_lost; i++)
        if (objects->lost[i].begin == mapping->begin &&
            strcmp(objects->lost[i].path, hs_mapping_path(target, mapping)) == 0)
            return true;
    return false;
}

bool hs_objects_missing(const struct hs_objects *objects, size_t i, char *text, size_t n_bytes)
{
    size_t n_notes = hs_dwarf_box_n_notes(objects->box);

    if (i < n_notes) {
        snprintf(text, n_bytes, "%s", hs_dwarf_box_note(objects->box, i));
        return true;
    }
    i -= n_notes;
    for (size_t k = 0; k < objects->n; k++) {
        const struct hs_object *object = &objects->objects[k];
        if (object->loaded == NULL || i-- != 0)
            continue;
        snprintf(text, n_bytes, "'%s' is read from memory, without its local names: %s",
                 object->name, object->why);
        return true;
    }
    if (i >= objects->n_lost)
        return false;
    snprintf(text, n_bytes, "names of '%s' are missing: %s", objects->lost[i].path,
             objects->lost[i].why);
    return true;
}

/* Opens and adds one object; lists a library that cannot be opened. */
static hs_status objects_try(struct hs_objects *objects, struct hs_target *target,
                             const struct object_file *file, bool is_executable,
                             struct hs_error *err)
{
    struct hs_object object = {.is_executable = is_executable};

    HS_TRY(HS_GROW(&objects->objects, &objects->capacity, objects->n + 1, err));
    hs_status status = object_open(&object, target, file, err);
    if (status == HS_OK) {
        objects_place(objects, object);
        return HS_OK;
    }
    object_fini(&object);
    if (status == HS_LIMIT || is_executable)
        return status;
    return objects_lose(objects, target, file, err);
}

static bool objects_is_same_file(const struct hs_target *target, const struct hs_mapping *a,
                                 const struct hs_mapping *b)
{
    return a->inode == b->inode &&
           strcmp(hs_mapping_path(target, a), hs_mapping_path(target, b)) == 0;
}

/* The last file that was asked for: a file may be mapped in thousands of pieces. */
struct object_head {
    const struct hs_mapping *asked; /* NULL: none yet */
    bool is_mapped;
};

/* Code of a file that is loaded elsewhere, and more than this of it: V8 maps its builtins once more
 * beside what it compiles. */
static bool objects_is_copy(const struct hs_target *target, const struct hs_mapping *mapping,
                            struct object_head *head)
{
    if (mapping->file_offset == 0)
        return false;
    if (head->asked != NULL && objects_is_same_file(target, head->asked, mapping))
        return head->is_mapped;
    *head = (struct object_head){.asked = mapping};
    for (size_t i = 0; i < target->n_mappings && !head->is_mapped; i++)
        head->is_mapped = target->mappings[i].file_offset == 0 &&
                          objects_is_same_file(target, &target->mappings[i], mapping);
    return head->is_mapped;
}

static bool objects_is_file(const struct hs_target *target, size_t at)
{
    const struct hs_mapping *m = &target->mappings[at];
    return m->inode != 0 && !m->shared && hs_mapping_path(target, m)[0] == '/';
}

/* Number of the first mapping of the main program, or n_mappings. The dynamic linker may have been
 * given the program (ld.so PROGRAM): then this is the linker, see objects_prefer_program. */
static size_t objects_find_program(struct hs_target *target)
{
    for (size_t i = 0; i < target->n_mappings; i++)
        if (objects_is_file(target, i) && target->mappings[i].inode == target->identity.exe_inode)
            return i;
    /* Some layered file systems number files differently here and there: the program is lowest. */
    for (size_t i = 0; i < target->n_mappings; i++)
        if (objects_is_file(target, i) && object_gather(target, i).has_code)
            return i;
    return target->n_mappings;
}

static bool object_is_linker(const struct hs_object *object)
{
    return strncmp(object->name, "ld-linux", 8) == 0 || strncmp(object->name, "ld.so", 5) == 0 ||
           strncmp(object->name, "ld-2.", 5) == 0;
}

/* Takes, when the dynamic linker was started as the program, the object with an interpreter that is
 * no library as the program. */
static void objects_prefer_program(struct hs_objects *objects)
{
    struct hs_object *all = objects->objects;

    if (objects->n < 2 || !object_is_linker(&all[0]))
        return;
    for (size_t i = 1; i < objects->n; i++) {
        if (!hs_elf_has_interpreter(all[i].elf) || strncmp(all[i].name, "lib", 3) == 0)
            continue;
        struct hs_object linker = all[0], program = all[i];
        linker.is_executable = false;
        program.is_executable = true;
        memmove(all + i, all + i + 1, (objects->n - i - 1) * sizeof *all);
        memmove(all, all + 1, (objects->n - 2) * sizeof *all);
        objects->n -= 2;
        objects_place(objects, program);
        objects_place(objects, linker);
        return;
    }
}

/* The program as its user knows it: what was executed may be a link to a file of another name
 * (redis-server to redis-check-rdb), and one file many programs. It is believed when the first word
 * of the command line and the kernel's name of the process agree; what a script or the linker runs
 * has two names there. */
static hs_status objects_name_program(struct hs_objects *objects, const struct hs_target *target,
                                      struct hs_error *err)
{
    struct hs_object *program = &objects->objects[0];
    size_t n = strcspn(target->command, " ");
    const char *begin = target->command, *slash = memrchr(begin, '/', n);
    char *name = NULL;

    n -= slash != NULL ? (size_t)(slash + 1 - begin) : 0;
    begin = slash != NULL ? slash + 1 : begin;
    /* gdb's gcore takes that name from the command line: it may go on behind the first word. */
    size_t n_known = strlen(target->name);
    bool agree = strncmp(begin, target->name, n_known) == 0 &&
                 (n_known == n || n_known == sizeof target->name - 1 || begin[n_known] == '\0');
    if (n == 0 || n_known == 0 || !agree || strncmp(begin, "ld-", 3) == 0 ||
        strncmp(begin, "ld.so", 5) == 0)
        return HS_OK;
    HS_TRY(hs_strdup(begin, &name, err));
    name[n] = '\0';
    hs_free(program->name);
    program->name = name;
    return HS_OK;
}

hs_status hs_objects_update(struct hs_objects *objects, struct hs_target *target,
                            struct hs_error *err)
{
    struct object_head head = {0};
    for (size_t i = 0; i < target->n_mappings; i++) {
        if (!objects_is_file(target, i) ||
            hs_objects_object_at(objects, target->mappings[i].begin) != NULL ||
            objects_is_lost(objects, target, &target->mappings[i]))
            continue;
        struct object_file file = object_gather(target, i);
        if (file.has_code && !objects_is_copy(target, file.lowest, &head))
            HS_TRY(objects_try(objects, target, &file, false, err));
    }
    return HS_OK;
}

static hs_status objects_no_program(const struct hs_target *target, struct hs_error *err)
{
    (void)hs_fail(err, HS_TARGET, "cannot find the program of process %d in its mappings",
                  target->pid);
    if (target->core != NULL && hs_core_note(target)[0] != '\0')
        return hs_hint(err, "%s", hs_core_note(target));
    return target->core == NULL
               ? HS_TARGET
               : hs_hint(err, "the core names no mapped files (note NT_FILE): take it by the "
                              "kernel, or by gcore of gdb 7.6 or later");
}

static hs_status objects_open_all(struct hs_objects *objects, struct hs_target *target,
                                  struct hs_error *err)
{
    size_t at = objects_find_program(target);

    if (at == target->n_mappings)
        return objects_no_program(target, err);
    struct object_file file = object_gather(target, at);
    if (objects_try(objects, target, &file, true, err) != HS_OK) {
        if (err->status != HS_LIMIT)
            err->status = HS_TARGET;
        return hs_context(err, "cannot open the program of process %d", target->pid);
    }
    HS_TRY(hs_objects_update(objects, target, err));
    objects_prefer_program(objects);
    return objects_name_program(objects, target, err);
}

hs_status hs_objects_open(struct hs_objects *objects, struct hs_target *target,
                          struct hs_error *err)
{
    struct hs_objects new = {0};
    hs_status status = objects_open_all(&new, target, err);

    if (status != HS_OK) {
        hs_objects_close(&new);
        return status;
    }
    *objects = new;
    return HS_OK;
}

struct hs_elf *hs_object_with_types(const struct hs_object *object)
{
    if (object->debug != NULL && hs_dwarf_present(object->debug))
        return object->debug;
    return hs_dwarf_present(object->elf) ? object->elf : NULL;
}

static struct hs_live_symbol object_symbol(const struct hs_object *object,
                                           const struct hs_elf_symbol *symbol)
{
    return (struct hs_live_symbol){
        .address = symbol->vaddr + object->bias,
        .size = symbol->n_bytes,
        .name = symbol->name,
        .object = object,
        .is_code = symbol->kind == HS_SYMBOL_CODE,
    };
}

bool hs_object_find(const struct hs_object *object, const char *name, struct hs_live_symbol *ret)
{
    const struct hs_elf_symbol *symbol = hs_elf_find(object->elf, name);

    if (symbol == NULL || symbol->kind == HS_SYMBOL_TLS)
        return false;
    *ret = object_symbol(object, symbol);
    return true;
}

bool hs_objects_find(const struct hs_objects *objects, const char *name, struct hs_live_symbol *ret)
{
    for (size_t i = 0; i < objects->n; i++)
        if (hs_object_find(&objects->objects[i], name, ret))
            return true;
    return false;
}

bool hs_objects_at(const struct hs_objects *objects, hs_addr address, struct hs_live_symbol *ret)
{
    const struct hs_object *object = hs_objects_object_at(objects, address);

    if (object == NULL)
        return false;
    const struct hs_elf_symbol *symbol =
        hs_elf_symbol_at(object->elf, address - object->bias, NULL);
    if (symbol == NULL)
        return false;
    *ret = object_symbol(object, symbol);
    return true;
}

hs_status hs_objects_copy_data(const struct hs_objects *objects, struct hs_image *image,
                               struct hs_target *target, struct hs_error *err)
{
    for (size_t i = 0; i < objects->n; i++) {
        const struct hs_object *object = &objects->objects[i];
        size_t n_segments;
        const struct hs_elf_segment *segments = hs_elf_segments(object->elf, &n_segments);
        for (size_t j = 0; j < n_segments; j++) {
            hs_addr begin = segments[j].vaddr + object->bias;
            hs_addr end;
            if (segments[j].writable && begin >= object->begin &&
                hs_add_fits(begin, segments[j].n_memory_bytes, &end) && end <= object->end)
                HS_TRY(hs_image_copy(image, target, begin, end, err));
        }
    }
    return HS_OK;
}
