"""Who keeps how much memory alive: heapsnap's answers in Python, over libheapsnap.

    import heapsnap
    with heapsnap.open("heap.snap") as snap:
        for root in snap.roots()[:10]:
            print(root.name, root.retained_words * snap.word_bytes)
        snap.keys().frame()            # with pandas: a data frame

Rows are named tuples in a list that has a method more: frame(), a pandas DataFrame by column.
Sizes are in words of the process. Names come from the process that was dumped; bytes in them that
are no UTF-8 are U+FFFD.

Whatever fails is a heapsnap.Error with `status`, `message` and `hint`. A snapshot may be used by
several threads: calls wait for each other.
"""

import ctypes
import ctypes.util
import os
import threading
from collections import namedtuple

from . import _library as _c

__all__ = ["open", "Snapshot", "Error", "UsageError", "FormatError", "LimitError", "NO_NODE"]

NO_NODE = _c.NO_NODE


class Error(Exception):
    """Something that the library could not do."""

    def __init__(self, status, message, hint=""):
        super().__init__(message + (f" ({hint})" if hint else ""))
        self.status, self.message, self.hint = status, message, hint


class UsageError(Error, ValueError):
    """Asked for something that does not exist or make sense."""


class FormatError(Error, ValueError):
    """No snapshot, or a damaged, cut or too new one."""


class SystemError_(Error, OSError):
    """The system failed to read or write."""


class LimitError(Error, MemoryError):
    """Over the memory limit, out of memory, or ended by the progress function."""


_ERRORS = {1: UsageError, 3: FormatError, 4: SystemError_, 5: LimitError}


class Rows(list):
    """Named tuples of one kind."""

    def __init__(self, kind, rows):
        super().__init__(rows)
        self.kind = kind

    def frame(self):
        """The same as a pandas DataFrame, a column for each field."""
        import pandas
        columns = zip(*self) if self else [()] * len(self.kind._fields)
        return pandas.DataFrame(dict(zip(self.kind._fields, columns)), columns=self.kind._fields)


Summary = namedtuple("Summary", [name for name, _ in _c.Summary._fields_])
Root = namedtuple("Root", [name for name, _ in _c.Root._fields_])
Node = namedtuple("Node", [name for name, _ in _c.Node._fields_])
Edge = namedtuple("Edge", [name for name, _ in _c.Edge._fields_])
Child = namedtuple("Child", [name for name, _ in _c.Child._fields_])
Type = namedtuple("Type", [name for name, _ in _c.Type._fields_])
Set = namedtuple("Set", [name for name, _ in _c.Set._fields_])
Key = namedtuple("Key", [name for name, _ in _c.Key._fields_])
LeakGroup = namedtuple("LeakGroup", [name for name, _ in _c.LeakGroup._fields_])
Leaks = namedtuple("Leaks", [name for name, _ in _c.Leaks._fields_])
Block = namedtuple("Block", ["node", "address", "words", "type", "dominator", "retained_words",
                             "is_static", "is_reached"])


def _value(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _tuple(kind, row):
    return kind(*[_value(getattr(row, name)) for name in kind._fields])


class Snapshot:
    """An open snapshot and its index; heapsnap.open makes it."""

    def __init__(self, path, memory_bytes=0, spill_dir=None, n_threads=0, progress=None):
        self._lock = threading.RLock()
        self._handle = None
        self._failure = None
        self._progress = _c.Progress(lambda _, *told: self._tell(progress, *told))
        options = _c.Options()
        options.struct_bytes = ctypes.sizeof(options)
        options.memory_bytes = memory_bytes
        options.spill_dir = None if spill_dir is None else os.fsencode(spill_dir)
        options.n_threads = n_threads
        if progress is not None:
            options.progress = self._progress
        handle = ctypes.c_void_p()
        self._call("open", os.fsencode(path), ctypes.byref(options), ctypes.byref(handle))
        self._handle = handle

    def _tell(self, progress, phase, done, total):
        """What the function raises ends the work and is raised again by who called for it."""
        try:
            return 1 if progress(_value(phase), done, total) else 0
        except BaseException as failure:
            self._failure = failure
            return 1

    def _call(self, name, *arguments):
        error = _c.Error()
        status = getattr(_c.library(), "heapsnap_" + name)(*arguments, ctypes.byref(error))
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if status != 0:
            raise _ERRORS.get(status, Error)(status, _value(error.message), _value(error.hint))

    def _ask(self, name, *arguments):
        if self._handle is None:
            raise UsageError(1, "the snapshot is closed")
        self._call(name, self._handle, *arguments)

    def _rows(self, name, kind, row, *arguments, more=()):
        """Of a call that makes an array."""
        with self._lock:
            array, n = ctypes.POINTER(row)(), ctypes.c_size_t()
            self._ask(name, *arguments, ctypes.byref(array), ctypes.byref(n), *more)
            try:
                if kind is None:
                    return [array[i] for i in range(n.value)]
                return Rows(kind, [_tuple(kind, array[i]) for i in range(n.value)])
            finally:
                _c.library().heapsnap_free(array)

    def close(self):
        """Frees it; what it has answered stays."""
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                _c.library().heapsnap_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self.close()

    @property
    def summary(self):
        with self._lock:
            if self._handle is None:
                raise UsageError(1, "the snapshot is closed")
            row = _c.Summary()
            _c.library().heapsnap_get_summary(self._handle, ctypes.byref(row))
            return _tuple(Summary, row)

    @property
    def word_bytes(self):
        return self.summary.word_bytes

    def roots(self):
        """The roots, those that retain most first."""
        return self._rows("roots", Root, _c.Root, more=(None,))

    def shared_words(self):
        """What several roots keep together."""
        with self._lock:
            array, n, words = ctypes.POINTER(_c.Root)(), ctypes.c_size_t(), ctypes.c_uint64()
            self._ask("roots", ctypes.byref(array), ctypes.byref(n), ctypes.byref(words))
            _c.library().heapsnap_free(array)
            return words.value

    def sets(self):
        """What several roots keep together, by the exact set of those that reach it."""
        return self._rows("sets", Set, _c.Set)

    def set_roots(self, id):
        """The nodes of a set's roots."""
        return self._rows("set_roots", None, ctypes.c_uint64, ctypes.c_uint32(_number(id, 32)))

    def keys(self):
        """Who keeps what, by names that survive a restart; the first row is the whole heap."""
        return self._rows("keys", Key, _c.Key)

    def types(self):
        """The types that a root reaches, those that retain most first."""
        return self._rows("types", Type, _c.Type)

    def leak_groups(self):
        """Blocks that nothing surely keeps, in groups of one certainty, type and size."""
        return self._rows("leak_groups", LeakGroup, _c.LeakGroup)

    def leaks(self):
        """The sums of these."""
        with self._lock:
            row = _c.Leaks()
            self._ask("get_leaks", ctypes.byref(row))
            return _tuple(Leaks, row)

    def find(self, text):
        """The node that is called so: "0xADDR", "#NODE", "root:NAME", "type:NAME", "sample:ID"."""
        with self._lock:
            node = ctypes.c_uint64()
            self._ask("find", _text(text), ctypes.byref(node))
            return node.value

    def node(self, node):
        """One node: a number, or a text as `find` takes it."""
        with self._lock:
            row = _c.Node()
            self._ask("get_node", self._number(node), ctypes.byref(row))
            return _tuple(Node, row)

    def _number(self, node):
        return ctypes.c_uint64(self.find(node) if isinstance(node, str) else _number(node, 64))

    def targets(self, node):
        """Where a node points."""
        return self._rows("targets", Edge, _c.Edge, self._number(node))

    def sources(self, node, most=0):
        """Who points at a block; looks into at most `most` of them, 0 for all."""
        return self._rows("sources", Edge, _c.Edge, self._number(node),
                          ctypes.c_uint64(_number(most, 64)))

    def dominated(self, node, most=0):
        """The children in the dominator tree that retain most."""
        return self._rows("dominated", Child, _c.Child, self._number(node),
                          ctypes.c_uint64(_number(most, 64)))

    def path(self, node):
        """The nodes of the shortest path from a root; none when no root reaches it."""
        return self._rows("path", None, ctypes.c_uint64, self._number(node))

    def _columns(self, chunk):
        """A piece of all blocks as lists, by name; None behind the last."""
        with self._lock:
            piece = _c.Blocks()
            self._ask("get_blocks", ctypes.c_uint64(chunk), ctypes.byref(piece))
            n = piece.n
            if n == 0:
                return None
            columns = {"node": range(piece.first, piece.first + n)}
            for name in Block._fields[1:]:
                columns[name] = getattr(piece, name)[:n]
            columns["is_static"] = [value != 0 for value in columns["is_static"]]
            columns["is_reached"] = [value != 0 for value in columns["is_reached"]]
            names = {type: _value(_c.library().heapsnap_type_name(self._handle, type))
                     for type in set(columns["type"])}
            columns["type"] = [names[type] for type in columns["type"]]
            return columns

    def block_columns(self):
        """All blocks, by address, 65,536 at a time: dictionaries of lists."""
        chunk = 0
        while (columns := self._columns(chunk)) is not None:
            yield columns
            chunk += 1

    def blocks(self):
        """All blocks, by address, one after another."""
        for columns in self.block_columns():
            yield from map(Block._make, zip(*(columns[name] for name in Block._fields)))

    def block_frames(self):
        """The same as pandas DataFrames of 65,536 blocks each."""
        import pandas
        for columns in self.block_columns():
            yield pandas.DataFrame(columns)


def _number(value, bits):
    """ctypes would cut it without a word."""
    value = value.__index__()
    if not 0 <= value < 1 << bits:
        raise UsageError(1, f"{value} is not a number from 0 to {(1 << bits) - 1}")
    return value


def _text(text):
    data = text.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise UsageError(1, "a name has no NUL in it")
    return data


def open(path, **options):
    """Opens a snapshot; its index is computed when it is missing, which takes seconds for some ten
    million blocks. Options: memory_bytes, spill_dir, n_threads, and progress, a function that is
    told (phase, done, total) and ends the work when it answers true."""
    return Snapshot(path, **options)
