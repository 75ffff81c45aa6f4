/* The forecast of how long a stop takes by either way, a copy or a read: arithmetic over what is
 * known of the process and what the machine takes now. */
#include "forecast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define FORECAST_MIB ((uint64_t)1 << 20)
#define FORECAST_PAGE ((uint64_t)4096)
#define FORECAST_HUGE_PAGE ((uint64_t)2 << 20)
#define FORECAST_TABLE_PAGES ((uint64_t)512) /* pages of memory that one of tables maps */
#define FORECAST_BYTES_MAX ((uint64_t)1 << 46)
/* Looking again at the process in the stop: its threads, its mappings, its files. */
#define FORECAST_FIXED_NS ((uint64_t)500000)
#define FORECAST_THREAD_NS ((uint64_t)15000)
#define FORECAST_MAPPING_NS ((uint64_t)2000)
/* A place of its own in the image, a page map. */
#define FORECAST_READ_MAPPING_NS ((uint64_t)10000)
#define FORECAST_HUGE_PAGE_NS ((uint64_t)1000)
/* Memory that was not touched for long is copied more slowly than what was just tried. */
#define FORECAST_COLD(ns) ((ns) + (ns) / 4)

/* Scales the time to copy page tables to memory that is larger than what was tried, or scattered:
 * between what the kernel takes for a new process and for one that was copied before. */
#define FORECAST_FAR(ns) ((ns) + (ns) / 2)

/* The time of saving by several threads into memory that is ready: two thirds, measured. */
#define FORECAST_SAVED(ns, n) ((n) > 1 ? (ns) / 3 * 2 : (ns))

/* The turn of a thread before the scheduler runs the next: one tick of a kernel with HZ=250. */
#define FORECAST_TURN_NS ((uint64_t)4000000)
/* Turns that are waited for: until the last thread stands, and while the main thread calls. */
#define FORECAST_TURNS 2
#define FORECAST_THREADS_MAX 1000000

static uint64_t forecast_clip(uint64_t n_bytes)
{
    return n_bytes < FORECAST_BYTES_MAX ? n_bytes : FORECAST_BYTES_MAX;
}

/* A page table with one page in it takes nearly as long to copy as a tenth of a full one. */
static uint64_t forecast_tables_ns(const struct hs_copy_facts *facts, uint64_t n_pages,
                                   uint64_t page_ns)
{
    uint64_t n_full = n_pages / FORECAST_TABLE_PAGES;
    uint64_t n_tables = forecast_clip(facts->table_bytes) / FORECAST_PAGE;

    n_full += facts->n_areas; /* a copy has none of those */
    return n_tables > n_full ? (n_tables - n_full) * page_ns * (FORECAST_TABLE_PAGES / 10) : 0;
}

void hs_copy_forecast(const struct hs_copy_facts *facts, uint64_t *ret_copy_ns,
                      uint64_t *ret_read_ns)
{
    const struct hs_copy_costs *costs = &facts->costs;
    uint64_t small = forecast_clip(facts->small_bytes), huge = forecast_clip(facts->huge_bytes);
    uint64_t saved = forecast_clip(facts->saved_bytes);
    uint64_t fixed_ns = FORECAST_FIXED_NS + facts->n_threads * FORECAST_THREAD_NS +
                        facts->n_mappings * FORECAST_MAPPING_NS;
    uint64_t n_pages = (small > saved ? small - saved : 0) / FORECAST_PAGE;

    *ret_copy_ns =
        fixed_ns + FORECAST_CHILDREN * costs->child_ns + FORECAST_FAR(n_pages * costs->page_ns) +
        forecast_tables_ns(facts, n_pages, costs->page_ns) +
        huge / FORECAST_HUGE_PAGE * FORECAST_HUGE_PAGE_NS +
        FORECAST_SAVED(FORECAST_COLD(saved / FORECAST_MIB * costs->mib_read_ns), facts->n_readers);
    *ret_read_ns = fixed_ns + facts->smaps_ns + facts->n_mappings * FORECAST_READ_MAPPING_NS +
                   FORECAST_COLD((small + huge) / FORECAST_MIB * costs->mib_read_ns);
}

uint64_t hs_forecast_crowd(const char *loadavg, uint64_t n_processors)
{
    const char *now = loadavg;

    /* "of 1 minute, of 5, of 15, now/all threads, last pid"; now are also we */
    for (int i = 0; i < 3 && now != NULL; i++) {
        now = strchr(now, ' ');
        now = now != NULL ? now + 1 : NULL;
    }
    uint64_t of_late = strtoull(loadavg, NULL, 10);
    uint64_t of_now = now != NULL ? strtoull(now, NULL, 10) : 0;
    uint64_t n_threads = of_now > of_late + 1 ? of_now - 1 : of_late;
    if (n_processors == 0 || n_threads <= n_processors || n_threads > FORECAST_THREADS_MAX)
        return 0;
    return 100 * (n_threads - n_processors) / n_processors;
}

void hs_copy_forecast_busy(const struct hs_copy_facts *facts, struct hs_copy_outlook *outlook)
{
    outlook->copy_busy_ns = FORECAST_TURNS * FORECAST_TURN_NS / 100 * facts->crowd_percent;
    outlook->read_busy_ns =
        outlook->copy_busy_ns + outlook->read_pause_ns / 100 * facts->crowd_percent;
}

void hs_foreseen_text(uint64_t ns, uint64_t busy_ns, char *text, size_t n_bytes)
{
    char low[HS_UNIT_TEXT_BYTES], high[HS_UNIT_TEXT_BYTES];

    hs_format_duration(ns / 5 * 3, low);
    hs_format_duration(ns / 3 * 5 + busy_ns, high);
    char *unit = strrchr(low, ' '), *of_high = strrchr(high, ' ');
    if (unit != NULL && of_high != NULL && strcmp(unit, of_high) == 0)
        *unit = '\0';
    (void)snprintf(text, n_bytes, "%s to %s", low, high);
}
