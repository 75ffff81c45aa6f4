/* links: hs_symbols hs_base */
#include "ctypes_fixture.h"

static void compare_rust(const char *level)
{
    static struct fixture f;
    const char *const command[] = {"rustc", "--edition=2021", "-Cdebuginfo=2", level,
                                   FIXTURE_DIRECTORY "ctypes_rust.rs"};
    fixture_build(&f, command, sizeof(command) / sizeof(command[0]));
    fixture_compare(&f, 20);
}

static void tells_what_rustc_knows(void **state)
{
    (void)state;
    compare_rust("-Copt-level=0");
    compare_rust("-Copt-level=2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_rustc_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
