/* The discriminants that a value holds of its own pointers: the conditions of alternatives, and
 * words beside a pointer that tell what it leads to.
 *
 * Conditions of a member are from its record's start, once for each record that is described. Those
 * of a choice are from the slot, so that a record inside of another, or of an array, has the same
 * ones: laid out flat a slot takes its number along. */
#include <string.h>

#include "pool.h"

enum { CHOICES_POINTER_BYTES = 8, CHOICES_TELLERS = 2 };

bool hs_ctypes_when_add_(struct hs_ctypes *types, const struct ctypes_when *when)
{
    struct hs_error err = HS_ERROR_INIT;
    if (types->n_whens >= CTYPES_MAX_CHOICES ||
        HS_GROW(&types->whens, &types->whens_capacity, types->n_whens + 1, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return false;
    }
    types->whens[types->n_whens++] = *when;
    return true;
}

bool hs_ctypes_choice_add_(struct hs_ctypes *types, const struct ctypes_choice *inner,
                           uint64_t offset, uint32_t first_when, uint32_t n_whens)
{
    struct hs_error err = HS_ERROR_INIT;
    struct ctypes_choice choice = {inner->pointee, (uint32_t)types->n_whens, 0};
    if (inner->n_whens + n_whens > CTYPES_MAX_CHAIN || offset > INT64_MAX)
        return false;
    for (uint32_t i = 0; i < inner->n_whens + n_whens; i++) {
        bool is_inner = i < inner->n_whens;
        struct ctypes_when when =
            types->whens[is_inner ? inner->first_when + i : first_when + i - inner->n_whens];
        when.at -= is_inner ? 0 : (int64_t)offset;
        if (!hs_ctypes_when_add_(types, &when))
            return false;
        choice.n_whens++;
    }
    if (types->n_choices >= CTYPES_MAX_CHOICES ||
        HS_GROW(&types->choices, &types->choices_capacity, types->n_choices + 1, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return false;
    }
    types->choices[types->n_choices++] = choice;
    return true;
}

static uint8_t used_by(uint8_t kind)
{
    return kind == WHEN_USED_COUNT    ? HS_CUSED_COUNT
           : kind == WHEN_USED_TAIL   ? HS_CUSED_RING
           : kind == WHEN_USED_BEFORE ? HS_CUSED_BEFORE
                                      : HS_CUSED_END;
}

/* Adds the numbers of both ends of a ring. */
static bool choice_use_ring(struct hs_cchosen *chosen, const struct ctypes_when *when,
                            uint64_t number, hs_cvalue_read *read, void *context)
{
    uint64_t other;
    if (!read(context, when->at + (int64_t)when->low, when->n_bytes, &other))
        return false;
    bool is_first = when->high == RING_FIRST || (when->high == RING_EITHER && number < other);
    chosen->used_by = when->high == RING_EITHER ? HS_CUSED_ENDS : HS_CUSED_BETWEEN;
    chosen->used_from = is_first ? number : other;
    chosen->used = is_first ? other : number;
    return true;
}

/* Adds a number of elements, and beside it that for which there is room. */
static bool choice_use_room(struct hs_cchosen *chosen, const struct ctypes_when *when,
                            uint64_t number, hs_cvalue_read *read, void *context)
{
    uint64_t room = UINT64_MAX;
    if (when->high != 0 &&
        !read(context, when->at + (int64_t)when->low, (unsigned)when->high, &room))
        return false;
    chosen->used_by = HS_CUSED_ROOM;
    chosen->used = number;
    chosen->used_from = room;
    return true;
}

/* Adds one more word that tells what is in use. */
static void choice_use(struct hs_cchosen *chosen, const struct ctypes_when *when, uint64_t number)
{
    uint8_t kind = when->kind;
    if (kind == WHEN_USED_LIST) {
        chosen->list_at = when->at;
        return;
    }
    if (kind == WHEN_USED_FROM || kind == WHEN_USED_HEAD) {
        chosen->used_from = number;
        chosen->used_by = kind == WHEN_USED_HEAD ? HS_CUSED_RING : HS_CUSED_NOT;
        return;
    }
    bool is_from_head = kind == WHEN_USED_COUNT && chosen->used_by == HS_CUSED_RING;
    if (is_from_head) {
        chosen->used = chosen->used_from + number;
        return;
    }
    chosen->used_by = used_by(kind);
    chosen->used = number + (kind == WHEN_USED_LAST ? CHOICES_POINTER_BYTES : 0);
}

/* Tells whether an element of an array is there, as far as a condition of counted.c tells. */
static bool choice_has_element(const struct ctypes_when *when, hs_cvalue_read *read, void *context)
{
    uint64_t number, other;
    if (!read(context, when->at, when->n_bytes, &number))
        return true;
    if (when->kind == WHEN_DIFFER) /* a ring that is empty */
        return !read(context, when->at + (int64_t)when->low, when->n_bytes, &other) ||
               number != other;
    if (number > when->low || number > when->high)
        return true;
    for (uint64_t i = 0; i < number; i++) {
        int64_t at = ((int64_t)i - (int64_t)when->low) * CHOICES_POINTER_BYTES;
        if (!read(context, at, CHOICES_POINTER_BYTES, &other) || other == 0)
            return true; /* it has holes: the number is not how far it is in use */
    }
    return false;
}

static bool choice_is_in(const struct ctypes_when *when, uint64_t number)
{
    return when->kind == WHEN_ODD ? number % 2 != 0 : when->low <= number && number <= when->high;
}

/* Tells whether all conditions of a choice hold, and notes what more the value tells. */
static bool choice_holds(const struct hs_ctypes *types, const struct ctypes_choice *choice,
                         hs_cvalue_read *read, void *context, struct hs_cchosen *ret)
{
    bool is_half = false; /* what is in use is told in part only, which says nothing */
    *ret = (struct hs_cchosen){.pointee = choice->pointee};
    for (uint32_t i = 0; i < choice->n_whens; i++) {
        const struct ctypes_when *when = &types->whens[choice->first_when + i];
        uint64_t number = 0;
        bool is_read = read(context, when->at, when->n_bytes, &number);
        if (when->kind <= WHEN_ODD) {
            if (!is_read || choice_is_in(when, number) == (when->kind == WHEN_IS_NOT))
                return false;
        } else if (when->kind == WHEN_COUNTED || when->kind == WHEN_DIFFER) {
            if (!choice_has_element(when, read, context))
                return false;
        } else if (when->kind == WHEN_TABLE || when->kind == WHEN_CODE) {
            if (is_read && number == 0)
                return false; /* of a std::function after = nullptr, a std::any after reset() */
            if (is_read)
                ret->told_by = when->kind == WHEN_TABLE ? HS_CTOLD_TABLE : HS_CTOLD_CODE;
            ret->word = number;
        } else if (when->kind == WHEN_USED_ROOM) {
            is_half |= !is_read || !choice_use_room(ret, when, number, read, context);
        } else if (when->kind == WHEN_USED_RING) {
            is_half |= !is_read || !choice_use_ring(ret, when, number, read, context);
        } else {
            choice_use(ret, when, number);
            is_half |= !is_read;
        }
    }
    if (is_half) {
        ret->used_by = HS_CUSED_NOT;
        ret->list_at = 0;
    }
    return true;
}

bool hs_ctypes_choose(const struct hs_ctypes *types, const struct hs_cslot *slot,
                      hs_cvalue_read *read, void *context, struct hs_cchosen *ret)
{
    for (uint32_t i = 0; i < slot->n_choices; i++)
        if (choice_holds(types, &types->choices[slot->first_choice + i], read, context, ret))
            return true;
    *ret = (struct hs_cchosen){0};
    return false;
}

/* Records that have a pointer to anything, and beside it the word that knows to what; a value, and
 * beside it the byte that says whether it is there; an array, and the word that says how much of it
 * is in use (libstdc++, libc++, Rust). */
static const struct told_rule {
    const char *record;  /* its own name begins so; NULL: any */
    const char *pointer; /* a member */
    struct {
        const char *member;            /* NULL: there is no other one */
        uint8_t n_bytes, kind, within; /* enum ctypes_when_kind; from its start */
    } tellers[CHOICES_TELLERS];
    bool is_rust;
} told_rules[] = {
    {NULL, "pointer", {{"vtable", 8, WHEN_TABLE, 0}}, true},
    {"_Function_base", "_M_functor", {{"_M_manager", 8, WHEN_CODE, 0}}, false},
    {"any", "_M_storage", {{"_M_manager", 8, WHEN_CODE, 0}}, false},
    {"any", "__s", {{"__h", 8, WHEN_CODE, 0}}, false},
    {"any", "__s_", {{"__h_", 8, WHEN_CODE, 0}}, false}, /* as LLVM 19 calls them */
    {"_Optional_payload_base<", "_M_payload", {{"_M_engaged", 1, WHEN_IS, 0}}, false},
    {"__optional_destruct_base<", "", {{"__engaged_", 1, WHEN_IS, 0}}, false},
    {"optional_base<", "m_storage", {{"m_initialized", 1, WHEN_IS, 0}}, false}, /* boost */
    /* libc++'s text: a long one's capacity is odd, a short one's first byte is even; LLVM 16 has a
     * union of these. */
    {"__rep", "", {{"", 1, WHEN_ODD, 0}}, false},
    {"__rep", "__l", {{"__l", 1, WHEN_ODD, 0}}, false},
    {"_Vector_impl", "_M_start", {{"_M_finish", 8, WHEN_USED_END, 0}}, false},
    {"circular_buffer<",
     "m_buff",
     {{"m_end", 8, WHEN_USED_END, 0}},
     false}, /* boost: all its room */
    {"vector<", "__begin_", {{"__end_", 8, WHEN_USED_END, 0}}, false},
    {"Vec<", "buf", {{"len", 8, WHEN_USED_COUNT, 0}}, true},
    {"VecDeque<", "buf", {{"head", 8, WHEN_USED_HEAD, 0}, {"len", 8, WHEN_USED_COUNT, 0}}, true},
    /* Up to 1.66, where the head is the end. */
    {"VecDeque<", "buf", {{"tail", 8, WHEN_USED_HEAD, 0}, {"head", 8, WHEN_USED_TAIL, 0}}, true},
    /* A deque's map is in use from the first iterator's _M_node to the last one's, its first block
     * from the first one's _M_cur on, its last block to the last one's (bits/stl_deque.h). */
    {"_Deque_impl",
     "_M_map",
     {{"_M_start", 8, WHEN_USED_FROM, 24}, {"_M_finish", 8, WHEN_USED_LAST, 24}},
     false},
    {"_Deque_impl",
     "_M_start",
     {{"_M_start", 8, WHEN_USED_FROM, 0}, {"_M_finish", 8, WHEN_USED_BEFORE, 0}},
     false},
    {"_Deque_impl",
     "_M_finish",
     {{"_M_start", 8, WHEN_USED_FROM, 0}, {"_M_finish", 8, WHEN_USED_BEFORE, 0}},
     false},
    {"QArrayDataPointer<", /* of Qt 6: the elements are behind what `d` leads to */
     "d",
     {{"ptr", 8, WHEN_USED_FROM, 0}, {"size", 8, WHEN_USED_COUNT, 0}},
     false},
    {"Span<", /* of Qt 6's QHash */
     "entries",
     {{"allocated", 1, WHEN_USED_COUNT, 0}, {"offsets", 1, WHEN_USED_LIST, 0}},
     false},
    {"__split_buffer<",
     "__first_",
     {{"__begin_", 8, WHEN_USED_FROM, 0}, {"__end_", 8, WHEN_USED_END, 0}},
     false},
};

const char *hs_ctypes_own_name_(const char *name, size_t *ret_n)
{
    static const char *const prefixes[] = {"_M_", "m_"};
    size_t n;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            name += strlen(prefixes[i]);
    name += strspn(name, "_");
    for (n = strlen(name); n > 0 && name[n - 1] == '_'; n--) {
    }
    *ret_n = n;
    return name;
}

bool hs_ctypes_is_end_name(const char *name)
{
    /* libstdc++, libc++, Rust, and what programs of C call them */
    static const char *const whole[] = {"finish", "last", "limit", "lim", "stop", "cap", "eos"};
    static const char *const part = "end"; /* end_of_storage, end_or_len, buf_end, bufend */
    size_t n, n_part = strlen(part);
    if (name == NULL) /* a member of no record of the source */
        return false;
    const char *own = hs_ctypes_own_name_(name, &n);
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (n == strlen(whole[i]) && strncmp(own, whole[i], n) == 0)
            return true;
    return n >= n_part &&
           (strncmp(own, part, n_part) == 0 || strncmp(own + n - n_part, part, n_part) == 0);
}

static struct ctypes_member *told_member(struct hs_ctypes *types, const struct ctypes_type *type,
                                         const char *name)
{
    for (uint32_t i = 0; i < type->n_members; i++)
        if (strcmp(types->members[type->first_member + i].name, name) == 0)
            return &types->members[type->first_member + i];
    return NULL;
}

/* Adds what tells of a member; the number of conditions, 0 when the record is another one. */
static uint32_t told_whens(struct hs_ctypes *types, const struct ctypes_type *type,
                           const struct told_rule *rule)
{
    uint32_t n = 0;
    for (; n < CHOICES_TELLERS && rule->tellers[n].member != NULL; n++) {
        const struct ctypes_member *teller = told_member(types, type, rule->tellers[n].member);
        if (teller == NULL || teller->offset > INT64_MAX - UINT8_MAX)
            return 0;
        bool is_flag = rule->tellers[n].kind == WHEN_IS;
        struct ctypes_when when = {(int64_t)teller->offset + rule->tellers[n].within,
                                   is_flag ? 1 : 0, is_flag ? 1 : UINT64_MAX,
                                   rule->tellers[n].n_bytes, rule->tellers[n].kind};
        if (!hs_ctypes_when_add_(types, &when))
            return 0;
    }
    return n;
}

/* The member of one of these names, if there is just one. */
static struct ctypes_member *told_one_of(struct hs_ctypes *types, const struct ctypes_type *type,
                                         const char *const *names, size_t n_names)
{
    struct ctypes_member *found = NULL;
    for (uint32_t i = 0; i < type->n_members; i++) {
        struct ctypes_member *member = &types->members[type->first_member + i];
        size_t n;
        const char *own = hs_ctypes_own_name_(member->name, &n);
        for (size_t j = 0; j < n_names; j++) {
            if (strlen(names[j]) != n || strncmp(names[j], own, n) != 0)
                continue;
            if (found != NULL)
                return NULL;
            found = member;
        }
    }
    return found;
}

#define TOLD_ONE_OF(types, type, names) \
    told_one_of((types), (type), (names), sizeof(names) / sizeof((names)[0]))

/* (begin, end, end of room), as those who write a vector of their own call them: three, or the one
 * in the middle may be a place in what is in use. What is no array so is not believed later. */
static void told_vector(struct hs_ctypes *types, const struct ctypes_type *type)
{
    static const char *const begins[] = {"b", "begin", "beg", "start", "base", "first", "data"};
    static const char *const ends[] = {"e", "end", "finish", "last"};
    static const char *const rooms[] = {
        "c", "cap", "capacity", "limit", "lim", "max", "end_of_storage", "end_cap", "room", "eos"};
    struct ctypes_member *begin = TOLD_ONE_OF(types, type, begins);
    struct ctypes_member *end = TOLD_ONE_OF(types, type, ends);
    struct ctypes_member *room = TOLD_ONE_OF(types, type, rooms);
    uint32_t first = (uint32_t)types->n_whens;
    if (begin == NULL || end == NULL || room == NULL || begin->n_whens != 0 ||
        begin->offset % CHOICES_POINTER_BYTES != 0 || end->offset % CHOICES_POINTER_BYTES != 0 ||
        room->offset % CHOICES_POINTER_BYTES != 0 || end->offset > INT64_MAX)
        return;
    const struct ctypes_when when = {(int64_t)end->offset, 0, UINT64_MAX, CHOICES_POINTER_BYTES,
                                     WHEN_USED_END};
    if (!hs_ctypes_when_add_(types, &when))
        return;
    begin->first_when = first;
    begin->n_whens = 1;
}

void hs_ctypes_mark_told_(struct hs_ctypes *types, const struct ctypes_type *type, const char *name,
                          bool is_rust)
{
    if (!is_rust && type->kind == HS_CTYPE_RECORD)
        told_vector(types, type);
    for (size_t i = 0; i < sizeof(told_rules) / sizeof(told_rules[0]); i++) {
        const struct told_rule *rule = &told_rules[i];
        if (rule->is_rust != is_rust ||
            (rule->record != NULL &&
             (name == NULL || strncmp(name, rule->record, strlen(rule->record)) != 0)))
            continue;
        struct ctypes_member *pointer = told_member(types, type, rule->pointer);
        uint32_t first = (uint32_t)types->n_whens;
        uint32_t n = pointer == NULL ? 0 : told_whens(types, type, rule);
        if (n == 0)
            continue;
        pointer->first_when = first;
        pointer->n_whens = n;
    }
}
