/* links: hs_native */
#include "unit.h"

#include "native/flow.h"
#include "native_world.h"

static struct world *w;
static struct hs_flow flow;

static int set_up(void **state)
{
    w = world_new();
    w->native.ctypes = NULL;
    return 0;
}

static int tear_down(void **state)
{
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

static void run(void)
{
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err)); /* finds nothing: no objects */
    WORLD_OK(hs_native_shapes(&w->native, &flow, &world_err));
}

static void is(hs_addr block, const char *name)
{
    assert_string_equal(world_type_of(w, &flow, block), name);
}

/* colour, parent, left, right */
static void put_node(hs_addr node, uint64_t colour, hs_addr parent, hs_addr left, hs_addr right)
{
    *world_word(w, node) = colour;
    *world_word(w, node + 8) = parent;
    *world_word(w, node + 16) = left;
    *world_word(w, node + 24) = right;
}

static void trees(void **state)
{
    hs_addr head = WORLD_STATIC + 64, a = world_block(w, 40), b = world_block(w, 40);
    hs_addr c = world_block(w, 56), d = world_block(w, 40);
    put_node(head, 0, a, b, d); /* root, leftmost, rightmost */
    put_node(a, 1, head, b, c);
    put_node(b, 0, a, 0, 0);
    put_node(c, UINT64_C(0xdead) << 32 | 1, a, 0, d); /* four bytes of padding */
    put_node(d, 0, c, 0, 0);
    run();
    is(a, "red-black tree node");
    is(b, "red-black tree node");
    is(c, "red-black tree node");
    is(d, "red-black tree node");
    assert_int_equal(flow.n_by_shape, 4);
}

static void no_trees(void **state)
{
    hs_addr a = world_block(w, 40), b = world_block(w, 40), c = world_block(w, 40);
    hs_addr d = world_block(w, 40), e = world_block(w, 32), f = world_block(w, 40);
    put_node(a, 1, b, 0, 0); /* b does not lead back */
    put_node(b, 2, c, 0, 0); /* no such colour */
    put_node(c, 0, c, 0, 0); /* its own parent */
    put_node(d, 0, f, e, e); /* the same child twice */
    put_node(e, 0, d, 0, 0); /* no room for a value */
    put_node(f, 0, WORLD_UNMAPPED, d, 0);
    run();
    is(a, "");
    is(b, "");
    is(c, "");
    is(d, "");
    is(e, "");
    is(f, "");
}

static void lists(void **state)
{
    hs_addr head = WORLD_STATIC, a = world_block(w, 24), b = world_block(w, 24);
    hs_addr alone = world_block(w, 24), single = world_block(w, 24), half = world_block(w, 24);
    const hs_addr ring[] = {head, a, b};
    for (size_t i = 0; i < 3; i++) {
        *world_word(w, ring[i]) = ring[(i + 1) % 3];
        *world_word(w, ring[i] + 8) = ring[(i + 2) % 3];
    }
    *world_word(w, alone) = *world_word(w, alone + 8) = alone;
    *world_word(w, single) = a; /* singly linked */
    *world_word(w, half) = a;
    *world_word(w, half + 8) = b;
    run();
    is(a, "doubly linked list node");
    is(b, "doubly linked list node");
    is(alone, "");
    is(single, "");
    is(half, "");
}

static void put_words(hs_addr at, uint64_t first, uint64_t second, uint64_t third)
{
    *world_word(w, at) = first;
    *world_word(w, at + 8) = second;
    *world_word(w, at + 16) = third;
}

static void bodies(void **state)
{
    hs_addr holder = world_block(w, 128), text = world_block(w, 40), body = world_block(w, 88);
    hs_addr full = world_block(w, 40), of_root = world_block(w, 40), loose = world_block(w, 88);
    hs_addr unended = world_block(w, 40);
    memset(world_word(w, text), 'a', 20);
    memset(world_word(w, unended), 'a', 40);
    put_words(holder, text, 20, 30);
    put_words(holder + 24, body, body + 40, body + 80);
    put_words(holder + 48, loose, loose + 8, loose + 40); /* the block is larger */
    put_words(holder + 72, unended, 20, 30);              /* no zero behind the text */
    put_words(holder + 96, full + 8, full + 16, full + 40);
    put_words(WORLD_STATIC + 8, of_root, 0, 39);
    world_root(w, of_root, HS_EDGE_EXACT);
    w->native.roots.leaves[0].root.address = WORLD_STATIC + 8;
    run();
    is(text, "std::string text");
    is(body, "std::vector storage");
    is(of_root, "std::string text");
    is(loose, "");
    is(unended, "");
    is(full, "");
    is(holder, "");
    assert_int_equal(flow.n_by_shape, 3);
}

static void texts_with_zeros(void **state)
{
    hs_addr holder = world_block(w, 40), text = world_block(w, 40);
    memset(world_word(w, text), 'a', 20);
    *world_word(w, text + 8) = 0;
    put_words(holder, text, 20, 30);
    run();
    is(text, "");
}

/* Makes an array: the first `n` lead to blocks, so do as many behind these as are stale, and the
 * last ones; the others are numbers. */
static hs_addr put_items(uint64_t room, uint64_t n, uint64_t stale, uint64_t last)
{
    hs_addr array = world_block(w, room * 8 + 8);

    for (uint64_t i = 0; i < room; i++)
        *world_word(w, array + i * 8) = i < n + stale || i >= room - last ? world_block(w, 24) : i;
    return array;
}

static uint64_t in_use(hs_addr address)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, address, &block), HS_POINTER_START);
    return hs_native_reserves_use(&flow.reserves, block.rank, block.n_bytes).end;
}

/* Makes a holder of five words, with these in the middle; the outer ones are its own. */
static void put_holder(uint64_t a, uint64_t b, uint64_t c, uint64_t last)
{
    hs_addr at = world_block(w, 40);

    *world_word(w, at) = 0x7777;
    *world_word(w, at + 8) = a;
    *world_word(w, at + 16) = b;
    *world_word(w, at + 24) = c;
    *world_word(w, at + 32) = last;
}

static void arrays_beside_their_counts(void **state)
{
    hs_addr counted[] = {put_items(16, 8, 2, 0), put_items(16, 8, 2, 0), put_items(16, 8, 2, 0),
                         put_items(16, 8, 2, 0), put_items(400, 200, 40, 0)};
    put_holder(counted[0], 8, 16, 5);
    put_holder(counted[1], 16, 8, 5);
    put_holder(counted[2], UINT64_C(16) << 32 | 8, 0, 5); /* numbers of 32 bits */
    put_holder(8, 16, counted[3], 5);
    put_holder(5, UINT64_C(200) << 32 | 400, counted[4], 5);
    run();
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(in_use(counted[i]), 64);
    assert_int_equal(in_use(counted[4]), 1600);
}

static void arrays_beside_other_numbers(void **state)
{
    hs_addr full = put_items(16, 16, 0, 0), hole = put_items(16, 7, 0, 1);
    hs_addr few = put_items(8, 3, 1, 0), most = put_items(16, 8, 5, 0);
    hs_addr gap = put_items(32, 10, 1, 3), larger = put_items(24, 8, 2, 0);
    hs_addr parts = put_items(16, 8, 2, 0), none = put_items(16, 8, 0, 0);
    put_holder(full, 8, 16, 5);   /* all are there: 8 may be anything */
    put_holder(hole, 8, 16, 5);   /* the eighth is not there */
    put_holder(few, 3, 8, 5);     /* three may be there by chance */
    put_holder(most, 8, 16, 5);   /* what was taken out is hardly more than what is left */
    put_holder(gap, 10, 32, 5);   /* what is at the end is there */
    put_holder(larger, 8, 16, 5); /* its room is another one */
    put_holder(parts, 8, 16, 10); /* ten are there, and eight of these are something else */
    put_holder(none, 8, 16, 5);   /* nothing stands behind the length */
    const hs_addr all[] = {full, hole, few, most, gap, larger, parts, none};
    run();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct hs_heap_block block;
        (void)hs_heap_map_resolve(&w->dump.heaps.map, all[i], &block);
        assert_int_equal(in_use(all[i]), block.n_bytes);
    }
}

/* A FILE's buffer has the words of a vector. */
static void buffer_of_file(void **state)
{
    hs_addr file = world_block(w, 64), room = world_block(w, 1032);
    for (size_t i = 1; i < 5; i++)
        *world_word(w, file + i * 8) = room;
    *world_word(w, file + 24) = room + 100; /* how far it was written */
    *world_word(w, file + 32) = room + 1024;
    *world_word(w, file + 40) = room;
    run();
    is(room, "");
    assert_int_equal(flow.n_by_shape, 0);
}

/* buckets | how many | first | how many nodes; nodes in the order of addresses. */
static hs_addr buckets, nodes[4];
static void put_table(hs_addr holder, uint64_t n_buckets, uint64_t n_nodes)
{
    buckets = world_block(w, 104);
    for (size_t i = 0; i < 4; i++)
        nodes[i] = world_block(w, 24);
    for (size_t i = 0; i < 3; i++)
        *world_word(w, nodes[i]) = nodes[i + 1];
    *world_word(w, holder) = buckets;
    *world_word(w, holder + 8) = n_buckets;
    *world_word(w, holder + 16) = nodes[0];
    *world_word(w, holder + 24) = n_nodes;
    *world_word(w, buckets + 16) = holder + 16;
    *world_word(w, buckets + 40) = nodes[1];
}

static void tables(void **state)
{
    hs_addr holder = world_block(w, 72);
    put_table(holder + 8, 13, 4);
    run();
    is(buckets, "std::unordered buckets");
    for (size_t i = 0; i < 4; i++)
        is(nodes[i], "std::unordered node");
    is(holder, "");
    assert_int_equal(flow.n_by_shape, 5);
}

static void table_of_root(void **state)
{
    put_table(WORLD_STATIC + 16, 13, 4);
    world_root(w, buckets, HS_EDGE_EXACT);
    w->native.roots.leaves[0].root.address = WORLD_STATIC + 16;
    run();
    is(buckets, "std::unordered buckets");
    is(nodes[3], "std::unordered node");
}

static void no_table(void)
{
    run();
    is(buckets, "");
    for (size_t i = 0; i < 4; i++)
        is(nodes[i], "");
    assert_int_equal(flow.n_by_shape, 0);
}

static void tables_of_other_counts(void **state)
{
    static const uint64_t counts[][2] = {
        {13, 3}, {13, 5}, {13, 0}, {13, UINT64_MAX}, {8, 4},
        {14, 4}, {1, 4},  {0, 4},  {UINT64_MAX, 4},  {UINT64_C(1) << 61 | 13, 4}};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        put_table(world_block(w, 72), counts[i][0], counts[i][1]);
        no_table();
        tear_down(state);
        set_up(state);
    }
}

static void tables_in_circles(void **state)
{
    put_table(world_block(w, 72), 13, 4);
    *world_word(w, nodes[3]) = nodes[1];
    no_table();
}

static void tables_that_do_not_lead_back(void **state)
{
    put_table(world_block(w, 72), 13, 4);
    *world_word(w, buckets + 16) = nodes[2];
    no_table();
}

static void tables_with_odd_buckets(void **state)
{
    put_table(world_block(w, 72), 13, 4);
    *world_word(w, buckets + 96) = 77;
    no_table();
}

static void table_in_its_own_nodes(void **state)
{
    put_table(world_block(w, 72), 13, 4);
    *world_word(w, nodes[1]) = buckets;
    *world_word(w, buckets) = nodes[3];
    run(); /* buckets | nodes as they come: nothing is counted twice */
    assert_true(flow.n_by_shape <= 5);
}

/* A map of 8 places with blocks at 2, 3 and 4. */
static hs_addr map, pieces[3];
static void put_deque(hs_addr holder)
{
    map = world_block(w, 72);
    for (size_t i = 0; i < 3; i++) {
        pieces[i] = world_block(w, 520);
        *world_word(w, map + 16 + i * 8) = pieces[i];
    }
    const uint64_t words[] = {
        map,           8,         pieces[0] + 24,  pieces[0], pieces[0] + 512, map + 16,
        pieces[2] + 8, pieces[2], pieces[2] + 512, map + 32};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        *world_word(w, holder + i * 8) = words[i];
}

static void deques(void **state)
{
    hs_addr holder = world_block(w, 104);
    put_deque(holder + 24); /* it ends with the block */
    run();
    is(map, "std::deque map");
    for (size_t i = 0; i < 3; i++)
        is(pieces[i], "std::deque block");
    assert_int_equal(flow.n_by_shape, 4);
}

/* Each word of a deque says something that the others must agree with. */
static void no_deques(void **state)
{
    static const struct {
        size_t at;
        uint64_t word;
    } damage[] = {{1, 0},  {1, 4}, {1, UINT64_MAX / 8}, {2, 8},
                  {3, 16}, {4, 8}, {5, WORLD_STATIC},   {6, WORLD_UNMAPPED},
                  {7, 0},  {8, 1}, {9, WORLD_UNMAPPED}, {1, UINT64_C(1) << 61 | 8}};

    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        hs_addr holder = world_block(w, 104);
        put_deque(holder);
        *world_word(w, holder + damage[i].at * 8) = damage[i].word;
        run();
        is(map, "");
        tear_down(state);
        set_up(state);
    }
}

static void deques_with_a_hole(void **state)
{
    put_deque(world_block(w, 104));
    *world_word(w, map + 24) = 0;
    run();
    assert_int_equal(flow.n_by_shape, 0);
}

/* Holders that all fail late spend what they may, and no more. */
static void many_false_tables(void **state)
{
    hs_addr last = world_block(w, 24);
    for (size_t i = 0; i < 1000; i++) {
        hs_addr node = world_block(w, 24);
        *world_word(w, node) = last;
        last = node;
    }
    hs_addr array = world_block(w, 104);
    for (size_t i = 0; i < 200; i++) {
        hs_addr holder = world_block(w, 40);
        *world_word(w, holder) = array;
        *world_word(w, holder + 8) = 13;
        *world_word(w, holder + 16) = last;
        *world_word(w, holder + 24) = 1001;
    }
    run();
    is(array, "");
    assert_int_equal(flow.n_by_shape, 0);
}

/* ---- Qt: the process has an object of it, whose private part has its connections there. */

enum { QT5 = 8, QT6 = 12 };

static void run_qt(uint8_t connections)
{
    hs_ntype type;
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(
        hs_native_types_of_name(&flow.types, "QObjectPrivate", HS_FORM_RECORD, &type, &world_err));
    flow.types.types[type - 1].layout = connections;
    WORLD_OK(hs_native_shapes(&w->native, &flow, &world_err));
}

static struct hs_native_use use_of(hs_addr begin)
{
    struct hs_heap_block block;
    assert_int_equal(hs_flow_resolve(&w->native, begin, &block), HS_POINTER_START);
    return hs_native_reserves_use(&flow.reserves, block.rank, block.n_bytes);
}

static void uses(hs_addr block, uint64_t from, uint64_t end)
{
    const struct hs_native_use use = use_of(block);
    assert_true(use.is_said);
    assert_int_equal(use.from, from);
    assert_int_equal(use.end, end);
}

/* references, size | room | where the elements are */
static void put_array(hs_addr at, uint64_t size, uint64_t room)
{
    put_words(at, 1 | size << 32, room, 24);
}

static void arrays_of_qt5(void **state)
{
    hs_addr text = world_block(w, 56), vector = world_block(w, 88), list = world_block(w, 80);
    hs_addr numbers = world_block(w, 64), many = world_block(w, 88), head = world_block(w, 40);
    hs_addr odd_list = world_block(w, 80), loose = world_block(w, 200);
    put_array(text, 11, 12); /* and a zero */
    *world_word(w, text + 24) = *world_word(w, text + 32) = UINT64_C(0x0041004100410041);
    *world_word(w, text + 40) = UINT64_C(0x0000004100410041);
    *world_word(w, text + 48) = list; /* from before */
    put_array(vector, 2, 8);
    *world_word(w, vector + 24) = *world_word(w, vector + 72) = list;
    *world_word(w, list) = *world_word(w, odd_list) = 1 | UINT64_C(8) << 32;
    *world_word(w, list + 8) = *world_word(w, odd_list + 8) = 1 | UINT64_C(3) << 32;
    *world_word(w, list + 24) = *world_word(w, list + 32) = vector;
    *world_word(w, odd_list + 24) = vector; /* the other one leads nowhere */
    put_array(numbers, 10, 10);
    *world_word(w, numbers + 56) = UINT64_C(0x0000000700000007);
    put_array(many, 9, 8); /* more than there is room for */
    put_words(head, 1 | UINT64_C(5) << 32, 0, WORLD_STATIC - head);
    put_array(loose, 2, 8); /* as much room does not fill it */
    run_qt(QT5);
    is(text, "Qt text");
    is(vector, "Qt array");
    uses(vector, 24, 40);
    is(list, "Qt array");
    uses(list, 24, 40);
    is(numbers, "Qt numbers");
    is(many, "");
    is(odd_list, "");
    is(loose, "");
    is(head, "Qt text");
}

static void arrays_of_qt6(void **state)
{
    hs_addr holder = world_block(w, 120), array = world_block(w, 56), text = world_block(w, 56);
    hs_addr other = world_block(w, 56), none = world_block(w, 56);
    const hs_addr arrays[] = {array, text, other, none};
    for (size_t i = 0; i < 4; i++) {
        *world_word(w, arrays[i]) = 1;
        *world_word(w, arrays[i] + 8) = 4; /* room */
        put_words(holder + 24 * i, arrays[i], arrays[i] + 16, 2);
        *world_word(w, arrays[i] + 40) = holder;
    }
    put_words(holder + 24, text, text + 16, 15);
    *world_word(w, text + 8) = 16;
    for (size_t i = 0; i < 4; i++)
        *world_word(w, text + 16 + 8 * i) =
            i < 3 ? UINT64_C(0x0041004100410041) : UINT64_C(0x0000004100410041);
    put_words(holder + 48, other, other + 24, 3); /* one was taken at the front */
    *world_word(w, none) = 0;                     /* no references */
    run_qt(QT6);
    is(array, "Qt array");
    uses(array, 16, 32);
    is(text, "Qt text");
    is(other, "Qt array");
    uses(other, 24, 48);
    is(none, "");
}

/* `n`: what the table says. */
static void put_hash5(hs_addr data, hs_addr table, uint64_t n, hs_addr first, hs_addr second)
{
    put_words(data, 0, table, 1 | n << 32);
    put_words(data + 24, 32, 2, 0);
    *world_word(w, table) = first;
    *world_word(w, table + 8) = data;
    *world_word(w, first) = second;
    *world_word(w, second) = data;
}

static void tables_of_qt5(void **state)
{
    hs_addr data = world_block(w, 56), table = world_block(w, 24), a = world_block(w, 40);
    hs_addr b = world_block(w, 40), other = world_block(w, 56), few = world_block(w, 24);
    hs_addr c = world_block(w, 40), d = world_block(w, 40), circle = world_block(w, 56);
    hs_addr ring = world_block(w, 24), e = world_block(w, 40);
    put_hash5(data, table, 2, a, b);
    put_hash5(other, few, 3, c, d);
    put_hash5(circle, ring, 2, e, e);
    *world_word(w, e) = e;
    run_qt(QT5);
    is(data, "QHash");
    is(table, "QHash buckets");
    is(a, "QHash node");
    is(b, "QHash node");
    is(other, "");
    is(c, "");
    is(circle, "");
    is(e, "");
}

/* One span, whose bucket 5 has entry 1 of two. */
static void put_hash6(hs_addr data, hs_addr spans, hs_addr entries, uint64_t n)
{
    put_words(data, 1, n, 128);
    put_words(data + 24, 77, spans + 8, 0);
    *world_word(w, spans) = 1;
    for (unsigned i = 0; i < 16; i++)
        *world_word(w, spans + 8 + 8 * i) = UINT64_MAX;
    *world_word(w, spans + 8) = ~(UINT64_C(0xfe) << 40);
    *world_word(w, spans + 136) = entries;
    *world_word(w, spans + 144) = 2 | 0xff00;
}

static void tables_of_qt6(void **state)
{
    hs_addr data = world_block(w, 48), spans = world_block(w, 152), entries = world_block(w, 56);
    hs_addr other = world_block(w, 48), few = world_block(w, 152), wrong = world_block(w, 56);
    put_hash6(data, spans, entries, 1);
    put_hash6(other, few, wrong, 2);
    run_qt(QT6);
    is(data, "QHash");
    is(spans, "QHash spans");
    is(entries, "QHash nodes");
    struct hs_native_use use = use_of(entries);
    assert_int_equal(use.end, 48);
    assert_int_equal(use.list, spans + 8);
    const struct hs_native_listed listed = hs_native_listed_of(&w->dump.image, &use);
    assert_false(hs_native_listed_has(&listed, 0));
    assert_true(hs_native_listed_has(&listed, 1));
    is(other, "");
    is(few, "");
    is(wrong, "");
}

/* type, next, previous, document */
static void put_xml(hs_addr at, uint64_t kind, hs_addr next, hs_addr previous, hs_addr document)
{
    *world_word(w, at + 8) = kind;
    *world_word(w, at + 48) = next;
    *world_word(w, at + 56) = previous;
    *world_word(w, at + 64) = document;
}

enum { XML_ELEMENT = 1, XML_ATTRIBUTE = 2, XML_COMMENT = 8, XML_DOCUMENT = 9, HTML_DOCUMENT = 13 };

static void nodes_of_xml(void **state)
{
    hs_addr document = world_block(w, 184), page = world_block(w, 184);
    hs_addr first = world_block(w, 120), second = world_block(w, 120);
    hs_addr attribute = world_block(w, 104), comment = world_block(w, 120);
    put_xml(document, XML_DOCUMENT, 0, 0, document);
    put_xml(page, HTML_DOCUMENT, 0, 0, page);
    put_xml(first, XML_ELEMENT, second, 0, document);
    put_xml(second, XML_ELEMENT, 0, first, document);
    put_xml(attribute, XML_ATTRIBUTE, 0, 0, document);
    put_xml(comment, XML_COMMENT, 0, 0, page);
    run();
    is(document, "xmlDoc");
    is(page, "xmlDoc");
    is(first, "xmlNode");
    is(second, "xmlNode");
    is(attribute, "xmlAttr");
    is(comment, "xmlNode");
    assert_int_equal(flow.n_by_shape, 6);
}

/* The text of a node and the value of an identifier are texts as long as they fill their blocks. */
static void texts_of_xml(void **state)
{
    enum { XML_TEXT = 3, CONTENT = 80 };
    hs_addr document = world_block(w, 184), attribute = world_block(w, 104);
    hs_addr node = world_block(w, 120), other = world_block(w, 120);
    hs_addr content = world_block(w, 24), large = world_block(w, 248), value = world_block(w, 24);
    hs_addr id = world_block(w, 56), no_id = world_block(w, 56);
    put_xml(document, XML_DOCUMENT, 0, 0, document);
    put_xml(attribute, XML_ATTRIBUTE, 0, 0, document);
    put_xml(node, XML_TEXT, 0, 0, document);
    put_xml(other, XML_TEXT, 0, 0, document);
    *world_word(w, node + CONTENT) = content;
    *world_word(w, other + CONTENT) = large;
    *world_word(w, content) = *world_word(w, large) = *world_word(w, value) = 0x41;
    *world_word(w, content + 8) = node; /* left of what was there before */
    *world_word(w, id + 8) = value;
    *world_word(w, id + 16) = *world_word(w, no_id + 16) = attribute;
    *world_word(w, id + 40) = document;
    *world_word(w, no_id + 40) = node;
    run();
    is(content, "xmlChar[]");
    is(large, "");
    is(id, "xmlID");
    is(value, "xmlChar[]");
    is(no_id, "");
}

static void no_nodes_of_xml(void **state)
{
    hs_addr document = world_block(w, 184), none[12];
    for (size_t i = 0; i < 12; i++)
        none[i] = world_block(w, 120);
    hs_addr large = world_block(w, 248), small = world_block(w, 88), small_attribute;
    small_attribute = world_block(w, 184);
    put_xml(document, XML_DOCUMENT, 0, 0, document);
    put_xml(none[0], 0, 0, 0, document); /* no such kinds */
    put_xml(none[1], 6, 0, 0, document);
    put_xml(none[2], UINT64_C(1) << 32 | XML_ELEMENT, 0, 0, document);
    put_xml(none[3], XML_ELEMENT, 0, 0, 0); /* of no document */
    put_xml(none[4], XML_ELEMENT, 0, 0, WORLD_UNMAPPED);
    put_xml(none[5], XML_ELEMENT, 0, 0, none[4]);              /* of what is none */
    put_xml(none[6], XML_ELEMENT, 0, 0, document + 8);         /* into one */
    put_xml(none[7], XML_ELEMENT, none[7], none[7], document); /* its own neighbour */
    put_xml(none[8], XML_ELEMENT, none[9], 0, document);       /* does not lead back */
    put_xml(none[9], XML_ELEMENT, WORLD_UNMAPPED, 0, document);
    put_xml(none[10], XML_ELEMENT, 0, UINT64_MAX - 40, document); /* wraps around */
    put_xml(none[11], XML_DOCUMENT, 0, 0, none[11]);              /* no room for a document */
    put_xml(large, XML_ELEMENT, 0, 0, document);                  /* far too large */
    put_xml(small, XML_ATTRIBUTE, 0, 0, document);
    put_xml(small_attribute, XML_ATTRIBUTE, 0, 0, document);
    run();
    is(document, "xmlDoc");
    for (size_t i = 0; i < 12; i++)
        is(none[i], "");
    is(large, "");
    is(small, "");
    is(small_attribute, "");
    assert_int_equal(flow.n_by_shape, 1);
}

/* Any one bit of the four words that is not as it was makes it no node, or one of another kind. */
static void mutated_nodes_of_xml(void **state)
{
    enum { N_WORDS = 4, N_BITS = 64 };
    static const unsigned offsets[N_WORDS] = {8, 48, 56, 64};
    hs_addr document = world_block(w, 184), mutants[N_WORDS * N_BITS];

    put_xml(document, XML_DOCUMENT, 0, 0, document);
    for (unsigned i = 0; i < N_WORDS * N_BITS; i++) {
        mutants[i] = world_block(w, 120);
        put_xml(mutants[i], XML_ELEMENT, 0, 0, document);
        *world_word(w, mutants[i] + offsets[i / N_BITS]) ^= UINT64_C(1) << i % N_BITS;
    }
    run();
    is(document, "xmlDoc");
    for (unsigned i = 0; i < N_WORDS * N_BITS; i++) {
        bool is_node = i == 1 || i == 2; /* 3 and 5: text in CDATA and a reference */
        is(mutants[i], is_node ? "xmlNode" : "");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(trees),
        TEST(no_trees),
        TEST(lists),
        TEST(bodies),
        TEST(texts_with_zeros),
        TEST(arrays_beside_their_counts),
        TEST(arrays_beside_other_numbers),
        TEST(buffer_of_file),
        TEST(tables),
        TEST(table_of_root),
        TEST(tables_of_other_counts),
        TEST(tables_in_circles),
        TEST(tables_that_do_not_lead_back),
        TEST(tables_with_odd_buckets),
        TEST(table_in_its_own_nodes),
        TEST(deques),
        TEST(no_deques),
        TEST(deques_with_a_hole),
        TEST(many_false_tables),
        TEST(arrays_of_qt5),
        TEST(arrays_of_qt6),
        TEST(tables_of_qt5),
        TEST(tables_of_qt6),
        TEST(nodes_of_xml),
        TEST(texts_of_xml),
        TEST(no_nodes_of_xml),
        TEST(mutated_nodes_of_xml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
