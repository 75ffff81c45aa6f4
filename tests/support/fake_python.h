/* A CPython process at made-up addresses, 3.9 to 3.14: the runtime's variable in a program's data,
 * built-in types, two modules, a class with an attribute and an instance, a function, texts, a
 * list, a set, a deque, a generator, two frames, a task that waits in two coroutines, since 3.11 a
 * greenlet that does in two functions, a variable of the thread and of its context, a call at the
 * end, handlers of errors. Once built it may be damaged; then fake_python_walk reads it as a dump
 * does. */
#ifndef HS_TESTS_FAKE_PYTHON_H
#define HS_TESTS_FAKE_PYTHON_H

#include "elf_writer.h"
#include "python/python.h"

enum { FAKE_PYTHON_DATA_WORDS = 8192, FAKE_PYTHON_HEAP_WORDS = 2048, FAKE_PYTHON_BLOCKS = 160 };
#define FAKE_PYTHON_BIAS UINT64_C(0x550000000000)
#define FAKE_PYTHON_DATA (FAKE_PYTHON_BIAS + 0x3000)
#define FAKE_PYTHON_HEAP UINT64_C(0x7f0000000000)

struct fake_python {
    struct hs_dump dump;
    struct hs_dump_options options;
    struct hs_object object;
    struct elf_writer writer;
    const struct hs_python_layout *layout;
    void *state; /* of hs_runtime_python */
    uint64_t data[FAKE_PYTHON_DATA_WORDS], heap[FAKE_PYTHON_HEAP_WORDS];
    size_t n_data, n_heap; /* in words, of what is used */
    hs_addr blocks[FAKE_PYTHON_BLOCKS];
    size_t n_blocks;
    char path[32];
    /* What a test may want to damage: objects, not blocks. */
    hs_addr runtime, interpreter, thread, modules, main_dict, rows, class, instance, function,
        queue, frame, outer_frame, local, context_node, callbacks, hexversion;
    hs_addr task, waiting, awaited; /* its coroutine, and the one that this waits for */
    hs_addr waiting_frame, awaited_frame;
    hs_addr greenlet_state, chunk, top_frame; /* of C++; its stack; the object of its last frame */
    hs_addr second, other_modules; /* an interpreter that is not in the list, and its modules */
};

/* Built at once; aborts when memory is short. */
struct fake_python *fake_python_new(unsigned minor);
void fake_python_free(struct fake_python *fake);
/* The word at an address, to read or to damage. */
uint64_t *fake_python_word(struct fake_python *fake, hs_addr at);
/* After damage: the blocks, which are objects, roots; the words of all blocks. Aborts when what
 * must hold of any process does not: roots lead to blocks and have names that are text. */
hs_status fake_python_walk(struct fake_python *fake, struct hs_error *err);
/* Drops all that was read, so that it may be damaged in another way. */
void fake_python_forget(struct fake_python *fake);
/* Its root of this name after the walk, or NULL. */
const struct hs_root_leaf *fake_python_root(const struct fake_python *fake, const char *name);
/* Whether a block is of a type of this name that has such a member, in a process that was walked.
 */
bool fake_python_has_member(const struct fake_python *fake, const char *type, const char *member);
/* A note that contains a text? */
bool fake_python_says(const struct fake_python *fake, const char *text);

#endif
