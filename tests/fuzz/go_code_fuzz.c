/* links: hs_go hs_runtimes hs_process hs_format hs_target hs_symbols hs_base */
/* Any bytes as the memory of a Go program: code, the table of its functions with their names, and
 * descriptions of types. The first byte says how many functions there are, the second which version
 * it is, the third whether all of them have frames on a stack. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "go/code.h"
#include "runtimes/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { HEAD_BYTES = 3, MIN_BYTES = 512, MAX_BYTES = 1 << 14, MAX_FUNCTIONS = 64, RECORD = 48 };
#define MEMORY_AT UINT64_C(0x400000)

static struct hs_dump dump;
static uint8_t ftab[(MAX_FUNCTIONS + 1) * 8];

/* Divides the memory: half of it is code, then records and names of functions, then types, which
 * are the data, too. */
static struct hs_go_module make_module(size_t n_bytes, unsigned n_functions)
{
    uint32_t n_text = (uint32_t)n_bytes / 2;
    hs_addr tables = MEMORY_AT + n_text, types = tables + n_bytes / 4, end = MEMORY_AT + n_bytes;
    struct hs_go_module module = {.text = MEMORY_AT,
                                  .etext = tables,
                                  .pclntable = tables,
                                  .n_pclntable = n_bytes / 4,
                                  .funcnametab = tables + n_bytes / 8,
                                  .types = types & ~UINT64_C(7),
                                  .etypes = end,
                                  .rodata = types,
                                  .ftab = ftab,
                                  .n_functions = n_functions};

    for (uint32_t i = 0; i <= n_functions; i++) {
        uint32_t entry = i == n_functions ? n_text : n_text / n_functions * i;
        uint32_t record = i * RECORD;
        memcpy(ftab + i * 8ul, &entry, sizeof entry);
        memcpy(ftab + i * 8ul + sizeof entry, &record, sizeof record);
    }
    for (unsigned i = 0; i < HS_GO_N_DATA; i++)
        module.data[i] = (struct hs_go_data){.begin = types, .end = end};
    return module;
}

static void check_value(const struct hs_go_code *code, const struct hs_go_value *value)
{
    enum hs_go_holding holding = HS_GO_HOLD_ONE;
    hs_addr type;

    assert(value->kind <= HS_GO_IN_FRAME && value->n_steps <= HS_GO_STEPS_MAX);
    if (hs_go_value_of(code, value, &type, &holding))
        assert(holding < HS_GO_N_HOLDINGS);
}

/* Whatever the bytes are: no more is found than there are instructions, and it is in order. */
static void check(const struct hs_go_code *code, size_t n_bytes)
{
    assert(code->n_facts <= n_bytes && code->n_slots <= n_bytes && code->n_values <= 5 * n_bytes);
    for (size_t i = 0; i < code->n_facts; i++) {
        assert(code->facts[i].place.kind == HS_GO_WORD);
        check_value(code, &code->facts[i].value);
    }
    for (size_t i = 0; i < code->n_slots; i++) {
        assert(code->slots[i].place.kind == HS_GO_FRAME);
        assert(i == 0 || code->slots[i - 1].place.at <= code->slots[i].place.at);
        check_value(code, &code->slots[i].value);
    }
    for (size_t i = 0; i < code->n_variables; i++) {
        assert(code->variables[i].type != 0);
        assert(i == 0 || code->variables[i - 1].place.kind <= code->variables[i].place.kind);
        (void)hs_go_type_of_static(code, code->variables[i].place.at);
    }
    (void)hs_go_type_named(code, "runtime.hchan");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const unsigned minors[] = {19, 21, 22, 23, 24, 26, 27};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_go_goroutines gs = {.heap = NULL};
    struct hs_go_frame_map frames[MAX_FUNCTIONS] = {{.depth = 0}};
    struct hs_go_code code = {.heap = NULL};

    if (n_bytes < HEAD_BYTES + MIN_BYTES || n_bytes > HEAD_BYTES + MAX_BYTES)
        return 0;
    unsigned n_functions = bytes[0] % MAX_FUNCTIONS + 1;
    struct hs_go_heap heap = {
        .dump = &dump, .layout = hs_go_layout(minors[bytes[1] % (sizeof minors / sizeof *minors)])};
    size_t n_memory = (n_bytes - HEAD_BYTES) & ~(size_t)7;
    heap.module = make_module(n_memory, n_functions);
    if (hs_image_add(&dump.image, MEMORY_AT, bytes + HEAD_BYTES, n_memory, &err) != HS_OK)
        abort();
    for (unsigned i = 0; i < n_functions; i++)
        frames[i].function.entry = MEMORY_AT + (uint32_t)(n_memory / 2) / n_functions * i;
    if (bytes[2] % 2 != 0) {
        gs.frames = frames;
        gs.n_frames = n_functions;
    }
    if (hs_go_read_code(&heap, &gs, &code, &err) != HS_OK)
        abort();
    check(&code, n_memory);
    hs_go_code_fini(&code);
    hs_image_fini(&dump.image);
    return 0;
}
