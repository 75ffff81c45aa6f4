/* Rules that tell the records of a library which comes without debug information: by the size of
 * their blocks, numbers in them, and where their words lead. */
#include <string.h>

#include "base/append.h"
#include "parse.h"

enum { WORD = 8, FIND_WORDS = 16, MOST_BYTES = 1 << 20, MOST_OFFSET = UINT16_MAX / WORD * WORD };
/* From that size on blocks of one exact size are rare enough to be told by two words; so are those
 * of any size with so many pointers to blocks. */
enum { RARE_BYTES = 1024, MANY_BLOCKS = 4 };

static const char *const leads[] = {[HS_LEADS_ANYWHERE] = "leads",
                                    [HS_LEADS_BLOCK] = "block",
                                    [HS_LEADS_CODE] = "code",
                                    [HS_LEADS_SELF] = "self"};

void hs_rules_record_text_(const struct hs_rule *rule, char *text, size_t n_bytes)
{
    const struct hs_rule_record *r = &rule->record;

    hs_append(text, n_bytes, " %u%s", r->n_bytes, r->is_more ? " more" : "");
    for (size_t i = 0; i < r->n_magics; i++)
        hs_append(text, n_bytes, " magic %u 0x%x mask 0x%x", r->magics[i].at, r->magics[i].value,
                  r->magics[i].mask);
    for (size_t i = 0; i < r->n_words; i++) {
        hs_append(text, n_bytes, " %s %u", leads[r->words[i].leads], r->words[i].at);
        if (r->words[i].leads == HS_LEADS_SELF)
            hs_append(text, n_bytes, " %u", r->words[i].into);
    }
    for (unsigned i = 0; i < FIND_WORDS; i++)
        if ((rule->words >> i & 1) != 0)
            hs_append(text, n_bytes, " finds %u", i * WORD);
    for (size_t i = 0; i < r->n_members; i++)
        hs_append(text, n_bytes, " member %u %s%s%s", r->members[i].at, r->members[i].name,
                  r->members[i].to == NULL ? "" : " to ",
                  r->members[i].to == NULL ? "" : r->members[i].to);
}

/* Reads an offset at which `n` bytes of each such record stand. */
static bool read_at(struct hs_rules_parser *p, const struct hs_rule *rule, unsigned n,
                    uint16_t *ret)
{
    uint64_t least = rule->record.n_bytes, number;

    if (least < n)
        return hs_rules_fault_(p, p->end_column, "a record of %llu bytes has no such word",
                               (unsigned long long)least);
    least -= n;
    if (!hs_rules_read_number_(p, least < MOST_OFFSET ? least : MOST_OFFSET, n, &number))
        return false;
    *ret = (uint16_t)number;
    return true;
}

static bool is_number(const struct hs_rules_word *word)
{
    return word != NULL && !word->is_pattern && word->text[0] >= '0' && word->text[0] <= '9';
}

static bool too_many(struct hs_rules_parser *p, const char *what, unsigned most)
{
    return hs_rules_fault_(p, hs_rules_column(p, hs_rules_peek(p)), "more than %u of '%s'", most,
                           what);
}

static bool read_magic(struct hs_rules_parser *p, struct hs_rule *rule)
{
    struct hs_rule_record *r = &rule->record;

    if (r->n_magics == HS_RECORD_MAGICS)
        return too_many(p, "magic", HS_RECORD_MAGICS);
    struct hs_record_magic *magic = &r->magics[r->n_magics++];
    return read_at(p, rule, sizeof magic->value, &magic->at) &&
           hs_rules_read_magic_(p, &magic->value, &magic->mask);
}

/* Reads where in its own block a word leads: to what stands in it, or behind it. */
static bool read_into(struct hs_rules_parser *p, uint32_t n_bytes, uint16_t *ret)
{
    uint64_t number;

    if (!hs_rules_read_number_(p, n_bytes < MOST_OFFSET ? n_bytes : MOST_OFFSET, 1, &number))
        return false;
    *ret = (uint16_t)number;
    return true;
}

/* Reads the words that lead somewhere; of one that leads to itself, also where to. */
static bool read_words(struct hs_rules_parser *p, struct hs_rule *rule, enum hs_word_leads how)
{
    struct hs_rule_record *r = &rule->record;

    do {
        if (r->n_words == HS_RECORD_WORDS)
            return too_many(p, leads[how], HS_RECORD_WORDS);
        struct hs_record_word *word = &r->words[r->n_words++];
        word->leads = (uint8_t)how;
        if (!read_at(p, rule, WORD, &word->at) ||
            (how == HS_LEADS_SELF && !read_into(p, r->n_bytes, &word->into)))
            return false;
    } while (how != HS_LEADS_SELF && is_number(hs_rules_peek(p)));
    return true;
}

static bool read_finds(struct hs_rules_parser *p, struct hs_rule *rule)
{
    uint64_t number;

    do {
        if (!hs_rules_read_number_(p, (FIND_WORDS - 1) * WORD, WORD, &number))
            return false;
        rule->words |= (uint16_t)(1U << number / WORD);
    } while (is_number(hs_rules_peek(p)));
    return true;
}

/* Reads a name in quotes; NULL, with a fault: it is none. */
static const char *read_name(struct hs_rules_parser *p)
{
    const struct hs_rules_word *word = hs_rules_next(p);

    if (word != NULL && word->is_pattern)
        return hs_rules_check_name_(p, word) ? word->text : NULL;
    (void)hs_rules_fault_(p, hs_rules_column(p, word), "a name in quotes is missing");
    return NULL;
}

static bool read_member(struct hs_rules_parser *p, struct hs_rule *rule)
{
    struct hs_rule_record *r = &rule->record;

    if (r->n_members == HS_RECORD_MEMBERS)
        return too_many(p, "member", HS_RECORD_MEMBERS);
    struct hs_record_member *member = &r->members[r->n_members++];
    if (!read_at(p, rule, WORD, &member->at) || (member->name = read_name(p)) == NULL)
        return false;
    if (r->n_members > 1 && member[-1].at >= member->at)
        return hs_rules_fault_(p, p->end_column, "members stand in the order of their offsets");
    if (!hs_rules_is_word(hs_rules_peek(p), "to"))
        return true;
    (void)hs_rules_next(p);
    return (member->to = read_name(p)) != NULL;
}

static bool read_part(struct hs_rules_parser *p, struct hs_rule *rule)
{
    const struct hs_rules_word *word = hs_rules_next(p);

    for (unsigned how = 0; how < sizeof leads / sizeof *leads; how++)
        if (hs_rules_is_word(word, leads[how]))
            return read_words(p, rule, (enum hs_word_leads)how);
    if (hs_rules_is_word(word, "magic"))
        return read_magic(p, rule);
    if (hs_rules_is_word(word, "finds"))
        return read_finds(p, rule);
    if (hs_rules_is_word(word, "member"))
        return read_member(p, rule);
    return hs_rules_unexpected_(p, word, "part of a record",
                                "'magic', 'leads', 'block', 'code', 'self', 'finds', 'member' or "
                                "'when'");
}

/* Checks that something besides a common size tells such a record from any other block. */
static bool check_record(struct hs_rules_parser *p, const struct hs_rule_record *r)
{
    unsigned n_blocks = 0;
    bool is_told = r->n_magics != 0 || (!r->is_more && r->n_bytes >= RARE_BYTES && r->n_words > 1);

    for (size_t i = 0; i < r->n_words; i++) {
        is_told |= r->words[i].leads == HS_LEADS_CODE || r->words[i].leads == HS_LEADS_SELF;
        n_blocks += r->words[i].leads == HS_LEADS_BLOCK;
    }
    return is_told || n_blocks >= MANY_BLOCKS ||
           hs_rules_fault_(p, p->end_column,
                           "nothing tells its blocks from others of this size: 'magic', 'code', "
                           "'self' or %d of 'block'",
                           MANY_BLOCKS);
}

bool hs_rules_read_record_(struct hs_rules_parser *p, struct hs_rule *rule)
{
    const struct hs_rules_word *word = hs_rules_next(p);
    uint64_t n_bytes;

    if (rule->n_patterns > 1)
        return hs_rules_fault_(p, p->words[2].column, "a record has one name");
    if (!hs_rules_check_name_(p, &p->words[1]))
        return false;
    if (!hs_rules_is_word(word, "bytes"))
        return hs_rules_unexpected_(p, word, "part of a record", "'bytes'");
    if (!hs_rules_read_number_(p, MOST_BYTES, 1, &n_bytes))
        return false;
    rule->record.n_bytes = (uint32_t)n_bytes;
    if (hs_rules_is_word(hs_rules_peek(p), "more")) {
        (void)hs_rules_next(p);
        rule->record.is_more = true;
    }
    while (hs_rules_peek(p) != NULL && !hs_rules_is_word(hs_rules_peek(p), "when"))
        if (!read_part(p, rule))
            return false;
    return check_record(p, &rule->record);
}
