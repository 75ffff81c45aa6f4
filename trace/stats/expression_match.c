/* All states of an expression stepped together over a text. */
#include <string.h>

#include "expression.h"

bool hs_expression_is_word_(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || byte == '_';
}

/* States that stand before a byte, each once: place[s] is where it stands in `states`. What is
 * there need not be zero at first (P. Briggs, L. Torczon, 1993). */
struct state_list {
    uint32_t *states, *place;
    size_t n;
};

struct stepping {
    const struct hs_expression *expression;
    const uint8_t *text, *at;
};

static void list_add(struct state_list *list, uint32_t state)
{
    uint32_t place = list->place[state];
    if (place < list->n && list->states[place] == state)
        return;
    list->place[state] = (uint32_t)list->n;
    list->states[list->n++] = state;
}

static bool holds(const struct stepping *s, uint8_t op)
{
    bool before = s->at > s->text && hs_expression_is_word_(s->at[-1]);
    bool after = hs_expression_is_word_(*s->at); /* the end is none */
    switch (op) {
    case EXPRESSION_BEGIN:
        return s->at == s->text;
    case EXPRESSION_END:
        return *s->at == 0;
    case EXPRESSION_WORD_EDGE:
        return before != after;
    case EXPRESSION_NO_WORD_EDGE:
        return before == after;
    case EXPRESSION_WORD_BEGIN:
        return !before && after;
    default: /* EXPRESSION_WORD_END */
        return before && !after;
    }
}

/* Adds what the states lead to without a byte, to the end of the list; true at a match. */
static bool list_close(const struct stepping *s, struct state_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        uint32_t state = list->states[i];
        const struct expression_step *step = &s->expression->program[state];
        switch (step->op) {
        case EXPRESSION_MATCH:
            return true;
        case EXPRESSION_SPLIT:
            list_add(list, state + 1);
            list_add(list, (uint32_t)((int32_t)state + step->operand));
            break;
        case EXPRESSION_JUMP:
            list_add(list, (uint32_t)((int32_t)state + step->operand));
            break;
        case EXPRESSION_BYTE:
        case EXPRESSION_ANY:
        case EXPRESSION_SET:
            break;
        default:
            if (holds(s, step->op))
                list_add(list, state + 1);
            break;
        }
    }
    return false;
}

static bool eats(const struct hs_expression *expression, const struct expression_step *step,
                 uint8_t byte)
{
    if (step->op == EXPRESSION_BYTE)
        return step->operand == byte;
    if (step->op == EXPRESSION_SET)
        return (expression->sets[step->operand].bits[byte / 64] >> byte % 64 & 1) != 0;
    return step->op == EXPRESSION_ANY;
}

bool hs_expression_matches(const struct hs_expression *expression, const char *text)
{
    uint32_t *scratch = expression->scratch;
    size_t n = expression->n_steps;
    struct state_list now = {scratch, scratch + n, 0}, next = {scratch + 2 * n, scratch + 3 * n, 0};
    struct stepping s = {expression, (const uint8_t *)text, (const uint8_t *)text};
    for (;; s.at++) {
        list_add(&now, 0); /* a match may begin anywhere */
        if (list_close(&s, &now))
            return true;
        if (*s.at == 0)
            return false;
        for (size_t i = 0; i < now.n; i++)
            if (eats(expression, &expression->program[now.states[i]], *s.at))
                list_add(&next, now.states[i] + 1);
        struct state_list done = now;
        now = next;
        next = done;
        next.n = 0;
    }
}
