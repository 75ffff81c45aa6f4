/* The parts of a type's name. */
#include <stdio.h>
#include <string.h>

#include "private.h"

struct hs_rule_part hs_rule_part_of(const char *name, size_t n)
{
    struct hs_rule_part part = {0, n};
    unsigned depth = 0;

    for (size_t i = 0; i < n; i++) {
        if (name[i] != '\0' && strchr("<([{", name[i]) != NULL) {
            if (depth == 0 && name[i] == '<' && part.end == n && i != part.at)
                part.end = i;
            depth++;
        } else if (depth > 0 && name[i] != '\0' && strchr(">)]}", name[i]) != NULL) {
            depth--;
        } else if (depth == 0 && name[i] == ':' && i + 1 < n && name[i + 1] == ':') {
            part = (struct hs_rule_part){i + 2, n};
            i++;
        }
    }
    return part;
}

bool hs_rule_pattern_of(const char *name, char *text, size_t n_bytes)
{
    size_t n = strlen(name), end = hs_rule_part_of(name, n).end;
    int n_text = snprintf(text, n_bytes, "%.*s%s", (int)end, name, end == n ? "" : "<*>");
    return n_text > 0 && (size_t)n_text < n_bytes;
}
