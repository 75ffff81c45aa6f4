/* links: hs_native */
/* What blocks of one size say together: which record they are, of which heir. native_flow_test.c
 * has what flows from there. */
#include "flow_world.h"

#include "native/enclosing.h"

enum { NODE = 1, LINK, USER, SHAPE, CIRCLE, BOX };

static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    world_type(NODE, "struct node", HS_CTYPE_RECORD, 32);
    world_slot(NODE, "next", 0, NODE);
    return 0;
}

/* struct user { struct node *owner; struct link { struct link *next, *prev; } link; void *a, *b; }:
 * lists that are linked by a member of what they hold. */
static void with_links(void)
{
    world_type(LINK, "struct link", HS_CTYPE_RECORD, 16);
    world_slot(LINK, "next", 0, LINK);
    world_slot(LINK, "prev", 8, LINK);
    world_type(USER, "struct user", HS_CTYPE_RECORD, 40);
    world_slot(USER, "owner", 0, NODE);
    world_slot(USER, "link.next", 8, LINK);
    world_slot(USER, "link.prev", 16, LINK);
    world_slot(USER, "a", 24, 0);
    world_slot(USER, "b", 32, 0);
    world_types[USER].part = LINK;
    world_types[USER].part_offset = 8;
}

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

/* What is enough for many together is not for a few. */
static void few_linked_by_a_member(void **state)
{
    hs_addr users[4], node = world_block(w, 40);
    with_links();
    ring(users, 4);
    for (size_t i = 0; i < 4; i++)
        *world_word(w, users[i]) = node;
    run();
    for (size_t i = 0; i < 4; i++)
        is(users[i], "");
}

/* And many are nothing when one of them denies it. */
static void many_of_which_one_denies(void **state)
{
    hs_addr users[100], node = world_block(w, 40);
    with_links();
    ring(users, 100);
    for (size_t i = 0; i < 100; i++)
        *world_word(w, users[i]) = i == 50 ? WORLD_UNMAPPED : node;
    run();
    for (size_t i = 0; i < 100; i++)
        is(users[i], "");
}

/* struct shape is the base class of struct circle, 40 bytes, and nothing in either leads anywhere.
 */
static void with_heirs(void)
{
    world_type(SHAPE, "struct shape", HS_CTYPE_RECORD, 8);
    world_type(CIRCLE, "struct circle", HS_CTYPE_RECORD, 40);
    world_types[CIRCLE].base = SHAPE;
}

static void an_heir_by_its_size(void **state)
{
    with_heirs();
    hs_addr circle = world_block(w, 40), nearly = world_block(w, 56), shapes = world_block(w, 96),
            node = world_block(w, 40), no_circle = world_block(w, 40);
    world_seed(w, circle, SHAPE);
    world_seed(w, nearly, SHAPE); /* malloc left no rest */
    world_seed(w, shapes, SHAPE);
    run();
    is(circle, "struct circle");
    is(nearly, "struct circle");
    is(shapes, "struct shape[]"); /* which nothing else can be */
    *world_word(w, no_circle + 16) = node;
    *world_word(w, circle + 16) = node;
    world_seed(w, no_circle, SHAPE);
    hs_flow_fini(&flow);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    is(circle, "struct shape"); /* both have a pointer that no circle has */
    is(nearly, "struct circle");
}

static void heirs_of_one_size(void **state)
{
    with_heirs();
    world_type(BOX, "struct box", HS_CTYPE_RECORD, 40);
    world_types[BOX].base = SHAPE;
    world_slot(BOX, "name", 8, 0);
    hs_addr circle = world_block(w, 40), box = world_block(w, 40), either = world_block(w, 40),
            text = world_block(w, 24);
    *world_word(w, circle + 8) = WORLD_UNMAPPED; /* no pointer */
    *world_word(w, box + 8) = text;
    world_seed(w, circle, SHAPE);
    world_seed(w, box, SHAPE);
    world_seed(w, either, SHAPE);
    run();
    is(circle, "struct circle");
    is(box, "struct box");
    is(either, "struct shape");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(few_linked_by_a_member),
        TEST(many_of_which_one_denies),
        TEST(an_heir_by_its_size),
        TEST(heirs_of_one_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
