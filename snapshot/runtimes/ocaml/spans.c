/* Spans of addresses, one after the other. */
#include "base/alloc.h"
#include "base/bisect.h"
#include "ocaml.h"

hs_status hs_spans_add(struct hs_spans *spans, hs_addr begin, hs_addr end, struct hs_error *err)
{
    HS_TRY(HS_GROW(&spans->spans, &spans->capacity, spans->n + 1, err));
    spans->spans[spans->n++] = (struct hs_span){.begin = begin, .end = end};
    return HS_OK;
}

void hs_spans_fini(struct hs_spans *spans)
{
    if (spans == NULL)
        return;
    hs_free(spans->spans);
    *spans = (struct hs_spans){0};
}

const struct hs_span *hs_spans_find(const struct hs_spans *spans, hs_addr address)
{
    size_t low = HS_FIRST_ABOVE(spans->spans, spans->n, end, address);
    return low < spans->n && spans->spans[low].begin <= address ? &spans->spans[low] : NULL;
}
