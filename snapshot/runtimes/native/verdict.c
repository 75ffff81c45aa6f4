#include "verdict.h"

#include "agree.h"
#include "base/load.h"
#include "elements.h"
#include "flow.h"
#include "foreign.h"
#include "heads.h"
#include "owned.h"
#include "qt.h"
#include "rule_lines.h"
#include "visits.h"

enum { WORD = 8, WORDS_OF_A_MASK = 64 };
/* The bytes at the beginning of a block that are a header or an alignment. */
enum { HALF_HEAD_BYTES = 4096, HALF_SMALL = 1 << 20, HALF_MUCH = 1 << 28 };

/* A word that leads to a block, and where it stands in the type of its own. */
struct word {
    const struct hs_said *said;
    const struct hs_heap_block *target;
    uint64_t at;
    enum hs_pointer how;
    bool is_told;                /* the type says whether there is a pointer: `slot`, or none */
    bool is_spare_tail;          /* in an element behind a record that is not in use */
    const struct hs_cslot *slot; /* NULL: none */
    uint64_t end;                /* where the elements of that type end */
};

static const struct hs_scan *scan_of(const struct word *w)
{
    return w->said->scan;
}

/* Tells whether the word stands in the elements behind a record. */
static bool is_in_tail(const struct word *w)
{
    return w->said->tail != NULL && w->at >= w->said->type->tail.at_bytes;
}

/* Finds the slot of the word in an element of this type, of those that go on to `end`. */
static void place_in(struct word *w, const struct hs_native_type *type, uint64_t offset,
                     uint64_t end)
{
    w->end = end;
    w->is_told = offset < type->said_bytes;
    w->slot = w->is_told ? hs_said_slot(type, offset) : NULL;
}

static void place(struct word *w)
{
    const struct hs_said *said = w->said;
    const struct hs_native_type *type = said->type;

    if (type == NULL || type->is_plain || said->words.is_exact)
        return;
    if (is_in_tail(w)) {
        w->is_spare_tail = w->at < said->tail_use.from || w->at >= said->tail_use.end;
        place_in(w, said->tail, (w->at - type->tail.at_bytes) % said->tail->n_bytes,
                 said->tail_use.end);
    } else if (w->at < said->end) {
        place_in(w, type, w->at % type->n_bytes, said->end);
    }
}

/* ---- judges, in the order of verdict.def
 *
 * Each is asked only of words of blocks for which hs_verdict_rules chose it. */

static bool is_weak_reference(const struct word *w)
{
    return hs_scan_is_masked(w->said->words.weak, w->at);
}

static bool is_first_word(const struct word *w)
{
    return w->at == 0;
}

static bool is_list_link(const struct word *w)
{
    return w->at / WORD < WORDS_OF_A_MASK && (w->said->words.doubtful >> w->at / WORD & 1) != 0;
}

static bool is_left_behind(const struct word *w)
{
    return w->at / WORD >= w->said->words.guessed_from;
}

static bool is_child_of_another(const struct word *w)
{
    return hs_bitmap_get(&w->said->flow->owned_alone, w->target->rank);
}

static bool is_back_reference(const struct word *w)
{
    const uint64_t n_bits = 8 * sizeof w->said->other_words;

    return w->at / WORD < n_bits && (w->said->other_words >> w->at / WORD & 1) != 0;
}

static bool is_spare(const struct word *w)
{
    return w->at < w->said->use.from || w->at >= w->said->use.end || w->is_spare_tail;
}

/* Tells whether the word is in a bucket that has no element: in a table of Rust, abseil or Qt 6, in
 * an array of which a list says what is in use. */
static bool is_in_empty_bucket(const struct word *w)
{
    const struct hs_said *said = w->said;

    return (said->table.control != NULL && w->at >= said->table.first_at &&
            !hs_swiss_table_has(&said->table, w->at)) ||
           (said->type != NULL && said->type->is_array &&
            !hs_native_listed_has(&said->listed, w->at / said->type->n_bytes));
}

static bool is_by_size_alone(const struct word *w)
{
    return w->at >= w->said->sure_end && !is_in_tail(w);
}

static bool is_weak_pointer(const struct word *w)
{
    uint64_t cleared = w->at / WORD < WORDS_OF_A_MASK ? w->said->words.cleared >> w->at / WORD : 0;

    return w->said->find_by != 0 || (w->slot != NULL && w->slot->is_weak) || (cleared & 1) != 0;
}

/* Tells whether the word is of an alternative that is not there. What is a pointer in every
 * alternative is always there. */
static bool is_inactive(const struct word *w)
{
    const struct hs_cslot *slot = w->slot;

    return slot != NULL && slot->n_choices != 0 && slot->may_be_pointer_only &&
           !hs_native_is_chosen(w->said->native, slot, w->said->block->bytes, w->end, w->at);
}

/* Tells whether the word is of a union of C whose alternative nobody tells, and all its values
 * together do not vouch for a pointer. */
static bool is_unsure_union(const struct word *w)
{
    if (w->slot == NULL || !w->slot->is_untold)
        return false;
    const struct hs_value_bytes place = {w->said->block->bytes, w->end, w->at};
    return !hs_unions_owns(w->said->native, w->slot, &place, w->target->rank);
}

static bool is_no_pointer(const struct word *w)
{
    const struct hs_said *said = w->said;

    return said->words.is_plain || (w->is_told && w->slot == NULL) ||
           (said->type != NULL && said->type->is_plain && !said->words.is_exact);
}

/* Tells whether the word may be one that glibc's least block, of three words, has beyond what was
 * asked for: it leads into the middle of a block, and the first word to the start of one. */
static bool is_in_least_array(const struct word *w)
{
    struct hs_heap_block first;

    return w->how == HS_POINTER_INTERIOR && w->said->block->n_bytes == HS_LEAST_BYTES &&
           hs_flow_resolve(w->said->native, hs_load_u64(w->said->block->bytes), &first) ==
               HS_POINTER_START;
}

/* Tells whether a word of an array of pointers leads to what is known to be another record. An
 * array of C's says nowhere how many it has: behind those that are in use stands what the memory
 * had before. */
static bool is_stale(const struct word *w)
{
    const struct hs_said *said = w->said;
    hs_ntype number = hs_flow_type(said->flow, w->target->rank);
    struct hs_ctype_facts facts;

    if (w->slot == NULL || w->slot->pointee == 0 || number == 0 ||
        (w->how != HS_POINTER_START && !is_in_least_array(w)))
        return false;
    const struct hs_native_type *type = hs_native_type_of(&said->flow->types, number);
    if (type->ctype == 0 || type->ctype == w->slot->pointee || type->type.form != HS_FORM_RECORD)
        return false;
    hs_ctype_facts(said->native->ctypes, w->slot->pointee, &facts);
    return facts.kind == HS_CTYPE_RECORD && !facts.is_declaration && facts.n_bytes != 0 &&
           hs_native_is_other(said->native->ctypes, type->ctype, w->slot->pointee);
}

static bool is_padding(const struct word *w)
{
    return w->at >= w->said->end && !is_in_tail(w);
}

static uint64_t address_of(const struct word *w)
{
    return hs_object_address(&w->said->words, w->at / WORD,
                             hs_load_u64(w->said->block->bytes + w->at));
}

/* Tells whether the word before is what the weak pointers to this object share: the two are a
 * QPointer. */
static bool is_qt_weak_pointer(const struct word *w)
{
    return !w->is_told && w->at >= WORD &&
           hs_dict_get(&w->said->flow->shared_counters,
                       hs_load_u64(w->said->block->bytes + w->at - WORD), 0) == address_of(w);
}

static bool is_number_beside_code(const struct word *w)
{
    return !w->is_told && w->at % (2 * (uint64_t)WORD) == 0;
}

/* Tells whether something surer leads to the target; what nothing surer has is owned by what there
 * is. */
static bool is_unwritten(const struct word *w)
{
    return w->at >= w->said->left_from && hs_slack_is_led_to(w->said->slack, w->target->rank);
}

static bool is_slack(const struct word *w)
{
    const struct hs_bitmap *own = &scan_of(w)->own;
    bool is_own = own->n_bits != 0 && hs_bitmap_get(own, w->said->block->rank);

    return hs_slack_is(w->said->slack, w->said->block, is_own, w->at, w->how, w->target->rank);
}

/* Tells whether a number of 32 bits may be written over the lower half of an address that stood
 * there before. Of the upper half alone it then depends where the word leads: a small number leads
 * into the block that the 4 GiB begin in, any number does so into one that has much of them. */
static bool is_overwritten_half(const struct word *w)
{
    if (w->is_told || w->how != HS_POINTER_INTERIOR)
        return false;
    uint64_t offset = hs_flow_offset(w->said->native, address_of(w), w->target);
    uint64_t low = (w->target->begin + offset) & UINT32_MAX;
    uint64_t before = offset < low ? offset : low;
    uint64_t above = UINT64_C(1) + UINT32_MAX - low, rest = w->target->n_bytes - offset;
    uint64_t behind = rest < above ? rest : above;

    return offset >= HALF_HEAD_BYTES &&
           ((low < HALF_SMALL && offset > low) || before + behind >= HALF_MUCH);
}

/* Tells whether a word from outside leads into a heap that is not read: its collector keeps what is
 * there. */
static bool is_into_unread(const struct word *w)
{
    const struct hs_native *native = scan_of(w)->native;

    return hs_native_is_foreign(native, w->target) &&
           (w->said->block == NULL || !hs_native_is_foreign(native, w->said->block));
}

static bool is_end(const struct word *w)
{
    struct hs_heap_block before;

    return hs_said_is_end(w->said, w->at, w->how, w->target, &before);
}

static bool is_list_head(const struct word *w)
{
    return hs_heads_is(w->said->native, w->said->block, w->at, w->target);
}

/* Tells whether the word leads to what is inside a node, an array or a counted block that a
 * container frees as a whole. */
static bool is_element(const struct word *w)
{
    return w->how == HS_POINTER_INTERIOR && hs_elements_is(w->said, w->at, w->slot, w->target);
}

/* Tells whether a smart pointer that is not this word is the only owner of the target. */
static bool has_sole_owner(const struct word *w)
{
    return hs_bitmap_get(&w->said->flow->sole, w->target->rank) &&
           (w->slot == NULL || !w->slot->is_owned || w->slot->n_choices != 0);
}

static bool is_owned_elsewhere(const struct word *w)
{
    return hs_owned_is_borrowed(scan_of(w), w->said->block, w->target);
}

static bool is_programs(const struct word *w)
{
    return hs_bitmap_get(&scan_of(w)->own, w->target->rank);
}

/* Tells whether the word is a visitor's for what lasts longer (visits.h). Words of the program's
 * own memory of which no type tells are left: what was erased of its type may own. */
static bool is_visit(const struct word *w)
{
    const struct hs_scan *scan = scan_of(w);
    bool is_opaque = !hs_bitmap_get(&scan->own, w->said->block->rank);

    return !hs_bitmap_get(&scan->visits, w->target->rank) &&
           (is_opaque || hs_said_is_plain(w->said, w->at));
}

static bool is_named(const struct word *w)
{
    const struct hs_scan *scan = scan_of(w);

    return (scan->named != NULL && hs_bitmap_get(scan->named, w->target->rank)) ||
           (w->said->is_unknown && hs_bitmap_get(&scan->below_names, w->target->rank));
}

/* Tells whether the target is a part of a Python object: the items of a list and the like belong to
 * that, and only Python objects lead there; what looks like it in memory of C was left by what used
 * that before. */
static bool is_part(const struct word *w)
{
    return scan_of(w)->interpreter.model->is_part(scan_of(w)->interpreter.state, w->target);
}

static bool is_task(const struct word *w)
{
    return hs_native_is_task(&scan_of(w)->native->tasks, w->target->rank);
}

static bool is_past_end(const struct word *w)
{
    return w->how == HS_POINTER_PAST_END;
}

/* ---- the table */

/* Tells whether the rule holds. A switch, so that the compiler may put the judges in place. */
static inline bool rule_holds(enum hs_rule_place rule, const struct word *w)
{
#define RULE(symbol, edge_class, judge) \
    case HS_RULE_AT_##symbol:           \
        return judge(w);
    switch (rule) {
#include "verdict.def"
    case HS_N_RULES:
        break;
    }
#undef RULE
    return false;
}

static const struct hs_word_verdict verdicts[HS_N_RULES] = {
#define RULE(symbol, edge_class, judge) {edge_class, HS_REASON_##symbol},
#include "verdict.def"
#undef RULE
};

uint32_t hs_verdict_without(uint64_t off)
{
    uint32_t rules = HS_RULES_ALL;

    for (unsigned i = 0; i < HS_N_RULES; i++)
        if ((off >> verdicts[i].reason & 1) != 0)
            rules &= ~(UINT32_C(1) << i);
    return rules;
}

static inline uint32_t rule_if(bool may_hold, enum hs_rule_place rule)
{
    return (uint32_t)may_hold << rule;
}

/* Returns the rules that can hold by what the types of a block say; an object whose pointers are
 * all known has none. */
static uint32_t rules_of_type(const struct hs_said *said)
{
    const struct hs_native_type *type = said->type;
    const struct hs_flow *flow = said->flow;
    bool is_array = type != NULL && type->is_array;
    bool has_slots = type != NULL && !type->is_plain;

    return rule_if(flow->owned_alone.n_bits != 0 && !hs_flow_owns_alone(flow, said->block),
                   HS_RULE_AT_QT_PARENT) |
           rule_if(said->other_words != 0, HS_RULE_AT_BACK_REFERENCE) |
           rule_if(said->use.is_said || said->tail != NULL, HS_RULE_AT_SPARE_CAPACITY) |
           rule_if(said->table.control != NULL || (is_array && said->listed.is_any),
                   HS_RULE_AT_EMPTY_BUCKET) |
           rule_if(has_slots && said->sure_end != UINT64_MAX, HS_RULE_AT_SIZE_ALONE) |
           rule_if(has_slots || said->find_by != 0, HS_RULE_AT_WEAK_POINTER) |
           rule_if(has_slots, HS_RULE_AT_INACTIVE_ALTERNATIVE) |
           rule_if(has_slots, HS_RULE_AT_UNSURE_UNION) |
           rule_if(type != NULL, HS_RULE_AT_NO_POINTER) |
           rule_if(is_array && type->n_bytes == WORD && !said->use.is_said, HS_RULE_AT_STALE) |
           rule_if(has_slots && said->has_rest, HS_RULE_AT_ALLOCATOR_PADDING) |
           rule_if(said->left_from != UINT64_MAX, HS_RULE_AT_UNWRITTEN) |
           rule_if(type == NULL && hs_slack_has(said->block), HS_RULE_AT_SLACK_WORD);
}

/* Returns the rules that can hold by what is known of whole blocks, whoever leads to them. */
static uint32_t rules_of_target(const struct hs_scan *scan)
{
    return rule_if(scan->entries.n_bits != 0, HS_RULE_AT_OWNED_ELSEWHERE) |
           rule_if(scan->named != NULL, HS_RULE_AT_PYTHON_NAMED) |
           rule_if(scan->native->foreign.ranges.n != 0, HS_RULE_AT_UNREAD_HEAP) |
           rule_if(scan->native->tasks.n_tasks != 0, HS_RULE_AT_TOKIO_TASK) | HS_RULE_BIT(PAST_END);
}

uint32_t hs_verdict_rules(const struct hs_said *said, uint32_t among)
{
    const struct hs_scan *scan = said->scan;
    const struct hs_object_words *words = &said->words;
    const struct hs_object_model *model = scan->interpreter.model;

    uint32_t rules = rules_of_target(scan) | HS_RULE_BIT(OVERWRITTEN_HALF);
    rules |= rule_if(words->weak != 0 && !said->is_record, HS_RULE_AT_WEAK_REFERENCE) |
             rule_if(said->is_record, HS_RULE_AT_RUNTIME_RECORD) |
             rule_if(words->doubtful != 0, HS_RULE_AT_LIST_LINK) |
             rule_if(words->cleared != 0, HS_RULE_AT_WEAK_POINTER) |
             rule_if(words->guessed_from != 0, HS_RULE_AT_LEFT_BEHIND) |
             rule_if(words->is_plain, HS_RULE_AT_NO_POINTER) |
             rule_if(said->flow->shared_counters.n != 0, HS_RULE_AT_QT_WEAK_POINTER) |
             rule_if(said->are_pairs, HS_RULE_AT_NUMBER_BESIDE_CODE) |
             rule_if(!words->is_exact && !words->is_plain, HS_RULE_AT_END_POINTER) |
             rule_if(!words->is_exact && !words->is_plain, HS_RULE_AT_LIST_HEAD) |
             rule_if(!words->is_exact && !words->is_plain, HS_RULE_AT_CONTAINER_ELEMENT) |
             rule_if(said->flow->sole.n_bits != 0 && !words->is_exact, HS_RULE_AT_SOLE_OWNER) |
             rule_if(scan->own.n_bits != 0 && !hs_bitmap_get(&scan->own, said->block->rank),
                     HS_RULE_AT_OPAQUE_LIBRARY) |
             rule_if(hs_visits_has(&scan->visits, said->block), HS_RULE_AT_VISITOR) |
             rule_if(said->is_unknown, HS_RULE_AT_PYTHON_NAMED) |
             rule_if(!said->is_object && model != NULL && model->is_part != NULL,
                     HS_RULE_AT_PYTHON_PART);
    if (!words->is_exact)
        rules |= rules_of_type(said);
    return rules & among & scan->rules;
}

static struct hs_word_verdict ask(const struct word *w, uint32_t rules)
{
    for (uint32_t left = rules; left != 0; left &= left - 1) {
        unsigned rule = (unsigned)__builtin_ctz(left);
        if (!rule_holds((enum hs_rule_place)rule, w))
            continue;
        struct hs_word_verdict verdict = verdicts[rule];
        if (rule == HS_RULE_AT_WEAK_POINTER)
            verdict.reason = hs_native_line(w->said->native, HS_REASON_WEAK_POINTER,
                                            w->slot != NULL && w->slot->is_weak ? w->slot->weak_by
                                                                                : w->said->find_by);
        return verdict;
    }
    /* One past the end, where that rule is switched off, is taken to be inside. */
    return (struct hs_word_verdict){.edge_class = w->how == HS_POINTER_START ? HS_EDGE_EXACT
                                                                             : HS_EDGE_INTERIOR};
}

struct hs_word_verdict hs_verdict_of(const struct hs_said *said, uint64_t at, enum hs_pointer how,
                                     const struct hs_heap_block *target)
{
    struct word w = {.said = said, .target = target, .at = at, .how = how};

    place(&w);
    return ask(&w, said->rules);
}

struct hs_word_verdict hs_verdict_of_packed(const struct hs_scan *scan,
                                            const struct hs_heap_block *block, enum hs_pointer how,
                                            const struct hs_heap_block *target)
{
    const struct hs_said said = {.scan = scan, .block = block};
    const struct word w = {.said = &said, .target = target, .how = how};

    return ask(&w, rules_of_target(scan) & scan->rules);
}

struct hs_word_verdict hs_verdict_of_edge(const struct hs_scan *scan,
                                          const struct hs_heap_block *target)
{
    const struct hs_said said = {.scan = scan};
    const struct word w = {.said = &said, .target = target, .how = HS_POINTER_START};

    return ask(&w, rules_of_target(scan) & HS_RULES_OF_NAMES & scan->rules);
}
