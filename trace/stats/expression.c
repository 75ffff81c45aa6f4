/* An expression's text to its program, in one pass and without recursion: the text of a group is
 * behind it when its ) comes, so an operator finds what it works on at the end of the program and
 * moves it up to put its own instruction before. Distances are relative, so pieces can be moved and
 * copied. */
#include "expression.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"

/* The messages as the C library says them. */
static const char why_parenthesis[] = "Unmatched ( or \\(";
static const char why_bracket[] = "Unmatched [, [^, [:, [., or [=";
static const char why_repeat[] = "Invalid preceding regular expression";
static const char why_count[] = "Invalid content of \\{\\}";
static const char why_brace[] = "Unmatched \\{";
static const char why_backslash[] = "Trailing backslash";
static const char why_range[] = "Invalid range end";
static const char why_class[] = "Invalid character class name";
static const char why_collation[] = "Invalid collation character";
static const char why_large[] = "Regular expression too big";

enum { MAX_GROUPS = 256, OPEN_COUNT = -1 };

/* An open ( or the whole. */
struct group {
    size_t begin;  /* where its program begins */
    size_t branch; /* where that of its last alternative does */
    size_t jump;   /* last JUMP to its end, linked by their operands; 0: none */
};

struct compiler {
    struct hs_expression *made;
    const uint8_t *at;
    const char *why;
    struct group groups[MAX_GROUPS];
    size_t n_groups; /* open ones, without the whole */
    size_t atom;     /* where what an operator would repeat begins */
    bool has_atom;
    struct hs_error *err;
};

static bool wrong(struct compiler *c, const char *why)
{
    c->why = why;
    return false;
}

static bool make_room(struct compiler *c, size_t n)
{
    struct hs_expression *e = c->made;
    if (n > HS_EXPRESSION_MAX_STATES - e->n_steps)
        return wrong(c, why_large);
    return HS_GROW(&e->program, &e->steps_capacity, e->n_steps + n, c->err) == HS_OK;
}

static bool emit(struct compiler *c, enum expression_op op, int32_t operand)
{
    if (!make_room(c, 1))
        return false;
    c->made->program[c->made->n_steps++] = (struct expression_step){(uint8_t)op, operand};
    return true;
}

static bool emit_atom(struct compiler *c, enum expression_op op, int32_t operand)
{
    c->atom = c->made->n_steps;
    c->has_atom = true;
    return emit(c, op, operand);
}

/* An instruction before all from `at` on. */
static bool insert(struct compiler *c, size_t at, enum expression_op op, int32_t operand)
{
    if (!make_room(c, 1))
        return false;
    struct expression_step *program = c->made->program;
    memmove(program + at + 1, program + at, (c->made->n_steps++ - at) * sizeof *program);
    program[at] = (struct expression_step){(uint8_t)op, operand};
    return true;
}

static bool emit_set(struct compiler *c, const struct expression_set *set)
{
    struct hs_expression *e = c->made;
    if (HS_GROW(&e->sets, &e->sets_capacity, e->n_sets + 1, c->err) != HS_OK)
        return false;
    e->sets[e->n_sets] = *set;
    return emit_atom(c, EXPRESSION_SET, (int32_t)e->n_sets++);
}

/* ---- sets ---- */

static void set_add(struct expression_set *set, unsigned byte)
{
    set->bits[byte / 64] |= UINT64_C(1) << byte % 64;
}

static void set_invert(struct expression_set *set)
{
    for (size_t i = 0; i < 4; i++)
        set->bits[i] = ~set->bits[i];
    set->bits[0] &= ~UINT64_C(1); /* a text has no NUL */
}

static const struct {
    const char *name;
    int (*has)(int);
} classes[] = {
    {"alpha", isalpha}, {"digit", isdigit}, {"alnum", isalnum}, {"upper", isupper},
    {"lower", islower}, {"space", isspace}, {"blank", isblank}, {"punct", ispunct},
    {"print", isprint}, {"graph", isgraph}, {"cntrl", iscntrl}, {"xdigit", isxdigit},
};

static bool set_add_class(struct compiler *c, struct expression_set *set, const uint8_t *name,
                          size_t n)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strlen(classes[i].name) != n || memcmp(classes[i].name, name, n) != 0)
            continue;
        for (unsigned byte = 1; byte < 128; byte++)
            if (classes[i].has((int)byte))
                set_add(set, byte);
        return true;
    }
    return wrong(c, why_class);
}

static void set_add_words(struct expression_set *set)
{
    for (unsigned byte = 1; byte < 256; byte++)
        if (hs_expression_is_word_((uint8_t)byte))
            set_add(set, byte);
}

/* Compiles [.x.] or [=x=] at `at`, which is its second byte: one character. */
static bool bracket_named(struct compiler *c, uint8_t *ret)
{
    uint8_t kind = c->at[1];
    if (c->at[2] == 0 || c->at[3] == 0)
        return wrong(c, why_bracket);
    if (c->at[3] != kind || c->at[4] != ']')
        return wrong(c, why_collation);
    *ret = c->at[2];
    c->at += 5;
    return true;
}

/* Compiles one end of a range. */
static bool bracket_end(struct compiler *c, uint8_t *ret)
{
    if (*c->at == 0)
        return wrong(c, why_bracket);
    if (c->at[0] == '[' && (c->at[1] == '.' || c->at[1] == '='))
        return bracket_named(c, ret);
    *ret = *c->at++;
    return true;
}

/* Compiles [:alpha:], one byte or a range. */
static bool bracket_item(struct compiler *c, struct expression_set *set)
{
    uint8_t low, high;
    if (c->at[0] == '[' && c->at[1] == ':') {
        const uint8_t *name = c->at + 2;
        const char *end = strstr((const char *)name, ":]");
        if (end == NULL)
            return wrong(c, why_bracket);
        c->at = (const uint8_t *)end + 2;
        return set_add_class(c, set, name, (size_t)((const uint8_t *)end - name));
    }
    if (!bracket_end(c, &low))
        return false;
    high = low;
    if (c->at[0] == '-' && c->at[1] != ']' && c->at[1] != 0) {
        c->at++;
        if (c->at[0] == '[' && c->at[1] == ':')
            return wrong(c, why_range);
        if (!bracket_end(c, &high))
            return false;
    }
    if (low > high)
        return wrong(c, why_range);
    for (unsigned byte = low; byte <= high; byte++)
        set_add(set, byte);
    return true;
}

/* Compiles what is behind the [. */
static bool take_bracket(struct compiler *c)
{
    struct expression_set set = {{0}};
    bool is_inverted = *c->at == '^', is_first = true;
    c->at += is_inverted;
    while (is_first || *c->at != ']') {
        if (*c->at == 0)
            return wrong(c, why_bracket);
        if (!bracket_item(c, &set))
            return false;
        is_first = false;
    }
    c->at++;
    if (is_inverted)
        set_invert(&set);
    return emit_set(c, &set);
}

/* ---- atoms ---- */

static bool emit_anchor(struct compiler *c, enum expression_op op)
{
    c->has_atom = false; /* not to be repeated */
    return emit(c, op, 0);
}

static bool take_class(struct compiler *c, uint8_t letter)
{
    struct expression_set set = {{0}};
    if (letter == 'w' || letter == 'W')
        set_add_words(&set);
    else
        (void)set_add_class(c, &set, (const uint8_t *)"space", 5);
    if (letter == 'W' || letter == 'S')
        set_invert(&set);
    return emit_set(c, &set);
}

static bool take_escape(struct compiler *c)
{
    uint8_t letter = *c->at;
    if (letter == 0)
        return wrong(c, why_backslash);
    c->at++;
    switch (letter) {
    case 'w':
    case 'W':
    case 's':
    case 'S':
        return take_class(c, letter);
    case 'b':
        return emit_anchor(c, EXPRESSION_WORD_EDGE);
    case 'B':
        return emit_anchor(c, EXPRESSION_NO_WORD_EDGE);
    case '<':
        return emit_anchor(c, EXPRESSION_WORD_BEGIN);
    case '>':
        return emit_anchor(c, EXPRESSION_WORD_END);
    case '`':
        return emit_anchor(c, EXPRESSION_BEGIN);
    case '\'':
        return emit_anchor(c, EXPRESSION_END);
    default:
        return emit_atom(c, EXPRESSION_BYTE, letter);
    }
}

static bool group_open(struct compiler *c)
{
    if (++c->n_groups == MAX_GROUPS)
        return wrong(c, why_large);
    size_t begin = c->made->n_steps;
    c->groups[c->n_groups] = (struct group){begin, begin, 0};
    c->has_atom = false;
    return true;
}

/* The next alternative of the innermost group. */
static bool group_branch(struct compiler *c)
{
    struct group *group = &c->groups[c->n_groups];
    size_t n = c->made->n_steps - group->branch;
    if (!insert(c, group->branch, EXPRESSION_SPLIT, (int32_t)n + 2) ||
        !emit(c, EXPRESSION_JUMP, (int32_t)group->jump))
        return false;
    group->jump = c->made->n_steps - 1;
    group->branch = c->made->n_steps;
    c->has_atom = false;
    return true;
}

static void group_close(struct compiler *c)
{
    struct group *group = &c->groups[c->n_groups];
    size_t jump = group->jump;
    while (jump != 0) {
        struct expression_step *step = &c->made->program[jump];
        size_t before = (size_t)step->operand;
        step->operand = (int32_t)(c->made->n_steps - jump);
        jump = before;
    }
    c->atom = group->begin;
    c->has_atom = true;
}

/* ---- repetition ---- */

/* A number of {n,m}; OPEN_COUNT when there is none. */
static int32_t count_read(struct compiler *c)
{
    int32_t n = isdigit(*c->at) ? 0 : OPEN_COUNT;
    for (; isdigit(*c->at); c->at++)
        if (n <= HS_EXPRESSION_MAX_COUNT)
            n = n * 10 + (*c->at - '0');
    return n;
}

/* Reads what is behind the {: "3}", "3,}", "3,5}", ",5}". */
static bool counts_read(struct compiler *c, int32_t *ret_low, int32_t *ret_high)
{
    int32_t low = count_read(c), high = low;
    if (*c->at == ',') {
        c->at++;
        high = count_read(c);
        low = low == OPEN_COUNT ? 0 : low;
    } else if (low == OPEN_COUNT) {
        return wrong(c, *c->at == 0 ? why_brace : why_count);
    }
    if (*c->at != '}')
        return wrong(c, *c->at == 0 ? why_brace : why_count);
    c->at++;
    if ((high != OPEN_COUNT && low > high) || low > HS_EXPRESSION_MAX_COUNT)
        return wrong(c, why_count);
    if (high > HS_EXPRESSION_MAX_COUNT)
        return wrong(c, why_large);
    *ret_low = low;
    *ret_high = high;
    return true;
}

/* Compiles x* of the last n instructions, whatever they are. */
static bool repeat_any(struct compiler *c, size_t n)
{
    return insert(c, c->made->n_steps - n, EXPRESSION_SPLIT, (int32_t)n + 2) &&
           emit(c, EXPRESSION_JUMP, -(int32_t)n - 1);
}

static bool repeat_maybe(struct compiler *c, size_t n)
{
    return insert(c, c->made->n_steps - n, EXPRESSION_SPLIT, (int32_t)n + 1);
}

static bool repeat_often(struct compiler *c, size_t n)
{
    return emit(c, EXPRESSION_SPLIT, -(int32_t)n);
}

/* Adds one more copy of `atom`, which stands n long at its place. */
static bool repeat_copy(struct compiler *c, const struct expression_step *atom, size_t n)
{
    if (!make_room(c, n))
        return false;
    memcpy(c->made->program + c->made->n_steps, atom, n * sizeof *atom);
    c->made->n_steps += n;
    return true;
}

/* Compiles x{low,high} as x..x and then x* or x?..x?. */
static bool repeat_counted(struct compiler *c, int32_t low, int32_t high)
{
    size_t n = c->made->n_steps - c->atom;
    hs_auto_free struct expression_step *atom = NULL;
    if (n == 0) /* "()" as often as you like is nothing; there may be no program yet */
        return true;
    if (HS_ALLOC(&atom, n + 1, c->err) != HS_OK)
        return false;
    memcpy(atom, c->made->program + c->atom, n * sizeof *atom);
    c->made->n_steps = c->atom;
    for (int32_t i = 0; i < low; i++)
        if (!repeat_copy(c, atom, n))
            return false;
    if (high == OPEN_COUNT)
        return repeat_copy(c, atom, n) && repeat_any(c, n);
    for (int32_t i = low; i < high; i++)
        if (!repeat_copy(c, atom, n) || !repeat_maybe(c, n))
            return false;
    return true;
}

static bool take_repeat(struct compiler *c, uint8_t operator)
{
    int32_t low, high;
    if (!c->has_atom)
        return wrong(c, why_repeat);
    size_t n = c->made->n_steps - c->atom;
    if (operator== '*')
        return repeat_any(c, n);
    if (operator== '+')
        return repeat_often(c, n);
    if (operator== '?')
        return repeat_maybe(c, n);
    return counts_read(c, &low, &high) && repeat_counted(c, low, high);
}

/* ---- all of it ---- */

static bool take(struct compiler *c)
{
    uint8_t byte = *c->at++;
    switch (byte) {
    case '(':
        return group_open(c);
    case ')':
        if (c->n_groups == 0) /* then it is no more than itself */
            return emit_atom(c, EXPRESSION_BYTE, byte);
        group_close(c);
        c->n_groups--;
        return true;
    case '|':
        return group_branch(c);
    case '*':
    case '+':
    case '?':
    case '{':
        return take_repeat(c, byte);
    case '[':
        return take_bracket(c);
    case '.':
        return emit_atom(c, EXPRESSION_ANY, 0);
    case '^':
        return emit_anchor(c, EXPRESSION_BEGIN);
    case '$':
        return emit_anchor(c, EXPRESSION_END);
    case '\\':
        return take_escape(c);
    default:
        return emit_atom(c, EXPRESSION_BYTE, byte);
    }
}

static bool compile(struct compiler *c)
{
    while (*c->at != 0)
        if (!take(c))
            return false;
    if (c->n_groups != 0)
        return wrong(c, why_parenthesis);
    group_close(c);
    return emit(c, EXPRESSION_MATCH, 0);
}

void hs_expression_free(struct hs_expression *expression)
{
    if (expression == NULL)
        return;
    hs_free(expression->program);
    hs_free(expression->sets);
    hs_free(expression->scratch);
    hs_free(expression);
}

hs_status hs_expression_new(const char *text, struct hs_expression **ret, const char **ret_why,
                            struct hs_error *err)
{
    hs_auto(hs_expression) *made = NULL;
    hs_auto_free struct compiler *c = NULL;
    *ret_why = NULL;
    HS_TRY(HS_ALLOC(&made, 1, err));
    HS_TRY(HS_ALLOC(&c, 1, err));
    c->made = made;
    c->at = (const uint8_t *)text;
    c->err = err;
    if (!compile(c)) {
        *ret_why = c->why;
        return c->why == NULL
                   ? HS_LIMIT
                   : hs_fail(err, HS_USAGE, "'%s' is no regular expression: %s", text, c->why);
    }
    HS_TRY(HS_ALLOC(&made->scratch, 4 * made->n_steps, err));
    *ret = HS_STEAL(made);
    return HS_OK;
}
