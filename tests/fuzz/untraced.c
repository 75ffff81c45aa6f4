/* What libFuzzer is told of each comparison, for harnesses whose input is a list of damages to a
 * made world: the values that are compared are never bytes of the input, and to note them takes
 * four fifths of the time. The linker puts these in place of libFuzzer's (--wrap). */
#include <stdint.h>

#define IGNORED(name, type)                    \
    void __wrap_##name(type left, type right); \
    void __wrap_##name(type left, type right)  \
    {                                          \
        (void)left;                            \
        (void)right;                           \
    }

/* clang-format off */
IGNORED(__sanitizer_cov_trace_cmp1, uint8_t)
IGNORED(__sanitizer_cov_trace_cmp2, uint16_t)
IGNORED(__sanitizer_cov_trace_cmp4, uint32_t)
IGNORED(__sanitizer_cov_trace_cmp8, uint64_t)
IGNORED(__sanitizer_cov_trace_const_cmp1, uint8_t)
IGNORED(__sanitizer_cov_trace_const_cmp2, uint16_t)
IGNORED(__sanitizer_cov_trace_const_cmp4, uint32_t)
IGNORED(__sanitizer_cov_trace_const_cmp8, uint64_t)
/* clang-format on */

void __wrap___sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases);
void __wrap___sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases)
{
    (void)value;
    (void)cases;
}
