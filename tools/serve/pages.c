#include "pages.h"

#include "viewer/live.h"

const struct hs_server_file *hs_serve_pages(size_t *ret_n)
{
    static const struct hs_server_file files[] = {
        {"/", "text/html; charset=utf-8", hs_live_html},
        {"/page.css", "text/css; charset=utf-8", hs_live_css},
        {"/page.js", "text/javascript; charset=utf-8", hs_live_js},
        {"/openapi.json", "application/json", hs_live_openapi},
    };
    *ret_n = sizeof files / sizeof *files;
    return files;
}
