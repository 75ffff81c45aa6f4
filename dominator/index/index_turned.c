#include "index_turned.h"

static hs_status turned_run(const void *context, const struct hs_piece_sink *sink,
                            struct hs_error *err)
{
    const struct index_turned *turned = context;
    return hs_reverse(&turned->forward, &turned->options, sink, err);
}

struct hs_sweep index_turned_sweep(const struct index_turned *turned)
{
    struct hs_sweep sweep = turned->forward;
    sweep.run = turned_run;
    sweep.context = turned;
    return sweep;
}
