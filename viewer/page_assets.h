/* The files of page/ as texts; their source is made by cmake (cmake/HsPage.cmake). */
#ifndef HS_VIEWER_PAGE_ASSETS_H
#define HS_VIEWER_PAGE_ASSETS_H

extern const char hs_page_css[];
extern const char hs_page_js[]; /* data, table, tree, screens, page, report */

#endif
