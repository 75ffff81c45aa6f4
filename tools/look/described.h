/* The rows of the looks' listings, for what describes them: the man pages and openapi.json. */
#ifndef HS_LOOK_DESCRIBED_H
#define HS_LOOK_DESCRIBED_H

#include "report/listing.h"

extern const struct hs_record hs_roots_record, hs_types_record, hs_leaks_record, hs_samples_record;
extern const struct hs_record hs_dominators_record, hs_link_record;

/* Prints the section of a man page on the rows of a command; nothing of one without rows. */
hs_status hs_described_man(struct hs_out *out, const char *command, struct hs_error *err);
/* Prints a line for each member of each JSON row: command, array, member, kind. */
hs_status hs_described_list(struct hs_out *out, struct hs_error *err);

#endif
