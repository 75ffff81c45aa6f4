/* The two helps: -h (one screen, examples first) and --help (everything). */
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "options.h"

enum { TEXT_COLUMNS = 78, OPTION_COLUMNS = 80, HELP_COLUMN = 27 };

/* Prints `text` filled to a width; `indent` columns before each line; paragraphs end at '\n'. */
static hs_status fill_to(struct hs_out *out, const char *text, unsigned indent, unsigned columns,
                         struct hs_error *err)
{
    unsigned column = 0;
    for (const char *at = text; *at != 0;) {
        size_t n = strcspn(at, " \n");
        if (column != 0 && column + 1 + n > columns) {
            HS_TRY(hs_print(out, err, "\n"));
            column = 0;
        }
        if (column == 0)
            HS_TRY(hs_print(out, err, "%*s%.*s", (int)indent, "", (int)n, at));
        else
            HS_TRY(hs_print(out, err, " %.*s", (int)n, at));
        column += (unsigned)n + (column == 0 ? indent : 1);
        at += n;
        if (*at == '\n') {
            HS_TRY(hs_print(out, err, "\n"));
            column = 0;
        }
        at += *at != 0;
    }
    return hs_print(out, err, "\n");
}

static hs_status fill(struct hs_out *out, const char *text, unsigned indent, struct hs_error *err)
{
    return fill_to(out, text, indent, TEXT_COLUMNS, err);
}

/* Returns how much of an option's description fits one line, when that ends where a sentence may;
 * else 0. */
static size_t first_line(const char *text, size_t room)
{
    enum { LEAST = 18 };
    size_t end = 0;
    unsigned depth = 0;
    for (size_t i = 0; i <= room; i++) {
        bool is_end = text[i] == 0 || strncmp(text + i, "; ", 2) == 0 ||
                      strncmp(text + i, " (", 2) == 0 || strncmp(text + i, ": ", 2) == 0;
        if (is_end && depth == 0 && i >= LEAST)
            end = i;
        depth += text[i] == '(';
        depth -= text[i] == ')' && depth != 0;
        if (text[i] == 0)
            break;
    }
    return end;
}

/* The same whole: begun in its column and gone on with below it. */
static hs_status option_help(struct hs_out *out, const char *text, bool is_short,
                             struct hs_error *err)
{
    enum { ROOM = OPTION_COLUMNS - HELP_COLUMN };
    size_t most = is_short ? first_line(text, ROOM) : 0;
    if (most != 0)
        return hs_print(out, err, "%.*s\n", (int)most, text);
    for (;;) {
        size_t n = strlen(text);
        if (n <= ROOM)
            return hs_print(out, err, "%s\n", text);
        for (n = ROOM; n > 0 && text[n] != ' '; n--)
            ;
        if (n == 0)
            n = ROOM; /* a word that is wider; none is */
        HS_TRY(hs_print(out, err, "%.*s\n%*s", (int)n, text, HELP_COLUMN, ""));
        text += n + (text[n] == ' ');
    }
}

static hs_status option_line(struct hs_out *out, const struct hs_option *option, bool is_short,
                             struct hs_error *err)
{
    char left[64];
    char letter[8] = "    ";
    if (option->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name,
             option->argument != NULL ? " " : "", option->argument != NULL ? option->argument : "");
    if (strlen(left) <= 24)
        HS_TRY(hs_print(out, err, "  %-24s ", left));
    else
        HS_TRY(hs_print(out, err, "  %s\n%*s", left, HELP_COLUMN, ""));
    return option_help(out, option->help, is_short, err);
}

bool hs_choices_unsaid(const struct hs_option *option, char *text)
{
    const char *choices = option->choices;
    if (choices == NULL)
        return false;
    const char *last = strrchr(choices, '|');
    if (strstr(option->help, last != NULL ? last + 1 : choices) != NULL)
        return false;
    size_t n = 0;
    for (; *choices != 0 && n + 2 < HS_CHOICES_BYTES; choices++) {
        text[n++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            text[n++] = ' ';
    }
    text[n] = 0;
    return true;
}

/* The options that -h names on one line, by what they are of. */
static const uint8_t brief[] = {HS_OPTIONS_OF_LIMITS,  HS_OPTIONS_OF_POLICY,
                                HS_OPTIONS_OF_FILES,   HS_OPTIONS_OF_STOP,
                                HS_OPTIONS_OF_TRACES,  HS_OPTIONS_OF_RULES,
                                HS_OPTIONS_OF_OUTPUT,  HS_OPT_NAMES,
                                HS_OPT_NO_NAMES,       HS_OPT_POINTER_MASK,
                                HS_OPT_RULES,          HS_OPT_NO_KEYS,
                                HS_OPT_QUIET,          HS_OPT_NAMES_TIMEOUT,
                                HS_OPT_NAMES_PATH,     HS_OPT_DEBUG_PATH,
                                HS_OPT_HEAPS,          HS_OPTIONS_OF_FLEET,
                                HS_OPTIONS_OF_SERVERS, HS_OPT_FAIL_UNLESS_ATTRIBUTED,
                                HS_N_OPTIONS};

static hs_status brief_line(struct hs_out *out, const struct hs_command *command,
                            struct hs_error *err)
{
    char text[640] = "also:";
    for (int id = 0; id < HS_N_OPTIONS; id++) {
        const struct hs_option *option = &hs_options[id];
        const char letter[] = {option->letter, 0};
        const char *dashes = option->letter != 0 ? "-" : "--";
        if (hs_lists(brief, id) && hs_takes(command, id))
            hs_append(text, sizeof text, "%s %s%s%s%s", text[5] != 0 ? "," : "", dashes,
                      option->letter != 0 ? letter : option->name,
                      option->argument != NULL ? " " : "",
                      option->argument != NULL ? option->argument : "");
    }
    hs_append(text, sizeof text, ": see --help");
    return fill_to(out, text, 2, OPTION_COLUMNS, err);
}

static hs_status option_lines(struct hs_out *out, const struct hs_command *command, bool is_short,
                              struct hs_error *err)
{
    for (int id = 0; id < HS_N_OPTIONS; id++) {
        const struct hs_option *option = &hs_options[id];
        if (!hs_takes(command, id) || (is_short && hs_lists(brief, id)))
            continue;
        HS_TRY(option_line(out, option, is_short, err));
        char text[HS_CHOICES_BYTES];
        if (!is_short && hs_choices_unsaid(option, text))
            HS_TRY(fill(out, text, HELP_COLUMN, err));
    }
    if (is_short && hs_takes_some(command, brief))
        HS_TRY(brief_line(out, command, err));
    return hs_print(out, err, "  %-24s %s\n", "-h, --help", "this help; -h is short");
}

static hs_status example_lines(struct hs_out *out, const char *examples, struct hs_error *err)
{
    for (const char *at = examples; *at != 0;) {
        size_t n = strcspn(at, "\n");
        HS_TRY(hs_print(out, err, "  %.*s\n", (int)n, at));
        at += n + (at[n] == '\n');
    }
    return HS_OK;
}

/* The commands that a newcomer needs, in the order of need; all others stand below "more". */
static const char *const first_commands[] = {"suspects", "roots", "paths",  "types", "leaks",
                                             "dump",     "diff",  "report", "watch"};

static bool is_first(const struct hs_command *command)
{
    for (size_t i = 0; i < sizeof first_commands / sizeof *first_commands; i++)
        if (strcmp(command->name, first_commands[i]) == 0)
            return true;
    return false;
}

/* A command with as many of its arguments, or of what the first may be, as fit the column. */
static hs_status command_line(struct hs_out *out, const struct hs_command *command,
                              struct hs_error *err)
{
    enum { COLUMNS = 22 };
    char left[64];
    (void)snprintf(left, sizeof left, "%s %s", command->name, command->arguments);
    while (strlen(left) > COLUMNS) {
        char *space = strrchr(left, ' '), *bar = strrchr(left, '|');
        *(bar > space ? bar : space) = '\0';
    }
    return hs_print(out, err, "  %-22s %s\n", left, command->summary);
}

hs_status hs_help_overview(struct hs_out *out, struct hs_error *err)
{
    HS_TRY(
        hs_print(out, err,
                 "heapsnap: which root keeps how much memory alive in a running program\n\n"
                 "  heapsnap suspects PID                   who keeps the memory, in sentences\n"
                 "  heapsnap suspects PID --again 1m        what grows\n"
                 "  heapsnap dump PID > heap.snap           a snapshot, for all that follows\n"
                 "  heapsnap roots heap.snap                every owner with its part\n"
                 "  heapsnap paths heap.snap --to type:T    why objects of a type are alive\n\n"));
    for (size_t i = 0; i < sizeof first_commands / sizeof *first_commands; i++) {
        const struct hs_command *command = hs_find_command(first_commands[i]);
        if (command != NULL)
            HS_TRY(command_line(out, command, err));
    }
    HS_TRY(hs_print(out, err, "\nmore\n"));
    for (size_t i = 0; i < hs_n_commands; i++)
        if (!is_first(&hs_commands[i]))
            HS_TRY(command_line(out, &hs_commands[i], err));
    return hs_print(
        out, err,
        "\nEvery command explains itself with -h (short) and --help. A word is 8 bytes.\n"
        "Exit codes: 0 done, 1 a threshold that an option set was crossed, 2 usage,\n"
        "3 target refused or gone, 4 damaged snapshot, 5 input/output, 6 over a limit,\n"
        "70 a bug of heapsnap, 130 interrupted (Ctrl-C), 137 killed: also by its own guard.\n");
}

hs_status hs_help_command(struct hs_out *out, const struct hs_command *command, bool is_short,
                          struct hs_error *err)
{
    HS_TRY(hs_print(out, err, "heapsnap %s: %s\n\n", command->name, command->summary));
    HS_TRY(example_lines(out, command->examples, err));
    if (command->examples[0] != 0)
        HS_TRY(hs_print(out, err, "\n"));
    const char *options = hs_takes_options(command) ? " [OPTION]..." : "";
    HS_TRY(hs_print(out, err, "usage: heapsnap %s%s%s%s%s\n\n", command->name,
                    hs_takes_rest(command) ? options : "", command->arguments[0] != 0 ? " " : "",
                    command->arguments, hs_takes_rest(command) ? "" : options));
    if (!is_short && command->description[0] != 0) {
        HS_TRY(fill(out, command->description, 0, err));
        HS_TRY(hs_print(out, err, "\n"));
    }
    HS_TRY(option_lines(out, command, is_short, err));
    static const uint8_t thresholds[] = {HS_OPTIONS_OF_THRESHOLDS, HS_N_OPTIONS};
    for (int i = 0; i < HS_N_OPTIONS; i++)
        if (hs_lists(thresholds, i) && hs_takes(command, i) && !(is_short && hs_lists(brief, i)))
            return hs_print(out, err, "\nexit code 1: done, and --%s was crossed\n",
                            hs_options[i].name);
    return HS_OK;
}
