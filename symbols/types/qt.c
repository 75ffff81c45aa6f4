/* Containers of Qt 5 (qlist.h, qhash.h, qmap.h), which share what they have by a pointer to a
 * record that does not say of what it is: the elements of a QList are void *, the buckets of a
 * QHash lead to the beginnings of its nodes. For each container a record is made that does. Of
 * Qt 6 the spans of a QHash, whose entries are storage for a node. */
#include <stdio.h>
#include <string.h>

#include "containers.h"
#include "pool.h"

#define QT_SPAN "QHashPrivate::Span<"
enum { QT_POINTER_BYTES = 8, QT_LIST_BYTES = 16, QT_HASH_BYTES = 48, QT_BUCKETS_AT = 8 };

hs_ctype hs_ctypes_node_(struct hs_ctypes *types, hs_ctype container, const char *node)
{
    const struct ctypes_type type = *hs_ctypes_get_(types, container);
    struct debug_entry entry;
    struct debug_info *info = hs_ctypes_info_(types, type.file);
    char text[CTYPES_MAX_NAME];
    if (info == NULL || !hs_entry_read_(info, type.die, &entry))
        return 0;
    const char *name = hs_ctypes_short_name_of_(types, type.file, &entry);
    const char *arguments = name == NULL ? NULL : strchr(name, '<');
    int n = arguments == NULL ? -1 : snprintf(text, sizeof(text), "%s%s", node, arguments);
    return n < 0 || (size_t)n >= sizeof(text) ? 0 : hs_ctypes_find(types, type.file, text);
}

/* Returns the type of the content of a list's word: the value itself where that is a pointer or one
 * of Qt's classes of a pointer's size, a pointer to the value where it is larger. Whether other
 * small classes are stored in the word, the program decides (Q_DECLARE_TYPEINFO), and debug
 * information does not tell: 0. */
static hs_ctype qt_item(struct hs_ctypes *types, hs_ctype value, hs_type_file file)
{
    static const char *const movable[] = {
        "QString", "QByteArray", "QList<",  "QVector<",  "QMap<",       "QHash<",     "QSet<",
        "QUrl",    "QRegExp",    "QLocale", "QDateTime", "QJsonObject", "QStringList"};
    uint64_t n_bytes = hs_ctypes_size_(types, value);
    if (n_bytes > QT_POINTER_BYTES)
        return hs_ctypes_pointer_to_(types, value, file);
    uint8_t kind = hs_ctypes_get_(types, value)->kind;
    if (kind == HS_CTYPE_POINTER || kind == HS_CTYPE_SCALAR)
        return n_bytes == QT_POINTER_BYTES ? value : 0;
    const char *name = n_bytes == QT_POINTER_BYTES ? hs_ctypes_type_name_(types, value) : "";
    for (size_t i = 0; i < sizeof(movable) / sizeof(movable[0]); i++)
        if (strncmp(name, movable[i], strlen(movable[i])) == 0)
            return value;
    return 0;
}

static const char *qt_name(struct hs_ctypes *types, hs_ctype container)
{
    char text[CTYPES_MAX_NAME];
    snprintf(text, sizeof(text), "%s::data", hs_ctypes_type_name_(types, container));
    return hs_ctypes_keep_(types, text, sizeof(text));
}

/* Makes QListData::Data with items of a type. */
static hs_ctype qt_list_data(struct hs_ctypes *types, hs_ctype container)
{
    const struct ctypes_type type = *hs_ctypes_get_(types, container);
    hs_ctype value = hs_ctypes_argument_(types, type.file, type.die, 0);
    hs_ctype item = value == 0 ? 0 : qt_item(types, value, type.file);
    if (item == 0)
        return 0;
    return hs_ctypes_make_(types,
                           &(struct ctypes_type){.kind = HS_CTYPE_RECORD,
                                                 .file = type.file,
                                                 .of = item,
                                                 .n_bytes = QT_LIST_BYTES,
                                                 .name = qt_name(types, container),
                                                 .flags = TYPE_BUILT | TYPE_HAS_NAME | TYPE_ITEMS});
}

/* Makes QHashData with nodes of a type. */
static hs_ctype qt_hash_data(struct hs_ctypes *types, hs_ctype container)
{
    hs_type_file file = hs_ctypes_get_(types, container)->file;
    hs_ctype node = hs_ctypes_node_(types, container, "QHashNode");
    hs_ctype to_node = node == 0 ? 0 : hs_ctypes_pointer_to_(types, node, file);
    hs_ctype buckets = to_node == 0 ? 0 : hs_ctypes_pointer_to_(types, to_node, file);
    struct ctypes_type data = {.kind = HS_CTYPE_RECORD,
                               .file = file,
                               .n_bytes = QT_HASH_BYTES,
                               .first_member = (uint32_t)types->n_members,
                               .name = qt_name(types, container),
                               .flags = TYPE_BUILT | TYPE_HAS_NAME};
    if (buckets == 0)
        return 0;
    hs_ctypes_member_add_(types, &data, 0, to_node, "first");
    hs_ctypes_member_add_(types, &data, QT_BUCKETS_AT, buckets, "buckets");
    return hs_ctypes_make_(types, &data);
}

/* Applies QHashPrivate::Span<Node>, of which the entries are as large as a node. */
static void qt_span_apply(struct hs_ctypes *types, hs_ctype span, struct ctypes_found *found,
                          size_t n)
{
    const struct ctypes_type type = *hs_ctypes_get_(types, span);
    bool is_span = n == 1 && found[0].slot.pointee != 0 &&
                   strncmp(hs_ctypes_type_name_(types, span), QT_SPAN, strlen(QT_SPAN)) == 0;
    hs_ctype node = is_span ? hs_ctypes_argument_(types, type.file, type.die, 0) : 0;
    if (node == 0 || hs_ctypes_size_(types, node) != hs_ctypes_size_(types, found[0].slot.pointee))
        return;
    found[0].slot.pointee = node;
    for (uint32_t i = 0; i < found[0].slot.n_choices; i++) /* how many entries there are */
        types->choices[found[0].slot.first_choice + i].pointee = node;
}

/* The array, and the first element in use: what is not in the array is somebody else's, whom the
 * container does not keep (fromRawData). */
static void qt_pointer_apply(struct ctypes_found *found, size_t n)
{
    for (size_t i = 0; i < n; i++)
        found[i].slot.is_weak |= found[i].slot.offset_bytes == QT_POINTER_BYTES;
}

void hs_ctypes_qt_apply_(struct hs_ctypes *types, hs_ctype container, const char *rule,
                         struct ctypes_found *found, size_t n)
{
    if (strcmp(rule, RULES_QT_SPAN) == 0) {
        qt_span_apply(types, container, found, n);
        return;
    }
    if (strcmp(rule, RULES_QT_POINTER) == 0) {
        qt_pointer_apply(found, n);
        return;
    }
    if (n != 1 || found[0].slot.offset_bytes != 0)
        return; /* of Qt 6, whose pointers say what they lead to */
    bool is_list = strcmp(rule, RULES_QT_LIST) == 0;
    hs_ctype had = found[0].slot.pointee;
    if (is_list ? had == 0 || strcmp(hs_ctypes_type_name_(types, had), "QListData::Data") != 0
                : had != 0) /* a union's two pointers */
        return;
    hs_ctype data = is_list ? qt_list_data(types, container) : qt_hash_data(types, container);
    if (data != 0)
        found[0].slot.pointee = data;
}
