/* The language in which a program is written. */
#include <string.h>

#include "runtimes/dump.h"

/* Names the first clue that fits. A clue is a symbol or the beginning of a library's name. */
const char *hs_program_kind(const struct hs_objects *objects)
{
    static const struct {
        const char *symbol, *library, *what;
    } clues[] = {
        {"JNI_CreateJavaVM", "libjvm.so", "a Java virtual machine"},
        {"Py_Initialize", "libpython", "a Python interpreter"},
        {"runtime.main", "libgo.so", "a Go program"},
        {"ruby_init", "libruby", "a Ruby interpreter"},
        {"perl_parse", "libperl", "a Perl interpreter"},
        {"hs_init", "libHSrts", "a Haskell program"},
        {"rust_begin_unwind", "libstd-", "a Rust program"},
        {"rust_eh_personality", NULL, "a Rust program"},
        {"__gxx_personality_v0", "libstdc++", "a C++ program"},
    };
    struct hs_live_symbol symbol;

    for (size_t i = 0; i < sizeof clues / sizeof clues[0]; i++) {
        if (hs_objects_find(objects, clues[i].symbol, &symbol))
            return clues[i].what;
        for (size_t j = 0; clues[i].library != NULL && j < objects->n; j++) {
            const char *name = objects->objects[j].name;
            if (name != NULL && strncmp(name, clues[i].library, strlen(clues[i].library)) == 0)
                return clues[i].what;
        }
    }
    return "a native program of another language, perhaps C";
}
