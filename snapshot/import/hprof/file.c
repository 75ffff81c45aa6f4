#include "file.h"

#include <string.h>

static hs_status header_read(struct hprof_file *file, struct hs_error *err)
{
    static const char magic[] = "JAVA PROFILE 1.0.";
    const uint8_t *bytes = file->map.bytes;
    size_t n = file->map.n_bytes;
    if (n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) {
        (void)hs_fail(err, HS_FORMAT, "it is compressed");
        return hs_hint(err, "unpack it with gunzip first");
    }
    if (n < sizeof magic || memcmp(bytes, magic, sizeof magic - 1) != 0) {
        (void)hs_fail(err, HS_FORMAT, "it is not a heap dump of a Java virtual machine");
        return hs_hint(err, "such a file begins with JAVA PROFILE 1.0.");
    }
    const uint8_t *zero = memchr(bytes, 0, n < 64 ? n : 64);
    if (zero == NULL || n - (size_t)(zero - bytes) < 13)
        return hs_fail(err, HS_FORMAT, "it is cut in its header");
    struct hprof_reader r = hs_hprof_read(file, (uint64_t)(zero - bytes) + 1, n);
    uint64_t id_bytes = hs_hprof_number(&r, 4);
    if (id_bytes != 4 && id_bytes != 8)
        return hs_fail(err, HS_FORMAT, "its identifiers have %llu bytes instead of 4 or 8",
                       (unsigned long long)id_bytes);
    file->id_bytes = (unsigned)id_bytes;
    hs_hprof_skip(&r, 8);
    file->first = r.at;
    return HS_OK;
}

hs_status hs_hprof_open(const char *path, struct hprof_file *ret, struct hs_error *err)
{
    struct hprof_file file = {0};
    HS_TRY(hs_map_open(path, &file.map, err));
    hs_status status =
        file.map.n_bytes == 0 ? hs_fail(err, HS_FORMAT, "it is empty") : header_read(&file, err);
    if (status == HS_OK)
        *ret = file;
    else
        hs_map_close(&file.map);
    return status;
}

void hs_hprof_close(struct hprof_file *file)
{
    hs_map_close(&file->map);
    *file = (struct hprof_file){0};
}

struct hprof_reader hs_hprof_read(const struct hprof_file *file, uint64_t at, uint64_t end)
{
    struct hprof_reader r = {.file = file};
    r.end = end < file->map.n_bytes ? (size_t)end : file->map.n_bytes;
    r.failed = at > r.end;
    r.at = r.failed ? r.end : (size_t)at;
    return r;
}

uint64_t hs_hprof_number(struct hprof_reader *r, unsigned n_bytes)
{
    if (r->failed || r->end - r->at < n_bytes) {
        r->failed = true;
        return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        value = value << 8 | r->file->map.bytes[r->at + i];
    r->at += n_bytes;
    return value;
}

void hs_hprof_skip(struct hprof_reader *r, uint64_t n_bytes)
{
    if (r->failed || r->end - r->at < n_bytes)
        r->failed = true;
    else
        r->at += (size_t)n_bytes;
}

unsigned hs_hprof_type_bytes(const struct hprof_file *file, uint64_t type)
{
    static const uint8_t bytes[HPROF_N_TYPES] = {
        [4] = 1, [5] = 2, [6] = 4, [7] = 8, [8] = 1, [9] = 2, [10] = 4, [11] = 8};
    if (type == HPROF_OBJECT)
        return file->id_bytes;
    return type < HPROF_N_TYPES ? bytes[type] : 0;
}

static void skip_class(struct hprof_reader *r)
{
    unsigned id = r->file->id_bytes;
    hs_hprof_skip(r, 7 * id + 8);
    for (uint64_t n = hs_hprof_number(r, 2); n != 0 && !r->failed; n--) {
        hs_hprof_skip(r, 2);
        unsigned bytes = hs_hprof_type_bytes(r->file, hs_hprof_number(r, 1));
        hs_hprof_skip(r, bytes);
        r->failed |= bytes == 0;
    }
    for (uint64_t n = hs_hprof_number(r, 2); n != 0 && !r->failed; n--) {
        hs_hprof_skip(r, id);
        unsigned bytes = hs_hprof_type_bytes(r->file, hs_hprof_number(r, 1));
        hs_hprof_skip(r, bytes);
        r->failed |= bytes == 0;
    }
    hs_hprof_skip(r, hs_hprof_number(r, 2) * (id + 1));
}

/* Sub-records of fixed size: how many identifiers they have, and bytes beside; identifiers 0: none.
 */
static const struct {
    uint8_t ids, bytes;
} fixed_subs[256] = {
    [HPROF_JNI_GLOBAL] = {2, 0},      [HPROF_JNI_LOCAL] = {1, 8},
    [HPROF_JAVA_FRAME] = {1, 8},      [HPROF_NATIVE_STACK] = {1, 4},
    [HPROF_STICKY_CLASS] = {1, 0},    [HPROF_THREAD_BLOCK] = {1, 4},
    [HPROF_MONITOR_USED] = {1, 0},    [HPROF_THREAD_OBJECT] = {1, 8},
    [HPROF_INTERNED_STRING] = {1, 0}, [HPROF_FINALIZING] = {1, 0},
    [HPROF_DEBUGGER] = {1, 0},        [HPROF_REFERENCE_CLEANUP] = {1, 0},
    [HPROF_VM_INTERNAL] = {1, 0},     [HPROF_JNI_MONITOR] = {1, 8},
    [HPROF_UNREACHABLE] = {1, 0},     [HPROF_HEAP_INFO] = {1, 4},
    [HPROF_UNKNOWN] = {1, 0},
};

void hs_hprof_skip_sub(struct hprof_reader *r, uint64_t tag)
{
    unsigned id = r->file->id_bytes;
    uint64_t n;
    switch (tag) {
    case HPROF_CLASS:
        skip_class(r);
        return;
    case HPROF_INSTANCE:
        hs_hprof_skip(r, 2 * id + 4);
        hs_hprof_skip(r, hs_hprof_number(r, 4));
        return;
    case HPROF_OBJECT_ARRAY:
        hs_hprof_skip(r, id + 4);
        n = hs_hprof_number(r, 4);
        hs_hprof_skip(r, id + n * id);
        return;
    case HPROF_PRIMITIVE_ARRAY:
    case HPROF_ARRAY_NO_DATA: {
        hs_hprof_skip(r, id + 4);
        n = hs_hprof_number(r, 4);
        unsigned bytes = hs_hprof_type_bytes(r->file, hs_hprof_number(r, 1));
        hs_hprof_skip(r, tag == HPROF_ARRAY_NO_DATA ? 0 : n * bytes);
        r->failed |= bytes == 0;
        return;
    }
    default:
        r->failed |= tag > UINT8_MAX || fixed_subs[tag & UINT8_MAX].ids == 0;
        hs_hprof_skip(r, fixed_subs[tag & UINT8_MAX].ids * id + fixed_subs[tag & UINT8_MAX].bytes);
    }
}

hs_status hs_hprof_fail(const struct hprof_reader *r, const char *what, struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "%s at byte %llu is cut or malformed", what,
                   (unsigned long long)r->at);
}
