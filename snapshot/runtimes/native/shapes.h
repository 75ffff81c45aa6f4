/* The state that the parts of the search for containers share: shapes.c, shapes_holders.c,
 * shapes_counted.c, shapes_qt.c, shapes_qt_hash.c, shapes_xml.c, shapes_blocks.c. */
#ifndef HS_NATIVE_SHAPES_H
#define HS_NATIVE_SHAPES_H

#include "flow.h"

enum hs_shape {
    HS_SHAPE_TREE,
    HS_SHAPE_LIST,
    HS_SHAPE_STRING,
    HS_SHAPE_VECTOR,
    HS_SHAPE_HASH_NODE,
    HS_SHAPE_HASH_BUCKETS,
    HS_SHAPE_DEQUE_BLOCK,
    HS_SHAPE_DEQUE_MAP,
    HS_SHAPE_QT_TEXT,
    HS_SHAPE_QT_NUMBERS,
    HS_SHAPE_QT_ARRAY,
    HS_SHAPE_XML_NODE,
    HS_SHAPE_XML_ATTRIBUTE,
    HS_SHAPE_XML_DOCUMENT,
    HS_SHAPE_XML_IDENTIFIER,
    HS_SHAPE_XML_TEXT,
    HS_N_SHAPES
};

struct hs_shapes {
    struct hs_native *native;    /* borrowed */
    struct hs_flow *flow;        /* borrowed */
    hs_ntype types[HS_N_SHAPES]; /* 0: not met yet */
    hs_addr low, high;           /* all blocks are in [low, high) */
    uint64_t budget;             /* steps that may still be spent on what turns out to be nothing */
    size_t hint;                 /* of the image */
    unsigned qt_version;         /* 5, 6; 0: the process has no objects of Qt */
    uint64_t most_faults;        /* of a copy in a file, until the search ends early */
    uint64_t before[2];          /* the words before the holder that is looked at; 0: none */
    bool is_of_c;                /* no container of C++ is looked for, arrays beside counts are */
    bool may_be_stale;           /* it is of a call, which may have left it there */
};

/* Tells whether the search is to end, as it has read all of a copy in a file several times over:
 * nodes are anywhere, and each could have to be read from there. */
bool hs_shapes_is_spent(const struct hs_shapes *s);

/* Reads an aligned word of the copy. False where there is none. */
bool hs_shapes_word(struct hs_shapes *s, hs_addr address, uint64_t *ret);
/* Finds the block without a type that begins at `word`. */
bool hs_shapes_body_at(struct hs_shapes *s, uint64_t word, struct hs_heap_block *ret);
/* Finds the same, or a block that another holder gave this shape already: one that was moved from
 * may still say less than the one that has the elements now. */
bool hs_shapes_storage(struct hs_shapes *s, uint64_t word, enum hs_shape shape,
                       struct hs_heap_block *ret);
/* Gives the block this type, or that of one of the shapes. */
void hs_shapes_give(struct hs_shapes *s, const struct hs_heap_block *block, hs_ntype type);
hs_status hs_shapes_set(struct hs_shapes *s, const struct hs_heap_block *block, enum hs_shape shape,
                        struct hs_error *err);

/* Takes steps that led to nothing from the budget. */
void hs_shapes_spend(struct hs_shapes *s, uint64_t n);
/* Tells whether a block may be one for `n` bytes: an allocator adds no more than it must. All round
 * to 16 and leave no rest below 32; what is mapped has whole pages. */
bool hs_shapes_fits(const struct hs_heap_block *block, uint64_t n);

/* Names the blocks of a hash table of Qt whose first block this is, if it is one. O(its buckets and
 * nodes). */
hs_status hs_shapes_try_qt_hash(struct hs_shapes *s, const struct hs_heap_block *block,
                                struct hs_error *err);
/* Names an array of Qt 5 that the block is, or one of Qt 6 whose holder's three words these are. */
hs_status hs_shapes_try_qt5(struct hs_shapes *s, const struct hs_heap_block *block,
                            struct hs_error *err);
hs_status hs_shapes_try_qt6(struct hs_shapes *s, const uint64_t *words, struct hs_error *err);

/* Names a node, an attribute, a document or an identifier of libxml2 that the block is, and the
 * text that it has. O(1), and the length of the text. */
hs_status hs_shapes_try_xml(struct hs_shapes *s, const struct hs_heap_block *block,
                            struct hs_error *err);

/* Gives bodies and nodes of the container whose holder begins at `at` their types, when there is
 * one. `words`: what stands there, the first three of them at least; 0 where it is not known. */
enum { HS_HOLDER_WORDS = 10 };
hs_status hs_shapes_try_holder(struct hs_shapes *s, hs_addr at,
                               const uint64_t words[HS_HOLDER_WORDS], struct hs_error *err);
/* Notes how much of an array is in use whose pointer and numbers these and s->before are. */
hs_status hs_shapes_try_counted(struct hs_shapes *s, const uint64_t words[HS_HOLDER_WORDS],
                                struct hs_error *err);

/* Notes how much is in use of arrays that untyped blocks and roots lead to, in a program that has
 * no containers of C++: hs_native_shapes does so in others. */
hs_status hs_native_shapes_of_c(struct hs_native *native, struct hs_flow *flow,
                                struct hs_error *err);

#endif
