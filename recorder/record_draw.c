#include "record_draw.h"

#define GAPS_MAX 4096U /* drawn one by one; from there on their number is as good as normal */

/* Returns the natural logarithm of x in (0, 1]; to some 1e-12. Not libm's, which the program may
 * not have loaded. */
static double natural_log(double x)
{
    int exponent = 0;
    double s, square, sum = 0;

    while (x < 0.70710678118654752) {
        x *= 2;
        exponent--;
    }
    s = (x - 1) / (x + 1);
    square = s * s;
    for (int n = 15; n >= 1; n -= 2)
        sum = sum * square + 1.0 / n;
    return 2 * s * sum + exponent * 0.69314718055994531;
}

void hs_record_chance_init(struct hs_record_chance *chance, uint64_t period)
{
    double p = (double)period;

    chance->period = period;
    /* The series of -1 / ln(1 - 1 / p); close to 1 the logarithm would lose digits. */
    chance->scale = period > 64 ? p - 0.5 - 1 / (12 * p) : -1 / natural_log(1 - 1 / p);
    if (period == 1)
        chance->scale = 0;
}

/* Mixes a seed by splitmix64's finish. */
uint64_t hs_record_seed(uint64_t from)
{
    uint64_t z = from + UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return z != 0 ? z : 1;
}

/* Draws by xorshift64*, of which the upper bits are taken: in (0, 1]. */
static double uniform(uint64_t *random)
{
    uint64_t x = *random;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *random = x;
    return (double)((x * UINT64_C(0x2545f4914f6cdd1d) >> 11) + 1) * 0x1p-53;
}

uint64_t hs_record_gap(const struct hs_record_chance *chance, uint64_t *random)
{
    if (chance->period <= 1)
        return 1;
    return 1 + (uint64_t)(-natural_log(uniform(random)) * chance->scale);
}

static uint32_t many(const struct hs_record_chance *chance, uint64_t *random, uint64_t n_bytes)
{
    double mean = (double)n_bytes / (double)chance->period, normal = -6, n;

    for (int i = 0; i < 12; i++)
        normal += uniform(random);
    n = mean + normal * __builtin_sqrt(mean * (1 - 1 / (double)chance->period)) + 0.5;
    return n >= UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

uint32_t hs_record_draw(const struct hs_record_chance *chance, uint64_t *random, uint64_t n_bytes,
                        uint64_t *left)
{
    uint32_t n = 0;

    if (chance->period <= 1) {
        *left = 0; /* nothing passes by, empty blocks neither */
        return n_bytes == 0 ? 1 : n_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)n_bytes;
    }
    if (n_bytes / chance->period > GAPS_MAX) {
        *left = hs_record_gap(chance, random);
        return many(chance, random, n_bytes);
    }
    while (*left <= n_bytes) {
        n_bytes -= *left;
        *left = hs_record_gap(chance, random);
        n++;
    }
    *left -= n_bytes;
    return n;
}
