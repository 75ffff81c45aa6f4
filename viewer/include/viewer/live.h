/* The texts of the page that a server hands out, and what it tells programs of itself. They are the
 * same for every snapshot: what is of a target comes by requests, as JSON. */
#ifndef HS_VIEWER_LIVE_H
#define HS_VIEWER_LIVE_H

extern const char hs_live_html[];
extern const char hs_live_css[];
extern const char hs_live_js[];
extern const char hs_live_openapi[]; /* docs/openapi.json */

#endif
