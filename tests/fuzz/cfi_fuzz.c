/* links: hs_boxed hs_symbols hs_base */
/* Any bytes as the frame descriptions of a program that is otherwise sound. The first byte says
 * whether they stand in .eh_frame or in .debug_frame, and what is known of the registers. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "boxed/frames.h"
#include "elf_writer.h"
#include "symbols/dwarf/frame_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { TEXT_AT = 0x1000, TEXT_BYTES = 0x400, FRAMES_AT = 0x2000, MAX_BYTES = 1 << 14 };
#define BIAS UINT64_C(0x550000000000)
#define STACK_AT UINT64_C(0x7ffc00000008)

static const uint8_t text[TEXT_BYTES];

static bool read_pattern(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    (void)context;
    memset(ret, (int)(at >> 3 & 0xff), n_bytes);
    return at % 64 != 0; /* some memory cannot be read */
}

static const struct hs_memory_reader memory = {read_pattern, NULL};

static void check_frame(const struct hs_frame *frame)
{
    assert((frame->caller.known & ~HS_ALL_REGISTERS) == 0);
    if (frame->is_outermost)
        return;
    assert(hs_register_known(&frame->caller, HS_RIP) && hs_register_known(&frame->caller, HS_RSP));
    for (int i = 0; i < HS_N_REGISTERS; i++)
        if (frame->saved_at[i] != 0)
            assert(hs_register_known(&frame->caller, (enum hs_register)i));
}

/* As it is done on both sides of the box, in one process. */
static hs_status step(struct hs_frame_tables *tables, const struct hs_registers *r,
                      bool is_return_address, struct hs_frame *ret, struct hs_error *err)
{
    static uint8_t expressions[FRAME_ROW_EXPRESSION_BYTES];
    hs_addr vaddr = r->value[HS_RIP] - BIAS - (is_return_address ? 1 : 0);
    struct frame_row row;
    hs_frame_tables_row(tables, vaddr, &row, expressions);
    assert(hs_frame_row_is_sound_(&row, vaddr));
    return hs_frame_row_step_(&row, expressions, r, &memory, "fuzz", ret, err);
}

static void fuzz_steps(struct hs_frame_tables *tables, unsigned flags)
{
    struct hs_error err = HS_ERROR_INIT;
    for (uint64_t at = 0; at < TEXT_BYTES; at += 5) {
        struct hs_registers r = {.known = HS_ALL_REGISTERS};
        struct hs_frame frame, again;
        struct frame_row row;
        uint8_t expressions[FRAME_ROW_EXPRESSION_BYTES];
        memset(&frame, 0, sizeof frame);
        memset(&again, 0, sizeof again);
        for (int i = 0; i < HS_N_REGISTERS; i++)
            r.value[i] = STACK_AT + 24 * (uint64_t)i;
        if ((flags & 2) != 0)
            r.known &= ~(UINT64_C(1) << HS_RBP | UINT64_C(1) << HS_RBX);
        r.value[HS_RIP] = BIAS + TEXT_AT + at;
        hs_frame_tables_row(tables, TEXT_AT + at, &row, expressions);
        bool is_described = row.end != 0;
        hs_status status = step(tables, &r, false, &frame, &err);
        assert(status == HS_OK || status == HS_FORMAT || status == HS_TARGET);
        assert(status != HS_OK || is_described);
        assert(step(tables, &r, false, &again, &err) == status);
        if (status != HS_OK)
            continue;
        check_frame(&frame);
        assert(frame.cfa == again.cfa && frame.caller.known == again.caller.known);
        (void)step(tables, &r, true, &again, &err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static struct elf_writer w;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    struct hs_frame_tables *tables = NULL;
    if (n_bytes < 2 || n_bytes > MAX_BYTES)
        return 0;
    bool is_debug = (bytes[0] & 1) != 0;
    elf_writer_init(&w);
    size_t code = elf_writer_section(&w, ".text", SHT_PROGBITS, TEXT_AT, text, sizeof text);
    size_t frames = elf_writer_section(&w, is_debug ? ".debug_frame" : ".eh_frame", SHT_PROGBITS,
                                       is_debug ? 0 : FRAMES_AT, bytes + 1, n_bytes - 1);
    elf_writer_segment(&w, PT_LOAD, PF_R | PF_X, TEXT_AT, sizeof text, code);
    if (!is_debug)
        elf_writer_segment(&w, PT_LOAD, PF_R, FRAMES_AT, n_bytes - 1, frames);
    elf_writer_finish(&w);
    if (hs_elf_open_memory(w.bytes, w.n_bytes, "fuzz", &elf, &err) != HS_OK)
        abort();
    hs_status status = hs_frame_tables_open(elf, &tables, &err);
    assert(status == HS_OK || status == HS_FORMAT || status == HS_LIMIT);
    if (status == HS_OK) {
        assert(hs_frame_tables_n_functions(tables) <= n_bytes / 8);
        fuzz_steps(tables, bytes[0]);
    }
    hs_frame_tables_close(tables);
    hs_elf_close(elf);
    return 0;
}
