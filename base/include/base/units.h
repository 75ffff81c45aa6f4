/* Numbers with units, in both directions. */
#ifndef HS_BASE_UNITS_H
#define HS_BASE_UNITS_H

#include "base/error.h"

#define HS_UNIT_TEXT_BYTES 32

/* Parses a plain decimal count: digits only, no sign, no suffix, no spaces. HS_USAGE otherwise. */
hs_status hs_parse_count(const char *text, uint64_t *ret, struct hs_error *err);
/* Parses a size in bytes as it is printed: digits and optionally k M G T (powers of 1000) or Ki Mi
 * Gi Ti (of 1024), each optionally followed by B and with a space before it; with a unit also a
 * decimal fraction ("1.5 GiB"), rounded to the nearest byte. */
hs_status hs_parse_size(const char *text, uint64_t *ret, struct hs_error *err);
/* The same of what is counted in something else, unless a B says that bytes are meant. */
hs_status hs_parse_amount(const char *text, uint64_t *ret, bool *ret_in_bytes,
                          struct hs_error *err);
/* Parses a duration: digits and one of ns us ms s m h (default s). Result in nanoseconds. */
hs_status hs_parse_duration(const char *text, uint64_t *ret, struct hs_error *err);
/* 0x... only. */
hs_status hs_parse_address(const char *text, hs_addr *ret, struct hs_error *err);

/* Writes "1.5 MiB", "312 B"; "2.1 ms". `text` has HS_UNIT_TEXT_BYTES. */
void hs_format_bytes(uint64_t bytes, char *text);
void hs_format_duration(uint64_t ns, char *text);

#endif
