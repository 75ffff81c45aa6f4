/* The declarations that the parts of rules/ share. */
#ifndef HS_RULES_PRIVATE_H
#define HS_RULES_PRIVATE_H

#include "rules/rules.h"

/* Returns the last part of a type's name: "Ptr" of "a::B<c::d>::Ptr<int>". */
struct hs_rule_part hs_rule_part_of(const char *name, size_t n);

/* ---- parse.c */

/* Reads the text of the set at the end of the list, which it divides into words. */
hs_status hs_rules_parse_(struct hs_rules *rules, const struct hs_rule_source *source, char *text,
                          size_t n_bytes, struct hs_error *err);

/* ---- shipped.c, made of share/heapsnap/rules.d when the build is configured */

struct hs_rules_file {
    const char *name;
    const char *text;
};
extern const struct hs_rules_file hs_rules_files[];
extern const size_t hs_rules_n_files;

#endif
