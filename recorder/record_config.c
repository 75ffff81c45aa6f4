#include "record_config.h"

#include <stdlib.h>
#include <string.h>

#define VARIABLE "HEAPSNAP_RECORD_"

static uint64_t number(const char *name, uint64_t low, uint64_t high, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    unsigned long long value;

    if (text == NULL || *text < '0' || *text > '9')
        return otherwise;
    value = strtoull(text, &end, 10);
    return *end == '\0' && value >= low && value <= high ? value : otherwise;
}

static bool is_said(const char *name, const char *what)
{
    const char *text = getenv(name);

    return text != NULL && strcmp(text, what) == 0;
}

void hs_record_config_read(struct hs_record_config *config)
{
    static const char *const stacks[] = {
        [HS_RECORD_STACKS_FRAMES] = "frames",
        [HS_RECORD_STACKS_TABLES] = "tables",
        [HS_RECORD_STACKS_NONE] = "none",
    };
    const char *file = getenv(VARIABLE "FILE");

    config->period_bytes = number(VARIABLE "RATE", 1, UINT64_C(1) << 40, HS_RECORD_PERIOD_BYTES);
    config->seed = number(VARIABLE "SEED", 1, UINT64_MAX, 0);
    config->file = file != NULL && *file != '\0' ? file : NULL;
    config->fd = (int)number(VARIABLE "FD", 0, INT32_MAX, UINT64_MAX);
    config->signal = (int)number(VARIABLE "SIGNAL", 1, 64, 0);
    config->stacks = HS_RECORD_STACKS_AUTO;
    for (unsigned i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        if (stacks[i] != NULL && is_said(VARIABLE "STACKS", stacks[i]))
            config->stacks = (enum hs_record_stacks)i;
    }
    config->is_on = !is_said(VARIABLE "START", "off");
    config->with_ocaml = !is_said(VARIABLE "OCAML", "off");
    config->holds = is_said(VARIABLE "HELD", "1");
    config->with_children = is_said(VARIABLE "CHILDREN", "1");
}
