/* printf into a checked output. */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "options.h"

hs_status hs_print(struct hs_out *out, struct hs_error *err, const char *format, ...)
{
    char small[512];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(small, sizeof small, format, arguments);
    va_end(arguments);
    hs_status status = HS_OK;
    if (n < 0) {
        status = hs_fail(err, HS_BUG, "cannot format a line");
    } else if ((size_t)n < sizeof small) {
        status = hs_out_write(out, small, (size_t)n, err);
    } else {
        hs_auto_free void *large = NULL;
        status = hs_alloc((size_t)n + 1, 1, &large, err);
        if (status == HS_OK) {
            vsnprintf(large, (size_t)n + 1, format, again);
            status = hs_out_write(out, large, (size_t)n, err);
        }
    }
    va_end(again);
    return status;
}
