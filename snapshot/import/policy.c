/* The rules of other tools for reading a file of their format. */
#include <stdio.h>

#include "maker.h"

static const char *const preset_names[HS_N_POLICIES] = {
    [HS_POLICY_OWN] = "own",           [HS_POLICY_MAT] = "mat",
    [HS_POLICY_VISUALVM] = "visualvm", [HS_POLICY_MEMLAB] = "memlab",
    [HS_POLICY_DEVTOOLS] = "devtools", [HS_POLICY_ALL] = "all",
};

enum hs_import_preset hs_import_default(enum hs_import_from from)
{
    return from == HS_IMPORT_V8      ? HS_POLICY_DEVTOOLS
           : from == HS_IMPORT_HPROF ? HS_POLICY_OWN
                                     : HS_POLICY_ALL;
}

hs_status hs_import_policy_init(enum hs_import_from from, enum hs_import_preset preset,
                                struct hs_import_policy *ret, struct hs_error *err)
{
    /* The policies of MAT and VisualVM for HPROF, and of memlab and DevTools for V8:
     * docs/exchange.md has them in words. */
    static const struct hs_import_policy presets[HS_N_IMPORTS][HS_N_POLICIES] = {
        [HS_IMPORT_V8] =
            {
                [HS_POLICY_OWN] = {0},
                [HS_POLICY_MEMLAB] = {.weakmap_both = true, .page = HS_PAGE_MEMLAB},
                [HS_POLICY_DEVTOOLS] = {.page = HS_PAGE_DEVTOOLS, .sizes = HS_SIZES_FOLDED},
                [HS_POLICY_ALL] = {.weak = HS_WEAK_STRONG, .shortcuts = true, .weakmap_both = true},
            },
        [HS_IMPORT_HPROF] =
            {
                [HS_POLICY_OWN] = {.class_edges = true, .static_roots = true},
                [HS_POLICY_MAT] = {.weak = HS_WEAK_STRONG,
                                   .thread_locals = true,
                                   .class_edges = true,
                                   .sizes = HS_SIZES_MAT},
                [HS_POLICY_VISUALVM] = {.sizes = HS_SIZES_VISUALVM},
                [HS_POLICY_ALL] = {.weak = HS_WEAK_STRONG,
                                   .thread_locals = true,
                                   .class_edges = true,
                                   .static_roots = true},
            },
        [HS_IMPORT_GRAPH] = {[HS_POLICY_ALL] = {0}},
    };
    static const unsigned known[HS_N_IMPORTS] = {
        [HS_IMPORT_V8] = 1 << HS_POLICY_OWN | 1 << HS_POLICY_MEMLAB | 1 << HS_POLICY_DEVTOOLS |
                         1 << HS_POLICY_ALL,
        [HS_IMPORT_HPROF] =
            1 << HS_POLICY_OWN | 1 << HS_POLICY_MAT | 1 << HS_POLICY_VISUALVM | 1 << HS_POLICY_ALL,
        [HS_IMPORT_GRAPH] = 1 << HS_POLICY_ALL,
    };
    if (!(known[from] >> preset & 1)) {
        (void)hs_fail(err, HS_USAGE, "'%s' does not read such files: there is no such policy",
                      preset_names[preset]);
        return hs_hint(err, "the default is '%s'", preset_names[hs_import_default(from)]);
    }
    *ret = presets[from][preset];
    ret->preset = preset;
    return HS_OK;
}

void hs_policy_text(enum hs_import_from from, const struct hs_import_policy *policy, char *text)
{
    static const char *const weak[] = {"keep", "drop", "strong"};
    static const char *const page[] = {"none", "devtools", "memlab"};
    static const char *const sizes[] = {"own", "folded", "mat", "visualvm"};
    const char *preset = preset_names[policy->preset];
    if (from == HS_IMPORT_V8)
        (void)snprintf(text, MAKER_POLICY_BYTES,
                       "policy %s: weak %s, shortcuts %s, weakmap %s, page %s, sizes %s", preset,
                       weak[policy->weak], policy->shortcuts ? "strong" : "drop",
                       policy->weakmap_both ? "both" : "key", page[policy->page],
                       sizes[policy->sizes]);
    else if (from == HS_IMPORT_HPROF)
        (void)snprintf(text, MAKER_POLICY_BYTES,
                       "policy %s: weak %s, thread-locals %s, statics %s, class-edges %s, sizes %s",
                       preset, weak[policy->weak], policy->thread_locals ? "edge" : "root",
                       policy->static_roots ? "root" : "class",
                       policy->class_edges ? "keep" : "drop", sizes[policy->sizes]);
    else
        (void)snprintf(text, MAKER_POLICY_BYTES, "policy all: strong edges as they are");
}
