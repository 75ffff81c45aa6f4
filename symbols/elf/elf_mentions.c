#include "elf_mentions.h"

#include <elf.h>
#include <string.h>

#include "arch/followed.h"
#include "arch/operands.h"
#include "arch/processor.h"
#include "base/bisect.h"
#include "base/load.h"
#include "elf_code.h"

enum {
    MENTIONS_MAX = 1 << 20,
    MENTIONS_PIECE = 1 << 16,
    MENTIONS_WORD_BYTES = 8,
};

struct span {
    hs_addr begin, end;
};

struct mention_search {
    struct elf_code code;
    struct elf_mentions *ret;
    struct span *spans; /* owned: ascending, apart */
    size_t n_spans;
    uint32_t function; /* the one that is looked at, from 1 */
    hs_status status;
    struct hs_error *err;
};

/* ---- where it matters */

/* Makes the spans that an object of a place may be in. */
static hs_status spans_of(const hs_addr *places, size_t n, struct mention_search *s)
{
    HS_TRY(HS_ALLOC(&s->spans, n, s->err));
    for (size_t i = 0; i < n; i++) {
        hs_addr begin = places[i] < ELF_MENTIONS_REACH ? 0 : places[i] - ELF_MENTIONS_REACH;
        hs_addr end = places[i] > UINT64_MAX - MENTIONS_WORD_BYTES
                          ? UINT64_MAX
                          : places[i] + MENTIONS_WORD_BYTES;
        if (s->n_spans > 0 && begin <= s->spans[s->n_spans - 1].end)
            s->spans[s->n_spans - 1].end = end;
        else
            s->spans[s->n_spans++] = (struct span){begin, end};
    }
    return HS_OK;
}

/* Tells whether any of [at, at + n) lies in a span. */
static bool spans_meet(const struct mention_search *s, hs_addr at, uint64_t n)
{
    size_t i = HS_FIRST_NOT(k, 0, s->n_spans, s->spans[k].end <= at);

    return i < s->n_spans && (s->spans[i].begin <= at || s->spans[i].begin - at < n);
}

static void hit_add(struct mention_search *s, hs_addr at, hs_addr end, bool is_border)
{
    struct elf_mentions *m = s->ret;

    if (s->status != HS_OK || !spans_meet(s, at, 1))
        return;
    m->is_cut |= m->n == MENTIONS_MAX;
    if (!m->is_cut)
        s->status = HS_GROW(&m->hits, &m->capacity, m->n + 1, s->err);
    if (s->status == HS_OK && !m->is_cut)
        m->hits[m->n++] = (struct elf_hit){at, end, s->function, is_border};
}

/* ---- by code */

static void function_says(struct mention_search *s, uint32_t source)
{
    struct elf_function *function = &s->ret->functions.all[s->function - 1];

    if (source != 0 && function->source != source)
        function->source = function->source == 0 ? source : ELF_SOURCES;
}

static bool mention_matters(const void *context, hs_addr address)
{
    const struct mention_search *s = context;

    return spans_meet(s, address, 1) || hs_elf_source_at_(&s->ret->sources, address) != 0;
}

/* Takes a mention. A text is not followed. */
static bool take_mention(void *context, const struct hs_mention *m)
{
    struct mention_search *s = context;

    switch ((enum hs_mention_kind)m->kind) {
    case HS_MENTION_TAKEN:
        function_says(s, hs_elf_source_at_(&s->ret->sources, m->at));
        hit_add(s, m->base, 0, true);
        break;
    case HS_MENTION_DIRECT:
    case HS_MENTION_INDEXED:
        hit_add(s, m->base, 0, true);
        break;
    case HS_MENTION_MEMBER:       /* all its bytes are of the object */
    case HS_MENTION_MEMBER_TAKEN: /* up to it: it may be the end of a loop */
        if (m->at - m->base < ELF_MENTIONS_REACH)
            hit_add(s, m->base, m->at + m->n_access_bytes, false);
        break;
    }
    return spans_meet(s, m->at, 1);
}

/* Tells whether one of the addresses from `first` on, of which code may mention one, matters. */
static bool hint_matters(const struct mention_search *s, hs_addr first)
{
    const struct elf_sources *sources = &s->ret->sources;
    size_t i = HS_FIRST_NOT(at, 0, sources->n, sources->all[at].at < first);

    return spans_meet(s, first, HS_OPERAND_HINT_BYTES) ||
           (i < sources->n && sources->all[i].at - first < HS_OPERAND_HINT_BYTES);
}

/* Tells whether code may mention what matters in [low, high). */
static bool hint_in(struct mention_search *s, const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                    hs_addr low, hs_addr high)
{
    hs_addr first;

    for (size_t next = 0;
         low < high && hs_operands_hint(code, n_bytes, vaddr, low, high, &next, &first);)
        if (!hs_effort_take(&s->code.effort, 2) || hint_matters(s, first))
            return true;
    for (size_t next = 0; !s->code.elf->is_dyn && low < high &&
                          hs_operands_hint_absolute(code, n_bytes, low, high, &next, &first);)
        if (!hs_effort_take(&s->code.effort, 2) || hint_matters(s, first))
            return true;
    return false;
}

static bool is_worth(struct mention_search *s, const uint8_t *code, size_t n_bytes, hs_addr vaddr)
{
    const struct elf_sources *sources = &s->ret->sources;

    return hint_in(s, code, n_bytes, vaddr, s->spans[0].begin, s->spans[s->n_spans - 1].end) ||
           (sources->n != 0 && hint_in(s, code, n_bytes, vaddr, sources->all[0].at,
                                       sources->all[sources->n - 1].at + 1));
}

/* The taker of mentions of what lies in spans, and of texts that are sources. */
static struct hs_mention_taker mention_taker(struct mention_search *s)
{
    const struct elf_sources *sources = &s->ret->sources;
    struct hs_mention_taker taker = {.matters = mention_matters,
                                     .take = take_mention,
                                     .context = s,
                                     .low = s->spans[0].begin,
                                     .high = s->spans[s->n_spans - 1].end,
                                     .has_constants = !s->code.elf->is_dyn};

    if (sources->n == 0)
        return taker;
    hs_addr first = sources->all[0].at, last = sources->all[sources->n - 1].at;
    taker.low = first < taker.low ? first : taker.low;
    taker.high = last >= taker.high ? last + 1 : taker.high;
    return taker;
}

static void look_at_code(struct mention_search *s)
{
    enum { BYTES_PER_STEP = 2 };
    const struct elf_functions *functions = &s->ret->functions;
    const struct hs_mention_taker mentions = mention_taker(s);

    for (size_t i = 0; i < functions->n && s->status == HS_OK && !s->ret->is_cut; i++) {
        const struct elf_function *function = &functions->all[i];
        size_t n_bytes = function->n_bytes;
        if (!hs_effort_take(&s->code.effort, 1))
            break;
        const uint8_t *code = hs_elf_code_at_(&s->code, function->begin, &n_bytes);
        if (code == NULL || !is_worth(s, code, n_bytes, function->begin) ||
            !hs_effort_take(&s->code.effort, n_bytes / BYTES_PER_STEP))
            continue;
        s->function = (uint32_t)i + 1;
        hs_code_follow(code, n_bytes, function->begin, &mentions);
    }
    s->function = 0;
}

/* ---- by data */

/* Goes over words of a section, of which one in `stride` may be an address. */
static hs_status look_at_words(struct mention_search *s, const struct hs_elf_section *section,
                               size_t stride_bytes, size_t word_at,
                               bool (*is_address)(const uint8_t *entry))
{
    hs_auto_free uint8_t *piece = NULL;
    size_t n_most = MENTIONS_PIECE / stride_bytes * stride_bytes;

    HS_TRY(HS_ALLOC(&piece, MENTIONS_PIECE, s->err));
    for (uint64_t at = 0; at < section->n_bytes; at += n_most) {
        uint64_t left = section->n_bytes - at;
        size_t n = left < n_most ? (size_t)left : n_most;
        if (!hs_effort_take(&s->code.effort, 1 + n / MENTIONS_WORD_BYTES))
            break;
        n = hs_elf_copy_at(s->code.elf, section->vaddr + at, piece, n);
        for (size_t i = 0; i + stride_bytes <= n; i += stride_bytes)
            if (is_address == NULL || is_address(piece + i))
                hit_add(s, hs_load_u64(piece + i + word_at), 0, true);
        if (n == 0)
            break;
    }
    return s->status;
}

static bool is_relative(const uint8_t *entry)
{
    return ELF64_R_TYPE(hs_load_u64(entry + offsetof(Elf64_Rela, r_info))) == HS_ARCH_ELF_RELATIVE;
}

/* Addresses in data: what the loader moves, or, in a file that is never moved, any word. And where
 * sections begin. */
static hs_status look_at_data(struct mention_search *s)
{
    const struct hs_elf *elf = s->code.elf;

    for (size_t i = 0; i < elf->n_sections && hs_effort_take(&s->code.effort, 1); i++) {
        const struct hs_elf_section *section = &elf->sections[i].seen;
        bool is_loaded = (section->flags & SHF_ALLOC) != 0 && section->vaddr != 0;
        bool is_data =
            is_loaded && section->type == SHT_PROGBITS && (section->flags & SHF_EXECINSTR) == 0;
        if (is_loaded && (section->flags & SHF_WRITE) != 0)
            hit_add(s, section->vaddr, 0, true);
        s->function = ELF_HIT_IN_DATA;
        if (is_loaded && elf->is_dyn && strcmp(section->name, ".rela.dyn") == 0)
            HS_TRY(look_at_words(s, section, sizeof(Elf64_Rela), offsetof(Elf64_Rela, r_addend),
                                 is_relative));
        else if (is_data && !elf->is_dyn)
            HS_TRY(look_at_words(s, section, MENTIONS_WORD_BYTES, 0, NULL));
        s->function = 0;
    }
    return s->status;
}

/* ---- sources of functions without a text */

static bool has_source(const struct elf_function *function)
{
    return function->source != 0 && function->source != ELF_SOURCES && !function->is_by_place;
}

/* Tells each function of which sources the nearest with one are, on both sides. */
static void tell_neighbours(struct elf_functions *functions)
{
    struct elf_function *all = functions->all;

    for (size_t i = 0, last = 0; i < functions->n; i++) {
        all[i].before = last == 0 ? 0 : all[last - 1].source;
        last = has_source(&all[i]) ? i + 1 : last;
    }
    for (size_t i = functions->n, next = SIZE_MAX; i-- > 0;) {
        all[i].after = next == SIZE_MAX ? 0 : all[next].source;
        next = has_source(&all[i]) ? i : next;
    }
}

/* The functions of a file stand together. */
static void spread_sources(struct elf_functions *functions)
{
    struct elf_function *all = functions->all;

    for (size_t i = 0, last = SIZE_MAX; i < functions->n; i++) {
        if (!has_source(&all[i]))
            continue;
        for (size_t k = last + 1; last != SIZE_MAX && all[last].source == all[i].source && k < i;
             k++)
            if (all[k].source == 0) {
                all[k].source = all[i].source;
                all[k].is_by_place = true;
            }
        last = i;
    }
}

/* Orders the hits by address, those of one address as they were found: by 11 bits at a time, where
 * comparing them takes ten times as long. */
static hs_status hits_sort(struct elf_mentions *m, struct hs_error *err)
{
    enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, WORD_BITS = 64 };
    hs_addr differ = 0;
    struct elf_hit *from = m->hits, *to = NULL;
    hs_auto_free uint32_t *counts = NULL;

    for (size_t i = 1; i < m->n; i++)
        differ |= m->hits[i].at ^ m->hits[0].at;
    HS_TRY(HS_ALLOC(&counts, DIGITS, err));
    HS_TRY(HS_ALLOC(&to, m->n, err));
    for (unsigned shift = 0; shift < WORD_BITS; shift += DIGIT_BITS) {
        if ((differ >> shift & (DIGITS - 1)) == 0)
            continue;
        memset(counts, 0, DIGITS * sizeof *counts);
        for (size_t i = 0; i < m->n; i++)
            counts[from[i].at >> shift & (DIGITS - 1)]++;
        for (uint32_t i = 0, sum = 0, n; i < DIGITS; i++, sum += n) {
            n = counts[i];
            counts[i] = sum;
        }
        for (size_t i = 0; i < m->n; i++)
            to[counts[from[i].at >> shift & (DIGITS - 1)]++] = from[i];
        struct elf_hit *done = to;
        to = from;
        from = done;
    }
    m->hits = from;
    m->capacity = m->n; /* at least: no more are added */
    hs_free(to);
    return HS_OK;
}

static hs_status mentions_search(struct mention_search *s, const struct hs_elf *names,
                                 const hs_addr *places, size_t n)
{
    struct elf_mentions *m = s->ret;
    struct hs_elf *elf = s->code.elf;

    HS_TRY(spans_of(places, n, s));
    HS_TRY(hs_elf_functions_find_(elf, names, &s->code.effort, &m->functions, s->err));
    HS_TRY(hs_elf_sources_find_(elf, &s->code.effort, &m->sources, s->err));
    look_at_code(s);
    HS_TRY(s->status);
    HS_TRY(look_at_data(s));
    tell_neighbours(&m->functions);
    spread_sources(&m->functions);
    m->is_cut |= s->code.effort.is_spent;
    return m->n > 1 ? hits_sort(m, s->err) : HS_OK;
}

hs_status hs_elf_mentions_find_(struct hs_elf *elf, const struct hs_elf *names,
                                const hs_addr *places, size_t n, struct elf_mentions *ret,
                                struct hs_error *err)
{
    struct mention_search s = {.ret = ret, .err = err};

    if (n == 0)
        return HS_OK;
    hs_status status = hs_elf_code_init_(&s.code, elf, err);
    if (status == HS_OK)
        status = mentions_search(&s, names, places, n);
    hs_free(s.spans);
    hs_elf_code_fini_(&s.code);
    return status;
}

void hs_elf_mentions_fini_(struct elf_mentions *mentions)
{
    hs_free(mentions->hits);
    hs_elf_functions_fini_(&mentions->functions);
    hs_elf_sources_fini_(&mentions->sources);
    *mentions = (struct elf_mentions){0};
}
