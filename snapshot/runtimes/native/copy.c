#include "copy.h"

#include <string.h>

#include "base/units.h"

/* A private map of a file that is larger is data that was read, not memory that was made. */
#define FILE_BYTES_MAX (UINT64_C(256) << 20)

enum copy_verdict {
    COPY_IT,
    COPY_NOTHING_THERE, /* unreadable, the kernel's, constant parts of files */
    COPY_SHARED,
    COPY_LARGE_FILE
};

static bool copy_is_device(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/zero", 9) != 0 &&
           strncmp(path, "/dev/shm/", 9) != 0;
}

static enum copy_verdict copy_judge(const struct hs_native *native, const struct hs_mapping *m)
{
    const char *path = hs_mapping_path(&native->dump->target, m);

    if (!m->readable || strncmp(path, "[v", 2) == 0 || copy_is_device(path))
        return COPY_NOTHING_THERE;
    if (m->shared)
        return m->writable ? COPY_SHARED : COPY_NOTHING_THERE;
    if (m->inode == 0)
        return COPY_IT; /* once written, perhaps protected since */
    if (!m->writable)
        return COPY_NOTHING_THERE; /* relocated read-only data is copied by object */
    if (m->end - m->begin > FILE_BYTES_MAX &&
        hs_objects_object_at(&native->dump->objects, m->begin) == NULL)
        return COPY_LARGE_FILE;
    return COPY_IT;
}

hs_status hs_native_copy(struct hs_native *native, struct hs_error *err)
{
    for (size_t i = 0; i < native->dump->target.n_mappings; i++) {
        const struct hs_mapping *m = &native->dump->target.mappings[i];
        if (copy_judge(native, m) == COPY_IT)
            HS_TRY(
                hs_image_copy(&native->dump->image, &native->dump->target, m->begin, m->end, err));
    }
    return hs_objects_copy_data(&native->dump->objects, &native->dump->image, &native->dump->target,
                                err);
}

hs_status hs_native_note_uncopied(struct hs_native *native, struct hs_error *err)
{
    uint64_t n_shared = 0, shared_bytes = 0, n_files = 0, file_bytes = 0;
    char text[HS_UNIT_TEXT_BYTES];

    for (size_t i = 0; i < native->dump->target.n_mappings; i++) {
        const struct hs_mapping *m = &native->dump->target.mappings[i];
        enum copy_verdict verdict = copy_judge(native, m);
        n_shared += verdict == COPY_SHARED;
        shared_bytes += verdict == COPY_SHARED ? m->end - m->begin : 0;
        n_files += verdict == COPY_LARGE_FILE;
        file_bytes += verdict == COPY_LARGE_FILE ? m->end - m->begin : 0;
    }
    if (n_shared != 0) {
        hs_format_bytes(shared_bytes, text);
        HS_TRY(hs_findings_note(&native->dump->findings, false, err,
                                "shared memory was not read: %llu mapping%s of %s",
                                (unsigned long long)n_shared, n_shared == 1 ? "" : "s", text));
    }
    if (n_files == 0)
        return HS_OK;
    hs_format_bytes(file_bytes, text);
    return hs_findings_note(&native->dump->findings, true, err,
                            "large private maps of files were not read: %llu of %s",
                            (unsigned long long)n_files, text);
}
