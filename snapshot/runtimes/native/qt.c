/* The targets of the private part of an object of Qt (QtCore/qobject.h, private/qobject_p.h and
 * private/qobject_p_p.h of 5.14 to 5.15 and of 6): its children, its connections of signals to
 * slots, and what its weak pointers share.
 *
 *   private part:    table | object | parent | children ... | connections | ... | shared
 *   children:        two numbers | first in use, behind the last (5) | object ...
 *   ConnectionData:  numbers | signals | senders | ...
 *   SignalVector:    next | how many | first, last connection of each signal ...
 *   Connection:      next of senders | previous | next of the signal | previous | sender | receiver
 *                    | data of the receiver's thread | slot object ...
 *   slot object:     references | function | what a lambda captured ...
 *   QSingleShotTimer:  QObject | numbers | weak pointer to the receiver | slot object
 *
 * A connection belongs to its sender's signal. It leads to its receiver, and that to the
 * connections to it, but neither owns the other: through the words of these every object of a
 * program could be reached from any. A proxy of PyQt's, to which it connects what is called in
 * Python, is the exception: it lives as long as the connection, and PyQt finds it by a table of its
 * own.
 *
 * Behind the children in use are those that are gone. A weak pointer (QPointer) is two words, what
 * the pointers to one object share and the object: who leads to both knows it by the first. */
#include "qt.h"

#include <limits.h>
#include <string.h>

#include "base/load.h"

enum {
    WORD = 8,
    QT_OBJECT = 1,
    QT_PARENT = 2,
    QT_SIGNALS = 1,
    QT_FIRST_SIGNAL = 2,
    QT_NEXT = 2,
    QT_SENDER = 4
};
enum { QT_RECEIVER = 5, QT_SLOT = 7, QT_SLOT_BYTES = 24, QT_CAPTURED = 2, QT_MOST_CAPTURED = 16 };
enum { QT_TIMER_BYTES = 48, QT_TIMER_RECEIVER = 4, QT_TIMER_SLOT = 5 };
enum { QT_CHILDREN = 3, QT_HEADER_BYTES = 16, QT5_FROM_AT = 8, QT5_END_AT = 12 };
enum { QT_SHARED_BEHIND = 2, QT_MOST_SHARED = 1 << 18 };
/* The bounds of shared counters; of a small heap each object may have weak pointers. */
enum { QT_FEW_SHARED = 64, QT_SHARED_ONE_IN = 16, QT_SHARED_BYTES = 24 };
enum { QT_DATA_BYTES = 40, QT_CONNECTION_BYTES = 88, QT_MOST_WORDS = 1 << 20 };
enum {
    QT_OTHERS_OF_SHARED = 1 << 1,
    QT_OTHERS_OF_DATA = 1 << 2,
    QT_OTHERS_OF_CONNECTION = 1 << 0 | 1 << 1 | 7 << 4,
    QT_OTHERS_OF_PROXIES = QT_OTHERS_OF_CONNECTION & ~(1 << QT_RECEIVER)
};

/* The layouts of QObjectPrivate: a number is the word that leads to the connections. */
enum { QT5_CONNECTIONS = 8, QT6_CONNECTIONS = 12 };

struct qt {
    const struct hs_native *native; /* borrowed */
    struct hs_flow *flow;           /* borrowed */
    struct hs_error *err;
    hs_str signals, children, slot; /* the names of what is of many sizes */
    hs_str proxy;                   /* of the class */
    hs_ntype data, connection, proxied, shared;
};

static uint64_t qt_most_shared(uint64_t n_blocks)
{
    uint64_t n = n_blocks / QT_SHARED_ONE_IN + QT_FEW_SHARED;
    return n < QT_MOST_SHARED ? n : QT_MOST_SHARED;
}

uint64_t hs_native_qt_bytes(const struct hs_objects *objects, uint64_t n_blocks)
{
    for (size_t i = 0; i < objects->n; i++)
        if (strncmp(objects->objects[i].name, "libQt5Core", strlen("libQt5Core")) == 0 ||
            strncmp(objects->objects[i].name, "libQt6Core", strlen("libQt6Core")) == 0)
            return n_blocks / CHAR_BIT + qt_most_shared(n_blocks) * QT_SHARED_BYTES;
    return 0;
}

uint8_t hs_layout_of_class(const char *name, const char *library)
{
    static const struct {
        const char *library;
        uint8_t layout;
    } known[] = {{"libQt5Core.so.5.14", QT5_CONNECTIONS},
                 {"libQt5Core.so.5.15", QT5_CONNECTIONS},
                 {"libQt6Core", QT6_CONNECTIONS}};

    for (size_t i = 0; strcmp(name, "QObjectPrivate") == 0 && i < sizeof known / sizeof *known; i++)
        if (strncmp(library, known[i].library, strlen(known[i].library)) == 0)
            return known[i].layout;
    return 0;
}

unsigned hs_qt_version(uint8_t layout)
{
    return layout == 0 ? 0 : layout == QT5_CONNECTIONS ? 5 : 6;
}

static hs_status qt_name(struct qt *qt, const char *name, uint64_t n_bytes, uint16_t others,
                         hs_ntype *ret)
{
    hs_str interned;
    HS_TRY(hs_strtab_add(qt->flow->types.strings, name, &interned, qt->err));
    HS_TRY(hs_native_types_of_sized(&qt->flow->types, interned, n_bytes, ret, qt->err));
    qt->flow->types.types[*ret - 1].other_words = others;
    return HS_OK;
}

/* Finds the block that a word leads to the start of, if it is that large and nothing is known of
 * it. */
static bool qt_block(const struct qt *qt, const struct hs_heap_block *from, uint64_t word,
                     uint64_t least_bytes, struct hs_heap_block *ret)
{
    return word * WORD + WORD <= from->n_bytes &&
           hs_flow_resolve(qt->native, hs_load_u64(from->bytes + word * WORD), ret) ==
               HS_POINTER_START &&
           ret->bytes != NULL && ret->n_bytes >= least_bytes &&
           (ret->span->states & HS_BLOCK_MAPPING) == 0 && hs_flow_type(qt->flow, ret->rank) == 0;
}

static void qt_set(struct qt *qt, const struct hs_heap_block *block, hs_ntype type)
{
    hs_flow_set_type(qt->flow, block->rank, type);
    qt->flow->n_typed++;
}

/* Reads the slot object that a connection or a timer calls: a function and what a lambda captured,
 * which mostly is the object that it is called for. That word is non-owning, as the connection's
 * is. */
static hs_status qt_slot(struct qt *qt, const struct hs_heap_block *from, uint64_t word,
                         uint64_t receiver)
{
    struct hs_heap_block slot;
    uint16_t others = 0;
    hs_ntype type;

    if (!qt_block(qt, from, word, QT_SLOT_BYTES, &slot) || receiver == 0 ||
        hs_objects_object_at(&qt->native->dump->objects, hs_load_u64(slot.bytes + WORD)) == NULL)
        return HS_OK;
    for (uint64_t i = QT_CAPTURED; i < QT_MOST_CAPTURED && (i + 1) * WORD <= slot.n_bytes; i++)
        if (hs_load_u64(slot.bytes + i * WORD) == receiver)
            others |= (uint16_t)(1U << i);
    HS_TRY(hs_native_types_of_finder(&qt->flow->types, qt->slot, others, &type, qt->err));
    qt_set(qt, &slot, type);
    return HS_OK;
}

/* Tells whether the receiver of a connection is a proxy. */
static bool qt_is_proxied(const struct qt *qt, const struct hs_heap_block *connection)
{
    struct hs_heap_block receiver;
    hs_ntype type;

    return hs_flow_resolve(qt->native, hs_load_u64(connection->bytes + QT_RECEIVER * WORD),
                           &receiver) == HS_POINTER_START &&
           (type = hs_flow_type(qt->flow, receiver.rank)) != 0 &&
           hs_native_type_of(&qt->flow->types, type)->type.name == qt->proxy;
}

/* Reads the connections of one signal, whose list begins at a word of the vector. Each must be new,
 * so that a list that is damaged ends. */
static hs_status qt_list(struct qt *qt, const struct hs_heap_block *vector, uint64_t word,
                         uint64_t object)
{
    struct hs_heap_block from = *vector, found;

    while (qt_block(qt, &from, word, QT_CONNECTION_BYTES, &found) &&
           hs_load_u64(found.bytes + QT_SENDER * WORD) == object) {
        qt_set(qt, &found, qt_is_proxied(qt, &found) ? qt->proxied : qt->connection);
        HS_TRY(qt_slot(qt, &found, QT_SLOT, hs_load_u64(found.bytes + QT_RECEIVER * WORD)));
        from = found;
        word = QT_NEXT;
    }
    return HS_OK;
}

/* Reads the lists of an object's signals: as many as it says, and one for all of them. */
static hs_status qt_vector(struct qt *qt, const struct hs_heap_block *vector, uint64_t object)
{
    uint64_t n_words = vector->n_bytes / WORD, n_signals = hs_load_u64(vector->bytes + WORD);
    hs_ntype type;

    if (n_signals < n_words && QT_FIRST_SIGNAL + 2 * (n_signals + 1) < n_words)
        n_words = QT_FIRST_SIGNAL + 2 * (n_signals + 1);
    HS_TRY(hs_native_types_of_sized(&qt->flow->types, qt->signals,
                                    n_words < QT_MOST_WORDS ? n_words * WORD : 0, &type, qt->err));
    qt_set(qt, vector, type);
    for (uint64_t at = QT_FIRST_SIGNAL; at < n_words; at += 2)
        HS_TRY(qt_list(qt, vector, at, object));
    return HS_OK;
}

/* Finds the bytes of the list of children that are in use; false where it is no such list. */
static bool qt_children_use(const struct hs_heap_block *part, const struct hs_heap_block *list,
                            bool is_qt5, struct hs_native_use *ret)
{
    uint64_t n_bytes = list->n_bytes - QT_HEADER_BYTES, first, n;

    if (is_qt5) {
        first = QT_HEADER_BYTES + WORD * (uint64_t)hs_load_u32(list->bytes + QT5_FROM_AT);
        n = (uint64_t)hs_load_u32(list->bytes + QT5_END_AT) -
            hs_load_u32(list->bytes + QT5_FROM_AT);
    } else {
        first = hs_load_u64(part->bytes + (QT_CHILDREN + 1) * WORD) - list->begin;
        n = hs_load_u64(part->bytes + (QT_CHILDREN + 2) * WORD);
    }
    if (first < QT_HEADER_BYTES || first % WORD != 0 || first > list->n_bytes ||
        n > n_bytes / WORD || n * WORD > list->n_bytes - first)
        return false;
    *ret = (struct hs_native_use){.from = first, .end = first + n * WORD, .is_said = true};
    return true;
}

/* Tells whether a word of the list leads to a child: a block of its own whose private part says the
 * same parent. */
static bool qt_is_child(const struct qt *qt, uint64_t word, uint64_t parent,
                        struct hs_heap_block *ret)
{
    struct hs_heap_block part;
    hs_ntype type;

    return hs_flow_resolve(qt->native, word, ret) == HS_POINTER_START && ret->bytes != NULL &&
           ret->n_bytes >= 2 * WORD &&
           hs_flow_resolve(qt->native, hs_load_u64(ret->bytes + WORD), &part) == HS_POINTER_START &&
           part.bytes != NULL && part.n_bytes >= (QT_PARENT + 1) * WORD &&
           (type = hs_flow_type(qt->flow, part.rank)) != 0 &&
           hs_native_type_of(&qt->flow->types, type)->layout != 0 &&
           hs_load_u64(part.bytes + QT_PARENT * WORD) == parent;
}

/* Notes the children that the list has. */
static hs_status qt_own(struct qt *qt, const struct hs_heap_block *part,
                        const struct hs_heap_block *list, struct hs_native_use use)
{
    uint64_t parent = hs_load_u64(part->bytes + QT_OBJECT * WORD);
    struct hs_heap_block child;

    if (qt->flow->owned_alone.n_bits == 0)
        HS_TRY(hs_bitmap_init(&qt->flow->owned_alone, qt->flow->n_blocks, qt->err));
    for (uint64_t at = use.from; at < use.end; at += WORD)
        if (qt_is_child(qt, hs_load_u64(list->bytes + at), parent, &child))
            hs_bitmap_set(&qt->flow->owned_alone, child.rank);
    return HS_OK;
}

static hs_status qt_children(struct qt *qt, const struct hs_heap_block *part, bool is_qt5)
{
    struct hs_heap_block list;
    struct hs_native_use use;
    hs_ntype type;

    if (!qt_block(qt, part, QT_CHILDREN, QT_HEADER_BYTES + WORD, &list) ||
        !qt_children_use(part, &list, is_qt5, &use))
        return HS_OK;
    HS_TRY(hs_native_types_of_sized(&qt->flow->types, qt->children,
                                    use.end < QT_MOST_WORDS * WORD ? use.end : 0, &type, qt->err));
    qt->flow->types.types[type - 1].owns_alone = true;
    qt_set(qt, &list, type);
    HS_TRY(qt_own(qt, part, &list, use));
    return hs_native_reserves_say(&qt->flow->reserves, list.rank, list.n_bytes, use, WORD, qt->err);
}

/* Reads the counter that weak pointers to the object have beside them. */
static hs_status qt_shared(struct qt *qt, const struct hs_heap_block *part, uint64_t word)
{
    struct hs_heap_block shared;
    uint64_t object = hs_load_u64(part->bytes + QT_OBJECT * WORD);

    if (!qt_block(qt, part, word, QT_HEADER_BYTES, &shared))
        return HS_OK;
    qt_set(qt, &shared, qt->shared);
    return qt->flow->shared_counters.n >= qt_most_shared(qt->flow->n_blocks)
               ? HS_OK
               : hs_dict_put(&qt->flow->shared_counters, shared.begin, object, qt->err);
}

/* Reads the targets of an object's private part. */
static hs_status qt_object(struct qt *qt, const struct hs_heap_block *part, uint64_t connections)
{
    struct hs_heap_block data, vector;

    if (part->n_bytes < (connections + 1) * WORD)
        return HS_OK;
    HS_TRY(qt_children(qt, part, connections == QT5_CONNECTIONS));
    HS_TRY(qt_shared(qt, part, connections + QT_SHARED_BEHIND));
    if (!qt_block(qt, part, connections, QT_DATA_BYTES, &data))
        return HS_OK;
    qt_set(qt, &data, qt->data);
    return qt_block(qt, &data, QT_SIGNALS, QT_FIRST_SIGNAL * WORD, &vector)
               ? qt_vector(qt, &vector, hs_load_u64(part->bytes + QT_OBJECT * WORD))
               : HS_OK;
}

/* Lowers the variables that lead to an object which its parent keeps. */
static void qt_lower_roots(struct hs_native *native, const struct hs_flow *flow)
{
    struct hs_roots *roots = &native->roots;
    struct hs_heap_block block;

    for (size_t i = 0; flow->owned_alone.n_bits != 0 && i < roots->n_leaves; i++) {
        struct hs_root_leaf *leaf = &roots->leaves[i];
        if (leaf->root.tier == HS_TIER_FIRM &&
            hs_heap_map_resolve(&native->dump->heaps.map, leaf->target, &block) ==
                HS_POINTER_START &&
            hs_bitmap_get(&flow->owned_alone, block.rank))
            hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_QT_PARENT);
    }
}

hs_status hs_native_qt(struct hs_native *native, struct hs_flow *flow, struct hs_error *err)
{
    struct qt qt = {.native = native, .flow = flow, .err = err};
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    struct hs_heap_block block;
    bool is_used = false;
    hs_str timer;

    for (size_t i = 0; i < flow->types.n_types && !is_used; i++)
        is_used = flow->types.types[i].layout != 0;
    if (!is_used)
        return HS_OK;
    HS_TRY(hs_strtab_add(flow->types.strings, "QObjectPrivate::SignalVector", &qt.signals, err));
    HS_TRY(
        qt_name(&qt, "QObjectPrivate::ConnectionData", QT_DATA_BYTES, QT_OTHERS_OF_DATA, &qt.data));
    HS_TRY(qt_name(&qt, "QObjectPrivate::Connection", QT_CONNECTION_BYTES, QT_OTHERS_OF_CONNECTION,
                   &qt.connection));
    HS_TRY(qt_name(&qt, "QObjectPrivate::Connection to Python", QT_CONNECTION_BYTES,
                   QT_OTHERS_OF_PROXIES, &qt.proxied));
    HS_TRY(hs_strtab_add(flow->types.strings, "PyQtSlotProxy", &qt.proxy, err));
    HS_TRY(hs_strtab_add(flow->types.strings, "QObjectPrivate::children", &qt.children, err));
    HS_TRY(qt_name(&qt, "QtSharedPointer::ExternalRefCountData", QT_HEADER_BYTES,
                   QT_OTHERS_OF_SHARED, &qt.shared));
    HS_TRY(hs_strtab_add(flow->types.strings, "QtPrivate::QSlotObjectBase", &qt.slot, err));
    HS_TRY(hs_strtab_add(flow->types.strings, "QSingleShotTimer", &timer, err));
    while (hs_heap_map_next(&it, &block)) {
        hs_ntype number = hs_flow_type(flow, block.rank);
        if (number == 0 || block.bytes == NULL)
            continue;
        const struct hs_native_type *type = hs_native_type_of(&flow->types, number);
        if (type->layout != 0)
            HS_TRY(qt_object(&qt, &block, type->layout));
        else if (type->type.name == timer && block.n_bytes >= QT_TIMER_BYTES)
            HS_TRY(qt_slot(&qt, &block, QT_TIMER_SLOT,
                           hs_load_u64(block.bytes + QT_TIMER_RECEIVER * WORD)));
    }
    qt_lower_roots(native, flow);
    return HS_OK;
}
