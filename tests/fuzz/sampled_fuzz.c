/* links: hs_heaps hs_runtimes hs_process hs_symbols hs_base */
/* fuzz: -entropic=0 */
/* The readers of samples against any memory.
 *
 *   'R' then the anchor and what lies behind it: slots and stacks     the recorder's table
 *   'J' or 'O' then words of {u16 place, u64 value}                   jemalloc's profiler, 5.3, 5.2
 *
 * The latter are written over a process with two sound backtraces: below 2048 over these, else over
 * the descriptions of the blocks. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "elf_writer.h"
#include "fake_prof.h"
#include "heaps/sampled.h"
#include "symbols/elf.h"
#include <heapsnap/recorded.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

#define BIAS UINT64_C(0x555500000000)
#define DATA (BIAS + 0x3000)
enum { DATA_BYTES = 1 << 16, PATCH_BYTES = 10, CONTEXT_BYTES = 2048, N_SAMPLED = 4 };

/* What is let through must be readable, in order, and of a sampler that there is. */
static void check_set(const struct hs_sampled_set *set)
{
    volatile uint64_t frame; /* any number is one: it must be readable */

    for (size_t i = 0; i < set->n_samplers; i++)
        assert(isfinite(set->samplers[i].facts.period_words) &&
               set->samplers[i].facts.period_words >= 0);
    for (size_t i = 0; i < set->n_blocks; i++) {
        const struct hs_sampled *block = &set->blocks[i], *before = block - 1;
        assert(block->sampler < set->n_samplers && block->n_samples != 0);
        assert(i == 0 || before->id < block->id ||
               (before->id == block->id && before->sampler < block->sampler));
        assert((block->n_frames == 0) == (block->frames == NULL));
        for (uint32_t k = 0; k < block->n_frames; k++)
            frame = hs_sampled_frame(block, k);
    }
    (void)frame;
}

static void read_samples(const struct hs_process_copy *process,
                         const struct hs_allocator *allocator)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_heaps heaps = {0};
    struct hs_sampled_set set = {0};
    uint64_t n_refused;

    hs_heap_map_init(&heaps.map, process->image);
    hs_ledger_init(&heaps.ledger, process->findings->strings, process->image);
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        if (hs_allocators[i] != allocator)
            continue;
        hs_status status = allocator->open(process, &heaps.states[i], &err);
        if (status == HS_OK && heaps.states[i] != NULL)
            status = allocator->add_spans(heaps.states[i], &heaps.map, &heaps.ledger, &err);
        hs_ledger_seal(&heaps.ledger);
        if (status == HS_OK)
            status = hs_heap_map_seal(&heaps.map, &n_refused, &err);
        if (status == HS_OK && heaps.states[i] != NULL)
            status = allocator->mark(heaps.states[i], &heaps.map, &heaps.ledger, &err);
        if (status == HS_OK)
            status = hs_heap_map_index(&heaps.map, &err);
        if (status == HS_OK)
            status = hs_sampled_read(&heaps, process, &set, &err);
        assert(status == HS_OK || status == HS_LIMIT);
    }
    check_set(&set);
    hs_sampled_fini(&set);
    hs_heaps_close(&heaps);
}

static void fuzz_record(const uint8_t *bytes, size_t n_bytes)
{
    static const uint8_t file_data[512];
    static struct elf_writer writer;
    static _Alignas(8) uint8_t data[DATA_BYTES];
    struct hs_error err = HS_ERROR_INIT;
    struct hs_object object = {
        .bias = BIAS, .begin = BIAS, .end = BIAS + 0x4000, .name = (char *)"fuzz"};
    struct hs_objects objects = {.objects = &object, .n = 1};
    struct hs_target target = {.pid = 1, .core = (struct hs_core *)data};
    struct hs_image image = {0};
    struct hs_strtab strings = {0};
    struct hs_findings findings = {.strings = &strings};
    const struct hs_process_copy process = {&target, &image, &objects, &findings, NULL, NULL};

    memset(data, 0, sizeof data);
    memcpy(data, bytes, n_bytes < sizeof data ? n_bytes : sizeof data);
    elf_writer_init(&writer);
    size_t section =
        elf_writer_section(&writer, ".data", SHT_PROGBITS, 0x3000, file_data, sizeof file_data);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_W, 0x3000, sizeof file_data, section);
    elf_writer_symbol(&writer, HS_RECORD_ANCHOR_NAME, STT_OBJECT, STB_GLOBAL, 0x3000,
                      sizeof(struct hs_record_anchor), (uint16_t)section);
    elf_writer_finish(&writer);
    if (hs_elf_open_memory(writer.bytes, writer.n_bytes, "fuzz", &object.elf, &err) != HS_OK ||
        hs_image_add(&image, DATA, data, sizeof data, &err) != HS_OK)
        abort();
    read_samples(&process, &hs_allocator_recorded);
    hs_findings_fini(&findings);
    hs_strtab_fini(&strings);
    hs_image_fini(&image);
    hs_elf_close(object.elf);
}

static void fuzz_jemalloc(const uint8_t *bytes, size_t n_bytes, bool is_52)
{
    static struct fake_jemalloc fake;
    static struct fake_prof prof;
    static const uint64_t live[8] = {0xffff};

    fake_jemalloc_init_small(&fake, is_52, 48);
    fake_prof_init(&prof, &fake, "MALLOC_CONF=prof:true,lg_prof_sample:12");
    for (unsigned i = 0; i < 4; i++)
        fake_jemalloc_slab(&fake, 1, 1, live);
    for (unsigned i = 0; i < 4; i++)
        (void)fake_jemalloc_extent(&fake, 6, 37, false, JEMALLOC_ACTIVE);
    (void)fake_prof_context(&prof, 3);
    (void)fake_prof_context(&prof, 8);
    for (unsigned i = 0; i < N_SAMPLED; i++)
        (void)fake_prof_sample(&prof, i % 2, 8, 128, 14);
    unsigned first_edata = fake.n_extents - N_SAMPLED;
    for (; n_bytes >= PATCH_BYTES; bytes += PATCH_BYTES, n_bytes -= PATCH_BYTES) {
        uint16_t place;
        uint64_t word;
        memcpy(&place, bytes, sizeof place);
        memcpy(&word, bytes + sizeof place, sizeof word);
        unsigned at = place / 8 * 8;
        if (at < CONTEXT_BYTES)
            fake_put(fake_prof_bytes(&prof, fake_prof_gctx_at(&prof, 0)), at, word);
        else
            fake_put(fake_jemalloc_edata(&fake, first_edata + at / 64 % N_SAMPLED), 64 + at % 64,
                     word);
    }
    read_samples(&fake.process, &hs_allocator_jemalloc);
    fake_jemalloc_fini(&fake);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    if (n_bytes == 0)
        return 0;
    if (bytes[0] == 'J' || bytes[0] == 'O')
        fuzz_jemalloc(bytes + 1, n_bytes - 1, bytes[0] == 'O');
    else
        fuzz_record(bytes + 1, n_bytes - 1);
    return 0;
}
