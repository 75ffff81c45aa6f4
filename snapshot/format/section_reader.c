/* Verifies and unpacks sections. No size is believed before the bytes that back it are there. */
#include "section_reader.h"

#include <assert.h>
#include <zstd.h>

#include "base/cursor.h"

void hs_unpacker_fini(struct hs_unpacker *unpacker)
{
    if (unpacker == NULL)
        return;
    ZSTD_freeDCtx(unpacker->zstd);
    hs_buffer_fini(&unpacker->raw);
    *unpacker = (struct hs_unpacker){0};
}

hs_status hs_section_context(const struct hs_section *section, struct hs_error *err)
{
    if (err->status == HS_FORMAT && err->hint[0] == '\0')
        (void)hs_hint(err, "it changed after it was written: copy it again, or run the dump again");
    if (section->kind >= HS_SECTION_SIZES && section->kind <= HS_SECTION_EXTRA)
        return hs_context(err, "section %s of chunk %llu at byte %llu is damaged",
                          hs_section_name(section->kind), (unsigned long long)section->id,
                          (unsigned long long)section->offset);
    return hs_context(err, "section %s at byte %llu is damaged", hs_section_name(section->kind),
                      (unsigned long long)section->offset);
}

static bool section_same(const struct hs_section *a, const struct hs_section *b)
{
    return a->kind == b->kind && a->flags == b->flags && a->id == b->id &&
           a->raw_bytes == b->raw_bytes && a->stored_bytes == b->stored_bytes && a->hash == b->hash;
}

/* The stored bytes, in bounds and with the right hash. */
static hs_status section_stored(const struct hs_file_bytes *file, const struct hs_section *section,
                                const uint8_t **ret, struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(file->bytes, file->n_bytes);
    if (section->offset > SIZE_MAX || section->stored_bytes > SIZE_MAX)
        return hs_fail(err, HS_FORMAT, "it is larger than memory");
    hs_cursor_seek(&c, (size_t)section->offset);
    const uint8_t *head = hs_cursor_bytes(&c, HS_HEAD_BYTES);
    const uint8_t *stored = hs_cursor_bytes(&c, (size_t)section->stored_bytes);
    if (head == NULL || stored == NULL)
        return hs_fail(err, HS_FORMAT, "it reaches beyond the end of the file");

    struct hs_section found;
    hs_head_decode(head, section->offset, &found);
    if (!section_same(section, &found) && !file->trust_hashes)
        return hs_fail(err, HS_FORMAT, "its head and the trailer do not agree");
    if (hs_head_hash(section, stored) != section->hash && !file->trust_hashes)
        return hs_fail(err, HS_FORMAT, "its checksum is wrong");
    *ret = stored;
    return HS_OK;
}

/* Verifies the sizes and flags that a head claims, before anything is allocated by them. */
static hs_status section_verify_claims(const struct hs_section *section, const uint8_t *stored,
                                       struct hs_error *err)
{
    size_t n_stored = (size_t)section->stored_bytes;
    if ((section->flags & ~(uint32_t)HS_SECTION_ZSTD) != 0)
        return hs_fail(err, HS_FORMAT, "it has unknown flags 0x%x", section->flags);
    if ((section->flags & HS_SECTION_ZSTD) == 0) {
        if (section->raw_bytes != section->stored_bytes)
            return hs_fail(err, HS_FORMAT, "it is stored as it is, but in another size");
        return HS_OK;
    }
    if (section->raw_bytes > hs_section_raw_limit(section->stored_bytes))
        return hs_fail(err, HS_FORMAT, "%llu bytes claim to unpack to %llu, more than is allowed",
                       (unsigned long long)section->stored_bytes,
                       (unsigned long long)section->raw_bytes);
    if (ZSTD_getFrameContentSize(stored, n_stored) != section->raw_bytes ||
        ZSTD_findFrameCompressedSize(stored, n_stored) != n_stored)
        return hs_fail(err, HS_FORMAT, "its zstd frame is not the one that its head describes");
    return HS_OK;
}

static hs_status section_unpack(const struct hs_section *section, const uint8_t *stored,
                                struct hs_unpacker *unpacker, struct hs_error *err)
{
    if (unpacker->zstd == NULL)
        unpacker->zstd = ZSTD_createDCtx();
    if (unpacker->zstd == NULL)
        return hs_fail(err, HS_LIMIT, "cannot unpack: out of memory");
    size_t n_raw = (size_t)section->raw_bytes;
    assert(n_raw == section->raw_bytes);
    unpacker->raw.n_bytes = 0;
    HS_TRY(hs_buffer_reserve(&unpacker->raw, n_raw + 1, err));
    size_t n = ZSTD_decompressDCtx(unpacker->zstd, unpacker->raw.bytes, n_raw, stored,
                                   (size_t)section->stored_bytes);
    if (ZSTD_isError(n))
        return hs_fail(err, HS_FORMAT, "it does not unpack: %s", ZSTD_getErrorName(n));
    if (n != n_raw)
        return hs_fail(err, HS_FORMAT, "it unpacks to %zu bytes instead of %zu", n, n_raw);
    unpacker->raw.n_bytes = n;
    return HS_OK;
}

static hs_status section_load(const struct hs_file_bytes *file, const struct hs_section *section,
                              struct hs_unpacker *unpacker, struct hs_section_view *ret,
                              struct hs_error *err)
{
    const uint8_t *stored;
    HS_TRY(section_stored(file, section, &stored, err));
    HS_TRY(section_verify_claims(section, stored, err));
    if ((section->flags & HS_SECTION_ZSTD) == 0) {
        *ret = (struct hs_section_view){stored, (size_t)section->stored_bytes};
        return HS_OK;
    }
    HS_TRY(section_unpack(section, stored, unpacker, err));
    *ret = (struct hs_section_view){unpacker->raw.bytes, unpacker->raw.n_bytes};
    return HS_OK;
}

hs_status hs_section_load(const struct hs_file_bytes *file, const struct hs_section *section,
                          struct hs_unpacker *unpacker, struct hs_section_view *ret,
                          struct hs_error *err)
{
    if (section_load(file, section, unpacker, ret, err) != HS_OK)
        return hs_section_context(section, err);
    return HS_OK;
}

hs_status hs_section_verify(const struct hs_file_bytes *file, const struct hs_section *section,
                            struct hs_error *err)
{
    const uint8_t *stored;
    if (section_stored(file, section, &stored, err) != HS_OK)
        return hs_section_context(section, err);
    return HS_OK;
}
