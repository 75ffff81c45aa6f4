#include "layouts.h"

#include <stddef.h>

#define NAMES "1.19, 1.21 to 1.24, 1.26 and 1.27"
enum { N_LAYOUTS = 7 };

static const struct hs_go_layout layouts[N_LAYOUTS] = {
    {
        .minor = 19,
        .name = "1.19",
        .column = 0,
#define COLUMN(structure, member, v19, v21, v22, v23, v24, v26, v27) .structure##_##member = (v19),
#include "columns.def"
#undef COLUMN
    },
    {
        .minor = 21,
        .name = "1.21",
        .column = 1,
#define COLUMN(structure, member, v19, v21, v22, v23, v24, v26, v27) .structure##_##member = (v21),
#include "columns.def"
#undef COLUMN
    },
    {
        .minor = 22,
        .name = "1.22",
        .column = 2,
#define COLUMN(structure, member, v19, v21, v22, v23, v24, v26, v27) .structure##_##member = (v22),
#include "columns.def"
#undef COLUMN
    },
    {
        .minor = 23,
        .name = "1.23",
        .column = 3,
#define COLUMN(structure, member, v19, v21, v22, v23, v24, v26, v27) .structure##_##member = (v23),
#include "columns.def"
#undef COLUMN
    },
    {
        .minor = 24,
        .name = "1.24",
        .column = 4,
#define COLUMN(structure, member, v19, v21, v22, v23, v24, v26, v27) .structure##_##member = (v24),
#include "columns.def"
#undef COLUMN
    },
    {
        .minor = 26,
        .name = "1.26",
        .column = 5,
#define COLUMN(structure, member, v19, v21, v22, v23, v24, v26, v27) .structure##_##member = (v26),
#include "columns.def"
#undef COLUMN
    },
    {
        .minor = 27,
        .name = "1.27",
        .column = 6,
#define COLUMN(structure, member, v19, v21, v22, v23, v24, v26, v27) .structure##_##member = (v27),
#include "columns.def"
#undef COLUMN
    },
};

const struct hs_go_layout *hs_go_layout(unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor)
            return &layouts[i];
    return NULL;
}

const char *hs_go_wait_reason(const struct hs_go_layout *layout, unsigned number)
{
    static const struct {
        const char *text;
        int16_t numbers[N_LAYOUTS];
    } waits[] = {
#define WAIT(text, ...) {text, {__VA_ARGS__}},
#include "waits.def"
#undef WAIT
    };

    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (waits[i].numbers[layout->column] == (int)number)
            return waits[i].text;
    return NULL;
}

const char *hs_go_layout_names(void)
{
    return NAMES;
}
