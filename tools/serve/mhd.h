/* libmicrohttpd, loaded when a server begins and not before. It brings GnuTLS, whose constructors
 * would run before main() of every command, take time, and end the process by SIGSEGV where its
 * limits are narrow (`ulimit -v`). */
#ifndef HS_SERVE_MHD_H
#define HS_SERVE_MHD_H

#include <microhttpd.h>

#include "base/error.h"

/* The functions as the library declares them. */
struct hs_mhd {
    __typeof__(MHD_start_daemon) *start_daemon;
    __typeof__(MHD_stop_daemon) *stop_daemon;
    __typeof__(MHD_get_daemon_info) *get_daemon_info;
    __typeof__(MHD_get_timeout) *get_timeout;
    __typeof__(MHD_run) *run;
    __typeof__(MHD_get_connection_info) *get_connection_info;
    __typeof__(MHD_lookup_connection_value) *lookup_connection_value;
    __typeof__(MHD_suspend_connection) *suspend_connection;
    __typeof__(MHD_resume_connection) *resume_connection;
    __typeof__(MHD_create_response_from_buffer_with_free_callback_cls) *create_response;
    __typeof__(MHD_add_response_header) *add_response_header;
    __typeof__(MHD_queue_response) *queue_response;
    __typeof__(MHD_destroy_response) *destroy_response;
};

/* Loads the library, which stays until the process ends. Fails with HS_IO where it is not
 * installed. */
hs_status hs_mhd_load(struct hs_mhd *ret, struct hs_error *err);

#endif
