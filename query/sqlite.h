/* SQLite's interface, for sources that are compiled twice: into the program, which links the
 * library, and into an extension, which gets the library's functions from whoever loads it. */
#ifndef HS_QUERY_SQLITE_H
#define HS_QUERY_SQLITE_H

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3

#endif
