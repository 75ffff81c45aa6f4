#include "layouts.h"

#include <stddef.h>

#define NAMES "1.19"
enum { N_LAYOUTS = 7 };

static const struct hs_go_layout layouts[] = {
    {
        .minor = 19,
        .name = "1.19",
        .column = 0,
#define COLUMN(structure, member, v19, v21, v22, v23, v24, v26, v27) .structure##_##member = (v19),
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
