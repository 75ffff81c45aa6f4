/* Finds the variables of tcmalloc by what they hold. */
#include "base/alloc.h"
#include "base/load.h"
#include "data_words.h"
#include "tcmalloc/parts.h"

/* The sizes of classes 1 to 6 as words: the table begins in the middle of one. */
#define PAIR(low, high) ((uint64_t)(high) << 32 | (low))

/* Offsets from the table of sizes (SizeMap). */
enum { SIZES_PAGES = 516, SIZES_NUMBER = SIZES_PAGES + 1024 };

/* A class of the central lists takes so many bytes, at least and at most. */
enum { CENTRAL_LEAST = 1152, CENTRAL_MOST = 1408, CENTRAL_STEP = 64 };

enum { CACHE_LINKS = 32 };

/* Words of what may be leaves, which are full of zeros at first. */
#define LOCATE_EFFORT ((uint64_t)1 << 24)

/* Ascending sizes up to the largest; their number stands behind the table, from 2.11 on one word
 * later. */
static bool locate_sizes(struct tcmalloc *tcmalloc, hs_addr second)
{
    const struct hs_image *image = tcmalloc->process->image;
    const hs_addr table = second - 4;
    uint64_t next, after, number = 0;
    uint32_t size = 0;
    unsigned n = 0;

    if (!hs_image_u64(image, second + 8, &next) || !hs_image_u64(image, second + 16, &after) ||
        next != PAIR(32, 48) || after != PAIR(64, 80))
        return false;
    for (; n < TCMALLOC_CLASSES && size < TCMALLOC_LARGEST; n++) {
        if (!hs_image_u32(image, table + n * 4, &size) || size % 8 != 0 ||
            (n == 0 ? size != 0 : size <= tcmalloc->class_bytes[n - 1]))
            return false;
        tcmalloc->class_bytes[n] = size;
    }
    for (unsigned i = 0; i < 2 && number != n; i++)
        if (!hs_image_u64(image, table + SIZES_NUMBER + i * HS_WORD_BYTES, &number))
            return false;
    if (size != TCMALLOC_LARGEST || number != n)
        return false;
    tcmalloc->sizes = table;
    tcmalloc->n_classes = n;
    return true;
}

static void locate_library(struct tcmalloc *tcmalloc, const struct hs_object *object)
{
    struct hs_data_words words = {.process = tcmalloc->process, .object = object};
    hs_addr address;
    uint64_t word;

    while (tcmalloc->sizes == 0 && hs_data_words_next(&words, &address, &word))
        if (word == PAIR(8, 16) && locate_sizes(tcmalloc, address))
            tcmalloc->object = object;
}

/* ---- the page map */

/* The first word of a leaf that is not zero; false: there is none. */
static bool locate_first_word(const struct hs_image *image, hs_addr leaf, uint64_t *effort,
                              hs_addr *ret_at, uint64_t *ret_word)
{
    hs_addr part, part_end = leaf;

    while (hs_image_next_present(image, part_end, leaf + TCMALLOC_LEAF_BYTES, &part, &part_end)) {
        const uint8_t *bytes = hs_image_bytes(image, part, part_end - part);
        uint64_t n = bytes == NULL ? 0 : (part_end - part) / HS_WORD_BYTES;
        for (uint64_t i = 0; i < n && *effort != 0; i++, --*effort)
            if (hs_load_u64(bytes + i * HS_WORD_BYTES) != 0) {
                *ret_at = part + i * HS_WORD_BYTES;
                *ret_word = hs_load_u64(bytes + i * HS_WORD_BYTES);
                return true;
            }
    }
    return false;
}

/* Does the first word lead to a span that has the word's page? Which page that is says the span. */
static bool locate_is_leaf(const struct tcmalloc *tcmalloc, hs_addr leaf, uint64_t *effort,
                           uint64_t *ret_page)
{
    struct tcmalloc_span span;
    uint64_t word;
    hs_addr at;

    if (!locate_first_word(tcmalloc->process->image, leaf, effort, &at, &word) ||
        !hs_tcmalloc_span(tcmalloc, word, &span))
        return false;
    uint64_t first = span.begin >> TCMALLOC_PAGE_SHIFT;
    uint64_t behind = ((at - leaf) / HS_WORD_BYTES - first) & (TCMALLOC_LEAF_PAGES - 1);
    *ret_page = first + behind;
    return behind < (span.end - span.begin) >> TCMALLOC_PAGE_SHIFT;
}

/* A word that leads to a leaf says by the leaf's spans which word of the root it is. */
static void locate_root(struct tcmalloc *tcmalloc)
{
    struct hs_data_words words = {.process = tcmalloc->process, .object = tcmalloc->object};
    hs_addr address;
    uint64_t word, page, effort = LOCATE_EFFORT;

    while (tcmalloc->root == 0 && hs_data_words_next(&words, &address, &word)) {
        if (word < TCMALLOC_PAGE || word % HS_WORD_BYTES != 0 || word >= HS_USER_END ||
            !locate_is_leaf(tcmalloc, word, &effort, &page))
            continue;
        uint64_t number = page >> TCMALLOC_LEAF_SHIFT;
        if (number < TCMALLOC_LEAVES && number * HS_WORD_BYTES <= address - tcmalloc->object->begin)
            tcmalloc->root = address - number * HS_WORD_BYTES;
    }
}

/* ---- central lists */

static bool locate_is_central(const struct tcmalloc *tcmalloc, hs_addr first, uint64_t n_bytes)
{
    uint64_t number;

    for (unsigned i = 1; i < tcmalloc->n_classes; i++)
        if (!hs_image_u64(tcmalloc->process->image, first + (i - 1) * n_bytes, &number) ||
            number != i)
            return false;
    return true;
}

static void locate_central(struct tcmalloc *tcmalloc)
{
    struct hs_data_words words = {.process = tcmalloc->process, .object = tcmalloc->object};
    hs_addr address;
    uint64_t word;

    while (tcmalloc->central == 0 && hs_data_words_next(&words, &address, &word))
        for (uint64_t n = CENTRAL_LEAST; word == 1 && n <= CENTRAL_MOST; n += CENTRAL_STEP)
            if (locate_is_central(tcmalloc, address, n)) {
                tcmalloc->central = address;
                tcmalloc->central_bytes = n;
            }
}

/* ---- caches of threads */

static bool locate_is_cache(const struct tcmalloc *tcmalloc, hs_addr address)
{
    const uint8_t *bytes =
        address % HS_WORD_BYTES != 0 || address >= HS_USER_END
            ? NULL
            : hs_image_bytes(tcmalloc->process->image, address, TCMALLOC_CACHE_BYTES);

    for (unsigned i = 0; bytes != NULL && i < tcmalloc->n_classes; i++)
        if (hs_load_u32(bytes + i * TCMALLOC_LIST_BYTES + 24) != tcmalloc->class_bytes[i])
            return false;
    return bytes != NULL;
}

static hs_status locate_add_cache(struct tcmalloc *tcmalloc, hs_addr address, struct hs_error *err)
{
    const uint64_t hash = hs_hash(address);

    if (!locate_is_cache(tcmalloc, address) ||
        HS_TABLE_FIND(&tcmalloc->known_caches, hash, i, tcmalloc->caches[i] == address) !=
            HS_NO_NUMBER)
        return HS_OK;
    HS_TRY(HS_GROW(&tcmalloc->caches, &tcmalloc->caches_capacity, tcmalloc->n_caches + 1, err));
    HS_TRY(hs_table_add(&tcmalloc->known_caches, hash, tcmalloc->n_caches, err));
    tcmalloc->caches[tcmalloc->n_caches++] = address;
    return HS_OK;
}

/* A variable leads to the first, each to the next: a few words behind its lists. */
static hs_status locate_caches(struct tcmalloc *tcmalloc, struct hs_error *err)
{
    struct hs_data_words words = {.process = tcmalloc->process, .object = tcmalloc->object};
    hs_addr address;
    uint64_t word;

    while (hs_data_words_next(&words, &address, &word))
        if (word >= TCMALLOC_PAGE)
            HS_TRY(locate_add_cache(tcmalloc, word, err));
    for (size_t i = 0; i < tcmalloc->n_caches; i++)
        for (unsigned k = 0; k < CACHE_LINKS; k++)
            if (hs_image_u64(tcmalloc->process->image,
                             tcmalloc->caches[i] + TCMALLOC_CACHE_BYTES + k * HS_WORD_BYTES,
                             &word) &&
                word >= TCMALLOC_PAGE)
                HS_TRY(locate_add_cache(tcmalloc, word, err));
    return HS_OK;
}

hs_status hs_tcmalloc_locate(struct tcmalloc *tcmalloc, struct hs_error *err)
{
    const struct hs_objects *objects = tcmalloc->process->objects;

    for (size_t i = 0; objects != NULL && i < objects->n && tcmalloc->sizes == 0; i++)
        locate_library(tcmalloc, &objects->objects[i]);
    if (tcmalloc->sizes == 0)
        return HS_OK;
    locate_root(tcmalloc);
    if (tcmalloc->root == 0)
        return HS_OK;
    locate_central(tcmalloc);
    return locate_caches(tcmalloc, err);
}
