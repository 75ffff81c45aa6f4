/* Code of this processor is not followed yet. */
#include "arch/followed.h"

bool hs_code_is_followed(void)
{
    return false;
}

void hs_code_follow(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                    const struct hs_mention_taker *mentions)
{
    (void)code, (void)n_bytes, (void)vaddr, (void)mentions;
}
