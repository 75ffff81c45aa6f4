#include "data_words.h"

#include "base/load.h"

static bool data_next_mapping(struct hs_data_words *it)
{
    const struct hs_target *target = it->process->target;

    while (it->mapping < target->n_mappings) {
        const struct hs_mapping *m = &target->mappings[it->mapping++];
        if (!m->writable || m->shared || m->end <= it->object->begin || m->begin >= it->object->end)
            continue;
        it->part_end = m->begin;
        it->end = m->end;
        return true;
    }
    return false;
}

static bool data_next_part(struct hs_data_words *it)
{
    for (;;) {
        while (hs_image_next_present(it->process->image, it->part_end, it->end, &it->part,
                                     &it->part_end)) {
            it->bytes = hs_image_bytes(it->process->image, it->part, it->part_end - it->part);
            if (it->bytes != NULL && it->part_end - it->part >= HS_WORD_BYTES)
                return true;
        }
        if (!data_next_mapping(it))
            return false;
    }
}

bool hs_data_words_next(struct hs_data_words *it, hs_addr *ret_address, uint64_t *ret_word)
{
    if (it->part_end - it->part < HS_WORD_BYTES && !data_next_part(it))
        return false;
    *ret_address = it->part;
    *ret_word = hs_load_u64(it->bytes);
    it->part += HS_WORD_BYTES;
    it->bytes += HS_WORD_BYTES;
    return true;
}
