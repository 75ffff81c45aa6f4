/* The records of an HPROF file, mapped. Big-endian.
 *
 *   "JAVA PROFILE 1.0.2\0" | u4 size of identifiers | u8 time |
 *   record*: u1 tag | u4 time | u4 length | body
 *
 * A HEAP_DUMP or HEAP_DUMP_SEGMENT record holds sub-records without a length: each must be known.
 * Source: HotSpot's heapDumper.cpp, whose head documents the format, and Android's hprof.cc for the
 * tags from 0x89 on. */
#ifndef HS_HPROF_FILE_H
#define HS_HPROF_FILE_H

#include "base/file.h"

enum hprof_tag {
    HPROF_STRING = 0x01,
    HPROF_LOAD_CLASS = 0x02,
    HPROF_FRAME = 0x04,
    HPROF_TRACE = 0x05,
    HPROF_HEAP_DUMP = 0x0c,
    HPROF_HEAP_SEGMENT = 0x1c
};

enum hprof_sub_tag {
    HPROF_JNI_GLOBAL = 0x01,
    HPROF_JNI_LOCAL = 0x02,
    HPROF_JAVA_FRAME = 0x03,
    HPROF_NATIVE_STACK = 0x04,
    HPROF_STICKY_CLASS = 0x05,
    HPROF_THREAD_BLOCK = 0x06,
    HPROF_MONITOR_USED = 0x07,
    HPROF_THREAD_OBJECT = 0x08,
    HPROF_CLASS = 0x20,
    HPROF_INSTANCE = 0x21,
    HPROF_OBJECT_ARRAY = 0x22,
    HPROF_PRIMITIVE_ARRAY = 0x23,
    HPROF_INTERNED_STRING = 0x89,
    HPROF_FINALIZING = 0x8a,
    HPROF_DEBUGGER = 0x8b,
    HPROF_REFERENCE_CLEANUP = 0x8c,
    HPROF_VM_INTERNAL = 0x8d,
    HPROF_JNI_MONITOR = 0x8e,
    HPROF_UNREACHABLE = 0x90,
    HPROF_ARRAY_NO_DATA = 0xc3,
    HPROF_HEAP_INFO = 0xfe,
    HPROF_UNKNOWN = 0xff
};

/* Basic types; 0 for what is none. */
enum { HPROF_OBJECT = 2, HPROF_N_TYPES = 12 };

struct hprof_file {
    struct hs_map map;
    unsigned id_bytes; /* 4 or 8 */
    size_t first;      /* of the records */
};

hs_status hs_hprof_open(const char *path, struct hprof_file *ret, struct hs_error *err);
void hs_hprof_close(struct hprof_file *file);

/* A reader of a part of the file; sticky as struct hs_cursor. */
struct hprof_reader {
    const struct hprof_file *file;
    size_t at, end;
    bool failed;
};

struct hprof_reader hs_hprof_read(const struct hprof_file *file, uint64_t at, uint64_t end);
uint64_t hs_hprof_number(struct hprof_reader *r, unsigned n_bytes);
static inline uint64_t hs_hprof_id(struct hprof_reader *r)
{
    return hs_hprof_number(r, r->file->id_bytes);
}
void hs_hprof_skip(struct hprof_reader *r, uint64_t n_bytes);
/* Bytes of a value of a basic type, or 0. */
unsigned hs_hprof_type_bytes(const struct hprof_file *file, uint64_t type);
/* Moves over the sub-record whose tag has been taken. Fails the reader when the tag is not known.
 */
void hs_hprof_skip_sub(struct hprof_reader *r, uint64_t tag);

/* HS_FORMAT with the place. */
hs_status hs_hprof_fail(const struct hprof_reader *r, const char *what, struct hs_error *err)
    __attribute__((cold));

#endif
