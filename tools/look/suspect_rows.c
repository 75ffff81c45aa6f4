#include "suspect_rows.h"

#include <stdio.h>

#include "suspect_text.h"

struct line {
    const char *list, *sentence, *root, *set, *holder, *type, *site, *certainty, *command, *reserve;
    const char *path, *cycle;
    uint64_t words, objects, n_roots, count, each_words, doubtful_words, folded_roots;
    const struct hs_list *roots, *population, *members;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, STRING, list, "LIST", 0),
    HS_COLUMN(12, STRING, sentence, "SENTENCE", 0),
    HS_COLUMN(2, WORDS, words, "WORDS", 0),
    HS_COLUMN(3, COUNT, objects, "OBJECTS", 0),
    HS_FIELD(LIST, roots),
    HS_FIELD(COUNT, n_roots),
    HS_COLUMN_AS("root", 4, STRING, root, "ROOT", HS_COLUMN_NOT_JSON),
    HS_COLUMN(5, STRING, set, "SET", 0),
    HS_COLUMN(6, STRING, holder, "HOLDER", 0),
    HS_COLUMN(7, STRING, type, "TYPE", 0),
    HS_COLUMN(8, COUNT, count, "COUNT", 0),
    HS_FIELD(WORDS, each_words),
    HS_COLUMN(9, STRING, site, "SITE", 0),
    HS_COLUMN(10, STRING, certainty, "CERTAINTY", 0),
    HS_FIELD(WORDS, doubtful_words),
    HS_COLUMN(11, STRING, command, "COMMAND", 0),
    HS_FIELD(STRING, reserve),
    HS_FIELD(STRING, path),
    HS_FIELD(ONE, population),
    HS_FIELD(LIST, members),
    HS_FIELD(COUNT, folded_roots),
    HS_FIELD(STRING, cycle),
};
const struct hs_record hs_suspects_record = HS_RECORD(fields);

static const char *type_name(const struct hs_view *view, uint32_t type)
{
    return type == HS_UNTYPED ? NULL : hs_view_string(view, hs_snap_type(view->snap, type)->name);
}

/* ---- what a row has of its own */

static hs_status put_roots(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_suspect_listing *list = context;
    for (uint64_t i = 0; i < list->at->n_shown; i++)
        HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_VALUE(NULL, NODE, list->at->roots[i])), err));
    return HS_OK;
}

struct population {
    uint32_t type;
    uint64_t n_blocks, words; /* with what hangs on them */
};

/* Finds what the sentence counts first; n_blocks 0: it counts none. */
static struct population population_of(const struct hs_suspect *row)
{
    struct population told = {row->type, row->count, row->each_words * row->count};
    bool is_kept = row->list == HS_SUSPECT_OWNER || row->list == HS_SUSPECT_JOINT;
    if (hs_suspect_parts(row) != 0)
        return (struct population){row->at.classes[0].type, row->at.classes[0].n_blocks,
                                   row->at.classes[0].words};
    if (is_kept)
        told.words = row->at.steps[row->at.members].words;
    else if (row->list == HS_SUSPECT_LOST && row->n_copies == 0)
        told.words = row->held_words;
    return told;
}

static hs_status put_population(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_suspect_listing *list = context;
    const struct hs_suspect *row = list->at;
    const struct population told = population_of(row);
    if (told.n_blocks == 0)
        return HS_OK;
    return hs_sink_pairs(
        sink,
        HS_PAIRS(HS_TEXT("type", type_name(list->view, told.type)),
                 HS_COUNT("objects", told.n_blocks),
                 HS_COUNT("bytes_each", told.words * list->view->facts->word_bytes / told.n_blocks),
                 HS_COUNT("entries", row->room != 0 ? row->entries : HS_UNKNOWN),
                 HS_COUNT("room", hs_or_unknown(row->room))),
        err);
}

/* Puts the largest parts below one place, where no population has most of it. */
static hs_status put_members(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_suspect_listing *list = context;
    const struct hs_suspect *row = list->at;
    for (unsigned i = 0; i < hs_suspect_parts(row); i++) {
        const struct hs_accumulated *part = &row->at.classes[i];
        HS_TRY(hs_sink_pairs(sink,
                             HS_PAIRS(HS_TEXT("path", row->class_holders[i]),
                                      HS_TEXT("type", type_name(list->view, part->type)),
                                      HS_COUNT("objects", part->n_blocks),
                                      HS_COUNT("retained_words", row->at.parts[i].words)),
                             err));
    }
    return HS_OK;
}

static hs_status put_none(void *context, struct hs_sink *sink, struct hs_error *err)
{
    (void)context;
    (void)sink;
    (void)err;
    return HS_OK;
}

/* ---- rows */

static hs_status put_suspect(struct hs_sink *sink, struct hs_suspect_listing *list,
                             struct hs_error *err)
{
    struct hs_view *view = list->view;
    const struct hs_suspect *row = list->at;
    const struct hs_list roots = {.each = put_roots, .context = list, .is_line = true};
    const struct hs_list population = {.each = put_population, .context = list};
    const struct hs_list members = {.each = put_members, .context = list, .is_line = true};
    struct hs_suspect_text text;
    char set[32];
    HS_TRY(hs_suspect_write(view, row, &text, err));
    (void)snprintf(set, sizeof set, "set:%u", row->set);
    struct line line = {
        .list = hs_suspect_list_name(row->list),
        .sentence = text.sentence,
        .words = row->words,
        .objects = row->objects == HS_SUSPECT_UNKNOWN ? HS_UNKNOWN : row->objects,
        .roots = &roots,
        .n_roots = row->n_roots,
        .root = row->n_shown == 0
                    ? NULL
                    : hs_view_string(view, hs_snap_root(view->snap, row->roots[0])->name),
        .set = row->set != 0 ? set : NULL,
        .holder = row->holder,
        .type = type_name(view, row->type),
        .count = row->count != 0 ? row->count : HS_UNKNOWN,
        .each_words = row->each_words != 0 ? row->each_words : HS_UNKNOWN,
        .site = row->site,
        .certainty = hs_certainty_name(row->certainty),
        .doubtful_words = row->tier == HS_TIER_DOUBTFUL ? row->words : row->doubtful_words,
        .command = text.command,
        .reserve = hs_reserve_name(row->reserve),
        .path = hs_suspect_parts(row) != 0 ? row->class_holders[0] : row->holder,
        .population = &population,
        .members = &members,
        .folded_roots = row->fold_name != NULL ? row->n_roots : 0,
        .cycle = row->cycle,
    };
    return hs_sink_row(sink, &line, err);
}

static hs_status put_growing(struct hs_sink *sink, const struct hs_growing *growing,
                             struct hs_error *err)
{
    const struct hs_list none = {.each = put_none, .is_line = true};
    const struct line line = {
        .list = "growing",
        .sentence = growing->sentence,
        .words = growing->words,
        .objects = growing->objects,
        .roots = &none,
        .holder = growing->holder,
        .type = growing->type,
        .count = HS_UNKNOWN,
        .each_words = HS_UNKNOWN,
        .site = growing->site[0] != '\0' ? growing->site : NULL,
        .command = growing->command,
        .path = growing->holder,
        .population = &none,
        .members = &none,
    };
    return hs_sink_row(sink, &line, err);
}

/* Puts the part of the resident memory that is the answer in place of the live heap. */
static hs_status put_memory(struct hs_sink *sink, const struct hs_suspect_listing *list,
                            struct hs_error *err)
{
    const struct hs_list none = {.each = put_none, .is_line = true};
    const struct line line = {
        .list = "memory",
        .sentence = list->verdict,
        .words = list->verdict_bytes / list->view->facts->word_bytes,
        .objects = HS_UNKNOWN,
        .roots = &none,
        .count = HS_UNKNOWN,
        .each_words = HS_UNKNOWN,
        .population = &none,
        .members = &none,
    };
    return hs_sink_row(sink, &line, err);
}

hs_status hs_suspect_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct hs_suspect_listing *list = context;
    if (list->growing->is_there)
        HS_TRY(put_growing(sink, list->growing, err));
    if (list->verdict != NULL)
        HS_TRY(put_memory(sink, list, err));
    for (size_t i = 0; i < list->found->n; i++) {
        list->at = &list->found->rows[i];
        HS_TRY(put_suspect(sink, list, err));
    }
    return HS_OK;
}
