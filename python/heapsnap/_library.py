"""The structures of heapsnap/heapsnap.h, and the library when it is first needed."""

import ctypes
import ctypes.util
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_int, c_size_t, c_uint,
                    c_uint8, c_uint32, c_uint64, c_void_p)

NO_NODE = 2**64 - 1

Progress = CFUNCTYPE(c_int, c_void_p, c_char_p, c_uint64, c_uint64)


class Error(Structure):
    _fields_ = [("status", c_int), ("sys_errno", c_int), ("message", c_char * 384),
                ("hint", c_char * 256)]


class Options(Structure):
    _fields_ = [("struct_bytes", c_size_t), ("memory_bytes", c_uint64), ("spill_dir", c_char_p),
                ("n_threads", c_uint), ("progress", Progress), ("context", c_void_p)]


def _structure(name, fields):
    """From "type name name; type name"."""
    kinds = {"text": c_char_p, "u8": c_uint8, "u32": c_uint32, "u64": c_uint64, "int": c_int,
             "size": c_size_t, "u64s": POINTER(c_uint64), "u32s": POINTER(c_uint32),
             "u8s": POINTER(c_uint8)}
    pairs = [(word, kinds[words[0]])
             for words in (part.split() for part in fields.split(";")) for word in words[1:]]
    return type(name, (Structure,), {"_fields_": pairs})


Summary = _structure("Summary", """text command tool_version; u32 word_bytes pid;
    u64 taken_ns resident_bytes n_nodes n_tree n_blocks n_edges n_types heap_words static_words
    reached_words unreached_words""")
Root = _structure("Root", """u64 node; text name kind module file function; u32 line thread;
    u64 reachable_words reachable_objects retained_words retained_objects""")
Node = _structure("Node", """u64 node; int is_root is_static; u64 address words; text name;
    u64 dominator retained_words retained_objects""")
Edge = _structure("Edge", "u64 other offset_words; text edge_class")
Child = _structure("Child", "u64 node retained_words")
Type = _structure("Type", "text name; u64 objects words retained_words")
Leaks = _structure("Leaks", "u64 certain_blocks certain_words possible_blocks possible_words")
Set = _structure("Set", "u32 id; u64 n_roots retained_words retained_objects")
Key = _structure("Key", """text key form; u64 parent root; u32 set steps;
    u64 objects words all_objects all_words""")
LeakGroup = _structure("LeakGroup", """text certainty type;
    u64 words_each objects words heads held_words first""")
Blocks = _structure("Blocks", """u64 first; size n; u64s address words; u32s type;
    u64s dominator retained_words; u8s is_static is_reached""")

_loaded = None


def library():
    """libheapsnap: that of HEAPSNAP_LIBRARY, else the system's. OSError when there is none."""
    global _loaded
    if _loaded is None:
        name = os.environ.get("HEAPSNAP_LIBRARY") or ctypes.util.find_library("heapsnap") \
            or "libheapsnap.so.0"
        found = ctypes.CDLL(name)
        found.heapsnap_get_summary.restype = None
        found.heapsnap_close.restype = None
        found.heapsnap_close.argtypes = [c_void_p]
        found.heapsnap_free.restype = None
        found.heapsnap_type_name.restype = c_char_p
        found.heapsnap_type_name.argtypes = [c_void_p, c_uint32]
        _loaded = found
    return _loaded
