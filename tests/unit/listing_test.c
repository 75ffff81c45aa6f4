/* links: hs_report */
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "report/listing.h"

struct line {
    const char *name;
    uint64_t words, id, address, is_sure, tag;
    const struct hs_list *parts, *holder;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(3, STRING, name, "NAME", HS_COLUMN_FLEXIBLE),
    HS_FIELD(NODE, id),
    HS_COLUMN(1, WORDS, words, "WORDS", HS_COLUMN_SUMMED),
    HS_COLUMN_AS("percent", 2, PERCENT, words, "%", HS_COLUMN_TABLE_ONLY),
    HS_FIELD(ADDRESS, address),
    HS_COLUMN(4, BOOL, is_sure, "SURE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(5, COUNT, tag, "TAG", HS_COLUMN_NOT_JSON),
    HS_FIELD(LIST, parts),
    HS_FIELD_AS("held_by", ONE, holder),
};
static const struct hs_record record = HS_RECORD(fields);

static hs_status put_parts(void *context, struct hs_sink *sink, struct hs_error *err)
{
    HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_COUNT(NULL, 7)), err));
    return hs_sink_pairs(sink, HS_PAIRS(HS_TEXT(NULL, "x")), err);
}

static hs_status put_holder(void *context, struct hs_sink *sink, struct hs_error *err)
{
    return hs_sink_pairs(sink, HS_PAIRS(HS_VALUE("id", NODE, 3), HS_VALUE("at", NODE, HS_NO_NODE)),
                         err);
}

static hs_status put_nothing(void *context, struct hs_sink *sink, struct hs_error *err)
{
    return HS_OK;
}

static const struct hs_list parts = {.each = put_parts, .is_line = true};
static const struct hs_list holder = {.each = put_holder};
static const struct hs_list nobody = {.each = put_nothing};

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct line known = {"a", 30, 1, 0x10, 1, 4, &parts, &holder};
    struct line unknown = {NULL, HS_UNKNOWN, HS_NO_NODE, HS_UNKNOWN,
                           0,    HS_UNKNOWN, &nobody,    &nobody};
    HS_TRY(hs_sink_row(sink, &known, err));
    HS_TRY(hs_sink_row(sink, &unknown, err));
    hs_sink_others(sink, 2, &(struct line){.words = 60});
    hs_sink_close(sink, &(struct line){.name = "[lost]", .words = 10, .tag = HS_UNKNOWN});
    return HS_OK;
}

static hs_status refuse(void *context, struct hs_sink *sink, struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "no rows");
}

static const struct hs_list rows = {.record = &record, .each = put_rows};
static const struct hs_list broken = {.record = &record, .each = refuse};

static hs_status render(const struct hs_list *list, enum hs_sheet_format format, bool is_one,
                        char text[4096])
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    int ends[2];
    const struct hs_listing listing = {
        .rows = list,
        .is_one = is_one,
        .whole = 100,
        .document = HS_PAIRS(HS_TEXT("schema", "x/1"), HS_ROWS("rows", list), HS_OBJECT("others"),
                             HS_COUNT("count", 2), HS_VALUE("share", PERCENT, 60), HS_END,
                             HS_BLOCK("block"), HS_COUNT("n", HS_UNKNOWN), HS_END,
                             HS_ROWS("no", NULL), HS_ONE("none", NULL)),
    };
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(hs_out_open_fd(ends[1], "pipe", &out, &err), HS_OK);
    hs_status status =
        hs_listing_write(&listing, (struct hs_sheet_options){.format = format}, &out, &err);
    if (status == HS_OK)
        status = hs_out_commit(&out, &err);
    hs_out_close(&out);
    (void)close(ends[1]);
    ssize_t n = read(ends[0], text, 4095);
    (void)close(ends[0]);
    text[n < 0 ? 0 : n] = '\0';
    return status;
}

static void assert_rendered(enum hs_sheet_format format, bool is_one, const char *expected)
{
    char text[4096];
    assert_int_equal(render(&rows, format, is_one, text), HS_OK);
    assert_string_equal(text, expected);
}

static void test_table(void **state)
{
    assert_rendered(HS_SHEET_TABLE, false,
                    "WORDS      %  NAME        TAG\n"
                    "   30  30.0%  a             4\n"
                    "    -      -  -             -\n"
                    "   60         [2 others]\n"
                    "   10  10.0%  [lost]\n"
                    "  100         TOTAL\n");
}

static void test_tsv(void **state)
{
    assert_rendered(HS_SHEET_TSV, false,
                    "words\tname\tis_sure\ttag\n30\ta\ttrue\t4\n\t\tfalse\t\n");
}

#define FIRST                                                                           \
    "{\"name\":\"a\",\"id\":\"#1\",\"words\":30,\"address\":\"0x10\",\"is_sure\":true," \
    "\"parts\":[7,\"x\"],\"held_by\":{\"id\":\"#3\",\"at\":null}}"
#define SECOND                                                                      \
    "{\"name\":null,\"id\":null,\"words\":null,\"address\":null,\"is_sure\":false," \
    "\"parts\":[],\"held_by\":null}"

static void test_ndjson(void **state)
{
    assert_rendered(HS_SHEET_NDJSON, false, FIRST "\n" SECOND "\n");
    assert_rendered(HS_SHEET_NDJSON, true,
                    "{\"schema\":\"x/1\",\"rows\":[" FIRST "," SECOND
                    "],\"others\":{\"count\":2,\"share\":60.00},\"block\":{\"n\":null},\"no\":null,"
                    "\"none\":null}\n");
}

static void test_json(void **state)
{
    assert_rendered(
        HS_SHEET_JSON, false,
        "{\n  \"schema\": \"x/1\",\n  \"rows\": [\n"
        "    { \"name\": \"a\", \"id\": \"#1\", \"words\": 30, \"address\": \"0x10\", \"is_sure\": "
        "true, \"parts\": [7, \"x\"], \"held_by\": { \"id\": \"#3\", \"at\": null } },\n"
        "    { \"name\": null, \"id\": null, \"words\": null, \"address\": null, \"is_sure\": "
        "false, \"parts\": [], \"held_by\": null }\n"
        "  ],\n  \"others\": { \"count\": 2, \"share\": 60.00 },\n"
        "  \"block\": {\n    \"n\": null\n  },\n  \"no\": null,\n  \"none\": null\n}\n");
}

/* Rows that cannot be had are a failure in every format. */
static void test_failure(void **state)
{
    char text[4096];
    for (unsigned format = 0; format < HS_N_SHEET_FORMATS; format++)
        for (unsigned is_one = 0; is_one < 2; is_one++)
            assert_int_equal(render(&broken, format, is_one != 0, text), HS_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_tsv),     cmocka_unit_test(test_ndjson),
        cmocka_unit_test(test_json),  cmocka_unit_test(test_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
