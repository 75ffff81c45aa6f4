#include "mhd.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

static const struct {
    const char *name;
    size_t at; /* in hs_mhd */
} calls[] = {
    {"MHD_start_daemon", offsetof(struct hs_mhd, start_daemon)},
    {"MHD_stop_daemon", offsetof(struct hs_mhd, stop_daemon)},
    {"MHD_get_daemon_info", offsetof(struct hs_mhd, get_daemon_info)},
    {"MHD_get_timeout", offsetof(struct hs_mhd, get_timeout)},
    {"MHD_run", offsetof(struct hs_mhd, run)},
    {"MHD_get_connection_info", offsetof(struct hs_mhd, get_connection_info)},
    {"MHD_lookup_connection_value", offsetof(struct hs_mhd, lookup_connection_value)},
    {"MHD_suspend_connection", offsetof(struct hs_mhd, suspend_connection)},
    {"MHD_resume_connection", offsetof(struct hs_mhd, resume_connection)},
    {"MHD_create_response_from_buffer_with_free_callback_cls",
     offsetof(struct hs_mhd, create_response)},
    {"MHD_add_response_header", offsetof(struct hs_mhd, add_response_header)},
    {"MHD_queue_response", offsetof(struct hs_mhd, queue_response)},
    {"MHD_destroy_response", offsetof(struct hs_mhd, destroy_response)},
};

hs_status hs_mhd_load(struct hs_mhd *ret, struct hs_error *err)
{
    if (getauxval(AT_BASE) == 0) {
        (void)hs_fail(err, HS_IO, "this heapsnap is one file, which loads no libraries");
        return hs_hint(err, "'heapsnap report' is the same in one page; or serve it elsewhere");
    }
    void *library = dlopen(HS_MHD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)hs_fail(err, HS_IO, "cannot load libmicrohttpd: %s", dlerror());
        return hs_hint(err, "install the package of " HS_MHD_LIBRARY);
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *found = dlsym(library, calls[i].name);
        if (found == NULL)
            return hs_fail(err, HS_IO, "libmicrohttpd is too old: it has no %s", calls[i].name);
        memcpy((char *)ret + calls[i].at, &found, sizeof found);
    }
    return HS_OK;
}
