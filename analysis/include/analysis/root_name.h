/* The name of a root in what people read: in tables, sentences, paths, pages, the browser. One
 * spelling for all of them:
 *
 *     server (server.c:86)                             by itself: its name, and where it stands
 *     work() local backlog (feed.py:44, thread 5235)
 *     .bss+0x1fb40 (redis-server, used by main)        a place without a name
 *     server, lctx, .bss+0x1fb40 used by main, ...     among others
 *
 * The name is that of the tree of roots, which `--to root:NAME` finds; what stands behind it says
 * which of several is meant, or where to look. In data (JSON, TSV, SQL) they are members apart. */
#ifndef HS_ANALYSIS_ROOT_NAME_H
#define HS_ANALYSIS_ROOT_NAME_H

#include "analysis/view.h"

#define HS_ROOT_WHERE_BYTES 640

/* Writes the place of the root, for a column: "stm/stm.ml:318", the symbol, the thread; of what has
 * no name "libglib-2.0.so.0, used by g_intern_string"; of a symbol alone its binary; "" when
 * unknown. `text` has n bytes. */
void hs_root_place(const struct hs_view *view, const struct hs_root *root, char *text, size_t n);

/* The same for behind a name, with the thread of what is one's, and the end of a long file name:
 * "stm.ml:318, thread 5", "on the stack, thread 5". `text` has HS_ROOT_WHERE_BYTES. */
void hs_root_where(const struct hs_view *view, const struct hs_root *root, char *text);

/* Writes the part of a place that stands behind its name among others, which would not say whose it
 * is: " used by main", " of libc.so.6"; "" of names. `text` has HS_ROOT_WHERE_BYTES. */
void hs_root_tail(const struct hs_view *view, const struct hs_root *root, char *text);

/* Lists the first `most` roots of an owner set in the order that they are named in: firm ones
 * first, of these what has a name, then by number. Returns their number. */
size_t hs_set_first_roots(const struct hs_view *view, uint32_t set, hs_node *roots, size_t most);

/* Writes "Stm.VCS, Lib.lib_state, ..." as far as there is room, at most 8; of more than that each
 * name once: many libraries may have one. `text` has n_bytes. */
void hs_set_roots_text(const struct hs_view *view, uint32_t set, char *text, size_t n_bytes);

/* Writes "set:3: 5 roots: Stm.VCS, Lib.lib_state, ..."; `text` has n_bytes. */
void hs_set_label(const struct hs_view *view, uint32_t set, char *text, size_t n_bytes);

#endif
