/* A look at whether memory may be values of a type (private to snapshot/runtimes/go): by its size,
 * and by the words that the collector calls pointers there. */
#ifndef HS_GO_FITS_H
#define HS_GO_FITS_H

#include "typing.h"

/* Tells whether the object that a word leads to may be values of a type: it begins there, is of a
 * size class for them, and has its pointers where they have. Of static data it is told only that it
 * is there: hs_go_put asks the rest. */
bool hs_go_fits(const struct hs_go_heap *heap, hs_addr word, hs_addr type,
                enum hs_go_holding holding);
/* Tells whether an address is in the module's data, where its masks say what is a pointer. */
bool hs_go_is_in_data(const struct hs_go_heap *heap, hs_addr at);
/* Tells whether an address begins a value of a type in the module's data: all words of it are
 * pointers by the module's masks that are by the type's. Goes over all of them. */
bool hs_go_is_static_value(const struct hs_go_heap *heap, hs_addr at, hs_addr type);

/* Tells whether the entries of a map are of its type, as far as their size tells. */
bool hs_go_has_entries(const struct hs_go_heap *heap, hs_addr map, hs_addr type);

#endif
