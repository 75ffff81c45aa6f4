/* Suspects: the few answers to "where has the memory gone?", each with its evidence.
 *
 *   owner   a root that alone retains at least the threshold, or roots that are alike (tasks that
 *           wait at one line, values that C registered) and do so together
 *   joint   blocks that several roots keep together, by the exact set of roots
 *   lost    blocks that no word of the program leads to, all together
 *   waste   memory that is taken and not used, as far as a snapshot without contents can tell
 *
 * The words of owners, joint owners and lost blocks are of different blocks: what they name may be
 * added. Waste looks at the same blocks from another side.
 *
 * Ranked by words, what has no known type last. Where there are more than asked for, the first of
 * each list is among them. The same snapshot gives the same suspects whatever the memory and the
 * threads. */
#ifndef HS_ANALYSIS_SUSPECTS_H
#define HS_ANALYSIS_SUSPECTS_H

#include "analysis/reserve.h"
#include "analysis/type_family.h"
#include "analysis/view.h"

#define HS_SUSPECT_OWNERS 12     /* roots that are looked into at most */
#define HS_GROUP_STEPS 24        /* of an accumulation */
#define HS_SUSPECT_SHOWN_ROOTS 8 /* of a set */
#define HS_SUSPECT_FEW_ROOTS 8   /* so many, and each can be looked at */
#define HS_SUSPECT_MODULES 3     /* of a set of more */
#define HS_SUSPECT_FILES 3       /* likewise */

enum hs_suspect_list {
    HS_SUSPECT_OWNER,
    HS_SUSPECT_JOINT,
    HS_SUSPECT_LOST,
    HS_SUSPECT_WASTE,
    HS_N_SUSPECT_LISTS
};
const char *hs_suspect_list_name(unsigned list); /* "owner", ... */

/* Blocks of one type at one place of the dominator tree (group_tree.h). */
struct hs_accumulated {
    uint32_t type; /* or HS_UNTYPED */
    uint64_t n_blocks;
    uint64_t own_words, words; /* of these blocks; with all that hangs on them */
};

/* The group in which memory has come together below a place of the dominator tree: from the place
 * downwards, by types, as long as one group has at least --follow percent of what the group above
 * it has. Of the groups that are passed the members are those of the one whose number has grown
 * most over the group above it; when none has grown to the double, of the one with most words of
 * its own, the lowest of these. Where the number of blocks jumps to the fourfold and a type there,
 * or of about as many blocks below it, tells more (a class of the program more than a container:
 * type_rank.h), the members are that type's. */
enum { HS_MEMBER_SIZES = 3 };
struct hs_accumulation {
    struct hs_accumulated steps[HS_GROUP_STEPS + 1]; /* the first is the place itself */
    unsigned n_steps;
    unsigned members;           /* index of the step; 0: no group is so large, the place itself */
    struct hs_accumulated bulk; /* below the members, what most of them is; n_blocks 0: they
                                   are most themselves */
    hs_node bulk_top;           /* the block of it that retains most; HS_NO_NODE: none */
    struct hs_accumulated peer; /* another class, of which as many hang where the members do;
                                   n_blocks 0: none */
    struct hs_accumulated parts[2];   /* below the last step: its largest parts; n_blocks 0: none */
    struct hs_accumulated classes[2]; /* of each part what tells most of it, as of members */
    hs_node class_tops[2];            /* the block of each of these that retains most */
    uint64_t median_words;            /* of a member's own; exact below 4096 words, else to 1 % */
    uint64_t largest_words;           /* of a member's own */
    struct hs_member_size {
        uint64_t words, n;    /* of each; how many have it. 0: there are no more sizes */
    } sizes[HS_MEMBER_SIZES]; /* of members, those with most words first; as exact as the median */
    hs_node top;              /* the member that retains most; HS_NO_NODE without members */
    hs_node point;            /* the node that most members hang on directly */
    uint64_t n_direct;        /* so many */
    uint64_t n_heads;         /* members that do not hang on other members */
    uint64_t top_words;       /* of `top`, with all that hangs on it */
    bool is_within;           /* the members hang on one of them: `top` is another */
};

/* The number of sizes told of equal groups: so many times the same blocks, where no type tells what
 * they are (equal_groups.h). */
enum { HS_EQUAL_SIZES = 16 };
struct hs_equal_groups {
    uint64_t n, words; /* groups that are alike; all their words */
    uint64_t n_each, each_words;
    struct hs_equal_size {
        uint64_t words, n_blocks;
    } sizes[HS_EQUAL_SIZES]; /* of one of them, those with most words first */
    unsigned n_sizes;
    hs_node head; /* of that one */
};

enum hs_suspect_waste {
    HS_WASTE_NONE,
    HS_WASTE_EMPTY_SLOTS, /* arrays of pointers, mostly without any */
    HS_WASTE_ONE_ELEMENT, /* arrays of pointers with room for more that hold one */
    HS_WASTE_UNUSED_ROOM, /* containers with elements in less than a quarter of their room */
    HS_WASTE_ROUNDED_UP,  /* what the allocator gives beyond what was asked for (sampled) */
    HS_WASTE_UNKNOWN      /* not wasted for all that is known: no type is known for it */
};

struct hs_suspect_module {
    hs_str module;
    uint64_t n_roots; /* of it */
};

struct hs_suspect {
    enum hs_suspect_list list;
    uint64_t words, objects; /* what would be freed; objects HS_SUSPECT_UNKNOWN: not known */
    uint8_t certainty;       /* enum hs_certainty */
    hs_node roots[HS_SUSPECT_SHOWN_ROOTS];
    uint64_t n_roots;
    uint32_t n_shown;   /* of these in roots[], the firmest first */
    hs_node *all_roots; /* owned: of an owner that is several roots: n_roots, ascending */
    char *fold_name;    /* owned: what they are called; NULL: it is one root */
    struct hs_suspect_module modules[HS_SUSPECT_MODULES]; /* that have most of many roots */
    uint32_t n_modules;                                   /* 0: say the roots */
    hs_str files[HS_SUSPECT_FILES]; /* of many roots: the sources that all variables are of */
    uint32_t n_files;               /* 0: not so, or there are more */
    hs_node entry;                  /* of many roots: the block that half of it and more hangs on;
                                       HS_NO_NODE: none */
    uint64_t entry_words, n_entry_referrers;
    hs_node inner;           /* joint, of OCaml: the only variable whose own value nearly all of it
                                hangs on: the others lead there; HS_NO_NODE: none */
    uint64_t n_on_stacks;    /* of many roots: those of stacks and registers */
    uint64_t n_threads;      /* many roots, all of them there: of so many threads; 0: not so */
    hs_node outermost;       /* then: one of them, of the program's outermost frame */
    uint8_t tier;            /* of the firmest: enum hs_tier; lost and waste: HS_TIER_FIRM */
    uint64_t doubtful_words; /* of it, which nothing but doubtful words keep */
    bool is_weakly_held;     /* by weak references alone, those that have accumulated */
    uint8_t reserve;         /* enum hs_reserve */
    uint64_t untyped_words;  /* of it, in blocks without a type */
    uint64_t plain_words;    /* of it, which hang on plain pointers of C++ */
    uint64_t n_aliases;      /* of names of Python: words of other objects that lead to what the
                                names own by convention */
    char *alias;             /* owned: what one of these is called; NULL: not known */
    uint32_t set;            /* of owners; 0: none */
    uint32_t type;           /* of what has accumulated, was lost or is wasted; HS_UNTYPED */
    bool is_class;           /* of it: the name tells what it is, not just how it is stored */
    bool is_heavy;  /* owner, joint: evidence is the block that most of it hangs on, as types do not
                       tell more */
    uint64_t count; /* blocks of it */
    uint64_t each_words; /* the median of these */
    uint64_t held_words; /* lost: of these and of what hangs on them */
    uint64_t n_copies;   /* lost: so many of one array, each left for a larger one; 0: not so. Then
                            each_words and held_words are the smallest and the largest, and holder
                            is where the one in use is */
    struct hs_accumulation at;    /* owner and joint */
    struct hs_equal_groups equal; /* n 0: types tell more, or they are not alike */
    uint64_t n_inner;             /* with those within the `count` that hang on one collection; 0:
                                     they are all */
    uint64_t elements;            /* of the one container that has the members, as it counts them;
                                     0: not known, or no more than the members */
    struct hs_accumulated within; /* arrays of records in which members without a class hang;
                                     n_blocks 0: none */
    char *within_place;           /* owned: the member of an element of `within` that leads to
                                     them, ".read_buf"; NULL: not known */
    uint32_t class_within[2];     /* the same of at.classes, one array each; HS_UNTYPED: none */
    uint64_t entries, room;       /* of members or bulk that are bodies of containers with much room
                                     that is not in use, and of such waste; room 0: not so */
    uint64_t n_spare, spare_entries; /* containers that the members hang on, and how many elements
                                        these count, where that is fewer; n_spare 0: not so */
    char *holder;                    /* owned: "server.db[0].dict"; NULL: not known */
    char *class_holders[2];          /* owned: the same for at.classes */
    char *bulk_place;    /* owned: the way from a member to at.bulk, ".__traceback__.tb_frame";
                            NULL: not known */
    char *cycle;         /* owned: lost: the way from one of these to itself; NULL: none found */
    uint32_t hidden;     /* lost: the type on that way into which Python's collector does not look;
                            HS_UNTYPED: none is known */
    hs_node holder_root; /* joint, lost: the root that `holder` begins with; 0: none */
    char *site;          /* owned: where most of it was allocated (sampled); NULL: not known */
    uint64_t site_percent; /* of the samples of it */
    enum hs_suspect_waste waste;
    hs_node evidence; /* the node to look at; HS_NO_NODE: none */
};
#define HS_SUSPECT_UNKNOWN UINT64_MAX

/* Tells whether enough of the members hang directly on one node, at.point (a table), rather than on
 * each other: at least 8, and one in fifty. */
bool hs_suspect_has_table(const struct hs_suspect *suspect);

struct hs_suspect_query {
    unsigned threshold_percent;    /* of the heap's words */
    unsigned follow_percent;       /* of an owner, for the accumulation */
    unsigned follow_joint_percent; /* the same for what several roots share */
    size_t max_rows;
    bool is_brief; /* owners and joint ones by their sums alone: no block is looked at */
};

struct hs_suspects {
    struct hs_suspect *rows; /* owned: ranked */
    size_t n, capacity;
    uint64_t n_others; /* found, but beyond max_rows */
    uint64_t threshold_words;
    uint64_t garbage_words; /* what no root leads to in a heap that is a collector's alone, or that
                               Python's collector has yet to find */
    uint32_t garbage_type;  /* Python: of what most of it hangs on; HS_UNTYPED: not known */
    uint64_t garbage_count; /* so many of these */
    uint64_t garbage_held_words; /* of these and of what hangs on them */
    char *garbage_cycle;         /* owned: the way from one of these to itself; NULL: none found */
    hs_node largest_root; /* what retains most, suspect or not; HS_NO_NODE: no root retains any */
    uint64_t largest_words;
};

/* Finds the suspects by two walks of the dominator tree below each, each block visited twice in
 * all; a search for paths to each joint one; what leaks costs (leak_report.h), and one pass over
 * the chunks for waste. Resident: 1 or 2 bytes per block and at most 20 MiB, of the budget:
 * HS_LIMIT when there is less. */
hs_status hs_suspects_find(struct hs_view *view, const struct hs_suspect_query *query,
                           struct hs_suspects *ret, struct hs_error *err);
void hs_suspects_fini(struct hs_suspects *suspects);

#endif
