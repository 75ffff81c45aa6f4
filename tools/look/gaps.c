#include "gaps.h"

#include "tool.h"

void hs_trace_tell_gaps(const char *path, const struct hs_trace *trace)
{
    const struct hs_trace_gaps *gaps = hs_trace_gaps(trace);
    if (gaps->cut_bytes != 0)
        hs_talk("'%s' is cut: the last %llu bytes are no whole packet", path,
                (unsigned long long)gaps->cut_bytes);
    if (gaps->n_damaged_packets != 0)
        hs_talk("%llu packets of '%s' are damaged and were left out",
                (unsigned long long)gaps->n_damaged_packets, path);
    if (gaps->n_foreign_packets != 0)
        hs_talk("%llu packets of '%s' are of other processes and were left out",
                (unsigned long long)gaps->n_foreign_packets, path);
    if (gaps->n_damaged_locations != 0)
        hs_talk("%llu of %llu places of '%s' lost their names: they print as ?",
                (unsigned long long)gaps->n_damaged_locations,
                (unsigned long long)gaps->n_locations, path);
}
