/* links: hs_ocaml hs_runtimes hs_process hs_format hs_target hs_symbols hs_base */
/* What fake_ocaml5_process adds to the heap. Numbers are words of the part they lie in. */
#include <stdlib.h>
#include <string.h>

#include "fake_ocaml5.h"
#include "symbols/elf.h"

enum {
    TEXT_BYTES = 256,
    TLS_BYTES = 64, /* right below a thread's pointer */
    CODE_BYTES = 64,
    N_ATOM_WORDS = 257,
    DATA_WORDS = 0x2000 / HS_WORD,
};

enum data_word {
    MINOR_START,
    MINOR_END,
    COLOURS,
    RUNNING = COLOURS + 3,
    EPHE_NONE,
    GLOBALS,
    GC_ROOTS = GLOBALS + 2,
    DYN_GLOBALS = GC_ROOTS + 2,
    HOOK,
    THREAD_KEY,
    MEMPROF_ORPHANS,
    ORPHANS,
    DATA_SEGMENTS = ORPHANS + 2,
    CODE_SEGMENTS = DATA_SEGMENTS + 4,
    FRAMETABLE = CODE_SEGMENTS + 4,
    DESCRIPTORS = FRAMETABLE + 2,
    NAMED_VALUES = DESCRIPTORS + 12,
    ROOTS_PLAIN = NAMED_VALUES + 13,
    ROOTS_YOUNG = ROOTS_PLAIN + 18,
    ROOTS_OLD = ROOTS_YOUNG + 18,
    C_VARIABLE = ROOTS_OLD + 18,
    CUSTOM_OPS = C_VARIABLE + 2,
    ENDED = 256,
    MODULE_HEADER = 512,
    STATICS_END = 576,
};

enum malloc_word {
    INTERNAL = 0, /* dom_internal of each domain, 40 apart */
    FINAL = 100,  /* of the first domain, and of one that ended */
    FINAL_TABLE = 120,
    FINAL_TO_DO = 130,
    FINAL_ENDED = 140,
    EPHE_INFO = 160, /* of each domain, 4 apart */
    MEMPROF = 180,
    MEMPROF_TABLE = 200,
    MEMPROF_ORPHAN = 230,
    MEMPROF_ORPHAN_TABLE = 240,
    MEMPROF_THREAD = 250,
    MEMPROF_THREAD_TABLE = 270,
    THREAD_INFO = (FAKE5_FIRST_THREAD - FAKE5_MALLOC) / HS_WORD, /* of each thread, 16 apart */
    CELLS = 400,
    NAMED = 420,
    GC_REGS = 500, /* of each thread, 40 apart */
};

enum c_stack_word { LINK = 100, LOCALS = 60, LOCAL_ITEMS = 70 };

#define TEXT (FAKE5_PROGRAM + 0x1000)
#define RODATA (FAKE5_PROGRAM + 0x2000)
#define DEEP_RETURN (TEXT + 0x4)
#define TOP_RETURN (TEXT + 0x14)
#define LINK_RETURN (TEXT + 0x24)
#define FIBER_RETURN (TEXT + 0x34)
#define THREAD_POINTER(i) (FAKE5_THREAD(i) + 0x400)

struct place {
    const char *name;
    uint64_t vaddr, n_bytes;
    unsigned type;
};

#define IN_DATA(word) 0x3000 + (uint64_t)(word)*HS_WORD, 8, STT_OBJECT
static const struct place places[] = {
    {"camlM__deep_7", 0x1000, 16, STT_FUNC},
    {"camlM__top_8", 0x1010, 48, STT_FUNC},
    {"caml_alloc_shr_reserved", 0x1040, 16, STT_FUNC},
    {"caml_thread_initialize", 0x1050, 16, STT_FUNC},
    {"caml_atom", 0x1060, 16, STT_FUNC},
    {"caml_minor_heaps_start", IN_DATA(MINOR_START)},
    {"caml_minor_heaps_end", IN_DATA(MINOR_END)},
    {"caml_global_heap_state", IN_DATA(COLOURS)},
    {"caml_num_domains_running", IN_DATA(RUNNING)},
    {"caml_ephe_none", IN_DATA(EPHE_NONE)},
    {"caml_globals", IN_DATA(GLOBALS)},
    {"camlM__gc_roots", IN_DATA(GC_ROOTS)},
    {"caml_dyn_globals", IN_DATA(DYN_GLOBALS)},
    {"caml_scan_roots_hook", IN_DATA(HOOK)},
    {"caml_thread_key", IN_DATA(THREAD_KEY)},
    {"orphans", IN_DATA(MEMPROF_ORPHANS)},
    {"orph_structs", IN_DATA(ORPHANS)},
    {"caml_data_segments", IN_DATA(DATA_SEGMENTS)},
    {"caml_code_segments", IN_DATA(CODE_SEGMENTS)},
    {"caml_frametable", IN_DATA(FRAMETABLE)},
    {"named_value_table", IN_DATA(NAMED_VALUES)},
    {"caml_global_roots", IN_DATA(ROOTS_PLAIN)},
    {"caml_global_roots_young", IN_DATA(ROOTS_YOUNG)},
    {"caml_global_roots_old", IN_DATA(ROOTS_OLD)},
    {"c_variable", IN_DATA(C_VARIABLE)},
    {"pool_freelist", IN_DATA(ENDED)},
    {"camlM", IN_DATA(MODULE_HEADER + 1)},
    {"caml_state", 0, 8, STT_TLS},
    {"caml_compact_heap", 0x1070, 16, STT_FUNC}, /* the last: 5.1 has none */
};

static uint64_t *data(struct fake_ocaml5 *fake, unsigned word)
{
    return fake5_word(fake, FAKE5_DATA) + word;
}

static hs_addr data_at(unsigned word)
{
    return FAKE5_DATA + (hs_addr)word * HS_WORD;
}

static uint64_t *memory(struct fake_ocaml5 *fake, unsigned word)
{
    return fake5_word(fake, FAKE5_MALLOC) + word;
}

static hs_addr memory_at(unsigned word)
{
    return FAKE5_MALLOC + (hs_addr)word * HS_WORD;
}

static hs_addr c_stack_at(unsigned word)
{
    return FAKE5_C_STACK + (hs_addr)word * HS_WORD;
}

static uint64_t header(uint64_t n, unsigned tag)
{
    return n << 10 | tag;
}

/* ---- the program */

/* Frame descriptions of a CIE and three functions: M.deep, whose caller is 32 bytes up the stack;
 * M.top, which keeps its stack in rbx while it calls C; and C. Addresses are 4 bytes. */
static size_t put_frame_descriptions(uint8_t *bytes)
{
    enum { CIE_BYTES = 24, FDE_BYTES = 24 };
    static const uint8_t cie[CIE_BYTES] = {
        CIE_BYTES - 4, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 3, 0x0c, 7, 8, 0x90, 1};
    static const struct {
        uint8_t begin, n_bytes, program[3];
    } functions[] = {{0, 0x10, {0x0e, 32}}, {0x10, 0x30, {0x0c, 3, 32}}, {0x40, 0xc0, {0x0e, 16}}};
    size_t n = sizeof cie;

    memcpy(bytes, cie, sizeof cie);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++, n += FDE_BYTES) {
        bytes[n] = FDE_BYTES - 4;
        bytes[n + 4] = (uint8_t)(n + 4); /* back to the CIE */
        bytes[n + 8] = functions[i].begin;
        bytes[n + 9] = 0x10;
        bytes[n + 12] = functions[i].n_bytes;
        memcpy(bytes + n + 17, functions[i].program, sizeof functions[i].program);
    }
    return n + 4; /* the end: a length of 0 */
}

static void make_program(struct fake_ocaml5 *fake, struct fake5_program *program)
{
    static uint8_t code[TEXT_BYTES] = {0xc3};
    struct elf_writer *w = &program->elf;
    struct hs_error err = HS_ERROR_INIT;
    size_t n = sizeof places / sizeof *places - (fake->minor == 1);
    size_t n_frames = put_frame_descriptions(program->frames);

    elf_writer_init(w);
    size_t text = elf_writer_section(w, ".text", SHT_PROGBITS, 0x1000, code, sizeof code);
    size_t rodata = elf_writer_section(w, ".rodata", SHT_PROGBITS, 0x2000, fake5_word(fake, RODATA),
                                       N_ATOM_WORDS * HS_WORD);
    size_t bss =
        elf_writer_section(w, ".bss", SHT_NOBITS, 0x3000, NULL, (size_t)DATA_WORDS * HS_WORD);
    elf_writer_section(w, ".eh_frame", SHT_PROGBITS, 0x2a00, program->frames, n_frames);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_X, 0x1000, sizeof code, text);
    elf_writer_segment(w, PT_LOAD, PF_R, 0x2000, N_ATOM_WORDS * HS_WORD, rodata);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, 0x3000, (size_t)DATA_WORDS * HS_WORD, bss);
    elf_writer_segment(w, PT_TLS, PF_R, 0x3000, TLS_BYTES, 0);
    for (size_t i = 0; i < n; i++)
        elf_writer_symbol(w, places[i].name, places[i].type, STB_GLOBAL, places[i].vaddr,
                          places[i].n_bytes, (uint16_t)(places[i].type == STT_FUNC ? text : bss));
    elf_writer_finish(w);
    program->object = (struct hs_object){.bias = FAKE5_PROGRAM,
                                         .begin = TEXT,
                                         .end = data_at(DATA_WORDS),
                                         .is_executable = true,
                                         .name = (char *)"prog"};
    if (hs_elf_open_memory(w->bytes, w->n_bytes, "prog", &program->object.elf, &err) != HS_OK)
        abort();
}

/* Once each: 5.1, and what came after. */
static void open_program(struct fake_ocaml5 *fake)
{
    struct fake5_program *program = &fake->programs[fake->minor > 1];

    if (program->object.elf == NULL)
        make_program(fake, program);
    program->object.is_executable = true;
    fake->objects.objects = &program->object;
    fake->objects.n = fake->objects.capacity = 1;
}

static void put_u16s(uint64_t *words, uint16_t a, uint16_t b, uint16_t c, uint16_t d)
{
    const uint16_t all[4] = {a, b, c, d};
    memcpy(words, all, sizeof all);
}

/* deep: 32 bytes, live slots at 8 and in rbx; top: 16, slot at 0; the link; deep without rbx. */
static void put_frame_table(struct fake_ocaml5 *fake)
{
    uint64_t *t = data(fake, DESCRIPTORS);

    *data(fake, FRAMETABLE) = data_at(DESCRIPTORS);
    t[0] = 4;
    t[1] = DEEP_RETURN;
    put_u16s(&t[2], 32, 2, 8, 1 << 1 | 1);
    t[3] = TOP_RETURN;
    put_u16s(&t[4], 16, 1, 0, 0);
    t[5] = LINK_RETURN;
    put_u16s(&t[6], HS_FRAME_LINK, 0, 0, 0);
    t[7] = FIBER_RETURN;
    put_u16s(&t[8], 32, 1, 8, 0);
}

static void put_program(struct fake_ocaml5 *fake)
{
    for (unsigned i = 0; i < N_ATOM_WORDS - 1; i++)
        fake5_word(fake, RODATA)[i] = 3 << 8 | i;
    *data(fake, MINOR_START) = FAKE5_YOUNG(0);
    *data(fake, MINOR_END) = FAKE5_YOUNG(FAKE5_DOMAINS);
    data(fake, COLOURS)[1] = 1 << 8;
    data(fake, COLOURS)[2] = 2 << 8;
    *data(fake, RUNNING) = FAKE5_DOMAINS;
    *data(fake, EPHE_NONE) = data_at(STATICS_END + 1);
    *data(fake, GLOBALS) = data_at(GC_ROOTS);
    *data(fake, GC_ROOTS) = data_at(MODULE_HEADER + 1);
    *data(fake, HOOK) = TEXT + 0x50;
    *data(fake, THREAD_KEY) = 3;
    data(fake, DATA_SEGMENTS)[0] = data_at(MODULE_HEADER);
    data(fake, DATA_SEGMENTS)[1] = data_at(STATICS_END);
    data(fake, CODE_SEGMENTS)[0] = TEXT;
    data(fake, CODE_SEGMENTS)[1] = TEXT + CODE_BYTES;
    put_frame_table(fake);
}

/* ---- blocks */

/* In slot `i` of a pool, which some domain's statistics count. */
static hs_addr put_block(struct fake_ocaml5 *fake, unsigned pool, unsigned i, unsigned tag,
                         size_t n, const uint64_t *fields)
{
    hs_addr at = fake5_slot(fake, pool, i);
    uint64_t *stats = pool == 2   ? fake5_word(fake, FAKE5_ENDED) + FAKE5_ENDED_STATS
                      : pool == 3 ? fake5_word(fake, FAKE5_HEAP(1)) + FAKE5_HEAP_STATS
                                  : fake5_word(fake, FAKE5_HEAP(0)) + FAKE5_HEAP_STATS;

    fake5_word(fake, at)[0] = header(n, tag);
    memcpy(fake5_word(fake, at) + 1, fields, n * sizeof *fields);
    stats[2] += n + 1;
    stats[3]++;
    return at + HS_WORD;
}

/* The pool of the second domain, of slots of five words. */
static void put_second_heap(struct fake_ocaml5 *fake)
{
    uint64_t *heap = fake5_word(fake, FAKE5_HEAP(1)), *pool = fake5_word(fake, FAKE5_POOL(3));

    pool[2] = FAKE5_STATE(1);
    pool[3] = FAKE5_CLASS_5;
    heap[32 + FAKE5_CLASS_5] = FAKE5_POOL(3);
    heap[131] = FAKE5_STATE(1);
    heap[FAKE5_HEAP_STATS] = FAKE5_POOL_BYTES / HS_WORD;
}

/* The large block is the profile of memprof, whose rate is in field 1. */
static void put_profile(struct fake_ocaml5 *fake)
{
    uint64_t *fields = fake5_word(fake, FAKE5_LARGE) + 3;
    const double lambda = 0.01;
    uint64_t bits;

    memcpy(&bits, &lambda, sizeof bits);
    for (unsigned i = 0; i < FAKE5_LARGE_WOSIZE; i++)
        fields[i] = 1;
    fields[1] = put_block(fake, 3, 4, HS_TAG_DOUBLE, 1, &bits);
}

/* One block that leads to one of each kind. */
static hs_addr put_blocks(struct fake_ocaml5 *fake, hs_addr *ret_closure)
{
    const uint64_t closure[] = {TEXT, UINT64_C(1) << 56 | 5, 1};
    const uint64_t string[] = {0, UINT64_C(7) << 56}, custom[] = {data_at(CUSTOM_OPS), 7};
    uint64_t fields[4];

    *data(fake, CUSTOM_OPS) = RODATA + N_ATOM_WORDS * HS_WORD - HS_WORD; /* the empty name */
    *ret_closure = put_block(fake, 3, 0, HS_TAG_CLOSURE, 3, closure);
    fields[0] = put_block(fake, 0, 0, HS_TAG_STRING, 2, string);
    fields[1] = put_block(fake, 1, 0, HS_TAG_CUSTOM, 2, custom);
    fields[2] = *ret_closure;
    fields[3] = fake5_slot(fake, 0, 5) + HS_WORD; /* the continuation */
    fields[0] = put_block(fake, 3, 1, 0, 4, fields);
    fields[1] = RODATA + HS_WORD; /* an atom */
    fields[1] = put_block(fake, 2, 0, HS_TAG_FORWARD, 1, fields);
    return put_block(fake, 3, 2, HS_TAG_OBJECT, 3, fields);
}

/* The first domain has two ephemerons: to be swept and swept; an ended one has left another. */
static void put_ephemerons(struct fake_ocaml5 *fake, hs_addr block, hs_addr key)
{
    const uint64_t last[] = {0, block, key, 1};
    const uint64_t alone[] = {0, key, data_at(STATICS_END + 1), block};
    uint64_t first[] = {0, key, block, 1};

    memory(fake, EPHE_INFO)[0] = put_block(fake, 3, 5, HS_TAG_ABSTRACT, 4, alone);
    first[0] = put_block(fake, 3, 6, HS_TAG_ABSTRACT, 4, last);
    memory(fake, EPHE_INFO)[1] = put_block(fake, 3, 7, HS_TAG_ABSTRACT, 4, first);
    *data(fake, ORPHANS) = put_block(fake, 3, 8, HS_TAG_ABSTRACT, 4, alone);
}

/* Eight words in use at the end of each minor heap: a continuation too, one of them resumed. */
static void put_young(struct fake_ocaml5 *fake, unsigned domain, hs_addr block)
{
    uint64_t *words = fake5_word(fake, FAKE5_YOUNG(domain + 1) - FAKE5_YOUNG_WORDS * HS_WORD);

    words[0] = header(2, 0);
    words[1] = words[2] = block;
    words[3] = header(1, 0);
    words[4] = FAKE5_YOUNG(domain + 1) - 2 * HS_WORD;
    fake5_continuation(fake, FAKE5_YOUNG(domain + 1) - 3 * HS_WORD,
                       domain == 0 ? FAKE5_STACK(6) : 0);
}

/* ---- stacks */

/* One chunk of two frames that ends with the stack. */
static void put_frames(struct fake_ocaml5 *fake, unsigned stack, hs_addr innermost, hs_addr block)
{
    uint64_t *end = fake5_word(fake, FAKE5_STACK_END(stack)), *sp = end - 11;

    *fake5_word(fake, FAKE5_STACK(stack)) = FAKE5_STACK_END(stack) - 11 * HS_WORD;
    sp[0] = innermost;
    sp[2] = sp[5] = block;
    sp[4] = TOP_RETURN;
    sp[6] = LINK_RETURN;
    sp[9] = c_stack_at(LINK + 20 * stack);
    sp[10] = memory_at(GC_REGS);
    end[0] = end[1] = end[2] = 1;
}

/* A structure of C locals with one value, on the C stack. */
static void put_locals(struct fake_ocaml5 *fake, hs_addr block)
{
    uint64_t *words = fake5_word(fake, c_stack_at(LOCALS));

    words[1] = words[2] = 1;
    words[3] = c_stack_at(LOCAL_ITEMS);
    *fake5_word(fake, c_stack_at(LOCAL_ITEMS)) = block;
}

static void put_stacks(struct fake_ocaml5 *fake, hs_addr block, hs_addr closure)
{
    fake5_stack(fake, 2, FAKE5_STACK(5));
    fake5_stack(fake, 3, 0);
    fake5_stack(fake, 4, 0);
    fake5_stack(fake, 5, 0);
    fake5_stack(fake, 6, 0); /* a fiber too */
    for (unsigned i = 0; i < 7; i++)
        put_frames(fake, i, i < 2 || i == 6 ? FIBER_RETURN : DEEP_RETURN, block);
    for (unsigned i = 0; i < 3; i += 2) { /* both are fibers: they have handlers */
        uint64_t *end = fake5_word(fake, FAKE5_STACK_END(i));
        end[0] = end[1] = end[2] = closure;
    }
    for (unsigned i = 0; i < FAKE5_THREADS; i++)
        memory(fake, GC_REGS + 40 * i)[1] = block; /* rbx */
    put_locals(fake, block);
}

/* ---- domains and threads */

/* Of a domain's state, local roots: from there on the versions differ by their place alone. */
static unsigned first_word(const struct fake_ocaml5 *fake)
{
    return fake->minor < 3 ? 19 : fake->minor == 3 ? 20 : 24;
}

static void put_state(struct fake_ocaml5 *fake, unsigned domain, hs_addr block)
{
    uint64_t *state = fake5_word(fake, FAKE5_STATE(domain));
    const unsigned first = first_word(fake);

    state[HS_STATE5_YOUNG_START] = FAKE5_YOUNG(domain);
    state[HS_STATE5_YOUNG_END] = FAKE5_YOUNG(domain + 1);
    state[HS_STATE5_YOUNG_PTR] = FAKE5_YOUNG(domain + 1) - FAKE5_YOUNG_WORDS * HS_WORD;
    state[HS_STATE5_CURRENT_STACK] = FAKE5_STACK(domain == 0 ? 2 : 4);
    state[HS_STATE5_C_STACK] = domain == 0 ? c_stack_at(LINK) : 0;
    state[HS_STATE5_GC_REGS] = memory_at(GC_REGS + 80 * domain);
    state[first] = domain == 0 ? c_stack_at(LOCALS) : 0;
    state[first + 1] = memory_at(EPHE_INFO + 4 * domain);
    state[first + 2] = domain == 0 ? memory_at(FINAL) : 0;
    state[first + 6] = block; /* last exception */
    state[first + 14] = FAKE5_YOUNG(1) - FAKE5_YOUNG(0);
    state[first + 15] = FAKE5_HEAP(domain);
    state[first + 16] = state[first + 17] = domain;
    state[first + 18] = block; /* local storage */
    if (fake->minor > 1)
        state[first + 38] = domain == 0 ? memory_at(MEMPROF) : 0;
    memory(fake, INTERNAL + 40 * domain)[0] = domain;
    memory(fake, INTERNAL + 40 * domain)[1] = FAKE5_STATE(domain);
}

/* Threads 0 and 1 are of the first domain, 2 of the second, and 3 serves it while it blocks. */
static void put_thread(struct fake_ocaml5 *fake, unsigned i, hs_addr held, hs_addr block)
{
    const unsigned domain = i / 2, next = i == 2 ? 2 : 1 - i;
    uint64_t *info = memory(fake, THREAD_INFO + 16 * i);
    uint64_t *local = fake5_word(fake, THREAD_POINTER(i) - TLS_BYTES);

    uint64_t *dtv = fake5_word(fake, FAKE5_THREAD(i) + 0x40); /* of a program and a library */
    *fake5_word(fake, THREAD_POINTER(i) + HS_WORD) = FAKE5_THREAD(i) + 0x40;
    dtv[-2] = 2;
    dtv[4] = THREAD_POINTER(i) - TLS_BYTES;
    local[0] = held;
    local[1] = memory_at(INTERNAL + 40 * domain); /* domain_self */
    if (i == 3) {
        memory(fake, INTERNAL + 40)[5] = THREAD_POINTER(3);
        return;
    }
    info[0] = info[9] = block; /* descriptor, last exception */
    info[1] = info[2] = memory_at(THREAD_INFO + 16 * next);
    info[3] = domain;
    info[4] = FAKE5_STACK(2 + i);
    info[5] = i == 0 ? c_stack_at(LINK) : 0;
    info[10] = memory_at(GC_REGS + 40 * i);
    fake5_word(fake, THREAD_POINTER(i) + 0x310 + 16 * 3)[1] = memory_at(THREAD_INFO + 16 * i);
}

static void put_registers(struct fake_ocaml5 *fake, enum fake5_stand stand, hs_addr block)
{
    for (unsigned i = 0; i < FAKE5_THREADS; i++) {
        struct hs_regs *regs = &fake->target.threads[i].regs;
        *regs = (struct hs_regs){.rip = TEXT + 0x80,
                                 .rsp = c_stack_at(LINK - 50),
                                 .fs_base = THREAD_POINTER(i),
                                 .orig_rax = UINT64_MAX};
    }
    struct hs_regs *first = &fake->target.threads[0].regs;
    if (stand != FAKE5_IN_OCAML && stand != FAKE5_IN_CALL)
        return;
    first->rbp = block;
    first->r14 = FAKE5_STATE(0);
    first->r15 = *fake5_word(fake, FAKE5_STATE(0) + HS_STATE5_YOUNG_PTR * HS_WORD);
    first->rbx = FAKE5_STACK_END(2) - 14 * HS_WORD; /* below deep's return address */
    if (stand == FAKE5_IN_OCAML) {
        first->rip = TEXT;
        first->rsp = first->rbx;
    } else {
        fake5_word(fake, first->rsp)[1] = TEXT + 0x18;
    }
}

static void put_domains(struct fake_ocaml5 *fake, enum fake5_stand stand, hs_addr block)
{
    uint64_t *link = fake5_word(fake, c_stack_at(LINK));

    link[0] = FAKE5_STACK(2);
    link[1] = *fake5_word(fake, FAKE5_STACK(2));
    for (unsigned i = 0; i < FAKE5_DOMAINS; i++)
        put_state(fake, i, block);
    put_thread(fake, 0, stand == FAKE5_BLOCKED ? 0 : FAKE5_STATE(0), block);
    put_thread(fake, 1, 0, block);
    put_thread(fake, 2, 0, block);
    put_thread(fake, 3, FAKE5_STATE(1), block);
    put_registers(fake, stand, block);
}

/* ---- roots of C, finalisers, memprof */

static void put_c_roots(struct fake_ocaml5 *fake, hs_addr block)
{
    const unsigned lists[] = {ROOTS_PLAIN, ROOTS_YOUNG, ROOTS_OLD};
    uint64_t *module = data(fake, MODULE_HEADER), *cells = memory(fake, CELLS);

    module[0] = header(3, 0) | 3 << 8;
    module[1] = module[2] = module[3] = block;
    data(fake, C_VARIABLE)[0] = data(fake, C_VARIABLE)[1] = block;
    for (unsigned i = 0; i < 3; i++)
        *data(fake, lists[i]) = memory_at(CELLS + 6 * i);
    cells[0] = data_at(C_VARIABLE);
    cells[2] = memory_at(CELLS + 3);
    cells[3] = data_at(C_VARIABLE + 1);
    cells[6] = memory_at(NAMED); /* a named value: {value, next, text} */
    cells[12] = FAKE5_STATE(0) + (first_word(fake) + 18) * HS_WORD;
    memory(fake, NAMED)[0] = block;
    memory(fake, NAMED)[2] = 'n';
    *data(fake, NAMED_VALUES) = memory_at(NAMED);
}

static void put_final(struct fake_ocaml5 *fake, unsigned at, hs_addr block, hs_addr closure)
{
    uint64_t *m = memory(fake, at), *table = memory(fake, FINAL_TABLE);

    m[0] = m[5] = memory_at(FINAL_TABLE);
    m[1] = m[2] = m[3] = m[6] = m[7] = m[8] = 1;
    m[10] = memory_at(FINAL_TO_DO);
    memory(fake, FINAL_TO_DO)[1] = 1;
    table[0] = memory(fake, FINAL_TO_DO)[2] = closure;
    table[1] = memory(fake, FINAL_TO_DO)[3] = block;
}

static void put_entries(struct fake_ocaml5 *fake, unsigned at, unsigned table, hs_addr block)
{
    uint64_t *m = memory(fake, at), *entry = memory(fake, table);

    m[0] = memory_at(table);
    m[2] = m[3] = 1;
    m[7] = FAKE5_LARGE + 3 * HS_WORD; /* the profile */
    entry[0] = block;
    entry[1] = (uint64_t)at << 1 | 1;
    entry[2] = 3;
    entry[3] = 2;
}

static void put_memprof(struct fake_ocaml5 *fake, hs_addr block)
{
    put_entries(fake, MEMPROF + 1, MEMPROF_TABLE, block);
    put_entries(fake, MEMPROF_ORPHAN, MEMPROF_ORPHAN_TABLE, block);
    put_entries(fake, MEMPROF_THREAD + 3, MEMPROF_THREAD_TABLE, block);
    memory(fake, MEMPROF)[9] = memory_at(MEMPROF_ORPHAN);
    memory(fake, MEMPROF)[11] = memory_at(MEMPROF_THREAD);
}

void fake_ocaml5_process(struct fake_ocaml5 *fake, unsigned minor, enum fake5_stand stand)
{
    hs_addr block, closure;

    fake_ocaml5_heap(fake, minor);
    put_program(fake);
    put_second_heap(fake);
    block = put_blocks(fake, &closure);
    put_profile(fake);
    put_ephemerons(fake, block, closure);
    for (unsigned i = 0; i < FAKE5_DOMAINS; i++)
        put_young(fake, i, block);
    put_stacks(fake, block, closure);
    put_domains(fake, stand, block);
    put_c_roots(fake, block);
    put_final(fake, FINAL, block, closure);
    put_final(fake, FINAL_ENDED, block, closure);
    data(fake, ORPHANS)[1] = memory_at(FINAL_ENDED);
    put_memprof(fake, block);
    open_program(fake);
}
