"""Becomes the shell of a session: takes the terminal, enters the sandbox if told to, and is replaced by bash.

Runs in a process of its own (`LAUNCHER` in `spawning.py`, with JSON on its input), since what it does must never happen
in North's; it imports none of North's modules, and little else, since each shell waits for it. It reports the
restrictions that hold on the control descriptor before bash starts: `P <json>`, or `X <reason>` if it gave up. Without
the restrictions that were asked for the shell does not start (namespaces are required only if `needs` is set). With
`--hold` it joins the sandbox of a running shell and holds further names there. On macOS it becomes `sandbox-exec`,
which takes the sandbox's profile and becomes bash.
"""

from __future__ import annotations

import _socket
import ctypes
import json
import os
import signal
import struct
import sys
from collections.abc import Sequence

try:
    import fcntl
    import termios
except ImportError:  # on Windows it is only read, never run
    pass

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

# Above 63: bash uses the descriptors from there downwards for a coprocess's pipes, and later closes them, whatever they
# are by then.
TTY_FD = 71
CONTROL_FD = 72

_PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 22, 24, 38, 36
_NEW_MOUNTS, _NEW_USER, _NEW_IPC, _NEW_NET = 0x00020000, 0x10000000, 0x08000000, 0x40000000
_ANY_NAMESPACE = 0x7E020080
_BIND, _REMOUNT, _READ_ONLY, _REC, _PRIVATE, _RELATIME = 4096, 32, 1, 16384, 1 << 18, 1 << 21
_KEPT_FLAGS = 2 | 4 | 8 | 1024 | 2048  # nosuid, nodev, noexec, noatime, nodiratime: the same bits in statvfs and mount
_EPERM, _ENOSYS = 1, 38

# The access rights of Landlock, by the version that added them.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_FIRST, _REFER, _TRUNCATE, _IOCTL_DEVICE = (1 << 13) - 1, 1 << 13, 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_NET = 3
_SCOPES = 3  # abstract sockets, signals

_ARCHITECTURES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "socket": 41, "clone": 56, "ioctl": 16, "ptrace": 101, "mount": 165, "umount2": 166, "pivot_root": 155,
            "init_module": 175, "delete_module": 176, "kexec_load": 246, "add_key": 248, "request_key": 249,
            "keyctl": 250, "unshare": 272, "perf_event_open": 298, "open_by_handle_at": 304, "setns": 308,
            "process_vm_readv": 310, "process_vm_writev": 311, "finit_module": 313, "kexec_file_load": 320,
            "bpf": 321, "userfaultfd": 323, "prlimit64": 302,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "socket": 198, "clone": 220, "ioctl": 29, "ptrace": 117, "mount": 40, "umount2": 39, "pivot_root": 41,
            "init_module": 105, "delete_module": 106, "kexec_load": 104, "add_key": 217, "request_key": 218,
            "keyctl": 219, "unshare": 97, "perf_event_open": 241, "open_by_handle_at": 265, "setns": 268,
            "process_vm_readv": 270, "process_vm_writev": 271, "finit_module": 273, "kexec_file_load": 294,
            "bpf": 280, "userfaultfd": 282, "prlimit64": 261,
        },
    ),
}  # fmt: skip
_COMMON = {
    "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "pidfd_getfd": 438, "mount_setattr": 442,
}  # fmt: skip
_CLONE3 = 435
_REFUSED = (
    "mount", "umount2", "pivot_root", "init_module", "delete_module", "kexec_load", "add_key", "request_key", "keyctl",
    "unshare", "perf_event_open", "open_by_handle_at", "setns", "process_vm_readv", "process_vm_writev",
    "finit_module", "kexec_file_load", "bpf", "userfaultfd",
)  # fmt: skip
_MOUNT_SETATTR = 442
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446

# Folders that commands do not need: the empty file and folder that are mounted over closed ones are kept in one of
# them.
_VOIDS = ("/boot", "/srv", "/mnt", "/media")
_SHARED_MEMORY = "/dev/shm"
# There is no network: tools must fail at once, not after retries.
_WITHOUT_NETWORK = {
    "NPM_CONFIG_FETCH_RETRIES": "0", "NPM_CONFIG_UPDATE_NOTIFIER": "false", "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1", "CARGO_NET_OFFLINE": "true", "GIT_OPTIONAL_LOCKS": "0",
}  # fmt: skip

_NOT_HERE = "there is no such shell on Windows"

_libc: Any = None if os.name == "nt" else ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """Something that was asked for is not available here."""


def _check(result: int, what: str) -> int:
    if result < 0:
        raise Unavailable(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def landlock_version() -> int:
    """Return the kernel's Landlock version; 0 if it has none or has it disabled."""
    return max(0, int(_libc.syscall(_LANDLOCK_CREATE, None, 0, 1)))


def _machine() -> str:
    if sys.platform == "win32":
        return ""
    return os.uname().machine


def filters_system_calls() -> bool:
    """Return whether this machine's system call numbers are known, so that calls can be filtered."""
    return sys.platform == "linux" and _machine() in _ARCHITECTURES


def enter_namespaces(uid: int, gid: int) -> None:
    """Give this process its own mounts, network and IPC. Raises Unavailable."""
    if sys.platform == "win32":
        raise Unavailable(_NOT_HERE)
    _check(_libc.unshare(_NEW_USER | _NEW_MOUNTS | _NEW_NET | _NEW_IPC), "no namespaces of its own")
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
        made = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        try:
            fcntl.ioctl(made, 0x8914, struct.pack("16sh14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running
        finally:
            made.close()
    except OSError as error:
        raise Unavailable(f"no namespaces of its own: {error}") from None
    _mount(None, "/", _REC | _PRIVATE)


def _mount(source: str | None, target: str, flags: int, kind: str | None = None, data: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _check(_libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"mounting {target}")


def make_read_only(path: str) -> None:
    """Make a path and everything below it read-only. Raises Unavailable."""
    _mount(path, path, _BIND | _REC)
    _remount_read_only(path)


def make_writable(path: str) -> None:
    """Make a folder inside a read-only one writable. Raises Unavailable."""
    _mount(path, path, _BIND)
    _set_read_only(path, on=False)


def _remount_read_only(path: str) -> None:
    if sys.platform == "win32":
        raise Unavailable(_NOT_HERE)
    flags = os.statvfs(path).f_flag
    kept = (flags & _KEPT_FLAGS) | (_RELATIME if flags & 4096 else 0)
    _mount(None, path, _BIND | _REMOUNT | _READ_ONLY | kept)


def hold(names: dict[str, list[int]], *, ancestors: bool, roots: list[str]) -> None:
    """Make names read-only, given by path with device and number. With `ancestors` each folder on the way to a name
    becomes its own mount, so that the name cannot be moved away with it; not with running processes that may be in that
    folder, since they would still see what is below the new mount. Raises Unavailable."""
    bound: set[str] = set()
    for path in sorted(names, key=lambda one: one.replace("/", "\0")):
        root = next((one for one in roots if path.startswith(f"{one}/")), None)
        if ancestors and root is not None:
            folder = root
            for name in path[len(root) + 1 :].split("/")[:-1]:
                folder = f"{folder}/{name}"
                if folder not in bound:
                    bound.add(folder)
                    _mount(folder, folder, _BIND)
        make_read_only(path)
        _ensure_same(path, names[path])


def make_void(held_open: list[str]) -> tuple[str, str]:
    """Create an unreadable file and an unreadable folder, in a place that nothing needs. Raises Unavailable."""
    if sys.platform == "win32":
        raise Unavailable(_NOT_HERE)
    for place in _VOIDS:
        if os.path.isdir(place) and not any(f"{one}/".startswith(f"{place}/") for one in held_open):
            break
    else:
        raise Unavailable("there is no free folder for the mounts over closed files")
    file, folder = f"{place}/file", f"{place}/folder"
    if not os.path.exists(file):
        _mount("tmpfs", place, 0, kind="tmpfs", data="mode=700,size=16k")
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0))
        os.mkdir(folder, 0)
    return file, folder


def hide(names: dict[str, list[int]], held_open: list[str]) -> None:
    """Hide files and folders by mounting something unreadable over them. Raises Unavailable."""
    if not names:
        return
    file, folder = make_void(held_open)
    for path, ident in names.items():
        _ensure_same(path, ident)
        _mount(folder if os.path.isdir(path) else file, path, _BIND)
        _remount_read_only(path)


def _ensure_same(path: str, ident: list[int]) -> None:
    try:
        status = os.lstat(path)
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from None
    if [status.st_dev, status.st_ino] != ident:
        raise Unavailable(f"{path} was replaced in the meantime")


def _without_gone(names: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return the names that still exist: those that were deleted since the last look need not be held."""
    return {path: ident for path, ident in names.items() if os.path.lexists(path)}


def make_all_read_only(writable: list[str]) -> None:
    """Make all mounts read-only except the `writable` folders. Landlock does not prevent changes of permissions, owners
    and times; a read-only mount does. Raises Unavailable."""
    for path in writable:
        _mount(path, path, _BIND | _REC)
    _set_read_only("/", on=True)
    for path in writable:
        _set_read_only(path, on=False)


def _set_read_only(path: str, *, on: bool) -> None:
    at_fdcwd, recursive = -100, 0x8000
    attributes = struct.pack("QQQQ", int(on), int(not on), 0, 0)
    call = _libc.syscall(_MOUNT_SETATTR, at_fdcwd, os.fsencode(path), recursive, attributes, len(attributes))
    _check(call, f"read-only mounts, {path}")


def restrict_files(version: int, rules: dict[str, list[str]], *, network: bool) -> None:
    """Allow access to these paths only: `read` (and run), `write` (everything), `device` (read, write). Raises
    Unavailable."""
    if sys.platform != "linux":
        raise Unavailable("Landlock is part of Linux")
    handled = _FIRST
    handled |= _REFER if version >= 2 else 0
    handled |= _TRUNCATE if version >= 3 else 0
    handled |= _IOCTL_DEVICE if version >= 5 else 0
    net = _NET if version >= 4 and not network else 0
    scopes = _SCOPES if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("QQQ", handled, net, scopes)[:size]
    ruleset = _check(_libc.syscall(_LANDLOCK_CREATE, attributes, size, 0), "Landlock")
    wanted = {
        "read": _EXECUTE | _READ_FILE | _READ_DIR,
        "write": handled & ~_IOCTL_DEVICE,
        "device": _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE,
    }
    for kind, paths in rules.items():
        for path in paths:
            try:
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # a missing path needs no permission
            rights = wanted[kind] & handled
            if not os.path.isdir(f"/proc/self/fd/{fd}"):
                rights &= _ON_FILES
            rule = struct.pack("=Qi", rights, fd)
            _check(_libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0), f"Landlock, {path}")
            os.close(fd)
    _check(_libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0), "Landlock")
    os.close(ruleset)


def drop_capabilities() -> None:
    """Drop all capabilities permanently, which root inside the sandbox could otherwise use; no program gets one
    back."""
    for capability in range(64):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def restrict_calls(families: list[int]) -> None:
    """Filter system calls: sockets of these families only, no access to other processes, mounts or namespaces. Raises
    Unavailable."""
    if _machine() not in _ARCHITECTURES:
        raise Unavailable(f"no system call filter for {_machine()}")
    arch, numbers = _ARCHITECTURES[_machine()]
    numbers = numbers | _COMMON
    load, equal, greater, any_bit, ret = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | _EPERM
    program: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4), (equal, 1, 0, arch), (ret, 0, 0, refuse), (load, 0, 0, 0),
    ]  # fmt: skip
    if _machine() == "x86_64":  # the x32 calls have their own numbers
        program += [(greater, 0, 1, 0x40000000), (ret, 0, 0, refuse)]
    for name in (*_REFUSED, *_COMMON):
        program += [(equal, 0, 1, numbers[name]), (ret, 0, 0, refuse)]
    program += [(equal, 0, 1, _CLONE3), (ret, 0, 0, 0x00050000 | _ENOSYS)]  # libraries fall back to clone
    program += [(equal, 0, 4, numbers["clone"]), (load, 0, 0, 16), (any_bit, 0, 1, _ANY_NAMESPACE & ~0x80)]
    program += [(ret, 0, 0, refuse), (ret, 0, 0, allow)]
    program += [(equal, 0, 4, numbers["prlimit64"]), (load, 0, 0, 16)]  # only its own limits, by the pid 0
    program += [(equal, 0, 1, 0), (ret, 0, 0, allow), (ret, 0, 0, refuse)]
    program += [(equal, 0, 5, numbers["ioctl"]), (load, 0, 0, 24), (equal, 1, 0, 0x5412), (equal, 0, 1, 0x541C)]
    program += [(ret, 0, 0, refuse), (ret, 0, 0, allow)]  # TIOCSTI and TIOCLINUX type into a terminal
    sockets = [(load, 0, 0, 16)]
    for family in families:
        sockets += [(equal, 0, 1, family), (ret, 0, 0, allow)]
    sockets += [(ret, 0, 0, refuse)]
    program += [(equal, 0, len(sockets), numbers["socket"]), *sockets, (ret, 0, 0, allow)]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    _check(_libc.prctl(_PR_SET_SECCOMP, 2, described, 0, 0), "the system call filter")


def enter_sandbox(wanted: dict[str, Any]) -> dict[str, Any]:
    """Enter the sandbox that `wanted` describes. Returns what is in force. Raises Unavailable."""
    if sys.platform == "win32":
        raise Unavailable(_NOT_HERE)
    version = landlock_version()
    if version < 1:
        raise Unavailable("this kernel has no Landlock")
    uid, gid = os.getuid(), os.getgid()
    namespaces, why = True, ""
    try:
        enter_namespaces(uid, gid)
        make_all_read_only([*wanted["rules"]["write"], wanted["temp"]])
        hold(_without_gone(wanted["frozen"]), ancestors=True, roots=wanted["rules"]["write"])
        for path in wanted["open"]:
            make_writable(path)
        hide(_without_gone(wanted["hidden"]), [*wanted["rules"]["write"], *wanted["rules"]["read"], wanted["temp"]])
        if os.path.isdir(_SHARED_MEMORY):
            _mount("tmpfs", _SHARED_MEMORY, 0, kind="tmpfs", data="mode=1777,size=256m")
        if wanted["hides"]:
            _mount(wanted["temp"], "/tmp", _BIND)
        os.chdir(wanted["cwd"])  # the same folder as before, seen through the new mounts
    except (Unavailable, OSError) as error:
        namespaces, why = False, str(error)
    if wanted["needs"] and not namespaces:
        raise Unavailable(why)
    temp = "/tmp" if namespaces and wanted["hides"] else wanted["temp"]
    rules = wanted["rules"]
    rules = {**rules, "write": [*rules["write"], temp, *([_SHARED_MEMORY] if namespaces else [])]}
    set_variables(temp)
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    drop_capabilities()
    restrict_files(version, rules, network=namespaces)
    restrict_calls([_socket.AF_INET, _socket.AF_INET6] if namespaces else [])
    return {"landlock": version, "namespaces": namespaces, "why": why, "temp": temp}


def set_variables(temp: str) -> None:
    """Tell programs where they can write, and that there is no network."""
    os.environ["TMPDIR"] = temp
    os.environ["XDG_CACHE_HOME"] = os.environ["NPM_CONFIG_CACHE"] = f"{temp}/.cache"
    os.environ["GOCACHE"] = f"{temp}/.cache/go-build"
    os.environ.setdefault("CACHE_DIR", f"{temp}/.cache")  # for node's tools where `node_modules` cannot be written
    os.environ |= _WITHOUT_NETWORK


def in_seatbelt(wanted: dict[str, Any], argv: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return what is in force with the profile of `wanted`, and the words that run a command with it."""
    if sys.platform == "win32":
        raise Unavailable(_NOT_HERE)
    set_variables(wanted["temp"])
    terminal = os.ttyname(TTY_FD) if os.isatty(TTY_FD) else os.devnull
    in_force = {"landlock": 0, "namespaces": False, "seatbelt": True, "temp": wanted["temp"]}
    return in_force, [*wanted["prefix"], "-D", f"TERMINAL={terminal}", "--", *argv]


def main(config: dict[str, Any]) -> None:
    if sys.platform == "win32":
        raise Unavailable(_NOT_HERE)
    keep = [fcntl.fcntl(config[name], fcntl.F_DUPFD, 100) for name in ("stdin", "tty", "control")]
    for name in ("stdin", "tty", "control"):
        os.close(config[name])
    stdin, tty, control = keep
    for source, target in ((stdin, 0), (tty, 1), (tty, 2), (tty, TTY_FD), (control, CONTROL_FD)):
        os.dup2(source, target, inheritable=True)
    for fd in keep:
        os.close(fd)
    try:
        if os.isatty(TTY_FD):
            fcntl.ioctl(TTY_FD, termios.TIOCSCTTY, 0)
        if sys.platform == "linux":
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        wanted, argv, in_force = config["sandbox"], config["argv"], None
        if wanted is not None and "prefix" in wanted:
            in_force, argv = in_seatbelt(wanted, argv)
        elif wanted is not None:
            in_force = enter_sandbox(wanted)
        os.write(CONTROL_FD, b"P " + json.dumps(in_force).encode() + b"\0")
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execv(argv[0], argv)
    except (Unavailable, OSError) as error:
        os.write(CONTROL_FD, b"X " + str(error).encode("utf-8", "replace") + b"\0")
        os._exit(126)


def hold_more(config: dict[str, Any]) -> str:
    """Hold and hide further names in the sandbox of the process `pid`. Returns what went wrong, empty if nothing
    did."""
    if sys.platform == "win32":
        return _NOT_HERE
    try:
        for kind in ("user", "mnt"):
            descriptor = os.open(f"/proc/{config['pid']}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
            _check(_libc.setns(descriptor, 0), "the shell's namespaces")
        hold(_without_gone(config["frozen"]), ancestors=False, roots=[])
        hide(_without_gone(config["hidden"]), config["around"])
    except (Unavailable, OSError) as error:
        return str(error)
    return ""


def probe() -> dict[str, Any] | str:
    """Return which restrictions a sandbox would have, or why there is none. This process is inside it afterwards."""
    rules: dict[str, list[str]] = {"read": ["/usr"], "write": [], "device": []}
    try:
        nothing: dict[str, Any] = {"frozen": {}, "hidden": {}, "open": [], "hides": False, "needs": False}
        return enter_sandbox({**nothing, "rules": rules, "temp": "/tmp", "cwd": "/"})
    except Unavailable as error:
        return str(error)


def run(words: Sequence[str]) -> None:
    """Do what the command line says."""
    if words == ["--probe"]:
        sys.stdout.write(json.dumps(probe()))
    elif words == ["--hold"]:
        sys.stdout.write(hold_more(json.load(sys.stdin)))
    else:
        main(json.load(sys.stdin))
