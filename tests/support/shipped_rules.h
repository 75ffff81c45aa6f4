/* The rules that come with the program, for tests: read once, never freed. */
#ifndef HS_TESTS_SHIPPED_RULES_H
#define HS_TESTS_SHIPPED_RULES_H

#include "rules/rules.h"

const struct hs_rules *shipped_rules(void);

#endif
