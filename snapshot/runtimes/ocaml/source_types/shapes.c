#include "shapes.h"

#include "base/alloc.h"

#define STEPS_LEAST ((uint64_t)1 << 16)
#define STEPS_EACH 16 /* for each block there is, as a mean */

enum {
    CHAIN_MOST = 64,   /* cells: what is so long is a list, however it ends */
    STACK_MOST = 4096, /* cells that are counted: many pairs are of a list and a number */
    STACK_LEAST = 4,   /* of a list that is one by itself */
    QUEUE_LEAST = 2,
    BUCKETS_MOST = 256,  /* that are looked at */
    BUCKETS_LEAST = 16,  /* hashtbl.ml, power_2_above */
    SEED_HEIGHT = 2,     /* of a single node the numbers say too little */
    HEIGHT_MOST = 47,    /* of a tree of 2^26 nodes at the worst, of 2^40 as a rule */
    HEIGHT_SLACK = 2,    /* map.ml, bal */
    EMPTY = 1,           /* [], Empty, Nil: the integer 0 */
    NOTHING = UINT8_MAX, /* a field of which nothing is known */
};

/* The kinds that a block without a type may be, by its own fields at first. Of a chain of cells:
 * how many it is, with its end; CLASS_LIST for four and more. Of trees: CLASS_SET or CLASS_MAP and
 * the height, and CLASS_SOUND when that of the subtrees agrees. */
enum {
    CLASS_NONE,
    CLASS_CELL_1,
    CLASS_CELL_2,
    CLASS_CELL_3,
    CLASS_LIST,
    CLASS_CELL,    /* of a chain that was not followed yet */
    CLASS_ENTRY_1, /* the last of its bucket */
    CLASS_ENTRY,
    CLASS_BUCKETS, /* of a table that agrees with it */
    CLASS_SET = 16,
    CLASS_MAP = CLASS_SET + HEIGHT_MOST + 1,
    CLASS_SOUND = 128,
};

/* ---- as types */

struct shape {
    const char *name;
    uint32_t size;
    enum hs_srow_kind kind;
    const char *labels[5];
    uint8_t children[5];
};

static const struct shape shapes_known[HS_N_SSHAPES] = {
    [HS_SSHAPE_LIST] = {"list-cell", 2, HS_SROW_FIELDS, {"0", "1"}, {NOTHING, HS_SSHAPE_LIST}},
    [HS_SSHAPE_MAP] = {"map-node",
                       5,
                       HS_SROW_FIELDS,
                       {"l", "v", "d", "r", "h"},
                       {HS_SSHAPE_MAP, NOTHING, NOTHING, HS_SSHAPE_MAP, NOTHING}},
    [HS_SSHAPE_SET] = {"set-node",
                       4,
                       HS_SROW_FIELDS,
                       {"l", "v", "r", "h"},
                       {HS_SSHAPE_SET, NOTHING, HS_SSHAPE_SET, NOTHING}},
    [HS_SSHAPE_TABLE] = {"hash-table",
                         4,
                         HS_SROW_FIELDS,
                         {"size", "data", "seed", "initial_size"},
                         {NOTHING, HS_SSHAPE_BUCKETS, NOTHING, NOTHING}},
    [HS_SSHAPE_BUCKETS] =
        {"hash-table-buckets", HS_STYPE_ANY_SIZE, HS_SROW_ALL, {""}, {HS_SSHAPE_ENTRY}},
    [HS_SSHAPE_ENTRY] = {"hash-table-entry",
                         3,
                         HS_SROW_FIELDS,
                         {"key", "data", "next"},
                         {NOTHING, NOTHING, HS_SSHAPE_ENTRY}},
    [HS_SSHAPE_QUEUE] = {"queue",
                         3,
                         HS_SROW_FIELDS,
                         {"length", "first", "last"},
                         {NOTHING, HS_SSHAPE_LIST, HS_SSHAPE_LIST}},
    [HS_SSHAPE_STACK] = {"stack", 2, HS_SROW_FIELDS, {"c", "len"}, {HS_SSHAPE_LIST, NOTHING}},
};

static hs_status add_children(struct hs_stables *t, const struct shape *shape, uint32_t n,
                              hs_stype first, struct hs_error *err)
{
    HS_TRY(HS_GROW(&t->children, &t->children_capacity, t->n_children + n, err));
    for (uint32_t i = 0; i < n; i++) {
        struct hs_schild child = {.type = HS_STYPE_NONE};
        if (shape->children[i] != NOTHING)
            child.type = first + shape->children[i];
        HS_TRY(hs_strtab_add(&t->strings, shape->labels[i], &child.label, err));
        t->children[t->n_children++] = child;
    }
    return HS_OK;
}

static hs_status add_shape(struct hs_stables *t, const struct shape *shape, hs_stype first,
                           struct hs_error *err)
{
    uint32_t n = shape->kind == HS_SROW_ALL ? 1 : shape->size;
    struct hs_stype_entry type = {.inner = HS_STYPE_NONE,
                                  .alias = HS_STYPE_NONE,
                                  .first_row = (uint32_t)t->n_rows,
                                  .n_rows = 1,
                                  .kind = HS_STYPE_BLOCK};
    const struct hs_srow row = {.type = (hs_stype)t->n_types,
                                .size = shape->size,
                                .kind = (uint8_t)shape->kind,
                                .number = (uint32_t)t->n_rows,
                                .children = {(uint32_t)t->n_children, n}};

    HS_TRY(hs_strtab_add(&t->strings, shape->name, &type.head, err));
    type.display = type.head;
    HS_TRY(HS_GROW(&t->types, &t->types_capacity, t->n_types + 1, err));
    HS_TRY(HS_GROW(&t->rows, &t->rows_capacity, t->n_rows + 1, err));
    HS_TRY(add_children(t, shape, n, first, err));
    t->types[t->n_types++] = type;
    t->rows[t->n_rows++] = row;
    return HS_OK;
}

hs_status hs_sshapes_add(struct hs_spush *push, struct hs_error *err)
{
    struct hs_stables *tables = push->tables;

    push->first_shape = (hs_stype)tables->n_types;
    if (tables->n_types + HS_N_SSHAPES > HS_STYPES_MAX)
        return HS_OK;
    for (unsigned i = 0; i < HS_N_SSHAPES; i++)
        HS_TRY(add_shape(tables, &shapes_known[i], push->first_shape, err));
    push->has_shapes = true;
    return HS_OK;
}

/* ---- in the heap */

hs_status hs_sshapes_open(struct hs_sshapes *s, const struct hs_spush *push,
                          const struct hs_block_map *map, struct hs_error *err)
{
    *s = (struct hs_sshapes){.push = push,
                             .map = map,
                             .first = push->first_shape,
                             .n_steps = STEPS_LEAST + STEPS_EACH * push->n_blocks};
    return HS_PAGES_ALLOC(&s->classes, push->n_blocks, err);
}

void hs_sshapes_close(struct hs_sshapes *s)
{
    hs_pages_free(s->classes, s->push->n_blocks, sizeof *s->classes);
    s->classes = NULL;
}

static uint64_t field(const uint8_t *fields, uint64_t i)
{
    return hs_load_u64(fields + i * HS_WORD);
}

/* Reads an integer of at least `least`; -1 for anything else. */
static int64_t integer(uint64_t value, int64_t least)
{
    int64_t n = (int64_t)value >> 1;
    return (value & 1) != 0 && n >= least ? n : -1;
}

static bool is_pointer(uint64_t value)
{
    return (value & 1) == 0;
}

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Returns the class of the block that a value leads to, or NULL: it leads to none, or all steps are
 * done. Nothing of that block is read. */
static uint8_t *class_at(struct hs_sshapes *s, uint64_t value, struct hs_block *ret)
{
    if (s->n_steps == 0 || !is_pointer(value))
        return NULL;
    s->n_steps--;
    if (!hs_map_resolve(s->map, value, ret) || !hs_bitmap_get(&s->map->starts, ret->bit))
        return NULL;
    return &s->classes[hs_bitmap_rank(&s->map->starts, ret->bit)];
}

static unsigned class_of(struct hs_sshapes *s, uint64_t value)
{
    struct hs_block block;
    const uint8_t *class = class_at(s, value, &block);
    return class == NULL ? CLASS_NONE : *class;
}

/* ---- by its own fields */

static unsigned class_of_tree(const uint8_t *fields, uint64_t size)
{
    uint64_t l = field(fields, 0), r = field(fields, size - 2);
    int64_t height = integer(field(fields, size - 1), 1);

    if (height < 1 || height > HEIGHT_MOST || (l != EMPTY && !is_pointer(l)) ||
        (r != EMPTY && !is_pointer(r)) || (height == 1) != (l == EMPTY && r == EMPTY))
        return CLASS_NONE;
    return (size == 4 ? CLASS_SET : CLASS_MAP) + (unsigned)height;
}

static unsigned class_of_own(const uint8_t *fields, uint64_t size)
{
    switch (size) {
    case 2:
        return field(fields, 1) == EMPTY      ? CLASS_CELL_1
               : is_pointer(field(fields, 1)) ? CLASS_CELL
                                              : CLASS_NONE;
    case 3:
        return field(fields, 2) == EMPTY      ? CLASS_ENTRY_1
               : is_pointer(field(fields, 2)) ? CLASS_ENTRY
                                              : CLASS_NONE;
    case 4:
    case 5:
        return class_of_tree(fields, size);
    default:
        return CLASS_NONE;
    }
}

/* ---- by those around it */

static bool is_cell(unsigned class)
{
    return class >= CLASS_CELL_1 && class <= CLASS_CELL;
}

static bool is_entry(unsigned class)
{
    return class == CLASS_ENTRY_1 || class == CLASS_ENTRY;
}

/* Follows a chain of cells to what is known of it, and notes for each how it ends, so that no cell
 * is followed twice. */
static void follow_chain(struct hs_sshapes *s, const struct hs_block *block, uint8_t *class)
{
    uint8_t *chain[CHAIN_MOST];
    struct hs_block at = *block;
    unsigned n = 0, end = CLASS_NONE;

    while (class != NULL && *class == CLASS_CELL && n < CHAIN_MOST) {
        chain[n++] = class;
        uint64_t next = field(hs_map_bytes(at.span, at.address), 1);
        class = class_at(s, next, &at);
    }
    if (n == CHAIN_MOST)
        end = CLASS_LIST;
    else if (class != NULL && is_cell(*class))
        end = *class;
    while (n > 0) {
        if (end != CLASS_NONE && end < CLASS_LIST)
            end++;
        *chain[--n] = (uint8_t)end;
    }
}

/* Counts the cells of a chain up to `most`; -1 when something else is in it. *ret_last is the last
 * of these. */
static int64_t count_chain(struct hs_sshapes *s, uint64_t value, int64_t most, uint64_t *ret_last)
{
    struct hs_block block;
    int64_t n = 0;

    for (; value != EMPTY && n < most; n++) {
        const uint8_t *class = class_at(s, value, &block);
        if (class == NULL || !is_cell(*class))
            return -1;
        *ret_last = value;
        value = field(hs_map_bytes(block.span, block.address), 1);
    }
    return n;
}

static bool is_stack(struct hs_sshapes *s, const uint8_t *fields)
{
    int64_t length = integer(field(fields, 1), STACK_LEAST);
    uint64_t last;

    return length > 0 && length < STACK_MOST && is_cell(class_of(s, field(fields, 0))) &&
           count_chain(s, field(fields, 0), length + 1, &last) == length;
}

static bool is_queue(struct hs_sshapes *s, const uint8_t *fields)
{
    int64_t length = integer(field(fields, 0), QUEUE_LEAST);
    uint64_t last = EMPTY;

    if (length < 0 || class_of(s, field(fields, 2)) != CLASS_CELL_1 ||
        !is_cell(class_of(s, field(fields, 1))))
        return false;
    int64_t found = count_chain(s, field(fields, 1), CHAIN_MOST, &last);
    return found == CHAIN_MOST ? length >= CHAIN_MOST : found == length && last == field(fields, 2);
}

static bool are_buckets(struct hs_sshapes *s, uint64_t value, int64_t most)
{
    struct hs_block block;
    int64_t n_used = 0;

    uint8_t *class = class_at(s, value, &block);
    if (class == NULL)
        return false;
    uint64_t header = hs_block_head(&block), n = HS_HEADER_WOSIZE(header);
    if (HS_HEADER_TAG(header) != 0 || n < BUCKETS_LEAST || !is_power_of_two((int64_t)n))
        return false;
    const uint8_t *fields = hs_map_bytes(block.span, block.address);
    for (uint64_t i = 0; i < n && i < BUCKETS_MOST; i++) {
        if (field(fields, i) == EMPTY)
            continue;
        if (!is_entry(class_of(s, field(fields, i))))
            return false;
        n_used++;
    }
    if (n_used == 0 || n_used > most)
        return false;
    *class = CLASS_BUCKETS;
    return true;
}

/* Tells whether a block is a hash table. While it is gone through, the size that it began with is
 * negative (hashtbl.ml, flip_ongoing_traversal). */
static bool is_table(struct hs_sshapes *s, const uint8_t *fields)
{
    int64_t size = integer(field(fields, 0), 1), began = (int64_t)field(fields, 3) >> 1;

    if (size < 0 || is_pointer(field(fields, 2)) || is_pointer(field(fields, 3)))
        return false;
    began = began < 0 ? -began : began;
    return began >= BUCKETS_LEAST && is_power_of_two(began) &&
           are_buckets(s, field(fields, 1), size);
}

/* Returns the height of a subtree of this kind, or -1; *is_sound becomes false when its own
 * subtrees do not agree. */
static int subtree(struct hs_sshapes *s, uint64_t value, unsigned kind, bool *is_sound)
{
    if (value == EMPTY)
        return 0;
    unsigned class = class_of(s, value), height = (class & ~(unsigned)CLASS_SOUND) - kind;
    *is_sound &= (class & CLASS_SOUND) != 0;
    return class != CLASS_NONE && height >= 1 && height <= HEIGHT_MOST ? (int)height : -1;
}

/* Tells whether a node is as high as its subtrees say. */
static bool agrees(struct hs_sshapes *s, const uint8_t *fields, uint64_t size, bool *are_sound)
{
    unsigned kind = size == 4 ? CLASS_SET : CLASS_MAP;

    *are_sound = true;
    int l = subtree(s, field(fields, 0), kind, are_sound);
    int r = subtree(s, field(fields, size - 2), kind, are_sound);
    return l >= 0 && r >= 0 && (int)(field(fields, size - 1) >> 1) == 1 + (l > r ? l : r) &&
           l - r <= HEIGHT_SLACK && r - l <= HEIGHT_SLACK;
}

static enum hs_sshape shape_among(struct hs_sshapes *s, const struct hs_block *block, uint64_t size,
                                  uint8_t *class)
{
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    bool ignored;

    switch (size) {
    case 2:
        if (*class == CLASS_CELL)
            follow_chain(s, block, class);
        return *class == CLASS_LIST  ? HS_SSHAPE_LIST
               : is_stack(s, fields) ? HS_SSHAPE_STACK
                                     : HS_N_SSHAPES;
    case 3:
        return is_queue(s, fields) ? HS_SSHAPE_QUEUE : HS_N_SSHAPES;
    case 4:
        if (is_table(s, fields))
            return HS_SSHAPE_TABLE;
        break;
    default:
        break;
    }
    if (*class >= CLASS_SET && agrees(s, fields, size, &ignored))
        *class |= CLASS_SOUND;
    return HS_N_SSHAPES;
}

static enum hs_sshape shape_of_tree(struct hs_sshapes *s, const struct hs_block *block,
                                    uint64_t size, unsigned class)
{
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    bool are_sound;

    if (size < 4 || (class & CLASS_SOUND) == 0 ||
        integer(field(fields, size - 1), SEED_HEIGHT) < 0 || !agrees(s, fields, size, &are_sound) ||
        !are_sound)
        return HS_N_SSHAPES;
    return size == 4 ? HS_SSHAPE_SET : HS_SSHAPE_MAP;
}

enum hs_sshape hs_sshapes_look(struct hs_sshapes *s, const struct hs_block *block, uint64_t header)
{
    uint64_t size = HS_HEADER_WOSIZE(header);
    const uint64_t rank = hs_bitmap_rank(&s->map->starts, block->bit);
    uint8_t *class = &s->classes[rank];

    hs_stype type = hs_spush_type(s->push, rank);
    if (HS_HEADER_TAG(header) != 0 || size < 2 || size > 5 ||
        (type != HS_STYPE_NONE && type - s->first >= HS_N_SSHAPES))
        return HS_N_SSHAPES;
    switch (s->pass) {
    case 0:
        *class = (uint8_t)class_of_own(hs_map_bytes(block->span, block->address), size);
        return HS_N_SSHAPES;
    case 1:
        return shape_among(s, block, size, class);
    default:
        return shape_of_tree(s, block, size, *class);
    }
}

bool hs_sshapes_fits(const struct hs_sshapes *s, uint64_t rank, enum hs_sshape shape)
{
    unsigned class = s->classes[rank];

    switch (shape) {
    case HS_SSHAPE_LIST:
        return is_cell(class);
    case HS_SSHAPE_ENTRY:
        return is_entry(class);
    case HS_SSHAPE_BUCKETS:
        return class == CLASS_BUCKETS;
    case HS_SSHAPE_SET:
    case HS_SSHAPE_MAP:
        class &= ~(unsigned)CLASS_SOUND;
        return class >= CLASS_SET && (class > CLASS_MAP) == (shape == HS_SSHAPE_MAP);
    default:
        return true; /* nothing leads to these but what tells them */
    }
}

bool hs_sshapes_leads_on(const struct hs_sshapes *s, uint64_t rank, enum hs_sshape shape)
{
    switch (s->classes[rank]) {
    case CLASS_CELL_2:
    case CLASS_CELL_3:
    case CLASS_CELL:
    case CLASS_ENTRY:
        return true;
    default:
        return shape == HS_SSHAPE_BUCKETS;
    }
}

uint64_t hs_sshapes_words(enum hs_sshape shape, const struct hs_block *block)
{
    return 1 + (shape == HS_SSHAPE_BUCKETS ? HS_HEADER_WOSIZE(hs_block_head(block))
                                           : shapes_known[shape].size);
}
