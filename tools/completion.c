/* Completion scripts for bash, zsh and fish, from the same table. */
#include <stdio.h>
#include <string.h>

#include "options.h"

static hs_status command_names(struct hs_out *out, struct hs_error *err)
{
    for (size_t i = 0; i < hs_n_commands; i++)
        HS_TRY(hs_print(out, err, "%s%s", i == 0 ? "" : " ", hs_commands[i].name));
    return HS_OK;
}

/* "a|b|c" as "a b c". */
static hs_status choice_words(struct hs_out *out, const char *choices, struct hs_error *err)
{
    for (; *choices != 0; choices++)
        HS_TRY(hs_print(out, err, "%c", *choices == '|' ? ' ' : *choices));
    return HS_OK;
}

/* The words that an argument can be: commands, shells; else it is a file or a number. */
static bool has_argument_words(const struct hs_command *command)
{
    return strcmp(command->arguments, "[COMMAND]") == 0 || strcmp(command->arguments, "SHELL") == 0;
}

static hs_status argument_words(struct hs_out *out, const struct hs_command *command,
                                struct hs_error *err)
{
    if (strcmp(command->arguments, "SHELL") == 0)
        return hs_print(out, err, "bash zsh fish");
    return command_names(out, err);
}

static hs_status bash_command(struct hs_out *out, const struct hs_command *command,
                              struct hs_error *err)
{
    HS_TRY(hs_print(out, err, "    %s)\n        case \"$previous\" in\n", command->name));
    for (int id = 0; id < HS_N_OPTIONS; id++) {
        const struct hs_option *option = &hs_options[id];
        if (!hs_takes(command, id) || option->choices == NULL)
            continue;
        HS_TRY(hs_print(out, err, "        --%s) words=\"", option->name));
        HS_TRY(choice_words(out, option->choices, err));
        HS_TRY(hs_print(out, err, "\" ;;\n"));
    }
    HS_TRY(hs_print(out, err, "        *) [[ $current == -* ]] && words=\"--help"));
    for (int id = 0; id < HS_N_OPTIONS; id++)
        if (hs_takes(command, id))
            HS_TRY(hs_print(out, err, " --%s", hs_options[id].name));
    HS_TRY(hs_print(out, err, "\"\n"));
    if (has_argument_words(command)) {
        HS_TRY(hs_print(out, err, "           [[ $current == -* ]] || words=\""));
        HS_TRY(argument_words(out, command, err));
        HS_TRY(hs_print(out, err, "\"\n"));
    }
    return hs_print(out, err, "           ;;\n        esac ;;\n");
}

static hs_status bash(struct hs_out *out, struct hs_error *err)
{
    HS_TRY(hs_print(out, err,
                    "# bash completion for heapsnap\n_heapsnap() {\n"
                    "    local current=${COMP_WORDS[COMP_CWORD]}\n"
                    "    local previous=${COMP_WORDS[COMP_CWORD-1]} words=\"\"\n"
                    "    if [[ $COMP_CWORD == 1 ]]; then\n        COMPREPLY=($(compgen -W \""));
    HS_TRY(command_names(out, err));
    HS_TRY(hs_print(out, err,
                    "\" -- \"$current\"))\n        return\n    fi\n"
                    "    case \"${COMP_WORDS[1]}\" in\n"));
    for (size_t i = 0; i < hs_n_commands; i++)
        HS_TRY(bash_command(out, &hs_commands[i], err));
    return hs_print(out, err,
                    "    esac\n    if [[ -n $words ]]; then\n"
                    "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                    "    else\n        COMPREPLY=($(compgen -f -- \"$current\"))\n    fi\n}\n"
                    "complete -o filenames -F _heapsnap heapsnap\n");
}

/* A text inside single quotes of a shell. */
static hs_status single_quoted(struct hs_out *out, const char *text, struct hs_error *err)
{
    HS_TRY(hs_print(out, err, "'"));
    for (; *text != 0; text++)
        HS_TRY(hs_print(out, err, *text == '\'' ? "'\\''" : "%c", *text));
    return hs_print(out, err, "'");
}

static hs_status zsh_option(struct hs_out *out, const struct hs_option *option,
                            struct hs_error *err)
{
    HS_TRY(hs_print(out, err, " '--%s", option->name));
    if (option->argument == NULL)
        return hs_print(out, err, "'");
    HS_TRY(hs_print(out, err, "=:%s:", option->argument));
    if (option->choices == NULL)
        return hs_print(out, err, "_files'");
    HS_TRY(hs_print(out, err, "("));
    HS_TRY(choice_words(out, option->choices, err));
    return hs_print(out, err, ")'");
}

static hs_status zsh_arguments(struct hs_out *out, const struct hs_command *command,
                               struct hs_error *err)
{
    HS_TRY(hs_print(out, err, "    %s) _arguments '--help'", command->name));
    if (!has_argument_words(command))
        return hs_print(out, err, " '*:file:_files'");
    HS_TRY(hs_print(out, err, " '*:word:("));
    HS_TRY(argument_words(out, command, err));
    return hs_print(out, err, ")'");
}

static hs_status zsh(struct hs_out *out, struct hs_error *err)
{
    HS_TRY(hs_print(out, err,
                    "#compdef heapsnap\n_heapsnap() {\n"
                    "    if (( CURRENT == 2 )); then\n        local -a commands=("));
    for (size_t i = 0; i < hs_n_commands; i++) {
        char text[160];
        snprintf(text, sizeof text, "%s:%s", hs_commands[i].name, hs_commands[i].summary);
        HS_TRY(hs_print(out, err, "\n            "));
        HS_TRY(single_quoted(out, text, err));
    }
    HS_TRY(hs_print(out, err,
                    ")\n        _describe command commands\n        return\n    fi\n"
                    "    case $words[2] in\n"));
    for (size_t i = 0; i < hs_n_commands; i++) {
        HS_TRY(zsh_arguments(out, &hs_commands[i], err));
        for (int id = 0; id < HS_N_OPTIONS; id++)
            if (hs_takes(&hs_commands[i], id))
                HS_TRY(zsh_option(out, &hs_options[id], err));
        HS_TRY(hs_print(out, err, " ;;\n"));
    }
    /* Both as an autoloaded function and sourced. */
    return hs_print(out, err,
                    "    esac\n}\nif [[ $funcstack[1] == _heapsnap ]]; then\n    _heapsnap \"$@\"\n"
                    "else\n    compdef _heapsnap heapsnap\nfi\n");
}

static hs_status fish_command(struct hs_out *out, const struct hs_command *command,
                              struct hs_error *err)
{
    HS_TRY(hs_print(out, err, "complete -c heapsnap -n __fish_use_subcommand -a %s -d ",
                    command->name));
    HS_TRY(single_quoted(out, command->summary, err));
    HS_TRY(hs_print(out, err, "\n"));
    if (has_argument_words(command)) {
        HS_TRY(hs_print(out, err,
                        "complete -c heapsnap -n '__fish_seen_subcommand_from %s' -f -a '",
                        command->name));
        HS_TRY(argument_words(out, command, err));
        HS_TRY(hs_print(out, err, "'\n"));
    }
    for (int id = 0; id < HS_N_OPTIONS; id++) {
        const struct hs_option *option = &hs_options[id];
        if (!hs_takes(command, id))
            continue;
        HS_TRY(hs_print(out, err, "complete -c heapsnap -n '__fish_seen_subcommand_from %s' -l %s",
                        command->name, option->name));
        if (option->letter != 0)
            HS_TRY(hs_print(out, err, " -s %c", option->letter));
        if (option->argument != NULL)
            HS_TRY(hs_print(out, err, " -r"));
        if (option->choices != NULL) {
            HS_TRY(hs_print(out, err, " -f -a '"));
            HS_TRY(choice_words(out, option->choices, err));
            HS_TRY(hs_print(out, err, "'"));
        }
        HS_TRY(hs_print(out, err, " -d "));
        HS_TRY(single_quoted(out, option->help, err));
        HS_TRY(hs_print(out, err, "\n"));
    }
    return HS_OK;
}

static hs_status fish(struct hs_out *out, struct hs_error *err)
{
    HS_TRY(hs_print(out, err,
                    "# fish completion for heapsnap\n"
                    "complete -c heapsnap -l help -s h -d 'help'\n"));
    for (size_t i = 0; i < hs_n_commands; i++)
        HS_TRY(fish_command(out, &hs_commands[i], err));
    return HS_OK;
}

hs_status hs_completion_write(struct hs_out *out, const char *shell, struct hs_error *err)
{
    if (strcmp(shell, "bash") == 0)
        return bash(out, err);
    if (strcmp(shell, "zsh") == 0)
        return zsh(out, err);
    if (strcmp(shell, "fish") == 0)
        return fish(out, err);
    (void)hs_fail(err, HS_USAGE, "no completion for the shell '%s'", shell);
    return hs_hint(err, "one of bash, zsh, fish");
}
