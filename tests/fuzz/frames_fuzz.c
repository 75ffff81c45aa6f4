/* links: hs_ocaml hs_runtimes hs_process hs_base */
/* Any bytes as the memory in which a frame table of OCaml stands: descriptors, their live slots and
 * source places. The first byte chooses where in the memory the table is said to be. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ocaml/frame_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_BYTES = 1 << 15, MAX_LOOKED = 256, TEXT_BYTES = 64 };
#define MEMORY_AT UINT64_C(0x7f0000001000)

static bool is_inside(size_t n_bytes, hs_addr at, uint64_t n)
{
    return at >= MEMORY_AT && at - MEMORY_AT <= n_bytes && n <= n_bytes - (at - MEMORY_AT);
}

static void fuzz_places(const struct hs_image *image, enum hs_place_packing packing,
                        const struct hs_frame_descriptor *d)
{
    struct hs_frame_place place;
    char text[TEXT_BYTES];
    bool is_there = hs_frame_first_place(image, packing, d, &place);
    for (unsigned i = 0; is_there && i < HS_FRAME_MAX_INLINED; i++) {
        assert(place.line < 1 << 20 && place.char_begin <= UINT16_MAX);
        assert(place.char_end <= UINT16_MAX);
        if (hs_image_string(image, place.file, text, sizeof text))
            assert(strlen(text) < sizeof text);
        (void)hs_image_string(image, place.function, text, sizeof text);
        is_there = place.has_next && hs_frame_place_read(image, packing, place.next, &place);
    }
}

static void fuzz_entry(const struct hs_frame_table *table, const struct hs_image *image,
                       const struct hs_frame_entry *entry, size_t n_bytes)
{
    struct hs_frame_descriptor d;
    uint64_t return_address = 0;
    uint16_t live;
    const struct hs_frame_entry *found = hs_frame_table_find(table, entry->return_address);
    assert(found != NULL && found <= entry && found->return_address == entry->return_address);
    assert(hs_frame_descriptor_read(image, entry->at, &d));
    assert(hs_image_u64(image, entry->at, &return_address));
    assert(return_address == entry->return_address);
    assert(is_inside(n_bytes, d.live, (uint64_t)d.n_live * 2));
    assert(d.n_debug == 0 || is_inside(n_bytes, d.debug, (uint64_t)d.n_debug * 4));
    for (unsigned i = 0; i < d.n_live; i++)
        assert(hs_frame_live(image, &d, i, &live));
    assert(!hs_frame_live(image, &d, d.n_live, &live));
    fuzz_places(image, HS_PLACES_UP_TO_5_1, &d);
    fuzz_places(image, HS_PLACES_FROM_5_2, &d);
}

static void fuzz_table(const struct hs_image *image, size_t n_bytes, hs_addr at)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_frame_table table = {0};
    uint64_t stated = 0;
    assert(hs_frame_table_find(&table, 0) == NULL);
    if (hs_frame_table_add(&table, image, at, &err) != HS_OK)
        abort();
    bool is_there = at % 8 == 0 && hs_image_u64(image, at, &stated);
    assert(table.n_entries <= n_bytes / 12);
    assert(is_there || (table.n_entries == 0 && table.n_damaged == 1));
    assert((table.n_damaged == 0) == (is_there && table.n_entries == stated));
    size_t n = table.n_entries;
    if (hs_frame_table_add(&table, image, at, &err) != HS_OK ||
        hs_frame_table_seal(&table, &err) != HS_OK)
        abort();
    assert(table.n_entries == 2 * n); /* of equal ones the first is found */
    for (size_t i = 0; i < n && i < MAX_LOOKED; i++) {
        assert(i == 0 || table.entries[i].at > table.entries[i - 1].at);
        fuzz_entry(&table, image, &table.entries[i], n_bytes);
    }
    hs_frame_table_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_image image = {0};
    if (n_bytes < 2 || n_bytes > MAX_BYTES)
        return 0;
    uint8_t *memory = malloc(n_bytes - 1); /* its end is seen by a sanitizer */
    if (memory == NULL)
        abort();
    memcpy(memory, bytes + 1, n_bytes - 1);
    if (hs_image_add(&image, MEMORY_AT, memory, n_bytes - 1, &err) != HS_OK)
        abort();
    fuzz_table(&image, n_bytes - 1, MEMORY_AT + (uint64_t)(bytes[0] & 0x7f));
    hs_image_fini(&image);
    free(memory);
    return 0;
}
