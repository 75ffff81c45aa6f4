/* An x86-64 ELF program, library or separate debug file: segments, sections, symbols, bytes.
 *
 * Everything in the file is hostile: each offset, count and name is checked against the file
 * before use, and what does not fit is left out (a symbol, a section) or refused (the file).
 * Refuses anything but 64-bit little-endian x86-64 executables and shared objects. Never hears of a
 * process: addresses are those of the file ("vaddr"); the caller adds the bias of its mapping.
 *
 * Symbols come from .symtab when the file has one, else from .dynsym and, of local functions, from
 * .gnu_debugdata (at most 32 MiB, unpacked), in two runs of one array:
 *
 *   | by address: code, data, labels | by offset: thread-local |
 *
 * Undefined, absolute, section and file symbols are left out.
 *
 * Resident: the symbol and string table, 32 bytes per symbol, 8 to 16 per symbol for the hash;
 * bytes of sections and segments once asked for. Open costs O(n log n) in the symbols: about 5 ms
 * for 35,000. Contents are read, never mapped, so a file cut while in use is an error and not a
 * signal. One thread at a time may use one hs_elf, the getters included: they load lazily. */
#ifndef HS_SYMBOLS_ELF_H
#define HS_SYMBOLS_ELF_H

#include "base/alloc.h"

struct hs_elf;

/* The identity that the first bytes of a file give, for messages ("a 32-bit program"). */
struct hs_elf_identity {
    uint8_t address_bits; /* 32 or 64 */
    bool little_endian;
    bool is_our_machine; /* by machine number: x32 programs are so with 32 address_bits */
    uint16_t type;       /* ET_REL, ET_EXEC, ET_DYN, ET_CORE of <elf.h> */
    uint16_t machine;    /* EM_* of <elf.h> */
};

/* A PT_LOAD segment. Its memory is [vaddr, vaddr + n_memory_bytes), of which the first n_file_bytes
 * come from [file_offset, file_offset + n_file_bytes) and the rest is zero. Neither wraps; the file
 * may still be shorter than it claims. */
struct hs_elf_segment {
    hs_addr vaddr;
    uint64_t n_memory_bytes;
    uint64_t file_offset;
    uint64_t n_file_bytes;
    bool readable, writable, executable;
};

/* The PT_TLS segment. The block of the executable in a thread is [tp - roundup(n_memory_bytes,
 * align), tp), where tp is the thread pointer. */
struct hs_elf_tls {
    hs_addr vaddr; /* of the initial contents */
    uint64_t n_memory_bytes;
    uint64_t n_file_bytes;
    uint64_t align; /* a power of two, >= 1 */
};

struct hs_elf_section {
    const char *name; /* borrowed until close */
    hs_addr vaddr;    /* 0 when not loaded */
    uint64_t n_bytes; /* in the file: compressed ones grow when read */
    uint64_t file_offset;
    uint32_t type;      /* SHT_* */
    uint64_t flags;     /* SHF_* */
    bool is_in_file;    /* false for .bss and for what a debug file only names */
    bool is_compressed; /* SHF_COMPRESSED */
};

enum hs_symbol_kind {
    HS_SYMBOL_LABEL, /* no type: assembler labels, OCaml data */
    HS_SYMBOL_CODE,  /* functions, indirect ones included */
    HS_SYMBOL_DATA,
    HS_SYMBOL_TLS, /* vaddr is an offset into the TLS block */
};

struct hs_elf_symbol {
    hs_addr vaddr;
    uint64_t n_bytes; /* 0 when the file does not say */
    const char *name; /* borrowed until close; never empty; any bytes but NUL */
    uint8_t kind;     /* enum hs_symbol_kind */
    bool is_global;   /* global or weak, not local to a source file */
};

/* Reads the identity from the first bytes of a file; false when they are no ELF header. */
bool hs_elf_identify(const void *bytes, size_t n_bytes, struct hs_elf_identity *ret);
bool hs_elf_identify_fd(int fd, struct hs_elf_identity *ret);

/* Opens a file. `name` is for messages. The descriptor is duplicated and read by offset: its
 * position stays. Memory is borrowed until close. Fails with HS_IO, HS_LIMIT, or HS_FORMAT for what
 * is not ELF, of another class or machine, or damaged beyond use. */
hs_status hs_elf_open_path(const char *path, struct hs_elf **ret, struct hs_error *err);
hs_status hs_elf_open_fd(int fd, const char *name, struct hs_elf **ret, struct hs_error *err);
hs_status hs_elf_open_memory(const void *bytes, size_t n_bytes, const char *name,
                             struct hs_elf **ret, struct hs_error *err);
/* Opens a file as hs_elf_open_fd, without reading symbols: there are none. The file need not be
 * linked, but nothing of it is relocated. */
hs_status hs_elf_open_sections(int fd, const char *name, struct hs_elf **ret, struct hs_error *err);
/* Closes the file: what was not read until now cannot be read any more. */
void hs_elf_let_go(struct hs_elf *elf);
void hs_elf_close(struct hs_elf *elf);
HS_DEFINE_AUTO(hs_elf, close)

/* Says where names and types are that dwz moved out of the debug information of `elf`
 * (debugfile.h); borrowed until `elf` is closed. Before its types are read. */
void hs_elf_set_supplement(struct hs_elf *elf, struct hs_elf *supplement);

const char *hs_elf_name(const struct hs_elf *elf);

/* Tells whether the file asked for more reading than its bytes on the disk are worth
 * (base/effort.h): what is not read by now never is, and counts as not there. */
bool hs_elf_asked_too_much(const struct hs_elf *elf);

/* Returns the bytes that are kept of the file: symbols, and what was read of sections and segments
 * so far. */
uint64_t hs_elf_kept_bytes(const struct hs_elf *elf);
/* Returns the bytes of its writable data. */
uint64_t hs_elf_data_bytes(const struct hs_elf *elf);
/* Tells whether addresses for the bytes of a segment were refused, which then counted as not there.
 */
bool hs_elf_had_no_room(const struct hs_elf *elf);

/* Tells whether the file is position-independent (ET_DYN): the bias is chosen at run time.
 * Otherwise it is 0. */
bool hs_elf_is_dyn(const struct hs_elf *elf);
/* Tells whether it has a PT_INTERP: a program (or something that can be run as one). */
bool hs_elf_has_interpreter(const struct hs_elf *elf);
hs_addr hs_elf_entry(const struct hs_elf *elf);

/* Returns the build-id in lower-case hex, "" when there is none. */
const char *hs_elf_build_id(const struct hs_elf *elf);

/* Returns the PT_LOAD segments in file order, borrowed. */
const struct hs_elf_segment *hs_elf_segments(const struct hs_elf *elf, size_t *ret_n);
/* Finds the segment whose memory holds `vaddr`, or NULL. */
const struct hs_elf_segment *hs_elf_segment_at(const struct hs_elf *elf, hs_addr vaddr);
/* Finds [lowest, end) of all PT_LOAD memory; false without any. */
bool hs_elf_extent(const struct hs_elf *elf, hs_addr *ret_lowest, hs_addr *ret_end);
/* Reads the PT_TLS. False when the file has none. */
bool hs_elf_tls(const struct hs_elf *elf, struct hs_elf_tls *ret);

/* Computes the load bias (runtime address minus vaddr, modulo 2^64) from one mapping of the file:
 * its start and its file offset, both page-aligned. Use the mapping with the lowest file offset:
 * pages at the seam of two segments are mapped twice. False when no segment covers the offset. */
bool hs_elf_bias(const struct hs_elf *elf, hs_addr mapping_start, uint64_t mapping_file_offset,
                 uint64_t *ret);

/* Sections by number [0, n) or name. False when there is none such. */
size_t hs_elf_n_sections(const struct hs_elf *elf);
bool hs_elf_section(const struct hs_elf *elf, size_t number, struct hs_elf_section *ret);
bool hs_elf_section_named(const struct hs_elf *elf, const char *name, struct hs_elf_section *ret);
/* Finds the section in memory, thread-local ones apart, around `vaddr`; asks the first 512. */
bool hs_elf_section_at(const struct hs_elf *elf, hs_addr vaddr, struct hs_elf_section *ret);
/* Finds the section's contents, decompressed where need be, borrowed until close. An empty section
 * gives 0 bytes. Fails with HS_FORMAT when they are not in the file or damaged, HS_LIMIT beyond 2
 * GiB. */
hs_status hs_elf_section_bytes(struct hs_elf *elf, size_t number, const uint8_t **ret,
                               size_t *ret_n_bytes, struct hs_error *err);
/* Reads a section's bytes as above, by name. */
hs_status hs_elf_section_bytes_named(struct hs_elf *elf, const char *name, const uint8_t **ret,
                                     size_t *ret_n_bytes, struct hs_error *err);

/* Returns [vaddr, vaddr + n_bytes) as the file has it, before any relocation; borrowed until close.
 * NULL when not all of it is backed by the file. The pages that hold it are read and kept, no
 * others. A debug file has no such bytes: ask the file that is mapped. */
const uint8_t *hs_elf_bytes_at(struct hs_elf *elf, hs_addr vaddr, size_t n_bytes);
/* Returns as above what there is from `vaddr` on, up to n_most bytes or the end of its segment;
 * NULL and 0 when there are none. */
const uint8_t *hs_elf_bytes_from(struct hs_elf *elf, hs_addr vaddr, size_t n_most,
                                 size_t *ret_n_bytes);
/* Copies as many bytes of a segment and keeps nothing, for those who search all of it; they bound
 * how often that is. Returns how many there were. */
size_t hs_elf_copy_at(struct hs_elf *elf, hs_addr vaddr, void *ret, size_t n_bytes);

/* Finds the name of the function whose address the loader puts into the word at `vaddr`, if need be
 * at the first call through it; borrowed until close. NULL where none is said of this word. O(log
 * n). */
const char *hs_elf_imported_at(struct hs_elf *elf, hs_addr vaddr);

/* Tells whether the file leaves a symbol of this name to others. O(its dynamic symbols). */
bool hs_elf_imports(struct hs_elf *elf, const char *name);

/* Tells whether the symbols come from .symtab, so that local (C `static`) names are among them. */
bool hs_elf_has_symtab(const struct hs_elf *elf);
/* Returns the symbols with an address, sorted by (vaddr, global first, name); borrowed. */
const struct hs_elf_symbol *hs_elf_symbols(const struct hs_elf *elf, size_t *ret_n);
/* Returns thread-local symbols, sorted likewise by offset. */
const struct hs_elf_symbol *hs_elf_tls_symbols(const struct hs_elf *elf, size_t *ret_n);
/* Finds the symbol of exactly this name, thread-local ones included; NULL when there is none. Of
 * several a global one is taken, else the lowest. O(1). */
const struct hs_elf_symbol *hs_elf_find(const struct hs_elf *elf, const char *name);
/* Finds the symbol that holds `vaddr`, else the nearest below it that does not say its size, when
 * it is of the same section and none that says its size has ended between; NULL when neither
 * exists. `*ret_offset` (may be NULL) is vaddr - symbol->vaddr. */
const struct hs_elf_symbol *hs_elf_symbol_at(const struct hs_elf *elf, hs_addr vaddr,
                                             uint64_t *ret_offset);

#endif
