#include "borrowed.h"

#include <string.h>

#include "roots.h"
#include "rules/rules.h"

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Finds a record's name without scopes and template arguments: *ret is in `name`. Returns its
 * length. */
static size_t last_part(const char *name, const char **ret)
{
    size_t n = strcspn(name, "<"), from = n;

    while (from != 0 && name[from - 1] != ':')
        from--;
    *ret = name + from;
    return n - from;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t n_end = strlen(end);
    return n >= n_end && memcmp(text + n - n_end, end, n_end) == 0;
}

static bool is_reference(const char *name)
{
    size_t n = strlen(name);
    return name[0] == '&' || (n != 0 && name[n - 1] == '&');
}

static bool is_inside(const struct hs_native *native, uint64_t word)
{
    struct hs_heap_block block;
    enum hs_pointer how;
    return hs_native_resolve(native, word, &how, &block) && how != HS_POINTER_START;
}

/* Tells whether a rule has the record as non-owning, by its name; *ret_by is then the rule's
 * number. */
static bool is_borrower(const struct hs_native *native, const char *name, uint8_t *ret_by)
{
    const struct hs_rule *rule = hs_rules_type(native->dump->options->rules, HS_RULE_BORROWED,
                                               HS_RULE_CPP | HS_RULE_RUST, name);
    if (rule != NULL)
        *ret_by = rule->number;
    return rule != NULL;
}

/* Tells whether a plain pointer is borrowed: an argument, a variable of a call that is neither main
 * nor called by it, or one that leads into the middle of a block. */
static bool is_lent(const struct hs_native *native, const struct hs_native_frame_label *label,
                    const struct hs_local *local, uint64_t word)
{
    return local->is_argument || local->n_inlined >= label->n_outer || is_inside(native, word);
}

/* Tells whether a record is a container or smart pointer of a standard library, or is named like
 * one. */
static bool is_owner(const struct hs_ctype_facts *facts)
{
    const char *part;
    size_t n = last_part(facts->name, &part);

    return facts->may_free &&
           (begins_with(facts->name, "std::") || begins_with(facts->name, "core::") ||
            begins_with(facts->name, "alloc::") || ends_with(part, n, "ptr") ||
            ends_with(part, n, "Ptr") || ends_with(part, n, "Pointer"));
}

/* Tells whether a record is a smart pointer with a reference count, by its name. */
static bool is_counted(const char *name)
{
    static const char *const ends[] = {"shared_ptr",    "intrusive_ptr",     "refptr", "RefPtr",
                                       "SharedPointer", "SharedDataPointer", "Rc",     "Arc"};
    const char *part;
    size_t n = last_part(name, &part);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(part, n, ends[i]))
            return true;
    return false;
}

static bool is_mains(const struct hs_native_frame_label *label, const struct hs_local *local)
{
    return label->is_main && local->n_inlined == 0;
}

/* Classifies a variable of C++ or Rust that is no pointer itself: a reference in it, and all of a
 * guard or an iterator, is non-owning. A plain pointer in a record may be what owns. */
static enum hs_borrowed borrowed_within(const struct hs_native *native,
                                        const struct hs_native_frame_label *label,
                                        const struct hs_local *local, uint64_t offset,
                                        uint64_t word, uint8_t *ret_by)
{
    hs_ctype around[HS_CTYPE_MAX_AROUND];
    struct hs_ctype_facts facts = {0};
    bool is_whole;
    size_t n = hs_ctypes_around(native->ctypes, local->type, offset, around, &is_whole);
    bool owns = !is_whole, counts = false;

    for (size_t i = 0; i < n; i++) {
        hs_ctype_facts(native->ctypes, around[i], &facts);
        if (facts.kind == HS_CTYPE_RECORD && is_borrower(native, facts.name, ret_by))
            return HS_BORROWED;
        owns |= is_owner(&facts);
        counts |= is_counted(facts.name);
    }
    if (is_whole && is_reference(facts.name))
        return HS_BORROWED;
    if (owns)
        return counts && !is_mains(label, local) ? HS_SHARED : HS_OWNED;
    return is_lent(native, label, local, word) ? HS_MAYBE_OWNED : HS_SHARED;
}

enum hs_borrowed hs_native_borrowed(const struct hs_native *native,
                                    const struct hs_native_frame_label *label,
                                    const struct hs_local *local, uint64_t offset, uint64_t word,
                                    uint8_t *ret_by)
{
    struct hs_ctype_facts facts;
    *ret_by = 0;
    if (native->ctypes == NULL || local->type == 0)
        return HS_OWNED;
    hs_ctype_facts(native->ctypes, local->type, &facts);
    if (facts.kind == HS_CTYPE_RECORD && !label->is_c && is_borrower(native, facts.name, ret_by))
        return HS_BORROWED;
    if (facts.kind != HS_CTYPE_POINTER && !label->is_c)
        return borrowed_within(native, label, local, offset, word, ret_by);
    if (begins_with(facts.name, "alloc::boxed::Box<"))
        return HS_OWNED;
    return is_reference(facts.name) || is_lent(native, label, local, word) ? HS_BORROWED
                                                                           : HS_SHARED;
}

bool hs_native_owns_alone(const struct hs_native *native, hs_ctype type, uint64_t offset)
{
    hs_ctype around[HS_CTYPE_MAX_AROUND];
    struct hs_ctype_facts facts;
    bool is_whole, owns = false;
    uint8_t depth;

    if (native->ctypes == NULL || type == 0)
        return false;
    if (hs_native_owning(native, type, offset, &depth) == HS_OWNING_ALONE)
        return true;
    size_t n = hs_ctypes_around(native->ctypes, type, offset, around, &is_whole);
    for (size_t i = 0; i < n; i++) {
        hs_ctype_facts(native->ctypes, around[i], &facts);
        if (is_counted(facts.name))
            return false;
        owns |= is_owner(&facts);
    }
    return owns;
}

/* Returns the ownership that the rules give a type of Rust with this name. */
static enum hs_owning owning_by_rule(const struct hs_native *native, const char *name)
{
    static const struct {
        enum hs_rule_kind kind;
        enum hs_owning owning;
    } said[] = {{HS_RULE_ONE_OWNER, HS_OWNING_ALONE},
                {HS_RULE_COUNTED, HS_OWNING_COUNTED},
                {HS_RULE_SENDERS, HS_OWNING_SENDER},
                {HS_RULE_RECEIVERS, HS_OWNING_RECEIVER}};

    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (hs_rules_type(native->dump->options->rules, said[i].kind, HS_RULE_RUST, name) != NULL)
            return said[i].owning;
    return HS_OWNING_NOT;
}

enum hs_owning hs_native_owning(const struct hs_native *native, hs_ctype type, uint64_t offset,
                                uint8_t *ret_depth)
{
    hs_ctype around[HS_CTYPE_MAX_AROUND];
    struct hs_ctype_facts facts;
    bool is_whole;
    *ret_depth = 0;
    if (native->ctypes == NULL || type == 0)
        return HS_OWNING_NOT;
    size_t n = hs_ctypes_around(native->ctypes, type, offset, around, &is_whole);
    *ret_depth = (uint8_t)n;
    for (size_t i = n; i > 0; i--) { /* the innermost tells */
        hs_ctype_facts(native->ctypes, around[i - 1], &facts);
        enum hs_owning owning = owning_by_rule(native, facts.name);
        if (owning != HS_OWNING_NOT)
            return owning;
        if (facts.kind == HS_CTYPE_POINTER && is_reference(facts.name))
            return HS_OWNING_NOT;
    }
    return HS_OWNING_NOT;
}
