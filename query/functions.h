/* The scalar functions: human(words), what(text), addr(number). */
#ifndef HS_QUERY_FUNCTIONS_H
#define HS_QUERY_FUNCTIONS_H

#include "hub.h"

/* Registers the functions. Returns SQLite's result code. */
int hs_sql_functions_register(struct hs_sql_hub *hub);

#endif
