/* Includes what every unit test begins with: cmocka, which wants four headers of C before itself,
 * and the headers of C that nearly all tests use. */
#ifndef HS_TESTS_UNIT_H
#define HS_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every test is given a state, and few want it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
