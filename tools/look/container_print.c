#include "container_print.h"

#include "analysis/container_rows.h"
#include "commands.h"

struct line {
    uint64_t containers, elements, room, unused, words;
    const char *container, *element;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(6, STRING, container, "CONTAINER", HS_COLUMN_FLEXIBLE),
    HS_FIELD(STRING, element),
    HS_COLUMN(1, COUNT, containers, "CONTAINERS", HS_COLUMN_SUMMED),
    HS_COLUMN(2, COUNT, elements, "ELEMENTS", HS_COLUMN_SUMMED),
    HS_COLUMN(3, COUNT, room, "ROOM", 0),
    HS_COLUMN(4, COUNT, unused, "UNUSED", 0),
    HS_COLUMN(5, WORDS, words, "WORDS", HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS),
};
static const struct hs_record record = HS_RECORD(fields);
#undef HS_ROW

struct listed {
    struct hs_view *view;
    struct hs_container_rows rows;
};

static struct line line_of(const struct hs_container_row *row)
{
    return (struct line){.containers = row->containers,
                         .elements = row->entries,
                         .room = row->n_roomy == 0 ? HS_UNKNOWN : row->room,
                         .unused = row->n_roomy == 0 ? HS_UNKNOWN : row->unused,
                         .words = row->words};
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listed *listed = context;

    for (size_t i = 0; i < listed->rows.n_rows; i++) {
        struct line line = line_of(&listed->rows.rows[i]);
        struct hs_container named;
        hs_container_name(listed->view, listed->rows.rows[i].type, &named);
        line.container = named.name[0] == '\0' ? NULL : named.name;
        line.element = named.element[0] == '\0' ? NULL : named.element;
        HS_TRY(hs_sink_row(sink, &line, err));
    }
    struct line others = line_of(&listed->rows.others);
    hs_sink_others(sink, listed->rows.n_others, &others);
    return HS_OK;
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv, struct listed *listed,
                       struct hs_error *err)
{
    const struct hs_view *view = listed->view;
    const struct hs_list list = {.record = &record, .each = put_rows, .context = listed};
    const struct hs_listing all = {
        .rows = &list,
        .word_bytes = view->facts->word_bytes,
        .document =
            HS_PAIRS(HS_TEXT("schema", "heapsnap.containers/1"), HS_TEXT("snapshot", view->path),
                     HS_COUNT("word_bytes", view->facts->word_bytes), HS_ROWS("containers", &list),
                     HS_OBJECT("others"), HS_COUNT("count", listed->rows.n_others),
                     HS_COUNT("words", listed->rows.others.words), HS_END),
    };

    return hs_tool_list(tool, inv, &all, err);
}

hs_status hs_containers_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_view *view, struct hs_error *err)
{
    struct listed listed = {.view = view};
    hs_status status =
        hs_container_rows_select(view, hs_tool_min_words(inv, view->facts->word_bytes),
                                 hs_tool_rows(inv), &listed.rows, err);

    if (status == HS_OK)
        status = print(tool, inv, &listed, err);
    hs_container_rows_fini(&listed.rows);
    return status;
}
