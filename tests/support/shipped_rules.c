/* links: hs_rules hs_base */
#include "shipped_rules.h"

#include <stdio.h>
#include <stdlib.h>

const struct hs_rules *shipped_rules(void)
{
    static struct hs_rules rules;
    struct hs_error err = HS_ERROR_INIT;

    if (rules.n_sets == 0 && hs_rules_shipped(&rules, &err) != HS_OK) {
        (void)fprintf(stderr, "shipped rules: %s\n", err.message);
        abort();
    }
    return &rules;
}
