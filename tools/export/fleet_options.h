/* The options of exports as tables of a fleet. */
#ifndef HS_EXPORT_FLEET_OPTIONS_H
#define HS_EXPORT_FLEET_OPTIONS_H

#include "export/fleet.h"
#include "options.h"

/* Reads --tables, --host, --service, --no-addresses; borrowed from the invocation. */
struct hs_fleet_options hs_fleet_options_of(const struct hs_invocation *inv);

#endif
