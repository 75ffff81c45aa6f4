/* Qualified names of C++ and Rust made shorter where there is no room for them. */
#ifndef HS_REPORT_TEXT_NAMES_H
#define HS_REPORT_TEXT_NAMES_H

#include "base/buffer.h"
#include "base/error.h"

#define HS_TEXT_ELLIPSIS "\xe2\x80\xa6"

/* Sets *ret, which may have had something, to a sanitised text with an ellipsis for what tells
 * least, from its left and no more of it than `width` asks for: namespaces without a name, then
 * several arguments of templates that are arguments themselves, then outer namespaces and modules,
 * then the innermost ones, then arguments of templates, then the classes of functions.
 *
 *   core::result::Result<app::Args, alloc::boxed::Box<dyn Error>>::and_then<...> argument self
 *   ...Result<...>::and_then<...> argument self
 *   ...and_then<...> argument self
 *
 * It may still be too wide. O(length). Fails with HS_LIMIT. */
hs_status hs_text_shorten_names_(const char *text, size_t n_bytes, size_t width,
                                 struct hs_buffer *ret, struct hs_error *err);

#endif
