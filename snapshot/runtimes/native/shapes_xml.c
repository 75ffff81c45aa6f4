/* Nodes of documents of libxml2 without debug information, as lxml and every reader of XML has them
 * in thousands.
 *
 * Layouts are those of libxml/tree.h, whose first nine words are a part of its ABI:
 *
 *   node, attribute, document   private | type | name | children | last | parent | next | previous
 *                               | document | ...
 *
 *   identifier                  next | value | attribute | name | line | document
 *
 * The document of a document is itself, and everything in it leads there. The text of a node, and
 * the value of an identifier, is a block of its own, as a rule: what stands behind its end is left
 * of what was there before, nodes of other documents mostly. */
#include "shapes.h"

#include <string.h>

enum {
    WORD = 8,
    TYPE_AT = 1 * WORD,
    NEXT_AT = 6 * WORD,
    PREVIOUS_AT = 7 * WORD,
    DOCUMENT_AT = 8 * WORD,
    ATTRIBUTE_BYTES = 12 * WORD,
    CONTENT_AT = 10 * WORD,
    NODE_BYTES = 15 * WORD,
    DOCUMENT_BYTES = 22 * WORD,
    VALUE_OF_ID_AT = 1 * WORD,
    ATTRIBUTE_OF_ID_AT = 2 * WORD,
    DOCUMENT_OF_ID_AT = 5 * WORD,
    ID_BYTES = 6 * WORD,
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

/* Gives the block that a word leads to the type of a text, if it is as large as its text needs. */
static hs_status set_text(struct hs_shapes *s, uint64_t word, struct hs_error *err)
{
    struct hs_heap_block text;

    if (!hs_shapes_body_at(s, word, &text))
        return HS_OK;
    size_t n = strnlen((const char *)text.bytes, text.n_bytes);
    return n < text.n_bytes && hs_shapes_fits(&text, n + 1)
               ? hs_shapes_set(s, &text, HS_SHAPE_XML_TEXT, err)
               : HS_OK;
}

/* Names an identifier of an attribute that the block is, "id" of HTML for one. */
static hs_status try_identifier(struct hs_shapes *s, const struct hs_heap_block *block,
                                struct hs_error *err)
{
    uint64_t kind, document = hs_load_u64(block->bytes + DOCUMENT_OF_ID_AT), of_attribute;
    uint64_t attribute = hs_load_u64(block->bytes + ATTRIBUTE_OF_ID_AT);

    if (!hs_shapes_word(s, attribute + TYPE_AT, &kind) || kind != ATTRIBUTE ||
        !hs_shapes_word(s, attribute + DOCUMENT_AT, &of_attribute) || of_attribute != document ||
        !is_document(s, document))
        return HS_OK;
    HS_TRY(hs_shapes_set(s, block, HS_SHAPE_XML_IDENTIFIER, err));
    return set_text(s, hs_load_u64(block->bytes + VALUE_OF_ID_AT), err);
}

hs_status hs_shapes_try_xml(struct hs_shapes *s, const struct hs_heap_block *block,
                            struct hs_error *err)
{
    if (block->n_bytes >= ID_BYTES && hs_shapes_fits(block, ID_BYTES))
        return try_identifier(s, block, err);
    if (block->n_bytes < ATTRIBUTE_BYTES)
        return HS_OK;
    uint64_t kind = hs_load_u64(block->bytes + TYPE_AT), n = bytes_of(kind);
    uint64_t document = hs_load_u64(block->bytes + DOCUMENT_AT);
    if (n == 0 || !hs_shapes_fits(block, n) ||
        (n == DOCUMENT_BYTES) != (document == block->begin) || !is_document(s, document) ||
        !agrees(s, block, NEXT_AT, PREVIOUS_AT) || !agrees(s, block, PREVIOUS_AT, NEXT_AT))
        return HS_OK;
    if (n == NODE_BYTES && kind != ELEMENT)
        HS_TRY(set_text(s, hs_load_u64(block->bytes + CONTENT_AT), err));
    return hs_shapes_set(s, block,
                         n == DOCUMENT_BYTES    ? HS_SHAPE_XML_DOCUMENT
                         : n == ATTRIBUTE_BYTES ? HS_SHAPE_XML_ATTRIBUTE
                                                : HS_SHAPE_XML_NODE,
                         err);
}
