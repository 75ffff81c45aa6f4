/* The questions that can be asked, each as a command line. */
#ifndef HS_SERVER_ENDPOINTS_H
#define HS_SERVER_ENDPOINTS_H

#include "target.h"

enum hs_endpoint_kind {
    ENDPOINT_COMMAND,
    ENDPOINT_OBJECT, /* a command that takes a snapshot and WHAT */
    ENDPOINT_DIFF,   /* of the snapshots of "old", then this one */
    ENDPOINT_SERIES, /* of the folder */
    ENDPOINT_REPORT, /* a page, no JSON */
    ENDPOINT_KEYS,
    ENDPOINT_SQL,
    ENDPOINT_SNAPSHOTS,
    ENDPOINT_TRACE,   /* of the trace */
    ENDPOINT_SAMPLES, /* of the snapshot, with the trace when there is one */
};

enum hs_parameter_kind { PARAMETER_TEXT, PARAMETER_COUNT, PARAMETER_FLAG, PARAMETER_REPEATED };

struct hs_parameter {
    const char *name;   /* NULL: the last */
    const char *option; /* "--sort=", with the sign when it has a value */
    enum hs_parameter_kind kind;
};

struct hs_endpoint {
    const char *name;  /* "roots"; below node/WHAT: "node/paths"; below trace: "trace/top" */
    const char *words; /* of the command line, before all else; with blanks between */
    enum hs_endpoint_kind kind;
    const struct hs_parameter *parameters; /* beside snap, limit, after and q; NULL: none */
    const char *what_option;               /* "--to=": before WHAT; NULL: it is an argument */
    const char *rows;                      /* the list that comes in pages; NULL: none does */
    bool is_within;           /* the list is not what -n bounds: it comes in pages only */
    const char *limit_option; /* of "limit"; NULL: there is no such parameter */
    unsigned limit, most;     /* without the parameter; that it may be */
};

/* Finds the endpoint of a path behind /api/1; *ret_what is the part of it that says which object,
 * NULL where there is none. NULL: there is no such thing. */
const struct hs_endpoint *hs_endpoint_find(const struct hs_target *target, const char **ret_what);
/* Finds a parameter; NULL: the endpoint does not take it. */
const struct hs_parameter *hs_endpoint_parameter(const struct hs_endpoint *endpoint,
                                                 const char *name);

#endif
