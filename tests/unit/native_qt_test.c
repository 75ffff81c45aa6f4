/* links: hs_native */
#include "unit.h"

#include "native/qt.h"
#include "native_world.h"

enum { QT5 = 8, QT6 = 12 }; /* where a private part has its connections */
enum { OBJECT_BYTES = 24, PART_BYTES = 120, SHARED_BEHIND = 2 };

static struct world *w;
static struct hs_flow flow;
static hs_addr parts[8];
static size_t n_parts;
static hs_addr proxy; /* of PyQt; 0: none */

static int set_up(void **state)
{
    w = world_new();
    w->native.ctypes = NULL;
    n_parts = 0;
    proxy = 0;
    return 0;
}

static int tear_down(void **state)
{
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

static struct hs_heap_block block_at(hs_addr begin)
{
    struct hs_heap_block block;
    assert_int_equal(hs_flow_resolve(&w->native, begin, &block), HS_POINTER_START);
    return block;
}

/* An object at `at`, whose private part has n_bytes. In memory that is no more the part's stands
 * what would stand there if it were. */
static hs_addr put_part(hs_addr at, hs_addr parent, uint64_t n_bytes)
{
    hs_addr part = world_block(w, n_bytes);
    *world_word(w, at + 8) = part;
    *world_word(w, part + 8) = at;
    *world_word(w, part + 16) = parent;
    parts[n_parts++] = part;
    return part;
}

static hs_addr object(hs_addr parent)
{
    hs_addr at = world_block(w, OBJECT_BYTES);
    put_part(at, parent, PART_BYTES);
    return at;
}

static hs_addr part_of(hs_addr at)
{
    return *world_word(w, at + 8);
}

static void run(uint8_t connections)
{
    hs_ntype type;
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err)); /* finds nothing: no objects */
    WORLD_OK(
        hs_native_types_of_name(&flow.types, "QObjectPrivate", HS_FORM_RECORD, &type, &world_err));
    flow.types.types[type - 1].layout = connections;
    for (size_t i = 0; i < n_parts; i++)
        hs_flow_set_type(&flow, block_at(parts[i]).rank, type);
    WORLD_OK(
        hs_native_types_of_name(&flow.types, "PyQtSlotProxy", HS_FORM_RECORD, &type, &world_err));
    if (proxy != 0)
        hs_flow_set_type(&flow, block_at(proxy).rank, type);
    WORLD_OK(hs_native_qt(&w->native, &flow, &world_err));
}

static void is(hs_addr block, const char *name)
{
    assert_string_equal(world_type_of(w, &flow, block), name);
}

static bool finds(hs_addr from, hs_addr to)
{
    const struct hs_heap_block a = block_at(from), b = block_at(to);
    return hs_bitmap_get(&flow.owned_alone, b.rank) && !hs_flow_owns_alone(&flow, &a);
}

static void put_list5(hs_addr parent, hs_addr list, uint64_t begin, uint64_t end)
{
    *world_word(w, part_of(parent) + 24) = list;
    *world_word(w, list) = 1 | UINT64_C(4) << 32;
    *world_word(w, list + 8) = begin | end << 32;
}

static void put_list6(hs_addr parent, hs_addr list, uint64_t first, uint64_t n)
{
    *world_word(w, part_of(parent) + 24) = list;
    *world_word(w, part_of(parent) + 32) = list + first;
    *world_word(w, part_of(parent) + 40) = n;
    *world_word(w, list) = 1;
    *world_word(w, list + 8) = 4;
}

static void parents_keep_their_children(uint8_t connections)
{
    hs_addr parent = object(0), list = world_block(w, 56), holder = world_block(w, 24);
    hs_addr child = object(parent), gone = object(parent), stranger = object(holder);
    if (connections == QT5)
        put_list5(parent, list, 1, 3);
    else
        put_list6(parent, list, 24, 2);
    *world_word(w, list + 24) = child;
    *world_word(w, list + 32) = stranger; /* whose parent is another one */
    *world_word(w, list + 40) = gone;     /* behind those that there are */
    run(connections);
    is(list, "QObjectPrivate::children");
    assert_true(finds(holder, child));
    assert_true(finds(part_of(child), child));
    assert_false(finds(list, child));
    assert_false(finds(holder, gone));
    assert_false(finds(holder, stranger));
    assert_false(finds(holder, parent));
    const struct hs_native_use use =
        hs_native_reserves_use(&flow.reserves, block_at(list).rank, block_at(list).n_bytes);
    assert_int_equal(use.from, 24);
    assert_int_equal(use.end, 40);
}

static void children_of_qt5(void **state)
{
    parents_keep_their_children(QT5);
}

static void children_of_qt6(void **state)
{
    parents_keep_their_children(QT6);
}

/* An object within its parent's memory is none of its own, and what is too short is none. */
static void no_children(void **state)
{
    hs_addr parent = world_block(w, 64), list = world_block(w, 56), odd = object(0);
    hs_addr small = world_block(w, OBJECT_BYTES), bad = world_block(w, 56);
    put_part(parent, 0, PART_BYTES);
    put_part(small, parent, 16);
    put_list6(parent, list, 16, 2);
    *world_word(w, list + 16) = parent + 32;
    *world_word(w, list + 24) = small;
    put_list6(odd, bad, 16, 6); /* more than there is room for */
    run(QT6);
    is(list, "QObjectPrivate::children");
    is(bad, "");
    assert_false(finds(list, parent));
    assert_false(finds(parent, small));
}

static void what_weak_pointers_share(void **state)
{
    hs_addr one = object(0), shared = world_block(w, 24);
    (void)object(0); /* to which there are none */
    *world_word(w, part_of(one) + (QT6 + SHARED_BEHIND) * 8) = shared;
    run(QT6);
    is(shared, "QtSharedPointer::ExternalRefCountData");
    assert_int_equal(flow.shared_counters.n, 1);
    assert_int_equal(hs_dict_get(&flow.shared_counters, shared, 0), one);
}

/* Each connection names its sender: a list ends with one that does not, and with one met before. */
static void connections_of_their_senders(void **state)
{
    hs_addr sender = object(0), receiver = object(0), data = world_block(w, 40);
    hs_addr vector = world_block(w, 56), a = world_block(w, 88), b = world_block(w, 88);
    hs_addr foreign = world_block(w, 88);
    const hs_addr chain[] = {a, b, foreign};
    *world_word(w, part_of(sender) + QT6 * 8) = data;
    *world_word(w, data + 8) = vector;
    *world_word(w, vector + 8) = 1; /* a signal, and one list for all */
    *world_word(w, vector + 16) = a;
    *world_word(w, vector + 32) = b;
    for (size_t i = 0; i < 3; i++) {
        *world_word(w, chain[i] + 16) = i < 2 ? chain[i + 1] : 0;
        *world_word(w, chain[i] + 32) = i < 2 ? sender : receiver;
        *world_word(w, chain[i] + 40) = receiver;
    }
    run(QT6);
    is(data, "QObjectPrivate::ConnectionData");
    is(vector, "QObjectPrivate::SignalVector");
    is(a, "QObjectPrivate::Connection");
    is(b, "QObjectPrivate::Connection");
    is(foreign, "");
}

/* A proxy lives as long as its connection, which owns it; no other receiver is owned. */
static void connections_to_proxies(void **state)
{
    enum { RECEIVER = 1 << 5 };
    hs_addr sender = object(0), receiver = object(0), data = world_block(w, 40);
    hs_addr vector = world_block(w, 56), a = world_block(w, 88), b = world_block(w, 88);
    proxy = object(0);
    *world_word(w, part_of(sender) + QT5 * 8) = data;
    *world_word(w, data + 8) = vector;
    *world_word(w, vector + 8) = 1;
    *world_word(w, vector + 16) = a;
    *world_word(w, a + 16) = b;
    *world_word(w, a + 32) = *world_word(w, b + 32) = sender;
    *world_word(w, a + 40) = proxy;
    *world_word(w, b + 40) = receiver;
    run(QT5);
    is(a, "QObjectPrivate::Connection to Python");
    is(b, "QObjectPrivate::Connection");
    const struct hs_native_type *to_proxy =
        hs_native_type_of(&flow.types, hs_flow_type(&flow, block_at(a).rank));
    const struct hs_native_type *to_other =
        hs_native_type_of(&flow.types, hs_flow_type(&flow, block_at(b).rank));
    assert_int_equal(to_proxy->other_words & RECEIVER, 0);
    assert_int_equal(to_proxy->other_words | RECEIVER, to_other->other_words);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(children_of_qt5),
        TEST(children_of_qt6),
        TEST(no_children),
        TEST(what_weak_pointers_share),
        TEST(connections_of_their_senders),
        TEST(connections_to_proxies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
