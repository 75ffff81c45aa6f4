#include "analysis/field_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/neighbours.h"
#include "analysis/type_family.h"
#include "base/append.h"

size_t hs_field_name(const struct hs_view *view, uint32_t type, uint64_t offset_words, char *text,
                     size_t n_bytes)
{
    text[0] = '\0';
    if (offset_words == HS_NO_OFFSET)
        return 0;
    uint64_t stride = hs_snap_type(view->snap, type)->stride_bytes, element;
    uint64_t offset = offset_words * view->facts->word_bytes;
    const struct hs_member *member = hs_snap_member_at(view->snap, type, offset, &element);
    uint64_t within = stride != 0 ? offset % stride : offset;
    bool is_named = member != NULL && member->offset_bytes == within;
    const char *name = is_named ? hs_view_string(view, member->name) : "";
    /* Entries of a map of Go have no order: they are "[...]". */
    bool has_places = name[0] != '[' && name[0] != '(';
    if (stride != 0 && has_places)
        hs_append(text, n_bytes, "[%" PRIu64 "]", element);
    if (is_named) /* a member that begins before the word may end before it too */
        hs_append(text, n_bytes, "%s%s", stride != 0 && has_places && name[0] != '\0' ? "." : "",
                  name);
    else if (stride != 0 && within != 0)
        hs_append(text, n_bytes, "+%" PRIu64, within);
    return strlen(text);
}

/* Tells whether members of a type are called as in the source of Python or Go: with a dot, and
 * parts without a name of their own in parentheses. */
static bool has_attributes(const struct hs_view *view, uint32_t type)
{
    uint8_t form = hs_snap_type(view->snap, type)->form;
    return form == HS_FORM_PYTHON || form == HS_FORM_GO;
}

const char *hs_field_arrow(const struct hs_view *view, uint32_t type, const char *place)
{
    if (place[0] == '[' || place[0] == '(' || place[0] == '\0')
        return "";
    return has_attributes(view, type) || hs_type_is_source(view, type) ? "." : "->";
}

bool hs_field_is_part(const struct hs_view *view, uint32_t type, const char *place)
{
    return place[0] == '(' && has_attributes(view, type);
}

static bool put_step(const struct hs_view *view, const struct hs_path_step *step, char *text,
                     size_t n_bytes)
{
    char place[HS_FIELD_NAME_BYTES];
    bool has_name = hs_field_name(view, step->type, step->offset_words, place, sizeof place) != 0;
    if (hs_field_is_part(view, step->type, place))
        return true;
    if (!has_name && has_attributes(view, step->type))
        hs_append(text, n_bytes, "[...]"); /* data of the program has no name */
    else if (!has_name)
        hs_append(text, n_bytes, "->(+%" PRIu64 ")", step->offset_words * view->facts->word_bytes);
    else
        hs_append(text, n_bytes, "%s%s", hs_field_arrow(view, step->type, place), place);
    if (step->repeat > 1)
        hs_append(text, n_bytes, "{x%" PRIu64 "}", step->repeat);
    return has_name;
}

static bool is_part_at(const struct hs_view *view, const struct hs_path_step *step)
{
    char place[HS_FIELD_NAME_BYTES];

    (void)hs_field_name(view, step->type, step->offset_words, place, sizeof place);
    return hs_field_is_part(view, step->type, place);
}

/* Puts what stands between the root and the first place of a path. A root that is described, not
 * named, is set apart: "goroutine 1, sleep in main.main: main.Server.bus". */
static void put_start(const struct hs_view *view, const char *root, const struct hs_path_step *step,
                      char *text, size_t n_bytes)
{
    const struct hs_type *type = hs_snap_type(view->snap, step->type);
    const char *name = hs_view_string(view, type->name);

    if (type->form == HS_FORM_GO && strchr(root, ' ') != NULL)
        hs_append(text, n_bytes, ": %s", name[0] == '[' || strchr(name, ' ') != NULL ? "" : name);
}

size_t hs_field_path(const struct hs_view *view, const char *root, const struct hs_path_fold *fold,
                     char *text, size_t n_bytes)
{
    bool has_name = false, has_begun = false;
    (void)snprintf(text, n_bytes, "%s", root);
    for (size_t i = 0; i < fold->n_steps; i++) {
        const struct hs_path_step *step = &fold->steps[i];
        if (step->node == HS_NO_NODE)
            hs_append(text, n_bytes, "->...");
        if (step->node == HS_NO_NODE || step->offset_words == HS_NO_OFFSET)
            continue;
        if (!has_begun && !is_part_at(view, step)) {
            put_start(view, root, step, text, n_bytes);
            has_begun = true;
        }
        has_name |= put_step(view, step, text, n_bytes);
    }
    if (has_name)
        return strlen(text);
    text[0] = '\0';
    return 0;
}

const char *hs_file_short(const char *text)
{
    bool is_path = text[0] == '/' || strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0;
    const char *folder = text, *name = text;
    for (const char *at = text; is_path && *at != 0; at++) {
        if (*at == '/') {
            folder = name;
            name = at + 1;
        }
    }
    return folder;
}
