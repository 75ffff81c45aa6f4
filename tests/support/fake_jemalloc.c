/* links: hs_heaps */
#include "fake_jemalloc.h"

#include "unit.h"

#include "base/alloc.h"

void fake_put(uint8_t *bytes, uint64_t at, uint64_t word)
{
    memcpy(bytes + at, &word, sizeof word);
}

static uint8_t *fake_pages(size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    void *memory;
    assert_int_equal(hs_pages_alloc(n_bytes, 1, &memory, &err), HS_OK);
    return memory;
}

static void fake_header(struct fake_jemalloc *fake)
{
    const uint64_t used = (fake->edata_offset + fake->base_bytes) / 2;

    fake_put(fake->base, 0, fake->base_bytes);
    fake_put(fake->base, 24, FAKE_JE_BASE_AT + used);
    fake_put(fake->base, 32, fake->base_bytes - used);
    if (fake->bits == 48) {
        fake_put(fake->data, FAKE_JE_ROOT_AT - FAKE_JE_DATA_AT + (FAKE_JE_HEAP_AT >> 30) * 8,
                 FAKE_JE_LEAF_AT);
        return;
    }
    fake_put(fake->data, FAKE_JE_ROOT_AT - FAKE_JE_DATA_AT + (FAKE_JE_HEAP_AT >> 42) * 8,
             FAKE_JE_NODE_AT);
    fake_put(fake->base, FAKE_JE_NODE_AT - FAKE_JE_BASE_AT + (FAKE_JE_HEAP_AT >> 27 & 0x7fff) * 8,
             FAKE_JE_LEAF_AT);
}

static void fake_map(struct fake_jemalloc *fake, size_t i, hs_addr begin, const uint8_t *bytes,
                     uint64_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;

    fake->mappings[i] = (struct hs_mapping){
        .begin = begin, .end = begin + n_bytes, .readable = true, .writable = true};
    assert_int_equal(hs_image_add(&fake->image, begin, bytes, n_bytes, &err), HS_OK);
}

static void fake_make(struct fake_jemalloc *fake, unsigned bits, bool is_52)
{
    fake->bits = bits;
    fake->is_52 = is_52;
    fake->lg_quantum = 4;
    fake->data = fake_pages(fake->data_bytes);
    fake->base = fake_pages(fake->base_bytes);
    fake->heap = fake_pages(fake->heap_pages * JEMALLOC_PAGE);
    fake->tls = fake_pages(fake->tls_stride * FAKE_JE_THREADS);
    fake_map(fake, 0, FAKE_JE_DATA_AT, fake->data, fake->data_bytes);
    fake_map(fake, 1, FAKE_JE_BASE_AT, fake->base, fake->base_bytes);
    fake_map(fake, 2, FAKE_JE_HEAP_AT, fake->heap, fake->heap_pages * JEMALLOC_PAGE);
    fake_map(fake, 3, FAKE_JE_TLS_AT, fake->tls, fake->tls_stride * FAKE_JE_THREADS);
    fake->mappings[0].inode = 7;
    fake->target = (struct hs_target){.mappings = fake->mappings,
                                      .n_mappings = 4,
                                      .threads = fake->threads,
                                      .n_threads = FAKE_JE_THREADS,
                                      .path_text = fake->path_text,
                                      .path_text_bytes = sizeof fake->path_text};
    for (unsigned i = 0; i < FAKE_JE_THREADS; i++)
        fake->threads[i].regs.fs_base = FAKE_JE_TLS_AT + (hs_addr)fake->tls_stride * (i + 1);
    fake->findings.strings = &fake->strings;
    fake->process =
        (struct hs_process_copy){&fake->target, &fake->image, NULL, &fake->findings, NULL, NULL};
    fake_header(fake);
}

void fake_jemalloc_init(struct fake_jemalloc *fake, unsigned bits, bool is_52)
{
    memset(fake, 0, sizeof *fake);
    fake->data_bytes = FAKE_JE_DATA_BYTES;
    fake->base_bytes = FAKE_JE_BASE_BYTES;
    fake->heap_pages = FAKE_JE_HEAP_PAGES;
    fake->tls_stride = 0x8000;
    fake->edata_offset = FAKE_JE_EDATA_AT - FAKE_JE_BASE_AT;
    fake_make(fake, bits, is_52);
}

void fake_jemalloc_init_small(struct fake_jemalloc *fake, bool is_52, unsigned heap_pages)
{
    memset(fake, 0, sizeof *fake);
    fake->data_bytes = FAKE_JE_SMALL_DATA_BYTES;
    fake->base_bytes = FAKE_JE_SMALL_BASE_BYTES;
    fake->heap_pages = heap_pages;
    fake->tls_stride = 0x2000;
    fake->edata_offset = 0x100000;
    fake_make(fake, 57, is_52);
}

void fake_jemalloc_fini(struct fake_jemalloc *fake)
{
    hs_findings_fini(&fake->findings);
    hs_strtab_fini(&fake->strings);
    hs_image_fini(&fake->image);
    hs_pages_free(fake->data, fake->data_bytes, 1);
    hs_pages_free(fake->base, fake->base_bytes, 1);
    hs_pages_free(fake->heap, fake->heap_pages * JEMALLOC_PAGE, 1);
    hs_pages_free(fake->tls, fake->tls_stride * FAKE_JE_THREADS, 1);
}

hs_addr fake_jemalloc_edata_at(const struct fake_jemalloc *fake, unsigned extent)
{
    /* 5.2 aligns them to 64 bytes only: here to nothing better */
    return FAKE_JE_BASE_AT + fake->edata_offset + extent * 256 + (fake->is_52 ? 64 : 0);
}

uint8_t *fake_jemalloc_edata(struct fake_jemalloc *fake, unsigned extent)
{
    return fake->base + (fake_jemalloc_edata_at(fake, extent) - FAKE_JE_BASE_AT);
}

hs_addr fake_jemalloc_begin(struct fake_jemalloc *fake, unsigned extent)
{
    return hs_load_u64(fake_jemalloc_edata(fake, extent) + 8);
}

uint8_t *fake_jemalloc_entry(struct fake_jemalloc *fake, uint64_t page)
{
    uint64_t number = (FAKE_JE_HEAP_AT >> 12) + page;
    uint64_t at = fake->bits == 48 ? (number & 0x3ffff) * 8 : (number & 0x7fff) * 16;
    return fake->base + (FAKE_JE_LEAF_AT - FAKE_JE_BASE_AT) + at;
}

void fake_jemalloc_enter(struct fake_jemalloc *fake, uint64_t page, hs_addr edata, unsigned szind,
                         bool is_slab)
{
    uint8_t *entry = fake_jemalloc_entry(fake, page);

    if (fake->bits == 48) {
        fake_put(entry, 0, (uint64_t)szind << 48 | edata | is_slab);
        return;
    }
    fake_put(entry, 0, edata);
    fake_put(entry, 8, fake->is_52 ? szind | (uint64_t)is_slab << 32 : szind << 5 | is_slab);
}

unsigned fake_jemalloc_extent(struct fake_jemalloc *fake, unsigned n_pages, unsigned szind,
                              bool is_slab, unsigned state)
{
    unsigned extent = fake->n_extents++;
    hs_addr edata = fake_jemalloc_edata_at(fake, extent);
    uint8_t *bytes = fake_jemalloc_edata(fake, extent);
    uint64_t bits = (uint64_t)is_slab << 12;

    assert_true(fake->pen + n_pages <= fake->heap_pages);
    bits |= fake->is_52 ? (uint64_t)state << 16 | (uint64_t)szind << 18
                        : (uint64_t)state << 17 | (uint64_t)szind << 20;
    fake_put(bytes, 0, bits);
    fake_put(bytes, 8, FAKE_JE_HEAP_AT + fake->pen * JEMALLOC_PAGE);
    fake_put(bytes, 16, n_pages * JEMALLOC_PAGE | 0x123);
    for (unsigned i = 0; i < n_pages; i++)
        if (is_slab || i == 0 || i + 1 == n_pages)
            fake_jemalloc_enter(fake, fake->pen + i, edata, szind, is_slab);
    fake->pen += n_pages;
    return extent;
}

unsigned fake_jemalloc_slab(struct fake_jemalloc *fake, unsigned n_pages, unsigned szind,
                            const uint64_t *live)
{
    unsigned extent = fake_jemalloc_extent(fake, n_pages, szind, true, JEMALLOC_ACTIVE);
    uint8_t *bytes = fake_jemalloc_edata(fake, extent);
    struct jemalloc_tree tree = {.lg_quantum = fake->lg_quantum};
    unsigned n = (unsigned)(n_pages * JEMALLOC_PAGE / hs_jemalloc_class_bytes(&tree, szind));
    uint64_t n_free = 0, bitmap[JEMALLOC_BITMAP_WORDS] = {0};

    for (unsigned i = 0; i < n; i++) {
        bool is_free = (live[i / 64] >> (i % 64) & 1) == 0;
        bitmap[i / 64] |= (uint64_t)is_free << (i % 64);
        n_free += is_free;
    }
    memcpy(bytes + 64, bitmap, sizeof bitmap);
    fake_put(bytes, 0, hs_load_u64(bytes) | n_free << (fake->is_52 ? 26 : 28));
    return extent;
}

uint8_t *fake_jemalloc_tls(struct fake_jemalloc *fake, hs_addr address)
{
    return fake->tls + (address - FAKE_JE_TLS_AT);
}

/* Bin number i of a cache whose stacks have 16 places each from `stack` on. */
static void fake_bin(struct fake_jemalloc *fake, uint8_t *bin, hs_addr stack, unsigned i,
                     unsigned n_used)
{
    hs_addr full = stack + i * 128ull, empty = full + 128;

    if (fake->is_52) {
        fake_put(bin, 0, (uint64_t)n_used << 32);
        fake_put(bin, 16, empty);
        return;
    }
    hs_addr head = empty - 8ull * n_used;
    fake_put(bin, 0, head);
    fake_put(bin, 16,
             (empty & 0xffff) | (full & 0xffff) << 16 | (empty & 0xffff) << 32 | 16ull << 48);
}

void fake_jemalloc_cache(struct fake_jemalloc *fake, unsigned thread, hs_addr stack, unsigned szind,
                         const hs_addr *blocks, unsigned n)
{
    hs_addr bins = fake->threads[thread].regs.fs_base - FAKE_JE_CACHE_OFFSET;
    hs_addr next =
        fake->threads[(thread + 1) % FAKE_JE_THREADS].regs.fs_base - FAKE_JE_CACHE_OFFSET;
    uint8_t *bytes = fake_jemalloc_tls(fake, bins);

    unsigned n_small = fake->lg_quantum == 3 ? 39 : 36;
    assert_true(szind < n_small && n <= 16);
    for (unsigned i = 0; i < n_small; i++)
        fake_bin(fake, bytes + 24ul * i, stack, i, i == szind ? n : 0);
    for (unsigned i = 0; i < n; i++)
        fake_put(fake->heap, stack - FAKE_JE_HEAP_AT + (szind + 1) * 128 - 8 * (n - i), blocks[i]);
    if (fake->is_52) {
        /* offsetof(tcache_t, ...) as gdb tells them of both builds of 5.2.1 */
        bool is_8 = fake->lg_quantum == 3;
        fake_put(bytes, (is_8 ? 952 : 880) - 16, next - 16);
        fake_put(bytes, (is_8 ? 1008 : 936) - 16, bins);
        fake_put(bytes, (is_8 ? 1016 : 944) - 16, bins + (is_8 ? 1080 : 1000) - 16);
        return;
    }
    /* its tcache_slow_t lies below */
    fake_put(bytes - 8, 0, bins - 0x200);
    fake_put(bytes - 0x200, 0, next - 0x200);
    fake_put(bytes - 0x200, 32, bins);
}
