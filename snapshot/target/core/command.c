/* The whole command line of a core. Its note has the first 79 bytes; all of it stands where the
 * kernel put it at the start, on the stack, below the auxiliary vector:
 *
 *   argc | argv[0] .. argv[argc-1] | 0 | environment .. | 0 | auxiliary vector .. | strings
 *
 * The vector is found by its entry AT_PHDR, whose value the core's notes repeat. What does not fit
 * leaves the note's text as it is. Source: create_elf_tables in fs/binfmt_elf.c. */
#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "core_private.h"

enum { COMMAND_BYTES = 4096, COMMAND_STRINGS = 1 << 16 };
/* Strings above the vector are at most a quarter of a stack of 8 MiB (fs/exec.c, _STK_LIM / 4 * 3);
 * pointers to them come on top. */
#define COMMAND_STACK_BYTES ((uint64_t)8 << 20)
#define COMMAND_WORD ((uint64_t)8)

struct command_stack {
    const struct hs_target *target;
    hs_addr begin, end;
};

static bool command_word(const struct command_stack *stack, hs_addr at, uint64_t *ret)
{
    uint8_t bytes[COMMAND_WORD];

    if (at < stack->begin || at > stack->end - COMMAND_WORD ||
        hs_core_own_bytes(stack->target->core, at, bytes, sizeof bytes) != sizeof bytes)
        return false;
    struct hs_cursor c = hs_cursor_make(bytes, sizeof bytes);
    *ret = hs_cursor_u64(&c);
    return true;
}

/* The address of the vector's entry AT_PHDR; 0 when it is not there. From the end down, block by
 * block. */
static hs_addr command_find_phdr(const struct command_stack *stack)
{
    struct hs_core *core = stack->target->core;
    const uint64_t entry[2] = {AT_PHDR, core->auxv.phdr};
    const size_t step = HS_CORE_BUFFER_BYTES - sizeof entry;
    hs_addr high = stack->end;

    while (high > stack->begin) {
        hs_addr low = high - stack->begin > step ? high - step : stack->begin;
        size_t n = (size_t)(high - low) + sizeof entry;
        if (n > stack->end - low)
            n = (size_t)(stack->end - low);
        if (hs_core_own_bytes(core, low, core->buffer, n) != n)
            return 0;
        for (size_t i = n < sizeof entry ? 0 : (n - sizeof entry) / COMMAND_WORD + 1; i-- > 0;)
            if (memcmp(core->buffer + i * COMMAND_WORD, entry, sizeof entry) == 0)
                return low + i * COMMAND_WORD;
        high = low;
    }
    return 0;
}

/* From the vector down to the number of arguments: it equals that of the words passed since the
 * last zero. */
static bool command_find_arguments(const struct command_stack *stack, hs_addr vector,
                                   hs_addr *ret_argv, uint64_t *ret_n)
{
    unsigned n_zeros = 0;
    uint64_t word, n = 0;
    hs_addr at = vector;

    for (unsigned i = 0; i < COMMAND_STRINGS && n_zeros < 2; i++) {
        at -= COMMAND_WORD;
        if (!command_word(stack, at, &word))
            return false;
        n_zeros += word == 0;
    }
    for (; n < COMMAND_STRINGS; n++) {
        at -= COMMAND_WORD;
        if (!command_word(stack, at, &word))
            return false;
        if (word == n && n != 0) {
            *ret_argv = at + COMMAND_WORD;
            *ret_n = n;
            return true;
        }
    }
    return false;
}

/* The strings stand one behind the other; those that the program moved elsewhere end the text. */
static size_t command_text(const struct command_stack *stack, hs_addr argv, uint64_t n, char *text)
{
    size_t n_text = 0;
    hs_addr first, next;

    if (!command_word(stack, argv, &first))
        return 0;
    next = first;
    size_t n_there =
        hs_core_own_bytes(stack->target->core, first, text,
                          first < stack->begin || first >= stack->end ? 0
                          : stack->end - first < COMMAND_BYTES        ? (size_t)(stack->end - first)
                                                                      : COMMAND_BYTES);
    for (uint64_t i = 0; i < n; i++) {
        hs_addr at;
        if (!command_word(stack, argv + i * COMMAND_WORD, &at) || at != next || n_text >= n_there)
            break;
        n_text += strnlen(text + n_text, n_there - n_text) + 1;
        next = first + n_text;
    }
    return n_text < n_there ? n_text : n_there;
}

static void command_clean(char *text, size_t n)
{
    while (n > 0 && (text[n - 1] == '\0' || text[n - 1] == ' '))
        n--;
    text[n] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\0')
            text[i] = ' ';
        else if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
    }
}

static size_t command_words(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == ' ';
    return n;
}

hs_status hs_core_take_command(struct hs_target *target, struct hs_error *err)
{
    struct hs_core *core = target->core;
    const struct hs_mapping *m = hs_target_mapping_at(target, core->auxv.random);
    struct command_stack stack = {.target = target};
    char text[COMMAND_BYTES + 1], *command;
    hs_addr argv;
    uint64_t n;

    if (m == NULL || core->auxv.phdr == 0 || m->inode != 0)
        return HS_OK;
    stack.begin = m->end - m->begin > COMMAND_STACK_BYTES ? m->end - COMMAND_STACK_BYTES : m->begin;
    stack.end = m->end;
    hs_addr phdr = command_find_phdr(&stack);
    if (phdr == 0)
        return HS_OK;
    /* Entries before AT_PHDR: keys are small and no pointers. */
    hs_addr vector = phdr;
    for (uint64_t key; vector - stack.begin >= 2 * COMMAND_WORD &&
                       command_word(&stack, vector - 2 * COMMAND_WORD, &key) && key != 0 &&
                       key < COMMAND_BYTES;)
        vector -= 2 * COMMAND_WORD;
    if (!command_find_arguments(&stack, vector, &argv, &n))
        return HS_OK;
    size_t n_text = command_text(&stack, argv, n, text);
    command_clean(text, n_text);
    if (text[0] == '\0' || command_words(text) < command_words(target->command))
        return HS_OK; /* moved about since: ld.so does so with the words of what it runs */
    HS_TRY(hs_strdup(text, &command, err));
    hs_free(target->command);
    target->command = command;
    return HS_OK;
}
