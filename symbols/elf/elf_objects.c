#include "symbols/elf_objects.h"

#include <stdlib.h>
#include <string.h>

#include "arch/followed.h"
#include "base/bisect.h"
#include "elf_mentions.h"

enum { USERS_MAX = 1 << 16, FILES_MAX = 16 };

/* A border that nothing joins away: its object's mentions are hits[first_hit] up to the next. */
struct border {
    hs_addr at;
    size_t first_hit;
};

struct objects {
    const struct elf_mentions *mentions; /* borrowed */
    const struct hs_elf *names;          /* borrowed */
    struct border *borders;              /* owned: ascending */
    size_t n_borders;
    uint32_t *users; /* owned: of the object that is looked at, a function for each mention */
};

/* Counts the symbols up to `at`; *ret_end is where the last of them ends, 0 without one. */
static size_t symbols_up_to(const struct hs_elf *names, hs_addr at, hs_addr *ret_end)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(names, &n);
    size_t next = HS_FIRST_ABOVE(symbols, n, vaddr, at);

    *ret_end = next == 0 ? 0 : symbols[next - 1].vaddr + symbols[next - 1].n_bytes;
    return next;
}

/* Returns where the first symbol behind `at` begins, or the last address. */
static hs_addr next_symbol(const struct hs_elf *names, hs_addr at)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(names, &n);
    size_t next = HS_FIRST_ABOVE(symbols, n, vaddr, at);

    return next == n ? UINT64_MAX : symbols[next].vaddr;
}

/* Drops the borders that lie within what code reaches from one before them. Symbols are exact:
 * nothing reaches across one, and what is in one is no border. */
static hs_status borders_find(struct objects *o, struct hs_error *err)
{
    const struct elf_hit *hits = o->mentions->hits;
    hs_addr reached = 0, symbol_end;
    size_t n = o->mentions->n, n_symbols = SIZE_MAX;

    HS_TRY(HS_ALLOC(&o->borders, n, err));
    for (size_t i = 0, next; i < n; i = next) {
        hs_addr end = 0;
        bool is_border = false;
        for (next = i; next < n && hits[next].at == hits[i].at; next++) {
            end = hits[next].end > end ? hits[next].end : end;
            is_border |= hits[next].is_border;
        }
        size_t before = symbols_up_to(o->names, hits[i].at, &symbol_end);
        if (before != n_symbols)
            reached = 0;
        n_symbols = before;
        if (hits[i].at < symbol_end)
            continue;
        if (is_border && hits[i].at >= reached)
            o->borders[o->n_borders++] = (struct border){hits[i].at, i};
        reached = end > reached ? end : reached;
    }
    return HS_OK;
}

/* ---- who uses it */

static int user_order(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Tells whether a name says what code does: the one of a program's or a library's entry does not.
 */
static bool tells_much(const struct hs_elf_symbol *symbol)
{
    static const char *const entries[] = {"main", "_start", "_init", "_fini"};

    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(symbol->name, entries[i]) == 0)
            return false;
    return true;
}

struct vote {
    uint32_t source;
    uint64_t weight;
};

struct poll {
    struct vote votes[FILES_MAX];
    size_t n;
    uint64_t sum;
};

/* A function that has the name in a text counts for two that only stand between such. */
static void poll_add(struct poll *poll, const struct elf_function *function, uint64_t n_mentions)
{
    uint64_t weight = function->is_by_place ? n_mentions : 2 * n_mentions;
    size_t i = 0;

    if (function->source == 0 || function->source == ELF_SOURCES)
        return;
    poll->sum += weight;
    while (i < poll->n && poll->votes[i].source != function->source)
        i++;
    if (i == FILES_MAX)
        return;
    if (i == poll->n)
        poll->votes[poll->n++] = (struct vote){function->source, 0};
    poll->votes[i].weight += weight;
}

/* The source that more than half of all is for; 0: none. */
static uint32_t poll_winner(const struct poll *poll)
{
    for (size_t i = 0; i < poll->n; i++)
        if (poll->votes[i].weight > poll->sum / 2)
            return poll->votes[i].source;
    return 0;
}

/* Tells whether a function may be of another file than `source`: it is by a text, or those of
 * `source`, which stand together, are neither before it nor behind (`main`, whose code stands
 * before all other, has none before it). What it uses may be no static variable, and be defined
 * anywhere.
 */
static bool is_elsewhere(const struct elf_function *function, uint32_t source)
{
    if (function->source != 0 && function->source != ELF_SOURCES && !function->is_by_place)
        return function->source != source;
    return function->before != source && function->after != source;
}

static void users_tell(const struct objects *o, size_t n, struct hs_elf_object *ret,
                       uint32_t *ret_source)
{
    const struct elf_function *functions = o->mentions->functions.all;
    struct poll poll = {.n = 0};
    size_t most = 0;

    if (n > 1)
        qsort(o->users, n, sizeof *o->users, user_order);
    for (size_t i = 0, next; i < n; i = next) {
        const struct elf_function *function = &functions[o->users[i] - 1];
        for (next = i; next < n && o->users[next] == o->users[i]; next++)
            ;
        poll_add(&poll, function, next - i);
        if (function->symbol != NULL && next - i > most && tells_much(function->symbol)) {
            most = next - i;
            ret->function = function->symbol;
        }
    }
    uint32_t source = poll_winner(&poll);
    for (size_t i = 0; i < n && source != 0; i++)
        source = is_elsewhere(&functions[o->users[i] - 1], source) ? 0 : source;
    *ret_source = source;
}

/* The object of a place whose border is `border`; `begin` may lie behind it, where a symbol ends.
 */
static void object_of(const struct objects *o, size_t border, hs_addr begin,
                      const struct hs_elf_objects *all, struct hs_elf_object *ret)
{
    const struct elf_mentions *m = o->mentions;
    size_t end = border + 1 < o->n_borders ? o->borders[border + 1].first_hit : m->n, n = 0;
    hs_addr symbol = next_symbol(o->names, begin); /* what is mentioned in it is not of this */
    size_t first = HS_FIRST_NOT(at, o->borders[border].first_hit, end, m->hits[at].at < begin);
    uint32_t source = 0;
    bool in_data = false;

    *ret = (struct hs_elf_object){.begin = begin};
    for (size_t i = first; i < end && n < USERS_MAX && m->hits[i].at < symbol; i++) {
        in_data |= m->hits[i].function == ELF_HIT_IN_DATA;
        if (m->hits[i].function != 0 && m->hits[i].function != ELF_HIT_IN_DATA)
            o->users[n++] = m->hits[i].function;
    }
    users_tell(o, n, ret, &source);
    if (source != 0 && !in_data) /* a table has it, and any file may have that */
        ret->file = all->files + m->sources.all[source - 1].name;
}

/* Borders are known from ELF_MENTIONS_REACH before a place on: one further back may have others
 * behind it. Places without a border that nothing is known to part are of one object. */
static void places_tell(const struct objects *o, const hs_addr *places, size_t n,
                        struct hs_elf_objects *ret)
{
    hs_addr known = 0, first = 0;

    for (size_t i = 0; i < n; i++) {
        if (i == 0 || places[i] - places[i - 1] > ELF_MENTIONS_REACH) {
            first = places[i];
            known = first < ELF_MENTIONS_REACH ? 0 : first - ELF_MENTIONS_REACH;
        }
        size_t next = HS_FIRST_ABOVE(o->borders, o->n_borders, at, places[i]);
        bool has_border = next != 0 && o->borders[next - 1].at >= known;
        hs_addr begin = has_border ? o->borders[next - 1].at : first, symbol_end;
        (void)symbols_up_to(o->names, places[i], &symbol_end);
        if (symbol_end > begin && symbol_end <= places[i])
            begin = symbol_end;
        if (i > 0 && ret->of[i - 1].begin == begin)
            ret->of[i] = ret->of[i - 1];
        else if (!has_border)
            ret->of[i] = (struct hs_elf_object){.begin = begin};
        else
            object_of(o, next - 1, begin, ret, &ret->of[i]);
    }
}

static hs_status objects_tell(struct objects *o, struct elf_mentions *mentions,
                              const hs_addr *places, size_t n, struct hs_elf_objects *ret,
                              struct hs_error *err)
{
    if (mentions->functions.n == 0 || mentions->is_cut || mentions->n == 0)
        return HS_OK;
    HS_TRY(borders_find(o, err));
    HS_TRY(HS_ALLOC(&o->users, USERS_MAX, err));
    HS_TRY(HS_ALLOC(&ret->of, n, err));
    ret->files = mentions->sources.names;
    mentions->sources.names = NULL;
    places_tell(o, places, n, ret);
    return HS_OK;
}

hs_status hs_elf_objects_find(struct hs_elf *elf, const struct hs_elf *names, const hs_addr *places,
                              size_t n, struct hs_elf_objects *ret, struct hs_error *err)
{
    struct elf_mentions mentions = {0};
    struct objects o = {.mentions = &mentions, .names = names};
    struct hs_elf_objects found = {0};

    *ret = found;
    if (n == 0 || !hs_code_is_followed())
        return HS_OK;
    hs_status status = hs_elf_mentions_find_(elf, names, places, n, &mentions, err);
    if (status == HS_OK)
        status = objects_tell(&o, &mentions, places, n, &found, err);
    hs_elf_mentions_fini_(&mentions);
    hs_free(o.borders);
    hs_free(o.users);
    if (status != HS_OK)
        hs_elf_objects_fini(&found);
    *ret = found;
    return status;
}

void hs_elf_objects_fini(struct hs_elf_objects *objects)
{
    hs_free(objects->of);
    hs_free(objects->files);
    *objects = (struct hs_elf_objects){0};
}
