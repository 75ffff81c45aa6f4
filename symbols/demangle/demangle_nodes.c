/* The names of what containers of the standard libraries allocate, after what holds it: their own
 * names say who wrote the library (libstdc++: bits/stl_tree.h, stl_list.h, hashtable_policy.h,
 * shared_ptr_base.h; libc++: __tree, list, __hash_table, __memory/shared_ptr.h). */
#include <string.h>

#include "demangle_nodes.h"

enum nodes_kind { NODES_OF_VALUES, NODES_OF_PAIRS, NODES_OF_POINTERS };

static const struct nodes_name {
    const char *template, *holder, *end;
    enum nodes_kind kind;
    const char *pairs; /* the holder's name where values are pairs with a key */
} names[] = {
    {"std::_Rb_tree_node", "std::set<", ">::node", NODES_OF_PAIRS, "std::map<"},
    {"std::__tree_node", "std::set<", ">::node", NODES_OF_PAIRS, "std::map<"},
    {"std::__detail::_Hash_node", "std::unordered_set<", ">::node", NODES_OF_PAIRS,
     "std::unordered_map<"},
    {"std::__hash_node", "std::unordered_set<", ">::node", NODES_OF_PAIRS, "std::unordered_map<"},
    {"std::_List_node", "std::list<", ">::node", NODES_OF_VALUES, NULL},
    {"std::__list_node", "std::list<", ">::node", NODES_OF_VALUES, NULL},
    {"std::_Sp_counted_ptr_inplace", "std::make_shared<", ">", NODES_OF_VALUES, NULL},
    {"std::__shared_ptr_emplace", "std::make_shared<", ">", NODES_OF_VALUES, NULL},
    {"std::_Sp_counted_deleter", "std::shared_ptr<", ">::count", NODES_OF_POINTERS, NULL},
    {"std::_Sp_counted_ptr", "std::shared_ptr<", ">::count", NODES_OF_POINTERS, NULL},
    {"std::__shared_ptr_pointer", "std::shared_ptr<", ">::count", NODES_OF_POINTERS, NULL},
};

static bool take_front(struct piece *from, const char *front)
{
    size_t n = strlen(front);

    if (!hs_piece_begins_(*from, front))
        return false;
    from->text += n;
    from->n -= n;
    return true;
}

static bool take_back(struct piece *from, const char *back)
{
    size_t n = strlen(back);

    if (from->n < n || memcmp(from->text + from->n - n, back, n) != 0)
        return false;
    from->n -= n;
    return true;
}

/* "std::pair<const K, V>" (also "K const") is "K, V". */
static bool take_pair(struct piece *value, struct piece *key)
{
    struct piece all = *value;

    if ((!take_front(&all, "std::pair<") && !take_front(&all, "std::__value_type<") &&
         !take_front(&all, "std::__hash_value_type<")) ||
        !take_back(&all, ">"))
        return false;
    size_t n = hs_text_comma_(all.text, 0, all.n, false);
    if (n == all.n)
        return false;
    *key = (struct piece){all.text, n};
    *value = (struct piece){all.text + n, all.n - n};
    if (!take_front(key, "const "))
        (void)take_back(key, " const");
    return true;
}

static void put_piece(struct demangle_out *out, struct piece piece)
{
    for (size_t i = 0; i < piece.n; i++)
        hs_demangle_put_(out, piece.text[i]);
}

static void put_node(struct demangle_out *out, const struct nodes_name *name, struct piece value)
{
    struct piece key = {0};
    bool is_pair = name->kind == NODES_OF_PAIRS && take_pair(&value, &key);

    if (name->kind == NODES_OF_POINTERS && take_back(&value, "*"))
        (void)take_back(&value, " ");
    hs_demangle_put_text_(out, is_pair ? name->pairs : name->holder);
    put_piece(out, key);
    put_piece(out, value);
    hs_demangle_put_text_(out, name->end);
}

void hs_shorten_node_(struct demangle_out *out, struct piece template)
{
    char text[DEMANGLE_MAX_TEXT];
    struct demangle_out node = {text, 0, sizeof(text)};
    size_t begin = template.n + 1, end = out->n - 1;
    size_t n_value = hs_text_comma_(out->text, begin, end, false) - begin;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!hs_piece_is_(template, names[i].template))
            continue;
        put_node(&node, &names[i], (struct piece){out->text + begin, n_value});
        if (node.n <= out->n) { /* else there was not much to leave out */
            memcpy(out->text, text, node.n);
            out->n = node.n;
        }
        return;
    }
}
