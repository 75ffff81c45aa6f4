#include "index_progress.h"

#include <stdio.h>
#include <string.h>

/* The phases that a user sees, in the order of the work by passes, each with the pass it is a part
 * of. Some come again later (what ephemerons hold needs passes of its own): passes do not go back.
 */
static const struct {
    const char *phase;
    unsigned pass;
} phases[] = {{"reversing the graph", 1},        {"counting the ways in", 2},
              {"collecting the forest", 3},      {"searching the forest", 3},
              {"placing the forest", 4},         {"linking the regions", 5},
              {"reading the core", 6},           {"sifting the core", 6},
              {"searching the graph", 6},        {"finding dominators", 6},
              {"attaching the core", 7},         {"attaching the core's cycles", 7},
              {"attaching the regions", 8},      {"adding up retained sizes", 9},
              {"writing dominators", 10},        {"condensing the graph", 11},
              {"writing the dominator tree", 12}};

enum { N_PHASES = sizeof phases / sizeof *phases, N_PASSES = 12 };

static bool progress_tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct index_progress *p = context;
    size_t at = 0;
    while (at < N_PHASES && strcmp(phases[at].phase, phase) != 0)
        at++;
    if (at < N_PHASES) {
        if (phases[at].pass > p->pass)
            p->pass = phases[at].pass;
        (void)snprintf(p->text, sizeof p->text, "%s, pass %u of %d", phase, p->pass, N_PASSES);
        p->done = done;
        p->total = total;
    }
    const char *text = p->text[0] != 0 ? p->text : phase;
    return p->heard == NULL || p->heard->tell == NULL ||
           p->heard->tell(p->heard->context, text, p->done, p->total);
}

void index_progress_init(const struct hs_progress *heard, struct index_progress *ret)
{
    *ret = (struct index_progress){.heard = heard};
    ret->counted = (struct hs_progress){progress_tell, ret};
}
