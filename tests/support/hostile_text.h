/* A name that a terminal, a table or a reader of JSON would take for its own, and the check that
 * nothing of it gets through where names are printed. Programs that use it include cmocka.h before
 * and link hs_report. */
#ifndef HS_TESTS_HOSTILE_TEXT_H
#define HS_TESTS_HOSTILE_TEXT_H

#include <string.h>

#include "report/json.h"
#include "report/text.h"

/* A title, a colour, lines and cells, C1, an override of the direction, and what is no UTF-8. */
#define HOSTILE_TEXT "\x1b]0;t\x07\x1b[31m\n\t\r\xc2\x9b\xe2\x80\xae\xff\x7f"

static inline void assert_nothing_is_hidden(const struct hs_buffer *printed)
{
    const char *at = (const char *)printed->bytes, *end = at + printed->n_bytes;

    assert_true(at < end);
    while (at < end)
        assert_false(hs_text_is_hidden(hs_text_next(&at, end)));
}

static inline void is_printed_harmlessly(const char *name)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer printed = {0};
    struct hs_json json;

    for (enum hs_text_escape how = HS_TEXT_TERMINAL; how <= HS_TEXT_TSV; how++) {
        printed.n_bytes = 0;
        assert_int_equal(hs_text_sanitise(name, strlen(name), how, &printed, &err), HS_OK);
        assert_nothing_is_hidden(&printed);
    }
    printed.n_bytes = 0;
    hs_json_init_buffer(&json, &printed, HS_JSON_COMPACT);
    hs_json_string(&json, NULL, name);
    assert_int_equal(hs_json_finish(&json, &err), HS_OK);
    printed.n_bytes--; /* its line's end */
    assert_nothing_is_hidden(&printed);
    hs_buffer_fini(&printed);
}

#endif
