#include "mentions.h"

#include "symbols/elf.h"

static bool is_writable_data(const struct hs_object *object, hs_addr address)
{
    const struct hs_elf_segment *segment = hs_elf_segment_at(object->elf, address - object->bias);
    return segment != NULL && segment->writable;
}

bool hs_mentions_has(const struct hs_mentions *m, hs_addr address)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->at[i].target == address)
            return true;
    }
    return false;
}

void hs_mentions_harvest(const struct hs_ocaml *rt, const char *function, struct hs_mentions *ret)
{
    struct hs_live_symbol symbol;
    ret->n = 0;
    if (!hs_objects_find(rt->objects, function, &symbol))
        return;
    const struct hs_object *object = symbol.object;
    size_t n_bytes = symbol.size == 0 || symbol.size > HS_MENTIONS_CODE_BYTES
                         ? HS_MENTIONS_CODE_BYTES
                         : (size_t)symbol.size;
    hs_addr vaddr = symbol.address - object->bias;
    const uint8_t *code = hs_elf_bytes_at(object->elf, vaddr, n_bytes);
    if (code == NULL)
        return;
    struct hs_operand all[HS_MENTIONS_MAX];
    struct hs_harvest h = hs_operands_harvest(code, n_bytes, vaddr, all, HS_MENTIONS_MAX);
    for (size_t i = 0; i < h.n_operands; i++) {
        struct hs_operand operand = all[i];
        operand.target += object->bias;
        if (operand.kind >= HS_OPERAND_CALL || !is_writable_data(object, operand.target))
            continue;
        if (!hs_mentions_has(ret, operand.target))
            ret->at[ret->n++] = operand;
    }
}

hs_addr hs_ocaml_symbol_address(const struct hs_ocaml *rt, const char *name)
{
    struct hs_live_symbol symbol;
    return hs_objects_find(rt->objects, name, &symbol) ? symbol.address : 0;
}

bool hs_ocaml_words_at(const struct hs_ocaml *rt, hs_addr address, uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!hs_image_u64(rt->image, address + i * HS_WORD, &words[i]))
            return false;
    }
    return true;
}

bool hs_ocaml_may_point(const struct hs_ocaml *rt, uint64_t word)
{
    if (word == 0)
        return true;
    const struct hs_mapping *mapping = hs_target_mapping_at(rt->target, word);
    return word % HS_WORD == 0 && mapping != NULL && mapping->readable;
}
