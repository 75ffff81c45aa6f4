/* Finds the period of jemalloc's samples: 2^lg_prof_sample bytes.
 *
 * That number is a static variable, without a name in a stripped library. But 5.3 keeps with each
 * backtrace the sum of what its samples stand for, each size / (1 - exp(-size / period)), rounded:
 * the one power of two that explains these sums is the period, and the sums prove it. 5.2 keeps
 * none: the symbol tells, else the environment that the process was started with. Source: jemalloc
 * src/prof.c and src/prof_data.c. */
#include <math.h>

#include "base/alloc.h"
#include "jemalloc/prof.h"

enum {
    PERIOD_MAX_LG = 48,
    PERIOD_TEXT_BYTES = 4096,
};

/* Returns how many bytes of allocations a sampled block of so many bytes stands for: computed as
 * jemalloc does it, which is not exact when the period is much larger than the block. */
static double period_weight(uint64_t n_bytes, unsigned lg)
{
    double size = (double)n_bytes;
    return round(size / (1.0 - exp(-size / ldexp(1, (int)lg))));
}

/* Does the period explain the profiler's estimate of a backtrace? Each weight is a rounded number
 * that may have been computed a little otherwise. */
static bool period_explains(const struct prof *prof, const struct prof_context *context,
                            unsigned lg)
{
    double sum = 0, found = (double)context->estimated_bytes;
    uint64_t last_bytes = 0;
    double weight = 0;

    for (size_t i = 0; i < context->n_blocks; i++) {
        uint64_t n_bytes = prof->blocks[context->first + i].usable_bytes;
        if (n_bytes != last_bytes)
            weight = period_weight(n_bytes, lg);
        last_bytes = n_bytes;
        sum += weight;
    }
    return fabs(sum - found) <= (double)context->n_blocks;
}

static uint64_t period_n_explained(const struct prof *prof, unsigned lg)
{
    uint64_t n = 0;

    for (size_t i = 0; i < prof->n_contexts; i++)
        n += prof->contexts[i].is_whole && period_explains(prof, &prof->contexts[i], lg);
    return n;
}

/* The period that explains most; of several that explain as much (when every block is much larger
 * than they are) the largest. */
static uint64_t period_by_estimates(const struct prof *prof, unsigned *ret_lg)
{
    uint64_t best = 0;

    for (unsigned lg = 0; lg <= PERIOD_MAX_LG; lg++) {
        uint64_t n = period_n_explained(prof, lg);
        if (n != 0 && n >= best) {
            best = n;
            *ret_lg = lg;
        }
    }
    return best;
}

static bool period_by_symbol(const struct prof *prof, const struct hs_object *own, unsigned *ret_lg)
{
    static const char *const names[] = {"je_lg_prof_sample", "lg_prof_sample",
                                        "_rjem_je_lg_prof_sample", "je_opt_lg_prof_sample",
                                        "opt_lg_prof_sample"};
    struct hs_live_symbol symbol;
    uint64_t value;

    for (size_t i = 0; own != NULL && i < sizeof names / sizeof *names; i++)
        if (hs_object_find(own, names[i], &symbol) && symbol.size == 8 &&
            hs_image_u64(prof->process->image, symbol.address, &value) && value <= PERIOD_MAX_LG) {
            *ret_lg = (unsigned)value;
            return true;
        }
    return false;
}

/* "prof:true,lg_prof_sample:14": the last one counts. */
static bool period_parse(const char *options, unsigned *ret_lg)
{
    static const char key[] = "lg_prof_sample:";
    bool is_known = false;

    for (const char *at = options; (at = strstr(at, key)) != NULL;) {
        at += sizeof key - 1;
        unsigned lg = 0, n_digits = 0;
        for (; *at >= '0' && *at <= '9' && n_digits < 3; at++, n_digits++)
            lg = 10 * lg + (unsigned)(*at - '0');
        is_known = n_digits != 0 && lg <= PERIOD_MAX_LG;
        *ret_lg = lg;
    }
    return is_known;
}

/* MALLOC_CONF as the kernel put it at the top of the first stack. */
static bool period_by_environment(const struct prof *prof, unsigned *ret_lg)
{
    static const char name[] = "\0MALLOC_CONF=";
    const struct hs_target *target = prof->process->target;
    const struct hs_image_range *range = NULL;
    char options[PERIOD_TEXT_BYTES];

    for (size_t i = 0; i < target->n_mappings && range == NULL; i++)
        if (strcmp(hs_mapping_path(target, &target->mappings[i]), "[stack]") == 0)
            range = hs_image_find(prof->process->image, target->mappings[i].end - 1, NULL);
    if (range == NULL)
        return false;
    size_t n = (size_t)(range->end - range->begin), most = (size_t)1 << 21;
    const uint8_t *begin = n > most ? range->bytes + (n - most) : range->bytes;
    const uint8_t *at = memmem(begin, n > most ? most : n, name, sizeof name - 1);
    if (at == NULL)
        return false;
    hs_addr text = range->begin + (hs_addr)(at - range->bytes) + sizeof name - 1;
    return hs_image_string(prof->process->image, text, options, sizeof options) &&
           period_parse(options, ret_lg);
}

hs_status hs_prof_period(const struct prof *prof, const struct hs_object *own, uint64_t *ret_bytes,
                         struct hs_error *err)
{
    struct hs_findings *findings = prof->process->findings;
    unsigned lg = 0, told = 0;
    bool is_told = period_by_symbol(prof, own, &told) || period_by_environment(prof, &told);
    uint64_t n_explained = prof->tree->is_52 ? 0 : period_by_estimates(prof, &lg);

    if (n_explained != 0 && is_told && period_n_explained(prof, told) == n_explained)
        lg = told; /* it explains as much as any */
    if (n_explained != 0) {
        *ret_bytes = UINT64_C(1) << lg;
        return hs_findings_proof(findings,
                                 "jemalloc: backtraces whose samples stand for as much as its "
                                 "profiler has estimated",
                                 prof->n_contexts, n_explained, err);
    }
    *ret_bytes = is_told ? UINT64_C(1) << told : 0;
    if (is_told)
        return hs_findings_note(findings, false, err,
                                "jemalloc: the distance of its samples, %llu bytes, is what the "
                                "program was told; nothing proves it",
                                (unsigned long long)*ret_bytes);
    return hs_findings_note(findings, true, err,
                            "jemalloc: how far apart its samples are is unknown: what they stand "
                            "for cannot be told");
}
