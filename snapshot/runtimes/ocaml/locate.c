/* Finds the runtime of an OCaml native program in a stopped target; that of OCaml 5 by
 * v5/locate.c.
 *
 * Offsets in OCaml 4.13 and 4.14: Caml_state is a struct of 8-byte fields in the order of
 * caml/domain_state.tbl (4.13.1 and 4.14.2 agree in the fields used here). A heap chunk has its
 * head below its first block (caml/major_gc.h heap_chunk_head; memory.c caml_add_to_heap keeps the
 * list in address order):
 *
 *   4.13   block  alloc      SIZE  NEXT  redarken_start  redarken_end                     | blocks
 *   4.14   block  allocated  SIZE  NEXT  redarken_first.start  .end  redarken_end         | blocks
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "locate.h"
#include "symbols/elf.h"
#include "v5/ocaml5.h"

enum {
    STATE_YOUNG_PTR = 1,
    STATE_YOUNG_START = 4,
    STATE_YOUNG_END = 5,
    STATE_YOUNG_ALLOC_START = 6,
    STATE_YOUNG_ALLOC_END = 7,
    STATE_HEAP_WSZ = 42,
    STATE_HEAP_CHUNKS = 46,
    STATE_WORDS = 52
};

enum { CHUNK_HEAD_4_13 = 6, CHUNK_HEAD_4_14 = 7, CHUNKS_MAX = 1 << 24 };

static hs_status locate_not_started(const struct hs_ocaml *rt, struct hs_error *err)
{
    (void)hs_fail(err, HS_TARGET, "the OCaml runtime of '%s' has not started yet",
                  rt->objects->objects[0].name);
    return hs_hint(err, "try again in a moment");
}

static bool locate_state_word(const struct hs_ocaml *rt, unsigned index, uint64_t *ret)
{
    return hs_image_u64(rt->image, rt->state + (uint64_t)index * HS_WORD, ret);
}

/* The most bytes taken off young_ptr by an allocation that finds no room, until the runtime that is
 * called for it puts it back (caml_alloc_small_dispatch, runtime/minor_gc.c): at most a block of
 * Max_young_wosize words and its header lie below the minor heap meanwhile. Whether that is a good
 * moment is not asked here. */
enum { YOUNG_TAKEN_BYTES = 257 * HS_WORD };

static bool locate_young_is_sane(const struct hs_ocaml *rt)
{
    uint64_t all = rt->young_start | rt->young_end | rt->young_alloc_start | rt->young_alloc_end |
                   rt->young_ptr;

    return all % HS_WORD == 0 && all < HS_USER_END && rt->young_start != 0 &&
           rt->young_start <= rt->young_alloc_start &&
           rt->young_alloc_start <= rt->young_ptr + YOUNG_TAKEN_BYTES &&
           rt->young_ptr <= rt->young_alloc_end && rt->young_alloc_end <= rt->young_end;
}

static hs_status locate_state(struct hs_ocaml *rt, struct hs_error *err)
{
    if (!hs_ocaml_symbol_word(rt, "Caml_state", &rt->state))
        return hs_fail(err, HS_TARGET, "the runtime state of '%s' cannot be read",
                       rt->objects->objects[0].name);
    if (rt->state == 0)
        return locate_not_started(rt, err);
    if (rt->state % HS_WORD != 0 || rt->state >= HS_USER_END)
        return hs_fail(err, HS_TARGET, "the runtime state at %#llx is not sane",
                       (unsigned long long)rt->state);
    HS_TRY(hs_image_copy(rt->image, rt->target, rt->state, rt->state + STATE_WORDS * HS_WORD, err));
    if (!locate_state_word(rt, STATE_YOUNG_PTR, &rt->young_ptr) ||
        !locate_state_word(rt, STATE_YOUNG_START, &rt->young_start) ||
        !locate_state_word(rt, STATE_YOUNG_END, &rt->young_end) ||
        !locate_state_word(rt, STATE_YOUNG_ALLOC_START, &rt->young_alloc_start) ||
        !locate_state_word(rt, STATE_YOUNG_ALLOC_END, &rt->young_alloc_end) ||
        !locate_state_word(rt, STATE_HEAP_WSZ, &rt->heap_words) ||
        !locate_state_word(rt, STATE_HEAP_CHUNKS, &rt->heap_chunks))
        return hs_fail(err, HS_TARGET, "the runtime state at %#llx cannot be read",
                       (unsigned long long)rt->state);
    if (rt->young_start == 0 || rt->heap_words == 0)
        return locate_not_started(rt, err);
    if (!locate_young_is_sane(rt)) {
        (void)hs_fail(err, HS_TARGET, "the minor heap of '%s' has impossible bounds",
                      rt->objects->objects[0].name);
        return hs_hint(err, "its runtime may be modified, or its memory damaged");
    }
    if (rt->young_ptr < rt->young_alloc_start) /* what lies there is not known */
        rt->young_ptr = rt->young_alloc_end;
    return HS_OK;
}

/* Reads the chunk at `chunk` under a layout, and copies its head. *ret_sane is false when it is not
 * sane. */
static hs_status locate_chunk(struct hs_ocaml *rt, hs_addr chunk, unsigned head_words,
                              uint64_t *ret_bytes, hs_addr *ret_next, bool *ret_sane,
                              struct hs_error *err)
{
    *ret_sane = false;
    if (chunk % HS_WORD != 0 || chunk >= HS_USER_END || chunk < CHUNK_HEAD_4_14 * HS_WORD)
        return HS_OK;
    hs_addr head = chunk - (uint64_t)head_words * HS_WORD;
    HS_TRY(hs_image_copy(rt->image, rt->target, head, chunk, err));
    *ret_sane = hs_image_u64(rt->image, head + 2 * HS_WORD, ret_bytes) &&
                hs_image_u64(rt->image, head + 3 * HS_WORD, ret_next) && *ret_bytes != 0 &&
                *ret_bytes % HS_WORD == 0 && *ret_bytes < HS_USER_END - chunk &&
                (*ret_next == 0 || *ret_next > chunk + *ret_bytes);
    return HS_OK;
}

/* Reads the list of chunks, strictly ascending (so it cannot cycle or overlap), under one layout.
 */
static hs_status locate_chunks(struct hs_ocaml *rt, hs_addr first, unsigned head_words,
                               uint64_t *ret_words, bool *ret_sane, struct hs_error *err)
{
    hs_addr chunk = first;
    uint64_t words = 0;
    bool sane = true;

    rt->chunks.n = 0;
    for (uint64_t i = 0; chunk != 0 && sane; i++) {
        uint64_t n_bytes = 0;
        hs_addr next = 0;
        HS_TRY(locate_chunk(rt, chunk, head_words, &n_bytes, &next, &sane, err));
        if (!sane || i == CHUNKS_MAX) {
            sane = false;
            break;
        }
        HS_TRY(hs_spans_add(&rt->chunks, chunk, chunk + n_bytes, err));
        words += n_bytes / HS_WORD;
        chunk = next;
    }
    *ret_words = words;
    *ret_sane = sane && rt->chunks.n != 0;
    return HS_OK;
}

/* Finds the chunks by the layout under which they add up to stat_heap_wsz; the symbols' opinion
 * goes first, and is taken when neither does (then the proof fails, and the snapshot says so). */
static hs_status locate_heap(struct hs_ocaml *rt, unsigned minor, struct hs_error *err)
{
    const unsigned layouts[2] = {minor == 14 ? CHUNK_HEAD_4_14 : CHUNK_HEAD_4_13,
                                 minor == 14 ? CHUNK_HEAD_4_13 : CHUNK_HEAD_4_14};
    hs_addr first;
    uint64_t words;
    bool sane;

    if (!hs_ocaml_symbol_word(rt, "caml_heap_start", &first))
        return hs_fail(err, HS_TARGET, "the major heap of '%s' was not found",
                       rt->objects->objects[0].name);
    for (unsigned i = 0; i < 3; i++) {
        rt->chunk_head_words = layouts[i % 2];
        HS_TRY(locate_chunks(rt, first, rt->chunk_head_words, &words, &sane, err));
        if (sane && (words == rt->heap_words || i == 2))
            break;
    }
    if (!sane || rt->chunks.n == 0) {
        (void)hs_fail(err, HS_TARGET, "the list of heap chunks of '%s' is damaged",
                      rt->objects->objects[0].name);
        return hs_hint(err, "its runtime may be modified, or its memory damaged");
    }
    HS_TRY(hs_findings_proof(&rt->findings, "ocaml heap: chunks, by the runtime's count",
                             rt->heap_chunks, rt->chunks.n, err));
    HS_TRY(hs_findings_proof(&rt->findings,
                             "ocaml heap: words of the chunks, by the runtime's count",
                             rt->heap_words, words, err));
    if (words != rt->heap_words)
        HS_TRY(hs_findings_note(&rt->findings, true, err,
                                "the heap's chunks hold %llu words but the runtime counts %llu",
                                (unsigned long long)words, (unsigned long long)rt->heap_words));
    return HS_OK;
}

static bool locate_is_supported(const struct hs_ocaml *rt)
{
    static const char *const versions[] = {"5.1", "5.2", "5.3", "5.4", "4.13", "4.14"};
    size_t first = rt->five != NULL ? 0 : 4, end = rt->five != NULL ? 4 : 6;

    for (size_t i = first; i < end; i++) {
        size_t n = strlen(versions[i]);
        if (strncmp(rt->version, versions[i], n) == 0 && !isdigit((unsigned char)rt->version[n]))
            return true;
    }
    return false;
}

/* Refuses what the symbols could not tell apart but the program states itself. */
static hs_status locate_version(struct hs_ocaml *rt, struct hs_error *err)
{
    if (!hs_ocaml_stated_version(rt, rt->version, sizeof rt->version)) {
        if (rt->five != NULL)
            snprintf(rt->version, sizeof rt->version, "5.%u", rt->five->layout.minor);
        else
            snprintf(rt->version, sizeof rt->version, "%s",
                     rt->chunk_head_words == CHUNK_HEAD_4_14 ? "4.14" : "4.13");
        return HS_OK;
    }
    if (locate_is_supported(rt))
        return HS_OK;
    (void)hs_fail(err, HS_TARGET, "'%s' is an OCaml %s program", rt->objects->objects[0].name,
                  rt->version);
    return hs_hint(err, HS_OCAML_SUPPORTED);
}

hs_status hs_ocaml_locate(struct hs_ocaml *rt, struct hs_error *err)
{
    unsigned minor;

    if (rt->objects->n == 0)
        return hs_fail(err, HS_TARGET, "the program has no file that can be read");
    HS_TRY(hs_objects_copy_data(rt->objects, rt->image, rt->target, err));
    HS_TRY(hs_ocaml_recognise_runtime(rt, &minor, err));
    rt->is_bytecode = hs_ocaml_is_bytecode(rt->objects);
    if (minor == 0) {
        HS_TRY(hs_ocaml5_locate(rt, err));
    } else {
        HS_TRY(locate_state(rt, err));
        HS_TRY(locate_heap(rt, minor, err));
    }
    HS_TRY(locate_version(rt, err));
    if (!hs_ocaml_symbol_word(rt, "caml_ephe_none", &rt->ephe_none))
        HS_TRY(hs_findings_note(&rt->findings, true, err,
                                "the mark of empty ephemeron slots was not found"));
    return hs_ocaml_find_segments(rt, err);
}

hs_status hs_ocaml_copy_heap(struct hs_ocaml *rt, struct hs_error *err)
{
    if (rt->five != NULL)
        return hs_ocaml5_copy_heap(rt, err);
    for (size_t i = 0; i < rt->chunks.n; i++)
        HS_TRY(hs_image_copy(rt->image, rt->target, rt->chunks.spans[i].begin,
                             rt->chunks.spans[i].end, err));
    if (rt->young_ptr < rt->young_alloc_end)
        HS_TRY(hs_image_copy(rt->image, rt->target, rt->young_ptr, rt->young_alloc_end, err));
    return HS_OK;
}

enum hs_area hs_ocaml_area(const struct hs_ocaml *rt, hs_addr address)
{
    if (address > rt->young_start && address < rt->young_end) /* Is_young */
        return HS_AREA_YOUNG;
    if (hs_spans_find(&rt->chunks, address) != NULL)
        return HS_AREA_HEAP;
    if (address >= rt->atoms_begin && address < rt->atoms_end)
        return HS_AREA_ATOM;
    if (hs_range_set_find(&rt->statics, address) != NULL)
        return HS_AREA_STATIC;
    return HS_AREA_NONE;
}

void hs_ocaml_fini(struct hs_ocaml *rt)
{
    if (rt == NULL)
        return;
    hs_findings_fini(&rt->findings);
    hs_ocaml5_free(rt->five);
    hs_spans_fini(&rt->chunks);
    hs_range_set_fini(&rt->statics);
    hs_range_set_fini(&rt->code);
    *rt = (struct hs_ocaml){0};
}
