/* links: hs_tools_lib hs_analysis */
/* The option table is consistent with itself and with what the commands read out of it. */
#include "unit.h"

#include <ctype.h>

#include "analysis/root_rows.h"
#include "analysis/type_rows.h"
#include "base/parts.h"
#include "tools/options.h"
#include "tools/tool.h"

static void commands(void **state)
{
    for (size_t i = 0; i < hs_n_commands; i++) {
        const struct hs_command *command = &hs_commands[i];
        assert_ptr_equal(hs_find_command(command->name), command); /* no name twice */
        for (const char *c = command->name; *c != 0; c++)
            assert_true(islower((unsigned char)*c));
        assert_non_null(command->run);
        assert_true(command->summary[0] != 0);
        assert_true(command->min_arguments <= command->max_arguments);
        assert_true(hs_takes_rest(command) || command->max_arguments <= HS_MAX_ARGUMENTS);
        for (size_t j = 0; j < i; j++) /* groups are together: each heading comes once */
            if (strcmp(hs_commands[j].group, command->group) == 0)
                assert_string_equal(hs_commands[i - 1].group, command->group);
        if (command->examples[0] != 0)
            assert_non_null(strstr(command->examples, command->name));
    }
    assert_null(hs_find_command("nothing"));
    assert_null(hs_find_command(""));
}

static void options(void **state)
{
#define COUNT(...) +1
    const int n_missing = 0 HS_MISSING_COMMANDS(COUNT);
    for (int id = 0; id < HS_N_OPTIONS; id++) {
        const struct hs_option *option = &hs_options[id];
        assert_non_null(option->name);
        assert_true(strlen(option->help) > 10);
        assert_true(islower((unsigned char)option->help[0]));
        assert_int_not_equal(option->help[strlen(option->help) - 1], '.');
        assert_int_equal(option->argument == NULL, option->kind == HS_OPTION_FLAG);
        assert_int_equal(option->choices != NULL,
                         option->kind == HS_OPTION_CHOICE || option->kind == HS_OPTION_CHOICES);
        bool is_taken = false;
        for (size_t i = 0; i < hs_n_commands; i++)
            is_taken |= hs_takes(&hs_commands[i], id);
        assert_true(is_taken || n_missing != 0); /* else by a command that this build has not */
    }
}

/* Within a command a name and a letter mean one thing. */
static void options_of_a_command(void **state)
{
    for (size_t i = 0; i < hs_n_commands; i++) {
        for (int a = 0; a < HS_N_OPTIONS; a++) {
            if (!hs_takes(&hs_commands[i], a))
                continue;
            assert_int_not_equal(hs_options[a].letter, 'h');
            for (int b = a + 1; b < HS_N_OPTIONS; b++) {
                if (!hs_takes(&hs_commands[i], b))
                    continue;
                assert_string_not_equal(hs_options[a].name, hs_options[b].name);
                assert_true(hs_options[a].letter == 0 ||
                            hs_options[a].letter != hs_options[b].letter);
            }
        }
    }
}

static void choice_is(enum hs_option_id id, const char *text, int expected)
{
    assert_int_equal(hs_choice_at(hs_options[id].choices, text, strlen(text)), expected);
}

/* The commands take a choice's number for an enum: the orders must agree. */
static void choices_are_the_enums(void **state)
{
    for (unsigned kind = 0; kind < HS_N_ROOT_KINDS; kind++)
        choice_is(HS_OPT_KIND, hs_root_kind_name(kind), (int)kind);
    choice_is(HS_OPT_GROUP_BY, "root", HS_BY_ROOT);
    choice_is(HS_OPT_GROUP_BY, "kind", HS_BY_KIND);
    choice_is(HS_OPT_GROUP_BY, "module", HS_BY_MODULE);
    choice_is(HS_OPT_GROUP_BY, "unit", HS_BY_UNIT);
    choice_is(HS_OPT_GROUP_BY, "thread", HS_BY_THREAD);
    choice_is(HS_OPT_GROUP_BY, "frame", HS_BY_FRAME);
    choice_is(HS_OPT_ROOT_SORT, "retained", HS_SORT_RETAINED);
    choice_is(HS_OPT_ROOT_SORT, "reachable", HS_SORT_REACHABLE);
    choice_is(HS_OPT_ROOT_SORT, "name", HS_SORT_NAME);
    choice_is(HS_OPT_TYPE_SORT, "retained", HS_TYPE_BY_RETAINED);
    choice_is(HS_OPT_TYPE_SORT, "words", HS_TYPE_BY_WORDS);
    choice_is(HS_OPT_TYPE_SORT, "objects", HS_TYPE_BY_OBJECTS);
    choice_is(HS_OPT_TYPE_SORT, "name", HS_TYPE_BY_NAME);
    choice_is(HS_OPT_FORMAT, "table", HS_FORMAT_TABLE);
    choice_is(HS_OPT_FORMAT, "json", HS_FORMAT_JSON);
    choice_is(HS_OPT_FORMAT, "ndjson", HS_FORMAT_NDJSON);
    choice_is(HS_OPT_FORMAT, "tsv", HS_FORMAT_TSV);
    choice_is(HS_OPT_PROGRESS, "auto", HS_PROGRESS_AUTO);
    choice_is(HS_OPT_PROGRESS, "always", HS_PROGRESS_ALWAYS);
    choice_is(HS_OPT_PROGRESS, "never", HS_PROGRESS_NEVER);
}

static void choice_at(void **state)
{
    assert_int_equal(hs_choice_at("a|bc|d", "a", 1), 0);
    assert_int_equal(hs_choice_at("a|bc|d", "bc", 2), 1);
    assert_int_equal(hs_choice_at("a|bc|d", "bcx", 2), 1); /* only so many bytes */
    assert_int_equal(hs_choice_at("a|bc|d", "d", 1), 2);
    assert_int_equal(hs_choice_at("a|bc|d", "b", 1), -1);
    assert_int_equal(hs_choice_at("a|bc|d", "bcd", 3), -1);
    assert_int_equal(hs_choice_at("a|bc|d", "a|bc", 4), -1);
    assert_int_equal(hs_choice_at("a|bc|d", "", 0), -1);
}

static void choices_unsaid(void **state)
{
    char text[HS_CHOICES_BYTES];
    assert_false(hs_choices_unsaid(&hs_options[HS_OPT_FORMAT], text)); /* its help names them */
    assert_false(hs_choices_unsaid(&hs_options[HS_OPT_JSON], text));
    assert_true(hs_choices_unsaid(&hs_options[HS_OPT_GROUP_BY], text));
    assert_string_equal(text, "root, kind, module, unit, thread, frame");
    assert_true(hs_choices_unsaid(&hs_options[HS_OPT_KIND], text));
    assert_non_null(strstr(text, "unclaimed")); /* not cut */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),
        cmocka_unit_test(options),
        cmocka_unit_test(options_of_a_command),
        cmocka_unit_test(choices_are_the_enums),
        cmocka_unit_test(choice_at),
        cmocka_unit_test(choices_unsaid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
