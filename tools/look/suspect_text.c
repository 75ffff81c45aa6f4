#include "suspect_text.h"

#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/root_name.h"
#include "analysis/unread.h"
#include "base/append.h"
#include "base/units.h"
#include "suspect_writer.h"

void hs_suspect_put_bytes(struct writer *w, const struct hs_view *view, uint64_t words)
{
    char text[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(words * view->facts->word_bytes, text);
    put(w, "%s", text);
}

void hs_suspect_put_percent(struct writer *w, uint64_t part, uint64_t whole)
{
    uint64_t tenths = whole == 0 ? 0 : (uint64_t)((double)part / (double)whole * 1000 + 0.5);
    put(w, "%lu.%lu %%", (unsigned long)(tenths / 10), (unsigned long)(tenths % 10));
}

void hs_suspect_much(const struct hs_view *view, uint64_t words, char *text)
{
    struct writer w = {.text = text, .n_bytes = HS_SUSPECT_MUCH_BYTES};
    text[0] = '\0';
    put_bytes(&w, view, words);
    put(&w, ", ");
    put_percent(&w, words, hs_unread_whole(view));
    put(&w, " of %s", hs_suspect_whole(view));
}

const char *hs_suspect_whole(const struct hs_view *view)
{
    bool is_read = hs_unread_whole(view) == view->totals->heap_words;
    return is_read ? "the heap" : "heap and unread memory";
}

/* ---- what */

static bool is_opaque(const struct hs_view *view, uint32_t type)
{
    if (type == HS_UNTYPED)
        return false;
    const struct hs_type *of = hs_snap_type(view->snap, type);
    return hs_type_is_opaque(hs_view_string(view, of->name), of->form);
}

/* The names that are ours, not those of a program's types, in the plural. */
static const char *const plurals[][2] = {
    {"list-cell", "list-cells"},
    {"map-node", "map-nodes"},
    {"set-node", "set-nodes"},
    {"hash-table", "hash-tables"},
    {"hash-table-entry", "hash-table-entries"},
    {"queue", "queues"},
    {"stack", "stacks"},
    {"string", "strings"},
    {"float", "floats"},
    {"float array", "float arrays"},
    {"object", "objects"},
    {"closure", "closures"},
};

/* Tells whether a root is called by several things that keep the memory together. */
static bool is_plural(const char *name)
{
    static const char *const begins[] = {"variables of ", "timers of ", "finalizers of ",
                                         "cleanups", "weak handles"};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* The parts of Go's maps, which are called by the map: how their types begin, one, several. */
static const char *const map_parts[][3] = {
    {"table of ", "table of ", "tables of "},
    {"directory of ", "directory of ", "directories of "},
    {"entries of map[", "block of entries of map[", "blocks of entries of map["},
};

/* Writes the name of n blocks of a type: "map-nodes", "blocks (tag 0, 2 fields)", "struct node". */
static void put_kind(struct writer *w, const char *name, uint64_t n)
{
    static const char block[] = "block ", chunk[] = "chunk", of_bytes[] = "block of ";

    if (strncmp(name, "block tag ", strlen("block tag ")) == 0) {
        put(w, n == 1 ? "block (" : "blocks (");
        put_name(w, name + strlen(block), NAME_COLUMNS);
        put(w, ")");
        return;
    }
    if (n != 1 && strncmp(name, chunk, strlen(chunk)) == 0) {
        put(w, "chunks");
        name += strlen(chunk);
    }
    if (n != 1 && strncmp(name, of_bytes, strlen(of_bytes)) == 0) {
        put(w, "blocks ");
        name += strlen(block);
    }
    for (size_t i = 0; n != 1 && i < sizeof plurals / sizeof *plurals; i++)
        if (strcmp(name, plurals[i][0]) == 0)
            name = plurals[i][1];
    for (size_t i = 0; i < sizeof map_parts / sizeof *map_parts; i++)
        if (strncmp(name, map_parts[i][0], strlen(map_parts[i][0])) == 0) {
            put(w, "%s", map_parts[i][n == 1 ? 1 : 2]);
            name += strlen(map_parts[i][0]);
            break;
        }
    put_name(w, name, NAME_COLUMNS);
}

/* "blocks of 184 bytes, perhaps _xmlDoc": of a size it is said what it may be. */
static void put_guess(struct writer *w, const char *name, uint64_t n)
{
    static const char block[] = "block ";
    put(w, "%s ", n == 1 ? "block" : "blocks");
    put_name(w, name + (strncmp(name, block, strlen(block)) == 0 ? strlen(block) : 0),
             NAME_COLUMNS);
}

/* "11 pieces of mappings (heap of Ruby, 10.1 MiB)", "one piece of a mapping (anonymous, 64.0 MiB)"
 */
static void put_pieces(struct writer *w, const char *name, uint64_t n)
{
    static const char anonymous[] = "[anon";
    size_t n_bytes = strlen(name), begin = n_bytes != 0 && name[0] == '[';
    size_t end = begin != 0 && name[n_bytes - 1] == ']' ? n_bytes - 1 : n_bytes;
    bool is_anonymous = strncmp(name, anonymous, sizeof anonymous - 1) == 0;
    char inner[NAME_COLUMNS + 1];

    begin = is_anonymous ? sizeof anonymous - 1 : begin;
    (void)snprintf(inner, sizeof inner, "%s%.*s", is_anonymous ? "anonymous" : "",
                   (int)(end > begin ? end - begin : 0), name + begin);
    if (n == 1)
        put(w, "one piece of a mapping (");
    else
        put(w, "%lu pieces of mappings (", (unsigned long)n);
    put_name(w, inner, NAME_COLUMNS);
    put(w, ")");
}

/* Tells whether a name says the size: "block of 256 bytes without pointers", of Go. */
static bool is_of_size(const char *name)
{
    static const char begin[] = "block of ";
    return strncmp(name, begin, strlen(begin)) == 0 && name[strlen(begin)] >= '0' &&
           name[strlen(begin)] <= '9';
}

static bool is_guessed(const struct hs_view *view, uint32_t type)
{
    return strstr(hs_view_string(view, hs_snap_type(view->snap, type)->name), HS_TYPE_PERHAPS) !=
           NULL;
}

/* "200000 struct node of 32 B", "one char[] of 1.2 MiB", "5 blocks of unknown type, 48 B each". */
static void put_blocks(struct writer *w, const struct hs_view *view, uint32_t type, uint64_t n,
                       uint64_t each_words)
{
    if (type != HS_UNTYPED && hs_snap_type(view->snap, type)->form == HS_FORM_MAPPING) {
        put_pieces(w, hs_view_string(view, hs_snap_type(view->snap, type)->name), n);
        return;
    }
    bool is_known = has_type(view, type);
    const char *name =
        type == HS_UNTYPED ? "" : hs_view_string(view, hs_snap_type(view->snap, type)->name);
    if (n == 1)
        put(w, "one ");
    else
        put(w, "%lu ", (unsigned long)n);
    if (!is_known && strstr(name, HS_TYPE_PERHAPS) != NULL) {
        put_guess(w, name, n);
        return;
    }
    if (is_known)
        put_kind(w, hs_view_string(view, hs_snap_type(view->snap, type)->name), n);
    else
        put(w, "%s of unknown type", n == 1 ? "block" : "blocks");
    if (each_words == 0 || (is_known && is_of_size(name)))
        return;
    put(w, is_known ? " of " : ", ");
    put_bytes(w, view, each_words);
    put(w, "%s", is_known || n == 1 ? "" : " each");
}

/* "of 24 B each"; "53 B on average", where the median is not what they have together; where a few
 * are most of it, neither says much of them: "48.8 MiB together, the largest 24.4 MiB". */
static void put_sizes(struct writer *w, const struct hs_view *view,
                      const struct hs_suspect *suspect)
{
    enum { MANY_TIMES = 4, ALIKE = 10 };
    const struct hs_accumulation *at = &suspect->at;
    uint64_t own_words = at->steps[at->members].own_words;
    uint64_t average = own_words / suspect->count, median = suspect->each_words;
    bool is_uneven = average / MANY_TIMES > median;
    bool is_alike = (average > median ? average - median : median - average) <= median / ALIKE;
    put_blocks(w, view, suspect->type, suspect->count, is_alike ? median : 0);
    if (!is_alike && hs_suspect_put_sizes(w, view, suspect))
        return;
    if (is_uneven) {
        put(w, ", ");
        put_bytes(w, view, own_words);
        put(w, " together, the largest ");
        put_bytes(w, view, at->largest_words);
    } else if (!is_alike) {
        char text[HS_UNIT_TEXT_BYTES];
        hs_format_bytes(own_words * view->facts->word_bytes / suspect->count, text);
        put(w, ", %s on average", text);
    } else if (suspect->count > 1 && has_type(view, suspect->type)) {
        put(w, " each");
    }
}

/* "17 groups of 28 blocks of unknown type, 13.6 KiB each on average": what hangs on as many entries
 * of a table. False where types tell more, or the groups are of many sizes. */
static bool put_groups(struct writer *w, const struct hs_view *view,
                       const struct hs_suspect *suspect)
{
    enum { LEAST_GROUPS = 8, LEAST_BLOCKS = 3, MOST_TIMES = 4 };
    const struct hs_accumulation *at = &suspect->at;
    const struct hs_accumulated *members = &at->steps[at->members];
    if (has_type(view, suspect->type) || at->n_heads < LEAST_GROUPS ||
        members->n_blocks / LEAST_BLOCKS < at->n_heads ||
        at->top_words / MOST_TIMES > members->words / at->n_heads)
        return false;
    put(w, "%lu groups of %lu blocks of unknown type, ", (unsigned long)at->n_heads,
        (unsigned long)(members->n_blocks / at->n_heads));
    put_bytes(w, view, members->words / at->n_heads);
    put(w, " each on average");
    return true;
}

/* ", 20 of 4096 elements in use" */
static void put_room(struct writer *w, const struct hs_suspect *suspect)
{
    if (suspect->room != 0)
        put(w, ", %lu of %lu elements in use", (unsigned long)suspect->entries,
            (unsigned long)suspect->room);
}

/* Says of members that their containers do not count them: "They are cleared, and kept for the next
 * use: their 13 containers count 0 elements. " */
static void put_spare(struct writer *w, const struct hs_suspect *suspect)
{
    if (suspect->n_spare != 0)
        put(w,
            "They are cleared, and kept for the next use: their %lu containers count %lu "
            "elements. ",
            (unsigned long)suspect->n_spare, (unsigned long)suspect->spare_entries);
}

/* " of 40000 elements", of one array; ", 40000 elements in all", of nodes that have several. */
static void put_elements(struct writer *w, const struct hs_suspect *suspect)
{
    if (suspect->elements == 0 || suspect->room != 0)
        return;
    put(w, suspect->count == 1 ? " of %lu elements" : ", %lu elements in all",
        (unsigned long)suspect->elements);
}

/* ", at .name in one sample_t[]" */
static void put_within(struct writer *w, const struct hs_view *view,
                       const struct hs_suspect *suspect)
{
    if (suspect->within.n_blocks == 0)
        return;
    put(w, suspect->within_place == NULL ? ", in " : ", at ");
    if (suspect->within_place != NULL) {
        put_name(w, suspect->within_place, HOLDER_COLUMNS);
        put(w, " in ");
    }
    put_blocks(w, view, suspect->within.type, suspect->within.n_blocks, 0);
}

/* Writes the members at which the memory has come together: the members, and what hangs on them
 * below: "1000 struct entry, 96 B each with what hangs on them, mostly char[]". */
static void put_members(struct writer *w, const struct hs_view *view,
                        const struct hs_suspect *suspect)
{
    const struct hs_accumulation *at = &suspect->at;
    const struct hs_accumulated *members = &at->steps[at->members];
    bool is_own = suspect->n_inner == 0 && members->words / 10 * 9 <= members->own_words;
    if (put_groups(w, view, suspect))
        return;
    if (is_own || suspect->count == 0) {
        put_sizes(w, view, suspect);
        return;
    }
    put_blocks(w, view, suspect->type, suspect->count, 0);
    if (suspect->count == 1)
        put_elements(w, suspect);
    (void)hs_suspect_put_sizes(w, view, suspect);
    put(w, ", ");
    put_bytes(w, view, members->words / suspect->count);
    put(w, suspect->count == 1 ? " with what hangs on it" : " each with what hangs on them");
    if (suspect->n_inner != 0)
        put(w, ", %lu in all", (unsigned long)suspect->n_inner);
    if (at->bulk.n_blocks == 0)
        return;
    put(w, ", mostly ");
    put_blocks(w, view, at->bulk.type, at->bulk.n_blocks, 0);
    if (is_opaque(view, at->bulk.type) && at->bulk.words / 2 > at->bulk.own_words)
        put(w, at->bulk.n_blocks == 1 ? " and what hangs on it" : " and what hangs on them");
    if (suspect->bulk_place == NULL)
        return;
    bool is_arrow = strncmp(suspect->bulk_place, "->", 2) == 0; /* of a member, not of a pointer */
    put(w, is_arrow ? " at ." : " at ");
    put_name(w, suspect->bulk_place + (is_arrow ? 2 : 0), HOLDER_COLUMNS);
}

/* Adds what hangs at the same place as often: "beside as many QDeferredDeleteEvent" */
static void put_peer(struct writer *w, const struct hs_view *view, const struct hs_suspect *suspect)
{
    const struct hs_accumulated *peer = &suspect->at.peer;
    if (peer->n_blocks == 0)
        return;
    if (peer->n_blocks == suspect->count)
        put(w, ", beside as many ");
    else
        put(w, ", beside %lu ", (unsigned long)peer->n_blocks);
    put_kind(w, hs_view_string(view, hs_snap_type(view->snap, peer->type)->name), peer->n_blocks);
}

/* Tells whether the place is none, or that of the one root, which the sentence begins with. */
static bool is_told_place(const struct hs_view *view, const struct hs_suspect *suspect,
                          const char *place)
{
    return place == NULL || place[0] == '\0' ||
           (suspect->list == HS_SUSPECT_OWNER && suspect->n_roots == 1 &&
            strcmp(place,
                   hs_view_string(view, hs_snap_root(view->snap, suspect->roots[0])->name)) == 0);
}

static void put_holder(struct writer *w, const struct hs_view *view,
                       const struct hs_suspect *suspect)
{
    const struct hs_root *root =
        suspect->holder_root == 0 ? NULL : hs_snap_root(view->snap, suspect->holder_root);
    char tail[HS_ROOT_WHERE_BYTES];

    if (is_told_place(view, suspect, suspect->holder))
        return;
    put(w, suspect->list == HS_SUSPECT_LOST ? " at " : ", at ");
    put_name(w, hs_suspect_place(view, suspect), HOLDER_COLUMNS);
    if (root != NULL && suspect->list != HS_SUSPECT_OWNER) {
        hs_root_tail(view, root, tail); /* whose it is, which an owner has said already */
        put_name(w, tail, NAME_COLUMNS);
    }
}

/* "200000 Order, 190 B each with what hangs on them, at app->repo.cache_" */
static void put_part(struct writer *w, const struct hs_view *view, const struct hs_suspect *suspect,
                     unsigned i)
{
    const struct hs_accumulated *part = &suspect->at.classes[i];
    put_blocks(w, view, part->type, part->n_blocks, 0);
    put(w, ", ");
    put_bytes(w, view, part->words / part->n_blocks);
    put(w, "%s%s", part->n_blocks == 1 ? "" : " each",
        part->words / 10 * 9 <= part->own_words ? ""
        : part->n_blocks == 1                   ? " with what hangs on it"
                                                : " with what hangs on them");
    if (suspect->class_within[i] != HS_UNTYPED) {
        put(w, ", in ");
        put_name(w, hs_view_string(view, hs_snap_type(view->snap, suspect->class_within[i])->name),
                 NAME_COLUMNS);
    }
}

/* Puts where a part is; of two that are at one place, behind the second. */
static void put_part_place(struct writer *w, const struct hs_view *view,
                           const struct hs_suspect *suspect, unsigned n, unsigned i)
{
    const char *place = suspect->class_holders[i];
    if (is_told_place(view, suspect, place))
        return;
    bool is_same = n == 2 && suspect->class_holders[1 - i] != NULL &&
                   strcmp(place, suspect->class_holders[1 - i]) == 0;
    if (is_same && i == 0)
        return;
    put(w, is_same ? ", both at " : ", at ");
    put_name(w, place, HOLDER_COLUMNS);
}

unsigned hs_suspect_parts(const struct hs_suspect *suspect)
{
    const struct hs_accumulation *at = &suspect->at;
    const struct hs_accumulated *members = &at->steps[at->members];
    bool is_one =
        at->members == 0 || (members->n_blocks == 1 && members->own_words < members->words / 2);
    unsigned n = 0;
    if (!is_one || suspect->equal.n != 0)
        return 0;
    while (n < 2 && at->classes[n].n_blocks != 0 &&
           at->parts[n].words >= members->words / LEAST_PART)
        n++;
    return n;
}

static void put_parts(struct writer *w, const struct hs_view *view,
                      const struct hs_suspect *suspect, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        put(w, i == 0 ? ": " : ", and ");
        put_percent(w, suspect->at.parts[i].words, suspect->words);
        put(w, "%s ", i == 0 ? " of it is" : "");
        put_part(w, view, suspect, i);
        put_part_place(w, view, suspect, n, i);
    }
}

/* Puts "that of 216 B perhaps struct waiter, ", if a record of the size is guessed. */
static bool put_guess_of_size(struct writer *w, const struct hs_view *view, uint64_t n_bytes)
{
    char begin[64];
    int n =
        snprintf(begin, sizeof begin, "block of %lu bytes" HS_TYPE_PERHAPS, (unsigned long)n_bytes);
    for (uint32_t type = 0; type < view->totals->n_types; type++) {
        const char *name = hs_view_string(view, hs_snap_type(view->snap, type)->name);
        if (strncmp(name, begin, (size_t)n) != 0)
            continue;
        put(w, "that of %lu B perhaps ", (unsigned long)n_bytes);
        put_name(w, name + n, NAME_COLUMNS);
        put(w, ", ");
        return true;
    }
    return false;
}

/* "7000 times the same 16 blocks (1016 + 568 + 312 + 9x40 + ... B), 2.4 KiB each time" */
static void put_equal(struct writer *w, const struct hs_view *view,
                      const struct hs_equal_groups *equal)
{
    enum { TOLD = 4 };
    unsigned word_bytes = view->facts->word_bytes;
    put(w, "%lu times the same %lu blocks (", (unsigned long)equal->n,
        (unsigned long)equal->n_each);
    for (unsigned i = 0; i < equal->n_sizes && i < TOLD; i++) {
        put(w, "%s", i == 0 ? "" : " + ");
        if (equal->sizes[i].n_blocks > 1)
            put(w, "%lux", (unsigned long)equal->sizes[i].n_blocks);
        put(w, "%lu", (unsigned long)(equal->sizes[i].words * word_bytes));
    }
    put(w, "%s B), ", equal->n_sizes > TOLD ? " + ..." : "");
    for (unsigned i = 0; i < equal->n_sizes && i < TOLD; i++)
        if (put_guess_of_size(w, view, equal->sizes[i].words * word_bytes))
            break;
    put_bytes(w, view, equal->each_words);
    put(w, " each time");
}

/* Goes on behind who keeps how much. */
static void put_accumulation(struct writer *w, struct hs_view *view,
                             const struct hs_suspect *suspect)
{
    const struct hs_accumulation *at = &suspect->at;
    const struct hs_accumulated *members = &at->steps[at->members];
    unsigned n_parts = hs_suspect_parts(suspect);
    if (suspect->equal.n != 0) {
        bool is_most = suspect->equal.words / 9 * 10 < suspect->words;
        put(w, is_most ? ", most of it " : ": ");
        put_equal(w, view, &suspect->equal);
        put_holder(w, view, suspect);
        put(w, ". ");
        return;
    }
    if (n_parts != 0) {
        put_parts(w, view, suspect, n_parts);
    } else if (at->members != 0) {
        bool is_most = members->words / 9 * 10 < suspect->words;
        put(w, is_most ? ", most of it " : ": ");
        put_members(w, view, suspect);
        put_room(w, suspect);
        if (suspect->count != 1)
            put_elements(w, suspect);
        put_within(w, view, suspect);
        put_peer(w, view, suspect);
        put_holder(w, view, suspect);
    }
    put(w, ". ");
    put_spare(w, suspect);
}

static void put_site(struct writer *w, const struct hs_suspect *suspect)
{
    if (suspect->site == NULL)
        return;
    put(w, "Of its samples %lu %% were allocated by ", (unsigned long)suspect->site_percent);
    put_name(w, suspect->site, NAME_COLUMNS);
    put(w, ". ");
}

/* Trims the space before a sentence that does not go on. */
static void trim(struct writer *w)
{
    size_t n = strlen(w->text);
    if (n > 0 && w->text[n - 1] == ' ')
        w->text[n - 1] = '\0';
}

/* Returns the type of a block, where more is known of it than a size. */
static const char *entry_type(const struct hs_view *view, const struct hs_node_facts *facts)
{
    unsigned form = hs_snap_type(view->snap, facts->type)->form;
    bool is_plain = form == HS_FORM_BYTES || form == HS_FORM_MAPPING ||
                    strncmp(facts->label, "block ", sizeof "block " - 1) == 0;
    return is_plain ? "block" : facts->label;
}

/* "One tsdb.Head of 1024 bytes, 43 referrers (#77), keeps 15.3 MiB, 67.2 % of the heap; " */
static void put_entry(struct writer *w, struct hs_view *view, const struct hs_suspect *suspect)
{
    char much[HS_SUSPECT_MUCH_BYTES];
    struct hs_node_facts facts;

    if (suspect->entry == HS_NO_NODE || w->status != HS_OK)
        return;
    w->status = hs_view_facts(view, suspect->entry, &facts, w->err);
    if (w->status != HS_OK)
        return;
    hs_suspect_much(view, suspect->entry_words, much);
    put(w, "One %s of %lu bytes, %lu %s (#%lu), keeps %s; ", entry_type(view, &facts),
        (unsigned long)(facts.words * view->facts->word_bytes),
        (unsigned long)suspect->n_entry_referrers,
        suspect->n_entry_referrers == 1 ? "referrer" : "referrers", (unsigned long)suspect->entry,
        much);
}

static void put_owner(struct writer *w, struct hs_view *view, const struct hs_suspect *suspect)
{
    char text[HS_SUSPECT_WHO_BYTES] = "", much[HS_SUSPECT_MUCH_BYTES];
    bool is_one = hs_suspect_is_one_holder(view, suspect);
    if (w->status == HS_OK)
        w->status = hs_suspect_who(view, suspect, text, w->err);
    put_entry(w, view, suspect);
    hs_suspect_much(view, suspect->words, much);
    put(w, "%s %s %s", text,
        !is_one           ? (suspect->inner == HS_NO_NODE ? "keep" : "keeps")
        : is_plural(text) ? "alone keep"
                          : "alone keeps",
        much);
    put_accumulation(w, view, suspect);
    put_site(w, suspect);
    hs_suspect_put_reserve(w, view, suspect);
}

/* "1398 blocks of 184 bytes, perhaps _xmlDoc": of a size alone it is said what it may be. */
static void put_lost_blocks(struct writer *w, const struct hs_view *view, uint32_t type, uint64_t n)
{
    static const char block[] = "block ";
    const char *name =
        type == HS_UNTYPED ? "" : hs_view_string(view, hs_snap_type(view->snap, type)->name);
    if (has_type(view, type) || strncmp(name, block, strlen(block)) != 0) {
        put_blocks(w, view, type, n, 0);
        return;
    }
    put(w, "%lu ", (unsigned long)n);
    put_guess(w, name, n);
}

/* "38 outgrown copies, of 16.0 KiB to 612.0 KiB, of the array at table->names" */
static void put_copies(struct writer *w, const struct hs_view *view,
                       const struct hs_suspect *suspect)
{
    put(w, "%lu outgrown copies, of ", (unsigned long)suspect->n_copies);
    put_bytes(w, view, suspect->each_words);
    put(w, " to ");
    put_bytes(w, view, suspect->held_words);
    put(w, ", of %s array", suspect->holder == NULL ? "one" : "the");
    put_holder(w, view, suspect);
    put(w, ": each was left for a larger one. ");
}

/* Tells by which members a lost block leads back to itself: what counts references, or only asks
 * whether anything refers to it, never frees such. */
static void put_cycle(struct writer *w, const char *cycle)
{
    if (cycle == NULL)
        return;
    bool has_members = cycle[0] == '-' || cycle[0] == '.' || cycle[0] == '[';
    if (!has_members) {
        put(w, "It refers to itself%s", cycle[0] == '\0' ? "" : ", ");
        put_name(w, cycle, HOLDER_COLUMNS);
        put(w, ". ");
        return;
    }
    put(w, "It refers to itself: its ");
    put_name(w, cycle + (strncmp(cycle, "->", 2) == 0 ? 2 : cycle[0] == '.'), HOLDER_COLUMNS);
    put(w, " leads back. ");
}

/* Tells of a cycle that Python's collector never sees: it frees what it can follow alone. */
static void put_hidden_cycle(struct writer *w, const struct hs_view *view,
                             const struct hs_suspect *suspect)
{
    put_cycle(w, suspect->cycle);
    put(w, "Python's collector does not look into ");
    put_name(w, hs_view_string(view, hs_snap_type(view->snap, suspect->hidden)->name),
             NAME_COLUMNS);
    put(w, ", so it never frees them. ");
}

/* Adds what is lost by another fault: ", and 20000 Circle, 232 B each with what hangs on it" */
static void put_second_fault(struct writer *w, const struct hs_view *view,
                             const struct hs_accumulated *fault)
{
    if (fault->n_blocks == 0)
        return;
    put(w, ", and ");
    put_lost_blocks(w, view, fault->type, fault->n_blocks);
    put(w, ", ");
    put_bytes(w, view, fault->words / fault->n_blocks);
    put(w, "%s%s", fault->n_blocks == 1 ? "" : " each",
        fault->words / 10 * 9 <= fault->own_words ? "" : " with what hangs on it");
}

/* Writes what is lost. Where many of the blocks hang on others of their kind, as nodes of lists and
 * values of documents do, it also says on how many of them the others hang. */
static void put_lost(struct writer *w, const struct hs_view *view, const struct hs_suspect *suspect)
{
    enum { MANY_PIECES = 8, PIECE_LEAST = 4 };
    char much[HS_SUSPECT_MUCH_BYTES];
    uint64_t held_each = suspect->held_words / suspect->count;
    bool is_more = held_each > suspect->each_words + suspect->each_words / 10;
    hs_suspect_much(view, suspect->words, much);
    put(w, "%s: %s",
        suspect->certainty == HS_EXACT ? "Lost, as no root leads to it"
                                       : "Lost, as far as could be read, as no root leads to it",
        much);
    if (suspect->n_copies != 0) {
        put(w, ", most of it ");
        put_copies(w, view, suspect);
        put_site(w, suspect);
        return;
    }
    put(w, suspect->held_words / 9 * 10 < suspect->words ? ", most of it " : ": ");
    put_lost_blocks(w, view, suspect->type, suspect->count);
    if (is_more) {
        put(w, ", ");
        put_bytes(w, view, held_each);
        put(w, " %swith what hangs on %s", suspect->count == 1 ? "" : "each ",
            suspect->count == 1 ? "it" : "them");
    } else {
        if (has_type(view, suspect->type)) {
            put(w, " of ");
            put_bytes(w, view, suspect->each_words);
        }
        bool is_guess = suspect->type != HS_UNTYPED && is_guessed(view, suspect->type);
        put(w, "%s", suspect->count == 1 || is_guess ? "" : " each");
    }
    if (suspect->at.bulk.n_blocks != 0) {
        put(w, ", among it ");
        put_lost_blocks(w, view, suspect->at.bulk.type, suspect->at.bulk.n_blocks);
    }
    if (suspect->at.n_heads >= MANY_PIECES && suspect->at.n_heads <= suspect->count / PIECE_LEAST)
        put(w, ", %lu of them at the top", (unsigned long)suspect->at.n_heads);
    put_second_fault(w, view, &suspect->at.parts[0]);
    put(w, ". ");
    hs_suspect_put_c_calls(w, view, suspect);
    if (suspect->hidden != HS_UNTYPED)
        put_hidden_cycle(w, view, suspect);
    else if (suspect->type != HS_UNTYPED &&
             hs_snap_type(view->snap, suspect->type)->form == HS_FORM_PYTHON)
        put(w, "More references to it are counted than there are: C code has not given one back "
               "(Py_DECREF); under heapsnap record it has the line that made it. ");
    else
        put_cycle(w, suspect->cycle);
    put_site(w, suspect);
}

hs_status hs_suspect_write_garbage(const struct hs_view *view, const struct hs_suspects *found,
                                   struct hs_suspect_text *ret, struct hs_error *err)
{
    struct writer w = {.text = ret->sentence, .n_bytes = sizeof ret->sentence, .err = err};
    char much[HS_SUSPECT_MUCH_BYTES];
    ret->sentence[0] = ret->command[0] = '\0';
    hs_suspect_much(view, found->garbage_words, much);
    put(&w, "%s is garbage, which its collector will free", much);
    if (found->garbage_count == 0)
        return w.status;
    put(&w, " unless it is off (gc.disable): ");
    put_blocks(&w, view, found->garbage_type, found->garbage_count, 0);
    put(&w, ", ");
    put_bytes(&w, view, found->garbage_held_words / found->garbage_count);
    put(&w,
        found->garbage_count == 1 ? " with what hangs on it. " : " each with what hangs on them. ");
    put_cycle(&w, found->garbage_cycle);
    trim(&w);
    return w.status;
}

/* Tells whether the program itself, a file that is no library, has debug information. */
static bool program_is_described(const struct hs_view *view)
{
    const struct hs_snap_facts *facts = view->facts;
    for (size_t i = 0; i < facts->n_binaries; i++) {
        const char *path = hs_view_string(view, facts->binaries[i].path);
        const char *slash = strrchr(path, '/');
        if (facts->binaries[i].has_debug_info && slash != NULL && strstr(slash, ".so") == NULL)
            return true;
    }
    return false;
}

/* "is 300 times a block of 48 bytes of no known type"; of a shape it is known what it is, and not
 * what is in it. */
static void put_unknown(struct writer *w, const struct hs_view *view,
                        const struct hs_suspect *suspect, const char *much)
{
    static const char block[] = "block ";
    const struct hs_type *type = hs_snap_type(view->snap, suspect->type);
    const char *name = hs_view_string(view, type->name);

    put(w, "%s is %lu times a ", much, (unsigned long)suspect->count);
    put_name(w, name, NAME_COLUMNS);
    put(w, "%s%s",
        strstr(name, HS_TYPE_PERHAPS) != NULL      ? ". "
        : strncmp(name, block, strlen(block)) == 0 ? " of no known type. "
                                                   : ", of what is not known. ",
        type->form == HS_FORM_BYTES && program_is_described(view)
            ? "No pointer of the program says what they are; where they are allocated "
              "'heapsnap record' tells. "
            : "Debug information may name them. ");
}

static void put_waste(struct writer *w, const struct hs_view *view,
                      const struct hs_suspect *suspect)
{
    char much[HS_SUSPECT_MUCH_BYTES];
    hs_suspect_much(view, suspect->words, much);
    switch (suspect->waste) {
    case HS_WASTE_EMPTY_SLOTS:
        put(w, "%s is slots that lead nowhere, in ", much);
        put_blocks(w, view, suspect->type, suspect->count, 0);
        put(w, " with a pointer in less than a quarter of the slots. ");
        break;
    case HS_WASTE_ONE_ELEMENT:
        put(w, "%s is spare room in ", much);
        put_blocks(w, view, suspect->type, suspect->count, 0);
        put(w, " that hold one pointer each. ");
        break;
    case HS_WASTE_UNUSED_ROOM:
        put(w, "%s is room that ", much);
        put_blocks(w, view, suspect->type, suspect->count, 0);
        put(w, " %s not use: %lu of %lu elements are there. ", suspect->count == 1 ? "does" : "do",
            (unsigned long)suspect->entries, (unsigned long)suspect->room);
        break;
    case HS_WASTE_ROUNDED_UP:
        put(w, "%s is what the allocator gave beyond what was asked for, in some %lu blocks. ",
            much, (unsigned long)suspect->count);
        break;
    case HS_WASTE_UNKNOWN:
        put_unknown(w, view, suspect, much);
        break;
    case HS_WASTE_NONE:
        break;
    }
    put(w, "These words count above, too. ");
    put_site(w, suspect);
    put(w, "%s", suspect->certainty == HS_SAMPLED ? "An estimate from samples. " : "");
}

hs_status hs_suspect_write(struct hs_view *view, const struct hs_suspect *suspect,
                           struct hs_suspect_text *ret, struct hs_error *err)
{
    struct writer sentence = {.text = ret->sentence, .n_bytes = sizeof ret->sentence, .err = err};
    ret->sentence[0] = '\0';
    switch (suspect->list) {
    case HS_SUSPECT_OWNER:
    case HS_SUSPECT_JOINT:
        put_owner(&sentence, view, suspect);
        break;
    case HS_SUSPECT_LOST:
        put_lost(&sentence, view, suspect);
        break;
    case HS_SUSPECT_WASTE:
        put_waste(&sentence, view, suspect);
        break;
    case HS_N_SUSPECT_LISTS:
        break;
    }
    trim(&sentence);
    HS_TRY(sentence.status);
    return hs_suspect_write_command(view, suspect, ret->command, sizeof ret->command, err);
}
