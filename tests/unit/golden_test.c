/* links: hs_format */
/* The golden files: the writer still makes the same bytes, and the reader still says the same to
 * each of them. */
#include "unit.h"

#include "base/alloc.h"
#include "base/file.h"
#include "golden_files.h"
#include "snapshot/reader.h"

#define GOLDEN HS_SOURCE_DIR "/tests/golden"

static void golden_open(const char *name, struct hs_map *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    char path[4096];
    (void)snprintf(path, sizeof path, GOLDEN "/%s", name);
    if (hs_map_open(path, ret, &err) != HS_OK)
        fail_msg("%s: make_golden makes it", err.message);
}

/* What a reader says: the verdict, and the message in err. */
static unsigned judge(const void *bytes, size_t n_bytes, struct hs_error *err)
{
    struct hs_snap *snap = NULL;
    if (hs_snap_open_bytes(bytes, n_bytes, 0, &snap, err) != HS_OK)
        return HS_GOLDEN_FAILS_OPEN;
    hs_status status = hs_snap_check(snap, NULL, err);
    hs_snap_close(snap);
    return status == HS_OK ? HS_GOLDEN_OPENS : HS_GOLDEN_FAILS_CHECK;
}

static unsigned expect_verdict(const char *name, const char *verdict, const char *message,
                               const void *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    unsigned found = judge(bytes, n_bytes, &err);
    if (strcmp(hs_golden_verdict_name(found), verdict) != 0)
        fail_msg("%s: %s instead of %s (%s)", name, hs_golden_verdict_name(found), verdict,
                 err.message);
    if (found != HS_GOLDEN_OPENS) {
        assert_int_equal(err.status, HS_FORMAT);
        if (strstr(err.message, message) == NULL)
            fail_msg("%s: says \"%s\", not \"%s\"", name, err.message, message);
    }
    return found;
}

static void test_files_are_what_is_made(void **state)
{
    for (size_t i = 0; i < hs_golden_count(); i++) {
        struct hs_golden_file made;
        struct hs_map kept;
        hs_golden_make(i, &made);
        if (made.is_kept)
            continue;
        golden_open(made.name, &kept);
        if (!made.is_packed) {
            if (made.n_bytes != kept.n_bytes)
                fail_msg("%s: %zu bytes instead of %zu", made.name, made.n_bytes, kept.n_bytes);
            if (made.n_bytes != 0 && memcmp(made.bytes, kept.bytes, made.n_bytes) != 0)
                fail_msg("%s: other bytes than before", made.name);
        }
        (void)expect_verdict(made.name, hs_golden_verdict_name(made.verdict), made.message,
                             made.bytes, made.n_bytes);
        hs_map_close(&kept);
        hs_golden_fini(&made);
    }
}

static void test_files_are_judged_as_listed(void **state)
{
    char line[512];
    size_t n = 0;
    FILE *manifest = fopen(GOLDEN "/manifest.tsv", "r");
    assert_non_null(manifest);
    while (fgets(line, sizeof line, manifest) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *verdict = strchr(line, '\t');
        assert_non_null(verdict);
        *verdict++ = '\0';
        char *message = strchr(verdict, '\t');
        assert_non_null(message);
        *message++ = '\0';
        if (n++ == 0)
            continue; /* the heading */
        struct hs_map kept;
        golden_open(line, &kept);
        (void)expect_verdict(line, verdict, message, kept.bytes, kept.n_bytes);
        hs_map_close(&kept);
    }
    (void)fclose(manifest);
    assert_int_equal(n, hs_golden_count() + 1);
}

/* The hex dump in docs/format.md is example.snap. */
static void test_document_shows_the_example(void **state)
{
    struct hs_map kept;
    char line[512];
    size_t n = 0;
    golden_open("example.snap", &kept);
    FILE *document = fopen(HS_SOURCE_DIR "/docs/format.md", "r");
    assert_non_null(document);
    while (fgets(line, sizeof line, document) != NULL) {
        unsigned offset;
        int used = 0;
        if (sscanf(line, "%6x |%n", &offset, &used) != 1 || used == 0)
            continue;
        assert_int_equal(offset, n);
        const char *at = line + used;
        for (unsigned byte; sscanf(at, " %2x%n", &byte, &used) == 1; at += used, n++) {
            assert_true(n < kept.n_bytes);
            if (kept.bytes[n] != byte)
                fail_msg("byte %zu is %02x in the file and %02x in the document", n, kept.bytes[n],
                         byte);
        }
    }
    (void)fclose(document);
    assert_int_equal(n, kept.n_bytes);
    hs_map_close(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_what_is_made),
        cmocka_unit_test(test_files_are_judged_as_listed),
        cmocka_unit_test(test_document_shows_the_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
