/* Sorted spans of addresses. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "ocaml.h"

hs_status hs_spans_add(struct hs_spans *spans, hs_addr begin, hs_addr end, struct hs_error *err)
{
    HS_TRY(HS_GROW(&spans->spans, &spans->capacity, spans->n + 1, err));
    spans->spans[spans->n++] = (struct hs_span){.begin = begin, .end = end};
    return HS_OK;
}

static int span_compare(const void *a, const void *b)
{
    const struct hs_span *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1)
                                : (x->end > y->end) - (x->end < y->end);
}

void hs_spans_seal(struct hs_spans *spans)
{
    size_t n = 0;

    if (spans->n > 1)
        qsort(spans->spans, spans->n, sizeof *spans->spans, span_compare);
    for (size_t i = 0; i < spans->n; i++) {
        struct hs_span *span = &spans->spans[i];
        if (span->begin >= span->end)
            continue;
        struct hs_span *last = n == 0 ? NULL : &spans->spans[n - 1];
        if (last == NULL || span->begin > last->end)
            spans->spans[n++] = *span;
        else if (span->end > last->end)
            last->end = span->end;
    }
    spans->n = n;
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
