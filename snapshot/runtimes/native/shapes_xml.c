/* Nodes of documents of libxml2 without debug information, as lxml and every reader of XML has them
 * in thousands.
 *
 * Layouts are those of libxml/tree.h, whose first nine words are a part of its ABI:
 *
 *   node, attribute, document   private | type | name | children | last | parent | next | previous
 *                               | document | ...
 *
 * The document of a document is itself, and everything in it leads there. */
#include "shapes.h"

enum {
    WORD = 8,
    TYPE_AT = 1 * WORD,
    NEXT_AT = 6 * WORD,
    PREVIOUS_AT = 7 * WORD,
    DOCUMENT_AT = 8 * WORD,
    ATTRIBUTE_BYTES = 12 * WORD,
    NODE_BYTES = 15 * WORD,
    DOCUMENT_BYTES = 22 * WORD,
};

/* The values of xmlElementType that are looked for. */
enum { ELEMENT = 1, ATTRIBUTE, TEXT, CDATA, ENTITY_REFERENCE, INSTRUCTION = 7, COMMENT = 8 };
enum { XML_DOCUMENT = 9, HTML_DOCUMENT = 13 };

static bool is_document(struct hs_shapes *s, hs_addr at)
{
    uint64_t kind, self;
    return hs_shapes_word(s, at + TYPE_AT, &kind) &&
           (kind == XML_DOCUMENT || kind == HTML_DOCUMENT) &&
           hs_shapes_word(s, at + DOCUMENT_AT, &self) && self == at;
}

/* Tells whether the neighbour that one link leads to leads back by the other. */
static bool agrees(struct hs_shapes *s, const struct hs_heap_block *block, unsigned link,
                   unsigned back)
{
    uint64_t neighbour = hs_load_u64(block->bytes + link), word;
    return neighbour == 0 || (neighbour != block->begin &&
                              hs_shapes_word(s, neighbour + back, &word) && word == block->begin);
}

/* Returns what libxml2 needs for a node of the kind; 0: none that begins with nine such words. */
static uint64_t bytes_of(uint64_t kind)
{
    switch (kind) {
    case ATTRIBUTE:
        return ATTRIBUTE_BYTES;
    case XML_DOCUMENT:
    case HTML_DOCUMENT:
        return DOCUMENT_BYTES;
    case ELEMENT:
    case TEXT:
    case CDATA:
    case ENTITY_REFERENCE:
    case INSTRUCTION:
    case COMMENT:
        return NODE_BYTES;
    default:
        return 0;
    }
}

hs_status hs_shapes_try_xml(struct hs_shapes *s, const struct hs_heap_block *block,
                            struct hs_error *err)
{
    if (block->n_bytes < ATTRIBUTE_BYTES)
        return HS_OK;
    uint64_t kind = hs_load_u64(block->bytes + TYPE_AT), n = bytes_of(kind);
    uint64_t document = hs_load_u64(block->bytes + DOCUMENT_AT);
    if (n == 0 || !hs_shapes_fits(block, n) ||
        (n == DOCUMENT_BYTES) != (document == block->begin) || !is_document(s, document) ||
        !agrees(s, block, NEXT_AT, PREVIOUS_AT) || !agrees(s, block, PREVIOUS_AT, NEXT_AT))
        return HS_OK;
    return hs_shapes_set(s, block,
                         n == DOCUMENT_BYTES    ? HS_SHAPE_XML_DOCUMENT
                         : n == ATTRIBUTE_BYTES ? HS_SHAPE_XML_ATTRIBUTE
                                                : HS_SHAPE_XML_NODE,
                         err);
}
