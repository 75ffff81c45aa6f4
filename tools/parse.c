/* The command line, read against the option table. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/append.h"
#include "base/parts.h"
#include "base/units.h"
#include "options.h"

const struct hs_command *hs_find_command(const char *name)
{
    for (size_t i = 0; i < hs_n_commands; i++)
        if (strcmp(hs_commands[i].name, name) == 0)
            return &hs_commands[i];
    return NULL;
}

int hs_choice_at(const char *choices, const char *text, size_t n_bytes)
{
    const char *choice = choices;
    for (int number = 0; *choice != 0; number++) {
        size_t n = strcspn(choice, "|");
        if (n == n_bytes && memcmp(choice, text, n) == 0)
            return number;
        choice += n + (choice[n] == '|');
    }
    return -1;
}

uint64_t hs_choices_given(const struct hs_invocation *invocation, enum hs_option_id id)
{
    uint64_t bits = 0;
    if (!hs_given(invocation, id))
        return UINT64_MAX;
    for (const char *at = invocation->text[id];;) {
        size_t n = strcspn(at, ",");
        int choice = hs_choice_at(hs_options[id].choices, at, n);
        bits |= choice >= 0 ? (uint64_t)1 << choice : 0;
        if (at[n] == 0)
            return bits;
        at += n + 1;
    }
}

static const char *command_name(const void *context, size_t at)
{
    (void)context;
    return hs_commands[at].name;
}

static const char *option_name(const void *context, size_t at)
{
    const struct hs_command *command = context;
    return hs_takes(command, (int)at) ? hs_options[at].name : NULL;
}

bool hs_is_missing_command(const char *name, struct hs_error *err)
{
    static const struct {
        const char *name, *part, *with, *packages;
    } missing[] = {
#define MISSING(name, part, with, packages) {name, part, with, packages},
        HS_MISSING_COMMANDS(MISSING)
#undef MISSING
            {NULL, NULL, NULL, NULL}};

    for (size_t i = 0; missing[i].name != NULL; i++) {
        if (strcmp(missing[i].name, name) != 0)
            continue;
        bool needs = missing[i].packages[0] != '\0';
        (void)hs_fail(err, HS_USAGE, "cannot run '%s': this heapsnap was built without the part %s",
                      name, missing[i].part);
        (void)hs_hint(err, "build it with -D%s=ON%s%s%s", missing[i].with, needs ? " (" : "",
                      missing[i].packages, needs ? ")" : "");
        return true;
    }
    return false;
}

static hs_status unknown_command(const char *word, struct hs_error *err)
{
    if (hs_is_missing_command(word, err))
        return HS_USAGE;
    const char *near = hs_nearest(word, command_name, NULL, hs_n_commands);
    hs_status status = hs_fail(err, HS_USAGE, "unknown command '%s'", word);
    if (near != NULL)
        return hs_hint(err, "did you mean 'heapsnap %s'?", near);
    (void)hs_hint(err, "'heapsnap help' lists the commands");
    return status;
}

static hs_status unknown_option(const struct hs_command *command, const char *word, size_t n,
                                struct hs_error *err)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), word);
    hs_status status = hs_fail(err, HS_USAGE, "unknown option '--%s' of '%s'", name, command->name);
    const char *near = hs_nearest(name, option_name, command, HS_N_OPTIONS);
    if (near != NULL)
        return hs_hint(err, "did you mean '--%s'?", near);
    (void)hs_hint(err, "'heapsnap %s -h' lists its options", command->name);
    return status;
}

static int find_long(const struct hs_command *command, const char *word, size_t n)
{
    for (int id = 0; id < HS_N_OPTIONS; id++)
        if (hs_takes(command, id) && strlen(hs_options[id].name) == n &&
            memcmp(hs_options[id].name, word, n) == 0)
            return id;
    return -1;
}

static int find_letter(const struct hs_command *command, char letter)
{
    for (int id = 0; id < HS_N_OPTIONS; id++)
        if (hs_takes(command, id) && hs_options[id].letter == letter)
            return id;
    return -1;
}

static hs_status check_choices(const struct hs_option *option, const char *text,
                               struct hs_error *err)
{
    bool is_list = option->kind == HS_OPTION_CHOICES;
    const char *at = text;
    for (;;) {
        size_t n = is_list ? strcspn(at, ",") : strlen(at);
        if (hs_choice_at(option->choices, at, n) < 0) {
            (void)hs_fail(err, HS_USAGE, "'%.*s' is not a value of --%s", (int)(n < 80 ? n : 80),
                          at, option->name);
            return hs_hint(err, "one of %s", option->choices);
        }
        if (at[n] == 0)
            return HS_OK;
        at += n + 1;
    }
}

size_t hs_repeated(const struct hs_invocation *invocation, enum hs_option_id id, const char **list)
{
    size_t n = 0;
    for (unsigned i = 0; i < invocation->n_repeated; i++)
        if (invocation->repeated_id[i] == id)
            list[n++] = invocation->repeated[i];
    return n;
}

static hs_status parse_number(struct hs_invocation *inv, const struct hs_option *option, int id,
                              const char *value, struct hs_error *err)
{
    bool in_bytes = false;
    switch (option->kind) {
    case HS_OPTION_COUNT:
        return hs_parse_count(value, &inv->number[id], err);
    case HS_OPTION_SIZE:
        return hs_parse_size(value, &inv->number[id], err);
    case HS_OPTION_DURATION:
        return hs_parse_duration(value, &inv->number[id], err);
    case HS_OPTION_WORDS:
        HS_TRY(hs_parse_amount(value, &inv->number[id], &in_bytes, err));
        inv->in_bytes[id] |= in_bytes;
        return HS_OK;
    default:
        return HS_OK;
    }
}

/* `typed`: the option as it was given. */
static hs_status store(struct hs_invocation *inv, int id, const char *typed, const char *value,
                       struct hs_error *err)
{
    const struct hs_option *option = &hs_options[id];
    if (id == HS_OPT_MIN_BYTES) {
        id = HS_OPT_MIN_WORDS;
        inv->in_bytes[id] = true;
    }
    if (option->kind == HS_OPTION_REPEATED) {
        if (inv->n_repeated == HS_MAX_REPEATED)
            return hs_fail(err, HS_USAGE, "--%s is given more than %d times", option->name,
                           HS_MAX_REPEATED);
        inv->repeated_id[inv->n_repeated] = (enum hs_option_id)id;
        inv->repeated[inv->n_repeated++] = value;
    } else if (inv->given[id]) {
        return hs_fail(err, HS_USAGE, "--%s is given twice%s", option->name,
                       id == HS_OPT_MIN_WORDS ? ", as words or as bytes" : "");
    }
    if (parse_number(inv, option, id, value, err) != HS_OK)
        return hs_context(err, "%s", typed);
    if (option->choices != NULL)
        HS_TRY(check_choices(option, value, err));
    if (option->kind == HS_OPTION_CHOICE)
        inv->number[id] = (uint64_t)hs_choice_at(option->choices, value, strlen(value));
    inv->text[id] = value;
    inv->given[id] = true;
    return HS_OK;
}

/* A number of a node that nobody quoted never comes here. */
static hs_status fail_value(const struct hs_option *option, const char *typed, struct hs_error *err)
{
    hs_status status = hs_fail(err, HS_USAGE, "%s needs a value (%s)", typed, option->argument);
    if (strcmp(option->argument, "WHAT") == 0)
        return hs_hint(err, "'#4' wants quotes: to a shell # begins a comment");
    return status;
}

/* Parses one word that starts with a dash; *at moves over its value when that is the next word. */
static hs_status parse_option(struct hs_invocation *inv, int argc, char **argv, int *at,
                              struct hs_error *err)
{
    const char *word = argv[*at];
    const char *value = NULL;
    char typed[64];
    int id;
    if (word[1] == '-') {
        size_t n = strcspn(word + 2, "=");
        id = find_long(inv->command, word + 2, n);
        if (id < 0)
            return unknown_option(inv->command, word + 2, n, err);
        if (word[2 + n] == '=')
            value = word + 3 + n;
    } else {
        id = find_letter(inv->command, word[1]);
        if (id < 0) {
            (void)hs_fail(err, HS_USAGE, "unknown option '-%c' of '%s'", word[1],
                          inv->command->name);
            return hs_hint(err, "'heapsnap %s -h' lists its options", inv->command->name);
        }
        if (word[2] != 0)
            value = word + 2;
    }
    const struct hs_option *option = &hs_options[id];
    if (word[1] == '-')
        (void)snprintf(typed, sizeof typed, "--%s", option->name);
    else
        (void)snprintf(typed, sizeof typed, "-%c", word[1]);
    if (option->kind == HS_OPTION_FLAG) {
        if (value != NULL)
            return hs_fail(err, HS_USAGE, "--%s takes no value", option->name);
        return store(inv, id, typed, "", err);
    }
    if (value == NULL) {
        if (*at + 1 == argc)
            return fail_value(option, typed, err);
        value = argv[++*at];
    }
    return store(inv, id, typed, value, err);
}

static hs_status check_arguments(const struct hs_invocation *inv, struct hs_error *err)
{
    const struct hs_command *command = inv->command;
    unsigned n = hs_takes_rest(command) ? inv->n_rest : inv->n_arguments;
    if (n >= command->min_arguments)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "'%s' needs %s", command->name, command->arguments);
    if (n == 1 && strstr(command->arguments, " WHAT") != NULL)
        return hs_hint(err,
                       "usage: heapsnap %s %s; '#4' wants quotes: to a shell # begins a comment",
                       command->name, command->arguments);
    return hs_hint(err, "usage: heapsnap %s %s%s", command->name,
                   hs_takes_rest(command) ? "[OPTION]... " : "", command->arguments);
}

/* The second of two snapshots: to compare them is another command, and so is to ask for one type
 * of the first. */
static hs_status hint_compare(const struct hs_invocation *inv, const char *word,
                              struct hs_error *err)
{
    if (strcmp(inv->command->name, "types") == 0 && access(word, F_OK) != 0)
        return hs_hint(err, "'heapsnap paths %s --to type:%s' says who keeps it",
                       HS_SHELL(inv->arguments[0]), HS_SHELL(word));
    return hs_hint(err, "'heapsnap diff %s %s' compares two snapshots", HS_SHELL(inv->arguments[0]),
                   HS_SHELL(word));
}

static hs_status add_argument(struct hs_invocation *inv, const char *word, struct hs_error *err)
{
    const struct hs_command *command = inv->command;
    if (inv->n_arguments == command->max_arguments) {
        (void)hs_fail(err, HS_USAGE, "'%s' does not take '%s'", command->name, word);
        if (strcmp(command->group, "look") == 0 && command->max_arguments == 1)
            return hint_compare(inv, word, err);
        return HS_USAGE;
    }
    inv->arguments[inv->n_arguments++] = word;
    return HS_OK;
}

static bool is_help(const char *word, struct hs_invocation *inv)
{
    if (strcmp(word, "-h") == 0)
        return inv->wants_short_help = true;
    if (strcmp(word, "--help") == 0)
        return inv->wants_help = true;
    return false;
}

/* Tells whether help is asked for; of a command that takes the rest, "--help" may be a word of that
 * rest, or a value. */
static bool asks_help(int argc, char **argv, struct hs_invocation *inv)
{
    if (inv->command != NULL && hs_takes_rest(inv->command))
        return false;
    for (int at = 2; at < argc; at++)
        if (is_help(argv[at], inv))
            return true;
    return false;
}

static void take_rest(struct hs_invocation *inv, int argc, char **argv, int at)
{
    inv->rest = argv + at;
    inv->n_rest = (unsigned)(argc - at);
}

static hs_status parse_words(struct hs_invocation *inv, int argc, char **argv, struct hs_error *err)
{
    bool takes_rest = inv->command != NULL && hs_takes_rest(inv->command);
    bool options_ended = false;
    for (int at = 2; at < argc; at++) {
        const char *word = argv[at];
        bool is_end = !options_ended && strcmp(word, "--") == 0;
        bool is_option = !options_ended && word[0] == '-' && word[1] != 0;
        if (takes_rest && (is_end || !is_option)) {
            take_rest(inv, argc, argv, at + is_end);
            return HS_OK;
        }
        if (is_end)
            options_ended = true;
        else if (takes_rest && is_help(word, inv))
            return HS_OK;
        else if (is_option)
            HS_TRY(parse_option(inv, argc, argv, &at, err));
        else
            HS_TRY(add_argument(inv, word, err));
    }
    return HS_OK;
}

hs_status hs_parse(int argc, char **argv, struct hs_invocation *ret, struct hs_error *err)
{
    struct hs_invocation inv = {0};
    if (argc > 1 && is_help(argv[1], &inv)) {
        *ret = inv;
        return HS_OK;
    }
    if (argc > 1) {
        bool is_version = strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0;
        const char *word = is_version ? "version" : argv[1];
        inv.command = hs_find_command(word);
        if (inv.command == NULL)
            return unknown_command(word, err);
    }
    if (!asks_help(argc, argv, &inv)) {
        HS_TRY(parse_words(&inv, argc, argv, err));
        if (inv.command != NULL && !inv.wants_help && !inv.wants_short_help)
            HS_TRY(check_arguments(&inv, err));
    }
    *ret = inv;
    return HS_OK;
}

hs_status hs_option_percent(const struct hs_invocation *inv, enum hs_option_id id, unsigned preset,
                            unsigned *ret, struct hs_error *err)
{
    *ret = preset;
    if (!hs_given(inv, id))
        return HS_OK;
    if (inv->number[id] > 100)
        return hs_fail(err, HS_USAGE, "--%s: '%s' is more than 100 percent", hs_options[id].name,
                       inv->text[id]);
    *ret = (unsigned)inv->number[id];
    return HS_OK;
}
