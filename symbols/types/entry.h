/* Debugging information entries of one file, read straight from its sections.
 *
 * libdwarf allocates per entry and attribute and can be crashed by bad tables; here an entry is a
 * view into the section, every byte is read through a cursor, and nothing is allocated but one
 * array of offsets per abbreviation table that is used. A walk over entries is linear in their
 * bytes and keeps no state but its depth.
 *
 *   hs_die   0 .. n_info          offset in .debug_info (0 is a unit's header: "none")
 *            n_info .. + n_types  offset in .debug_types, shifted
 *
 * The sections of dwz's supplementary file stand behind those of the file that it made smaller, so
 * that both are one .debug_info; a unit says which of the two it is of. Not followed: split units
 * but those that merge.c brings; a form that leads there has no value. All functions are false
 * (NULL, 0) for what is not there or damaged. One thread at a time.
 *
 * Sections are views (elf_view.h): whoever reads asks first for what it reads (hs_debug_need_), and
 * text and blocks are borrowed until the next hs_debug_drop_, not longer.
 *
 * Resident: what was read since the last drop, 96 bytes per unit, 4 per abbreviation of the units
 * touched. */
#ifndef HS_TYPES_ENTRY_H
#define HS_TYPES_ENTRY_H

#include "base/cursor.h"
#include "base/table.h"
#include "elf/elf_view.h"

typedef uint64_t hs_die;

enum debug_section_number {
    DEBUG_INFO,
    DEBUG_TYPES,
    DEBUG_ABBREV,
    DEBUG_STR,
    DEBUG_LINE_STR,
    DEBUG_STR_OFFSETS,
    DEBUG_ADDR,
    DEBUG_RANGES,
    DEBUG_RNGLISTS,
    DEBUG_LOC,
    DEBUG_LOCLISTS,
    DEBUG_LINE,
    DEBUG_ARANGES,
    DEBUG_GDB_INDEX,
    DEBUG_NAMES,
    DEBUG_N_SECTIONS
};

enum {
    DEBUG_MAX_UNITS = 1 << 18,
    DEBUG_MAX_DEPTH = 256,      /* of a walk; deeper entries are passed over */
    DEBUG_MAX_ATTRIBUTES = 256, /* of one abbreviation */
    DEBUG_MAX_HOPS = 8,         /* of specification and abstract origin */
    DEBUG_MAX_RANGES = 1 << 16, /* of one entry */
};

struct debug_bytes {
    const uint8_t *bytes; /* borrowed from a section */
    size_t n_bytes;
};

struct debug_unit {
    hs_die begin, root, end; /* header, first entry, end of the last */
    uint64_t abbreviations_at;
    uint64_t signature; /* of a type unit */
    uint64_t split_id;  /* of a skeleton and of the unit that it is of */
    hs_die signed_type; /* the type it describes, else 0 */
    uint64_t low;       /* of the root: what old lists are relative to */
    uint64_t addr_base, str_offsets_base, rnglists_base, loclists_base, line_at;
    uint32_t table; /* number of its abbreviation table, from 1; 0 not read yet */
    uint32_t split; /* of a skeleton: number of its unit, from 1; 0: it is not here */
    uint16_t version, language;
    uint8_t n_offset_bytes, type; /* 4 or 8; DW_UT_* */
    bool has_root, has_lines;     /* the root was read: the bases above are set */
    bool is_damaged;
    bool is_partial, is_supplement; /* dwz's: for others to import; in the supplementary file */
};

/* The begin of the supplementary file's part in sections of both. */
struct debug_supplement {
    uint64_t info, abbrev, str, line_str, line;
    bool is_there;
};

/* The place of the attributes of each code of a table in .debug_abbrev; 0: no such code. */
struct debug_table {
    uint64_t at;
    uint32_t *codes; /* owned; [code] */
    size_t n_codes;
};

struct debug_range {
    hs_addr begin, end;
    uint32_t unit;
};

struct debug_signature {
    uint64_t signature;
    hs_die type;
};

/* Linkers' tables first; they need not tell of all code. */
enum debug_ranges_from { RANGES_NOT_READ, RANGES_OF_TABLES, RANGES_OF_ROOTS };

struct debug_info {
    struct elf_view sections[DEBUG_N_SECTIONS];
    const struct elf_view_total *total; /* borrowed */
    struct debug_unit *units;           /* owned, ascending; does not move once listed */
    size_t n_units, units_capacity;
    struct debug_table *tables; /* owned */
    size_t n_tables, tables_capacity;
    struct hs_table by_place;   /* of tables */
    struct debug_range *ranges; /* owned, of code, ascending by begin; after the first lookup */
    size_t n_ranges, ranges_capacity;
    struct debug_signature *signatures; /* owned, ascending */
    size_t n_signatures, signatures_capacity;
    struct hs_effort *effort;    /* the hs_elf's: what may still be read */
    uint64_t abbreviations_left; /* codes that may still be listed: the section's worth */
    uint64_t n_damaged;
    bool is_out_of_memory;
    uint8_t ranges_from; /* enum debug_ranges_from */
    struct debug_supplement supplement;
};

/* Lists the units. Fails with HS_LIMIT, and HS_IO of temporary files; *ret has no units when there
 * is nothing to read. `total` is borrowed until close and may be that of other files too. */
hs_status hs_debug_open_(struct hs_elf *elf, struct elf_view_total *total, struct debug_info *ret,
                         struct hs_error *err);
void hs_debug_close_(struct debug_info *info);

/* Foresees the memory that opening a file, and all questions about it, bring in: sections that are
 * held whole from then on, and those of which pieces are, at the most. */
void hs_debug_foresee_(struct hs_elf *elf, uint64_t *ret_whole_bytes, uint64_t *ret_piece_bytes);

/* Brings in [at, at + n_bytes) of a section, or gives all sections' bytes back. */
static inline void hs_debug_need_(struct debug_info *info, enum debug_section_number section,
                                  uint64_t at, uint64_t n_bytes)
{
    hs_elf_view_need_(&info->sections[section], at, n_bytes);
}
void hs_debug_drop_(struct debug_info *info);
/* Tells whether the file asked for more than it is worth: whoever goes through a list stops then.
 */
static inline bool hs_debug_is_spent_(const struct debug_info *info)
{
    return info->effort->left == 0;
}
/* The same when they are more than may be kept, for the middle of a long pass. */
void hs_debug_trim_(struct debug_info *info);

/* Finds the unit that holds an entry, with its root read; NULL when none does. */
struct debug_unit *hs_debug_unit_of_(struct debug_info *info, hs_die die);
/* Finds the unit whose code covers `vaddr`: by .debug_aranges, else (and for units that are not
 * told of there) by the root of every unit. */
struct debug_unit *hs_debug_unit_at_(struct debug_info *info, hs_addr vaddr);
/* Reads the root of every unit now, after tables led nowhere; false when that was done. */
bool hs_debug_read_roots_(struct debug_info *info);
/* Reads the unit's abbreviations and its root entry's bases; once. */
bool hs_debug_unit_load_(struct debug_info *info, struct debug_unit *unit);

/* An entry. A view: copy it freely, it is valid until close. */
struct debug_entry {
    hs_die die;
    const struct debug_unit *unit;
    uint32_t attributes_at; /* in .debug_abbrev: pairs of attribute and form */
    uint64_t values_at;     /* offset in the section of the first attribute's value */
    uint16_t tag;
    bool has_children;
};

struct debug_value {
    uint16_t attribute, form;
    uint64_t number;      /* constants (signed ones extended), offsets, indexes, addresses */
    const uint8_t *bytes; /* of blocks, expressions and inline strings; else NULL */
    size_t n_bytes;
};

bool hs_entry_read_(struct debug_info *info, hs_die die, struct debug_entry *ret);

/* Finds one attribute of the entry itself, raw (origins are not followed). O(attributes). */
bool hs_entry_value_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute,
                     struct debug_value *ret);
bool hs_entry_has_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute);

/* The same, by class of form. A flag that is absent is false. */
bool hs_entry_number_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute,
                      uint64_t *ret);
bool hs_entry_flag_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute);
/* Finds an attribute's text, borrowed until the next drop; NULL when absent. */
const char *hs_entry_text_(struct debug_info *info, const struct debug_entry *entry,
                           uint16_t attribute);
/* Returns the text of a value that was read already. */
const char *hs_entry_value_text_(struct debug_info *info, const struct debug_entry *entry,
                                 const struct debug_value *value);
/* Finds another entry that this one refers to: unit-local, global and signature forms. 0 when
 * absent. */
hs_die hs_entry_reference_(struct debug_info *info, const struct debug_entry *entry,
                           uint16_t attribute);
bool hs_entry_address_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute,
                       hs_addr *ret);
/* Reads entry `index` of the unit's part of .debug_addr, for DW_OP_addrx and the like. */
bool hs_debug_indexed_address_(struct debug_info *info, const struct debug_unit *unit,
                               uint64_t index, hs_addr *ret);

/* Finds the expression that holds at `vaddr` for a location attribute (DW_AT_location,
 * DW_AT_frame_base, DW_AT_call_value...): the only one, or the one of a location list. */
bool hs_entry_expression_(struct debug_info *info, const struct debug_entry *entry,
                          uint16_t attribute, hs_addr vaddr, struct debug_bytes *ret);

/* [begin, end) parts of code of an entry; calls `visit` for each until it is false. */
typedef bool debug_range_visit(void *context, hs_addr begin, hs_addr end);
void hs_entry_ranges_(struct debug_info *info, const struct debug_entry *entry,
                      debug_range_visit *visit, void *context);
bool hs_entry_covers_(struct debug_info *info, const struct debug_entry *entry, hs_addr vaddr);
/* Finds the lowest address of the entry's code (DW_AT_low_pc, DW_AT_entry_pc or the first
 * range). */
bool hs_entry_low_(struct debug_info *info, const struct debug_entry *entry, hs_addr *ret);

/* Finds DW_AT_specification or DW_AT_abstract_origin; false when the entry has neither. A caller
 * that goes on and on stops after DEBUG_MAX_HOPS. */
bool hs_entry_origin_(struct debug_info *info, const struct debug_entry *entry,
                      struct debug_entry *ret);
/* Finds the value of the entry or, when it has none, of what it completes. `ret_holder` (may be
 * NULL) is the entry that has it. */
bool hs_entry_inherited_(struct debug_info *info, const struct debug_entry *entry,
                         uint16_t attribute, struct debug_value *ret,
                         struct debug_entry *ret_holder);

/* Walks the entries below `top` in file order, at any depth:
 *
 *     struct debug_walk walk = hs_walk_begin_(info, &function);
 *     struct debug_entry entry;
 *     while (hs_walk_next_(&walk, &entry)) {
 *         walk.depth: 1 for a child of `top`
 *         if (... nothing in it matters ...)
 *             hs_walk_skip_(&walk, &entry);
 *     }
 *
 * Linear in the bytes passed, and never beyond the unit. */
struct debug_walk {
    struct debug_info *info;
    const struct debug_unit *unit;
    hs_die at;      /* next entry to read */
    unsigned depth; /* of the entry given last */
    unsigned level; /* of what stands at `at` */
    unsigned limit; /* deeper entries are passed over */
    bool is_over;
};
struct debug_walk hs_walk_begin_(struct debug_info *info, const struct debug_entry *top);
bool hs_walk_next_(struct debug_walk *walk, struct debug_entry *ret);
/* Leaves out the children of the entry given last. */
void hs_walk_skip_(struct debug_walk *walk, const struct debug_entry *last);

/* Writes the name of file `number` (DW_AT_decl_file, DW_AT_call_file) in the unit's line table as
 * directory/file. Returns its length, 0 when unknown; cut at n_text - 1. */
size_t hs_debug_file_name_(struct debug_info *info, const struct debug_unit *unit, uint64_t number,
                           char *text, size_t n_text);

#endif
