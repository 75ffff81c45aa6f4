/* Blocks that say themselves what they are: objects of an interpreter, each with a pointer to its
 * class. Blocks of any allocator may be asked about: an interpreter takes large ones from malloc.
 *
 * `state` is that of the allocator whose model it is; NULL: nothing is an object. */
#ifndef HS_HEAPS_OBJECT_MODEL_H
#define HS_HEAPS_OBJECT_MODEL_H

#include "heaps/heap_map.h"

/* The meaning of the words of an object's block: bit i stands for word i. */
enum { HS_OBJECT_RUNS = 2 };
struct hs_object_words {
    bool is_exact; /* no word but those of `owning` and of `runs` is a pointer */
    bool is_plain; /* numbers and characters of the program: a pointer among them is a guess */
    bool is_part;  /* no object: a block that an object has for itself */
    uint64_t owning;
    uint64_t guessed_from; /* words from here on may be left from before; 0: none */
    uint64_t tagged_from;  /* addresses from here on have tags in their two lowest bits, numbers
                              both of them; 0: none */
    struct hs_word_run {
        uint64_t begin, end; /* in words */
        uint8_t period;      /* 1 to 8: of so many words, from `begin` on, ... */
        uint8_t which;       /* ... those whose bits are set here */
    } runs[HS_OBJECT_RUNS];
    uint64_t n_owning; /* words from here on are data, and what free memory held before: of text,
                          bytes and numbers; else UINT64_MAX */
    uint64_t links;    /* of the collector's list of all it tracks; of all weak references to one
                          object: they say nothing about who uses whom */
    uint64_t doubtful; /* of lists by which owners find what they own: who keeps it, others say */
    uint64_t cleared;  /* when what they lead to ends, by whoever knows of it */
    uint64_t weak;   /* what a weak reference refers to; the first of an object's weak references */
    bool is_tracked; /* the collector frees it when it is in an unused cycle: until then nothing
                        may lead to it, though it is not lost */
    bool is_hidden;  /* the collector does not look at what it refers to */
    uint64_t n_references; /* what the object's own count says of owning words; 0: not told */
};

/* May word number `word` be a pointer? Of exact words only. */
static inline bool hs_object_owns(const struct hs_object_words *words, uint64_t word)
{
    if (word < 64 && (words->owning >> word & 1) != 0)
        return true;
    for (int i = 0; i < HS_OBJECT_RUNS; i++) {
        const struct hs_word_run *run = &words->runs[i];
        if (word >= run->begin && word < run->end &&
            (run->which >> (word - run->begin) % run->period & 1) != 0)
            return true;
    }
    return false;
}

/* The address that word number `at` is, whose bits are `word`; 0: none. */
static inline uint64_t hs_object_address(const struct hs_object_words *words, uint64_t at,
                                         uint64_t word)
{
    const uint64_t tags = 3;

    if (words->tagged_from == 0 || at < words->tagged_from)
        return word;
    return (word & tags) == tags ? 0 : word & ~tags;
}

/* A block that an object has for itself, as a type of its own. */
struct hs_object_part {
    uint64_t at;      /* where in the object's block the pointer to it stands, in bytes */
    const char *name; /* "dict keys" */
};
enum { HS_OBJECT_PARTS = 4 };

/* A member of blocks that are alike, and their type: a name, and the members in ascending order
 * (struct hs_member). */
struct hs_object_member {
    uint64_t offset_bytes;
    hs_str name;
};
struct hs_object_type {
    hs_str name;
    uint64_t stride_bytes;                  /* of a list of equal elements; else 0 */
    const struct hs_object_member *members; /* borrowed from the model; by ascending offset */
    size_t n_members;
    bool is_hidden; /* the collector does not look at what such blocks refer to */
};

/* The number of elements that an object says it has, and where they are. */
struct hs_object_count {
    uint64_t entries, room; /* room UINT64_MAX: it is not told */
    uint64_t body;          /* the address of the block that has them; 0: a chain of blocks has */
    uint32_t element_bytes; /* the least that each takes there */
};

struct hs_object_model {
    bool knows_parts; /* `words` and `type_name` answer for them as for objects */
    /* The name of the object's class into text[n]; false when the block holds no object. */
    bool (*type_name)(const void *state, const struct hs_heap_block *block, char *text,
                      size_t n_bytes);
    /* Returns instead, unless NULL, the number of what the block is, the same for all that are
     * described alike; HS_NO_NUMBER when that is not known. */
    uint32_t (*type)(const void *state, const struct hs_heap_block *block);
    /* Describes the type of that number, with strings of the dump; asked once for each. */
    hs_status (*describe)(const void *state, uint32_t type, struct hs_object_type *ret,
                          struct hs_error *err);
    /* False, and *ret without bits, when the block holds no object nor a known part of one. */
    bool (*words)(const void *state, const struct hs_heap_block *block,
                  struct hs_object_words *ret);
    /* Is `word` at address `slot` an end of the collector's list of tracked objects? It leads to
     * the first or last of them, whose link leads back to the slot. */
    bool (*is_list_end)(const void *state, const struct hs_heap_block *block, hs_addr slot,
                        uint64_t word);
    /* Returns a bit for each rank: blocks that a name of the program holds, and owns whoever else
     * refers to them. NULL: none is known. May be NULL. */
    const struct hs_bitmap *(*named)(const void *state);
    /* Tells whether the block is a table of the interpreter's own, which keeps only what nobody
     * else keeps, whoever leads to it. May be NULL. */
    bool (*is_own)(const void *state, const struct hs_heap_block *block);
    /* Is the block a part of an object that has it for itself (the items of a list, the table of a
     * dictionary)? Only objects lead to such a part. May be NULL. */
    bool (*is_part)(const void *state, const struct hs_heap_block *block);
    /* Tells whether the address of an object's block, or of a part's, is one by which nobody has
     * the object: it leads neither to the object nor to its head. False for all other blocks. May
     * be NULL. */
    bool (*is_inside)(const void *state, const struct hs_heap_block *block, uint64_t word);
    /* Tells whether a variable's word may be left from when the interpreter had the block among its
     * free ones. May be NULL. */
    bool (*is_left)(const void *state, const struct hs_heap_block *block, hs_addr slot);
    /* Returns the name of a variable of the interpreter that has no symbol, by what it leads to; 0:
     * not known. May be NULL. */
    hs_str (*variable_name)(const void *state, hs_addr variable,
                            const struct hs_heap_block *target);
    /* Returns how many parts the block's object may have, and which: pointers that may be null, or
     * lead to an object (itself, another one) instead. */
    size_t (*parts)(const void *state, const struct hs_heap_block *block,
                    struct hs_object_part ret[HS_OBJECT_PARTS]);
    /* Reads what a collection says of its elements; false for other blocks. May be NULL. */
    bool (*count)(const void *state, const struct hs_heap_block *block,
                  struct hs_object_count *ret);
};

#endif
