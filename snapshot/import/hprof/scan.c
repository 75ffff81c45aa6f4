/* One look at every record. */
#include "run.h"

static hs_status root_put(struct hprof_run *run, struct hprof_root root, struct hs_error *err)
{
    HS_TRY(maker_grow(run->maker, (void **)&run->roots, &run->root_capacity, run->n_roots + 1,
                      sizeof root, "roots of the file", err));
    run->roots[run->n_roots++] = root;
    return HS_OK;
}

static hs_status class_put(struct hprof_run *run, uint64_t at, struct hs_error *err)
{
    struct hprof_reader r = hs_hprof_read(&run->file, at, UINT64_MAX);
    struct hprof_class made = {.body = at, .super = UINT32_MAX};
    made.id = hs_hprof_id(&r);
    (void)hs_hprof_number(&r, 4);
    made.super_id = hs_hprof_id(&r);
    hs_hprof_skip(&r, 5 * run->file.id_bytes);
    made.raw_size = (uint32_t)hs_hprof_number(&r, 4);
    if (run->n_classes == UINT32_MAX / 4)
        return hs_fail(err, HS_LIMIT, "more than %u classes", UINT32_MAX / 4);
    HS_TRY(maker_grow(run->maker, (void **)&run->classes, &run->class_capacity, run->n_classes + 1,
                      sizeof made, "classes", err));
    run->classes[run->n_classes++] = made;
    return HS_OK;
}

/* A root's sub-record, its tag taken. */
static hs_status root_read(struct hprof_run *run, uint64_t tag, uint64_t at, struct hs_error *err)
{
    struct hprof_reader r = hs_hprof_read(&run->file, at, UINT64_MAX);
    struct hprof_root root = {.tag = (uint8_t)tag, .frame = UINT32_MAX};
    root.id = hs_hprof_id(&r);
    bool has_thread = tag == HPROF_JNI_LOCAL || tag == HPROF_JAVA_FRAME ||
                      tag == HPROF_NATIVE_STACK || tag == HPROF_THREAD_BLOCK ||
                      tag == HPROF_THREAD_OBJECT || tag == HPROF_JNI_MONITOR;
    if (has_thread)
        root.thread = (uint32_t)hs_hprof_number(&r, 4);
    if (tag == HPROF_JNI_LOCAL || tag == HPROF_JAVA_FRAME || tag == HPROF_THREAD_OBJECT)
        root.frame = (uint32_t)hs_hprof_number(&r, 4); /* of a thread object: its trace */
    if (tag == HPROF_THREAD_OBJECT)
        HS_TRY(hs_id_put(run->maker, &run->threads, root.thread, run->n_roots, "threads", err));
    return root_put(run, root, err);
}

static hs_status sub_read(struct hprof_run *run, uint64_t tag, uint64_t at, struct hs_error *err)
{
    struct hprof_reader r = hs_hprof_read(&run->file, at, UINT64_MAX);
    switch (tag) {
    case HPROF_HEAP_INFO:
    case HPROF_UNREACHABLE:
        return HS_OK;
    case HPROF_CLASS:
        HS_TRY(class_put(run, at, err));
        break;
    case HPROF_INSTANCE:
    case HPROF_OBJECT_ARRAY:
    case HPROF_PRIMITIVE_ARRAY:
    case HPROF_ARRAY_NO_DATA:
        break;
    default:
        return root_read(run, tag, at, err);
    }
    return hs_id_put(run->maker, &run->objects, hs_hprof_id(&r), at - 1, "objects", err);
}

static hs_status heap_scan(struct hprof_run *run, uint64_t at, uint64_t end, struct hs_error *err)
{
    struct hprof_reader r = hs_hprof_read(&run->file, at, end);
    uint64_t n = 0;
    while (r.at < r.end) {
        size_t began = r.at;
        uint64_t tag = hs_hprof_number(&r, 1);
        hs_hprof_skip_sub(&r, tag);
        if (r.failed) {
            r.at = began;
            return hs_hprof_fail(&r, "a part of the heap", err);
        }
        HS_TRY(sub_read(run, tag, began + 1, err));
        if (++n % 65536 == 0)
            HS_TRY(hs_progress_tell(run->maker->options->progress, "reading", r.at,
                                    run->file.map.n_bytes, err));
    }
    return HS_OK;
}

static hs_status record_read(struct hprof_run *run, uint64_t tag, uint64_t at, uint64_t end,
                             struct hs_error *err)
{
    struct maker *maker = run->maker;
    struct hprof_reader r = hs_hprof_read(&run->file, at, end);
    switch (tag) {
    case HPROF_STRING:
        return hs_id_put(maker, &run->strings, hs_hprof_id(&r), at, "names", err);
    case HPROF_LOAD_CLASS: {
        uint64_t serial = hs_hprof_number(&r, 4);
        uint64_t id = hs_hprof_id(&r);
        HS_TRY(hs_id_put(maker, &run->serials, serial, id, "classes", err));
        return hs_id_put(maker, &run->load_classes, id, at, "classes", err);
    }
    case HPROF_FRAME:
        return hs_id_put(maker, &run->frames, hs_hprof_id(&r), at, "frames", err);
    case HPROF_TRACE:
        return hs_id_put(maker, &run->traces, hs_hprof_number(&r, 4), at, "traces", err);
    case HPROF_HEAP_DUMP:
    case HPROF_HEAP_SEGMENT:
        return heap_scan(run, at, end, err);
    default:
        return HS_OK;
    }
}

hs_status hs_hprof_scan(struct hprof_run *run, struct hs_error *err)
{
    struct hprof_reader r = hs_hprof_read(&run->file, run->file.first, UINT64_MAX);
    while (r.at < r.end) {
        size_t began = r.at;
        uint64_t tag = hs_hprof_number(&r, 1);
        hs_hprof_skip(&r, 4);
        uint64_t n_bytes = hs_hprof_number(&r, 4);
        uint64_t at = r.at;
        hs_hprof_skip(&r, n_bytes);
        if (r.failed) {
            r.at = began;
            return hs_hprof_fail(&r, "a record", err);
        }
        HS_TRY(record_read(run, tag, at, at + n_bytes, err));
    }
    if (run->objects.n == 0)
        return hs_fail(err, HS_FORMAT, "it has no heap dump");
    struct id_table *const tables[] = {&run->strings, &run->objects, &run->load_classes,
                                       &run->serials, &run->frames,  &run->traces,
                                       &run->threads};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        HS_TRY(hs_id_sort(run->maker, tables[i], err));
    return HS_OK;
}
