/* The forecast of how long a stop takes, from measured figures: copy/forecast.c, copy/probe.c. */
#ifndef HS_COPY_FORECAST_H
#define HS_COPY_FORECAST_H

#include "foresee.h"

/* Births of M and C, and the calls that T makes, as many of a child's. */
#define FORECAST_CHILDREN 3

/* Tried on memory of our own, 16 MiB for some 30 ms, once in ten seconds; where that is not
 * possible, or a quarter of what is left to us is less, of a quiet machine. */
void hs_copy_costs_probe(struct hs_copy_costs *ret);

/* The likely pause of a copy, and of a stopped read. On a quiet machine within a factor of two. */
void hs_copy_forecast(const struct hs_copy_facts *facts, uint64_t *ret_copy_ns,
                      uint64_t *ret_read_ns);

/* Returns by how many percent the threads that want to run outnumber the processors, 0 when they do
 * not: by the text of /proc/loadavg, of this moment or of the last minute, whichever is more, for
 * what others do comes and goes. */
uint64_t hs_forecast_crowd(const char *loadavg, uint64_t n_processors);
/* Forecasts how much longer the pauses may be on a busy machine (copy_busy_ns, read_busy_ns): a
 * thread stops, or does what it is told, when its turn comes, and the reader has only a share of a
 * processor. */
void hs_copy_forecast_busy(const struct hs_copy_facts *facts, struct hs_copy_outlook *outlook);

#endif
