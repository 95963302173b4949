"""Tells what the words of a known program mean (`programs.toml`, `projects.toml`, `git.toml`). A program or word that
is not in these tables is unknown, and asks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, cast

from north_lsp.command_policy.parsing import Simple, Word
from north_lsp.command_policy.scripts import CHECKS
from north_lsp.command_policy.tables import Kind, Row, git_writes, reason_against, row_of, sub_row
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

Role = Literal["program", "command", "end", "flag", "value", "text", "script", "path", "word"]

SYSTEM_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
_LONG = lazy_pattern(r"--[A-Za-z][\w-]*\Z")
_TELLS = lazy_pattern(r"node|python[\d.]*")  # they tell their version without looking at the project
_MANY = "*"


@dataclass(frozen=True, slots=True)
class Part:
    """One word and its role for the program. `path` is the text to check as a path, if any: the word, or what is joined
    to a flag; `is_loose` says that the path may begin anywhere in that text."""

    role: Role
    word: Word
    path: Word | None = None
    is_loose: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A command as its program reads it. `commands` is how many of its first words say what it does; `reads_here` says
    that it reads the directory without naming it, `goes_below` that it goes through folders, `follows_links` that it
    follows links there; `is_own` that the program's path is not in a system folder, `names_words` that only all its
    words together say what it does."""

    name: str
    kind: Kind
    parts: tuple[Part, ...]
    commands: int = 1
    reads_here: bool = False
    goes_below: bool = False
    follows_links: bool = False
    is_own: bool = False
    is_git: bool = False
    names_words: bool = False

    @property
    def is_filter(self) -> bool:
        """Whether it uses nothing but its words and its input."""
        return self.kind == "reads" and not self.reads_here and not any(part.path is not None for part in self.parts)


class _Unknown(Exception):
    """Why a command is not known."""


def read(simple: Simple, *, piped: bool = False) -> Reading | str:
    """Read a command's words. Returns what they mean, or why that is unknown. `piped` says that another command writes
    to its input."""
    try:
        return _read(simple.words, piped=piped)
    except _Unknown as problem:
        return str(problem)


def name_of(raw_name: str) -> str:
    """Return the name that a program is looked up by: the last part of its path."""
    return raw_name.rsplit("/", 1)[-1]


def _read(words: Sequence[Word], *, piped: bool) -> Reading:
    program = words[0]
    name = name_of(program.text)
    folder = program.text[: -len(name)].rstrip("/")
    is_own = "/" in program.text and folder not in SYSTEM_FOLDERS
    row = row_of(name)
    if row is None:
        reason = reason_against(name)
        raise _Unknown(f"{name} {reason}" if reason else f"`{name}` is not a program North knows")
    if is_own and row.kind != "project":
        raise _Unknown(f"`{program.text}` is a program of its own, not the `{name}` North knows")
    head = Part("program", program)
    rest = words[1:]
    if len(rest) == 1 and rest[0].text in {"--version", "--help", *row.tells} and not rest[0].is_glob:
        tells = not is_own and (row.kind == "reads" or _TELLS.fullmatch(name) is not None)
        return Reading(name, "reads" if tells else row.kind, (head, Part("flag", rest[0])), is_own=is_own)
    if row.commands:
        return _command(name, row, head, rest, is_own, piped)
    if row.wraps or (row.module and rest and rest[0].text == "-m"):
        skipped = [head]
        while rest and (rest[0].text in row.flags or (row.module and len(skipped) == 1)) and not rest[0].is_glob:
            skipped.append(Part("flag", rest[0]))
            rest = rest[1:]
        return _wrapped(" ".join(part.word.text for part in skipped), tuple(skipped), rest, is_own, piped)
    reading = _operands(name, row, head, rest, 1, piped)
    return replace(reading, is_own=is_own)


def _command(name: str, row: Row, head: Part, rest: Sequence[Word], is_own: bool, piped: bool) -> Reading:
    """Read a program whose first word says what it does."""
    skipped: list[Part] = []
    while rest and rest[0].text in row.flags and not rest[0].is_glob:
        skipped.append(Part("flag", rest[0]))
        rest = rest[1:]
    if not rest:
        raise _Unknown(f"{name} without a command")
    first = rest[0]
    if first.is_glob or first.text not in row.commands:
        if name == "git" and first.text in git_writes():
            raise _Unknown(f"`git {first.text}` changes the repository, which needs approval each time")
        shown = first.text if len(first.text) < 40 else f"{first.text[:40]}…"
        raise _Unknown(f"`{name} {shown}` is not a command of {name} that North knows")
    kind = row.commands[first.text]
    parts = (head, *skipped, Part("command", first))
    if kind == "wraps":
        inner = rest[1:]
        while inner and inner[0].text in row.flags and not inner[0].is_glob:
            parts, inner = (*parts, Part("flag", inner[0])), inner[1:]
        if row.module and inner and inner[0].text == "-m":
            parts, inner = (*parts, Part("flag", inner[0])), inner[1:]
        elif row.module:
            raise _Unknown(f"`{name} {first.text}` without a module")
        return _wrapped(f"{name} {first.text}", parts, inner, is_own, piped)
    if name == "git" and (why := CHECKS["git"](rest[1:])) is not None:
        raise _Unknown(why)
    is_git = name == "git"
    below_row = sub_row(name, first.text, row, kind)
    below = _operands(name, below_row, head, rest[1:], len(parts), piped)
    return replace(
        below, parts=(*parts, *below.parts[1:]), is_own=is_own, reads_here=is_git or below.reads_here, is_git=is_git
    )


def _wrapped(shown: str, parts: tuple[Part, ...], inner: Sequence[Word], is_own: bool, piped: bool) -> Reading:
    """Read a program that runs another one: the other one counts, and a rule must name it."""
    if not inner or inner[0].text.startswith("-") or inner[0].is_glob or "/" in inner[0].text:
        raise _Unknown(f"`{shown}` without a program that North knows")
    below = _read(inner, piped=piped)
    if below.kind != "project":
        raise _Unknown(f"`{inner[0].text}` after `{shown}` may be any program")
    return replace(below, parts=(*parts, *below.parts), commands=len(parts) + below.commands, is_own=is_own)


def _operands(name: str, row: Row, head: Part, rest: Sequence[Word], commands: int, piped: bool) -> Reading:
    if row.cluster and rest and not rest[0].text.startswith("-"):
        if "f" in rest[0].text[:-1]:
            raise _Unknown(f"`{rest[0].raw}` of {name} is not a cluster that North knows")
        rest = [replace(rest[0], text=f"-{rest[0].text}"), *rest[1:]]
    options = _Options(name, row)
    parts = options.read(rest)
    if row.check and (why := CHECKS[row.check](rest)) is not None:
        raise _Unknown(why)
    count = sum(part.role in ("text", "script", "path", "word") for part in parts)
    if count < row.least and not options.seen & row.alone:
        raise _Unknown(f"{name} with {count or 'no'} arguments besides its flags")
    has_path = any(part.role == "path" for part in parts)
    below = "always" in row.below or bool(options.seen & row.below)
    here = row.here == "always" or (row.here == "else" and not has_path) or (row.here == "unless piped" and not piped)
    if row.here == "unless piped" and has_path:
        here = False
    here = here or (below and not has_path and row.here != "unless piped" and "always" not in row.below)
    names_words = any(part.role == "word" for part in parts)
    return Reading(
        name,
        row.kind,
        (head, *parts),
        commands,
        reads_here=here,
        goes_below=below,
        follows_links="always" in row.follows or bool(options.seen & row.follows),
        names_words=names_words,
    )


class _Options:
    """Separates a program's flags, their values and its other words. Raises _Unknown."""

    def __init__(self, name: str, row: Row) -> None:
        self._name = name
        self._row = row
        self.seen: set[str] = set()
        self._parts: list[Part] = []
        self._waits: Role | None = None
        self._more = 0
        self._operands: list[tuple[Word, bool]] = []
        self._slots: list[int] = []

    def read(self, words: Sequence[Word]) -> list[Part]:
        is_open = True
        for word in words:
            if self._waits is not None:
                self._value(word, self._waits)
            elif is_open and word.text == "--" and not (self._row.single or self._row.plain):
                is_open = False
                self._parts.append(Part("end", word))
            elif is_open and word.text in self._row.marks and not word.is_glob:
                self.seen.add(word.text)
                self._parts.append(Part("text", word))
            elif is_open and word.text.startswith("-") and word.text != "-" and not self._row.plain:
                self._flag(word)
            else:
                self._slots.append(len(self._parts))
                self._operands.append((word, not is_open))
                self._parts.append(Part("word", word))
        if self._waits is not None:
            raise _Unknown(f"a flag of {self._name} has no value")
        if self._row.needs and self._operands and not self.seen & self._row.needs:
            raise _Unknown(f"{self._name} with these words may change something")
        self._place_operands()
        return self._parts

    def _place_operands(self) -> None:
        roles = [*self._row.operands]
        if self.seen & self._row.given and roles:
            roles.pop(0)  # a flag has replaced the first operand
        for slot, (word, is_behind_end) in zip(self._slots, self._operands, strict=True):
            if not roles:
                raise _Unknown(f"North does not know {self._name} with `{word.raw}`")
            role = roles[0]
            if not role.endswith(_MANY):
                roles.pop(0)
                _literal(word)  # a pattern may expand to several words
            kind = cast(Role, role.rstrip(_MANY))
            if kind == "path" and word.is_glob and word.starts_open and not is_behind_end:
                raise _Unknown(f"`{word.raw}` could become a flag (`./{word.raw}` could not)")
            if kind != "path":
                _literal(word)
            elif word.starts_open and word.text.startswith("~") and word.text[1:2] not in ("", "/"):
                raise _Unknown(f"`{word.raw}` may stand for any folder")
            path = word if kind == "path" and word.text != "-" else None
            self._parts[slot] = Part(kind, word, path)

    def _value(self, word: Word, role: Role) -> None:
        self._waits = role if self._more else None
        self._more = 0
        _literal(word)
        self._parts.append(Part("value", word, word if role == "path" and word.text != "-" else None))

    def _flag(self, word: Word) -> None:
        row, text = self._row, word.text
        name, equals, value = text.partition("=")
        if name in row.never or text in row.never:
            raise _Unknown(f"`{name}` of {self._name} runs, writes or loads something else")
        if text.startswith("--") or (row.single and not row.open):
            if text == "--":
                raise _Unknown(f"`--` is not a word of {self._name} that North knows")
            role = self._long(name)
            self.seen.add(name)
            if not equals:
                _literal(word)
                self._parts.append(Part("flag", word))
                self._more = 1 if name in row.two else 0
                self._waits = role if role in ("text", "script", "path") else None
                return
            if role == "flag" and row.single:
                raise _Unknown(f"`{text}` is not a flag of {self._name} that North knows")
            harmless = role in ("flag", "text") and not row.open
            # A pattern after an option's name stays after it when it expands.
            if word.is_glob and not (harmless and _LONG.match(name) and word.raw.startswith(f"{name}=")):
                raise _Unknown(f"`{word.raw}` is a flag with a pattern in it")
            joined = Word(value, value) if role in ("path", "word") else None
            self._parts.append(Part("flag", word, joined if value != "-" else None))
            return
        _literal(word)
        self._cluster(word)

    def _long(self, name: str) -> Role:
        row = self._row
        if (role := _listed(row, name)) is not None:
            return role
        if row.open:
            return "word"
        raise _Unknown(f"`{name}` is not a flag of {self._name} that North knows")

    def _cluster(self, word: Word) -> None:
        """Read the letters after a single dash; one with a value takes the rest of the word, or the next word."""
        row, text = self._row, word.text
        letters = {flag[1] for flag in row.never if len(flag) == 2}
        found = {text[1]} if row.single else set(text[1:]) if row.open else set[str]()
        if row.open and letters & found and text not in row.flags:
            raise _Unknown(f"`{text}` of {self._name} may run, write or load something else")
        if row.open and row.single:
            self.seen.add(text)
            self._parts.append(Part("flag", word, _joined(text.partition("=")[2])))
            return
        for at, letter in enumerate(text[1:], 1):
            flag, rest = f"-{letter}", text[at + 1 :]
            self.seen.add(flag)
            if flag in row.never:
                raise _Unknown(f"`{flag}` of {self._name} runs, writes or loads something else")
            if flag in row.joined:
                break
            if flag in row.flags:
                continue
            role = _listed(row, flag)
            if role is not None:
                if row.apart and rest and not rest.isdecimal():
                    raise _Unknown(f"`{text}` of {self._name} has further options after `{flag}`")
                self._parts.append(Part("flag", word, _joined(rest) if role == "path" else None))
                self._waits = None if rest else role
                return
            if row.digits and text[at:].isdecimal() and text.isascii():
                break
            if row.open:
                # The text after the letter may be its value.
                self._parts.append(Part("flag", word, _joined(rest), is_loose=True))
                return
            raise _Unknown(f"`{flag}` is not a flag of {self._name} that North knows")
        self._parts.append(Part("flag", word))


def _listed(row: Row, name: str) -> Role | None:
    """Return the role of a listed option's value, "flag" if it has none; None for an option that is not listed."""
    if name in row.flags:
        return "flag"
    if name in row.text or name in row.two:
        return "text"
    if name in row.script:
        return "script"
    return "path" if name in row.path else None


def _joined(text: str) -> Word | None:
    return Word(text, text) if text else None


def _literal(word: Word) -> None:
    if word.is_glob:
        raise _Unknown(f"`{word.raw}` is a file name pattern where a literal word is needed")
    if word.starts_open:
        raise _Unknown(f"`{word.raw}` begins with a tilde where a literal word is needed")
