/* The messages between this process and the box, one each way. Both are of one build on one
 * machine, so structs are sent as they are; the magic number changes when they do. */
#ifndef HS_BOX_WIRE_H
#define HS_BOX_WIRE_H

#include "dwarf/frame_row.h"

#define BOX_MAGIC UINT32_C(0x48534232) /* "2BSH" */
#define BOX_PROGRAM "heapsnap-dwarf"

enum {
    BOX_NAME_BYTES = 512,      /* of a file, for messages */
    BOX_TEXT_BYTES = 1 << 16,  /* one text of an answer; longer ones are left out */
    BOX_MAX_BYTES = 150 << 10, /* one message: what a socket takes at once is 208 KiB */
    BOX_MAX_FILES = 1 << 16,
};

/* The kinds of confinement of the box, told with every answer. */
enum box_how {
    BOX_HOW_NOBODY = 1, /* another user, of no group */
    BOX_HOW_PLAIN = 2,  /* no capabilities */
    BOX_HOW_CALLS = 4,  /* a filter of system calls */
    BOX_HOW_LIMITS = 8,
    BOX_HOW_FAILED = 16, /* it is not, and reads nothing: the answer says why */
};

enum box_kind {
    BOX_OPEN_FRAMES = 1, /* a descriptor comes along, the name follows; answer: struct box_opened */
    BOX_OPEN_LINES,      /* likewise */
    BOX_CLOSE,           /* no answer body */
    BOX_ROW,             /* of frames: struct frame_row, its expressions */
    BOX_CODE,            /* of lines: struct box_source, its texts */
    BOX_VARIABLE,        /* likewise */
    BOX_N_KINDS
};

struct box_request {
    uint32_t magic, kind;
    uint64_t serial;
    uint32_t file; /* number that the asker chose, below BOX_MAX_FILES */
    uint32_t n_name_bytes;
    hs_addr vaddr;
};

/* Followed by n_bytes: the answer when status is HS_OK, else a message. */
struct box_reply {
    uint32_t magic, kind; /* the request's */
    uint64_t serial;      /* the request's */
    uint32_t status;
    uint32_t n_bytes;
    uint32_t how, unused; /* enum box_how */
};

struct box_opened {
    uint64_t n_functions;
};

struct box_source {
    uint64_t n_damaged;
    uint32_t line, n_file_bytes, n_name_bytes, bytes_before; /* of code: see hs_source */
};

#endif
