/* What an owner set is called: its roots by name. */
#ifndef HS_EXPORT_SET_NAMES_H
#define HS_EXPORT_SET_NAMES_H

#include "analysis/view.h"

enum { SET_NAMES_BYTES = 1024 };

/* "cache + index + 3 more": at most eight names, cut at SET_NAMES_BYTES. "" for set 0. */
void set_names_put(const struct hs_view *view, uint32_t set, char *text);

#endif
