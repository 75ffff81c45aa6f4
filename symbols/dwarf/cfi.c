#include "symbols/cfi.h"

#include <string.h>

#include "base/bisect.h"
#include "base/buffer.h"
#include "box/box_private.h"
#include "frame_row.h"

enum { CFI_MAX_ROWS = 1 << 14 }; /* then all are forgotten: 5 MiB */

/* The place where the row for an address is kept. */
struct cfi_place {
    hs_addr vaddr;
    uint32_t row, expressions;
};

struct hs_cfi {
    struct box_file file;
    size_t n_functions;
    struct cfi_place *places; /* owned, ascending */
    size_t n_places, places_capacity;
    struct frame_row *rows; /* owned, in order of first use */
    size_t rows_capacity;
    struct hs_buffer expressions;
};

/* A row to follow: kept, or still in the box's answer. */
struct cfi_row {
    struct frame_row row;
    const uint8_t *expressions;
};

hs_status hs_cfi_open(struct hs_dwarf_box *box, struct hs_elf *elf, const char *name,
                      struct hs_cfi **ret, struct hs_error *err)
{
    hs_auto(hs_cfi) *cfi = NULL;
    struct hs_elf_section section;
    struct box_answer answer;
    struct box_opened opened;
    if (!hs_elf_section_named(elf, ".eh_frame", &section) &&
        !hs_elf_section_named(elf, ".debug_frame", &section))
        return hs_fail(err, HS_FORMAT, "'%s' has no frame tables",
                       name != NULL ? name : hs_elf_name(elf));
    HS_TRY(HS_ALLOC(&cfi, 1, err));
    HS_TRY(hs_box_file_open_(box, elf, name, BOX_OPEN_FRAMES, &cfi->file, &answer, err));
    memcpy(&opened, answer.bytes, sizeof(opened));
    cfi->n_functions = (size_t)opened.n_functions;
    *ret = HS_STEAL(cfi);
    return HS_OK;
}

void hs_cfi_close(struct hs_cfi *cfi)
{
    if (cfi == NULL)
        return;
    hs_box_file_close_(&cfi->file);
    hs_free(cfi->places);
    hs_free(cfi->rows);
    hs_buffer_fini(&cfi->expressions);
    hs_free(cfi);
}

size_t hs_cfi_n_functions(const struct hs_cfi *cfi)
{
    return cfi->n_functions;
}

static hs_status row_make_room(struct hs_cfi *cfi, size_t n_bytes, struct hs_error *err)
{
    HS_TRY(HS_GROW(&cfi->places, &cfi->places_capacity, cfi->n_places + 1, err));
    HS_TRY(HS_GROW(&cfi->rows, &cfi->rows_capacity, cfi->n_places + 1, err));
    /* one more: there are bytes to point into when no row has an expression */
    return hs_buffer_reserve(&cfi->expressions, n_bytes + 1, err);
}

/* Keeps a row for the next frame at the same address. Out of memory it is asked for again. */
static void row_keep(struct hs_cfi *cfi, hs_addr vaddr, const struct cfi_row *row)
{
    struct hs_error ignored = HS_ERROR_INIT;
    size_t n = row->row.n_expression_bytes;
    if (cfi->n_places == CFI_MAX_ROWS)
        cfi->n_places = cfi->expressions.n_bytes = 0;
    if (row_make_room(cfi, n, &ignored) != HS_OK)
        return;
    size_t at = HS_FIRST_FROM(cfi->places, cfi->n_places, vaddr, vaddr);
    memmove(cfi->places + at + 1, cfi->places + at, (cfi->n_places - at) * sizeof(*cfi->places));
    cfi->places[at] = (struct cfi_place){.vaddr = vaddr,
                                         .row = (uint32_t)cfi->n_places,
                                         .expressions = (uint32_t)cfi->expressions.n_bytes};
    cfi->rows[cfi->n_places++] = row->row;
    hs_buffer_put_bytes(&cfi->expressions, row->expressions, n);
}

static bool row_is_sound(const struct box_answer *answer, hs_addr vaddr, struct cfi_row *ret)
{
    if (answer->n_bytes < sizeof(ret->row))
        return false;
    memcpy(&ret->row, answer->bytes, sizeof(ret->row));
    ret->expressions = answer->bytes + sizeof(ret->row);
    return ret->row.n_expression_bytes == answer->n_bytes - sizeof(ret->row) &&
           hs_frame_row_is_sound_(&ret->row, vaddr);
}

/* The row for `vaddr`; also that none is known is kept. */
static hs_status row_at(struct hs_cfi *cfi, hs_addr vaddr, struct cfi_row *ret,
                        struct hs_error *err)
{
    struct box_answer answer;
    size_t at = HS_FIRST_FROM(cfi->places, cfi->n_places, vaddr, vaddr);
    if (at < cfi->n_places && cfi->places[at].vaddr == vaddr) {
        const struct cfi_place *place = &cfi->places[at];
        *ret = (struct cfi_row){cfi->rows[place->row], cfi->expressions.bytes + place->expressions};
        return HS_OK;
    }
    HS_TRY(hs_box_ask_(&cfi->file, BOX_ROW, vaddr, &answer, err));
    if (!row_is_sound(&answer, vaddr, ret))
        return hs_box_refuse_(&cfi->file, err);
    row_keep(cfi, vaddr, ret);
    return HS_OK;
}

bool hs_cfi_function_at(struct hs_cfi *cfi, hs_addr vaddr, hs_addr *ret_begin, hs_addr *ret_end)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct cfi_row row;
    if (row_at(cfi, vaddr, &row, &ignored) != HS_OK || row.row.end == 0)
        return false;
    *ret_begin = row.row.begin;
    *ret_end = row.row.end;
    return true;
}

hs_status hs_cfi_step(struct hs_cfi *cfi, uint64_t bias, const struct hs_registers *r,
                      bool is_return_address, const struct hs_memory_reader *memory,
                      struct hs_frame *ret, struct hs_error *err)
{
    hs_addr pc = r->value[HS_REG_PC], vaddr = pc - bias - (is_return_address ? 1 : 0);
    struct cfi_row row = {.expressions = NULL};
    if (hs_register_known(r, HS_REG_PC))
        HS_TRY(row_at(cfi, vaddr, &row, err));
    if (row.row.end == 0)
        return hs_fail(err, HS_FORMAT, "no frame entry of '%s' covers %#llx", cfi->file.name,
                       (unsigned long long)pc);
    return hs_frame_row_step_(&row.row, row.expressions, r, memory, cfi->file.name, ret, err);
}
