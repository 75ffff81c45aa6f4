/* links: hs_native */
#include "unit.h"

#include "fail_each.h"
#include "native/scan.h"
#include "native_world.h"

enum { NODE = 1, PACKED, CUT, TEXT, NUMBERS, MEMORY, LIST, NAMED, NODE_POINTER, BUFFER };

static struct world *w;
static struct hs_flow flow;
static struct hs_scan scan;

static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    world_type(NODE, "struct node", HS_CTYPE_RECORD, 32);
    world_slot(NODE, "next", 0, NODE);
    world_slot(NODE, "any", 24, 0);
    world_type(PACKED, "struct packed", HS_CTYPE_RECORD, 9); /* { char tag; struct node *to; } */
    world_slot(PACKED, "to", 1, NODE);
    world_type(CUT, "struct huge", HS_CTYPE_RECORD, 64);
    world_slot(CUT, "first", 0, 0);
    world_slot(CUT, "last", 16, 0);
    world_types[CUT].is_cut = true;
    world_type(TEXT, "char", HS_CTYPE_SCALAR, 1);
    world_type(NUMBERS, "long", HS_CTYPE_SCALAR, 8);
    world_type(MEMORY, "u8", HS_CTYPE_SCALAR, 1);
    world_type(NODE_POINTER, "struct node *", HS_CTYPE_POINTER, 8);
    world_slot(NODE_POINTER, NULL, 0, NODE);
    world_type(BUFFER, "struct buffer", HS_CTYPE_RECORD, 16); /* { char *begin, *end; } */
    world_slot(BUFFER, "begin", 0, TEXT);
    world_slot(BUFFER, "end", 8, TEXT);
    world_type(LIST, "struct list", HS_CTYPE_RECORD, 16); /* { ...; struct node *items[]; } */
    world_types[LIST].tail = (struct hs_ctail){.element = NODE_POINTER, .at_bytes = 16};
    world_type(NAMED, "struct named", HS_CTYPE_RECORD, 16); /* { ...; char name[]; } */
    world_types[NAMED].tail = (struct hs_ctail){.element = TEXT, .at_bytes = 16};
    return 0;
}

static int tear_down(void **state)
{
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

static void run(void)
{
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(hs_scan_begin(&scan, &w->native, &flow, &world_err));
    WORLD_OK(hs_scan_mark_roots(&scan, &world_err));
    WORLD_OK(hs_scan_end(&scan, &world_err));
    w->dump.n_tree = 1000;
}

static void block_of(hs_addr address, struct hs_heap_block *ret)
{
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, address, ret), HS_POINTER_START);
}

static bool is_reached(hs_addr address)
{
    struct hs_heap_block block;
    block_of(address, &block);
    return hs_bitmap_get(&scan.reached, block.rank);
}

static void edges_of(hs_addr address)
{
    struct hs_heap_block block;
    block_of(address, &block);
    assert_int_equal(hs_scan_block(&scan, &block, &world_err), HS_OK);
}

static void is_edge(size_t number, hs_addr to, uint64_t offset_words, unsigned edge_class)
{
    struct hs_heap_block block;
    block_of(to, &block);
    assert_true(number < scan.n_edges);
    assert_int_equal(scan.edges[number].target, 1000 + block.rank);
    assert_int_equal(scan.edges[number].offset_words, offset_words);
    assert_int_equal(scan.edges[number].edge_class, edge_class);
}

/* An address written at any byte. */
static void write_at(hs_addr address, hs_addr word)
{
    memcpy((uint8_t *)w->heap + (address - WORLD_HEAP), &word, sizeof word);
}

static void words_without_a_type(void **state)
{
    hs_addr a = world_block(w, 72), b = world_block(w, 48), c = world_block(w, 16);
    *world_word(w, a + 8) = b;
    *world_word(w, a + 16) = b + 5;
    *world_word(w, a + 24) = b + 48; /* past the end: of chunks only */
    *world_word(w, a + 32) = c - 8;  /* between two blocks */
    *world_word(w, a + 40) = WORLD_STATIC;
    *world_word(w, a + 48) = UINT64_MAX;
    *world_word(w, a + 64) = a; /* the last word, to itself */
    world_root(w, a, HS_EDGE_EXACT);
    run();
    edges_of(a);
    assert_int_equal(scan.n_edges, 3);
    is_edge(0, b, 1, HS_EDGE_EXACT);
    is_edge(1, b, 2, HS_EDGE_INTERIOR);
    is_edge(2, a, 8, HS_EDGE_EXACT);
    edges_of(c);
    assert_int_equal(scan.n_edges, 0);
    assert_true(is_reached(a) && is_reached(b) && !is_reached(c));
    assert_int_equal(scan.n_unreached, 1);
    assert_int_equal(scan.n_interior_only, 0);
}

static void words_of_a_type(void **state)
{
    hs_addr a = world_block(w, 40), many = world_block(w, 64), text = world_block(w, 32);
    hs_addr b = world_block(w, 16), cut = world_block(w, 64), numbers = world_block(w, 32);
    *world_word(w, a) = b;
    *world_word(w, a + 8) = b;  /* the type has no pointer there */
    *world_word(w, a + 32) = b; /* behind the record */
    *world_word(w, many + 56) = b + 8;
    *world_word(w, many + 40) = b;
    *world_word(w, text + 16) = b;
    *world_word(w, numbers + 16) = b;
    *world_word(w, cut + 8) = b;
    *world_word(w, cut + 40) = b; /* the type says nothing so far behind */
    world_seed(w, a, NODE);
    world_seed(w, many, NODE);
    world_seed(w, text, TEXT);
    world_seed(w, numbers, NUMBERS);
    world_seed(w, cut, CUT);
    run();
    edges_of(a);
    assert_int_equal(scan.n_edges, 3);
    is_edge(0, b, 0, HS_EDGE_EXACT);
    is_edge(1, b, 1, HS_EDGE_GUESSED);
    is_edge(2, b, 4, HS_EDGE_GUESSED); /* what an allocator rounds up */
    edges_of(many);
    assert_int_equal(scan.n_edges, 2);
    is_edge(0, b, 5, HS_EDGE_GUESSED);
    is_edge(1, b, 7, HS_EDGE_GUESSED); /* nothing but its size says that there is a second one */
    edges_of(text);
    is_edge(0, b, 2, HS_EDGE_GUESSED);
    edges_of(numbers);
    is_edge(0, b, 2, HS_EDGE_GUESSED);
    edges_of(cut);
    assert_int_equal(scan.n_edges, 2);
    is_edge(0, b, 1, HS_EDGE_GUESSED);
    is_edge(1, b, 5, HS_EDGE_EXACT);
}

/* Nobody says that these are arrays: what their elements lead to does, for three of them or more,
 * as long as the next ones do not deny it. Of one that a vector counts nothing is asked. */
static void arrays_by_their_words(void **state)
{
    enum { ELEMENTS = 6, STRIDE = 4 };
    hs_addr b = world_block(w, 40), pair = world_block(w, 64), all = world_block(w, 192);
    hs_addr odd = world_block(w, 192);
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        if (i < 2)
            *world_word(w, pair + i * 32) = b;
        *world_word(w, all + i * 32) = b;
        *world_word(w, odd + i * 32) = b;
        *world_word(w, odd + i * 32 + 8) = i < 3 ? 0 : b; /* no pointer is there */
    }
    world_seed(w, pair, NODE);
    world_seed(w, all, NODE);
    world_seed(w, odd, NODE);
    world_seed(w, b, NODE);
    run();
    edges_of(pair);
    is_edge(0, b, 0, HS_EDGE_EXACT);
    is_edge(1, b, STRIDE, HS_EDGE_GUESSED);
    edges_of(all);
    for (size_t i = 0; i < ELEMENTS; i++)
        is_edge(i, b, i * STRIDE, HS_EDGE_EXACT);
    edges_of(odd);
    for (size_t i = 0; i < 3; i++)
        is_edge(i, b, i * STRIDE, HS_EDGE_EXACT);
    is_edge(3, b, 3 * STRIDE, HS_EDGE_GUESSED);
}

/* Blocks that are larger than their type: by so much that there is more of them than is known, by
 * an array without a length at their end, or by a rest that an allocator could not use. */
static void words_behind_a_type(void **state)
{
    hs_addr b = world_block(w, 16), large = world_block(w, 48), list = world_block(w, 24);
    hs_addr named = world_block(w, 48);
    *world_word(w, large + 32) = *world_word(w, list + 16) = *world_word(w, named + 40) = b;
    world_seed(w, large, NODE);
    world_seed(w, list, LIST);
    world_seed(w, named, NAMED);
    run();
    edges_of(large);
    is_edge(0, b, 4, HS_EDGE_EXACT);
    edges_of(list);
    is_edge(0, b, 2, HS_EDGE_EXACT);
    edges_of(named);
    is_edge(0, b, 5, HS_EDGE_GUESSED);
}

/* Elements behind a header that says which are in use: { int ref, size, begin, end; node items[];
 * }.
 */
static void elements_behind_a_header(void **state)
{
    hs_addr b = world_block(w, 16), items = world_block(w, 16 + 3 * 32);
    world_types[LIST].tail =
        (struct hs_ctail){.element = NODE, .at_bytes = 16, .begin_at = 8, .end_at = 12};
    *world_word(w, items + 8) = UINT64_C(2) << 32 | 1; /* the second one */
    for (uint64_t i = 0; i < 3; i++)
        for (uint64_t at = 0; at < 32; at += 8)
            *world_word(w, items + 16 + i * 32 + at) = b;
    world_seed(w, items, LIST);
    run();
    edges_of(items);
    for (uint32_t i = 0; i < 12; i++) {
        bool is_pointer = i / 4 == 1 && (i % 4 == 0 || i % 4 == 3); /* next, any */
        is_edge(i, b, 2 + i, is_pointer ? HS_EDGE_EXACT : HS_EDGE_GUESSED);
    }
}

static void one_block_of_many_is_larger(void **state)
{
    hs_addr b = world_block(w, 16), large = world_block(w, 48);
    *world_word(w, large + 32) = b;
    world_seed(w, large, NODE);
    for (unsigned i = 0; i < 8; i++)
        world_seed(w, world_block(w, 40), NODE);
    run();
    edges_of(large);
    is_edge(0, b, 4, HS_EDGE_GUESSED);
}

/* A pointer into the middle of a block does not make text of all of it; one to its start does. */
static void text_from_its_middle(void **state)
{
    hs_addr b = world_block(w, 16), middle = world_block(w, 32), both = world_block(w, 32);
    hs_addr memory = world_block(w, 32);
    *world_word(w, middle + 8) = *world_word(w, both + 8) = *world_word(w, memory + 8) = b;
    world_seed(w, middle + 3, TEXT);
    world_seed(w, both + 3, TEXT);
    world_seed(w, both, TEXT);
    world_seed(w, memory, MEMORY); /* bytes of any use */
    run();
    edges_of(middle);
    is_edge(0, b, 1, HS_EDGE_EXACT);
    edges_of(both);
    is_edge(0, b, 1, HS_EDGE_GUESSED);
    edges_of(memory);
    is_edge(0, b, 1, HS_EDGE_EXACT);
    assert_string_equal(world_type_of(w, &flow, middle), "char[]");
    assert_string_equal(world_type_of(w, &flow, both), "char[]");
}

/* Where blocks have no headers, a pointer behind the end of one leads to the next. */
static void the_end_of_the_block_before(void **state)
{
    hs_addr holder = world_block(w, 16), other = world_block(w, 16), target = world_block(w, 16);
    hs_addr text = world_block(w, 32), next, last;
    w->next = text + 32;
    next = world_block(w, 32);
    w->next = next + 32;
    last = world_block(w, 32);
    *world_word(w, holder) = text;
    *world_word(w, holder + 8) = next;
    *world_word(w, other + 8) = last; /* and nothing leads into the block before it */
    *world_word(w, text + 8) = *world_word(w, next + 8) = *world_word(w, last + 8) = target;
    world_seed(w, holder, BUFFER);
    world_seed(w, other, BUFFER);
    run();
    edges_of(text);
    is_edge(0, target, 1, HS_EDGE_GUESSED);
    edges_of(next);
    is_edge(0, target, 1, HS_EDGE_EXACT);
    edges_of(last);
    is_edge(0, target, 1, HS_EDGE_GUESSED);
}

static void reached_by_their_middle(void **state)
{
    hs_addr a = world_block(w, 32), b = world_block(w, 32), c = world_block(w, 32);
    hs_addr d = world_block(w, 32), e = world_block(w, 32);
    *world_word(w, a) = b + 16;
    *world_word(w, b) = c;
    *world_word(w, c) = b + 8;
    *world_word(w, d) = e + 8; /* nobody has d */
    world_root(w, a, HS_EDGE_INTERIOR);
    run();
    assert_true(is_reached(a) && is_reached(b) && is_reached(c));
    assert_false(is_reached(d) || is_reached(e));
    assert_int_equal(scan.n_interior_only, 2); /* a and b */
    assert_int_equal(scan.n_unreached, 2);
}

/* Behind the pointers that are in use stands what the memory had before. */
static void arrays_of_pointers(void **state)
{
    world_slot(NODE_POINTER, "", 0, NODE);
    hs_addr node = world_block(w, 40), other = world_block(w, 24), unknown = world_block(w, 56);
    hs_addr many = world_block(w, 72), few = world_block(w, 24), inner = world_block(w, 24);
    const hs_addr words[] = {node, other, unknown, other + 8, node + 8};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        *world_word(w, many + 8 * i) = words[i];
    *world_word(w, few) = node;
    *world_word(w, few + 8) = other + 8;
    *world_word(w, few + 16) = node + 8;
    *world_word(w, inner) = node + 8; /* these lead into the middle from the first one on */
    *world_word(w, inner + 8) = other + 8;
    world_seed(w, node, NODE);
    world_seed(w, other, BUFFER);
    world_seed(w, many, NODE_POINTER);
    world_seed(w, few, NODE_POINTER);
    world_seed(w, inner, NODE_POINTER);
    run();
    edges_of(many);
    assert_int_equal(scan.n_edges, 5);
    is_edge(0, node, 0, HS_EDGE_EXACT);
    is_edge(1, other, 1, HS_EDGE_GUESSED);
    is_edge(2, unknown, 2, HS_EDGE_EXACT);
    is_edge(3, other, 3, HS_EDGE_INTERIOR);
    is_edge(4, node, 4, HS_EDGE_INTERIOR);
    edges_of(few);
    is_edge(1, other, 1, HS_EDGE_GUESSED);
    is_edge(2, node, 2, HS_EDGE_INTERIOR);
    edges_of(inner);
    is_edge(0, node, 0, HS_EDGE_INTERIOR);
    is_edge(1, other, 1, HS_EDGE_INTERIOR);
}

/* Keeps nothing that a type said of one block for the blocks after it. */
static void each_block_for_itself(void **state)
{
    hs_addr a = world_block(w, 40), typed = world_block(w, 40), b = world_block(w, 40);
    hs_addr to = world_block(w, 40);
    *world_word(w, a + 8) = *world_word(w, typed + 8) = *world_word(w, b + 8) = to;
    world_seed(w, typed, NODE);
    world_root(w, a, HS_EDGE_EXACT);
    world_root(w, b, HS_EDGE_EXACT);
    run();
    for (unsigned round = 0; round < 2; round++) {
        edges_of(a);
        is_edge(0, to, 1, HS_EDGE_EXACT);
        edges_of(typed);
        is_edge(0, to, 1, HS_EDGE_GUESSED);
        edges_of(b);
        is_edge(0, to, 1, HS_EDGE_EXACT);
    }
}

/* Odd places count only for what nothing else reaches, and only for its start. */
static void odd_places(void **state)
{
    hs_addr buffer = world_block(w, 90), lost = world_block(w, 32), kept = world_block(w, 32);
    hs_addr below = world_block(w, 32), inside = world_block(w, 32);
    write_at(buffer + 1, lost);
    write_at(buffer + 10, kept);
    write_at(buffer + 19, inside + 8);
    write_at(buffer + 81, lost); /* the last place where a word fits is 82 */
    *world_word(w, lost) = below;
    world_root(w, buffer, HS_EDGE_EXACT);
    world_root(w, kept, HS_EDGE_EXACT);
    run();
    assert_false(is_reached(lost) || is_reached(below) || is_reached(inside));
    edges_of(buffer);
    assert_int_equal(scan.n_edges, 2);
    is_edge(0, lost, 0, HS_EDGE_GUESSED);
    is_edge(1, lost, 10, HS_EDGE_GUESSED);
    edges_of(lost);
    is_edge(0, below, 0, HS_EDGE_EXACT);
}

static void packed_records(void **state)
{
    hs_addr buffer = world_block(w, 90), nodes[10];
    for (size_t i = 0; i < 10; i++) {
        nodes[i] = world_block(w, 32);
        write_at(buffer + i * 9 + 1, nodes[i]);
    }
    hs_addr lost = world_block(w, 90), below = world_block(w, 32);
    write_at(lost + 1, below);
    world_root(w, buffer, HS_EDGE_EXACT);
    world_seed(w, buffer, PACKED);
    world_seed(w, lost, PACKED);
    run();
    for (size_t i = 0; i < 10; i++)
        assert_true(is_reached(nodes[i]));
    edges_of(buffer);
    assert_int_equal(scan.n_edges, 10);
    unsigned seen[12] = {0};
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(scan.edges[i].edge_class, HS_EDGE_EXACT);
        seen[scan.edges[i].offset_words]++;
    }
    /* at bytes 1, 10, ... 64 (aligned, thus first), ... 82 */
    assert_int_equal(scan.edges[0].offset_words, 8);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(seen[(i * 9 + 1) / 8], 1);
    edges_of(lost);
    assert_int_equal(scan.n_edges, 1);
    is_edge(0, below, 0, HS_EDGE_EXACT);
}

static void masks(void **state)
{
    hs_addr a = world_block(w, 32), b = world_block(w, 32);
    w->options.pointer_mask = UINT64_C(0xffff) << 48;
    *world_word(w, a + 8) = b | UINT64_C(1) << 63;
    world_root(w, a, HS_EDGE_EXACT);
    run();
    assert_true(is_reached(b));
    edges_of(a);
    assert_int_equal(scan.n_edges, 1);
    is_edge(0, b, 1, HS_EDGE_EXACT);
}

/* More blocks at once than the queue holds would need a larger world; a long chain must do. */
static void long_chain(void **state)
{
    hs_addr first = world_block(w, 16), at = first;
    for (int i = 0; i < 3000; i++) {
        hs_addr next = world_block(w, 16);
        *world_word(w, at) = next;
        at = next;
    }
    world_root(w, first, HS_EDGE_EXACT);
    run();
    assert_int_equal(scan.n_unreached, 0);
    assert_true(is_reached(at));
}

static void weak_roots_keep_nothing(void **state)
{
    hs_addr a = world_block(w, 16);
    world_root(w, a, HS_EDGE_EXACT);
    world_root(w, WORLD_STATIC, HS_EDGE_EXACT); /* leads to no block */
    w->native.roots.leaves[0].root.weak = true;
    run();
    assert_false(is_reached(a));
}

static void every_allocation_fails(void **state)
{
    hs_addr a = world_block(w, 1600), b = world_block(w, 16);
    for (uint64_t at = 0; at < 1600; at += 8)
        *world_word(w, a + at) = b;
    world_root(w, a, HS_EDGE_EXACT);
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    struct hs_heap_block block;
    block_of(a, &block);
    FAIL_EACH (each, .at_least = 4) {
        fail_each_begin(&each);
        hs_status status = hs_scan_begin(&scan, &w->native, &flow, &world_err);
        if (status == HS_OK)
            status = hs_scan_mark_roots(&scan, &world_err);
        if (status == HS_OK)
            status = hs_scan_end(&scan, &world_err);
        if (status == HS_OK)
            status = hs_scan_block(&scan, &block, &world_err);
        if (fail_each_end(&each, status) != HS_OK)
            hs_scan_close(&scan);
    }
    assert_int_equal(scan.n_edges, 200);
}

/* Of words that lead from one piece of unclaimed memory to another the first of a class is an edge;
 * of those to known blocks each is. Whoever asks again is told the same. */
static void repeated_words_of_unclaimed_memory(void **state)
{
    hs_addr known = world_block(w, 16);
    w->owner = HS_OWNER_MAPPING;
    hs_addr a = world_block(w, 72), b = world_block(w, 48), c = world_block(w, 48);
    const hs_addr words[] = {b, b, b + 8, c, b + 16, known, known, c, b};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        *world_word(w, a + i * 8) = words[i];
    *world_word(w, b) = *world_word(w, b + 8) = c;
    world_root(w, a, HS_EDGE_EXACT);
    run();
    for (unsigned turn = 0; turn < 2; turn++) {
        edges_of(a);
        assert_int_equal(scan.n_edges, 5);
        is_edge(0, b, 0, HS_EDGE_EXACT);
        is_edge(1, b, 2, HS_EDGE_INTERIOR);
        is_edge(2, c, 3, HS_EDGE_EXACT);
        is_edge(3, known, 5, HS_EDGE_EXACT);
        is_edge(4, known, 6, HS_EDGE_EXACT);
        edges_of(b);
        assert_int_equal(scan.n_edges, 1);
        is_edge(0, c, 0, HS_EDGE_EXACT);
    }
}

/* A live block whose content is not looked at. */
static void far_block(hs_addr begin, uint64_t n_bytes)
{
    struct hs_heap_span span = {.begin = begin,
                                .end = begin + n_bytes,
                                .form = HS_SPAN_SINGLE,
                                .owner = HS_OWNER_registered};
    w->blocks[w->n_blocks++] = begin;
    WORLD_OK(hs_heap_map_add(&w->dump.heaps.map, &span, &world_err));
}

/* Numbers of 32 bits beside the upper half of an old address. */
static void halves_of_addresses(void **state)
{
    const hs_addr over = 0x7e80ff000000, border = 0x7e8100000000;
    const hs_addr large = 0x7e9040000000, small = 0x7ea040000000, behind = 0x7e8200000010;
    const uint64_t much = 1 << 28, head = 4096;
    hs_addr a = world_block(w, 128), node = world_block(w, 32);
    far_block(over, 64 << 20);
    far_block(behind, 1 << 20); /* the 4 GiB do not begin in it */
    far_block(large, much);
    far_block(small, much - 16);
    const hs_addr words[] = {over,      border + 5,       border + 0xfffff, border + 0x100000,
                             large,     large + head,     large + head - 1, large + much - 8,
                             small + 8, small + head * 2, behind + head};
    const hs_addr leads_to[] = {over,  over,  over,  over,  large, large,
                                large, large, small, small, behind};
    const unsigned classes[] = {HS_EDGE_EXACT,    HS_EDGE_GUESSED, HS_EDGE_GUESSED,
                                HS_EDGE_INTERIOR, HS_EDGE_EXACT,   HS_EDGE_GUESSED,
                                HS_EDGE_INTERIOR, HS_EDGE_GUESSED, HS_EDGE_INTERIOR,
                                HS_EDGE_INTERIOR, HS_EDGE_INTERIOR};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        *world_word(w, a + i * 8) = words[i];
    *world_word(w, node) = large + head * 2; /* its type says that it is a pointer */
    *world_word(w, node + 8) = large + head * 2;
    world_seed(w, node, NODE);
    run();
    edges_of(a);
    assert_int_equal(scan.n_edges, sizeof words / sizeof *words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        is_edge(i, leads_to[i], i, classes[i]);
    edges_of(node);
    is_edge(0, large, 0, HS_EDGE_INTERIOR);
    is_edge(1, large, 1, HS_EDGE_GUESSED); /* and that this is none */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(words_without_a_type),
        TEST(words_of_a_type),
        TEST(arrays_by_their_words),
        TEST(words_behind_a_type),
        TEST(elements_behind_a_header),
        TEST(one_block_of_many_is_larger),
        TEST(text_from_its_middle),
        TEST(the_end_of_the_block_before),
        TEST(reached_by_their_middle),
        TEST(arrays_of_pointers),
        TEST(each_block_for_itself),
        TEST(odd_places),
        TEST(packed_records),
        TEST(masks),
        TEST(long_chain),
        TEST(weak_roots_keep_nothing),
        TEST(repeated_words_of_unclaimed_memory),
        TEST(halves_of_addresses),
        TEST(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
