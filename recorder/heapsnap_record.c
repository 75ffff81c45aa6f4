/* The functions that programs may call: heapsnap/record.h. */
#include "record_core.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int heapsnap_record_switch_v1(int is_on);
EXPORT int heapsnap_record_is_on_v1(void);
EXPORT int heapsnap_record_flush_v1(void);

int heapsnap_record_switch_v1(int is_on)
{
    return hs_record_switch(is_on != 0);
}

int heapsnap_record_is_on_v1(void)
{
    return hs_record_is_on();
}

int heapsnap_record_flush_v1(void)
{
    return hs_record_flush();
}
