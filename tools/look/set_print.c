#include "set_print.h"

#include "analysis/root_name.h"
#include "base/append.h"
#include <stdio.h>
#include <string.h>

enum { HS_PARTS_TEXT_BYTES = 512 };

static const char *const nouns[] = {
    [HS_BY_ROOT] = "roots", [HS_BY_KIND] = "kinds",     [HS_BY_MODULE] = "modules",
    [HS_BY_UNIT] = "units", [HS_BY_THREAD] = "threads", [HS_BY_FRAME] = "frames",
};

const char *hs_set_noun(enum hs_group_by group_by)
{
    return nouns[group_by];
}

void hs_set_names(const struct hs_view *view, const struct hs_set_rows *sets, size_t row,
                  enum hs_group_by group_by, char *text)
{
    struct hs_set_walk walk = {0};
    text[0] = 0;
    if (group_by == HS_BY_ROOT) {
        hs_set_roots_text(view, sets->rows[row].id, text, HS_SET_TEXT_BYTES);
        return;
    }
    unsigned n = 0;
    for (hs_node node; n < HS_SET_NAMES && hs_set_member_next(view, sets, row, &walk, &node); n++)
        hs_append_item(text, HS_SET_TEXT_BYTES, ", ",
                       node == 0 ? "other roots"
                                 : hs_view_string(view, hs_snap_root(view->snap, node)->name));
    if (sets->rows[row].n_members > HS_SET_NAMES)
        hs_append(text, HS_SET_TEXT_BYTES, ", ...");
}

struct members {
    const struct hs_view *view;
    const struct hs_set_rows *sets;
    size_t row;
};

static hs_status put_members(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct members *of = context;
    struct hs_set_walk walk = {0};
    for (hs_node node; hs_set_member_next(of->view, of->sets, of->row, &walk, &node);)
        HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_VALUE(NULL, NODE, node)), err));
    return HS_OK;
}

hs_status hs_set_put(struct hs_sink *sink, const struct hs_view *view,
                     const struct hs_set_rows *sets, size_t row, enum hs_group_by group_by,
                     struct hs_error *err)
{
    const struct hs_set_row *set = &sets->rows[row];
    bool by_root = group_by == HS_BY_ROOT;
    struct members context = {view, sets, row};
    const struct hs_list members = {.each = put_members, .context = &context, .is_line = true};
    char id[16];

    (void)snprintf(id, sizeof id, "set:%u", set->id);
    return hs_sink_pairs(sink,
                         HS_PAIRS(HS_TEXT("id", set->id != 0 ? id : NULL),
                                  HS_ROWS(by_root ? "roots" : "groups", &members),
                                  HS_COUNT(by_root ? "n_roots" : "n_groups", set->n_members),
                                  HS_COUNT("retained_words", set->retained.words),
                                  HS_COUNT("retained_objects", set->retained.objects),
                                  HS_COUNT("static_retained_words", set->retained.static_words)),
                         err);
}

/* "reached 10.6 MiB, free 3.1 MiB, ...": the parts that there are. */
static void put_parts(struct hs_tool *tool, const struct hs_private_memory *memory,
                      unsigned word_bytes, char text[HS_PARTS_TEXT_BYTES])
{
    const struct {
        const char *name;
        uint64_t bytes;
    } parts[] = {{"reached", memory->reached_bytes},   {"garbage", memory->garbage_bytes},
                 {"free", memory->free_bytes},         {"stacks", memory->stacks_bytes},
                 {"mappings", memory->mappings_bytes}, {"other heaps", memory->other_heaps_bytes},
                 {"not read", memory->not_read_bytes}};
    char size[HS_SIZE_TEXT_BYTES];

    text[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].bytes == 0)
            continue;
        hs_append(text, HS_PARTS_TEXT_BYTES, "%s%s %s", text[0] != '\0' ? ", " : "", parts[i].name,
                  hs_tool_size(tool, parts[i].bytes / word_bytes, word_bytes, size));
    }
    if (memory->absent_bytes == 0)
        return;
    hs_append(text, HS_PARTS_TEXT_BYTES, "; of these %s of blocks are not resident",
              hs_tool_size(tool, memory->absent_bytes / word_bytes, word_bytes, size));
}

void hs_private_memory_json(const struct hs_private_memory *memory,
                            struct hs_pair pairs[HS_PRIVATE_PAIRS])
{
    uint64_t unknown = memory->all_bytes == 0 ? HS_UNKNOWN : 0;
    uint64_t heap_bytes = memory->reached_bytes + memory->garbage_bytes - memory->absent_bytes;
    const struct hs_pair members[HS_PRIVATE_PAIRS] = {
        HS_OBJECT("memory"),
        HS_COUNT("resident_bytes", unknown | (memory->all_bytes - memory->absent_bytes)),
        HS_COUNT("heap_bytes", unknown | heap_bytes),
        HS_COUNT("other_heaps_bytes", unknown | memory->other_heaps_bytes),
        HS_COUNT("free_bytes", unknown | memory->free_bytes),
        HS_COUNT("mappings_bytes", unknown | memory->mappings_bytes),
        HS_COUNT("stacks_bytes", unknown | memory->stacks_bytes),
        HS_COUNT("not_read_bytes", unknown | memory->not_read_bytes),
        HS_COUNT("not_resident_bytes", unknown | memory->absent_bytes),
        HS_END,
        HS_PAIRS_END,
    };
    memcpy(pairs, members, sizeof members);
}

static hs_status print_private(struct hs_tool *tool, const struct hs_attribution *a,
                               unsigned word_bytes, struct hs_error *err)
{
    char all[HS_SIZE_TEXT_BYTES], parts[HS_PARTS_TEXT_BYTES];

    if (a->memory.all_bytes == 0)
        return HS_OK;
    put_parts(tool, &a->memory, word_bytes, parts);
    return hs_tool_say(tool, err, "owned %.1f %%, attributed %.1f %% of %s of private memory: %s",
                       hs_private_percent(a, a->owned_words, word_bytes),
                       hs_private_percent(a, a->attributed_words, word_bytes),
                       hs_tool_size(tool, a->memory.all_bytes / word_bytes, word_bytes, all),
                       parts);
}

hs_status hs_attribution_print(struct hs_tool *tool, const struct hs_attribution *a,
                               unsigned word_bytes, struct hs_error *err)
{
    HS_TRY(print_private(tool, a, word_bytes, err));
    return hs_tool_say(
        tool, err,
        "of what is reached%s: owned %.1f %%, attributed %.1f %%, to a file %.1f %%, to at most 8 "
        "objects %.1f %%, to at most 3 modules %.1f %%; kept by 1 root %.1f %%, by 2-3 %.1f %%, by "
        "4-8 %.1f %%, by more %.1f %%",
        a->unread_words != 0 ? " or not read" : "", hs_attribution_percent(a, a->owned_words),
        hs_attribution_percent(a, a->attributed_words),
        hs_attribution_percent(a, a->to_files_words),
        hs_attribution_percent(a, a->to_objects_words),
        hs_attribution_percent(a, a->to_modules_words), hs_attribution_percent(a, a->by_1_words),
        hs_attribution_percent(a, a->by_2_3_words), hs_attribution_percent(a, a->by_4_8_words),
        hs_attribution_percent(a, a->by_more_words));
}
