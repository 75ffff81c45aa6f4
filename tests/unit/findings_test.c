/* links: hs_process */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "process/findings.h"

static struct hs_error err;
static struct hs_strtab strings;
static struct hs_findings findings;

static int set_up(void **state)
{
    findings = (struct hs_findings){.strings = &strings};
    return 0;
}

static int tear_down(void **state)
{
    hs_findings_fini(&findings);
    hs_findings_fini(&findings);
    hs_findings_fini(NULL);
    hs_strtab_fini(&strings);
    return 0;
}

static void a_proof_holds_when_both_are_equal(void **state)
{
    assert_int_equal(hs_findings_proof(&findings, "blocks", 7, 7, &err), HS_OK);
    assert_int_equal(hs_findings_proof(&findings, "bytes", 7, 8, &err), HS_OK);
    assert_int_equal(findings.n_proofs, 2);
    assert_true(findings.proofs[0].holds);
    assert_false(findings.proofs[1].holds);
    assert_int_equal(findings.proofs[1].expected, 7);
    assert_int_equal(findings.proofs[1].found, 8);
    assert_string_equal(hs_strtab_get(&strings, findings.proofs[1].what), "bytes");
}

static void a_note_is_kept_once(void **state)
{
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(hs_findings_note(&findings, i % 2 != 0, &err, "arena %u is odd", i / 5),
                         HS_OK);
    assert_int_equal(findings.n_notes, 2);
    assert_string_equal(hs_strtab_get(&strings, findings.notes[1].text), "arena 1 is odd");
    assert_true(findings.notes[0].is_gap); /* one of them said so */
}

static void a_flood_of_notes_ends(void **state)
{
    for (unsigned i = 0; i < 5000; i++) {
        assert_int_equal(hs_findings_note(&findings, true, &err, "note %u", i), HS_OK);
        assert_int_equal(hs_findings_proof(&findings, "p", 1, i, &err), HS_OK);
    }
    assert_int_equal(findings.n_notes, 4096);
    assert_int_equal(findings.n_proofs, 4096);
}

static void tells_when_there_is_no_room(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST, .keeps = true) {
        fail_each_begin(&each);
        hs_status status = hs_findings_note(&findings, true, &err, "a note");
        if (status == HS_OK)
            status = hs_findings_proof(&findings, "a proof", 1, 1, &err);
        (void)fail_each_end(&each, status);
        assert_int_equal(findings.n_proofs, status == HS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_proof_holds_when_both_are_equal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_note_is_kept_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flood_of_notes_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_when_there_is_no_room, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
