#include "type_rank.h"

#include <string.h>

enum { MOST_LEVELS = 8 }; /* of smart pointers in each other */

struct named_rank {
    const char *name;
    enum hs_type_rank rank;
};

/* The ranks of names that begin so. */
static const struct named_rank beginnings[] = {
    {"std::", HS_RANK_CONTAINER},       {"alloc::", HS_RANK_CONTAINER},
    {"core::", HS_RANK_CONTAINER},      {"hashbrown::", HS_RANK_CONTAINER},
    {"__gnu_cxx::", HS_RANK_CONTAINER}, {"GList", HS_RANK_CONTAINER},
    {"GSList", HS_RANK_CONTAINER},      {"GHashTable", HS_RANK_CONTAINER},
    {"GPtrArray", HS_RANK_CONTAINER},   {"GArray", HS_RANK_CONTAINER},
    {"GQueue", HS_RANK_CONTAINER},      {"GTree", HS_RANK_CONTAINER},
    {"GNode", HS_RANK_CONTAINER},       {"GString", HS_RANK_CONTAINER},
    {"xmlNode", HS_RANK_CONTAINER},     {"xmlAttr", HS_RANK_CONTAINER},
    {"xmlID", HS_RANK_CONTAINER},       {"xmlChar", HS_RANK_NOTHING},
    {"xmlDoc", HS_RANK_LIBRARY},        {"xmlDtd", HS_RANK_LIBRARY},
    {"QHash", HS_RANK_CONTAINER},       {"QMap", HS_RANK_CONTAINER},
    {"QList", HS_RANK_CONTAINER},       {"QVector", HS_RANK_CONTAINER},
    {"QArrayData", HS_RANK_CONTAINER},  {"QTypedArrayData", HS_RANK_CONTAINER},
    {"boost::", HS_RANK_LIBRARY},       {"absl::", HS_RANK_LIBRARY},
    {"google::", HS_RANK_LIBRARY},      {"grpc_core::", HS_RANK_LIBRARY},
    {"asio::", HS_RANK_LIBRARY},        {"tokio::", HS_RANK_LIBRARY},
    {"continuation", HS_RANK_LIBRARY},  {"Stdlib.", HS_RANK_COLLECTION},
    {"block tag ", HS_RANK_NOTHING},    {"buffer of ", HS_RANK_ARRAY},
};

/* Modules of Python's library, the dot behind them. */
static const struct named_rank modules[] = {
    {"__main__.", HS_RANK_MAIN},           {"collections.", HS_RANK_COLLECTION},
    {"weakref.", HS_RANK_COLLECTION},      {"functools.", HS_RANK_COLLECTION},
    {"contextvars.", HS_RANK_COLLECTION},  {"itertools.", HS_RANK_COLLECTION},
    {"operator.", HS_RANK_COLLECTION},     {"abc.", HS_RANK_COLLECTION},
    {"types.", HS_RANK_COLLECTION},        {"enum.", HS_RANK_COLLECTION},
    {"asyncio.", HS_RANK_LIBRARY},         {"_asyncio.", HS_RANK_LIBRARY},
    {"threading.", HS_RANK_LIBRARY},       {"logging.", HS_RANK_LIBRARY},
    {"concurrent.", HS_RANK_LIBRARY},      {"queue.", HS_RANK_LIBRARY},
    {"socket.", HS_RANK_LIBRARY},          {"ssl.", HS_RANK_LIBRARY},
    {"selectors.", HS_RANK_LIBRARY},       {"json.", HS_RANK_LIBRARY},
    {"email.", HS_RANK_LIBRARY},           {"http.", HS_RANK_LIBRARY},
    {"urllib.", HS_RANK_LIBRARY},          {"re.", HS_RANK_LIBRARY},
    {"importlib.", HS_RANK_LIBRARY},       {"_frozen_importlib.", HS_RANK_LIBRARY},
    {"datetime.", HS_RANK_LIBRARY},        {"decimal.", HS_RANK_LIBRARY},
    {"pathlib.", HS_RANK_LIBRARY},         {"sqlite3.", HS_RANK_LIBRARY},
    {"multiprocessing.", HS_RANK_LIBRARY}, {"traceback.", HS_RANK_LIBRARY},
};

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool ends(const char *name, size_t n, const char *with)
{
    size_t n_with = strlen(with);
    return n >= n_with && memcmp(name + n - n_with, with, n_with) == 0;
}

static bool is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A class of Qt, GLib, GTK or GStreamer by its prefix and a capital: QTimer, GObject, GtkLabel,
 * GstPad; with C's underscore, too. Its own private part is the object's, whose class tells more.
 */
static bool is_of_toolkit(const char *name)
{
    static const char *const prefixes[] = {"Q", "G", "Gtk", "Gdk", "Gst"};
    static const char tag[] = "struct ";

    if (begins(name, tag))
        name += strlen(tag);
    name += *name == '_';
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *rest = name + strlen(prefixes[i]);
        if (begins(name, prefixes[i]) && rest[0] >= 'A' && rest[0] <= 'Z' && rest[1] >= 'a' &&
            rest[1] <= 'z')
            return true;
    }
    return false;
}

/* Finds a rank by whole words alone: QList<int>, not QListWidgetItem. */
static const struct named_rank *find(const struct named_rank *among, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        size_t n_name = strlen(among[i].name);
        bool is_word = is_of_word(among[i].name[n_name - 1]);
        if (begins(name, among[i].name) && !(is_word && is_of_word(name[n_name])))
            return &among[i];
    }
    return NULL;
}

/* Returns the name behind what only wraps it; the same name where nothing does. */
static const char *wrapped(const char *name)
{
    static const char *const wrappers[] = {
        "std::make_shared<",
        "std::allocate_shared<",
        "alloc::sync::ArcInner<",
        "alloc::rc::RcInner<",
        "alloc::rc::RcBox<",
        "alloc::boxed::Box<",
        "std::__future_base::_Result<",
        "std::__future_base::_Task_state<",
        "std::__future_base::_Async_state_impl<",
        "std::__future_base::_Deferred_state<",
        "std::thread::_State_impl<",
        "std::thread::_Invoker<",
        "std::tuple<",
        "std::unique_ptr<",
        "std::shared_ptr<",
        "ArcInner<",
        "RcInner<",
        "RcBox<",
        "Box<",
    };
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (begins(name, wrappers[i]))
            return name + strlen(wrappers[i]);
    return name;
}

static enum hs_type_rank python_rank(const char *name)
{
    static const char attributes[] = "attributes of ";
    static const char *const errors[] = {"Error", "Exception", "Warning", "Interrupt", "Exit"};
    static const char *const scalars[] = {"int", "float", "complex", "bool", "str", "bytes"};
    size_t n = strlen(name);
    bool is_of_instance = begins(name, attributes);
    const char *class = is_of_instance ? name + strlen(attributes) : name;
    const struct named_rank *module = find(modules, sizeof modules / sizeof *modules, class);

    if (module != NULL)
        return is_of_instance && module->rank == HS_RANK_MAIN ? HS_RANK_ATTRIBUTES : module->rank;
    /* The call whose variables they are: more than the tuple that it is in, less than an error. */
    if (begins(class, "frame "))
        return HS_RANK_COLLECTION;
    if (begins(class, "generator ") || begins(class, "coroutine "))
        return HS_RANK_CLOSURE;
    if (strchr(class, '.') != NULL || is_of_instance)
        return HS_RANK_RECORD;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (ends(name, n, errors[i]))
            return HS_RANK_ERROR;
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (strcmp(name, scalars[i]) == 0)
            return HS_RANK_NOTHING;
    return ends(name, n, " keys") || ends(name, n, " items") || ends(name, n, " values")
               ? HS_RANK_NOTHING
               : HS_RANK_BUILTIN;
}

/* Modules of OCaml's library and of others whose types keep what a program gives them: what stands
 * before such a type, "(int, session) Hashtbl.bucketlist", says whose they are. */
static const struct named_rank keepers[] = {
    {"Hashtbl.", HS_RANK_CONTAINER},      {"Queue.", HS_RANK_CONTAINER},
    {"Stack.", HS_RANK_CONTAINER},        {"Map.Make", HS_RANK_CONTAINER},
    {"Set.Make", HS_RANK_CONTAINER},      {"Seq.", HS_RANK_CONTAINER},
    {"Weak.", HS_RANK_CONTAINER},         {"Ephemeron.", HS_RANK_CONTAINER},
    {"Atomic.", HS_RANK_CONTAINER},       {"Dynarray.", HS_RANK_CONTAINER},
    {"CamlinternalLazy.", HS_RANK_PLAIN}, {"Lazy.", HS_RANK_PLAIN},
    {"Buffer.", HS_RANK_COLLECTION},      {"Lexing.", HS_RANK_COLLECTION},
    {"Stream.", HS_RANK_CONTAINER},       {"Lwt_sequence.", HS_RANK_CONTAINER},
    {"Lwt_stream.", HS_RANK_CONTAINER},   {"Lwt.", HS_RANK_COLLECTION},
    {"Base.", HS_RANK_CONTAINER},         {"Core.", HS_RANK_CONTAINER},
    {"BatMap.", HS_RANK_CONTAINER},       {"BatVect.", HS_RANK_CONTAINER},
    {"Async_kernel.", HS_RANK_COLLECTION}};

/* Returns what a type of OCaml is applied last: "int Map.Make(Int).t" is Map.Make(Int).t. A tuple
 * has none. */
static const char *ocaml_head(const char *name)
{
    const char *head = name;
    unsigned depth = 0;

    for (const char *at = name; *at != '\0'; at++) {
        depth += *at == '(';
        depth -= *at == ')' && depth != 0;
        if (*at == ' ' && depth == 0)
            head = at + 1;
    }
    return head[0] == '(' ? "" : head;
}

/* Packages of Go's own library, the dot behind them. Names of types have no more of the path. */
static const struct named_rank packages[] = {
    {"main.", HS_RANK_MAIN},       {"runtime.", HS_RANK_BUILTIN}, {"sync.", HS_RANK_CONTAINER},
    {"atomic.", HS_RANK_BUILTIN},  {"list.", HS_RANK_CONTAINER},  {"heap.", HS_RANK_CONTAINER},
    {"ring.", HS_RANK_CONTAINER},  {"bytes.", HS_RANK_CONTAINER}, {"strings.", HS_RANK_CONTAINER},
    {"reflect.", HS_RANK_LIBRARY}, {"time.", HS_RANK_COLLECTION}, {"context.", HS_RANK_LIBRARY},
    {"bufio.", HS_RANK_CONTAINER}, {"io.", HS_RANK_CONTAINER},    {"big.", HS_RANK_CONTAINER},
    {"http.", HS_RANK_LIBRARY},    {"http2.", HS_RANK_LIBRARY},   {"net.", HS_RANK_LIBRARY},
    {"netip.", HS_RANK_LIBRARY},   {"url.", HS_RANK_LIBRARY},     {"textproto.", HS_RANK_LIBRARY},
    {"poll.", HS_RANK_CONTAINER},  {"os.", HS_RANK_LIBRARY},      {"fmt.", HS_RANK_COLLECTION},
    {"errors.", HS_RANK_ERROR},    {"tls.", HS_RANK_LIBRARY},     {"x509.", HS_RANK_LIBRARY},
    {"json.", HS_RANK_LIBRARY},    {"xml.", HS_RANK_LIBRARY},     {"gob.", HS_RANK_LIBRARY},
    {"regexp.", HS_RANK_LIBRARY},  {"syntax.", HS_RANK_LIBRARY},  {"template.", HS_RANK_LIBRARY},
    {"parse.", HS_RANK_LIBRARY},   {"sql.", HS_RANK_LIBRARY},     {"driver.", HS_RANK_LIBRARY},
    {"log.", HS_RANK_LIBRARY},     {"slog.", HS_RANK_LIBRARY},    {"exec.", HS_RANK_LIBRARY},
    {"gzip.", HS_RANK_LIBRARY},    {"flate.", HS_RANK_LIBRARY},   {"pprof.", HS_RANK_LIBRARY},
};

/* Types of Go: "tsdb.Head", "[]string", "map[string]*main.Profile", "chan time.Time". Those of the
 * packages of a program are its classes. */
static enum hs_type_rank go_rank(const char *name)
{
    static const char *const containers[] = {
        "map[", "chan ", "entries of ", "directory of ", "table of ", "struct {", "func("};
    static const char stack[] = "goroutine ";

    if (begins(name, "[") || begins(name, "*"))
        return HS_RANK_ARRAY;
    if (begins(name, "closure "))
        return HS_RANK_CLOSURE;
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        if (begins(name, containers[i]))
            return HS_RANK_CONTAINER;
    if (strchr(name, '.') == NULL || begins(name, stack))
        return HS_RANK_NOTHING;
    const struct named_rank *package = find(packages, sizeof packages / sizeof *packages, name);
    return package != NULL ? package->rank : HS_RANK_RECORD;
}

static enum hs_type_rank block_rank(const char *name)
{
    static const char *const plain[] = {" list", " option", " array", " ref"};
    static const char *const shapes[] = {
        "list-cell",        "map-node",           "set-node", "hash-table",
        "hash-table-entry", "hash-table-buckets", "queue",    "stack"};
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(name, shapes[i]) == 0)
            return HS_RANK_PLAIN;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (ends(name, n, plain[i]))
            return HS_RANK_PLAIN;
    return HS_RANK_RECORD;
}

static enum hs_type_rank ocaml_rank(const char *name)
{
    const char *head = ocaml_head(name);
    const struct named_rank *keeper = find(keepers, sizeof keepers / sizeof *keepers, head);

    if (head[0] == '\0' && name[0] == '(')
        return HS_RANK_COLLECTION;
    return keeper != NULL ? keeper->rank : block_rank(name);
}

/* Returns the name behind a tag of C's and the underscore of GLib's tags: "struct _GPtrArray" is
 * GPtrArray. */
static const char *untagged(const char *name)
{
    static const char glib[] = "struct _", tag[] = "struct ";
    if (begins(name, glib))
        return name + strlen(glib);
    return begins(name, tag) ? name + strlen(tag) : name;
}

/* Ranks a function of OCaml by the library that its module is of: what a library has made of a
 * program's function says less than that function. */
static enum hs_type_rank closure_rank(const char *name)
{
    static const char *const libraries[] = {"Stdlib", "CamlinternalLazy", "Lwt", "Async", "Base",
                                            "Core"};
    static const char closure[] = "closure ";

    if (!begins(name, closure))
        return HS_RANK_CLOSURE;
    name += strlen(closure);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        char next = begins(name, libraries[i]) ? name[strlen(libraries[i])] : 'a';
        if (next == '.' || next == '_')
            return HS_RANK_COLLECTION;
    }
    return HS_RANK_CLOSURE;
}

static enum hs_type_rank known_rank(const char *name, unsigned form)
{
    const struct named_rank *known;

    switch (form) {
    case HS_FORM_BYTES:
    case HS_FORM_MAPPING:
    case HS_FORM_OTHER:
        return HS_RANK_NOTHING;
    case HS_FORM_POINTER:
    case HS_FORM_SCALAR:
    case HS_FORM_STRING:
    case HS_FORM_FLOAT:
    case HS_FORM_FLOAT_ARRAY:
        return HS_RANK_ARRAY;
    case HS_FORM_PYTHON:
        return python_rank(name);
    case HS_FORM_GO:
        return go_rank(name);
    default:
        break;
    }
    if (ends(name, strlen(name), "[]"))
        return HS_RANK_ARRAY;
    for (unsigned level = 0; level < MOST_LEVELS; level++) {
        const char *inner = wrapped(name);
        if (inner == name)
            break;
        name = inner;
    }
    if (form == HS_FORM_CLOSURE)
        return closure_rank(name);
    known = find(beginnings, sizeof beginnings / sizeof *beginnings, untagged(name));
    if (known != NULL)
        return known->rank;
    if (form == HS_FORM_BLOCK)
        return ocaml_rank(name);
    return form == HS_FORM_RECORD && is_of_toolkit(name) ? HS_RANK_LIBRARY : block_rank(name);
}

enum hs_type_rank hs_type_rank(const char *name, unsigned form)
{
    const char *guess = form == HS_FORM_BYTES ? strstr(name, HS_TYPE_PERHAPS) : NULL;
    if (guess == NULL) {
        bool is_thrown = form == HS_FORM_RECORD && ends(name, strlen(name), HS_TYPE_THROWN);
        enum hs_type_rank known = known_rank(name, form);
        return is_thrown && known < HS_RANK_ERROR ? HS_RANK_ERROR : known;
    }
    /* No more than a library's class, whose name is known. */
    enum hs_type_rank rank = known_rank(guess + strlen(HS_TYPE_PERHAPS), HS_FORM_RECORD);
    return rank < HS_RANK_LIBRARY ? rank : HS_RANK_LIBRARY;
}

bool hs_type_is_part(const char *name, unsigned form)
{
    static const char *const parts[] = {"list items", "dict keys",   "instance values",
                                        "set table",  "deque items", "array items"};

    if (form != HS_FORM_PYTHON)
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(name, parts[i]) == 0)
            return true;
    return begins(name, "attributes of ");
}
