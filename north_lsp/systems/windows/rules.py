"""What Windows makes of a name, without asking it: pure functions of text, the same on every system."""

from __future__ import annotations

import ntpath

_DEVICES = frozenset(
    (
        *("con", "prn", "aux", "nul", "conin$", "conout$", "clock$"),
        *(f"{kind}{number}" for kind in ("com", "lpt") for number in "0123456789\u00b9\u00b2\u00b3"),
    )
)
_FORBIDDEN = frozenset('<>:"|?*') | {chr(number) for number in range(32)}
_LONGEST_SHORT, _LONGEST_ENDING = 8, 3
_TAIL = " ."


def refused_name(name: str) -> str | None:
    """Return why a name of a file or folder means something else to Windows than it says; None for an honest one."""
    if name in ("", ".", ".."):
        return None
    if ":" in name:
        return "names a stream of a file, or a drive (`:`)"
    if (found := next((letter for letter in name if letter in _FORBIDDEN), None)) is not None:
        return f"has a character that no name can have ({found!r})"
    if name[-1] in _TAIL:
        return "ends with a dot or a space, which Windows drops"
    # `nul.txt` and `COM1 .log` are the devices, too.
    if name.split(".", 1)[0].rstrip(" ").casefold() in _DEVICES:
        return "is the name of a device"
    return None


def may_be_short(name: str) -> bool:
    """Return whether a name looks like the short form (8.3) that Windows gives to a longer one."""
    base, _, ending = name.partition(".")
    head, tilde, number = base.rpartition("~")
    is_number = number.isascii() and number.isdigit()
    return bool(head and tilde and is_number) and len(base) <= _LONGEST_SHORT and len(ending) <= _LONGEST_ENDING


def refused_path(path: str) -> str | None:
    """Return why a path cannot be judged by its text: a device's or another machine's, or relative to what only Windows
    knows; None for a plain relative or absolute one."""
    plain = path.replace("/", "\\")
    if plain.startswith("\\\\"):
        if plain[2:4] in ("?\\", ".\\"):
            return "begins with a prefix that switches Windows' own rules off"
        return "is on another machine (UNC)"
    drive, rest = ntpath.splitdrive(plain)
    if drive and not rest.startswith("\\"):
        return "is relative to the folder that a drive is in at the moment"
    if not drive and plain.startswith("\\"):
        return "has no drive"
    return next((why for name in rest.split("\\") if (why := refused_name(name)) is not None), None)


def folded(path: str) -> str:
    """Return a path in one case, to be compared as Windows compares names: letter by letter, in no language."""
    return "".join(upper if len(upper := letter.upper()) == 1 else letter for letter in path.replace("/", "\\"))


def without_prefix(path: str) -> str:
    r"""Return a path of the kernel's (`\\?\C:\a`, `\\?\UNC\host\share`, `\??\C:\a`) as programs write it."""
    for prefix in ("\\\\?\\", "\\??\\"):
        if path.startswith(prefix):
            rest = path[len(prefix) :]
            return "\\\\" + rest[4:] if rest[:4].upper() == "UNC\\" else rest
    return path


def native(path: str) -> str:
    r"""Return an absolute path for the kernel's own calls, which take every name as it is."""
    plain = without_prefix(path.replace("/", "\\"))
    return "\\??\\UNC" + plain[1:] if plain.startswith("\\\\") else "\\??\\" + plain
