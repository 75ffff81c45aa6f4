/* suspects: at most ten sentences on where the memory has gone. */
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"
#include "analysis/suspects.h"
#include "balance_text.h"
#include "base/units.h"
#include "commands.h"
#include "compare/growing.h"
#include "described.h"
#include "leaked_print.h"
#include "open_view.h"
#include "report/text.h"
#include "set_print.h"
#include "suspect_rows.h"
#include "suspect_text.h"
#include "unread_print.h"

enum { MOST_SENTENCES = 10, THRESHOLD = 2, FOLLOW = 70, FOLLOW_JOINT = 80, COLUMNS = 80 };

struct listing {
    struct hs_view view;
    struct hs_suspects found;
    struct hs_growing growing;
    struct hs_balance balance;
    struct hs_leaked_goroutines leaked;
    struct hs_mapping_holder mappings; /* where mappings are the answer */
    uint64_t least_bytes;              /* of a suspect that a person is told of */
    uint64_t least_untyped_bytes;      /* of one that keeps what no type is known of */
};

/* ---- sentences for a person */

/* Prints a text behind what its first line begins with, filled to the width of the terminal, the
 * other lines indented as far. */
static hs_status print_wrapped(struct hs_tool *tool, const char *first, const char *text,
                               struct hs_error *err)
{
    size_t width = tool->terminal.width != 0 ? tool->terminal.width : COLUMNS;
    struct hs_buffer filled = {0};
    char line[8192];
    (void)snprintf(line, sizeof line, "%s%s", first, text);
    hs_status status = hs_text_fill(line, strlen(line), strlen(first), width, &filled, err);
    if (status == HS_OK)
        status = hs_out_write(&tool->out, filled.bytes, filled.n_bytes, err);
    hs_buffer_fini(&filled);
    return status;
}

/* A text with names of the target in it. */
static hs_status print_text(struct hs_tool *tool, const char *first, const char *text,
                            struct hs_error *err)
{
    struct hs_buffer clean = {0};
    hs_status status = hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &clean, err);
    if (status == HS_OK)
        status = hs_buffer_reserve(&clean, 1, err);
    if (status == HS_OK) {
        hs_buffer_put_u8(&clean, '\0');
        status = print_wrapped(tool, first, (const char *)clean.bytes, err);
    }
    hs_buffer_fini(&clean);
    return status;
}

/* Writes the verdict where the memory is no live heap, and how many bytes it speaks of: "" where it
 * is one that has been read. Where the heap of a runtime that is known is not read, that is what
 * its mappings are. */
static void verdict_of(const struct listing *listing, char text[HS_BALANCE_TEXT_BYTES],
                       uint64_t *ret_bytes)
{
    const struct hs_view *view = &listing->view;
    enum hs_balance_part part = hs_balance_verdict(&listing->balance);
    struct hs_unread unread;
    hs_unread_find(view, &unread);
    bool is_runtimes =
        unread.runtime[0] != '\0' && (part == HS_BALANCE_MAPPINGS || part == HS_BALANCE_LIVE);
    *ret_bytes = is_runtimes ? unread.sum.unread_bytes : listing->balance.bytes[part];
    text[0] = '\0';
    if (is_runtimes)
        hs_unread_text(view, text);
    else
        hs_balance_verdict_text(&listing->balance, &listing->mappings, view->facts->word_bytes,
                                text);
}

/* Prints the balance of the resident memory, and its verdict where that is no live heap: sentences
 * on the heap would be beside the point. */
static hs_status print_balance(struct hs_tool *tool, const struct listing *listing,
                               struct hs_error *err)
{
    char text[HS_BALANCE_TEXT_BYTES];
    uint64_t bytes;
    hs_balance_sentence(&listing->balance, text);
    if (text[0] != '\0')
        HS_TRY(print_text(tool, "", text, err));
    verdict_of(listing, text, &bytes);
    if (text[0] != '\0')
        HS_TRY(print_text(tool, " !  ", text, err));
    if (hs_balance_verdict(&listing->balance) == HS_BALANCE_FREE)
        HS_TRY(hs_unread_say(tool, &listing->view, err));
    return listing->balance.resident_bytes == 0 ? HS_OK : hs_print(&tool->out, err, "\n");
}

static hs_status print_none(struct hs_tool *tool, const struct listing *listing,
                            unsigned threshold_percent, struct hs_error *err)
{
    const struct hs_suspects *found = &listing->found;
    const struct hs_view *view = &listing->view;
    char much[HS_SUSPECT_MUCH_BYTES], text[HS_SUSPECT_MUCH_BYTES + HS_SUSPECT_WHO_BYTES + 200];
    char who[HS_SUSPECT_WHO_BYTES];
    if (view->totals->heap_words == 0)
        return hs_print(&tool->out, err, "no suspect: the heap is empty\n");
    if (found->largest_root == HS_NO_NODE) {
        return print_wrapped(tool, "",
                             "no suspect: no root retains anything alone, and nothing "
                             "is lost",
                             err);
    }
    struct hs_suspect largest = {.roots = {found->largest_root}, .n_roots = 1};
    HS_TRY(hs_suspect_who(view, &largest, who, err));
    hs_suspect_much(view, found->largest_words, much);
    bool is_runtimes = found->largest_words >= found->threshold_words; /* set aside by it */
    (void)snprintf(text, sizeof text,
                   "no suspect: nothing%s keeps %u %% of %s; most is kept by %s: %s",
                   is_runtimes ? " of the program's own" : "", threshold_percent,
                   hs_suspect_whole(view), who, much);
    return print_wrapped(tool, "", text, err);
}

/* Tells whether most of what there is is garbage of Python's, which then is the answer. */
static bool is_mostly_garbage(const struct listing *listing)
{
    const struct hs_suspects *found = &listing->found;
    return found->garbage_count != 0 && found->garbage_words > listing->view.totals->heap_words / 2;
}

static bool has_garbage(const struct listing *listing)
{
    const struct hs_suspects *found = &listing->found;
    return found->garbage_words != 0 && found->garbage_words >= found->threshold_words;
}

/* Prints the garbage that a collector has not freed yet: below the suspects, or before them. */
static hs_status print_garbage(struct hs_tool *tool, const struct listing *listing, bool is_first,
                               struct hs_error *err)
{
    const struct hs_suspects *found = &listing->found;
    struct hs_suspect_text text;
    if (!has_garbage(listing) || is_first != is_mostly_garbage(listing))
        return HS_OK;
    HS_TRY(hs_suspect_write_garbage(&listing->view, found, &text, err));
    HS_TRY(hs_print(&tool->out, err, "%s", found->n != 0 && !is_first ? "\n" : ""));
    HS_TRY(print_wrapped(tool, is_first ? " !  " : "", text.sentence, err));
    return is_first ? hs_print(&tool->out, err, "\n") : HS_OK;
}

static hs_status print_sentence(struct hs_tool *tool, size_t number, const char *sentence,
                                const char *command, struct hs_error *err)
{
    char first[32];
    (void)snprintf(first, sizeof first, "%2zu. ", number);
    HS_TRY(hs_print(&tool->out, err, "%s", number == 1 ? "" : "\n"));
    HS_TRY(print_wrapped(tool, first, sentence, err));
    HS_TRY(hs_print(&tool->out, err, "    "));
    HS_TRY(hs_tool_print_clean(tool, command, err));
    return hs_print(&tool->out, err, "\n");
}

/* Holds for all of a program without debug information: once. */
static hs_status print_conservative(struct hs_tool *tool, const struct hs_suspects *found,
                                    struct hs_error *err)
{
    bool has_one = false;
    for (size_t i = 0; i < found->n; i++)
        has_one |=
            found->rows[i].list != HS_SUSPECT_WASTE && found->rows[i].certainty == HS_CONSERVATIVE;
    if (!has_one)
        return HS_OK;
    HS_TRY(hs_print(&tool->out, err, "\n"));
    return hs_tool_say(tool, err,
                       "words of variables without a type count as pointers by their values alone");
}

/* Sets what a person is told of who did not ask for more. A large part of a small heap may be next
 * to nothing of the process: it has LEAST_PERCENT of the resident memory. Blocks of which no more
 * is known than a size, as the tables that libraries set up have many, need LEAST_BYTES, too: of
 * less there is nothing to be learnt. All is told of a dump that has not looked at most of the
 * memory. */
static void set_least(const struct hs_invocation *inv, struct listing *listing)
{
    enum { LEAST_PERCENT = 2, LEAST_BYTES = 1 << 20 };
    const struct hs_balance *balance = &listing->balance;
    bool is_asked_for = hs_given(inv, HS_OPT_SENTENCES) || hs_given(inv, HS_OPT_THRESHOLD);
    if (is_asked_for || balance->bytes[HS_BALANCE_ABSENT] != 0 || balance->resident_bytes == 0)
        return;
    uint64_t part = balance->resident_bytes / 100 * LEAST_PERCENT;
    listing->least_bytes = part;
    listing->least_untyped_bytes = part < LEAST_BYTES ? LEAST_BYTES : part;
}

static bool has_bytes(const struct listing *listing, const struct hs_suspect *suspect,
                      uint64_t bytes)
{
    return suspect->words >= bytes / listing->view.facts->word_bytes;
}

/* Tells whether a type tells something of what is kept; what is lost is a fault without one. */
static bool is_telling(const struct hs_view *view, const struct hs_suspect *suspect)
{
    return suspect->list == HS_SUSPECT_LOST || hs_suspect_tells_type(view, suspect);
}

static bool is_told(const struct listing *listing, const struct hs_suspect *suspect)
{
    return has_bytes(listing, suspect,
                     is_telling(&listing->view, suspect) ? listing->least_bytes
                                                         : listing->least_untyped_bytes);
}

static bool has_told(const struct listing *listing)
{
    for (size_t i = 0; i < listing->found.n; i++)
        if (is_told(listing, &listing->found.rows[i]))
            return true;
    return listing->growing.is_there;
}

/* The largest of those that are too little to be suspects. */
static hs_status print_calm(struct hs_tool *tool, struct listing *listing, struct hs_error *err)
{
    bool is_part = false; /* there is one of 2 %, and no type tells what it is */
    for (size_t i = 0; i < listing->found.n; i++)
        is_part |= has_bytes(listing, &listing->found.rows[i], listing->least_bytes);
    struct hs_suspect_text text;
    HS_TRY(print_wrapped(tool, "",
                         is_part
                             ? "no suspect: only blocks of no known type, below 1 MiB, keep 2 % of "
                               "the resident memory (-n 0 prints all). Most is this:"
                             : "no suspect: nothing keeps 2 % of the resident memory (-n 0 "
                               "prints all). Most is this:",
                         err));
    HS_TRY(hs_suspect_write(&listing->view, &listing->found.rows[0], &text, err));
    HS_TRY(print_wrapped(tool, "    ", text.sentence, err));
    HS_TRY(hs_print(&tool->out, err, "    "));
    HS_TRY(hs_tool_print_clean(tool, text.command, err));
    HS_TRY(hs_print(&tool->out, err, "\n"));
    return print_garbage(tool, listing, /* is_first= */ false, err);
}

static hs_status print_sentences(struct hs_tool *tool, struct listing *listing,
                                 struct hs_error *err)
{
    const struct hs_suspects *found = &listing->found;
    const struct hs_growing *growing = &listing->growing;
    size_t number = 0;
    if (growing->is_there)
        HS_TRY(print_sentence(tool, ++number, growing->sentence, growing->command, err));
    for (size_t i = 0; i < found->n; i++) {
        struct hs_suspect_text text;
        if (!is_told(listing, &found->rows[i]))
            continue;
        HS_TRY(hs_suspect_write(&listing->view, &found->rows[i], &text, err));
        HS_TRY(print_sentence(tool, ++number, text.sentence, text.command, err));
    }
    if (found->n_others != 0)
        HS_TRY(hs_print(&tool->out, err, "\n[%lu others: -n 0 prints all]\n",
                        (unsigned long)found->n_others));
    HS_TRY(print_conservative(tool, found, err));
    return print_garbage(tool, listing, /* is_first= */ false, err);
}

static hs_status find_balance(struct listing *listing, struct hs_error *err)
{
    hs_balance_find(&listing->view, &listing->balance);
    return hs_balance_verdict(&listing->balance) != HS_BALANCE_MAPPINGS
               ? HS_OK
               : hs_mapping_holder_find(&listing->view, &listing->mappings, err);
}

/* Prints the sentences for a person. */
static hs_status print_text_of(struct hs_tool *tool, struct listing *listing,
                               const struct hs_suspect_query *query, struct hs_error *err)
{
    HS_TRY(print_balance(tool, listing, err));
    HS_TRY(print_garbage(tool, listing, /* is_first= */ true, err));
    if (has_told(listing)) {
        HS_TRY(print_sentences(tool, listing, err));
    } else if (listing->found.n != 0) {
        HS_TRY(print_calm(tool, listing, err));
    } else {
        HS_TRY(print_none(tool, listing, query->threshold_percent, err));
        HS_TRY(print_garbage(tool, listing, /* is_first= */ false, err));
    }
    if (listing->leaked.n == 0)
        return HS_OK;
    HS_TRY(hs_print(&tool->out, err, "\n"));
    return hs_leaked_say(tool, &listing->view, &listing->leaked, err);
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct listing *listing, const struct hs_suspect_query *query,
                       struct hs_error *err)
{
    const struct hs_view *view = &listing->view;
    const uint64_t *bytes = listing->balance.bytes;
    char balance[HS_BALANCE_TEXT_BYTES], of_balance[HS_BALANCE_TEXT_BYTES];
    struct hs_suspect_text garbage = {.sentence = ""};
    hs_balance_sentence(&listing->balance, balance);
    uint64_t verdict_bytes;
    verdict_of(listing, of_balance, &verdict_bytes);
    if (has_garbage(listing))
        HS_TRY(hs_suspect_write_garbage(view, &listing->found, &garbage, err));
    bool is_garbage = of_balance[0] == '\0' && is_mostly_garbage(listing);
    const char *verdict = is_garbage ? garbage.sentence : of_balance;
    if (is_garbage)
        verdict_bytes = listing->found.garbage_words * view->facts->word_bytes;
    struct hs_suspect_listing rows = {.view = &listing->view,
                                      .found = &listing->found,
                                      .growing = &listing->growing,
                                      .verdict = hs_or_null(verdict),
                                      .verdict_bytes = verdict_bytes};
    const struct hs_list list = {
        .record = &hs_suspects_record, .each = hs_suspect_rows, .context = &rows};
    struct hs_attribution attribution;
    hs_attribution_find(view, &attribution);
    struct hs_pair memory[HS_PRIVATE_PAIRS];
    hs_private_memory_json(&attribution.memory, memory);
    struct hs_leaked_pairs leaked;
    hs_leaked_pairs_init(view, &listing->leaked, &leaked);
    const struct hs_listing all = {
        .rows = &list,
        .word_bytes = view->facts->word_bytes,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.suspects/2"), HS_TEXT("snapshot", view->path),
            HS_COUNT("word_bytes", view->facts->word_bytes),
            HS_COUNT("heap_words", view->totals->heap_words),
            HS_COUNT("unread_words", attribution.unread_words),
            HS_COUNT("garbage_words", listing->found.garbage_words),
            HS_TEXT("garbage", hs_or_null(garbage.sentence)),
            HS_COUNT("resident_bytes", hs_or_unknown(listing->balance.resident_bytes)),
            HS_TEXT("headline", hs_or_null(balance)), HS_TEXT("verdict", hs_or_null(verdict)),
            HS_SPLICE(memory), HS_OBJECT("balance"), HS_COUNT("live_bytes", bytes[HS_BALANCE_LIVE]),
            HS_COUNT("free_bytes", bytes[HS_BALANCE_FREE]),
            HS_COUNT("mapping_bytes", bytes[HS_BALANCE_MAPPINGS]),
            HS_COUNT("stack_bytes", bytes[HS_BALANCE_STACKS]),
            HS_COUNT("table_bytes", bytes[HS_BALANCE_TABLES]),
            HS_COUNT("binary_bytes", bytes[HS_BALANCE_BINARIES]),
            HS_COUNT("other_bytes", bytes[HS_BALANCE_OTHER]),
            HS_COUNT("absent_bytes", bytes[HS_BALANCE_ABSENT]), HS_END,
            HS_COUNT("attributed_words", attribution.attributed_words), HS_ROWS("suspects", &list),
            HS_OBJECT("others"), HS_COUNT("count", listing->found.n_others), HS_END,
            HS_LEAKED_PAIRS(&leaked)),
    };
    if (hs_tool_format(inv) != HS_FORMAT_TABLE)
        return hs_tool_list(tool, inv, &all, err);
    set_least(inv, listing);
    return print_text_of(tool, listing, query, err);
}

/* ---- the command */

static hs_status query_of(const struct hs_invocation *inv, struct hs_suspect_query *query,
                          struct hs_error *err)
{
    *query = (struct hs_suspect_query){.max_rows = MOST_SENTENCES};
    if (hs_given(inv, HS_OPT_SENTENCES))
        query->max_rows =
            inv->number[HS_OPT_SENTENCES] == 0 ? SIZE_MAX : inv->number[HS_OPT_SENTENCES];
    HS_TRY(hs_option_percent(inv, HS_OPT_THRESHOLD, THRESHOLD, &query->threshold_percent, err));
    HS_TRY(hs_option_percent(inv, HS_OPT_FOLLOW, FOLLOW, &query->follow_percent, err));
    return hs_option_percent(inv, HS_OPT_FOLLOW_JOINT, FOLLOW_JOINT, &query->follow_joint_percent,
                             err);
}

/* The threshold of --fail-over is of one suspect. What has no known type is none of anything. */
static void judge(struct hs_tool *tool, const struct hs_invocation *inv,
                  const struct listing *listing)
{
    char most_text[HS_UNIT_TEXT_BYTES];
    unsigned word_bytes = listing->view.facts->word_bytes;
    uint64_t most = 0;
    for (size_t i = 0; i < listing->found.n; i++) {
        const struct hs_suspect *row = &listing->found.rows[i];
        if (row->waste != HS_WASTE_UNKNOWN && row->words > most)
            most = row->words;
    }
    if (!hs_given(inv, HS_OPT_FAIL_OVER_SIZE) ||
        most <= hs_tool_words(inv, HS_OPT_FAIL_OVER_SIZE, word_bytes))
        return;
    hs_format_bytes(most * word_bytes, most_text);
    hs_talk("a suspect has %lu words (%s), more than the %s of --fail-over", (unsigned long)most,
            most_text, inv->text[HS_OPT_FAIL_OVER_SIZE]);
    tool->threshold_crossed = true;
}

/* Finds the growth, which comes first when there is something to compare with. */
static hs_status find_growing(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_growing *ret, struct hs_error *err)
{
    const char *older[HS_MAX_REPEATED];
    size_t n = hs_repeated(inv, HS_OPT_OLDER, older);
    return n == 0 ? HS_OK : hs_growing_find(tool, inv->arguments[0], older, n, ret, err);
}

hs_status hs_cmd_suspects(struct hs_tool *tool, const struct hs_invocation *inv,
                          struct hs_error *err)
{
    struct listing listing = {0};
    struct hs_suspect_query query;
    HS_TRY(query_of(inv, &query, err));
    HS_TRY(find_growing(tool, inv, &listing.growing, err));
    hs_status status =
        hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &listing.view, err);
    if (status != HS_OK) {
        hs_growing_fini(&listing.growing);
        return status;
    }
    status = hs_suspects_find(&listing.view, &query, &listing.found, err);
    if (status == HS_OK)
        status = find_balance(&listing, err);
    if (status == HS_OK)
        status = hs_leaked_goroutines_find(&listing.view, &listing.leaked, err);
    if (status == HS_OK)
        status = print(tool, inv, &listing, &query, err);
    if (status == HS_OK)
        judge(tool, inv, &listing);
    hs_leaked_goroutines_fini(&listing.leaked);
    hs_mapping_holder_fini(&listing.mappings);
    hs_suspects_fini(&listing.found);
    hs_growing_fini(&listing.growing);
    return hs_view_finish(&listing.view, status, err);
}
