/* Connections of signals to slots of Qt (private/qobject_p_p.h of 5.14 to 5.15 and of 6).
 *
 *   private part:    table | object | parent | ... | connections
 *   ConnectionData:  numbers | signals | senders | ...
 *   SignalVector:    next | how many | first, last connection of each signal ...
 *   Connection:      next of senders | previous | next of the signal | previous | sender | receiver
 * | data of the receiver's thread | slot object ...
 *
 * A connection belongs to its sender's signal. It finds its receiver, and that finds the
 * connections to it, but neither keeps the other: through the words of these every object of a
 * program could be reached from any. */
#include "qt.h"

#include "base/load.h"

enum { WORD = 8, QT_OBJECT = 1, QT_SIGNALS = 1, QT_FIRST_SIGNAL = 2, QT_NEXT = 2, QT_SENDER = 4 };
enum { QT_DATA_BYTES = 40, QT_CONNECTION_BYTES = 88, QT_MOST_WORDS = 1 << 20 };
enum { QT_OTHERS_OF_DATA = 1 << 2, QT_OTHERS_OF_CONNECTION = 1 << 0 | 1 << 1 | 7 << 4 };

struct qt {
    const struct hs_native *native; /* borrowed */
    struct hs_flow *flow;           /* borrowed */
    struct hs_error *err;
    hs_str signals; /* the name of what is of many sizes */
    hs_ntype data, connection;
};

static hs_status qt_name(struct qt *qt, const char *name, uint64_t n_bytes, uint16_t others,
                         hs_ntype *ret)
{
    hs_str interned;
    HS_TRY(hs_strtab_add(qt->flow->types.strings, name, &interned, qt->err));
    HS_TRY(hs_native_types_of_sized(&qt->flow->types, interned, n_bytes, ret, qt->err));
    qt->flow->types.types[*ret - 1].other_words = others;
    return HS_OK;
}

/* The block that a word leads to the start of, if it is that large and nothing is known of it. */
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

/* The connections of one signal, whose list begins at a word of the vector. Each is new, so that a
 * list that is damaged ends. */
static void qt_list(struct qt *qt, const struct hs_heap_block *vector, uint64_t word,
                    uint64_t object)
{
    struct hs_heap_block from = *vector, found;

    while (qt_block(qt, &from, word, QT_CONNECTION_BYTES, &found) &&
           hs_load_u64(found.bytes + QT_SENDER * WORD) == object) {
        qt_set(qt, &found, qt->connection);
        from = found;
        word = QT_NEXT;
    }
}

/* The lists of an object's signals: as many as it says, and one for all of them. */
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
        qt_list(qt, vector, at, object);
    return HS_OK;
}

/* What an object's private part leads to. */
static hs_status qt_object(struct qt *qt, const struct hs_heap_block *part, uint64_t connections)
{
    struct hs_heap_block data, vector;

    if (!qt_block(qt, part, connections, QT_DATA_BYTES, &data))
        return HS_OK;
    qt_set(qt, &data, qt->data);
    return qt_block(qt, &data, QT_SIGNALS, QT_FIRST_SIGNAL * WORD, &vector)
               ? qt_vector(qt, &vector, hs_load_u64(part->bytes + QT_OBJECT * WORD))
               : HS_OK;
}

hs_status hs_native_qt(const struct hs_native *native, struct hs_flow *flow, struct hs_error *err)
{
    struct qt qt = {.native = native, .flow = flow, .err = err};
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    struct hs_heap_block block;
    bool is_used = false;

    for (size_t i = 0; i < flow->types.n_types && !is_used; i++)
        is_used = flow->types.types[i].qt_connections != 0;
    if (!is_used)
        return HS_OK;
    HS_TRY(hs_strtab_add(flow->types.strings, "QObjectPrivate::SignalVector", &qt.signals, err));
    HS_TRY(
        qt_name(&qt, "QObjectPrivate::ConnectionData", QT_DATA_BYTES, QT_OTHERS_OF_DATA, &qt.data));
    HS_TRY(qt_name(&qt, "QObjectPrivate::Connection", QT_CONNECTION_BYTES, QT_OTHERS_OF_CONNECTION,
                   &qt.connection));
    while (hs_heap_map_next(&it, &block)) {
        hs_ntype type = hs_flow_type(flow, block.rank);
        uint8_t connections = type == 0 || block.bytes == NULL
                                  ? 0
                                  : hs_native_type_of(&flow->types, type)->qt_connections;
        if (connections != 0)
            HS_TRY(qt_object(&qt, &block, connections));
    }
    return HS_OK;
}
