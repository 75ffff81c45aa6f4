/* GLib's containers: tables, arrays of pointers, growing texts. None says what it is, but what one
 * consists of has to fit together, number by number. Layouts of GLib 2.74 and 2.84, where they are
 * the same; none is public but GString's.
 *
 *   GHashTable   gsize size; int mod; uint mask, nnodes, noccupied, flags; keys, hashes, values;
 *                hash_func, key_equal_func; int ref, version; two functions to destroy
 *   GPtrArray    pdata; uint len, alloc; int ref; a bit, the others old; function to free
 *   GString      str; gsize len, allocated_len
 *
 * Sources: glib/ghash.c (struct _GHashTable, g_hash_table_setup_storage), garray.c (struct
 * _GRealPtrArray, g_ptr_array_maybe_expand), gstring.h. */
#include "base/alloc.h"
#include "base/load.h"
#include "heaps/allocator.h"

enum {
    TABLE_BYTES = 96,
    ARRAY_BYTES = 32,
    STRING_BYTES = 24,
    SLACK_BYTES = 16, /* of arrays: what allocators give beyond what they are asked for */
    LEAST_TABLE = 8,
    LEAST_ARRAY = 2,
    MOST_REFERENCES = 1 << 24,
};

enum container { CONTAINER_TABLE, CONTAINER_ARRAY, CONTAINER_STRING, N_CONTAINERS };
static const struct {
    const char *name;
    unsigned n_bytes, most_bytes; /* of a block: malloc gives 8 more, and 16 that would be left */
} containers[N_CONTAINERS] = {
    [CONTAINER_TABLE] = {"GHashTable", TABLE_BYTES, 120},
    [CONTAINER_ARRAY] = {"GPtrArray", ARRAY_BYTES, 56},
    [CONTAINER_STRING] = {"GString", STRING_BYTES, 40},
};

struct gcontainers {
    const struct hs_process_copy *process; /* borrowed */
    const struct hs_heap_map *map;         /* borrowed; NULL: not yet */
    hs_addr code;                          /* of the library */
    hs_str names[N_CONTAINERS];
};

static void gcontainers_close(void *state)
{
    hs_free(state);
}

static hs_status gcontainers_open(const struct hs_process_copy *process, void **ret_state,
                                  struct hs_error *err)
{
    struct hs_live_symbol symbol;
    struct gcontainers *g;

    if (process->objects == NULL || !hs_objects_find(process->objects, "g_hash_table_new", &symbol))
        return HS_OK;
    HS_TRY(HS_ALLOC(&g, 1, err));
    *g = (struct gcontainers){.process = process, .code = symbol.address};
    *ret_state = g;
    return HS_OK;
}

static hs_status gcontainers_look(void *state, const struct hs_heap_map *map, struct hs_error *err)
{
    struct gcontainers *g = state;

    for (size_t i = 0; i < N_CONTAINERS; i++)
        HS_TRY(hs_strtab_add(g->process->findings->strings, containers[i].name, &g->names[i], err));
    g->map = map;
    return HS_OK;
}

/* ---- what fits */

static bool is_power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* Does a block begin there that has room for n things of `each` bytes, and for not many more? */
static bool has_room(const struct gcontainers *g, hs_addr address, uint64_t n, uint64_t each)
{
    struct hs_heap_block block;

    return n <= UINT32_MAX && hs_heap_map_resolve(g->map, address, &block) == HS_POINTER_START &&
           block.n_bytes >= n * each && block.n_bytes <= n * each + n * each / 4 + SLACK_BYTES;
}

static bool is_function(const struct gcontainers *g, hs_addr address)
{
    const struct hs_mapping *mapping = hs_target_mapping_at(g->process->target, address);
    return mapping != NULL && mapping->executable;
}

static bool may_be_function(const struct gcontainers *g, hs_addr address)
{
    return address == 0 || is_function(g, address);
}

static bool is_referenced(const uint8_t *at)
{
    uint32_t n = hs_load_u32(at);
    return n != 0 && n <= MOST_REFERENCES;
}

/* Keys and values that all fit into 32 bits take so many; a set has its values where its keys are.
 */
static bool is_table(const struct gcontainers *g, const uint8_t *b)
{
    enum { BIG_KEYS = 1, BIG_VALUES = 2 };
    uint64_t size = hs_load_u64(b), keys = hs_load_u64(b + 32), values = hs_load_u64(b + 48);
    uint32_t mod = hs_load_u32(b + 8), n_nodes = hs_load_u32(b + 16);
    uint32_t n_occupied = hs_load_u32(b + 20), flags = hs_load_u32(b + 24);

    if (size < LEAST_TABLE || size > UINT32_MAX || !is_power_of_two(size) ||
        hs_load_u32(b + 12) != size - 1 || mod == 0 || mod > size || n_occupied > size ||
        n_nodes > n_occupied || !is_referenced(b + 72))
        return false;
    return has_room(g, keys, size, (flags & BIG_KEYS) != 0 ? 8 : 4) &&
           has_room(g, hs_load_u64(b + 40), size, 4) &&
           (values == keys || has_room(g, values, size, (flags & BIG_VALUES) != 0 ? 8 : 4)) &&
           is_function(g, hs_load_u64(b + 56)) && may_be_function(g, hs_load_u64(b + 64)) &&
           may_be_function(g, hs_load_u64(b + 80)) && may_be_function(g, hs_load_u64(b + 88));
}

static bool is_array(const struct gcontainers *g, const uint8_t *b)
{
    uint32_t n = hs_load_u32(b + 8), n_room = hs_load_u32(b + 12);

    return n_room >= LEAST_ARRAY && is_power_of_two(n_room) && n <= n_room &&
           is_referenced(b + 16) && may_be_function(g, hs_load_u64(b + 24)) &&
           has_room(g, hs_load_u64(b), n_room, HS_WORD_BYTES);
}

/* The text ends just where its length says. */
static bool is_string(const struct gcontainers *g, const uint8_t *b)
{
    uint64_t length = hs_load_u64(b + 8), n_room = hs_load_u64(b + 16);
    struct hs_heap_block text;

    return length < n_room && (is_power_of_two(n_room) || n_room == length + 1) &&
           has_room(g, hs_load_u64(b), n_room, 1) &&
           hs_heap_map_resolve(g->map, hs_load_u64(b), &text) == HS_POINTER_START &&
           text.bytes != NULL && text.bytes[length] == '\0' &&
           (length == 0 || text.bytes[length - 1] != '\0');
}

static bool is_container(const struct gcontainers *g, const uint8_t *bytes, enum container which)
{
    return which == CONTAINER_TABLE   ? is_table(g, bytes)
           : which == CONTAINER_ARRAY ? is_array(g, bytes)
                                      : is_string(g, bytes);
}

/* Reads how many elements a table or an array has, and for how many it has room. */
static void count(const uint8_t *b, enum container which, struct hs_object_name *ret)
{
    ret->is_counted = which != CONTAINER_STRING;
    ret->entries = hs_load_u32(which == CONTAINER_TABLE ? b + 16 : b + 8);
    ret->room = which == CONTAINER_TABLE ? hs_load_u64(b) : hs_load_u32(b + 12);
}

static bool gcontainers_name(const void *state, const struct hs_heap_block *block,
                             struct hs_object_name *ret)
{
    const struct gcontainers *g = state;

    for (size_t i = 0; g->map != NULL && i < N_CONTAINERS; i++) {
        if (block->n_bytes < containers[i].n_bytes || block->n_bytes > containers[i].most_bytes)
            continue;
        if (block->bytes == NULL || !is_container(g, block->bytes, (enum container)i))
            continue;
        *ret = (struct hs_object_name){
            .name = g->names[i], .n_bytes = containers[i].n_bytes, .code = g->code};
        count(block->bytes, (enum container)i, ret);
        return true;
    }
    return false;
}

const struct hs_allocator hs_allocator_gcontainers = {
    .name = "gcontainers",
    .open = gcontainers_open,
    .close = gcontainers_close,
    .has_no_blocks = true,
    .look = gcontainers_look,
    .object_name = gcontainers_name,
};
