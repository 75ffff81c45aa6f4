/* An HPROF file becomes a snapshot: blocks are the objects in the order of their identifiers, class
 * objects among them.
 *
 * Offsets of edges count pointers: the field number of an object, the index of an array's element.
 * The last is the class. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/checked.h"
#include "readers.h"
#include "run.h"

/* ---- one object ---- */

struct hprof_object {
    uint64_t id, tag;
    const struct hprof_class *of; /* NULL: not known */
    uint64_t n;                   /* of an array */
    uint64_t element;             /* basic type of an array */
    struct hprof_reader data;
};

static struct hprof_object object_at(const struct hprof_run *run, uint64_t index)
{
    struct hprof_reader r = hs_hprof_read(&run->file, run->objects.places[index].at, UINT64_MAX);
    struct hprof_object object = {.tag = hs_hprof_number(&r, 1)};
    object.id = hs_hprof_id(&r);
    switch (object.tag) {
    case HPROF_INSTANCE:
        (void)hs_hprof_number(&r, 4);
        object.of = hs_hprof_class(run, hs_hprof_id(&r));
        object.n = hs_hprof_number(&r, 4);
        break;
    case HPROF_OBJECT_ARRAY:
        (void)hs_hprof_number(&r, 4);
        object.n = hs_hprof_number(&r, 4);
        object.of = hs_hprof_class(run, hs_hprof_id(&r));
        object.element = HPROF_OBJECT;
        break;
    case HPROF_CLASS:
        object.of = hs_hprof_class(run, object.id);
        break;
    default:
        (void)hs_hprof_number(&r, 4);
        object.n = hs_hprof_number(&r, 4);
        object.element = hs_hprof_number(&r, 1);
        if (object.element >= HPROF_N_TYPES)
            object.element = 0; /* the file has changed since it was scanned */
        object.of = hs_hprof_class(run, run->array_classes[object.element]);
        break;
    }
    object.data = r;
    return object;
}

static uint64_t object_bytes(const struct hprof_run *run, const struct hprof_object *object)
{
    if (object->tag == HPROF_CLASS)
        return run->policy->sizes == HS_SIZES_VISUALVM || object->of == NULL
                   ? 0
                   : (object->of->n_static_bytes + 7) & ~(uint64_t)7;
    if (object->tag == HPROF_INSTANCE)
        return object->of != NULL ? object->of->n_bytes : run->min_bytes + object->n;
    uint64_t element = object->element == HPROF_OBJECT
                           ? run->oop_bytes
                           : hs_hprof_type_bytes(&run->file, object->element);
    return (run->min_bytes + 4 + object->n * element + 7) & ~(uint64_t)7;
}

static uint32_t object_type(const struct hprof_run *run, const struct hprof_object *object)
{
    uint32_t type = object->of == NULL ? run->unknown_type
                                       : hs_hprof_object_type((size_t)(object->of - run->classes));
    if (object->tag == HPROF_CLASS)
        return type + (object->of != NULL);
    if (object->tag == HPROF_PRIMITIVE_ARRAY || object->tag == HPROF_ARRAY_NO_DATA)
        return run->array_types[object->element];
    return type;
}

/* ---- its edges ---- */

enum edge_how { EDGE_STRONG, EDGE_REFERENT, EDGE_LOOK };

static hs_status edge_put(struct hprof_run *run, uint64_t id, uint64_t offset, enum edge_how how,
                          struct hs_error *err)
{
    if (id == 0)
        return HS_OK;
    uint64_t target = hs_id_find(&run->objects, id);
    if (target == UINT64_MAX) {
        run->n_missing++;
        return HS_OK;
    }
    bool retains =
        how == EDGE_STRONG || (how == EDGE_REFERENT && run->policy->weak == HS_WEAK_STRONG);
    if (!retains && run->policy->weak == HS_WEAK_DROP)
        return HS_OK;
    const struct hs_edge edge = {
        .target = run->maker->n_roots + target,
        .offset_words = offset,
        .edge_class = retains ? HS_EDGE_EXACT : HS_EDGE_WEAK,
    };
    return maker_edge(run->maker, edge, err);
}

/* A static field that is a root is shown at its class all the same. */
static hs_status class_edges(struct hprof_run *run, const struct hprof_class *of,
                             struct hs_error *err)
{
    struct hprof_statics walk;
    struct hprof_static at;
    uint64_t n = 0;
    HS_TRY(hs_hprof_statics(run, of, &walk, err));
    while (hs_hprof_static_next(&walk, &at)) {
        if (at.type != HPROF_OBJECT)
            continue;
        bool held = hs_hprof_static_held(run, &at);
        if (held || at.name != 0)
            HS_TRY(edge_put(run, at.target, n, held ? EDGE_STRONG : EDGE_LOOK, err));
        n++;
    }
    return HS_OK;
}

static hs_status instance_edges(struct hprof_run *run, const struct hprof_object *object,
                                struct hs_error *err)
{
    const struct hprof_class *of = object->of;
    if (of == NULL)
        return HS_OK;
    for (size_t i = 0; i < of->n_fields; i++) {
        const struct hprof_field *field = &run->fields[of->first_field + i];
        if ((uint64_t)field->offset + run->file.id_bytes > object->n)
            break;
        struct hprof_reader r =
            hs_hprof_read(&run->file, object->data.at + field->offset, UINT64_MAX);
        bool is_weak = field->is_referent && of->is_reference;
        HS_TRY(edge_put(run, hs_hprof_id(&r), i, is_weak ? EDGE_REFERENT : EDGE_STRONG, err));
    }
    if (!run->policy->class_edges)
        return HS_OK;
    return edge_put(run, of->id, of->n_fields, EDGE_STRONG, err);
}

static hs_status array_edges(struct hprof_run *run, struct hprof_object *object,
                             struct hs_error *err)
{
    if (object->tag == HPROF_OBJECT_ARRAY)
        for (uint64_t i = 0; i < object->n; i++)
            HS_TRY(edge_put(run, hs_hprof_id(&object->data), i, EDGE_STRONG, err));
    if (!run->policy->class_edges || object->of == NULL)
        return HS_OK;
    return edge_put(run, object->of->id, object->n, EDGE_STRONG, err);
}

/* ---- threads hold their locals ---- */

static int thread_order(const void *a, const void *b)
{
    const struct hprof_root *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Finds the thread of each thread object, and sorts the roots of frames by thread. */
static hs_status locals_prepare(struct hprof_run *run, struct hs_error *err)
{
    for (size_t i = 0; i < run->threads.n; i++) {
        const struct id_place *thread = &run->threads.places[i];
        uint64_t object = hs_id_find(&run->objects, run->roots[thread->at].id);
        if (object != UINT64_MAX)
            HS_TRY(hs_id_put(run->maker, &run->holders, object, thread->id, "threads", err));
    }
    HS_TRY(hs_id_sort(run->maker, &run->holders, err));
    size_t kept = 0;
    for (size_t i = 0; i < run->n_roots; i++)
        if (run->roots[i].tag == HPROF_JAVA_FRAME || run->roots[i].tag == HPROF_JNI_LOCAL)
            run->roots[kept++] = run->roots[i];
    run->n_roots = kept;
    if (kept != 0)
        qsort(run->roots, kept, sizeof *run->roots, thread_order);
    return HS_OK;
}

static hs_status local_edges(struct hprof_run *run, uint64_t object, uint64_t n,
                             struct hs_error *err)
{
    uint64_t at = hs_id_find(&run->holders, object);
    if (at == UINT64_MAX)
        return HS_OK;
    uint64_t thread = run->holders.places[at].at;
    size_t low = HS_FIRST_NOT(i, 0, run->n_roots, run->roots[i].thread < thread);
    for (; low < run->n_roots && run->roots[low].thread == thread; low++)
        HS_TRY(edge_put(run, run->roots[low].id, ++n, EDGE_STRONG, err));
    return HS_OK;
}

/* ---- writing ---- */

/* Identifiers are addresses, but nothing says that objects of the guessed sizes fit between them:
 * then they are spread, and when they cannot be, made up. */
static void addresses_choose(struct hprof_run *run)
{
    unsigned shift = 0;
    uint64_t most = 1;
    const struct id_place *places = run->objects.places;
    for (uint64_t i = 0; i < run->objects.n; i++) {
        const struct hprof_object object = object_at(run, i);
        uint64_t n_bytes = object_bytes(run, &object);
        if (n_bytes > most)
            most = n_bytes;
        uint64_t room = i + 1 < run->objects.n ? places[i + 1].id - places[i].id : UINT64_MAX;
        while (shift < 63 && room < UINT64_MAX >> shift && room << shift < n_bytes)
            shift++;
    }
    uint64_t last, end;
    run->address_shift = shift;
    last = places[run->objects.n - 1].id;
    run->made_up = last > UINT64_MAX >> shift || !hs_add_fits(last << shift, most, &end);
    if (!run->made_up)
        return;
    for (run->address_shift = 4; run->address_shift < 62 && most >> run->address_shift != 0;)
        run->address_shift++;
}

static hs_status facts_make(struct hprof_run *run, struct hs_error *err)
{
    struct maker *maker = run->maker;
    char policy[MAKER_POLICY_BYTES];
    hs_policy_text(HS_IMPORT_HPROF, run->policy, policy);
    HS_TRY(hs_strtab_add(&maker->strings, "Java heap dump", &maker->runtime.name, err));
    HS_TRY(maker_note(maker, false, err, "imported: an HPROF heap dump, %zu objects, %zu classes",
                      run->objects.n, run->n_classes));
    HS_TRY(maker_note(maker, false, err, "%s", policy));
    HS_TRY(maker_note(maker, false, err,
                      "words are bytes; sizes are %s, with pointers of %u bytes and objects of at "
                      "least %u; offsets count pointers",
                      run->raw_sizes ? "the file's" : "guessed", run->oop_bytes, run->min_bytes));
    if (run->objects.n_double != 0)
        HS_TRY(maker_note(maker, true, err, "%llu objects stand in the file again",
                          (unsigned long long)run->objects.n_double));
    if (run->made_up || run->address_shift != 0)
        return maker_note(maker, false, err, "addresses are %s times %llu",
                          run->made_up ? "made up: ranks of identifiers" : "identifiers",
                          1ULL << run->address_shift);
    return HS_OK;
}

static hs_status block_write(struct hprof_run *run, uint64_t index, struct hs_error *err)
{
    struct hprof_object object = object_at(run, index);
    uint64_t n_bytes = object_bytes(run, &object);
    uint64_t n_pointers = object.of != NULL ? object.of->n_fields : 0;
    maker_expect(run->maker, n_bytes, object.n);
    if (object.tag == HPROF_CLASS && object.of != NULL)
        HS_TRY(class_edges(run, object.of, err));
    else if (object.tag == HPROF_INSTANCE)
        HS_TRY(instance_edges(run, &object, err));
    else if (object.tag != HPROF_CLASS)
        HS_TRY(array_edges(run, &object, err));
    if (run->policy->thread_locals)
        HS_TRY(local_edges(run, index, n_pointers, err));
    hs_addr address = (run->made_up ? index : object.id) << run->address_shift;
    return maker_block(run->maker, address, n_bytes, object_type(run, &object), err);
}

static hs_status run_all(struct hprof_run *run, struct hs_import_report *ret, struct hs_error *err)
{
    struct maker *maker = run->maker;
    HS_TRY(hs_hprof_open(maker->options->path, &run->file, err));
    HS_TRY(hs_hprof_scan(run, err));
    HS_TRY(hs_hprof_classes(run, err));
    HS_TRY(hs_hprof_roots(run, err));
    if (run->policy->thread_locals)
        HS_TRY(locals_prepare(run, err));
    addresses_choose(run);
    HS_TRY(facts_make(run, err));
    HS_TRY(maker_begin(maker, run->objects.n, err));
    for (uint64_t i = 0; i < run->objects.n; i++) {
        HS_TRY(block_write(run, i, err));
        if (i % 65536 == 0)
            HS_TRY(hs_progress_tell(maker->options->progress, "writing", i, run->objects.n, err));
    }
    return maker_finish(maker, ret, err);
}

hs_status hs_hprof_import(struct maker *maker, struct hs_import_report *ret, struct hs_error *err)
{
    struct hprof_run run = {.maker = maker, .policy = &maker->options->policy};
    hs_status status = run_all(&run, ret, err);
    struct id_table *const tables[] = {&run.strings, &run.objects, &run.load_classes, &run.serials,
                                       &run.frames,  &run.traces,  &run.threads,      &run.holders};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        hs_id_fini(maker, tables[i]);
    hs_free(run.classes);
    hs_free(run.fields);
    hs_free(run.roots);
    hs_hprof_close(&run.file);
    return status;
}
