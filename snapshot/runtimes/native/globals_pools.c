/* Words without a name of one static object are one root. Where code tells nothing of objects, many
 * words that stand close together are one: a pool, an array, a table.
 *
 * Limit: there, variables that stand as close and that no function with a name mentions are in it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "globals.h"

/* The most words that stay alone, as many as a set of owners may have and still be an answer; and
 * the most bytes between two words of one object. */
enum { POOL_MOST_ALONE = 8, POOL_MOST_APART_BYTES = 256 };

struct pools {
    struct hs_native *native;       /* borrowed */
    const struct hs_object *object; /* borrowed */
    struct hs_error *err;
};

bool hs_native_is_nameless(const struct hs_native *native, const struct hs_root_leaf *leaf)
{
    bool is_local = leaf->root.kind == HS_ROOT_TLS;
    hs_str name = is_local ? leaf->root.name : leaf->root.symbol;

    return (leaf->root.kind == HS_ROOT_GLOBAL || (is_local && leaf->root.symbol == 0)) &&
           leaf->group_variable == 0 && name != 0 &&
           hs_root_is_place(hs_strtab_get(&native->dump->strings, name));
}

/* Tells whether a symbol stands in (from, to]. */
static bool is_parted(const struct pools *p, hs_addr from, hs_addr to)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(hs_native_symbols(p->object), &n);
    size_t next = HS_FIRST_ABOVE(symbols, n, vaddr, from - p->object->bias);

    return next < n && symbols[next].vaddr <= to - p->object->bias;
}

/* Tells whether `leaf` is a word of the object that the one before it is of. One that code mentions
 * by its own address begins another. */
static bool goes_on(const struct pools *p, const struct hs_root_leaf *before,
                    const struct hs_root_leaf *leaf)
{
    if (!hs_native_is_nameless(p->native, leaf) || leaf->root.symbol != before->root.symbol ||
        leaf->root.address <= before->root.address)
        return false;
    if (before->object != 0 || leaf->object != 0)
        return before->object == leaf->object;
    return leaf->root.kind == HS_ROOT_GLOBAL && leaf->root.function == 0 &&
           leaf->root.address - before->root.address <= POOL_MOST_APART_BYTES &&
           !is_parted(p, before->root.address, leaf->root.address);
}

/* Makes words slots of one variable, ".bss+0x40 to +0x7c8". Each keeps its own name. */
static hs_status fold(const struct pools *p, struct hs_root_leaf *leaves, size_t n)
{
    const char *name = hs_strtab_get(&p->native->dump->strings, leaves[0].root.name);
    const char *last = hs_strtab_get(&p->native->dump->strings, leaves[n - 1].root.name);
    const char *end = strrchr(last, '+');
    hs_addr begin = leaves[0].root.address;
    hs_str pool;

    HS_TRY(hs_native_name(p->native, &pool, p->err, "%s%s to %s", name,
                          strchr(name, '+') == NULL ? "+0x0" : "", end != NULL ? end : last));
    for (size_t i = 0; i < n; i++) {
        leaves[i].group_variable = pool;
        leaves[i].root.offset = leaves[i].root.address - begin;
        leaves[i].root.function = leaves[0].root.function;
    }
    return HS_OK;
}

hs_status hs_native_fold_pools(struct hs_native *native, size_t object, size_t first,
                               struct hs_error *err)
{
    const struct pools p = {native, &native->dump->objects.objects[object], err};
    struct hs_root_leaf *leaves = native->roots.leaves;

    for (size_t i = first, end; i < native->roots.n_leaves; i = end) {
        end = i + 1;
        if (!hs_native_is_nameless(native, &leaves[i]))
            continue;
        while (end < native->roots.n_leaves && goes_on(&p, &leaves[end - 1], &leaves[end]))
            end++;
        if (end - i > (leaves[i].object != 0 ? 1 : POOL_MOST_ALONE))
            HS_TRY(fold(&p, &leaves[i], end - i));
    }
    return HS_OK;
}
