/* The names of a watch's files: heap-YYYYMMDDTHHMMSSZ-NNNNNN.snap, times in UTC. Numbers go up in
 * one directory for ever; from 1,000,000 on they have more digits. */
#ifndef HS_WATCH_NAMES_H
#define HS_WATCH_NAMES_H

#include "base/types.h"

#define HS_WATCH_NAME_BYTES 48
#define HS_WATCH_MAX_NUMBER ((uint64_t)999999999999)

/* Writes the name of snapshot `number` (at most HS_WATCH_MAX_NUMBER), made at this time. */
void hs_watch_name_format(int64_t unix_s, uint64_t number, char *name);

/* Tells whether it is such a name, to the letter, and reads its number. */
bool hs_watch_name_parse(const char *name, uint64_t *ret_number);

/* The same of the name of a snapshot's key file, NAME.keys. */
bool hs_watch_name_parse_keys(const char *name, uint64_t *ret_number);

/* Tells whether it is the name of a neighbour that a dump writes before it renames it
 * (".NAME.XXXXXX" or ".NAME.keys.XXXXXX", base/file.c). */
bool hs_watch_name_is_neighbour(const char *name);

/* Writes "2026-11-22T08:05:00Z" (RFC 3339). `text` has HS_WATCH_TIME_BYTES. */
#define HS_WATCH_TIME_BYTES 32
void hs_watch_time_format(int64_t unix_s, char *text);

#endif
