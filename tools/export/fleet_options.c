#include "fleet_options.h"

struct hs_fleet_options hs_fleet_options_of(const struct hs_invocation *inv)
{
    return (struct hs_fleet_options){
        .host = hs_given(inv, HS_OPT_HOST) ? inv->text[HS_OPT_HOST] : NULL,
        .service = hs_given(inv, HS_OPT_SERVICE) ? inv->text[HS_OPT_SERVICE] : NULL,
        .tables = (unsigned)hs_choices_given(inv, HS_OPT_TABLES),
        .no_addresses = hs_given(inv, HS_OPT_NO_ADDRESSES),
    };
}
