/* links: hs_symbols hs_base */
#include "ctypes_fixture.h"

/* Compares with what a compiler wrote, then (is_shared) with what dwz made of that. */
static void compare_cpp(const char *compiler, const char *level, const char *version,
                        const char *option, bool is_shared)
{
    static struct fixture f;
    const char *const command[] = {compiler,
                                   level,
                                   version,
                                   option,
                                   "-std=c++17",
                                   "-Wl,--build-id",
                                   "-fno-access-control",
                                   "-I" FIXTURE_DIRECTORY,
                                   FIXTURE_DIRECTORY "ctypes_cpp.cc"};
    fixture_build(&f, command, sizeof(command) / sizeof(command[0]));
    fixture_compare_program(&f, 60);
    if (is_shared && fixture_share(&f))
        fixture_compare_program(&f, 60);
    fixture_remove(&f);
}

static void tells_what_gcc_knows(void **state)
{
    (void)state;
    compare_cpp("g++", "-O0", "-gdwarf-5", "-pipe", true);
    compare_cpp("g++", "-O2", "-gdwarf-4", "-pipe", true);
}

static void follows_type_units(void **state)
{
    (void)state;
    compare_cpp("g++", "-O0", "-gdwarf-5", "-fdebug-types-section",
                false); /* dwz has no use for it */
    compare_cpp("g++", "-O0", "-gdwarf-4", "-fdebug-types-section", true);
}

static void tells_what_clang_knows(void **state)
{
    (void)state;
    compare_cpp("clang++", "-O0", "-gdwarf-5", "-fstandalone-debug", false);
    compare_cpp("clang++", "-O2", "-gdwarf-4", "-fstandalone-debug", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_gcc_knows),
        cmocka_unit_test(follows_type_units),
        cmocka_unit_test(tells_what_clang_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
