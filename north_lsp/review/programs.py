"""The table of what rules never cover (`programs.toml`), as questions about a simple command. Pure."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

from north_lsp.review.awk import awk_excluded
from north_lsp.review.parsing import Simple, Word

Standing = Literal["free", "writer", "project", "never"]

BUILTINS = frozenset({"cd", "echo", "printf", "true", "false", "pwd", "test", "[", ":", "type", "sleep"})

_BRACKET = r"\[\^?\]?(?:\[:\w+:\]|(?!{end})[^\]\[\\\n])*\]"
_SED_REGEX = rf"(?:(?!{{end}})[^\[\\\n]|\\[^\n]|{_BRACKET})*"
_SED_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_SED_REGEX.format(end='/')}/I?)"
# A delimiter ends its part wherever it stands unescaped, so that each part is certain and no flag can hide in it. One
# in brackets does so for some seds only, and is not taken.
_SED_COMMAND = re.compile(
    rf"\s*(?:{_SED_ADDRESS}(?:\s*,\s*(?:[+~]\d+|{_SED_ADDRESS}))?\s*(?:!\s*)?)?"
    r"(?:(?P<open>\{)|(?P<close>\})|[aic][ \t]+[^\\\n;{}]+(?=\n|\Z)|[pPdDnNgGhHxlqQ=](?:\d+)?"
    r"|[bt:]\s*\w*(?=\s*(?:;|\n|\Z))"
    rf"|(?P<kind>[sy])(?P<end>[/|#,:@!_%]){_SED_REGEX.format(end='(?P=end)')}"
    r"(?P=end)(?:(?!(?P=end))[^\\\n]|\\[^\n])*(?P=end)(?P<flags>[gpiI\d]*))"
    r"\s*(?:;|\n|\Z|(?=\})|(?<=\{))"
)
_PRINTF_ASSIGNS = re.compile(r"%[-+ #0'*.\d]*(?:hh?|ll?|[Ljztq])?n")
_JQ_REACHES = re.compile(
    r"(?<![.\w\"'])env\b|\bENV\b|(?<![.\w\"'])(?:import|include)\b|__prog_args|input_filename|\bmodulemeta\b"
)
_LONG_ENOUGH = 3  # `--o` is `--output` where no other option begins so
_SIGNED = re.compile(r"%[-+ ]?G|%\((?:signature|trailers)")
_YQ_REACHES = re.compile(r"\b(?:load\w*|env|strenv|envsubst|system)\b")
_VERSION_OF = re.compile(r"(?:git|node|python[\d.]*)\Z")
_PS_TAKES = frozenset({"-C", "-o", "-p", "-u", "-U", "-g", "-G", "-t", "-q", "--sort", "--pid", "--ppid", "--format"})


@dataclass(frozen=True, slots=True)
class Judged:
    """How a program stands: `never` for any rule, `project` only in the sandbox, `writer` only
    with paths that are spelled out, or free; with the reason."""

    standing: Standing
    reason: str = ""


def program_name(spelled: str) -> str:
    return spelled.rsplit("/", 1)[-1].casefold()


@lru_cache(maxsize=1024)
def standing(spelled: str) -> Judged:
    """By name; a path to a program is judged by its last part, and one inside the project by `rules.py` as well."""
    name = program_name(spelled).removesuffix(".exe")
    kinds: tuple[tuple[str, Standing], ...] = (("never", "never"), ("project", "project"), ("writers", "writer"))
    for key, kind in kinds:
        for row in _table()[key]:
            if any(fnmatchcase(name, pattern.casefold()) for pattern in row["programs"]):
                return Judged(kind, row["reason"])
    return Judged("free")


def only_tells(simple: Simple) -> bool:
    """Whether a command only says where or which a program is, or what the variables are, whatever else that program
    could do."""
    words = [word.text for word in simple.words]
    match words:
        case ["command", "-v" | "-V", _, *rest]:
            return not any(word.startswith("-") for word in [words[2], *rest])
        case ["env"]:
            return True
        case [program, "--version"]:
            return _VERSION_OF.match(program) is not None
        case _:
            return False


def only_reads(spelled: str) -> bool:
    """Whether a program is known to do nothing with the paths of its operands but read them."""
    return program_name(spelled) in _table()["readers"]["programs"]


def keeps_to_itself(simple: Simple) -> bool:
    """Whether a program is known not to hand its words on to another one, or to do what they say in any other way than
    its own."""
    name = program_name(simple.program)
    known = name in BUILTINS or name == "git" or only_reads(simple.program)
    return (known or standing(simple.program).standing == "writer") and excluded(simple) is None


def follows_links(simple: Simple) -> bool:
    """Whether a program goes through the links that it finds in folders."""
    row = _table()["follows"].get(program_name(simple.program))
    flags = [word.text for word in simple.words[1:] if word.text.startswith("-")]
    return row is not None and any(flag in row.get("words", ()) or _has_flag(flag, row) for flag in flags)


def excluded(simple: Simple) -> str | None:
    """Why no rule covers this command's flags or operands; None if they are harmless."""
    name = program_name(simple.program)
    rest = simple.words[1:]
    match name:
        case "git":
            return _git(rest)
        case "sed" | "gsed":
            return _sed(rest)
        case "awk" | "gawk" | "mawk" | "nawk":
            return awk_excluded(rest)
        case "tar" | "gtar" | "bsdtar":
            return _tar(rest)
        case "cd":
            return _cd(rest)
        case "date":
            return _date(rest)
        case "printf" if (why := _printf(rest)) is not None:
            return why
        case "ps" if (why := _ps(rest)) is not None:
            return why
        case "yq" if any(_YQ_REACHES.search(word.text) for word in rest):
            return "the expression of yq reads variables or other files"
        case "jq" if any(_JQ_REACHES.search(word.text) for word in rest):
            return "the filter of jq reads variables or other files"
    row = next((row for pattern, row in _table()["flags"].items() if _matches(name, pattern)), None)
    return None if row is None else _flags(row, rest)


def writes_repository(simple: Simple) -> bool:
    """Whether a git command changes the repository, so that its hooks would run."""
    words = [word.text for word in simple.words]
    row = _table()["git"]["commands"].get(words[1] if len(words) > 1 else "", {})
    return bool(row.get("writes"))


def _flags(row: Mapping[str, Any], words: Sequence[Word]) -> str | None:
    operands, open, is_value = 0, True, False
    for word in words:
        text = word.text
        if is_value:
            is_value = False
        elif open and text == "--":
            open = False
        elif open and text.startswith("-") and text != "-":
            if text.partition("=")[0] in row.get("words", ()) or _has_flag(text, row):
                return f"`{text}` {row['reason']}"
            is_value = len(text) == 2 and text[1] in row.get("takes", "")
        else:
            if text in row.get("words", ()) or (row.get("response_files") and text.startswith("@")):
                return f"`{text}` {row['reason']}"
            operands += 1
    if operands > row.get("max_operands", operands):
        return str(row["reason"])
    return None


def _has_flag(text: str, row: Mapping[str, Any], more: Sequence[str] = ()) -> bool:
    """Whether a word is, or may be taken for, one of a row's options. GNU programs accept abbreviations."""
    if text.startswith("--"):
        given, long = text.partition("=")[0], [*row.get("long", ()), *more]
        return any(option.startswith(given) if len(given) >= _LONG_ENOUGH else option == given for option in long)
    for letter in text[1:]:
        if letter in row.get("short", ""):
            return True
        if letter in row.get("values", ""):
            return False
    return False


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or ("*" in pattern and fnmatchcase(name, pattern))


def _git(words: Sequence[Word]) -> str | None:
    table = _table()["git"]
    if not words or words[0].text.startswith("-"):
        return "options of git itself can run programs" if words else "git without a sub-command"
    command, rest = words[0].text, [word.text for word in words[1:]]
    row = table["commands"].get(command)
    if row is None:
        return f"`git {command}` is not one that rules cover: it may be an alias, reach another machine or run programs"
    flags = [text for text in rest if text.startswith("-") and text != "-"]
    operands = [text for text in rest if not text.startswith("-")]
    for text in flags:
        if _has_flag(text, row, table["common"]):
            return f"`{text}` {table['reason']}"
    if any(_SIGNED.search(text) for text in rest):
        return "signatures are checked by a program that the repository names"
    if "first" in row and (operands[0] if operands else "") not in row["first"]:
        return f"`git {command}` with these operands changes something"
    if operands and operands[0] in row.get("not_first", ()):
        return f"`git {command} {operands[0]}` changes something"
    if operands and "needs" in row and not {flag.partition("=")[0] for flag in flags} & set(row["needs"]):
        return f"`git {command}` with these words changes something"
    if len(operands) > row.get("max_operands", len(operands)):
        return f"`git {command}` with these operands changes something"
    if command == "config" and len(operands) > 1 and not {"--get", "--get-all", "--get-regexp"} & set(flags):
        return "`git config` with a value changes the configuration"
    return None


def _sed(words: Sequence[Word]) -> str | None:
    """Scripts that only print, delete or substitute; sed can also write files and run programs."""
    scripts, operands, rest = [], [], list(words)
    if len(rest) == 1 and rest[0].text in ("--version", "--help"):
        return None
    while rest:
        text = rest.pop(0).text
        if text in (
            "-n",
            "-E",
            "-r",
            "-u",
            "-z",
            "-s",
            "--quiet",
            "--silent",
            "--regexp-extended",
            "-nE",
            "-En",
            "-nr",
            "-rn",
        ):
            continue
        if text in ("-e", "--expression", "-ne") and rest:
            scripts.append(rest.pop(0).text)
        elif text.startswith("--expression="):
            scripts.append(text.partition("=")[2])
        elif text.startswith("-"):
            return f"`{text}` may write files or read a script"
        else:
            operands.append(text)
    if not scripts:
        scripts = operands[:1]
    if any(not _sed_is_safe(script) for script in scripts):
        return "the script of sed does more than print, delete and substitute"
    return None if scripts else "sed without a script"


def _sed_is_safe(script: str) -> bool:
    at = depth = 0
    while at < len(script):
        match = _SED_COMMAND.match(script, at)
        if match is None or (match["kind"] == "y" and match["flags"]):
            return False
        depth += (match["open"] is not None) - (match["close"] is not None)
        if depth < 0:
            return False
        at = match.end()
    return bool(script) and depth == 0


def _printf(words: Sequence[Word]) -> str | None:
    """The builtin one assigns to variables (`-v`, `%n`)."""
    if any(_PRINTF_ASSIGNS.search(word.text.replace("%%", "")) for word in words):
        return "`%n` sets a variable"
    if words and words[0].is_glob:
        return "the format is a pattern of file names"
    return None


def _tar(words: Sequence[Word]) -> str | None:
    """Only listing. The first word may be a cluster without a dash."""
    row = _table()["flags"]["tar"]
    texts = [word.text for word in words]
    if texts and not texts[0].startswith("-"):
        # The letters' values are the next words: none of the letters is one.
        if any(letter in row["short"] for letter in texts[0]):
            return f"`{texts[0]}` {row['reason']}"
        texts[0] = f"-{texts[0]}"
    lists = False
    for text in texts:
        if text.startswith("-") and text != "-":
            lists = lists or text == "--list" or (not text.startswith("--") and "t" in text)
            if text != "--list" and _has_flag(text, row):
                return f"`{text}` {row['reason']}"
        elif ":" in text:
            return "a name with a colon is an archive on another machine"
    return None if lists else "tar that does not list"


def _date(words: Sequence[Word]) -> str | None:
    texts, position = [word.text for word in words], 0
    while position < len(texts):
        text = texts[position]
        position += 1
        if text in ("-d", "--date", "-r", "--reference"):
            position += 1  # the next word is its value
        elif text.startswith(
            ("-I", "-R", "-u", "-d", "--date=", "--iso-8601", "--rfc-", "--utc", "--universal", "+", "-j")
        ):
            if text.startswith("-u") and len(text) > 2:
                return f"`{text}` may set the clock"
        else:
            return f"`{text}` sets the clock or reads a file"
    return None


def _ps(words: Sequence[Word]) -> str | None:
    """Without a dash, an `e` anywhere in a cluster shows variables."""
    is_value = False
    for word in words:
        text = word.text
        if "env" in text.casefold() or (not is_value and text.isalpha() and "e" in text):
            return f"`{text}` shows other programs' variables"
        is_value = text in _PS_TAKES or (text.startswith("-") and text[1:].isalpha() and text[-1] in "Copu")
    return None


def _cd(words: Sequence[Word]) -> str | None:
    if len(words) != 1 or words[0].text.startswith("-") or words[0].is_glob or words[0].starts_open:
        return "`cd` to a place that is not spelled out"
    return None


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("programs.toml").read_text("utf-8"))


def changes_shell(program: str) -> bool:
    """Whether it is a builtin command that changes the shell itself (its directory included: that is carried over)."""
    return any(
        program.casefold() in row["programs"]
        for row in _table()["never"]
        if row["reason"].startswith("is a part of the")
    )
