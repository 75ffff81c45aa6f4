/* links: hs_symbols hs_base */
/* Any bytes as an ELF file: what lives in the frames of its functions. And any bytes as a location.
 */
#include <string.h>

#include "symbols/dwarf/location.h"
#include "symbols/locals.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static struct hs_locals locals;
static struct hs_registers registers;

static bool read_pattern(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    (void)context;
    memset(ret, (int)(at & 0xff), n_bytes);
    return at % 64 != 0; /* some memory cannot be read */
}

static const struct hs_memory_reader memory = {read_pattern, NULL};

static void fuzz_location(const uint8_t *bytes, size_t n_bytes)
{
    struct location_frame frame = {.registers = &registers,
                                   .caller = &registers,
                                   .memory = &memory,
                                   .cfa = 0x7000,
                                   .n_operations_left = 4096};
    struct location location;
    uint64_t base;
    frame.has_frame_base = hs_location_frame_base_(&frame, bytes, n_bytes, &base);
    frame.frame_base = frame.has_frame_base ? base : 0;
    hs_location_evaluate_(&frame, bytes, n_bytes, &location);
    if (location.n_pieces > LOCATION_MAX_PIECES || location.is_known != (location.n_pieces > 0))
        __builtin_trap();
    for (size_t i = 0; i < location.n_pieces; i++)
        if ((location.pieces[i].kind == LOCATION_REGISTER) &&
            location.pieces[i].reg >= HS_N_REGISTERS)
            __builtin_trap();
}

static void check_locals(void)
{
    size_t n = 0;
    if (locals.n_locals > HS_LOCALS_MAX || locals.n_chain > HS_INLINED_MAX ||
        (locals.is_known && locals.n_chain == 0))
        __builtin_trap();
    for (size_t i = 0; i < locals.n_locals; i++)
        n += strlen(locals.locals[i].name) + strlen(locals.locals[i].function);
    for (size_t i = 0; i < locals.n_chain; i++)
        n += strlen(locals.chain[i].file) + strlen(locals.chain[i].function);
    if (n > UINT32_MAX)
        __builtin_trap();
}

static void fuzz_frames(struct hs_elf *elf, struct hs_ctypes *types, hs_type_file file)
{
    struct hs_error err = HS_ERROR_INIT;
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(elf, &n);
    for (size_t i = 0; i < n && i < 32; i++)
        for (uint64_t step = 0; step < 96; step += 12) {
            struct hs_registers r = registers;
            struct hs_frame_place place = {.file = file,
                                           .registers = &r,
                                           .is_return_address = step != 0,
                                           .cfa = 0x7000,
                                           .memory = &memory,
                                           .caller = &registers};
            r.value[HS_RIP] = symbols[i].vaddr + step;
            if (hs_locals_at(types, &place, &locals, &err) == HS_OK)
                check_locals();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_ctypes) *types = NULL;
    hs_type_file file = 0;
    registers = (struct hs_registers){.value = {1, 2, 3, 0x3000, 5, 6, 0x7100, 0x7000},
                                      .known = HS_ALL_REGISTERS & ~UINT32_C(0x0f07)};
    if (hs_elf_open_memory(bytes, n_bytes, "fuzz", &elf, &err) != HS_OK) {
        fuzz_location(bytes, n_bytes < 4096 ? n_bytes : 4096);
        return 0;
    }
    if (hs_ctypes_new(&types, &err) == HS_OK && hs_ctypes_add(types, elf, &file, &err) == HS_OK &&
        file != 0)
        fuzz_frames(elf, types, file);
    return 0;
}
