/* links: hs_symbols hs_base */
/* Any bytes as a symbol and as a type of run time: bounded output, in bounded time. */
#include <string.h>

#include "symbols/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static char name[6000], out[512], shorter[512];
    size_t n = n_bytes < sizeof(name) - 1 ? n_bytes : sizeof(name) - 1;
    memcpy(name, bytes, n);
    name[n] = '\0';
    if (hs_demangle(name, out, sizeof(out)) != strlen(out))
        __builtin_trap();
    if (hs_demangle_type(name, out, sizeof(out)) != strlen(out))
        __builtin_trap();
    if (hs_shorten_type(out, shorter, sizeof(shorter)) > strlen(out))
        __builtin_trap();
    if (hs_shorten_type(name, shorter, sizeof(shorter)) > n)
        __builtin_trap();
    return 0;
}
