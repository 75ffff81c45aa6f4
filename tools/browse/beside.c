/* Two rows side by side: what each is, what hangs on it, who keeps it, and the types of that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "describe.h"
#include "load_nodes.h"

/* ---- the mark */

static bool is_marked(const struct hs_browse_mark *mark, struct hs_browse_what what)
{
    return mark->name != NULL && what.kind == mark->what.kind && what.id == mark->what.id;
}

/* A type by its name is found when it is asked for: until then it is what is called the same. */
bool hs_browse_is_marked(const struct hs_browse *browse, const struct hs_browse_level *level,
                         size_t row)
{
    struct hs_browse_what what = level->rows[row].what;
    if (what.kind != HS_BROWSE_TYPE_NAME)
        return is_marked(&browse->mark, what);
    return browse->mark.what.kind == HS_BROWSE_TYPE &&
           strcmp(hs_browse_level_text(level, row), browse->mark.name) == 0;
}

/* Makes a mark of a row as it is called wherever one is by now: a key by the way to it. */
static hs_status mark_of_row(struct hs_browse *browse, struct hs_browse_mark *ret,
                             struct hs_error *err)
{
    struct hs_browse_level *level = hs_browse_top(browse);
    const struct hs_browse_row *row = hs_browse_level_row(level);
    char name[4 * HS_KEY_TEXT_BYTES] = "";
    HS_TRY(hs_browse_what_of_row(browse, &ret->what, err));
    if (ret->what.kind == HS_BROWSE_NOTHING)
        return hs_fail(err, HS_USAGE, "this row is no object");
    if (ret->what.kind == HS_BROWSE_TYPE)
        (void)snprintf(name, sizeof name, "%s",
                       hs_browse_level_text(level, (size_t)(row - level->rows)));
    else
        hs_browse_put_what(browse, ret->what, name, sizeof name);
    ret->words = row->words;
    ret->objects = row->objects;
    return hs_strdup(name, &ret->name, err);
}

/* ---- what is told of each */

enum { SIDES = 2 };

struct side {
    const struct hs_browse_mark *mark;
    uint64_t own, below, objects; /* HS_BROWSE_UNKNOWN: not told */
    char keeper[HS_BROWSE_NAME_BYTES], type[HS_BROWSE_NAME_BYTES];
    struct hs_browse_level types;
};

static void ask_key(struct hs_browse *browse, uint64_t at, struct side *side)
{
    const struct hs_key_row *key = hs_browse_key(&browse->owners, at);
    uint64_t first = at;
    for (uint64_t above = at; above != 0; above = hs_browse_key(&browse->owners, above)->parent)
        first = above;
    side->own = key->detail;
    side->below = key->words;
    side->objects = key->objects;
    (void)snprintf(side->keeper, sizeof side->keeper, "%.1000s",
                   hs_browse_key_name(&browse->owners, first));
    if (key->form == HS_KEY_TYPE)
        (void)snprintf(side->type, sizeof side->type, "%.1000s",
                       hs_browse_key_name(&browse->owners, at));
}

static hs_status ask_node(struct hs_browse *browse, hs_node node, struct side *side,
                          struct hs_error *err)
{
    struct hs_node_facts facts;
    struct hs_sizes retained = hs_index_retained(browse->view.index, node);
    HS_TRY(hs_view_facts(&browse->view, node, &facts, err));
    side->below = retained.words;
    side->objects = retained.objects;
    if (facts.is_root) {
        (void)snprintf(side->keeper, sizeof side->keeper, "it is a root");
        return HS_OK;
    }
    side->own = facts.words;
    (void)snprintf(side->type, sizeof side->type, "%.1000s", facts.label);
    hs_browse_put_keeper(browse, node, side->keeper, sizeof side->keeper);
    return HS_OK;
}

static hs_status ask_side(struct hs_browse *browse, const struct hs_browse_mark *mark,
                          struct side *side, struct hs_error *err)
{
    *side = (struct side){
        .mark = mark, .own = HS_BROWSE_UNKNOWN, .below = mark->words, .objects = mark->objects};
    if (mark->what.kind == HS_BROWSE_KEY)
        ask_key(browse, mark->what.id, side);
    else if (mark->what.kind == HS_BROWSE_NODE)
        HS_TRY(ask_node(browse, (hs_node)mark->what.id, side, err));
    else if (mark->what.kind == HS_BROWSE_SET)
        (void)snprintf(side->keeper, sizeof side->keeper, "all of its roots together");
    if (mark->what.kind == HS_BROWSE_TYPE)
        return HS_OK; /* its blocks, wherever they are: nothing hangs on all of them */
    side->types = (struct hs_browse_level){
        .form = HS_BROWSE_TYPES, .what = mark->what, .most = HS_BROWSE_ROWS};
    return hs_browse_read(browse, &side->types, err);
}

/* ---- lines */

struct page {
    const struct hs_browse *browse;
    bool in_words;
    struct hs_buffer *lines;
};

static void put_number(const struct page *page, uint64_t number, bool is_size, char *text)
{
    if (number == HS_BROWSE_UNKNOWN)
        (void)snprintf(text, HS_UNIT_TEXT_BYTES, "?");
    else if (!is_size || page->in_words)
        (void)snprintf(text, HS_UNIT_TEXT_BYTES, "%llu", (unsigned long long)number);
    else
        hs_format_bytes(number * page->browse->view.facts->word_bytes, text);
}

/* "what  marked  here  +-": nothing where neither is told. */
static hs_status put_numbers(const struct page *page, const char *what, const uint64_t *numbers,
                             bool is_size, struct hs_error *err)
{
    char texts[SIDES][HS_UNIT_TEXT_BYTES], by[HS_UNIT_TEXT_BYTES] = "?";
    const char *sign = "";
    uint64_t a = numbers[0], b = numbers[1];
    if (a == HS_BROWSE_UNKNOWN && b == HS_BROWSE_UNKNOWN)
        return HS_OK;
    for (size_t i = 0; i < SIDES; i++)
        put_number(page, numbers[i], is_size, texts[i]);
    if (a != HS_BROWSE_UNKNOWN && b != HS_BROWSE_UNKNOWN) {
        put_number(page, a < b ? b - a : a - b, is_size, by);
        sign = a < b ? "+" : a > b ? "-" : "";
    }
    return hs_browse_put_line(page->lines, err, "%12s %12s %*s%s  %s", texts[0], texts[1],
                              (int)(12 - (strlen(by) < 11 ? strlen(by) : 11)), sign, by, what);
}

static hs_status put_texts(const struct page *page, const char *what, const char *marked,
                           const char *here, struct hs_error *err)
{
    if (marked[0] == 0 && here[0] == 0)
        return HS_OK;
    HS_TRY(hs_browse_put_line(page->lines, err, "%-9s marked: %s", what,
                              marked[0] != 0 ? marked : "?"));
    return hs_browse_put_line(page->lines, err, "%-9s here:   %s", "", here[0] != 0 ? here : "?");
}

/* ---- types of both */

struct both {
    const char *name; /* of one of the lists */
    uint64_t words[SIDES];
};

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct both *)left)->name, ((const struct both *)right)->name);
}

static uint64_t larger(const struct both *both)
{
    return both->words[0] > both->words[1] ? both->words[0] : both->words[1];
}

static int by_words(const void *left, const void *right)
{
    const struct both *a = left, *b = right;
    uint64_t of_a = larger(a), of_b = larger(b);
    return of_a != of_b ? (of_a > of_b ? -1 : 1) : strcmp(a->name, b->name);
}

static size_t join(struct both *all, size_t n)
{
    size_t n_joined = 0;
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++) {
        if (n_joined != 0 && strcmp(all[n_joined - 1].name, all[i].name) == 0) {
            for (size_t k = 0; k < SIDES; k++)
                all[n_joined - 1].words[k] += all[i].words[k];
            continue;
        }
        all[n_joined++] = all[i];
    }
    qsort(all, n_joined, sizeof *all, by_words);
    return n_joined;
}

/* Writes the part of a list of types that is not shown: all of it less what stands above. */
static hs_status put_rest(const struct page *page, const struct side *sides,
                          const struct both *shown, size_t n, struct hs_error *err)
{
    uint64_t rest[SIDES];
    for (size_t k = 0; k < SIDES; k++) {
        rest[k] = sides[k].types.whole_words;
        for (size_t i = 0; i < n; i++)
            rest[k] -= shown[i].words[k] < rest[k] ? shown[i].words[k] : rest[k];
    }
    return rest[0] == 0 && rest[1] == 0 ? HS_OK
                                        : put_numbers(page, "[other types]", rest, true, err);
}

static hs_status put_types(const struct page *page, const struct side *sides, struct hs_error *err)
{
    enum { MOST_TYPES = 200 };
    hs_auto_free struct both *all = NULL;
    size_t n = 0;
    if (!sides[0].types.is_loaded || !sides[1].types.is_loaded)
        return HS_OK;
    HS_TRY(HS_ALLOC(&all, sides[0].types.n + sides[1].types.n + 1, err));
    for (size_t k = 0; k < SIDES; k++)
        for (size_t i = 0; i < sides[k].types.n; i++) {
            all[n] = (struct both){.name = hs_browse_level_text(&sides[k].types, i)};
            all[n++].words[k] = sides[k].types.rows[i].words;
        }
    n = join(all, n);
    HS_TRY(hs_browse_put_line(page->lines, err, "%s", ""));
    HS_TRY(hs_browse_put_line(page->lines, err, "types of what each keeps:"));
    for (size_t i = 0; i < n && i < MOST_TYPES; i++)
        HS_TRY(put_numbers(page, all[i].name, all[i].words, /* is_size= */ true, err));
    return put_rest(page, sides, all, n < MOST_TYPES ? n : MOST_TYPES, err);
}

static hs_status put_both(const struct page *page, const struct side *sides, struct hs_error *err)
{
    const struct side *a = &sides[0], *b = &sides[1];
    const uint64_t own[SIDES] = {a->own, b->own}, below[SIDES] = {a->below, b->below},
                   objects[SIDES] = {a->objects, b->objects};
    HS_TRY(hs_browse_put_line(page->lines, err, "marked: %s", a->mark->name));
    HS_TRY(hs_browse_put_line(page->lines, err, "here:   %s", b->mark->name));
    HS_TRY(hs_browse_put_line(page->lines, err, "%s", ""));
    HS_TRY(hs_browse_put_line(page->lines, err, "%12s %12s %12s", "marked", "here", "+-"));
    HS_TRY(put_numbers(page, "with all below", below, /* is_size= */ true, err));
    HS_TRY(put_numbers(page, "itself", own, /* is_size= */ true, err));
    HS_TRY(put_numbers(page, "objects", objects, /* is_size= */ false, err));
    HS_TRY(hs_browse_put_line(page->lines, err, "%s", ""));
    HS_TRY(put_texts(page, "kept by", a->keeper, b->keeper, err));
    HS_TRY(put_texts(page, "type", a->type, b->type, err));
    return put_types(page, sides, err);
}

static hs_status tell_both(struct hs_browse *browse, const struct hs_browse_mark *here,
                           bool in_words, struct hs_buffer *ret, struct hs_error *err)
{
    const struct page page = {browse, in_words, ret};
    hs_auto_free struct side *sides = NULL;
    HS_TRY(HS_ALLOC(&sides, SIDES, err));
    hs_status status = ask_side(browse, &browse->mark, &sides[0], err);
    if (status == HS_OK)
        status = ask_side(browse, here, &sides[1], err);
    if (status == HS_OK)
        status = put_both(&page, sides, err);
    for (size_t i = 0; i < SIDES; i++)
        hs_browse_level_fini(&sides[i].types);
    return status;
}

hs_status hs_browse_mark(struct hs_browse *browse, bool in_words, struct hs_buffer *ret,
                         struct hs_error *err)
{
    struct hs_browse_mark here = {0};
    HS_TRY(mark_of_row(browse, &here, err));
    if (browse->mark.name == NULL) {
        browse->mark = here;
        hs_browse_say(browse, "marked: %.300s. M on another row shows both side by side",
                      here.name);
        return HS_OK;
    }
    hs_status status = HS_OK;
    if (is_marked(&browse->mark, here.what)) {
        hs_browse_unmark(browse);
        hs_browse_say(browse, "nothing is marked any more");
    } else {
        status = tell_both(browse, &here, in_words, ret, err);
    }
    hs_free(here.name);
    return status;
}
