/* Errors are formatted into the caller's storage: no allocation, no locale, no printing. */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void error_fill(struct hs_error *err, hs_status status, const char *format, va_list args)
{
    char message[sizeof err->message]; /* the arguments may point into the error being replaced */

    assert(status > HS_OK && status < HS_N_STATUS);
    (void)vsnprintf(message, sizeof message, format, args);
    err->status = status;
    err->sys_errno = 0;
    err->hint[0] = '\0';
    memcpy(err->message, message, sizeof message);
}

hs_status hs_fail(struct hs_error *err, hs_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_fill(err, status, format, args);
    va_end(args);
    return status;
}

/* Appends ": text"; what does not fit is cut. */
static void error_append(struct hs_error *err, const char *text)
{
    size_t used = strlen(err->message);
    size_t room = sizeof err->message - 1 - used;
    const char *parts[] = {": ", text};

    for (size_t i = 0; i < 2; i++) {
        size_t n = strnlen(parts[i], room);
        memcpy(err->message + used, parts[i], n);
        used += n;
        room -= n;
    }
    err->message[used] = '\0';
}

hs_status hs_fail_errno(struct hs_error *err, hs_status status, const char *format, ...)
{
    int number = errno;
    char reason[128];

    va_list args;
    va_start(args, format);
    error_fill(err, status, format, args);
    va_end(args);
    err->sys_errno = number;
    /* The GNU strerror_r: thread-safe, and it may answer with a constant. */
    error_append(err, strerror_r(number, reason, sizeof reason));
    return status;
}

hs_status hs_context(struct hs_error *err, const char *format, ...)
{
    char outer[sizeof err->message];
    char inner[sizeof err->message];

    assert(err->status != HS_OK);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(outer, sizeof outer, format, args);
    va_end(args);
    memcpy(inner, err->message, sizeof inner);
    memcpy(err->message, outer, sizeof outer);
    error_append(err, inner);
    return err->status;
}

hs_status hs_hint(struct hs_error *err, const char *format, ...)
{
    char hint[sizeof err->hint];

    assert(err->status != HS_OK);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(hint, sizeof hint, format, args);
    va_end(args);
    memcpy(err->hint, hint, sizeof hint);
    return err->status;
}
