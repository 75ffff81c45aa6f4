/* The list of runtimes. A new one is a folder snapshot/runtimes/NAME/ that defines
 * `const struct hs_runtime hs_runtime_NAME` (runtimes/runtime.h), and a line here.
 *
 * Those with a heap of their own, and those that know what is in the allocators' blocks, stand
 * before `native`, which reads what the allocators have. */
#ifndef HS_RUNTIMES_RUNTIMES_H
#define HS_RUNTIMES_RUNTIMES_H

#include "base/parts.h"

#define HS_RUNTIMES(X)      \
    HS_IF_GO(X(go))         \
    HS_IF_OCAML(X(ocaml))   \
    HS_IF_PYTHON(X(python)) \
    X(native)

#define HS_RUNTIME_NUMBER(name) HS_RUNTIME_##name,
enum hs_runtime_number { HS_RUNTIMES(HS_RUNTIME_NUMBER) HS_N_RUNTIMES };

#endif
