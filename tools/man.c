/* The man pages, in roff, from the same table. */
#include <stdio.h>
#include <string.h>

#include "look/described.h"
#include "options.h"

/* Writes text with roff's special characters made harmless: a dash, a backslash, a leading dot. */
static hs_status roff(struct hs_out *out, const char *text, struct hs_error *err)
{
    bool at_line_start = true;
    for (; *text != 0; text++) {
        if (at_line_start && (*text == '.' || *text == '\''))
            HS_TRY(hs_print(out, err, "\\&"));
        at_line_start = *text == '\n';
        if (*text == '-')
            HS_TRY(hs_print(out, err, "\\-"));
        else if (*text == '\\')
            HS_TRY(hs_print(out, err, "\\e"));
        else if (*text == '\n')
            HS_TRY(hs_print(out, err, "\n.PP\n"));
        else
            HS_TRY(hs_print(out, err, "%c", *text));
    }
    return hs_print(out, err, "\n");
}

static hs_status man_option(struct hs_out *out, const struct hs_option *option,
                            struct hs_error *err)
{
    HS_TRY(hs_print(out, err, ".TP\n"));
    if (option->letter != 0)
        HS_TRY(hs_print(out, err, "\\fB\\-%c\\fR, ", option->letter));
    HS_TRY(hs_print(out, err, "\\fB\\-\\-"));
    for (const char *at = option->name; *at != 0; at++)
        HS_TRY(hs_print(out, err, *at == '-' ? "\\-" : "%c", *at));
    HS_TRY(hs_print(out, err, "\\fR"));
    if (option->argument != NULL)
        HS_TRY(hs_print(out, err, " \\fI%s\\fR", option->argument));
    HS_TRY(hs_print(out, err, "\n"));
    HS_TRY(roff(out, option->help, err));
    char text[HS_CHOICES_BYTES];
    if (!hs_choices_unsaid(option, text))
        return HS_OK;
    HS_TRY(hs_print(out, err, ".br\n"));
    return roff(out, text, err);
}

static hs_status man_examples(struct hs_out *out, const char *examples, struct hs_error *err)
{
    HS_TRY(hs_print(out, err, ".SH EXAMPLES\n.nf\n"));
    char line[256];
    for (const char *at = examples; *at != 0;) {
        size_t n = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, at);
        HS_TRY(roff(out, line, err));
        at += n + (at[n] == '\n');
    }
    return hs_print(out, err, ".fi\n");
}

/* ".TP", a bold word, its text. */
static hs_status man_item(struct hs_out *out, const char *font, const char *word, const char *text,
                          struct hs_error *err)
{
    HS_TRY(hs_print(out, err, ".TP\n%s", font));
    HS_TRY(roff(out, word, err));
    return roff(out, text, err);
}

static hs_status man_commands(struct hs_out *out, struct hs_error *err)
{
    HS_TRY(hs_print(out, err, ".SH COMMANDS\n"));
    for (size_t i = 0; i < hs_n_commands; i++) {
        char page[64];
        snprintf(page, sizeof page, "heapsnap-%s(1)", hs_commands[i].name);
        HS_TRY(man_item(out, ".B ", page, hs_commands[i].summary, err));
    }
    return HS_OK;
}

static const char exit_status[] =
    ".SH EXIT STATUS\n0 done, 1 done and a threshold asked for by an option was crossed, 2 usage, "
    "3 target refused or gone, 4 not a snapshot, damaged, cut or "
    "too new, 5 input or output, 6 over a limit, 70 a bug of heapsnap, 130 interrupted by Ctrl-C "
    "(143 by SIGTERM), 137 killed: also by its own guard, when it was stopped or frozen while it "
    "held "
    "the process that it dumps.\n";

hs_status hs_help_man_overview(struct hs_out *out, struct hs_error *err)
{
    static const char *const items[][3] = {
        {"WHAT", "N, sample:N", "a sampled allocation's id"},
        {"", "0xADDR", "an address of the dumped process; inside a block is fine"},
        {"", "#N", "a node of the graph"},
        {"", "root:NAME", "a root; the end of its name is enough when only one has it"},
        {"", "type:NAME", "a type: its instances that retain most"},
        {"FILES", "SNAP.idx", "the index of a snapshot, made when first needed; may be deleted"},
        {"", "SNAP.keys, SNAP.types, SNAP.suspects",
         "kept answers: of comparisons, 'types' and 'suspects'; may be deleted"},
        {"ENVIRONMENT", "XDG_CACHE_HOME, HOME",
         "where the index goes when the snapshot's directory is read-only, and what is built to "
         "read files of another OCaml: heapsnap/ in the first, .cache/heapsnap/ in the second"},
        {"", "NO_COLOR, TERM=dumb", "no escape sequences on a terminal"},
        {"", "PAGER", "what shows a help that is longer than the terminal; less when not set"},
    };
    HS_TRY(hs_print(out, err,
                    ".TH HEAPSNAP 1 \"\" \"heapsnap\" \"User Commands\"\n"
                    ".SH NAME\nheapsnap \\- which root keeps how much memory alive in a running "
                    "program\n.SH SYNOPSIS\n\\fBheapsnap\\fR \\fICOMMAND\\fR ...\n"
                    ".SH DESCRIPTION\n"));
    HS_TRY(
        roff(out,
             "Dumps the graph of a live process's heap and tells, for each variable, stack frame "
             "and other root, what it reaches and what it alone keeps alive.\n"
             "Shallow: the block itself. Reachable: all that can be reached from it; shared parts "
             "count for each root. Retained: what would be freed if it went away; that adds up. "
             "Sizes are in words of 8 bytes, block headers included.",
             err));
    HS_TRY(man_commands(out, err));
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        if (items[i][0][0] != 0)
            HS_TRY(hs_print(out, err, ".SH %s\n", items[i][0]));
        HS_TRY(man_item(out, ".B ", items[i][1], items[i][2], err));
    }
    HS_TRY(hs_print(out, err, "%s", exit_status));
    return man_examples(
        out,
        "heapsnap dump 4242 > heap.snap\nheapsnap suspects heap.snap\nheapsnap roots "
        "heap.snap\nheapsnap paths heap.snap --to type:Session\n",
        err);
}

hs_status hs_help_man(struct hs_out *out, const struct hs_command *command, struct hs_error *err)
{
    HS_TRY(hs_print(out, err, ".TH HEAPSNAP\\-%s 1 \"\" \"heapsnap\" \"User Commands\"\n",
                    command->name));
    HS_TRY(hs_print(out, err, ".SH NAME\nheapsnap\\-%s \\- ", command->name));
    HS_TRY(roff(out, command->summary, err));
    const char *options = hs_takes_options(command) ? " [\\fIOPTION\\fR]..." : "";
    HS_TRY(hs_print(out, err, ".SH SYNOPSIS\n\\fBheapsnap %s\\fR%s%s%s%s\n", command->name,
                    hs_takes_rest(command) ? options : "", command->arguments[0] != 0 ? " " : "",
                    command->arguments, hs_takes_rest(command) ? "" : options));
    if (command->description[0] != 0) {
        HS_TRY(hs_print(out, err, ".SH DESCRIPTION\n"));
        HS_TRY(roff(out, command->description, err));
    }
    if (hs_takes_options(command))
        HS_TRY(hs_print(out, err, ".SH OPTIONS\n"));
    for (int id = 0; id < HS_N_OPTIONS; id++)
        if (hs_takes(command, id))
            HS_TRY(man_option(out, &hs_options[id], err));
    HS_TRY(hs_described_man(out, command->name, err));
    if (command->examples[0] != 0)
        HS_TRY(man_examples(out, command->examples, err));
    return hs_print(out, err, "%s.SH SEE ALSO\n.BR heapsnap (1)\n", exit_status);
}
