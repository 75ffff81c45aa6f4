#include "heap.h"

#include "base/alloc.h"
#include "base/load.h"
#include "process/constants.h"

void hs_go_heap_fini(struct hs_go_heap *heap)
{
    hs_free(heap->arenas);
    hs_free(heap->spans);
    hs_free(heap->manual);
    hs_free(heap->pages);
    hs_bitmap_fini(&heap->live);
    *heap = (struct hs_go_heap){.dump = heap->dump, .layout = heap->layout, .masks = heap->masks};
}

const uint8_t *hs_go_bytes(const struct hs_go_heap *heap, hs_addr address, size_t n)
{
    return hs_constant_bytes(&heap->dump->image, &heap->dump->objects, address, n);
}

bool hs_go_u64(const struct hs_go_heap *heap, hs_addr address, uint64_t *ret)
{
    const uint8_t *bytes = hs_go_bytes(heap, address, sizeof *ret);

    if (bytes != NULL)
        *ret = hs_load_u64(bytes);
    return bytes != NULL;
}

bool hs_go_u32(const struct hs_go_heap *heap, hs_addr address, uint32_t *ret)
{
    const uint8_t *bytes = hs_go_bytes(heap, address, sizeof *ret);

    if (bytes != NULL)
        *ret = hs_load_u32(bytes);
    return bytes != NULL;
}

uint64_t hs_go_member(const struct hs_go_heap *heap, hs_addr address, int64_t offset)
{
    uint64_t word = 0;

    if (offset < 0 || !hs_image_u64(&heap->dump->image, address + (uint64_t)offset, &word))
        return 0;
    return word;
}
