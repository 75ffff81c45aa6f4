/* How long a stop will take, of figures that are measured: copy/forecast.c, copy/probe.c. */
#ifndef HS_COPY_FORECAST_H
#define HS_COPY_FORECAST_H

#include "foresee.h"

/* Births of M and C, and the calls that T makes, as many of a child's. */
#define FORECAST_CHILDREN 3

/* Tried on memory of our own, 32 MiB for some 30 ms, once in a minute; where that is not possible,
 * or a quarter of what is left to us is less, of a quiet machine. */
void hs_copy_costs_probe(struct hs_copy_costs *ret);

/* The likely pause of a copy, and of a stopped read. On a quiet machine within a factor of two. */
void hs_copy_forecast(const struct hs_copy_facts *facts, uint64_t *ret_copy_ns,
                      uint64_t *ret_read_ns);

#endif
