#include "stop_options.h"

#include <string.h>

#include "base/units.h"

#define DEFAULT_PAUSE_NS ((uint64_t)2000000000)
enum { MAX_PERCENT = 1000 };

static hs_status parse_growth(const char *text, struct hs_dump_options *ret, struct hs_error *err)
{
    size_t n = strlen(text);
    char digits[8];
    uint64_t percent;

    if (n == 0 || text[n - 1] != '%') {
        if (hs_parse_size(text, &ret->stop.max_growth_bytes, err) != HS_OK)
            return hs_context(err, "--max-growth");
        ret->max_growth_percent = 0;
        return HS_OK;
    }
    if (n <= sizeof digits) {
        memcpy(digits, text, n - 1);
        digits[n - 1] = '\0';
        if (hs_parse_count(digits, &percent, err) == HS_OK && percent <= MAX_PERCENT) {
            ret->max_growth_percent = (unsigned)percent;
            return HS_OK;
        }
    }
    (void)hs_fail(err, HS_USAGE, "--max-growth: '%.80s' is not a share", text);
    return hs_hint(err, "write a share up to 1000%%, for example 10%%, or a size, for example "
                        "500Mi; 0 for no limit");
}

hs_status hs_stop_options_parse(const struct hs_invocation *inv, struct hs_dump_options *ret,
                                struct hs_error *err)
{
    static const enum hs_stop_mode modes[] = {HS_STOP_AUTO, HS_STOP_COPY, HS_STOP_READ};

    ret->stop = (struct hs_stop_options){.mode = HS_STOP_AUTO, .max_pause_ns = DEFAULT_PAUSE_NS};
    ret->max_growth_percent = 0; /* as much as memory allows */
    if (hs_given(inv, HS_OPT_STOP))
        ret->stop.mode = modes[inv->number[HS_OPT_STOP]];
    ret->stop.leaves_interrupted = hs_given(inv, HS_OPT_NO_RESTART_SYSCALLS);
    if (hs_given(inv, HS_OPT_MAX_PAUSE) &&
        hs_parse_duration(inv->text[HS_OPT_MAX_PAUSE], &ret->stop.max_pause_ns, err) != HS_OK)
        return hs_context(err, "--max-pause");
    return hs_given(inv, HS_OPT_MAX_GROWTH) ? parse_growth(inv->text[HS_OPT_MAX_GROWTH], ret, err)
                                            : HS_OK;
}

hs_status hs_core_options_parse(const struct hs_invocation *inv, struct hs_core_options *core,
                                struct hs_dump_options *ret, struct hs_error *err)
{
    bool has_core = hs_given(inv, HS_OPT_CORE);

    *core = (struct hs_core_options){
        .path = has_core ? inv->text[HS_OPT_CORE] : NULL,
        .exe = hs_given(inv, HS_OPT_EXE) ? inv->text[HS_OPT_EXE] : NULL,
        .sysroot = hs_given(inv, HS_OPT_SYSROOT) ? inv->text[HS_OPT_SYSROOT] : NULL,
        .budget = ret->budget};
    ret->core = has_core ? core : NULL;
    if (has_core && inv->n_arguments == 0)
        return HS_OK;
    if (has_core) {
        (void)hs_fail(err, HS_USAGE, "a process id and --core do not go together");
        return hs_hint(err, "heapsnap dump --core FILE -o heap.snap");
    }
    if (inv->n_arguments == 0) {
        (void)hs_fail(err, HS_USAGE, "dump needs a process id, or --core FILE");
        return hs_hint(err, "heapsnap dump PID > heap.snap");
    }
    if (core->exe == NULL && core->sysroot == NULL)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "%s goes with --core only",
                  core->exe != NULL ? "--exe" : "--sysroot");
    return hs_hint(err, "the files of a live process are found by themselves");
}
