"""Calls functions of a process, as a debugger does.

    _call_in.py PID [--stop] <CALLS

CALLS has one call in a line: `NAME FUNCTION [ARGUMENT...]`, an argument being a number, a text in
quotes, or *ADDRESS for the word that stands there. Prints `NAME RESULT` for each. All threads stand
still meanwhile, and the first one calls. With --stop the process stays stopped (SIGSTOP).

In place of gdb, whose release 13 cannot write back a processor's extended state that is larger than
what it knows (AMX): that state is fetched and restored here in whatever size the kernel says. The
process has no part in the frame that is called: it returns to address 0, and that is the end."""
import ctypes
import os
import shlex
import signal
import struct
import subprocess
import sys

CONT, GETREGS, SETREGS, ATTACH, DETACH, GETREGSET, SETREGSET = 7, 12, 13, 16, 17, 0x4204, 0x4205
NT_X86_XSTATE, WALL = 0x202, 0x40000000
REGISTERS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp "
             "ss fs_base gs_base ds es fs gs").split()
RED_ZONE = 128
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def ptrace(request, tid, where=0, data=0):
    if libc.ptrace(request, tid, where, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace {request:#x} of {tid}: {os.strerror(number)}")


def stopped(tid):
    """The signal that it stands at."""
    _, status = os.waitpid(tid, WALL)
    if not os.WIFSTOPPED(status):
        sys.exit(f"the process ended: status {status:#x}")
    return os.WSTOPSIG(status)


class Target:
    def __init__(self, pid):
        self.pid, self.tids = pid, []
        for tid in sorted(map(int, os.listdir(f"/proc/{pid}/task")), key=lambda tid: tid != pid):
            ptrace(ATTACH, tid)
            self.tids.append(tid)
            while stopped(tid) != signal.SIGSTOP:
                ptrace(CONT, tid)
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        self.files = self.mapped_files()
        self.registers = self.get_registers()
        self.area = ctypes.create_string_buffer(1 << 16)
        self.extended = Iovec(ctypes.addressof(self.area), len(self.area))
        ptrace(GETREGSET, pid, NT_X86_XSTATE, ctypes.addressof(self.extended))

    def leave(self, stop):
        """As it was found; signals wait until all are let go."""
        self.set_registers(self.registers)
        ptrace(SETREGSET, self.pid, NT_X86_XSTATE, ctypes.addressof(self.extended))
        if stop:
            os.kill(self.pid, signal.SIGSTOP)
        for tid in self.tids:
            ptrace(DETACH, tid)

    def get_registers(self):
        buffer = ctypes.create_string_buffer(8 * len(REGISTERS))
        ptrace(GETREGS, self.pid, 0, ctypes.addressof(buffer))
        return dict(zip(REGISTERS, struct.unpack(f"<{len(REGISTERS)}Q", buffer.raw)))

    def set_registers(self, registers):
        values = struct.pack(f"<{len(REGISTERS)}Q", *(registers[name] for name in REGISTERS))
        buffer = ctypes.create_string_buffer(values, len(values))
        ptrace(SETREGS, self.pid, 0, ctypes.addressof(buffer))

    def mapped_files(self):
        """Where each file's first page is mapped."""
        files = {}
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as maps:
            for line in maps:
                fields = line.split(maxsplit=5)
                if len(fields) == 6 and fields[5].startswith("/") and int(fields[2], 16) == 0:
                    files.setdefault(fields[5].rstrip("\n"), int(fields[0].split("-")[0], 16))
        return files

    def function(self, name):
        for file, base in self.files.items():
            path = f"/proc/{self.pid}/root{file}"
            if not os.path.exists(path):
                path = file
            for table in ([], ["-D"]):
                listed = subprocess.run(["nm", "--defined-only", *table, path], check=False,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
                for line in listed.decode("utf-8", "replace").splitlines():
                    address, kind, symbol = line.split(maxsplit=2)
                    if symbol.split("@")[0] == name and kind in "tTwWi":
                        with open(path, "rb") as elf:
                            fixed = elf.read(18)[16] == 2  # ET_EXEC
                        return int(address, 16) + (0 if fixed else base)
        sys.exit(f"there is no function {name}")

    def call(self, function, arguments):
        top = (self.registers["rsp"] - RED_ZONE) & ~15
        values = []
        for argument in arguments:
            if argument.startswith("*"):
                word = os.pread(self.memory, 8, int(argument[1:], 0))
                values.append(struct.unpack("<Q", word)[0])
            elif argument[:1] in "-0123456789":
                values.append(int(argument, 0) & (1 << 64) - 1)
            else:
                text = argument.encode() + b"\0"
                top = (top - len(text)) & ~15
                os.pwrite(self.memory, text, top)
                values.append(top)
        os.pwrite(self.memory, bytes(8), top - 8)
        registers = dict(self.registers, rip=function, rsp=top - 8, rax=0,
                         orig_rax=(1 << 64) - 1)
        registers.update(zip(("rdi", "rsi", "rdx", "rcx", "r8", "r9"), values))
        self.set_registers(registers)
        ptrace(CONT, self.pid)
        while True:
            at = stopped(self.pid)
            registers = self.get_registers()
            if at == signal.SIGSEGV and registers["rip"] == 0:
                return registers["rax"]
            if at in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGABRT):
                sys.exit(f"signal {at} at {registers['rip']:#x}")
            ptrace(CONT, self.pid)


def main():
    target = Target(int(sys.argv[1]))
    functions = {}
    try:
        for line in sys.stdin:
            name, function, *arguments = shlex.split(line)
            if function not in functions:
                functions[function] = target.function(function)
            print(name, target.call(functions[function], arguments), flush=True)
    finally:
        target.leave("--stop" in sys.argv[2:])


main()
