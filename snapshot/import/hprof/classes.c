/* Classes: their names, where their objects hold pointers, what their objects weigh, and the types
 * of the snapshot that they become.
 *
 * An object's data are the fields of its class, then those of the class above, and so on. HPROF
 * gives neither headers nor padding: sizes are guessed as VisualVM does (ObjectSizeSettings.java).
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "run.h"

static hs_status name_text(const struct hprof_run *run, uint64_t string, const char **ret,
                           size_t *ret_n)
{
    uint64_t at = hs_id_find(&run->strings, string);
    *ret = "";
    *ret_n = 0;
    if (at == UINT64_MAX)
        return HS_OK;
    uint64_t body = run->strings.places[at].at;
    struct hprof_reader length = hs_hprof_read(&run->file, body - 4, UINT64_MAX);
    uint64_t n = hs_hprof_number(&length, 4);
    if (n < run->file.id_bytes)
        return HS_OK;
    *ret = (const char *)run->file.map.bytes + body + run->file.id_bytes;
    *ret_n = (size_t)(n - run->file.id_bytes);
    return HS_OK;
}

/* "[[Ljava/lang/String;" to "java.lang.String[][]". */
static size_t class_text(const char *text, size_t n, char *to, size_t room)
{
    static const char letters[] = "ZCFDBSIJ";
    static const char *const basics[] = {"boolean", "char",  "float", "double",
                                         "byte",    "short", "int",   "long"};
    size_t depth = 0, used = 0;
    while (depth < n && text[depth] == '[')
        depth++;
    const char *letter = depth != 0 && n == depth + 1 ? strchr(letters, text[depth]) : NULL;
    if (letter != NULL && *letter != 0) {
        used = strlen(basics[letter - letters]);
        memcpy(to, basics[letter - letters], used);
    } else {
        size_t at = depth, end = n;
        if (depth != 0 && n > depth + 2 && text[depth] == 'L' && text[n - 1] == ';') {
            at++;
            end--;
        }
        for (; at < end && used < room; at++)
            to[used++] = text[at] == '/' ? '.' : text[at];
    }
    for (; depth != 0 && used + 2 <= room; depth--) {
        to[used++] = '[';
        to[used++] = ']';
    }
    return used;
}

hs_status hs_hprof_name(struct hprof_run *run, uint64_t string, bool is_class, hs_str *ret,
                        struct hs_error *err)
{
    const char *text;
    size_t n;
    char name[MAKER_NAME_BYTES + 16];
    HS_TRY(name_text(run, string, &text, &n));
    if (!is_class)
        return maker_name(run->maker, "", text, n, ret, err);
    n = class_text(text, n < MAKER_NAME_BYTES ? n : MAKER_NAME_BYTES, name, sizeof name);
    return maker_name(run->maker, "", name, n, ret, err);
}

static int class_order(const void *a, const void *b)
{
    const struct hprof_class *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->body < y->body ? -1 : x->body > y->body;
}

const struct hprof_class *hs_hprof_class(const struct hprof_run *run, uint64_t id)
{
    size_t low = HS_FIRST_NOT(at, 0, run->n_classes, run->classes[at].id < id);
    return low < run->n_classes && run->classes[low].id == id ? &run->classes[low] : NULL;
}

/* ---- fields ---- */

struct own_fields {
    struct hprof_reader reader;
    uint64_t n_left;
};

static hs_status own_fields(const struct hprof_run *run, const struct hprof_class *of,
                            struct own_fields *ret, struct hs_error *err)
{
    struct hprof_statics walk;
    struct hprof_static ignored;
    HS_TRY(hs_hprof_statics(run, of, &walk, err));
    while (hs_hprof_static_next(&walk, &ignored))
        ;
    ret->reader = walk.reader;
    ret->n_left = hs_hprof_number(&ret->reader, 2);
    return ret->reader.failed ? hs_hprof_fail(&ret->reader, "a class", err) : HS_OK;
}

static bool own_next(struct own_fields *fields, uint64_t *name, uint64_t *type)
{
    if (fields->n_left == 0)
        return false;
    fields->n_left--;
    *name = hs_hprof_id(&fields->reader);
    *type = hs_hprof_number(&fields->reader, 1);
    return !fields->reader.failed && hs_hprof_type_bytes(fields->reader.file, *type) != 0;
}

static bool name_is(const struct hprof_run *run, uint64_t string, const char *text)
{
    const char *name;
    size_t n;
    return name_text(run, string, &name, &n) == HS_OK && n == strlen(text) &&
           memcmp(name, text, n) == 0;
}

static bool class_is(const struct hprof_run *run, const struct hprof_class *of, const char *slashed,
                     const char *dotted)
{
    return name_is(run, of->name_id, slashed) || name_is(run, of->name_id, dotted);
}

static bool is_reference_class(const struct hprof_run *run, const struct hprof_class *of)
{
    static const char *const names[][2] = {
        {"java/lang/ref/WeakReference", "java.lang.ref.WeakReference"},
        {"java/lang/ref/SoftReference", "java.lang.ref.SoftReference"},
        {"java/lang/ref/FinalReference", "java.lang.ref.FinalReference"},
        {"java/lang/ref/PhantomReference", "java.lang.ref.PhantomReference"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (class_is(run, of, names[i][0], names[i][1]))
            return true;
    return false;
}

/* The fields of one class of the chain, added to those of the class `to`. */
static hs_status layout_add(struct hprof_run *run, struct hprof_class *to,
                            const struct hprof_class *of, uint64_t *sum_bytes, struct hs_error *err)
{
    struct own_fields fields;
    uint64_t name, type;
    HS_TRY(own_fields(run, of, &fields, err));
    bool is_base = class_is(run, of, "java/lang/ref/Reference", "java.lang.ref.Reference");
    while (own_next(&fields, &name, &type)) {
        unsigned n_bytes = hs_hprof_type_bytes(&run->file, type);
        *sum_bytes += type == HPROF_OBJECT ? run->oop_bytes : n_bytes;
        if (type == HPROF_OBJECT) {
            struct hprof_field field = {.offset = (uint32_t)to->n_data};
            field.is_referent = is_base && name_is(run, name, "referent");
            HS_TRY(hs_hprof_name(run, name, false, &field.name, err));
            HS_TRY(maker_grow(run->maker, (void **)&run->fields, &run->field_capacity,
                              run->n_fields + 1, sizeof field, "the fields of classes", err));
            run->fields[run->n_fields++] = field;
            to->n_fields++;
        }
        to->n_data += n_bytes;
    }
    if (to->n_data > UINT32_MAX)
        return hs_fail(err, HS_FORMAT, "the objects of a class have more than 4 GiB");
    return HS_OK;
}

static hs_status layout_make(struct hprof_run *run, struct hprof_class *to, struct hs_error *err)
{
    uint64_t sum = run->min_bytes;
    const struct hprof_class *of = to;
    to->first_field = run->n_fields;
    for (unsigned depth = 0; of != NULL; depth++) {
        if (depth == HPROF_MAX_DEPTH)
            return hs_fail(err, HS_FORMAT, "a class has more than %d classes above it",
                           HPROF_MAX_DEPTH);
        to->is_reference |= is_reference_class(run, of);
        HS_TRY(layout_add(run, to, of, &sum, err));
        of = of->super == UINT32_MAX ? NULL : &run->classes[of->super];
    }
    to->n_bytes = run->raw_sizes ? to->raw_size : (sum + 7) & ~(uint64_t)7;
    return HS_OK;
}

/* ---- what a pointer weighs ---- */

static const struct hprof_class *class_named(const struct hprof_run *run, const char *slashed,
                                             const char *dotted)
{
    for (size_t i = 0; i < run->n_classes; i++)
        if (class_is(run, &run->classes[i], slashed, dotted))
            return &run->classes[i];
    return NULL;
}

static uint64_t static_value(const struct hprof_run *run, const struct hprof_class *of,
                             const char *name)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hprof_statics walk;
    struct hprof_static at;
    if (hs_hprof_statics(run, of, &walk, &err) != HS_OK)
        return 0;
    while (hs_hprof_static_next(&walk, &at))
        if (at.name != 0 && at.type == 11 && name_is(run, at.name, name))
            return at.target;
    return 0;
}

/* Two fields that stand side by side tell how wide a pointer is in the heap. */
static unsigned oop_guess(const struct hprof_run *run)
{
    static const struct {
        const char *slashed, *dotted, *first, *second;
    } pairs[] = {
        {"java/lang/Class$Atomic", "java.lang.Class$Atomic", "annotationDataOffset",
         "annotationTypeOffset"},
        {"java/util/concurrent/FutureTask", "java.util.concurrent.FutureTask", "runnerOffset",
         "waitersOffset"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct hprof_class *of = class_named(run, pairs[i].slashed, pairs[i].dotted);
        if (of == NULL)
            continue;
        uint64_t first = static_value(run, of, pairs[i].first);
        uint64_t gap = static_value(run, of, pairs[i].second) - first;
        if (gap == 4 || gap == 8)
            return (unsigned)gap;
    }
    return run->file.id_bytes;
}

static void sizes_guess(struct hprof_run *run)
{
    const struct hprof_class *object = class_named(run, "java/lang/Object", "java.lang.Object");
    unsigned id_bytes = run->file.id_bytes;
    run->oop_bytes = id_bytes;
    if (object != NULL && object->raw_size != 0 && object->raw_size < 64) {
        run->raw_sizes = true;
        run->min_bytes = object->raw_size;
        if (id_bytes == 8)
            run->oop_bytes = run->min_bytes < 16 ? 4 : 8;
        return;
    }
    if (id_bytes == 8)
        run->oop_bytes = oop_guess(run);
    run->min_bytes = id_bytes + run->oop_bytes;
}

/* ---- types ---- */

static hs_status members_make(struct hprof_run *run, const struct hprof_class *of, uint32_t type,
                              struct hs_error *err)
{
    for (size_t i = 0; i < of->n_fields; i++) {
        const struct hs_member member = {
            .type = type,
            .offset_bytes = i,
            .name = run->fields[of->first_field + i].name,
        };
        HS_TRY(maker_member(run->maker, &member, err));
    }
    struct hs_member member = {.type = type, .offset_bytes = of->n_fields};
    HS_TRY(hs_strtab_add(&run->maker->strings, "<class>", &member.name, err));
    return maker_member(run->maker, &member, err);
}

static hs_status static_members(struct hprof_run *run, struct hprof_class *of, uint32_t type,
                                struct hs_error *err)
{
    struct hprof_statics walk;
    struct hprof_static at;
    uint64_t n = 0;
    HS_TRY(hs_hprof_statics(run, of, &walk, err));
    while (hs_hprof_static_next(&walk, &at)) {
        if (at.name != 0)
            of->n_static_bytes +=
                at.type == HPROF_OBJECT ? run->oop_bytes : hs_hprof_type_bytes(&run->file, at.type);
        if (at.type != HPROF_OBJECT)
            continue;
        struct hs_member member = {.type = type, .offset_bytes = n++};
        if (at.name == 0)
            HS_TRY(hs_strtab_add(&run->maker->strings, at.fixed, &member.name, err));
        else
            HS_TRY(hs_hprof_name(run, at.name, false, &member.name, err));
        HS_TRY(maker_member(run->maker, &member, err));
    }
    return walk.reader.failed ? hs_hprof_fail(&walk.reader, "a class", err) : HS_OK;
}

static hs_status class_types(struct hprof_run *run, size_t at, struct hs_error *err)
{
    struct hprof_class *of = &run->classes[at];
    uint32_t type = hs_hprof_object_type(at);
    HS_TRY(maker_type(run->maker, of->name, HS_FORM_OBJECT, err));
    HS_TRY(members_make(run, of, type, err));
    char name[MAKER_NAME_BYTES + 16];
    const char *plain = hs_strtab_get(&run->maker->strings, of->name);
    size_t n = strnlen(plain, sizeof name - 1);
    memcpy(name, plain, n);
    hs_str id;
    HS_TRY(maker_name(run->maker, "class", name, n, &id, err));
    HS_TRY(maker_type(run->maker, id, HS_FORM_OTHER, err));
    return static_members(run, of, type + 1, err);
}

static hs_status array_types(struct hprof_run *run, struct hs_error *err)
{
    static const char *const names[HPROF_N_TYPES] = {
        [4] = "boolean[]", [5] = "char[]",  [6] = "float[]", [7] = "double[]",
        [8] = "byte[]",    [9] = "short[]", [10] = "int[]",  [11] = "long[]"};
    hs_str unknown;
    HS_TRY(hs_strtab_add(&run->maker->strings, "unknown", &unknown, err));
    run->unknown_type = (uint32_t)run->maker->n_types;
    HS_TRY(maker_type(run->maker, unknown, HS_FORM_OTHER, err));
    for (unsigned i = 4; i < HPROF_N_TYPES; i++) {
        hs_str name;
        HS_TRY(hs_strtab_add(&run->maker->strings, names[i], &name, err));
        run->array_types[i] = (uint32_t)run->maker->n_types;
        HS_TRY(maker_type(run->maker, name, HS_FORM_SCALAR, err));
        for (size_t k = 0; k < run->n_classes; k++)
            if (run->classes[k].name == name)
                run->array_classes[i] = run->classes[k].id;
    }
    return HS_OK;
}

/* ---- all ---- */

static void classes_sort(struct hprof_run *run)
{
    size_t kept = 0;
    if (run->n_classes == 0)
        return;
    qsort(run->classes, run->n_classes, sizeof *run->classes, class_order);
    for (size_t i = 0; i < run->n_classes; i++)
        if (kept == 0 || run->classes[kept - 1].id != run->classes[i].id)
            run->classes[kept++] = run->classes[i];
    run->n_classes = kept;
}

static hs_status class_name(struct hprof_run *run, struct hprof_class *of, struct hs_error *err)
{
    uint64_t load = hs_id_find(&run->load_classes, of->id);
    if (load != UINT64_MAX) {
        struct hprof_reader r =
            hs_hprof_read(&run->file, run->load_classes.places[load].at, UINT64_MAX);
        hs_hprof_skip(&r, 8 + run->file.id_bytes);
        of->name_id = hs_hprof_id(&r);
    }
    HS_TRY(hs_hprof_name(run, of->name_id, true, &of->name, err));
    const struct hprof_class *super = of->super_id == 0 ? NULL : hs_hprof_class(run, of->super_id);
    if (super != NULL)
        of->super = (uint32_t)(super - run->classes);
    return HS_OK;
}

hs_status hs_hprof_classes(struct hprof_run *run, struct hs_error *err)
{
    classes_sort(run);
    for (size_t i = 0; i < run->n_classes; i++)
        HS_TRY(class_name(run, &run->classes[i], err));
    sizes_guess(run);
    for (size_t i = 0; i < run->n_classes; i++) {
        HS_TRY(layout_make(run, &run->classes[i], err));
        HS_TRY(class_types(run, i, err));
    }
    return array_types(run, err);
}
