#include "enclosing.h"

#include <string.h>

#include "base/alloc.h"
#include "flow.h"

enum {
    ENCLOSING_LEAST_LEADING = 2, /* pointers to starts of blocks, where none shows its record */
    ENCLOSING_LEAST_ALIKE = 8,   /* blocks of a group that speak together where none does alone */
    ENCLOSING_ODD_ONE_IN = 8,    /* that disagrees, for so many that agree */
    ENCLOSING_MOST_SLOTS = 256,
    ENCLOSING_MOST_ASKED = 1 << 16, /* of what is beyond nothing becomes known */
    WORD = 8
};

void hs_native_enclosing_fini(struct hs_enclosing *enclosing)
{
    if (enclosing == NULL)
        return;
    for (size_t i = 0; i < enclosing->n_groups; i++)
        hs_free(enclosing->groups[i].votes);
    hs_free(enclosing->groups);
    hs_table_fini(&enclosing->by_what);
    hs_dict_fini(&enclosing->asked);
    *enclosing = (struct hs_enclosing){0};
}

/* Packs the question into a key. False beyond 64 KiB: no record that large, and no member that far
 * in, is what C's lists are linked by. */
static bool key_of(hs_ctype part, uint64_t offset, uint64_t n_bytes, uint64_t *ret)
{
    if (offset > UINT16_MAX || n_bytes > UINT16_MAX)
        return false;
    *ret = (uint64_t)part << 32 | offset << 16 | n_bytes;
    return true;
}

static bool is_same(const struct hs_enclosing_group *a, const struct hs_enclosing_group *b)
{
    return a->offset == b->offset && a->n_bytes == b->n_bytes && a->part_bytes == b->part_bytes &&
           a->n_first == b->n_first && a->are_heirs == b->are_heirs &&
           memcmp(a->first, b->first, a->n_first * sizeof *a->first) == 0;
}

static uint64_t hash_of(const struct hs_enclosing_group *group)
{
    uint64_t hash = hs_hash_pair(hs_hash_pair(group->offset, group->part_bytes), group->n_bytes);
    for (size_t i = 0; i < group->n_first; i++)
        hash = hs_hash_pair(hash, group->first[i]);
    return hash;
}

/* Finds the number, from 1, of the group like `made`: units describe the same part under numbers of
 * their own. 0: there is room for no more. */
static hs_status group_like(struct hs_enclosing *enclosing, const struct hs_enclosing_group *made,
                            uint64_t *ret, struct hs_error *err)
{
    uint64_t hash = hash_of(made);
    uint32_t at = HS_TABLE_FIND(&enclosing->by_what, hash, i, is_same(&enclosing->groups[i], made));

    *ret = 0;
    if (at == HS_NO_NUMBER) {
        if (enclosing->n_groups == HS_ENCLOSING_GROUPS)
            return HS_OK;
        HS_TRY(HS_GROW(&enclosing->groups, &enclosing->capacity, enclosing->n_groups + 1, err));
        HS_TRY(hs_table_add(&enclosing->by_what, hash, enclosing->n_groups, err));
        at = (uint32_t)enclosing->n_groups++;
        enclosing->groups[at] = *made;
    }
    *ret = (uint64_t)at + 1;
    return HS_OK;
}

static hs_status find_group(struct hs_enclosing *enclosing, hs_ctype part, uint64_t part_bytes,
                            uint64_t offset, uint64_t n_bytes, struct hs_enclosing_group **ret,
                            struct hs_error *err)
{
    uint64_t key, number = 0;

    *ret = NULL;
    if (!key_of(part, offset, n_bytes, &key))
        return HS_OK;
    const uint64_t *known = hs_dict_find(&enclosing->asked, key);
    if (known != NULL) {
        number = *known;
    } else if (enclosing->asked.n < ENCLOSING_MOST_ASKED) {
        struct hs_enclosing_group made = {
            .part = part, .offset = offset, .part_bytes = part_bytes, .n_bytes = n_bytes};
        struct hs_ctypes *ctypes = enclosing->by.native->ctypes;
        if (offset == 0 && hs_ctypes_is_header(ctypes, part))
            return hs_dict_put(&enclosing->asked, key, 0, err);
        uint64_t least = n_bytes - HS_SLACK_BYTES + 1;
        made.n_first = hs_ctypes_heirs(ctypes, part, offset, least, n_bytes, made.first);
        /* glibc's malloc leaves no rest of 16 bytes: once in a while a block has these, too. */
        if (made.n_first == 0 && n_bytes >= 2 * HS_SLACK_BYTES)
            made.n_first = hs_ctypes_heirs(ctypes, part, offset, least - HS_SLACK_BYTES,
                                           n_bytes - HS_SLACK_BYTES, made.first);
        made.are_heirs = made.n_first != 0;
        if (!made.are_heirs &&
            (offset != 0 || !hs_ctypes_has_heir(ctypes, part, least, n_bytes))) /* too many */
            made.n_first = hs_ctypes_enclosing(ctypes, part, offset, least, n_bytes, made.first);
        made.n_records = made.n_first;
        memcpy(made.records, made.first, made.n_first * sizeof *made.first);
        if (made.n_first != 0)
            HS_TRY(group_like(enclosing, &made, &number, err));
        HS_TRY(hs_dict_put(&enclosing->asked, key, number, err));
    }
    *ret = number == 0 ? NULL : &enclosing->groups[number - 1];
    return HS_OK;
}

/* Finds the number of a record whose pointers are all known; *ret is 0 for any other. A record
 * without pointers counts only if it is a subclass: its words say nothing. */
static hs_status known_record(struct hs_native_types *types, hs_ctype record, bool is_heir,
                              hs_ntype *ret, struct hs_error *err)
{
    HS_TRY(hs_native_types_of_ctype(types, record, false, ret, err));
    if (*ret == 0)
        return HS_OK;
    const struct hs_native_type *type = hs_native_type_of(types, *ret);
    if (type->type.form != HS_FORM_RECORD || type->is_array || (type->n_slots == 0 && !is_heir) ||
        type->n_slots > ENCLOSING_MOST_SLOTS || type->said_bytes != type->n_bytes)
        *ret = 0;
    return HS_OK;
}

/* The opinion of one block about the records of its group; when there may be no more looks it may
 * be none of them. */
struct opinion {
    size_t n_possible, last; /* records that it may be, and which is the last of them; only one when
                                pointers show one and no other */
    uint32_t possible;       /* a bit for each */
    uint32_t leading;        /* and for those of which a pointer leads to the start of a block */
    bool is_shown;           /* something speaks for the last one */
};

static hs_status opinion_of(struct hs_enclosing *enclosing, const struct hs_enclosing_group *group,
                            const struct hs_heap_block *block, struct opinion *ret,
                            struct hs_error *err)
{
    struct opinion sum = {0};
    size_t n_shown = 0, shown = 0;

    for (size_t i = 0; i < group->n_records; i++) {
        hs_ntype number;
        HS_TRY(known_record(enclosing->types, group->records[i], group->are_heirs, &number, err));
        if (number == 0 || enclosing->n_looks >= enclosing->most_looks)
            continue;
        const struct hs_native_type *record = hs_native_type_of(enclosing->types, number);
        enclosing->n_looks += record->n_slots + record->n_bytes / WORD;
        const struct hs_agreement found = hs_native_agree(
            &enclosing->by, block, record, group->offset, group->offset + group->part_bytes);
        if (found.disagrees)
            continue;
        if (found.n_shown != 0) {
            n_shown++;
            shown = i;
        }
        sum.n_possible++;
        sum.possible |= UINT32_C(1) << i;
        sum.last = i;
        sum.leading |= (uint32_t)(found.n_leading != 0) << i;
        sum.is_shown = found.n_shown != 0 ||
                       (group->n_records == 1 && found.n_leading >= ENCLOSING_LEAST_LEADING);
    }
    if (sum.n_possible > 1 && n_shown == 1) { /* for the others nothing speaks */
        sum.n_possible = 1;
        sum.last = shown;
        sum.is_shown = true;
    }
    *ret = sum;
    return HS_OK;
}

/* Finds which record a block of an accepted group is: the one there was from the first; else the
 * one that the block's own words say or, of a single one left or a subclass, do not deny. *ret is 0
 * where its words do not tell. */
static hs_status answer_of(struct hs_enclosing *enclosing, const struct hs_enclosing_group *group,
                           const struct hs_heap_block *block, hs_ctype *ret, struct hs_error *err)
{
    struct opinion found;

    *ret = group->records[0];
    if (group->n_first == 1)
        return HS_OK;
    HS_TRY(opinion_of(enclosing, group, block, &found, err));
    if (found.n_possible == 1 && (found.is_shown || group->n_records == 1 || group->are_heirs)) {
        *ret = group->records[found.last];
        return HS_OK;
    }
    /* Nothing of it leads to what another one would lead to. */
    uint32_t only = found.n_possible == 1 ? found.possible : found.leading;
    bool is_one = only != 0 && (only & (only - 1)) == 0;
    *ret = is_one && (only & group->agreed) != 0 ? group->records[__builtin_ctz(only)] : 0;
    return HS_OK;
}

/* Tells whether a link of the member leads to the same member of another block of the group's size.
 */
static hs_status is_linked(struct hs_enclosing *enclosing, const struct hs_enclosing_group *group,
                           const struct hs_heap_block *block, bool *ret, struct hs_error *err)
{
    const struct hs_native *native = enclosing->by.native;
    hs_ntype number;

    *ret = false;
    HS_TRY(hs_native_types_of_ctype(enclosing->types, group->part, false, &number, err));
    if (number == 0)
        return HS_OK;
    const struct hs_native_type *part = hs_native_type_of(enclosing->types, number);
    for (size_t i = 0; i < part->n_slots && !*ret; i++) {
        uint64_t at = group->offset + part->slots[i].offset_bytes;
        struct hs_heap_block other;
        if (at + WORD > block->n_bytes)
            break;
        uint64_t word = hs_load_u64(block->bytes + at);
        *ret = hs_flow_resolve(native, word, &other) != HS_POINTER_NONE &&
               other.rank != block->rank && other.n_bytes == group->n_bytes &&
               hs_flow_offset(native, word, &other) == group->offset;
    }
    return HS_OK;
}

/* The sum of the opinions of a group's blocks. */
struct sum {
    size_t n_shown, n_none;
    size_t n_one;                           /* that may be one record only */
    size_t n_alike[HS_CTYPE_MAX_ENCLOSING]; /* blocks that may be no other record, and lead to a
                                               block as it does or are linked to their like */
    uint32_t possible;                      /* a bit for each record that some block may be */
};

static hs_status add_up(struct hs_enclosing *enclosing, const struct hs_enclosing_group *group,
                        struct sum *ret, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &enclosing->by.native->dump->heaps.map};

    *ret = (struct sum){0};
    for (size_t i = 0; i < group->n_votes; i++) {
        struct hs_heap_block block;
        struct opinion found;
        bool is_alike;
        hs_heap_map_seek(&it, group->votes[i]);
        if (!hs_heap_map_next(&it, &block))
            continue;
        HS_TRY(opinion_of(enclosing, group, &block, &found, err));
        HS_TRY(is_linked(enclosing, group, &block, &is_alike, err));
        ret->n_alike[found.last] += found.n_possible == 1 && (found.leading != 0 || is_alike);
        ret->possible |= found.possible;
        ret->n_none += found.n_possible == 0;
        ret->n_one += found.n_possible == 1;
        ret->n_shown += found.n_possible == 1 && found.is_shown;
    }
    return HS_OK;
}

/* Tells whether there is a record that none of the blocks asked may be, beside one that some may
 * be. */
static bool forgets_some(const struct hs_enclosing_group *group, uint32_t possible)
{
    return possible != 0 && (size_t)__builtin_popcount(possible) != group->n_records;
}

/* Forgets the records that no block may be. True if there was one. */
static bool drop_impossible(struct hs_enclosing_group *group, uint32_t possible)
{
    size_t n_left = 0, n_before = group->n_records;

    for (size_t i = 0; i < n_before; i++)
        if ((possible >> i & 1) != 0)
            group->records[n_left++] = group->records[i];
    group->n_records = n_left;
    return n_left != n_before;
}

/* Tells whether a group's blocks are those subclasses: some may be one only, and at most one for
 * eight of these denies all. */
static bool are_of_heirs(const struct hs_enclosing_group *group, const struct sum *sum)
{
    return group->are_heirs && sum->n_one != 0 && sum->n_none <= sum->n_one / ENCLOSING_ODD_ONE_IN;
}

/* Returns the records, a bit for each, that are believed because many blocks point to them, though
 * none would be alone: no block of the group denies all records, and where the group has one record
 * nearly all its blocks support it. */
static uint32_t agreed_by(const struct hs_enclosing_group *group, const struct sum *sum)
{
    uint32_t agreed = 0;

    for (size_t i = 0; i < group->n_records && sum->n_none == 0; i++) {
        size_t n = sum->n_alike[i];
        bool are_most = group->n_votes - n <= n / ENCLOSING_ODD_ONE_IN;
        if (n >= ENCLOSING_LEAST_ALIKE && (group->n_records > 1 || are_most))
            agreed |= UINT32_C(1) << i;
    }
    return agreed;
}

/* Judges a group by its votes. `are_first`: more of its blocks may come. Those that did are of the
 * beginning of a list, say: what none of them is, others may be, so nothing is forgotten yet. */
static hs_status judge(struct hs_enclosing *enclosing, struct hs_enclosing_group *group,
                       bool are_first, struct hs_error *err)
{
    struct sum sum;

    HS_TRY(add_up(enclosing, group, &sum, err));
    if (are_first && !group->are_heirs && forgets_some(group, sum.possible))
        return HS_OK;
    if (drop_impossible(group, sum.possible) && group->n_records != 0)
        HS_TRY(add_up(enclosing, group, &sum, err)); /* which asks less of a single one */
    group->agreed = agreed_by(group, &sum);
    if (are_of_heirs(group, &sum))
        group->state = HS_ENCLOSING_ACCEPTED;
    else if (group->n_records == 0 || sum.n_none > sum.n_shown / ENCLOSING_ODD_ONE_IN)
        group->state = HS_ENCLOSING_REJECTED;
    else if (sum.n_shown != 0 || group->agreed != 0)
        group->state = HS_ENCLOSING_ACCEPTED;
    group->is_new = group->state != HS_ENCLOSING_OPEN;
    return HS_OK;
}

/* Puts a block in the place of the vote with the largest hash, if its own is less. So the votes are
 * a sample that does not depend on the order in which blocks are met: where lists of two records
 * begin with one of them, the first blocks would be all of one kind. */
static bool takes_vote(struct hs_enclosing_group *group, uint64_t rank)
{
    uint64_t hash = hs_hash(rank), most = 0;
    size_t last = 0;

    for (size_t i = 0; i < group->n_votes; i++) {
        uint64_t other = hs_hash(group->votes[i]);
        if (other >= most) {
            most = other;
            last = i;
        }
    }
    if (hash >= most)
        return false;
    group->votes[last] = rank;
    return true;
}

/* Adds a block to the votes of an open group, which is judged once they are full. */
static hs_status note(struct hs_enclosing *enclosing, struct hs_enclosing_group *group,
                      const struct hs_heap_block *block, struct hs_error *err)
{
    for (size_t i = 0; i < group->n_votes; i++)
        if (group->votes[i] == block->rank)
            return HS_OK;
    if (group->n_votes == HS_ENCLOSING_VOTES) {
        enclosing->has_missed = true;
        (void)takes_vote(group, block->rank);
        return HS_OK;
    }
    HS_TRY(HS_GROW(&group->votes, &group->capacity, group->n_votes + 1, err));
    group->votes[group->n_votes++] = block->rank;
    return group->n_votes == HS_ENCLOSING_VOTES ? judge(enclosing, group, true, err) : HS_OK;
}

hs_status hs_native_enclosing_ask(struct hs_enclosing *enclosing, const struct hs_heap_block *block,
                                  hs_ctype part, uint64_t part_bytes, uint64_t offset,
                                  struct hs_enclosing_answer *ret, struct hs_error *err)
{
    struct hs_enclosing_group *group;

    *ret = (struct hs_enclosing_answer){0};
    HS_TRY(find_group(enclosing, part, part_bytes, offset, block->n_bytes, &group, err));
    if (group != NULL && group->state == HS_ENCLOSING_OPEN && !enclosing->is_closed) {
        ret->is_open = ret->leads_on = true;
        return note(enclosing, group, block, err);
    }
    if (group == NULL || group->state != HS_ENCLOSING_ACCEPTED)
        return HS_OK;
    HS_TRY(answer_of(enclosing, group, block, &ret->record, err));
    ret->leads_on = ret->is_part = ret->record == 0;
    return HS_OK;
}

hs_status hs_native_enclosing_settle(struct hs_enclosing *enclosing, struct hs_error *err)
{
    for (size_t i = 0; i < enclosing->n_groups; i++)
        if (enclosing->groups[i].state == HS_ENCLOSING_OPEN)
            HS_TRY(judge(enclosing, &enclosing->groups[i], false, err));
    return HS_OK;
}

/* Finds the heir of a group's part that is 16 bytes smaller than the group's only one. */
static hs_status find_smaller(struct hs_enclosing *enclosing, struct hs_enclosing_group *group,
                              struct hs_error *err)
{
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];

    if (group->state != HS_ENCLOSING_ACCEPTED || !group->are_heirs || group->n_first != 1 ||
        group->n_bytes < 2 * HS_SLACK_BYTES)
        return HS_OK;
    size_t n = hs_ctypes_heirs(enclosing->by.native->ctypes, group->part, group->offset,
                               group->n_bytes - 2 * HS_SLACK_BYTES + 1,
                               group->n_bytes - HS_SLACK_BYTES, found);
    return n == 1 && found[0] != group->first[0]
               ? known_record(enclosing->types, found[0], true, &group->smaller, err)
               : HS_OK;
}

hs_status hs_native_enclosing_find_smaller(struct hs_enclosing *enclosing,
                                           struct hs_dict *ret_parts, struct hs_error *err)
{
    for (size_t i = 0; i < enclosing->n_groups; i++)
        HS_TRY(find_smaller(enclosing, &enclosing->groups[i], err));
    for (size_t i = 0; i < enclosing->asked.n; i++) {
        const struct hs_dict_entry *asked = &enclosing->asked.entries[i];
        if (asked->value != 0 && enclosing->groups[asked->value - 1].smaller != 0)
            HS_TRY(hs_dict_put(ret_parts, asked->key >> 32, 1, err));
    }
    return HS_OK;
}

hs_ntype hs_native_enclosing_smaller(const struct hs_enclosing *enclosing, hs_ctype part,
                                     uint64_t offset, uint64_t n_bytes)
{
    uint64_t key;

    if (!key_of(part, offset, n_bytes, &key))
        return 0;
    const uint64_t number = hs_dict_get(&enclosing->asked, key, 0);
    return number == 0 ? 0 : enclosing->groups[number - 1].smaller;
}
