/* links: hs_tools_lib hs_analysis */
/* What a user types: lines as the words of a command line, and each as a number with a unit, an
 * address and a WHAT. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/object_lookup.h"
#include "base/units.h"
#include "made_view.h"
#include "tools/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_WORDS = 24, MAX_TEXT_BYTES = 4096 };

static struct made_view made;

static void close_made(void)
{
    made_view_close(&made);
}

static void make_heap(void)
{
    struct hs_graph_builder *b = &made.builder;
    uint32_t blocks = hs_graph_builder_blocks(b, 12, 3);
    b->blocks[blocks].type = hs_graph_builder_type(b, "string", 252, HS_FORM_STRING);
    for (uint32_t i = 0; i + 1 < 12; i++)
        hs_graph_builder_edge(b, blocks + i, blocks + i + 1, HS_EDGE_EXACT);
    for (uint32_t i = 0; i < 12; i++) { /* more of one name than are listed */
        hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "prog", i % 2 == 0 ? "A" : "B", "A.same",
                              blocks + i);
    }
    hs_graph_builder_leaf(b, HS_ROOT_STACK, "thread 7", "#1 main", "slot", blocks);
    hs_graph_builder_sample(b, 1234, blocks + 3);
    made_view_open(&made);
    (void)atexit(close_made);
}

/* Bad input is always said in one line. */
static void check_refusal(hs_status status, const struct hs_error *err)
{
    assert(status == HS_USAGE);
    assert(err->message[0] != '\0' && strlen(err->message) < sizeof err->message);
}

typedef hs_status (*parse)(const char *text, uint64_t *ret, struct hs_error *err);

/* A number of digits alone is itself; any other form is refused or larger. */
static void fuzz_number(const char *text)
{
    static const parse parsers[] = {hs_parse_count, hs_parse_size, hs_parse_duration,
                                    hs_parse_address};
    char again[HS_UNIT_TEXT_BYTES];
    for (size_t i = 0; i < sizeof parsers / sizeof parsers[0]; i++) {
        struct hs_error err = HS_ERROR_INIT;
        uint64_t value = 77, same = 0;
        hs_status status = parsers[i](text, &value, &err);
        if (status != HS_OK) {
            assert(value == 77);
            check_refusal(status, &err);
            continue;
        }
        snprintf(again, sizeof again,
                 i == 3   ? "0x%llx"
                 : i == 2 ? "%lluns"
                          : "%llu",
                 (unsigned long long)value);
        assert(parsers[i](again, &same, &err) == HS_OK && same == value);
        hs_format_bytes(value, again);
        assert(strlen(again) < sizeof again);
        hs_format_duration(value, again);
        assert(strlen(again) < sizeof again);
    }
}

static void fuzz_what(const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_object_spec what = {.n_nodes = 77}, same = {0};
    char node[32];
    hs_status status = hs_object_lookup(&made.view, text, &what, &err);
    if (status != HS_OK) {
        assert(what.n_nodes == 77);
        check_refusal(status, &err);
        return;
    }
    assert(what.n_nodes >= 1 && what.n_nodes <= HS_OBJECT_INSTANCES);
    assert(what.kind == HS_OBJECT_TYPE || what.n_nodes == 1);
    for (unsigned i = 0; i < what.n_nodes; i++) {
        assert(what.nodes[i] < made.view.n_nodes);
        snprintf(node, sizeof node, "#%lu", (unsigned long)what.nodes[i]);
        assert(hs_object_lookup(&made.view, node, &same, &err) == HS_OK);
        assert(same.nodes[0] == what.nodes[i]);
    }
}

static void fuzz_command(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_invocation inv = {0};
    const char *list[HS_MAX_REPEATED];
    hs_status status = hs_parse(argc, argv, &inv, &err);
    if (status != HS_OK) {
        check_refusal(status, &err);
        return;
    }
    if (inv.command == NULL)
        return;
    for (int id = 0; id < HS_N_OPTIONS; id++)
        assert(!inv.given[id] || hs_takes(inv.command, id));
    assert(inv.n_arguments <= HS_MAX_ARGUMENTS && inv.n_repeated <= HS_MAX_REPEATED);
    /* Those of a command that runs another program are that program's. */
    unsigned n = hs_takes_rest(inv.command) ? inv.n_rest : inv.n_arguments;
    assert(inv.n_arguments <= inv.command->max_arguments);
    assert(!hs_takes_rest(inv.command) || inv.n_arguments == 0);
    assert(inv.wants_help || inv.wants_short_help || n >= inv.command->min_arguments);
    for (int id = 0; id < HS_N_OPTIONS; id++) {
        enum hs_option_kind kind = hs_options[id].kind;
        if (!hs_given(&inv, (enum hs_option_id)id))
            continue;
        assert((kind == HS_OPTION_REPEATED) ==
               (hs_repeated(&inv, (enum hs_option_id)id, list) > 0));
        if (kind == HS_OPTION_TEXT || kind == HS_OPTION_CHOICE || kind == HS_OPTION_CHOICES)
            assert(inv.text[id] != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static char text[MAX_TEXT_BYTES + 1];
    char *argv[MAX_WORDS + 1] = {(char *)"heapsnap"};
    int argc = 1;
    if (made.view.snap == NULL)
        make_heap();
    size_t n = n_bytes < MAX_TEXT_BYTES ? n_bytes : MAX_TEXT_BYTES;
    if (n != 0)
        memcpy(text, bytes, n);
    text[n] = '\0';
    for (char *word = text; word != NULL && argc < MAX_WORDS;) {
        argv[argc++] = word;
        word = strchr(word, '\n');
        if (word != NULL)
            *word++ = '\0';
    }
    argv[argc] = NULL;
    for (int i = 1; i < argc; i++) {
        fuzz_number(argv[i]);
        fuzz_what(argv[i]);
    }
    fuzz_command(argc, argv);
    return 0;
}
