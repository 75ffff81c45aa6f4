/* The symbols of MiniDebugInfo: an ELF file with the names of local functions, packed by xz into
 * the section .gnu_debugdata, as several distributions leave it in stripped programs. */
#include "elf_private.h"

#if HS_HAVE_LZMA

#include <elf.h>
#include <lzma.h>

/* The most bytes of such a file, and of the memory that unpacking it may take. A name costs some 60
 * bytes in it: half a million functions. */
enum { MINI_MOST_BYTES = 32 << 20, MINI_WORK_BYTES = 72 << 20, MINI_PIECE_BYTES = 1 << 16 };

/* Unpacks whole; false for what is cut, damaged or too large. */
static bool mini_unpack(struct hs_elf *elf, lzma_stream *stream, uint8_t *to, size_t *ret_n)
{
    lzma_ret status = LZMA_OK;
    size_t n = 0;

    while (status == LZMA_OK && n < MINI_MOST_BYTES) {
        size_t room =
            MINI_MOST_BYTES - n < MINI_PIECE_BYTES ? MINI_MOST_BYTES - n : (size_t)MINI_PIECE_BYTES;
        if (!hs_effort_take(&elf->effort, room))
            return false;
        stream->next_out = to + n;
        stream->avail_out = room;
        status = lzma_code(stream, LZMA_FINISH);
        n += room - stream->avail_out;
    }
    *ret_n = n;
    return status == LZMA_STREAM_END;
}

static bool mini_has_symtab(const struct hs_elf *elf)
{
    for (size_t i = 1; i < elf->n_sections; i++)
        if (elf->sections[i].scn != NULL && elf->sections[i].seen.type == SHT_SYMTAB)
            return true;
    return false;
}

hs_status hs_elf_unpack_mini_(struct hs_elf *elf, size_t *ret_n_bytes, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    lzma_stream stream = LZMA_STREAM_INIT;
    const uint8_t *packed;
    size_t n_packed, n = 0;

    *ret_n_bytes = 0;
    if (mini_has_symtab(elf) ||
        hs_elf_section_bytes_named(elf, ".gnu_debugdata", &packed, &n_packed, &ignored) != HS_OK)
        return HS_OK;
    HS_TRY(HS_PAGES_ALLOC(&elf->mini_bytes, MINI_MOST_BYTES, err));
    elf->n_mini_bytes = MINI_MOST_BYTES;
    if (lzma_stream_decoder(&stream, MINI_WORK_BYTES, 0) != LZMA_OK)
        return hs_fail(err, HS_LIMIT, "no memory to unpack the symbols of '%s'", elf->name);
    stream.next_in = packed;
    stream.avail_in = n_packed;
    bool is_whole = mini_unpack(elf, &stream, elf->mini_bytes, &n);
    lzma_end(&stream);
    *ret_n_bytes = is_whole ? n : 0;
    return HS_OK;
}

#else

hs_status hs_elf_unpack_mini_(struct hs_elf *elf, size_t *ret_n_bytes, struct hs_error *err)
{
    (void)elf;
    (void)err;
    *ret_n_bytes = 0;
    return HS_OK;
}

#endif
