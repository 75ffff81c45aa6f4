/* links: hs_rules */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail_each.h"
#include "rules/rules.h"
#include "shipped_rules.h"

#define FIRST "heapsnap-rules 1\n"

static hs_status add_text(struct hs_rules *rules, const char *text, struct hs_error *err)
{
    const struct hs_rule_source source = {
        .name = "mine", .bytes = text, .n_bytes = strlen(text), .is_enabled = true};
    return hs_rules_add(rules, &source, err);
}

static struct hs_rules rules_of(const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_rules rules = {0};
    if (add_text(&rules, text, &err) != HS_OK)
        fail_msg("%s", err.message);
    return rules;
}

static bool glob(const char *pattern, const char *name)
{
    return hs_rules_glob(pattern, strlen(pattern), name, strlen(name));
}

static void a_star_is_any_text(void **state)
{
    assert_true(glob("abc", "abc"));
    assert_false(glob("abc", "abcd"));
    assert_false(glob("abcd", "abc"));
    assert_true(glob("a*c", "abbbc"));
    assert_false(glob("a*c", "abbbcd"));
    assert_true(glob("*", ""));
    assert_true(glob("a?c", "abc"));
    assert_false(glob("a?", "a"));
    assert_true(glob("*ab", "abab"));
    assert_true(glob("a**b*", "ab"));
    char name[4001];
    memset(name, 'a', 4000);
    name[4000] = '\0';
    assert_false(glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", name)); /* must not explode */
}

static void a_pattern_says_as_much_of_a_type_as_it_has(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool fits;
    } cases[] = {
        {"Ptr", "Ptr", true},
        {"Ptr", "a::b::Ptr<int>", true},
        {"Ptr", "a::Ptr<int>::node", false},
        {"Ptr", "a::PtrBase", false},
        {"::Ptr", "Ptr<int>", true},
        {"::Ptr", "a::Ptr<int>", false},
        {"my::Ptr<*>", "my::Ptr<Session>", true},
        {"my::Ptr<*>", "my::Ptr", false},
        {"my::Ptr<*>", "other::Ptr<Session>", false},
        {"my::Ptr", "my::Ptr<a::b>", true},
        {"my::Ptr", "my::inner::Ptr<a::b>", false},
        {"my::*::Ptr", "my::inner::Ptr<a::b>", true},
        {"my::*", "my::Ptr<a::b>", true},
        {"my::*", "my::inner::Ptr", false},
        {"*Ptr<int>", "x::MyPtr<int>", true},
        {"*Ptr<int>", "x::MyPtr<long>", false},
        {"List<*>::Link", "a::List<int>::Link", false}, /* it has a scope: all of it */
        {"*List<*>::Link", "a::List<int>::Link", true},
        {"Link", "a::List<std::pair<int, long>>::Link", true},
        {"*Lock", "boost::unique_lock<m>::Lock", true},
        {"*Lock", "app::Block<Lock>", false},
        {"X", "f(int)::X<(a)1>", true},
        {"X", "(anonymous namespace)::X", true},
    };
    char text[200];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(text, sizeof text, FIRST "type \"%s\" pointers find\n", cases[i].pattern);
        struct hs_rules rules = rules_of(text);
        bool fits = hs_rules_type(&rules, HS_RULE_FIND, HS_RULE_CPP, cases[i].name) != NULL;
        if (fits != cases[i].fits)
            fail_msg("'%s' of '%s'", cases[i].pattern, cases[i].name);
        assert_int_equal(hs_rule_is_of(&rules, &rules.rules[0], cases[i].name), fits);
        hs_rules_fini(&rules);
    }
    struct hs_rules scoped = rules_of(FIRST "type \"my::Ptr<*>\" pointers find");
    assert_true(hs_rules_may_type(&scoped, HS_RULE_FIND, HS_RULE_CPP, "Ptr<int>"));
    assert_false(hs_rules_may_type(&scoped, HS_RULE_FIND, HS_RULE_CPP, "Other<int>"));
    assert_false(hs_rules_may_type(&scoped, HS_RULE_OWN, HS_RULE_CPP, "Ptr<int>"));
    assert_false(hs_rules_may_type(NULL, HS_RULE_OWN, HS_RULE_CPP, "Ptr<int>"));
    hs_rules_fini(&scoped);
}

static void a_type_has_a_pattern(void **state)
{
    char text[24];
    assert_true(hs_rule_pattern_of("my::Ptr<a::b, 1>", text, sizeof text));
    assert_string_equal(text, "my::Ptr<*>");
    assert_true(hs_rule_pattern_of("List<int>::Link", text, sizeof text));
    assert_string_equal(text, "List<int>::Link");
    assert_false(hs_rule_pattern_of("a_name_of_just_24_letters", text, sizeof text));
}

static void a_line_is_a_rule(void **state)
{
    struct hs_rules rules =
        rules_of(FIRST "# a comment\n\n"
                       "  type \"a\" \"b<c d>\"\tpointers find # as weak_ptr\r\n"
                       "type \"Weak<*>\" pointers find when language rust\n"
                       "symbol \"_x#*\" in executable tier runtime");
    assert_int_equal(rules.n_rules, 3);
    assert_int_equal(rules.rules[0].line, 4);
    assert_int_equal(rules.rules[0].n_patterns, 2);
    assert_string_equal(rules.patterns[1].text, "b<c d>");
    assert_string_equal(hs_rule_subject(&rules.rules[2]), "symbol");
    assert_string_equal(hs_rule_says(&rules.rules[2]), "in executable tier runtime");
    assert_ptr_equal(hs_rules_type(&rules, HS_RULE_FIND, HS_RULE_RUST, "alloc::Weak<u8>"),
                     &rules.rules[1]);
    assert_null(hs_rules_type(&rules, HS_RULE_FIND, HS_RULE_CPP, "alloc::Weak<u8>"));
    assert_non_null(hs_rules_name(&rules, HS_RULE_EXECUTABLE, "_x#1"));
    assert_null(hs_rules_name(&rules, HS_RULE_SYMBOL, "_x#1"));

    char place[48];
    assert_int_equal(rules.n_numbered, 3); /* in their order; a rule that lowers nothing has none */
    assert_ptr_equal(hs_rules_numbered(&rules, 2), &rules.rules[1]);
    assert_null(hs_rules_numbered(&rules, 0));
    assert_null(hs_rules_numbered(&rules, 4));
    hs_rule_place(&rules, &rules.rules[1], place, sizeof place);
    assert_non_null(strstr(place, ".rules:5"));
    hs_rules_fini(&rules);
}

static void a_container_has_members(void **state)
{
    struct hs_rules rules = rules_of(
        FIRST "container \"my::Pool<*>\" at \"slots\" elements \"h->n\" less \"head\" room "
              "\"h->n_slots\"\ncontainer \"my::Pool\" at \"first\" nodes \"n\" when language "
              "c++\ncontainer \"V\" at \"a\" end \"b\" room-end \"c\"");
    const struct hs_rule *rule;
    char text[96];
    size_t at = 0;
    rule = hs_rules_type_next(&rules, HS_RULE_CONTAINER, HS_RULE_CPP, "my::Pool<int>", &at);
    assert_string_equal(rule->container.body, "slots");
    assert_int_equal(rule->container.by, HS_COUNT_NUMBER);
    hs_rule_text(rule, text, sizeof text);
    assert_string_equal(text, "at slots elements h->n less head room h->n_slots");
    rule = hs_rules_type_next(&rules, HS_RULE_CONTAINER, HS_RULE_CPP, "my::Pool<int>", &at);
    assert_int_equal(rule->container.by, HS_COUNT_NODES);
    assert_int_equal(rule->container.room_by, HS_ROOM_NONE);
    assert_null(hs_rules_type_next(&rules, HS_RULE_CONTAINER, HS_RULE_CPP, "my::Pool<int>", &at));
    at = 1;
    assert_null(hs_rules_type_next(&rules, HS_RULE_CONTAINER, HS_RULE_C, "my::Pool<int>", &at));
    assert_int_equal(rules.rules[2].container.room_by, HS_ROOM_END);
    assert_int_equal(rules.n_numbered, 0); /* it lowers nothing */
    assert_true(hs_rule_is_of(&rules, &rules.rules[0], "my::Pool<a::b>"));
    hs_rules_fini(&rules);
}

static void members_find(void **state)
{
    struct hs_rules rules =
        rules_of(FIRST "type \"my::Item\" \"item\" members \"owner\" \"next\" find\n"
                       "type \"my::Item\" members \"prev\" find when language rust\n");
    const struct hs_rule *rule =
        hs_rules_type(&rules, HS_RULE_FIND_MEMBERS, HS_RULE_CPP, "my::Item");
    char text[96];
    assert_ptr_equal(rule, &rules.rules[0]);
    assert_int_equal(rule->n_members, 2);
    assert_string_equal(rule->members[1], "next");
    hs_rule_text(rule, text, sizeof text);
    assert_string_equal(text, "members owner next find");
    assert_int_equal(rule->number, 1); /* it lowers words */
    assert_null(hs_rules_type(&rules, HS_RULE_FIND, HS_RULE_CPP, "my::Item"));
    assert_true(hs_rule_is_of(&rules, rule, "a::item"));
    hs_rules_fini(&rules);
}

static void a_class_has_words_by_its_library(void **state)
{
    struct hs_rules rules =
        rules_of(FIRST "class \"my::Node\" words 2 15 find when library \"libone.so*\"\n"
                       "class \"my::Node\" words 3 find\n");
    char text[96];
    const struct hs_rule *one = hs_rules_class(&rules, "my::Node", "libone.so.1");
    assert_ptr_equal(one, &rules.rules[0]);
    assert_int_equal(one->words, 1 << 2 | 1 << 15);
    hs_rule_text(one, text, sizeof text);
    assert_string_equal(text, "words 2 15 find when library libone.so*");
    assert_ptr_equal(hs_rules_class(&rules, "my::Node", "libtwo.so.1"), &rules.rules[1]);
    assert_null(hs_rules_class(&rules, "my::Other", "libone.so.1"));
    assert_non_null(hs_rules_class(&rules, NULL, "libtwo.so.1"));
    assert_null(hs_rules_class(NULL, "my::Node", "libone.so.1"));
    hs_rules_fini(&rules);
}

static void a_tree_has_a_header(void **state)
{
    struct hs_rules rules = rules_of(
        FIRST "owners \"a chunk\" header 48 parent 0 child 8 magic 40 0xfeed mask 0xffff when "
              "symbol \"a_free\"\nowners \"b\" header 16 end 0 child 8 when library \"libb.so*\"");
    const struct hs_rule *rule = &rules.rules[0];
    char text[160];
    assert_int_equal(rule->kind, HS_RULE_OWNERS);
    assert_int_equal(rule->tree.at[HS_TREE_HEADER], 48);
    assert_int_equal(rule->tree.at[HS_TREE_NEXT], HS_TREE_NONE);
    assert_int_equal(rule->tree.magic, 0xfeed);
    assert_string_equal(rule->if_symbol, "a_free");
    hs_rule_text(rule, text, sizeof text);
    assert_string_equal(text, "by parent 0 child 8 magic 40 header 48 is 0xfeed mask 0xffff when "
                              "symbol a_free");
    assert_string_equal(rules.rules[1].in_library, "libb.so*");
    assert_int_equal(rules.n_numbered, 0);
    hs_rules_fini(&rules);
}

static void cells_are_told_by_their_words(void **state)
{
    struct hs_rules rules = rules_of(
        FIRST "cells \"a cell\" block 16384 first 32 class 1 header 16 size 8 next 0 magic 0 "
              "0xef0000ef mask 0xff0000ff when symbol \"a_alloc\"\n"
              "cells \"b\" block 38400 cell 48 next 32 count 0 when library \"libb.so*\"\n");
    const struct hs_rule_cells *one = &rules.rules[0].cells, *other = &rules.rules[1].cells;
    char text[200];
    assert_int_equal(rules.rules[0].kind, HS_RULE_CELLS);
    assert_int_equal(one->at[HS_CELLS_BLOCK], 16384);
    assert_int_equal(one->at[HS_CELLS_CELL], HS_CELLS_NONE);
    assert_int_equal(one->mask, 0xff0000ff);
    hs_rule_text(&rules.rules[0], text, sizeof text);
    assert_string_equal(text, "in block 16384 first 32 class 1 header 16 size 8 next 0 magic 0 is "
                              "0xef0000ef mask 0xff0000ff when symbol a_alloc");
    assert_int_equal(other->at[HS_CELLS_CELL], 48);
    assert_int_equal(other->at[HS_CELLS_COUNT], 0);
    assert_string_equal(rules.rules[1].in_library, "libb.so*");
    assert_int_equal(rules.n_numbered, 0); /* they lower nothing */
    hs_rules_fini(&rules);
}

static void a_handle_lists_records(void **state)
{
    struct hs_rules rules = rules_of(
        FIRST "handle \"my_db\" \"my::Db\" lists \"my_cursor\" first 8 next 4088 back 0\n");
    const struct hs_rule *rule = hs_rules_type(&rules, HS_RULE_HANDLE, HS_RULE_C, "my::Db");
    char text[96];
    assert_ptr_equal(rule, &rules.rules[0]);
    assert_string_equal(rule->value, "my_cursor");
    assert_int_equal(rule->chain.first, 8);
    assert_int_equal(rule->chain.next, 4088);
    assert_int_equal(rule->chain.back, 0);
    hs_rule_text(rule, text, sizeof text);
    assert_string_equal(text, "lists my_cursor first 8 next 4088 back 0");
    assert_true(hs_rule_is_of(&rules, rule, "a::my_db"));
    assert_int_equal(rules.n_numbered, 0); /* it lowers nothing */
    hs_rules_fini(&rules);
}

static void a_record_is_told_by_its_words(void **state)
{
    struct hs_rules rules = rules_of(
        FIRST "record \"my node\" bytes 48 more magic 8 5 mask 0xff leads 0 40 block 16 code 24 "
              "self 32 48 finds 0 8 member 16 \"body\" to \"a body\" member 40 \"next\" "
              "when symbol \"my_new\"\n");
    const struct hs_rule *rule = &rules.rules[0];
    char text[256];
    assert_int_equal(rule->kind, HS_RULE_RECORD);
    assert_true(rule->record.is_more);
    assert_int_equal(rule->words, 3);
    assert_string_equal(rule->if_symbol, "my_new");
    hs_rule_text(rule, text, sizeof text);
    assert_string_equal(text,
                        "bytes 48 more magic 8 0x5 mask 0xff leads 0 leads 40 block 16 code 24 "
                        "self 32 48 finds 0 finds 8 member 16 body to a body member 40 next when "
                        "symbol my_new");
    assert_int_equal(rules.n_numbered, 0);
    hs_rules_fini(&rules);
}

static void an_interpreter_is_told_by_its_variable(void **state)
{
    struct hs_rules rules = rules_of(FIRST "library \"libfoo.so*\" interpreter \"foo_state\"\n"
                                           "library \"*.foo.so\" tier extension\n"
                                           "symbol \"foo_*\" in interpreted tier runtime\n");
    const struct hs_rule *rule = hs_rules_name(&rules, HS_RULE_INTERPRETER, "libfoo.so.2");
    assert_string_equal(rule->value, "foo_state");
    assert_non_null(hs_rules_name(&rules, HS_RULE_EXTENSION, "json.foo.so"));
    assert_non_null(hs_rules_name(&rules, HS_RULE_INTERPRETED, "foo_none"));
    assert_null(hs_rules_name(&rules, HS_RULE_SYMBOL, "foo_none"));
    hs_rules_fini(&rules);
}

struct wrong {
    const char *text, *said;
};

/* Checks that each text is refused, and so. */
static void are_refused(const struct wrong *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_rules rules = {0};
        assert_int_equal(add_text(&rules, cases[i].text, &err), HS_USAGE);
        if (strstr(err.message, cases[i].said) == NULL)
            fail_msg("'%s' says '%s'", cases[i].text, err.message);
        hs_rules_fini(&rules);
    }
}

static void a_fault_has_line_column_and_reason(void **state)
{
    static const struct wrong cases[] = {
        {"", "line 1, column 1: the first line must be 'heapsnap-rules 1'"},
        {"type \"a\" pointers find\n", "line 1, column 1: the first line"},
        {"heapsnap-rules 2\n", "line 1, column 16: rules of version '2'"},
        {FIRST "type \"a pointers find\n", "line 2, column 6: this quote is not closed"},
        {FIRST "type \"a\"pointers find\n", "line 2, column 9: a blank must follow"},
        {FIRST "type a\"b\" pointers find\n", "line 2, column 7: a quote within a word"},
        {FIRST "typ \"a\" pointers find\n", "line 2, column 1: 'typ' is no rule: expected 'type'"},
        {FIRST "\"type\" \"a\" pointers find\n", "line 2, column 1: 'type' is no rule"},
        {FIRST "type pointers find\n", "line 2, column 6: a name in quotes is missing"},
        {FIRST "type\n", "line 2, column 5: a name in quotes is missing"},
        {FIRST "type \"**\" pointers find\n", "line 2, column 6: a pattern of no letter"},
        {FIRST "type \"\" pointers find\n", "line 2, column 6: a pattern of no letter"},
        {FIRST "type \"a\" pointers keep\n", "line 2, column 19: nothing is said so of a type"},
        {FIRST "type \"a\" tier firm\n", "line 2, column 10: nothing is said so of a type"},
        {FIRST "library \"a\" tier firm\n", "line 2, column 18: nothing is said so of a library"},
        {FIRST "library \"a\" tier\n", "line 2, column 17: the line ends too early"},
        {FIRST "library \"a\" in executable tier runtime\n", "line 2, column 13: 'in' is of a"},
        {FIRST "symbol \"a\" in memory tier runtime\n", "line 2, column 15: 'memory' is no place"},
        {FIRST "type \"a\" pointers find when\n", "line 2, column 28: condition is missing"},
        {FIRST "type \"a\" pointers find if x\n", "line 2, column 24: 'if' follows the end"},
        {FIRST "type \"a\" pointers find when language d\n", "column 38: 'd' is no language"},
        {FIRST "library \"a\" tier runtime when language c\n", "is of a type"},
        {FIRST "type \"a\x01\" pointers find\n", "line 2, column 8: a byte 0x01"},
        {FIRST "container \"a\" elements \"n\"\n",
         "column 15: 'elements' is no place: expected 'at'"},
        {FIRST "container \"a\" at n\n", "line 2, column 18: a member in quotes is missing"},
        {FIRST "container \"a\" at \"a..b\" elements \"n\"\n", "column 18: members are"},
        {FIRST "container \"a\" at \"a-b\" elements \"n\"\n", "column 18: members are"},
        {FIRST "container \"a\" at \"a->\" elements \"n\"\n", "column 18: members are"},
        {FIRST "container \"a\" at \"a\" items \"n\"\n", "column 22: 'items' is no count"},
        {FIRST "container \"a\" at \"a\" elements\n", "column 30: a member in quotes is missing"},
        {FIRST "container \"a\" at \"a\" end \"n\"\n", "column 29: 'end' needs 'room-end'"},
        {FIRST "container \"a\" at \"a\" nodes \"n\" room-end \"m\"\n", "'room-end' is not of"},
        {FIRST "container \"a\" at \"a\" end \"n\" less \"m\" room-end \"o\"\n",
         "'less' is not of"},
        {FIRST "container \"a\" at \"a\" nodes \"n\" lots \"m\"\n", "'lots' follows the end"},
        {FIRST "library \"a\" interpreter b\n", "column 25: nothing is said so of a library"},
        {FIRST "owners \"a\" header 16 parent 0 when symbol \"f\"\n", "nothing tells its blocks"},
        {FIRST "owners \"a\" parent 0 child 8 when symbol \"f\"\n", "'header' is missing"},
        {FIRST "owners \"a\" header 16 child 16 end 0 when symbol \"f\"\n",
         "'child 16' is behind the header of 16 bytes"},
        {FIRST "owners \"a\" header 16 parent 8 end 0 held 24 when symbol \"f\"\n",
         "'held' needs 'end' and 'child'"},
        {FIRST "owners \"a\" header 16 next 8 end 0 when symbol \"f\"\n", "'parent' or 'child'"},
        {FIRST "owners \"a\" header 24 parent 0 next 8 end 16 when symbol \"f\"\n",
         "'next' needs 'child'"},
        {FIRST "owners \"a\" header 16 child 4\n", "column 28: '4' is no multiple of 8 up to 504"},
        {FIRST "owners \"a\" header 520\n", "column 19: '520' is no multiple of 8 up to 512"},
        {FIRST "owners \"a\" header 16 header 16\n", "column 22: 'header' is said twice"},
        {FIRST "owners \"a\" header 16 left 8\n", "column 22: 'left' is no word of a header"},
        {FIRST "owners \"a\" header\n", "column 18: a number is missing"},
        {FIRST "owners \"a\" magic 0 0x100000000\n", "column 20: '0x100000000' is no number"},
        {FIRST "owners \"a\" \"b\" header 16\n", "column 12: a tree of owners has one name"},
        {FIRST "owners \"a\" header 16 child 8 end 0\n", "column 35: 'when symbol' or"},
        {FIRST "owners \"a\" header 16 child 8 end 0 when symbol \"f*\"\n",
         "column 50: a name of one symbol, without '*'"},
        {FIRST "owners \"a\" header 16 child 8 end 0 when language c\n", "is no condition"},
        {FIRST "class \"a\" 2 find\n", "column 11: '2' is no part of a class"},
        {FIRST "type \"a\" members find\n", "column 18: a member in quotes is missing"},
        {FIRST "type \"a\" members \"b\" keep\n", "column 22: 'keep' is no end of members"},
        {FIRST "type \"a\" members \"b.c\" find\n", "'b.c' is no member of the record's own"},
        {FIRST "type \"a\" members \"b\" \"c\" \"d\" \"e\" \"f\" find\n",
         "column 34: more than 4 members"},
        {FIRST "class \"a\" words find\n", "line 2, column 17: a number is missing"},
        {FIRST "class \"a\" words 16 find\n", "column 17: '16' is no number up to 15"},
        {FIRST "class \"a\" words 1x find\n", "column 17: '1x' is no number"},
        {FIRST "class \"a\" words 1 keep\n", "column 19: 'keep' is no end of a class"},
        {FIRST "class \"a\" words 1 find when language c\n", "'language' is no condition"},
        {FIRST "class \"a\" words 1 find when library b\n", "column 37: a name in quotes"},
    };
    are_refused(cases, sizeof cases / sizeof *cases);
}

static void a_fault_of_cells_has_them_too(void **state)
{
    static const struct wrong cases[] = {
        {FIRST "cells \"a\" cell 48 next 0 count 8 when symbol \"f\"\n", "'block' is missing"},
        {FIRST "cells \"a\" block 96 next 0 count 8 when symbol \"f\"\n", "either 'cell', or"},
        {FIRST "cells \"a\" block 96 cell 48 first 16 next 0 count 8 when symbol \"f\"\n",
         "either 'cell', or"},
        {FIRST "cells \"a\" block 96 first 48 class 1 next 0 count 8 when symbol \"f\"\n",
         "'class' needs 'magic'"},
        {FIRST "cells \"a\" block 96 cell 48 next 0 when symbol \"f\"\n", "one of 'count' and"},
        {FIRST "cells \"a\" block 96 cell 48 next 48 count 0 when symbol \"f\"\n",
         "'next 48' is behind a cell of 48 bytes"},
        {FIRST "cells \"a\" block 96 cell 48 header 48 next 0 count 8 when symbol \"f\"\n",
         "a header of 48 bytes in a cell of 48"},
        {FIRST "cells \"a\" block 32 cell 48 next 0 count 8 when symbol \"f\"\n",
         "cells of 48 bytes in blocks of 32"},
        {FIRST "cells \"a\" block 65552\n", "'65552' is no multiple of 16 up to 65536"},
        {FIRST "cells \"a\" block 96 room 8\n", "'room' is no word of cells"},
        {FIRST "cells \"a\" block 96 block 96\n", "'block' is said twice"},
        {FIRST "cells \"a\" \"b\" block 96\n", "cells have one name"},
        {FIRST "cells \"a\" block 96 cell 48 next 0 count 8\n", "'when symbol' or"},
    };
    are_refused(cases, sizeof cases / sizeof *cases);
}

static void a_fault_of_a_handle_has_them_too(void **state)
{
    static const struct wrong cases[] = {
        {FIRST "handle \"a\" first 8\n", "column 12: 'first' is no part of a handle"},
        {FIRST "handle \"a\" lists b\n", "column 18: a name in quotes is missing"},
        {FIRST "handle \"a\" lists \"\"\n", "column 18: a name of 1 to 64 bytes is needed"},
        {FIRST "handle \"a\" lists \"b\" next 8\n", "'next' stands where 'first' must"},
        {FIRST "handle \"a\" lists \"b\" first 8\n", "column 29: 'next' is missing"},
        {FIRST "handle \"a\" lists \"b\" first 4\n", "'4' is no multiple of 8 up to 4088"},
        {FIRST "handle \"a\" lists \"b\" first 8 next 8 back 8\n", "'next' and 'back' are one"},
        {FIRST "handle \"a\" lists \"b\" first 8 next 8 back 0 when language c\n",
         "'when language' is of a type"},
    };
    are_refused(cases, sizeof cases / sizeof *cases);
}

static void a_fault_of_a_record_has_them_too(void **state)
{
    static const struct wrong cases[] = {
        {FIRST "record \"a\" size 8\n", "column 12: 'size' is no part of a record"},
        {FIRST "record \"a\" \"b\" bytes 8\n", "column 12: a record has one name"},
        {FIRST "record \"a\" bytes 2000000\n", "'2000000' is no number up to 1048576"},
        {FIRST "record \"a\" bytes 8 back 0\n", "'back' is no part of a record"},
        {FIRST "record \"a\" bytes 8 code 8\n", "'8' is no multiple of 8 up to 0"},
        {FIRST "record \"a\" bytes 4 code 0\n", "a record of 4 bytes has no such word"},
        {FIRST "record \"a\" bytes 8 magic 2 1\n", "'2' is no multiple of 4 up to 4"},
        {FIRST "record \"a\" bytes 8 self 0 9\n", "'9' is no number up to 8"},
        {FIRST "record \"a\" bytes 8 self 0 0 finds 128\n", "no multiple of 8 up to 120"},
        {FIRST "record \"a\" bytes 16 member 8 b\n", "a name in quotes is missing"},
        {FIRST "record \"a\" bytes 16 member 8 \"b\" member 8 \"c\"\n", "in the order of"},
        {FIRST "record \"a\" bytes 16 leads 0 8 when symbol \"f\"\n", "nothing tells its blocks"},
        {FIRST "record \"a\" bytes 8 code 0\n", "'when symbol' or 'when library' is missing"},
        {FIRST "record \"a\" bytes 8 magic 0 0 magic 0 0 magic 0 0 magic 0 0 magic 0 0\n",
         "more than 4 of 'magic'"},
    };
    are_refused(cases, sizeof cases / sizeof *cases);
}

static void what_is_too_much_is_refused(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_rules rules = {0};
    char text[2 * HS_RULES_MAX_LINE_BYTES], pattern[HS_RULES_MAX_PATTERN_BYTES + 2];
    memset(pattern, 'a', sizeof pattern - 1);
    pattern[sizeof pattern - 1] = '\0';
    (void)snprintf(text, sizeof text, FIRST "type \"%s\" pointers find", pattern);
    assert_int_equal(add_text(&rules, text, &err), HS_USAGE);
    assert_non_null(strstr(err.message, "a pattern of more than"));
    size_t n = (size_t)snprintf(text, sizeof text, FIRST "type");
    for (int i = 0; i < HS_RULES_MAX_WORDS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " \"a\"");
    assert_int_equal(add_text(&rules, text, &err), HS_USAGE);
    assert_non_null(strstr(err.message, "words"));
    memset(text, ' ', sizeof text);
    memcpy(text, FIRST, strlen(FIRST));
    text[sizeof text - 1] = '\0';
    assert_int_equal(add_text(&rules, text, &err), HS_USAGE);
    assert_non_null(strstr(err.message, "a line of more than"));
    hs_rules_fini(&rules);
}

static hs_status count_faults(void *context, const struct hs_rule_fault *fault,
                              struct hs_error *err)
{
    unsigned *n = context;
    assert_true(fault->line != 0 && fault->column != 0 && fault->reason[0] != '\0');
    ++*n;
    return HS_OK;
}

static void all_faults_of_a_file_are_told(void **state)
{
    static const char text[] = FIRST "typ\ntype \"a\" pointers find\ntype \"b\"\n";
    struct hs_error err = HS_ERROR_INIT;
    struct hs_rules rules = {0};
    unsigned n = 0;
    const struct hs_rule_source source = {.name = "mine",
                                          .bytes = text,
                                          .n_bytes = sizeof text - 1,
                                          .is_enabled = true,
                                          .told = count_faults,
                                          .context = &n};
    assert_int_equal(hs_rules_add(&rules, &source, &err), HS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(rules.n_rules, 1);
    hs_rules_fini(&rules);
}

/* ---- files */

struct home {
    char path[64], rules[128];
};

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void home_make(struct home *home)
{
    char part[160];
    (void)snprintf(home->path, sizeof home->path, "/tmp/heapsnap-rules.XXXXXX");
    assert_non_null(mkdtemp(home->path));
    (void)snprintf(part, sizeof part, "%s/heapsnap", home->path);
    assert_int_equal(mkdir(part, 0700), 0);
    (void)snprintf(home->rules, sizeof home->rules, "%s/heapsnap/rules.d", home->path);
    assert_int_equal(mkdir(home->rules, 0700), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", home->path, 1), 0);
}

static void home_file(const struct home *home, const char *name, const char *text, mode_t mode)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", home->rules, name);
    write_file(path, text, mode);
}

static void home_remove(const struct home *home)
{
    static const char *const names[] = {"house.rules", "qt.rules", "notes.txt"};
    char path[200];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", home->rules, names[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/heapsnap", home->path);
    assert_int_equal(rmdir(home->rules), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(home->path), 0);
    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

static bool is_weak(const struct hs_rules *rules, const char *name)
{
    return hs_rules_type(rules, HS_RULE_FIND, HS_RULE_CPP, name) != NULL;
}

static void the_users_files_come_before_the_shipped_ones(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_rules rules, others;
    struct home home;
    char text[256];
    home_make(&home);
    home_file(&home, "house.rules", FIRST "type \"house::Ref<*>\" pointers find\n", 0600);
    home_file(&home, "qt.rules", FIRST, 0644); /* replaces the shipped one */
    home_file(&home, "notes.txt", "not of these", 0600);
    assert_int_equal(hs_rules_load(NULL, 0, &rules, &err), HS_OK);
    assert_string_equal(rules.sets[0].name, "house");
    assert_true(is_weak(&rules, "house::Ref<int>"));
    assert_true(is_weak(&rules, "std::weak_ptr<int>"));
    assert_false(is_weak(&rules, "QWeakPointer<int>"));
    hs_rules_tell(&rules, text, sizeof text);
    assert_non_null(strstr(text, ", of the user house, qt"));
    static const char *const off[] = {"-house,-std"};
    assert_int_equal(hs_rules_load(off, 1, &others, &err), HS_OK);
    assert_false(is_weak(&others, "house::Ref<int>"));
    assert_false(is_weak(&others, "std::weak_ptr<int>"));
    assert_true(is_weak(&others, "WTF::WeakPtr<int>"));
    assert_true(others.hash != rules.hash);
    hs_rules_fini(&others);
    static const char *const back[] = {"-all", "+std"};
    assert_int_equal(hs_rules_load(back, 2, &others, &err), HS_OK);
    assert_true(is_weak(&others, "std::weak_ptr<int>"));
    assert_false(is_weak(&others, "WTF::WeakPtr<int>"));
    hs_rules_fini(&others);
    hs_rules_fini(&rules);
    home_remove(&home);
}

static void wrong_files_are_told(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_rules rules = {0};
    struct home home;
    char path[200];
    home_make(&home);
    home_file(&home, "house.rules", FIRST "type\n", 0600);
    assert_int_equal(hs_rules_load(NULL, 0, &rules, &err), HS_USAGE);
    assert_non_null(strstr(err.message, "house.rules', line 2, column 5"));
    static const char *const off[] = {"-house"};
    assert_int_equal(hs_rules_load(off, 1, &rules, &err), HS_OK); /* need not be sound */
    hs_rules_fini(&rules);
    home_file(&home, "house.rules", FIRST, 0666);
    assert_int_equal(hs_rules_load(NULL, 0, &rules, &err), HS_IO);
    assert_non_null(strstr(err.message, "everybody may write it"));
    home_file(&home, "house.rules", FIRST, 0600);
    static const char *const unknown[] = {"-stt"};
    assert_int_equal(hs_rules_load(unknown, 1, &rules, &err), HS_USAGE);
    assert_non_null(strstr(err.hint, "'std'"));
    static const char *const absent[] = {"/nonexistent/x.rules"};
    assert_int_equal(hs_rules_load(absent, 1, &rules, &err), HS_IO);
    (void)snprintf(path, sizeof path, "%s/house.rules", home.rules);
    const char *const named[] = {path};
    assert_int_equal(hs_rules_load(named, 1, &rules, &err), HS_OK);
    assert_string_equal(rules.sets[0].name, "house");
    assert_string_equal(rules.sets[1].name, "allocators"); /* once, although it is the user's too */
    hs_rules_fini(&rules);
    home_remove(&home);
}

static void nothing_is_left_when_memory_runs_out(void **state)
{
    struct home home;
    home_make(&home);
    home_file(&home, "house.rules", FIRST "type \"house::Ref<*>\" pointers find\n", 0600);
    FAIL_EACH (f, .at_least = 20) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_rules rules = {0};
        (void)FAIL_EACH_TRY(f, hs_rules_load(NULL, 0, &rules, &err));
        hs_rules_fini(&rules);
    }
    home_remove(&home);
}

static void shipped_rules_are_sound(void **state)
{
    const struct hs_rules *rules = shipped_rules();
    assert_true(rules->n_sets >= 5 && rules->n_rules >= 40);
    for (size_t i = 0; i < HS_N_RULE_KINDS; i++)
        assert_true(rules->of[i].n != 0); /* each directive has a user */
    assert_true(is_weak(rules, "std::weak_ptr<int>"));
    assert_true(is_weak(rules, "std::__weak_ptr<int, (__gnu_cxx::_Lock_policy)2>"));
    assert_false(is_weak(rules, "alloc::sync::Weak<u8>"));
    assert_non_null(hs_rules_type(rules, HS_RULE_FIND, HS_RULE_RUST, "alloc::sync::Weak<u8>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_star_is_any_text),
        cmocka_unit_test(a_pattern_says_as_much_of_a_type_as_it_has),
        cmocka_unit_test(a_type_has_a_pattern),
        cmocka_unit_test(a_line_is_a_rule),
        cmocka_unit_test(a_container_has_members),
        cmocka_unit_test(members_find),
        cmocka_unit_test(a_class_has_words_by_its_library),
        cmocka_unit_test(a_tree_has_a_header),
        cmocka_unit_test(a_handle_lists_records),
        cmocka_unit_test(cells_are_told_by_their_words),
        cmocka_unit_test(a_record_is_told_by_its_words),
        cmocka_unit_test(a_fault_of_a_record_has_them_too),
        cmocka_unit_test(an_interpreter_is_told_by_its_variable),
        cmocka_unit_test(a_fault_has_line_column_and_reason),
        cmocka_unit_test(a_fault_of_a_handle_has_them_too),
        cmocka_unit_test(a_fault_of_cells_has_them_too),
        cmocka_unit_test(what_is_too_much_is_refused),
        cmocka_unit_test(all_faults_of_a_file_are_told),
        cmocka_unit_test(the_users_files_come_before_the_shipped_ones),
        cmocka_unit_test(wrong_files_are_told),
        cmocka_unit_test(nothing_is_left_when_memory_runs_out),
        cmocka_unit_test(shipped_rules_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
