/* links: hs_native */
#include "flow_nodes.h"

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

/* Where words are at hand by region no block is until all pointers to it were met. */
static void a_beginning_before_the_whole(void **state)
{
    hs_addr user = world_block(w, 40), text = world_block(w, 40), next = world_block(w, 40);
    hs_addr text_too = world_block(w, 40);
    with_links();
    world_types[USER].slots[3].pointee = TEXT;
    *world_word(w, user + 8) = *world_word(w, next + 8) = next;
    *world_word(w, user + 24) = text;
    *world_word(w, next + 24) = text_too;
    world_seed(w, user, TEXT);
    world_seed(w, user, LINK);
    world_seed(w, user, USER);
    world_seed(w, next, USER);
    world_seed(w, next, LINK);
    world_seed(w, next, TEXT);
    w->native.is_large = true;
    run();
    is(user, "struct user");
    is(next, "struct user");
    is(text, "char[]");
    is(text_too, "char[]");
}

/* Two records that fill a block, one that is its beginning, and text: whichever is met first, and
 * however far away its words are, each block has one type, and so has what it leads to. */
static void in_any_order(void **state)
{
    enum { BLOCKS = 12 };
    hs_addr blocks[BLOCKS], text = world_block(w, 40), withdrawn = world_block(w, 40);
    char first[BLOCKS][32];
    with_links();
    world_types[USER].slots[3].pointee = TEXT;
    world_type(GUEST, "struct guest", HS_CTYPE_RECORD, 40);
    world_slot(GUEST, "link.next", 0, LINK);
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = world_block(w, i % 3 == 2 ? 96 : 40);
    for (size_t i = 0; i < BLOCKS; i++) {
        *world_word(w, blocks[i]) = blocks[(i + 5) % BLOCKS];
        *world_word(w, blocks[i] + 8) = blocks[(i + 1) % BLOCKS];
        *world_word(w, blocks[i] + 24) = i % 3 == 2 ? text : withdrawn;
        for (size_t k = 0; k < 4; k++)
            world_seed(w, blocks[i], (hs_ctype[]){TEXT, LINK, GUEST, USER}[(i + k) % 4]);
    }
    world_seal(w);
    for (unsigned seed = 0; seed < 24; seed++) {
        w->options.order =
            (struct hs_dump_order){.seed = seed, .region_bits = seed % 2 == 0 ? 0 : 6};
        WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
        for (size_t i = 0; i < BLOCKS && seed == 0; i++)
            snprintf(first[i], sizeof first[i], "%s", world_type_of(w, &flow, blocks[i]));
        for (size_t i = 0; i < BLOCKS; i++)
            is(blocks[i], first[i]);
        is(text, "struct link");
        is(withdrawn, ""); /* a struct user leads to it, and none is left */
        hs_flow_fini(&flow);
    }
    assert_string_equal(first[0], "struct guest"); /* by its name: nothing else tells them apart */
    assert_string_not_equal(first[2], "char[]");
}

/* Two records that have nothing to do with each other and fill one block: it is the one that more
 * pointers say, whatever their names are; a variable of a call comes after all others. */
static void the_many_win(void **state)
{
    enum { HOLDERS = 5 };
    hs_addr block = world_block(w, 40), old = world_block(w, 40), behind = world_block(w, 40);
    hs_addr large = world_block(w, 96), holders[HOLDERS];
    world_type(USER, "struct user", HS_CTYPE_RECORD, 40);
    world_slot(USER, "owner", 0, NODE);
    world_type(GUEST, "struct guest", HS_CTYPE_RECORD, 40); /* whose name comes first */
    world_slot(GUEST, "next", 0, GUEST);
    world_type(LINK, "struct holder", HS_CTYPE_RECORD, 40);
    world_slot(LINK, "user", 0, USER);
    world_type(LINK_POINTER, "struct small", HS_CTYPE_RECORD, 64);
    for (size_t i = 0; i < HOLDERS; i++) {
        holders[i] = world_block(w, 40);
        *world_word(w, holders[i]) = block;
        world_seed(w, holders[i], LINK);
    }
    *world_word(w, block) = behind;
    world_seed(w, block, GUEST);
    world_seed(w, block, GUEST);
    world_seed(w, old, USER);
    world_seed(w, large, LINK_POINTER);
    for (size_t i = 0; i < 3; i++) {
        world_seed(w, i < 2 ? old : large, GUEST);
        w->native.seeds[w->native.n_seeds - 1].is_of_call = true;
    }
    for (unsigned seed = 0; seed < 12; seed++) {
        if (seed == 0)
            world_seal(w);
        w->options.order =
            (struct hs_dump_order){.seed = seed, .region_bits = seed % 2 == 0 ? 0 : 6};
        WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
        is(block, "struct user");
        is(behind, "struct node"); /* what a struct guest leads to is withdrawn */
        is(old, "struct user");
        is(large, "struct small");
        hs_flow_fini(&flow);
    }
}

/* A node of a list is one value of its block, and a link to a list's head leads to no node. */
static void heads_and_nodes(void **state)
{
    hs_addr head = world_block(w, 40), room = world_block(w, 96), node = world_block(w, 40);
    world_type(LINK, "list<V>::node", HS_CTYPE_RECORD, 40);
    world_slot(LINK, "next", 0, LINK);
    world_types[LINK].is_node = true;
    world_type(USER, "struct user", HS_CTYPE_RECORD, 40); /* { list<V> all; ... } */
    world_slot(USER, "all.first", 0, LINK);
    world_type(GUEST, "a user", HS_CTYPE_RECORD, 40); /* of a name that comes first */
    *world_word(w, head) = node;
    *world_word(w, node) = head;
    for (uint64_t at = 0; at < 96; at += 8)
        *world_word(w, room + at) = node;
    for (unsigned seed = 0; seed < 12; seed++) {
        world_seed(w, head, seed % 2 == 0 ? USER : LINK);
        world_seed(w, room, LINK);
        if (seed == 0)
            world_seal(w);
        w->options.order.seed = seed;
        WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
        is(head, "struct user");
        is(node, "list<V>::node");
        is(room, "list<V>::node"); /* and no array of such */
        hs_flow_fini(&flow);
    }
}

/* The least block is for one value; of numbers some of which have old pointers behind them each is
 * one, and so is one that was given 16 bytes more. */
static void what_the_memory_held_before(void **state)
{
    hs_addr least[20], old[4], clean[4], wide = world_block(w, 40), plenty[8];
    world_type(USER, "struct word", HS_CTYPE_RECORD, 8);
    for (int i = 0; i < 20; i++) {
        least[i] = world_block(w, 24);
        world_seed(w, least[i], USER);
    }
    for (int i = 0; i < 4; i++) {
        old[i] = world_block(w, 64);
        clean[i] = world_block(w, 64);
        *world_word(w, old[i] + 32) = least[i];
        world_seed(w, old[i], USER);
        world_seed(w, clean[i], USER);
    }
    world_seed(w, wide, USER);
    for (int i = 0; i < 8; i++) {
        plenty[i] = world_block(w, 128);
        world_seed(w, plenty[i], USER);
    }
    run();
    is(least[0], "struct word");
    is(wide, "struct word");
    for (int i = 0; i < 4; i++) {
        is(old[i], "struct word");
        is(clean[i], "struct word");
        is(plenty[i], "struct word[]");
    }
}

/* An array of pointers looks like one of records if all of its words may be pointers, but for a
 * vector among their members, which begins and ends in one block. */
static void pointers_are_no_vectors(void **state)
{
    enum { SLOTS = 9 };
    hs_addr array = world_block(w, SLOTS * 8), real = world_block(w, 32), nodes[SLOTS];
    world_type(GUEST, "struct guest", HS_CTYPE_RECORD, 32);
    for (unsigned i = 0; i < 4; i++)
        world_slot(GUEST, "p", 8 * i, i == 0 ? GUEST : TEXT);
    for (unsigned i = 1; i < 4; i++) /* begin, end, end of room */
        world_types[GUEST].slots[i].is_owned = true;
    world_types[GUEST].slots[2].is_end = world_types[GUEST].slots[3].is_end = true;
    world_type(LINK_POINTER, "struct guest *", HS_CTYPE_POINTER, 8);
    world_slot(LINK_POINTER, NULL, 0, GUEST);
    for (size_t i = 0; i < SLOTS; i++) {
        nodes[i] = world_block(w, 40);
        *world_word(w, array + 8 * i) = nodes[i];
    }
    *world_word(w, real + 8) = nodes[0];
    *world_word(w, real + 16) = nodes[0] + 24;
    *world_word(w, real + 24) = nodes[0] + 40;
    world_seed(w, array, GUEST);
    world_seed(w, array, LINK_POINTER);
    world_seed(w, real, GUEST);
    run();
    is(array, "struct guest *[]");
    is(real, "struct guest");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_beginning_before_the_whole),
        TEST(in_any_order),
        TEST(the_many_win),
        TEST(heads_and_nodes),
        TEST(what_the_memory_held_before),
        TEST(pointers_are_no_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
