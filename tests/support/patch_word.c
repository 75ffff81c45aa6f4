/* links: hs_base */
#include "patch_word.h"

void patch_word(uint64_t *word, uint64_t *other, uint8_t how, uint16_t what,
                const uint64_t pointers[2])
{
    const uint64_t value = *other;

    switch (how % 8) {
    case 0:
        *word = what;
        break;
    case 1:
        *word = pointers[0];
        break;
    case 2:
        *word += (uint64_t)(int64_t)(int16_t)what;
        break;
    case 3:
        *word = pointers[1];
        break;
    case 4:
        *word = value;
        break;
    case 5:
        *other = *word;
        *word = value;
        break;
    case 6:
        *word ^= UINT64_C(1) << what % 64;
        break;
    default:
        *word = UINT64_MAX - what;
    }
}
