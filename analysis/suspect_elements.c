/* The elements of the container in which a suspect's members are, where blocks tell less: an array
 * is one block, a node of a deque or of a B-tree has many, a text hangs in a record of an array. */
#include <string.h>

#include "analysis/block_name.h"
#include "analysis/containers.h"
#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "base/alloc.h"
#include "suspect_finds.h"
#include "type_rank.h"

enum { NEARLY_PERCENT = 90 };

static bool is_nearly(uint64_t part, uint64_t whole)
{
    return part >= whole / 100 * NEARLY_PERCENT;
}

/* Tells whether a type is an array of records whose name is a class's. */
static bool is_array_of_class(const struct hs_view *view, uint32_t number)
{
    char element[HS_CONTAINER_NAME_BYTES];
    if (number == HS_UNTYPED)
        return false;
    const struct hs_type *type = hs_snap_type(view->snap, number);
    const char *name = hs_view_string(view, type->name);
    size_t n = strlen(name);
    if (type->stride_bytes == 0 || type->form != HS_FORM_RECORD || n < 3 || n >= sizeof element ||
        strcmp(name + n - 2, "[]") != 0)
        return false;
    memcpy(element, name, n - 2);
    element[n - 2] = '\0';
    return hs_rank_is_class(hs_type_rank(element, HS_FORM_RECORD));
}

/* Takes the number from the body of the container that has nearly all members: the array itself,
 * the root of their tree, or the block that they hang on. */
static hs_status take_count(struct hs_view *view, struct hs_suspect *suspect, struct hs_error *err)
{
    const struct hs_accumulation *at = &suspect->at;
    const struct hs_accumulated *members = &at->steps[at->members];
    struct hs_container container;
    bool is_body = false;
    hs_node body = HS_NO_NODE;

    if (at->top != HS_NO_NODE && is_nearly(at->top_words, members->words))
        body = at->top;
    else if (at->point != HS_NO_NODE && is_nearly(at->n_direct, members->n_blocks))
        body = at->point;
    if (body == HS_NO_NODE)
        return HS_OK;
    HS_TRY(hs_container_of(view, body, &container, &is_body, err));
    if (is_body && container.entries > members->n_blocks)
        suspect->elements = container.entries;
    return HS_OK;
}

/* Finds the array of records that a block without a class hangs on. */
static hs_status find_array(struct hs_view *view, hs_node block, uint32_t *ret,
                            struct hs_error *err)
{
    struct hs_node_facts facts;
    hs_node array = block == HS_NO_NODE ? HS_NO_NODE : hs_index_idom(view->index, block);

    *ret = HS_UNTYPED;
    if (array == HS_NO_NODE || array < view->n_tree)
        return HS_OK;
    HS_TRY(hs_view_facts(view, array, &facts, err));
    if (is_array_of_class(view, facts.type))
        *ret = facts.type;
    return HS_OK;
}

static bool is_class(const struct hs_view *view, uint32_t number)
{
    if (number == HS_UNTYPED)
        return false;
    const struct hs_type *type = hs_snap_type(view->snap, number);
    return hs_rank_is_class(hs_type_rank(hs_view_string(view, type->name), type->form));
}

/* Names the member of an element by which an array of records leads to a block: ".read_buf" of
 * "[17].read_buf". */
static hs_status name_in_element(struct hs_view *view, hs_node block, uint32_t array, char **ret,
                                 struct hs_error *err)
{
    char text[HS_FIELD_NAME_BYTES];
    struct hs_link link;
    HS_TRY(hs_link_find(view, hs_index_idom(view->index, block), block, &link, err));
    if (link.offset_words == HS_NO_OFFSET ||
        hs_field_name(view, array, link.offset_words, text, sizeof text) == 0)
        return HS_OK;
    const char *behind = text[0] == '[' ? strchr(text, ']') : NULL;
    if (behind == NULL || behind[1] != '.')
        return HS_OK;
    HS_TRY(hs_strdup(behind + 1, ret, err));
    hs_fold_indices(*ret);
    return HS_OK;
}

static hs_status take_within(struct hs_view *view, struct hs_suspect *suspect, struct hs_error *err)
{
    const struct hs_accumulation *at = &suspect->at;
    const struct hs_accumulated *above = &at->steps[at->members - 1];
    uint32_t array;

    if (suspect->is_class)
        return HS_OK;
    HS_TRY(find_array(view, at->top, &array, err));
    if (array == HS_UNTYPED || array != above->type)
        return HS_OK;
    suspect->within = *above;
    return name_in_element(view, at->top, array, &suspect->within_place, err);
}

hs_status hs_suspect_take_elements(struct hs_view *view, struct hs_suspect *suspect,
                                   struct hs_error *err)
{
    for (unsigned i = 0; i < 2; i++) {
        suspect->class_within[i] = HS_UNTYPED;
        if (suspect->at.class_tops[i] != HS_NO_NODE && !is_class(view, suspect->at.classes[i].type))
            HS_TRY(find_array(view, suspect->at.class_tops[i], &suspect->class_within[i], err));
    }
    if (suspect->at.members == 0)
        return HS_OK;
    const struct hs_accumulated *members = &suspect->at.steps[suspect->at.members];
    bool is_array = is_array_of_class(view, members->type);
    if (!suspect->is_class || is_array)
        HS_TRY(take_count(view, suspect, err));
    return is_array ? HS_OK : take_within(view, suspect, err);
}
