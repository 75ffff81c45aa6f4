/* The C static variables of OCaml 5: the atoms, and what ended domains have left behind.
 *
 *   atoms[256]:     read-only headers of blocks of no words: 3 << 8 | tag (shared_heap.c)
 *   pool_freelist:  {mutex, free, stats, avail[32], full[32], large}   caml_accum_orphan_heap_stats
 *                   locks the mutex and takes the address of stats
 *   orph_structs:   {ephe_list_live, final_info}   major_gc.c: one function that hands over
 *                   ephemerons uses the first word, another for finalisers the second */

#include "base/load.h"
#include "mentions.h"
#include "ocaml5.h"
#include "symbols/elf.h"

enum { ATOMS = 256, NOT_MARKABLE = 3, POOL_CLASS = 3, FREELIST_LISTS = 14, N_CLASSES = 32 };
enum { WINDOW_BYTES = 1 << 15, SEARCHED_BYTES_MAX = 1 << 30 };

static bool statics_are_atoms(const uint8_t *bytes)
{
    for (uint64_t i = 0; i < ATOMS; i++) {
        uint64_t word = hs_load_u64(bytes + i * HS_WORD);
        if (word != (NOT_MARKABLE << 8 | i))
            return false;
    }
    return true;
}

/* Looks for the atoms in windows of the segment, each of which begins where the atoms may begin
 * that did not fit before. */
static bool statics_atoms_in(struct hs_elf *elf, const struct hs_elf_segment *segment,
                             hs_addr *ret_vaddr)
{
    uint8_t window[WINDOW_BYTES];
    uint64_t at = -segment->vaddr & (HS_WORD - 1);

    while (at < segment->n_file_bytes) {
        size_t n_bytes = hs_elf_copy_at(elf, segment->vaddr + at, window, sizeof window), k = 0;
        for (; k + ATOMS * HS_WORD <= n_bytes; k += HS_WORD) {
            if (window[k + 1] == NOT_MARKABLE && statics_are_atoms(window + k)) {
                *ret_vaddr = segment->vaddr + at + k;
                return true;
            }
        }
        if (n_bytes < sizeof window)
            break; /* the last one */
        at += k;
    }
    return false;
}

/* Finds the atoms: the first place that is like them in the read-only data of the object that has
 * caml_atom. */
static hs_addr statics_atoms(const struct hs_ocaml *rt)
{
    struct hs_live_symbol symbol;
    uint64_t n_left = SEARCHED_BYTES_MAX;
    size_t n_segments;
    hs_addr vaddr;

    if (!hs_objects_find(rt->objects, "caml_atom", &symbol))
        return 0;
    const struct hs_elf_segment *segments = hs_elf_segments(symbol.object->elf, &n_segments);
    for (size_t i = 0; i < n_segments; i++) {
        if (segments[i].writable || segments[i].n_file_bytes > n_left)
            continue;
        n_left -= segments[i].n_file_bytes;
        if (statics_atoms_in(symbol.object->elf, &segments[i], &vaddr))
            return symbol.object->bias + vaddr;
    }
    return 0;
}

static bool statics_is_freelist(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t lists[2 * N_CLASSES + 1];

    if (!hs_ocaml_words_at(rt, address + FREELIST_LISTS * HS_WORD, lists, 2 * N_CLASSES + 1))
        return false;
    for (size_t i = 0; i < 2 * N_CLASSES + 1; i++) {
        if (!hs_ocaml_may_point(rt, lists[i]))
            return false;
    }
    return true;
}

static hs_addr statics_freelist(const struct hs_ocaml *rt)
{
    enum { STATS_BYTES = 6 * HS_WORD };
    hs_addr address = hs_ocaml_symbol_address(rt, "pool_freelist");
    struct hs_mentions m;

    if (address != 0 && statics_is_freelist(rt, address))
        return address;
    hs_mentions_harvest(rt, "caml_accum_orphan_heap_stats", &m);
    for (size_t i = 0; i < m.n; i++) {
        if (hs_mentions_has(&m, m.at[i].target + STATS_BYTES) &&
            statics_is_freelist(rt, m.at[i].target))
            return m.at[i].target;
    }
    return 0;
}

static bool statics_is_orphans(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t words[2];
    return address != 0 && hs_ocaml_words_at(rt, address, words, 2) &&
           hs_ocaml_may_point(rt, words[0]) && hs_ocaml_may_point(rt, words[1]);
}

static hs_addr statics_orphans(const struct hs_ocaml *rt)
{
    static const char *const users[][2] = {
        {"caml_orphan_ephemerons", "caml_orphan_finalisers"},
        {"caml_add_to_orphaned_ephe_list", "caml_add_orphaned_finalisers"}};
    hs_addr address = hs_ocaml_symbol_address(rt, "orph_structs");
    struct hs_mentions first, second;

    if (statics_is_orphans(rt, address))
        return address;
    for (size_t u = 0; u < sizeof users / sizeof *users; u++) {
        hs_mentions_harvest(rt, users[u][0], &first);
        hs_mentions_harvest(rt, users[u][1], &second);
        for (size_t i = 0; i < first.n; i++) {
            if (hs_mentions_has(&second, first.at[i].target + HS_WORD) &&
                statics_is_orphans(rt, first.at[i].target))
                return first.at[i].target;
        }
    }
    return 0;
}

hs_status hs_ocaml5_find_statics(struct hs_ocaml *rt, struct hs_error *err)
{
    hs_addr atoms = statics_atoms(rt);

    rt->five->pool_freelist = statics_freelist(rt);
    rt->five->orphans = statics_orphans(rt);
    if (atoms == 0)
        return hs_findings_note(&rt->findings, true, err, "the atom table was not found");
    rt->atoms_begin = atoms;
    rt->atoms_end = atoms + (ATOMS + 1) * HS_WORD;
    return hs_image_copy(rt->image, rt->target, rt->atoms_begin, rt->atoms_end, err);
}
