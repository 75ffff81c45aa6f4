/* links: hs_recorder */
/* The recorder's table against a plain list, under random operations; its stacks; chance. */
#include "unit.h"

#include <math.h>

#include "recorder/record_draw.h"
#include "recorder/record_table.h"

#define N_ADDRESSES 60000U

static struct hs_record_anchor anchor;
static struct hs_record_table table;

static uint64_t address_of(unsigned i)
{
    return UINT64_C(0x7f0000000000) + 16 * (uint64_t)i * (i % 3 == 0 ? 1 : 4099);
}

static const struct hs_record_slot *slot_of(uint64_t address)
{
    const struct hs_record_slot *slots = (const void *)(uintptr_t)anchor.slots;
    uint64_t mask = anchor.n_slots - 1, at = hs_record_hash(address) & mask;

    for (uint64_t n = 0; n < anchor.n_slots && slots[at].address != 0; n++) {
        if (slots[at].address == address)
            return &slots[at];
        at = (at + 1) & mask;
    }
    return NULL;
}

static uint64_t n_in_use(void)
{
    const struct hs_record_slot *slots = (const void *)(uintptr_t)anchor.slots;
    uint64_t n = 0;

    for (uint64_t i = 0; i < anchor.n_slots; i++)
        n += slots[i].address > 1;
    return n;
}

static void test_random(void **state)
{
    static bool is_live[N_ADDRESSES];
    uint64_t random = hs_record_seed(5), n_live = 0;

    assert_true(hs_record_table_init(&table, &anchor));
    for (unsigned step = 0; step < 400000; step++) {
        unsigned i = (unsigned)((random = hs_record_seed(random)) % N_ADDRESSES);
        uint64_t address = address_of(i);
        struct hs_record_slot slot = {.address = address, .id = i, .bytes = 3 * i, .n_samples = 1};

        /* Grows, and is nearly emptied again. */
        if (!is_live[i] && random >> 60 < (step / 100000 % 2 == 0 ? 14 : 3)) {
            assert_true(hs_record_table_put(&table, &slot));
            is_live[i] = true;
            n_live++;
        } else {
            bool was_sample = hs_record_table_take(&table, address, &slot);

            assert_int_equal(was_sample, is_live[i]);
            assert_true(!was_sample || (slot.id == i && slot.bytes == 3 * i));
            n_live -= was_sample;
            is_live[i] = false;
        }
    }
    assert_int_equal(n_live, table.n_live);
    assert_int_equal(n_live, n_in_use());
    for (unsigned i = 0; i < N_ADDRESSES; i++) {
        const struct hs_record_slot *slot = slot_of(address_of(i));

        assert_int_equal(slot != NULL, is_live[i]);
        assert_true(slot == NULL || slot->id == i);
        assert_true(!is_live[i] || hs_record_maybe((const void *)(uintptr_t)address_of(i)));
    }
    hs_record_table_fini(&table);
    assert_int_equal(anchor.n_slots, 0);
}

static void test_filter_forgets(void **state)
{
    struct hs_record_slot slot = {.address = 0x555500001230, .bytes = 1}, taken;

    assert_true(hs_record_table_init(&table, &anchor));
    for (unsigned i = 0; i < 200; i++) {
        assert_true(hs_record_table_put(&table, &slot));
        assert_true(hs_record_maybe((const void *)(uintptr_t)slot.address));
        assert_true(hs_record_table_take(&table, slot.address, &taken));
        assert_false(hs_record_maybe((const void *)(uintptr_t)slot.address));
    }
    assert_false(hs_record_table_take(&table, slot.address, &taken));
    slot.address = 1; /* a mark is no block */
    assert_false(hs_record_table_put(&table, &slot));
    hs_record_table_fini(&table);
}

/* Blocks that move are known by a key, which no address may be taken for. */
static void test_moving(void **state)
{
    struct hs_record_slot slot = {.address = hs_record_key(7, 1), .id = 7, .bytes = 1}, taken;

    assert_true(hs_record_table_init(&table, &anchor));
    for (unsigned i = 0; i < 1000; i++) {
        slot.address = hs_record_key(UINT64_C(3) << HS_RECORD_GENERATION_SHIFT | i, i % 3);
        slot.id = i;
        assert_true(hs_record_table_put(&table, &slot));
        assert_int_equal(hs_record_number(slot.address) & UINT32_MAX, i);
        assert_false(hs_record_maybe((const void *)(uintptr_t)slot.address));
    }
    slot.address = address_of(5);
    slot.id = 5000;
    assert_true(hs_record_table_put(&table, &slot));
    slot.address = hs_record_key(UINT64_C(3) << HS_RECORD_GENERATION_SHIFT | 500, 500 % 3);
    assert_true(hs_record_table_take(&table, slot.address, &taken));
    assert_int_equal(taken.id, 500);
    assert_false(hs_record_table_take(&table, slot.address, &taken));
    assert_int_equal(table.n_live, 1000);
    hs_record_table_forget_moving(&table);
    assert_int_equal(table.n_live, 1);
    assert_int_equal(n_in_use(), 1);
    assert_true(hs_record_maybe((const void *)(uintptr_t)address_of(5)));
    assert_true(hs_record_table_take(&table, address_of(5), &taken));
    assert_int_equal(taken.id, 5000);
    hs_record_table_fini(&table);
}

static void test_stacks(void **state)
{
    uint64_t frames[HS_RECORD_FRAMES_MAX + 1], random = 3;
    uint32_t first[64];

    assert_true(hs_record_table_init(&table, &anchor));
    for (unsigned i = 0; i < sizeof frames / sizeof *frames; i++)
        frames[i] = random = hs_record_seed(random);
    for (unsigned i = 0; i < 64; i++) {
        first[i] = hs_record_table_stack(&table, frames + i, 1 + i);
        const struct hs_record_stack *stack =
            (const void *)(uintptr_t)(anchor.stacks + 8 * (uint64_t)first[i]);

        assert_int_not_equal(first[i], 0);
        assert_int_equal(stack->n_frames, 1 + i);
        assert_memory_equal(stack->frames, frames + i, (1 + i) * sizeof *frames);
        assert_true(8 * (uint64_t)first[i] + sizeof *stack + (1 + i) * sizeof *frames <=
                    anchor.stacks_bytes);
    }
    uint64_t n_bytes = anchor.stacks_bytes;

    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(hs_record_table_stack(&table, frames + i, 1 + i), first[i]);
    assert_int_equal(anchor.stacks_bytes, n_bytes); /* each once */
    assert_int_equal(hs_record_table_stack(&table, frames, 0), 0);
    assert_int_equal(hs_record_table_stack(&table, frames, HS_RECORD_FRAMES_MAX + 1), 0);
    for (unsigned i = 0; i < 3000000 && anchor.stacks_bytes < table.stacks_room - 2000; i++) {
        frames[0] = i;
        (void)hs_record_table_stack(&table, frames, HS_RECORD_FRAMES_MAX);
    }
    frames[0] = 0;
    frames[1] = 7;
    while (hs_record_table_stack(&table, frames, 64) != 0) /* full, and says so */
        frames[0]++;
    assert_true(anchor.stacks_bytes <= table.stacks_room);
    hs_record_table_fini(&table);
}

/* Points fall on bytes with the same probability, whatever the blocks are. */
static void test_chance(void **state)
{
    static const uint64_t periods[] = {2, 3, 50, 1000, 65536};
    static const uint64_t sizes[] = {1, 8, 100, 5000, 3000000};

    for (unsigned p = 0; p < sizeof periods / sizeof *periods; p++) {
        for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct hs_record_chance chance;
            uint64_t random = hs_record_seed(p * 31 + s), left, n = 0;
            double n_blocks = s < 2 ? 200000 : s == 2 ? 20000 : 300, mean, error;

            hs_record_chance_init(&chance, periods[p]);
            left = hs_record_gap(&chance, &random);
            for (unsigned i = 0; i < n_blocks; i++) {
                if (sizes[s] >= left)
                    n += hs_record_draw(&chance, &random, sizes[s], &left);
                else
                    left -= sizes[s];
            }
            mean = n_blocks * (double)sizes[s] / (double)periods[p];
            error = sqrt(mean * (1 - 1 / (double)periods[p]));
            assert_true(fabs((double)n - mean) <= 5 * error + n_blocks * 1e-3);
        }
    }
}

static void test_every_byte(void **state)
{
    struct hs_record_chance chance;
    uint64_t random = hs_record_seed(1), left = 1;

    hs_record_chance_init(&chance, 1);
    assert_int_equal(hs_record_draw(&chance, &random, 100, &left), 100);
    assert_int_equal(left, 0);
    left = 1;
    assert_int_equal(hs_record_draw(&chance, &random, 0, &left), 1);
    left = 1;
    assert_int_equal(hs_record_draw(&chance, &random, UINT64_MAX, &left), UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_filter_forgets),
        cmocka_unit_test(test_moving), cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_chance), cmocka_unit_test(test_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
