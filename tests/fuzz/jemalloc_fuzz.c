/* links: hs_dump hs_native hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
/* fuzz: -entropic=0 */
/* heaps_fuzz.c's processes with jemalloc: a fuzzer of its own, since each takes longer. */
#define FUZZ_JEMALLOC 1
#include "heaps_fuzz.c"
