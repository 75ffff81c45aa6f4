/* Places in scripts as the recorder has kept them (heapsnap/recorded.h); every word is hostile. */
#include "heaps/sampled.h"
#include <heapsnap/recorded.h>

static void copy_text(const uint8_t *bytes, size_t n, char *text)
{
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(bytes[i] < 0x20 || bytes[i] == 0x7f ? '?' : bytes[i]);
    text[n] = '\0';
}

bool hs_sampled_script(const struct hs_image *image, const struct hs_sampled_by *sampler,
                       hs_addr frame, struct hs_sampled_script *ret)
{
    uint64_t at = 8 * (uint64_t)(uint32_t)frame;
    const size_t head = sizeof(struct hs_record_stack) + sizeof(uint64_t);
    uint32_t n_words;

    _Static_assert(HS_RECORD_SCRIPT == HS_SAMPLED_SCRIPT, "one bit for both");
    _Static_assert((int)HS_RECORD_SCRIPT_BYTES < (int)HS_SAMPLED_TEXT_BYTES, "a text has room");
    if (frame >> 32 != HS_RECORD_SCRIPT >> 32 || at > sampler->scripts_bytes ||
        sampler->scripts_bytes - at < head ||
        !hs_image_u32(image, sampler->scripts + at, &n_words) || n_words == 0 ||
        n_words > HS_RECORD_FRAMES_MAX)
        return false;
    size_t n_bytes = sizeof(struct hs_record_stack) + sizeof(uint64_t) * n_words;
    const uint8_t *bytes = sampler->scripts_bytes - at < n_bytes
                               ? NULL
                               : hs_image_bytes(image, sampler->scripts + at, n_bytes);
    if (bytes == NULL)
        return false;
    uint64_t word = hs_load_u64(bytes + sizeof(struct hs_record_stack));
    size_t n_file = word >> 32 & UINT16_MAX, n_function = word >> 48;
    if (n_file + n_function > n_bytes - head)
        return false;
    copy_text(bytes + head, n_file, ret->file);
    copy_text(bytes + head + n_file, n_function, ret->function);
    ret->line = (uint32_t)word;
    return true;
}
