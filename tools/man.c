/* The man pages, in roff, from the same table. */
#include <stdio.h>
#include <string.h>

#include "options.h"

/* Text with roff's special characters made harmless: a dash, a backslash, a leading dot. */
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
    return roff(out, option->help, err);
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

hs_status hs_help_man(struct hs_out *out, const struct hs_command *command, struct hs_error *err)
{
    HS_TRY(hs_print(out, err, ".TH HEAPSNAP\\-%s 1 \"\" \"heapsnap\" \"User Commands\"\n",
                    command->name));
    HS_TRY(hs_print(out, err, ".SH NAME\nheapsnap\\-%s \\- ", command->name));
    HS_TRY(roff(out, command->summary, err));
    HS_TRY(hs_print(out, err, ".SH SYNOPSIS\n\\fBheapsnap %s\\fR %s%s\n", command->name,
                    command->arguments, command->options != 0 ? " [\\fIOPTION\\fR]..." : ""));
    if (command->description[0] != 0) {
        HS_TRY(hs_print(out, err, ".SH DESCRIPTION\n"));
        HS_TRY(roff(out, command->description, err));
    }
    if (command->options != 0)
        HS_TRY(hs_print(out, err, ".SH OPTIONS\n"));
    for (int id = 0; id < HS_N_OPTIONS; id++)
        if (command->options >> id & 1)
            HS_TRY(man_option(out, &hs_options[id], err));
    if (command->examples[0] != 0)
        HS_TRY(man_examples(out, command->examples, err));
    return hs_print(out, err,
                    ".SH EXIT STATUS\n0 done, 2 usage, 3 target refused or gone, 4 not a snapshot, "
                    "damaged, cut or too new, 5 input or output, 6 over a limit, 70 a bug of "
                    "heapsnap.\n.SH SEE ALSO\n.BR heapsnap (1)\n");
}
