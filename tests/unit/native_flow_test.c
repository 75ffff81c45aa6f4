/* links: hs_native */
#include "flow_nodes.h"

#include "fail_each.h"
#include "native/enclosing.h"

static void along_a_list(void **state)
{
    hs_addr nodes[5], text = world_block(w, 24), other = world_block(w, 24);
    for (int i = 0; i < 5; i++)
        nodes[i] = world_block(w, 40);
    for (int i = 0; i < 4; i++)
        *world_word(w, nodes[i]) = nodes[i + 1];
    *world_word(w, nodes[4]) = nodes[0];
    *world_word(w, nodes[2] + 8) = text + 4; /* into the middle of text */
    *world_word(w, nodes[3] + 24) = other;   /* void * says nothing */
    world_seed(w, nodes[1], NODE);
    run();
    for (int i = 0; i < 5; i++)
        is(nodes[i], "struct node");
    is(text, "char[]");
    is(other, "");
    assert_int_equal(flow.n_typed, 6);
    assert_int_equal(flow.n_by_rtti + flow.n_by_shape + flow.n_by_interpreter, 0);
}

static void arrays(void **state)
{
    hs_addr table = world_block(w, 64), node = world_block(w, 32), many = world_block(w, 100);
    hs_addr mixed = world_block(w, 96), single = world_block(w, 40), pairs = world_block(w, 64);
    hs_addr whole = world_block(w, 96);
    hs_addr spare = world_block(w, 80), head = world_block(w, 80), map = world_block(w, 80);
    *world_word(w, map) = 0x1234567890; /* in use in the middle */
    *world_word(w, map + 40) = *world_word(w, map + 48) = node;
    world_seed(w, map, NODE_POINTER);
    *world_word(w, table + 56) = node;
    *world_word(w, spare + 48) = 0x1234567890; /* behind the first half: in reserve */
    *world_word(w, head + 24) = 0x1234567890;
    world_seed(w, spare, NODE_POINTER);
    world_seed(w, head, NODE_POINTER);
    *world_word(w, many + 64) = node;          /* the third's next */
    *world_word(w, mixed + 32) = 0x1234567890; /* the second's next leads nowhere */
    *world_word(w, pairs + 8) = 77;
    world_seed(w, table, NODE_POINTER);
    world_seed(w, many + 32, NODE); /* to the second */
    world_seed(w, mixed, NODE);
    world_seed(w, single, NODE);
    world_seed(w, pairs, PAIR);
    world_seed(w, whole, NODES);
    run();
    is(table, "struct node *[]");
    is(node, "struct node");
    is(many, "struct node[]");
    is(mixed, "struct node");
    is(single, "struct node");
    is(pairs, "struct pair[]");
    is(whole, "struct node[]");
    is(spare, "struct node *[]");
    is(head, "struct node *");
    is(map, "struct node *[]");
    const struct hs_native_type *type = &flow.types.types[0];
    assert_int_equal(type->type.stride_bytes, 0); /* the plain one is asked about first */
    for (size_t i = 0; i < flow.types.n_types; i++)
        if (flow.types.types[i].is_array)
            assert_int_equal(flow.types.types[i].type.stride_bytes, flow.types.types[i].n_bytes);
}

/* struct { long tag; T *one; } [n]: the tag says what the pointer leads to, or that it is none. */
static void what_the_value_tells(void **state)
{
    hs_addr values = world_block(w, 64), nodes[4];
    world_type(PAIR, "struct tagged", HS_CTYPE_RECORD, 16);
    world_slot(PAIR, "one", 8, NODE);
    world_types[PAIR].slots[0].n_choices = 1;
    world_types[PAIR].slots[0].first_choice = 7;
    world_types[PAIR].slots[0].may_be_pointer_only = true;
    for (unsigned i = 0; i < 4; i++) {
        nodes[i] = world_block(w, 32);
        *world_word(w, values + 16 * (hs_addr)i) = i % 2 == 0 ? 7 : 8;
        *world_word(w, values + 16 * (hs_addr)i + 8) = nodes[i];
    }
    world_seed(w, values, PAIR);
    run();
    is(values, "struct tagged[]");
    for (unsigned i = 0; i < 4; i++)
        is(nodes[i], i % 2 == 0 ? "struct node" : "");
}

/* A leaf and what is larger stand in each other's place. */
static void larger_records(void **state)
{
    hs_addr leaf = world_block(w, 40), inner = world_block(w, 56), narrow = world_block(w, 64);
    world_types[NODE].larger = PAIR;
    uint64_t had = world_types[PAIR].facts.n_bytes;
    world_types[PAIR].facts.n_bytes = 56;
    world_seed(w, leaf, NODE);
    world_seed(w, inner, NODE);
    world_seed(w, narrow, NODE); /* two leaves' room: no array of them */
    run();
    world_types[PAIR].facts.n_bytes = had;
    world_types[NODE].larger = 0;
    is(leaf, "struct node");
    is(inner, "struct pair");
    is(narrow, "struct pair");
}

/* What a pointer leads to has nothing of the type's pointers. */
static void stale_pointers(void **state)
{
    hs_addr text = world_block(w, 32), empty = world_block(w, 32);
    memset(world_word(w, text), 'a', 32);
    world_seed(w, text, NODE);
    world_seed(w, empty, NODE);
    run();
    is(text, "");
    is(empty, "struct node");
}

/* Four buckets of 32 bytes, then their control bytes. */
static hs_addr put_swiss(hs_addr next)
{
    hs_addr table = world_block(w, 4 * 32 + 4 + 16);
    uint8_t *control = (uint8_t *)world_word(w, table + 128);
    memset(world_word(w, table), 'a', 128); /* free buckets hold anything */
    memset(control, 0xff, 20);
    control[1] = control[17] = 0x12;
    control[2] = control[18] = 0x80;
    memset(world_word(w, table + 64), 0, 32); /* bucket 1 */
    *world_word(w, table + 64) = next;
    world_seed(w, table + 128, NODE);
    return table;
}

static void swiss_tables(void **state)
{
    hs_addr node = world_block(w, 32);
    hs_addr good = put_swiss(node), wrong = put_swiss(0x1234567890), torn = put_swiss(node);
    hs_addr odd = put_swiss(node);
    *(uint8_t *)world_word(w, torn + 128 + 16) = 0x33; /* not again what stands in front */
    ((uint8_t *)world_word(w, odd + 128))[0] = 0x81;
    ((uint8_t *)world_word(w, odd + 128))[16] = 0x81;
    run();
    is(good, "struct node[]");
    is(node, "struct node");
    is(wrong, "");
    is(torn, "");
    is(odd, "");
}

/* Nothing flows on from a bucket that is empty. */
static void an_empty_bucket(void **state)
{
    hs_addr node = world_block(w, 32), table = put_swiss(node), text = world_block(w, 24);
    *world_word(w, table + 8) = text; /* of the last bucket, where nothing is */
    run();
    is(table, "struct node[]");
    is(node, "struct node");
    is(text, "");
}

/* Of Rust: what Arc::into_raw gave leads to the value, behind the counts. */
static void behind_the_counts(void **state)
{
    hs_addr whole = world_block(w, 48), larger = world_block(w, 64), other = world_block(w, 48);
    hs_addr text = world_block(w, 24);
    world_type(LINK, "ArcInner<node>", HS_CTYPE_RECORD, 48);
    world_slot(LINK, "data.text", 24, TEXT);
    world_types[NODE].counted = LINK;
    world_types[NODE].counted_at = 16;
    *world_word(w, whole + 24) = text;
    world_seed(w, whole + 16, NODE);
    world_seed(w, larger + 16, NODE); /* there is more in it */
    world_seed(w, other + 8, NODE);
    run();
    world_types[NODE].counted = 0;
    is(whole, "ArcInner<node>");
    is(text, "char[]");
    is(larger, "");
    is(other, "");
}

/* Of C++: what `new T[n]` gave leads to the elements, behind their number. */
static void behind_their_number(void **state)
{
    hs_addr many = world_block(w, 104), text = world_block(w, 24), plain = world_block(w, 104);
    hs_addr more = world_block(w, 136), wild = world_block(w, 104), single = world_block(w, 40);
    hs_addr counted = world_block(w, 40), wide = world_block(w, 96), none = world_block(w, 40);
    const hs_addr numbered[] = {many, more, wild, plain};
    world_type(LINK, "Counted", HS_CTYPE_RECORD, 40); /* { long references; node value; } */
    world_slot(LINK, "value.text", 16, TEXT);
    world_types[NODE].may_be_numbered = true;
    for (size_t i = 0; i < 4; i++)
        *world_word(w, numbered[i]) = 3;
    *world_word(w, many + 8 + 64 + 8) = text; /* of the last one */
    *world_word(w, wild + 8 + 64) = 0x1234567890;
    *world_word(w, single) = *world_word(w, counted) = 1;
    *world_word(w, wide + 24) = 2; /* as much room as a node is aligned to */
    world_seed(w, many + 8, NODE);
    world_seed(w, more + 8, NODE); /* there is more in it than three */
    world_seed(w, wild + 8, NODE);
    world_seed(w, plain + 16, NODE);
    world_seed(w, single + 8, NODE);
    world_seed(w, counted + 8, NODE);
    world_seed(w, counted, LINK);
    world_seed(w, wide + 32, NODE);
    world_seed(w, none + 8, NODE);
    run();
    world_types[NODE].may_be_numbered = false;
    is(many, "struct node[]");
    is(text, "char[]");
    is(more, "");
    is(wild, "");
    is(plain, "");
    is(single, "struct node[]");
    is(counted, "Counted");
    is(wide, "struct node[]");
    is(none, "");
}

/* Types flow on from elements behind a record; of a header that makes no sense all are in use. */
static void elements_behind_a_record(void **state)
{
    hs_addr items[2], nodes[6];
    world_type(LINK, "struct items", HS_CTYPE_RECORD, 16);
    world_types[LINK].tail =
        (struct hs_ctail){.element = NODE_POINTER, .at_bytes = 16, .begin_at = 8, .end_at = 12};
    for (int i = 0; i < 6; i++)
        nodes[i] = world_block(w, 40);
    for (int k = 0; k < 2; k++) {
        items[k] = world_block(w, 40);
        for (int i = 0; i < 3; i++)
            *world_word(w, items[k] + 16 + 8 * (uint64_t)i) = nodes[3 * k + i];
        world_seed(w, items[k], LINK);
    }
    *world_word(w, items[0] + 8) = UINT64_C(2) << 32 | 1; /* the second alone */
    *world_word(w, items[1] + 8) = UINT64_C(9) << 32;
    run();
    for (int i = 0; i < 6; i++)
        is(nodes[i], i == 0 || i == 2 ? "" : "struct node");
    is(items[0], "struct items");
}

/* What may be two records of a kind is one that begins with such, if a pointer says so. */
static void a_record_before_a_guessed_array(void **state)
{
    hs_addr entry = world_block(w, 64), array = world_block(w, 64), wide = world_block(w, 96);
    hs_addr blocks[] = {entry, array, wide};
    world_type(USER, "struct entry", HS_CTYPE_RECORD, 64);
    world_slot(USER, "node.next", 0, NODE);
    world_slot(USER, "other", 32, NODE);
    for (int i = 0; i < 3; i++) {
        *world_word(w, blocks[i]) = *world_word(w, blocks[i] + 32) = array;
        world_seed(w, blocks[i], NODE);
    }
    world_seed(w, entry, USER);
    world_seed(w, wide, USER); /* does not fill it */
    run();
    is(entry, "struct entry");
    is(array, "struct node[]");
    is(wide, "struct node[]");
}

static void what_tells_nothing(void **state)
{
    hs_addr small = world_block(w, 24), middle = world_block(w, 64), blocks[5];
    hs_addr raw = world_block(w, 64), node = world_block(w, 32);
    for (int i = 0; i < 5; i++)
        blocks[i] = world_block(w, 64);
    world_seed(w, small, NODE);      /* does not fit */
    world_seed(w, middle + 8, NODE); /* begins with something else */
    *world_word(w, raw + 16) = node;
    world_seed(w, raw, BUFFER); /* four bytes and something that holds a pointer: no array */
    world_seed(w, blocks[0], VOID);
    world_seed(w, blocks[1], 0);
    world_seed(w, blocks[2], DECLARED);
    world_seed(w, WORLD_STATIC, NODE);
    world_seed(w, WORLD_UNMAPPED, NODE);
    *world_word(w, blocks[3]) = node; /* a union's word */
    world_seed(w, blocks[3], UNION);
    run();
    is(small, "");
    is(middle, "");
    is(raw, "struct buffer");
    is(node, "");
    for (int i = 0; i < 3; i++)
        is(blocks[i], "");
    is(blocks[3], "union any[]");
}

/* Text gives way to records, records to nobody. */
static void who_comes_first(void **state)
{
    hs_addr a = world_block(w, 32), b = world_block(w, 32), c = world_block(w, 32);
    hs_addr d = world_block(w, 32);
    *world_word(w, a) = b;
    *world_word(w, b) = d;
    world_seed(w, a, TEXT);
    world_seed(w, b, TEXT);
    world_seed(w, a, NODE);
    world_seed(w, a, PAIR);
    world_seed(w, c, PAIR);
    world_seed(w, c, TEXT);
    world_seed(w, c, NODE);
    run();
    is(a, "struct node");
    is(b, "struct node");
    is(c, "struct node"); /* two pairs are a guess, a node that fills it is none */
    is(d, "struct node");
    assert_int_equal(flow.n_typed, 4);
}

static void through_a_mask(void **state)
{
    hs_addr a = world_block(w, 32), b = world_block(w, 32), c = world_block(w, 48);
    w->options.pointer_mask = UINT64_C(0xffff000000000000);
    *world_word(w, a) = b | UINT64_C(0x8001) << 48;
    *world_word(w, a + 8) = c;
    world_seed(w, a | UINT64_C(1) << 63, NODE);
    run();
    is(a, "struct node");
    is(b, "struct node");
    is(c, "char[]");
}

static void pieces_of_mappings(void **state)
{
    w->states = HS_BLOCK_MAPPING | HS_BLOCK_STATIC;
    w->owner = HS_OWNER_MAPPING;
    hs_addr piece = world_block(w, 4096);
    world_seed(w, piece, NODE);
    run();
    is(piece, "");
}

/* Two units that say the same are one type; two that differ are two of one name. */
static void one_type_of_two_units(void **state)
{
    enum { SAME = 20, OTHER };
    world_type(SAME, "struct pair", HS_CTYPE_RECORD, 16);
    world_type(OTHER, "struct pair", HS_CTYPE_RECORD, 24);
    hs_addr a = world_block(w, 16), b = world_block(w, 16), c = world_block(w, 24);
    world_seed(w, a, PAIR);
    world_seed(w, b, SAME);
    world_seed(w, c, OTHER);
    run();
    assert_int_equal(hs_flow_type(&flow, 0), hs_flow_type(&flow, 1));
    assert_int_not_equal(hs_flow_type(&flow, 0), hs_flow_type(&flow, 2));
    is(c, "struct pair");
    assert_int_equal(flow.types.n_types, 2);
}

static void members_of_records(void **state)
{
    hs_addr a = world_block(w, 40), b = world_block(w, 96);
    struct hs_member *members;
    size_t n;
    world_seed(w, a, NODE);
    world_seed(w, b, NODE_POINTER);
    run();
    assert_int_equal(hs_native_types_members(&flow.types, &members, &n, &world_err), HS_OK);
    assert_int_equal(n, 3);
    static const char *const names[] = {"next", "text", "any"};
    static const uint64_t offsets[] = {0, 8, 24};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(members[i].type, hs_flow_type(&flow, 0) - 1);
        assert_int_equal(members[i].offset_bytes, offsets[i]);
        assert_string_equal(hs_strtab_get(&w->dump.strings, members[i].name), names[i]);
    }
    assert_string_equal(hs_strtab_get(&w->dump.strings, members[0].type_name), "struct node");
    hs_free(members);
}

/* struct user { struct node *owner; struct link { struct link *next, *prev; } link; void *a, *b; }:
 * lists that are linked by a member of what they hold. */
static void with_links(void)
{
    world_type(LINK, "struct link", HS_CTYPE_RECORD, 16);
    world_slot(LINK, "next", 0, LINK);
    world_slot(LINK, "prev", 8, LINK);
    world_type(LINK_POINTER, "struct link *", HS_CTYPE_POINTER, 8);
    world_slot(LINK_POINTER, NULL, 0, LINK);
    world_type(USER, "struct user", HS_CTYPE_RECORD, 40);
    world_slot(USER, "owner", 0, NODE);
    world_slot(USER, "link.next", 8, LINK);
    world_slot(USER, "link.prev", 16, LINK);
    world_slot(USER, "a", 24, 0);
    world_slot(USER, "b", 32, 0);
    world_types[USER].part = LINK;
    world_types[USER].part_offset = 8;
}

enum { LINKED = 300 };

/* A ring whose head is a variable, of which a pointer to the first link is known. */
static void ring(hs_addr *users, size_t n)
{
    for (size_t i = 0; i < n; i++)
        users[i] = world_block(w, 40);
    for (size_t i = 0; i < n; i++) {
        *world_word(w, users[i] + 8) = i + 1 < n ? users[i + 1] + 8 : WORLD_STATIC;
        *world_word(w, users[i] + 16) = i > 0 ? users[i - 1] + 8 : WORLD_STATIC;
    }
    world_seed(w, users[0] + 8, LINK);
}

static void linked_by_a_member(void **state)
{
    hs_addr users[LINKED], node = world_block(w, 40), text = world_block(w, 24);
    with_links();
    ring(users, LINKED);
    for (size_t i = 0; i < LINKED; i++)
        *world_word(w, users[i]) = node;
    *world_word(w, node + 8) = text;
    run(); /* that `owner` is a node is known of no block before: all agree */
    for (size_t i = 0; i < LINKED; i++)
        is(users[i], "struct user");
    is(node, "struct node");
    hs_flow_fini(&flow);
    world_seed(w, node, NODE);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    for (size_t i = 0; i < LINKED; i++)
        is(users[i], "struct user");
    is(text, "char[]");
}

/* All pointers to members lie in one array: more of them than are kept to be judged. */
static void many_members_at_once(void **state)
{
    hs_addr users[LINKED], node = world_block(w, 40), all = world_block(w, LINKED * 8);
    with_links();
    for (size_t i = 0; i < LINKED; i++) {
        users[i] = world_block(w, 40);
        *world_word(w, users[i]) = node;
        *world_word(w, all + 8 * i) = users[i] + 8;
    }
    world_seed(w, node, NODE);
    world_seed(w, all, LINK_POINTER);
    run();
    for (size_t i = 0; i < LINKED; i++)
        is(users[i], "struct user");
}

/* What two pointers of it lead to the starts of blocks is enough where one record is possible. */
static void the_only_record_that_fits(void **state)
{
    hs_addr users[2], some = world_block(w, 24), other = world_block(w, 24);
    with_links();
    ring(users, 2);
    *world_word(w, users[1] + 24) = some;
    *world_word(w, users[1] + 32) = other;
    run();
    is(users[0], "struct user");
    is(users[1], "struct user");
}

static void words_of_no_such_record(void **state)
{
    hs_addr users[3], node = world_block(w, 40);
    with_links();
    ring(users, 3);
    for (size_t i = 0; i < 3; i++)
        *world_word(w, users[i] + 32) = node;
    *world_word(w, users[0]) = WORLD_UNMAPPED; /* no `owner` */
    *world_word(w, users[1]) = node;
    world_seed(w, node, NODE);
    run();
    for (size_t i = 0; i < 3; i++)
        is(users[i], "");
}

/* struct guest has the same size, with the link in the same place. */
static void two_records_that_may_be(void **state)
{
    hs_addr users[3], node = world_block(w, 40);
    with_links();
    world_types[GUEST] = world_types[USER];
    world_types[GUEST].facts.name = "struct guest";
    world_types[GUEST].slots[0].pointee = PAIR;
    ring(users, 3);
    for (size_t i = 0; i < 3; i++)
        *world_word(w, users[i] + 24) = *world_word(w, users[i] + 32) = node;
    run();
    is(users[1], ""); /* nothing tells them apart */
    hs_flow_fini(&flow);
    *world_word(w, users[2]) = node; /* a node, not a pair */
    world_seed(w, node, NODE);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    is(users[0], "");
    is(users[1], "");
    is(users[2], "struct user");
}

/* What a file can make of groups and records ends with the words that may be held against them. */
static void looks_end(void **state)
{
    hs_addr users[2], node = world_block(w, 40);
    with_links();
    ring(users, 2);
    *world_word(w, users[0]) = *world_word(w, users[1]) = node;
    world_seed(w, node, NODE);
    run();
    is(users[0], "struct user");
    for (uint64_t most_looks = 0; most_looks < 2; most_looks++) {
        struct hs_enclosing enclosing = {.by = {.native = &w->native, .flow = &flow},
                                         .types = &flow.types,
                                         .most_looks = most_looks * 1000};
        struct hs_enclosing_answer answer;
        struct hs_heap_block block;
        assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, users[0], &block),
                         HS_POINTER_START);
        WORLD_OK(hs_native_enclosing_ask(&enclosing, &block, LINK, 16, 8, &answer, &world_err));
        assert_true(answer.is_open && answer.leads_on && answer.record == 0);
        WORLD_OK(hs_native_enclosing_settle(&enclosing, &world_err));
        WORLD_OK(hs_native_enclosing_ask(&enclosing, &block, LINK, 16, 8, &answer, &world_err));
        assert_false(answer.is_open);
        assert_int_equal(answer.record, most_looks == 0 ? 0 : USER);
        hs_native_enclosing_fini(&enclosing);
    }
}

/* A record that another begins with is no array of the first, however many pointers it has. */
static void no_array_but_an_heir(void **state)
{
    hs_addr user = world_block(w, 40), links = world_block(w, 5 * 16), few = world_block(w, 2 * 16);
    with_links();
    world_types[USER].part_offset = 0;
    for (int i = 0; i < 5; i++)
        *world_word(w, user + 8 * (hs_addr)i) = user;
    for (int i = 0; i < 10; i++)
        *world_word(w, links + 8 * (hs_addr)i) = links;
    for (int i = 0; i < 4; i++)
        *world_word(w, few + 8 * (hs_addr)i) = few;
    world_seed(w, user, LINK);
    world_seed(w, links, LINK);
    world_seed(w, few, LINK);
    run();
    is(user, "struct user"); /* its own words lead to its start */
    is(links, "struct link[]");
    is(few, "struct link");
}

/* The first member of a larger record is replaced by that, not the other way round. */
static void a_record_that_begins_with_another(void **state)
{
    hs_addr user = world_block(w, 40);
    with_links();
    *world_word(w, user + 8) = *world_word(w, user + 16) = user + 8;
    world_seed(w, user, PAIR);
    world_seed(w, user, USER);
    world_seed(w, user, PAIR);
    run();
    is(user, "struct user");
}

static void without_debug_information(void **state)
{
    hs_addr a = world_block(w, 40);
    world_seed(w, a, NODE);
    w->native.ctypes = NULL;
    run();
    is(a, "");
    hs_ntype size = 0, again = 0;
    WORLD_OK(hs_native_types_of_size(&flow.types, 40, &size, &world_err));
    WORLD_OK(hs_native_types_of_size(&flow.types, 40, &again, &world_err));
    assert_int_equal(size, again);
    assert_string_equal(
        hs_strtab_get(&w->dump.strings, hs_native_type_of(&flow.types, size)->type.name),
        "block of 40 bytes");
    for (uint64_t i = 1; i < 3000; i++) {
        WORLD_OK(hs_native_types_of_size(&flow.types, i * 8, &size, &world_err));
        assert_int_equal(hs_native_type_of(&flow.types, size)->type.form, HS_FORM_BYTES);
    }
    assert_int_equal(flow.types.n_types, 2999);
}

static void every_allocation_fails(void **state)
{
    hs_addr a = world_block(w, 40), b = world_block(w, 40), users[2];
    with_links();
    ring(users, 2);
    *world_word(w, users[0]) = b;
    *world_word(w, a) = b;
    world_seed(w, a, NODE);
    world_seal(w);
    FAIL_EACH (each, .at_least = 4) {
        if (FAIL_EACH_TRY(each, hs_native_flow(&w->native, &flow, &world_err)) != HS_OK)
            hs_strtab_fini(&w->dump.strings);
    }
    is(b, "struct node");
    is(users[0], "struct user");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(along_a_list),
        TEST(arrays),
        TEST(what_the_value_tells),
        TEST(larger_records),
        TEST(stale_pointers),
        TEST(swiss_tables),
        TEST(an_empty_bucket),
        TEST(behind_the_counts),
        TEST(behind_their_number),
        TEST(elements_behind_a_record),
        TEST(a_record_before_a_guessed_array),
        TEST(what_tells_nothing),
        TEST(who_comes_first),
        TEST(through_a_mask),
        TEST(pieces_of_mappings),
        TEST(one_type_of_two_units),
        TEST(members_of_records),
        TEST(linked_by_a_member),
        TEST(many_members_at_once),
        TEST(the_only_record_that_fits),
        TEST(words_of_no_such_record),
        TEST(two_records_that_may_be),
        TEST(looks_end),
        TEST(no_array_but_an_heir),
        TEST(a_record_that_begins_with_another),
        TEST(without_debug_information),
        TEST(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
