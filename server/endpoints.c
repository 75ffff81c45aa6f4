#include "endpoints.h"

#define FLAG(name, option)               \
    {                                    \
        (name), (option), PARAMETER_FLAG \
    }
#define COUNT(name, option)               \
    {                                     \
        (name), (option), PARAMETER_COUNT \
    }
#define TEXT(name, option)               \
    {                                    \
        (name), (option), PARAMETER_TEXT \
    }
#define REPEATED(name, option)               \
    {                                        \
        (name), (option), PARAMETER_REPEATED \
    }
#define END                        \
    {                              \
        NULL, NULL, PARAMETER_TEXT \
    }

static const struct hs_parameter of_roots[] = {TEXT("sort", "--sort="),
                                               TEXT("kind", "--kind="),
                                               TEXT("group_by", "--group-by="),
                                               TEXT("without", "--without="),
                                               COUNT("min_words", "--min-words="),
                                               COUNT("best", "--best="),
                                               END};
static const struct hs_parameter of_types[] = {TEXT("sort", "--sort="),
                                               TEXT("group_by", "--group-by="), TEXT("of", "--of="),
                                               COUNT("min_words", "--min-words="), END};
static const struct hs_parameter of_leaks[] = {TEXT("certainty", "--certainty="),
                                               COUNT("min_words", "--min-words="), END};
static const struct hs_parameter of_samples[] = {COUNT("min_words", "--min-words="), END};
static const struct hs_parameter of_suspects[] = {COUNT("threshold", "--threshold="), END};
static const struct hs_parameter of_tree[] = {TEXT("root", "--from="), COUNT("depth", "--depth="),
                                              COUNT("min_words", "--min-words="), END};
static const struct hs_parameter of_paths[] = {FLAG("disjoint", "--disjoint"), END};

#define FILTERS                                                                            \
    TEXT("allocated", "--allocated="), TEXT("live_at", "--live-at="),                      \
        TEXT("collected", "--collected="), TEXT("lifetime", "--lifetime="),                \
        TEXT("size", "--size="), TEXT("heap", "--heap="), REPEATED("inside", "--inside="), \
        REPEATED("not_inside", "--not-inside="), REPEATED("hide", "--hide="),              \
        TEXT("group_allocations", "--group-allocations="),                                 \
        TEXT("group_leaked", "--group-leaked="), TEXT("group_interval", "--group-interval=")

static const struct hs_parameter of_trace_top[] = {FILTERS, TEXT("by", "--by="),
                                                   TEXT("sort", "--sort="), END};
static const struct hs_parameter of_trace_tree[] = {FILTERS, TEXT("by", "--by="),
                                                    COUNT("depth", "--depth="),
                                                    COUNT("min_words", "--min-words="), END};
static const struct hs_parameter of_trace_live[] = {FILTERS, COUNT("points", "--points="), END};
static const struct hs_parameter of_trace_lifetimes[] = {
    FILTERS, TEXT("by", "--by="), TEXT("sort", "--sort="), COUNT("points", "--points="), END};

enum { MOST_ROWS = 65536, MOST_AROUND = 1000, MOST_PATHS = 100, MOST_GROUPS = 20000 };

static const struct hs_endpoint endpoints[] = {
    {.name = "snapshots", .kind = ENDPOINT_SNAPSHOTS},
    {.name = "info", .words = "info --json"},
    {.name = "roots",
     .words = "roots --json",
     .parameters = of_roots,
     .rows = "roots",
     .limit_option = "-n",
     .limit = 50,
     .most = MOST_ROWS},
    {.name = "sets",
     .words = "roots --json",
     .rows = "sets",
     .is_within = true,
     .limit_option = "-n",
     .limit = 50,
     .most = MOST_ROWS},
    {.name = "types",
     .words = "types --json",
     .parameters = of_types,
     .rows = "types",
     .limit_option = "-n",
     .limit = 50,
     .most = MOST_ROWS},
    {.name = "leaks",
     .words = "leaks --json",
     .parameters = of_leaks,
     .rows = "groups",
     .limit_option = "-n",
     .limit = 50,
     .most = MOST_ROWS},
    {.name = "samples",
     .words = "samples --json",
     .kind = ENDPOINT_SAMPLES,
     .parameters = of_samples,
     .rows = "samples",
     .limit_option = "-n",
     .limit = 50,
     .most = MOST_ROWS},
    {.name = "sites",
     .words = "samples --json --group-by=site,root",
     .kind = ENDPOINT_SAMPLES,
     .rows = "groups",
     .limit_option = "-n",
     .limit = 2000,
     .most = MOST_ROWS},
    {.name = "suspects",
     .words = "suspects --json",
     .parameters = of_suspects,
     .limit_option = "-n",
     .limit = 10,
     .most = MOST_PATHS},
    {.name = "tree",
     .words = "dominators --json",
     .parameters = of_tree,
     .limit_option = "-n",
     .limit = 200,
     .most = MOST_GROUPS},
    {.name = "keys",
     .kind = ENDPOINT_KEYS,
     .limit_option = "-n",
     .limit = 2000,
     .most = MOST_GROUPS},
    {.name = "node",
     .words = "object --json",
     .kind = ENDPOINT_OBJECT,
     .limit_option = "-n",
     .limit = 50,
     .most = MOST_AROUND},
    {.name = "node/paths",
     .words = "paths --json",
     .kind = ENDPOINT_OBJECT,
     .parameters = of_paths,
     .what_option = "--to=",
     .limit_option = "--limit",
     .limit = 10,
     .most = MOST_PATHS},
    {.name = "node/cut",
     .words = "paths --json --cut",
     .kind = ENDPOINT_OBJECT,
     .what_option = "--to="},
    {.name = "node/types",
     .words = "types --json",
     .kind = ENDPOINT_OBJECT,
     .what_option = "--of=",
     .rows = "types",
     .limit_option = "-n",
     .limit = 50,
     .most = MOST_ROWS},
    {.name = "diff",
     .words = "diff --json",
     .kind = ENDPOINT_DIFF,
     .limit_option = "-n",
     .limit = 50,
     .most = MOST_ROWS},
    {.name = "series",
     .words = "diff --json",
     .kind = ENDPOINT_SERIES,
     .limit_option = "-n",
     .limit = 50,
     .most = MOST_ROWS},
    {.name = "report", .words = "report", .kind = ENDPOINT_REPORT},
    {.name = "sql", .kind = ENDPOINT_SQL},
    {.name = "trace/info", .words = "trace info --json", .kind = ENDPOINT_TRACE},
    {.name = "trace/top",
     .words = "trace top --json",
     .kind = ENDPOINT_TRACE,
     .parameters = of_trace_top,
     .rows = "rows",
     .limit_option = "-n",
     .limit = 400,
     .most = MOST_ROWS},
    {.name = "trace/tree",
     .words = "trace tree --json",
     .kind = ENDPOINT_TRACE,
     .parameters = of_trace_tree,
     .limit_option = "-n",
     .limit = 200,
     .most = MOST_GROUPS},
    {.name = "trace/live",
     .words = "trace live --json",
     .kind = ENDPOINT_TRACE,
     .parameters = of_trace_live},
    {.name = "trace/lifetimes",
     .words = "trace lifetimes --json",
     .kind = ENDPOINT_TRACE,
     .parameters = of_trace_lifetimes,
     .rows = "rows",
     .limit_option = "-n",
     .limit = 300,
     .most = MOST_ROWS},
};
enum { N_ENDPOINTS = sizeof endpoints / sizeof *endpoints };

static const struct hs_endpoint *find(const char *first, const char *second)
{
    size_t n = strlen(first);
    for (size_t i = 0; i < N_ENDPOINTS; i++) {
        const char *name = endpoints[i].name;
        if (strncmp(name, first, n) != 0)
            continue;
        if (second == NULL ? name[n] == '\0' : name[n] == '/' && strcmp(name + n + 1, second) == 0)
            return &endpoints[i];
    }
    return NULL;
}

const struct hs_endpoint *hs_endpoint_find(const struct hs_target *target, const char **ret_what)
{
    enum { AT = 2 }; /* behind api and 1 */
    const char *const *parts = target->parts;
    size_t n = target->n_parts - AT;
    *ret_what = NULL;
    if (n == 0 || n > 3 || strchr(parts[AT], '/') != NULL)
        return NULL;
    if (n == 2 && strcmp(parts[AT], "trace") == 0)
        return find(parts[AT], parts[AT + 1]);
    const struct hs_endpoint *found = find(parts[AT], n == 3 ? parts[AT + 2] : NULL);
    bool has_what = found != NULL && found->kind == ENDPOINT_OBJECT;
    if (found == NULL || has_what != (n > 1))
        return NULL;
    if (has_what)
        *ret_what = parts[AT + 1];
    return found;
}

const struct hs_parameter *hs_endpoint_parameter(const struct hs_endpoint *endpoint,
                                                 const char *name)
{
    const struct hs_parameter *at = endpoint->parameters;
    for (; at != NULL && at->name != NULL; at++)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}
