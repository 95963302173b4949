"""Calls of Windows' own libraries, one function each, without any policy. Errors are OSErrors as Python makes them."""

from __future__ import annotations

import ctypes
import msvcrt
import os
import sys
from collections.abc import Iterator
from ctypes import POINTER, byref, c_int64, c_ubyte, c_uint32, c_uint64, c_ushort, c_void_p, c_wchar_p, sizeof, wintypes
from typing import NamedTuple

assert sys.platform == "win32"

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_ntdll = ctypes.WinDLL("ntdll")

_LOCK_FAIL_AT_ONCE, _LOCK_EXCLUSIVE = 1, 2
_FILE_ID_BOTH_DIRECTORY, _FROM_THE_BEGINNING = 10, 11
_ATTRIBUTE_TAG = 9
_RENAME, _LINK, _DISPOSITION, _DISPOSITION_EX, _RENAME_EX = 10, 11, 13, 64, 65
_NO_MORE_FILES = 18
_UNSUPPORTED = (0xC0000003, 0xC000000D, 0xC00000BB, 0xC0000002)  # this Windows, or this file system, lacks it
_JOB_LIMITS = 9
_JOB_PROCESSES = 3
_KILL_ON_CLOSE = 0x2000
_SYNCHRONIZE, _QUERY_PROCESS = 0x100000, 0x1000
_STILL_ACTIVE = 259
OWN_PROCESS = -1
_ENTRY_BYTES = 64 * 1024
_NAME_AT = 104  # in FILE_ID_BOTH_DIR_INFO
_MOST_PIDS = 4096


class _Text(ctypes.Structure):
    _fields_ = (("length", c_ushort), ("size", c_ushort), ("text", c_wchar_p))


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("length", c_uint32),
        ("root", c_void_p),
        ("name", POINTER(_Text)),
        ("attributes", c_uint32),
        ("security", c_void_p),
        ("quality", c_void_p),
    )


class _Status(ctypes.Structure):
    _fields_ = (("status", c_void_p), ("information", c_void_p))


class _Overlapped(ctypes.Structure):
    _fields_ = (
        ("internal", c_void_p),
        ("internal_high", c_void_p),
        ("offset", c_uint32),
        ("offset_high", c_uint32),
        ("event", c_void_p),
    )


class _Identity(ctypes.Structure):
    """BY_HANDLE_FILE_INFORMATION."""

    _fields_ = (
        ("attributes", c_uint32),
        ("times", c_uint32 * 6),
        ("volume", c_uint32),
        ("size", c_uint32 * 2),
        ("links", c_uint32),
        ("number_high", c_uint32),
        ("number_low", c_uint32),
    )


class _NameTarget(ctypes.Structure):
    """FILE_RENAME_INFORMATION and FILE_LINK_INFORMATION, whose name follows."""

    _fields_ = (("flags", c_uint32), ("root", c_void_p), ("length", c_uint32))


class _JobLimits(ctypes.Structure):
    _fields_ = (
        ("per_process", c_int64),
        ("per_job", c_int64),
        ("flags", c_uint32),
        ("smallest", ctypes.c_size_t),
        ("largest", ctypes.c_size_t),
        ("processes", c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", c_uint32),
        ("scheduling", c_uint32),
        ("counters", c_uint64 * 6),
        ("memory", ctypes.c_size_t * 4),
    )


class _JobPids(ctypes.Structure):
    _fields_ = (("assigned", c_uint32), ("listed", c_uint32), ("pids", ctypes.c_size_t * _MOST_PIDS))


class Found(NamedTuple):
    """One name in a folder, with what the folder says of it. `tag` is that of a reparse point, else 0; times are in
    nanoseconds since 1970."""

    name: str
    attributes: int
    tag: int
    size: int
    number: int
    changed: int
    modified: int


for _function, _result, _arguments in (
    (_ntdll.NtCreateFile, c_uint32, (c_void_p, c_uint32, *(c_void_p,) * 3, *(c_uint32,) * 4, c_void_p, c_uint32)),
    (_ntdll.NtSetInformationFile, c_uint32, (c_void_p, c_void_p, c_void_p, c_uint32, c_uint32)),
    (_ntdll.RtlNtStatusToDosError, c_uint32, (c_uint32,)),
    (_ntdll.NtResumeProcess, c_uint32, (c_void_p,)),
    (_kernel32.CloseHandle, wintypes.BOOL, (c_void_p,)),
    (_kernel32.GetFinalPathNameByHandleW, c_uint32, (c_void_p, c_void_p, c_uint32, c_uint32)),
    (_kernel32.GetFileInformationByHandleEx, wintypes.BOOL, (c_void_p, c_uint32, c_void_p, c_uint32)),
    (_kernel32.GetFileInformationByHandle, wintypes.BOOL, (c_void_p, c_void_p)),
    (_kernel32.LockFileEx, wintypes.BOOL, (c_void_p, c_uint32, c_uint32, c_uint32, c_uint32, c_void_p)),
    (_kernel32.CreateJobObjectW, c_void_p, (c_void_p, c_wchar_p)),
    (_kernel32.SetInformationJobObject, wintypes.BOOL, (c_void_p, c_uint32, c_void_p, c_uint32)),
    (_kernel32.QueryInformationJobObject, wintypes.BOOL, (c_void_p, c_uint32, c_void_p, c_uint32, c_void_p)),
    (_kernel32.AssignProcessToJobObject, wintypes.BOOL, (c_void_p, c_void_p)),
    (_kernel32.TerminateJobObject, wintypes.BOOL, (c_void_p, c_uint32)),
    (_kernel32.OpenProcess, c_void_p, (c_uint32, wintypes.BOOL, c_uint32)),
    (_kernel32.GetExitCodeProcess, wintypes.BOOL, (c_void_p, c_void_p)),
    (_kernel32.GetProcessTimes, wintypes.BOOL, (c_void_p, *(c_void_p,) * 4)),
):  # fmt: skip
    _function.restype = _result
    _function.argtypes = list(_arguments)


def create(name: str, root: int | None, access: int, share: int, disposition: int, options: int) -> int:
    """Open or create a file or folder by a kernel's path or, with `root`, by a name in that open folder. Returns a
    handle, which no child inherits."""
    text = _Text(len(name.encode("utf-16-le", "surrogatepass")), 0, name)
    text.size = text.length
    attributes = _Attributes(sizeof(_Attributes), root, ctypes.pointer(text), 0x40, None, None)
    handle, status = c_void_p(), _Status()
    code = _ntdll.NtCreateFile(
        byref(handle), access, byref(attributes), byref(status), None, 0x80, share, disposition, options, None, 0
    )
    _check(code, name)
    return handle.value or 0


def descriptor_of(handle: int, flags: int) -> int:
    """Return a descriptor, which has the handle from now on."""
    return msvcrt.open_osfhandle(handle, os.O_BINARY | os.O_NOINHERIT | flags & (os.O_APPEND | os.O_WRONLY | os.O_RDWR))


def handle_of(descriptor: int) -> int:
    return msvcrt.get_osfhandle(descriptor)


def close(handle: int) -> None:
    _kernel32.CloseHandle(handle)


def final_path(handle: int) -> str:
    """Return the path of what is open, as the kernel spells it, without links and short names."""
    size = 1024
    while True:
        buffer = ctypes.create_unicode_buffer(size)
        needed = _kernel32.GetFinalPathNameByHandleW(handle, buffer, size, 0)
        if needed == 0:
            raise ctypes.WinError(ctypes.get_last_error())
        if needed < size:
            return buffer.value
        size = needed + 1


def attributes_and_tag(handle: int) -> tuple[int, int]:
    """Return a file's attributes, and the tag of a reparse point (else 0)."""
    both = (c_uint32 * 2)()
    if not _kernel32.GetFileInformationByHandleEx(handle, _ATTRIBUTE_TAG, both, sizeof(both)):
        raise ctypes.WinError(ctypes.get_last_error())
    return both[0], both[1] if both[0] & 0x400 else 0


def identity(handle: int) -> tuple[int, int]:
    """Return the numbers of a file's volume and of the file, which no two files have."""
    found = _Identity()
    if not _kernel32.GetFileInformationByHandle(handle, byref(found)):
        raise ctypes.WinError(ctypes.get_last_error())
    return found.volume, found.number_high << 32 | found.number_low


def entries(handle: int) -> Iterator[Found]:
    """Yield what is in an open folder."""
    buffer, kind = (c_ubyte * _ENTRY_BYTES)(), _FROM_THE_BEGINNING
    while _kernel32.GetFileInformationByHandleEx(handle, kind, buffer, _ENTRY_BYTES):
        kind = _FILE_ID_BOTH_DIRECTORY
        data, at = bytes(buffer), 0
        while True:
            following = int.from_bytes(data[at : at + 4], "little")
            yield _entry(data, at)
            if following == 0:
                break
            at += following
    if (code := ctypes.get_last_error()) != _NO_MORE_FILES:
        raise ctypes.WinError(code)


def _entry(data: bytes, at: int) -> Found:
    def number(offset: int, size: int) -> int:
        return int.from_bytes(data[at + offset : at + offset + size], "little")

    attributes = number(56, 4)
    name = data[at + _NAME_AT : at + _NAME_AT + number(60, 4)].decode("utf-16-le", "surrogatepass")
    tag = number(64, 4) if attributes & 0x400 else 0
    return Found(
        name, attributes, tag, number(40, 8), number(96, 8), _since_1970(number(32, 8)), _since_1970(number(24, 8))
    )


def _since_1970(ticks: int) -> int:
    return (ticks - 116444736000000000) * 100


def rename(handle: int, root: int, name: str, *, replaces: bool) -> None:
    """Give what is open another name in the open folder `root`."""
    # Without the flags of newer systems a file that is open elsewhere cannot be replaced.
    code = _name(handle, _RENAME_EX, root, name, 3 if replaces else 2)
    if code in _UNSUPPORTED:
        code = _name(handle, _RENAME, root, name, int(replaces))
    _check(code, name)


def link(handle: int, root: int, name: str) -> None:
    """Give a file that is open a second name in the open folder `root`."""
    _check(_name(handle, _LINK, root, name, 0), name)


def _name(handle: int, kind: int, root: int, name: str, flags: int) -> int:
    encoded = name.encode("utf-16-le", "surrogatepass")
    target = _NameTarget(flags, root, len(encoded))
    size = _NameTarget.length.offset + 4
    buffer = ctypes.create_string_buffer(bytes(target)[:size] + encoded, max(size + len(encoded), sizeof(target)) + 2)
    code: int = _ntdll.NtSetInformationFile(handle, byref(_Status()), buffer, size + len(encoded), kind)
    return code


def delete(handle: int) -> None:
    """Remove what is open, at once where the file system can, else when it is closed everywhere."""
    code = _ntdll.NtSetInformationFile(handle, byref(_Status()), byref(c_uint32(0x13)), 4, _DISPOSITION_EX)
    if code in _UNSUPPORTED:
        code = _ntdll.NtSetInformationFile(handle, byref(_Status()), byref(c_ubyte(1)), 1, _DISPOSITION)
    _check(code, "")


def lock(handle: int, *, wait: bool, shared: bool) -> None:
    """Lock a byte that no file has, so that reading and writing continue."""
    flags = (0 if wait else _LOCK_FAIL_AT_ONCE) | (0 if shared else _LOCK_EXCLUSIVE)
    where = _Overlapped(None, None, 0xFFFFFFFE, 0x7FFFFFFF, None)
    if not _kernel32.LockFileEx(handle, flags, 0, 1, 0, byref(where)):
        raise ctypes.WinError(ctypes.get_last_error())


def make_job() -> int:
    """Make a job, whose processes all end when its handle is closed, be it by the death of this process."""
    handle: int | None = _kernel32.CreateJobObjectW(None, None)
    if not handle:
        raise ctypes.WinError(ctypes.get_last_error())
    limits = _JobLimits(flags=_KILL_ON_CLOSE)
    if not _kernel32.SetInformationJobObject(handle, _JOB_LIMITS, byref(limits), sizeof(limits)):
        error = ctypes.WinError(ctypes.get_last_error())
        close(handle)
        raise error
    return handle


def limit_job(handle: int, memory: int, seconds: int) -> None:
    """Limit the memory and the processor time of each process of a job."""
    limits = _JobLimits(per_process=seconds * 10_000_000, flags=_KILL_ON_CLOSE | 0x100 | 0x2)
    limits.memory[0] = memory
    if not _kernel32.SetInformationJobObject(handle, _JOB_LIMITS, byref(limits), sizeof(limits)):
        raise ctypes.WinError(ctypes.get_last_error())


def put_into_job(job: int, process: int) -> None:
    if not _kernel32.AssignProcessToJobObject(job, process):
        raise ctypes.WinError(ctypes.get_last_error())


def resume(process: int) -> None:
    """Let a process that was started halted run."""
    _check(_ntdll.NtResumeProcess(process), "")


def end_job(job: int) -> None:
    _kernel32.TerminateJobObject(job, 1)


def processes_of_job(job: int) -> list[int]:
    found = _JobPids()
    if not _kernel32.QueryInformationJobObject(job, _JOB_PROCESSES, byref(found), sizeof(found), None):
        return []
    return list(found.pids[: found.listed])


def process_started(pid: int) -> int | None:
    """Return when a process started, in Windows' ticks; None if it has ended or never was."""
    handle = _kernel32.OpenProcess(_QUERY_PROCESS | _SYNCHRONIZE, False, pid)
    if not handle:
        return None
    try:
        code, times = c_uint32(), [c_uint64() for _ in range(4)]
        if not _kernel32.GetExitCodeProcess(handle, byref(code)) or code.value != _STILL_ACTIVE:
            return None
        if not _kernel32.GetProcessTimes(handle, *(byref(one) for one in times)):
            return None
        return times[0].value
    finally:
        close(handle)


def _check(code: int, name: str) -> None:
    if code & 0x80000000:
        raise _error(_ntdll.RtlNtStatusToDosError(code), name)


def _error(code: int, name: str) -> OSError:
    return OSError(None, ctypes.FormatError(code).strip(), name or None, code)
