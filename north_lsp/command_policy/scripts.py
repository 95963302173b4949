"""Checks words that are themselves programs (sed scripts, jq filters, printf formats and the like): only those pass
that read their input and do nothing else. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from north_lsp.command_policy.awk import awk_problem
from north_lsp.command_policy.parsing import Word
from north_lsp.lazy_pattern import lazy_pattern

_BRACKET = r"\[\^?\]?(?:\[:\w+:\]|\\[A-Za-z]|(?!{end})[^\]\[\\\n])*\]"
_SED_REGEX = rf"(?:(?!{{end}})[^\[\\\n]|\\[^\n]|{_BRACKET})*"
_SED_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_SED_REGEX.format(end='/')}/I?)"
# An unescaped delimiter always ends its part, so that each part is certain and no flag can hide in it. In brackets it
# does so in some seds only, and is refused.
_SED_COMMAND = lazy_pattern(
    rf"\s*(?:{_SED_ADDRESS}(?:\s*,\s*(?:[+~]\d+|{_SED_ADDRESS}))?\s*(?:!\s*)?)?"
    r"(?:(?P<open>\{)|(?P<close>\})|[aic][ \t]+[^\\\n;{}]+(?=\n|\Z)|[pPdDnNgGhHxlqQ=](?:\d+)?"
    r"|[bt:]\s*\w*(?=\s*(?:;|\n|\Z))"
    rf"|(?P<kind>[sy])(?P<end>[/|#,:@!_%]){_SED_REGEX.format(end='(?P=end)')}"
    r"(?P=end)(?:(?!(?P=end))[^\\\n]|\\[^\n])*(?P=end)(?P<flags>[gpiI\d]*))"
    r"\s*(?:;|\n|\Z|(?=\})|(?<=\{))"
)
_PRINTF_ASSIGNS = lazy_pattern(r"%[-+ #0'*.\d]*(?:hh?|ll?|[Ljztq])?n")
_JQ_REACHES = lazy_pattern(
    r"(?<![.\w\"'])env\b|\bENV\b|(?<![.\w\"'])(?:import|include)\b|__prog_args|input_filename|\bmodulemeta\b|get_search_list"
)
_SIGNED = lazy_pattern(r"%[-+ ]?G|%\((?:signature|trailers)")
_YQ_REACHES = lazy_pattern(r"\b(?:load\w*|env|strenv|envsubst|system|eval)\b", re.IGNORECASE)
_DATE_TELLS = lazy_pattern(
    r"\+.*|-R|-u|-j|-I(?:date|hours|minutes|seconds|ns)?|-d.+|--date=.*|--utc|--uct|--universal|--rfc-email|--rfc-2822"
    r"|--(?:iso-8601|rfc-3339)(?:=\w+)?",
    re.DOTALL,
)
# The letters that do not change how ps reads an `e`; the last one may take the next word.
_PS_LISTS = lazy_pattern(r"-[AaejfFlLwycMZmd]*([oCpu])?")
_PS_TAKES = frozenset({"-C", "-o", "-p", "-u", "-U", "-g", "-G", "-t", "-q", "--sort", "--pid", "--ppid", "--format"})


def _sed(words: Sequence[Word]) -> str | None:
    """Check that scripts only print, delete or substitute; sed can also write files and run programs."""
    scripts, operands, rest = [], [], list(words)
    if len(rest) == 1 and rest[0].text in ("--version", "--help"):
        return None
    while rest:
        text = rest.pop(0).text
        if text == "--":
            operands += [word.text for word in rest]
            break
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
        return "the sed script does more than print, delete and substitute"
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
    """Check that no variable is set: bash's builtin can do so (`-v`, `%n`)."""
    if any(_PRINTF_ASSIGNS.search(word.text.replace("%%", "")) for word in words):
        return "`%n` sets a variable"
    if words and words[0].text.startswith("-") and words[0].text != "--":
        return "`-v` sets a variable"
    return None


def _date(words: Sequence[Word]) -> str | None:
    """Check that the clock is not set and nothing of a file is read but its time. Of words with several options, only
    those pass that are named here as a whole."""
    texts, position = [word.text for word in words], 0
    while position < len(texts):
        text = texts[position]
        position += 1
        if text in ("-d", "--date", "-r", "--reference"):
            position += 1  # the next word is its value
        elif not _DATE_TELLS.fullmatch(text):
            return f"`{text}` sets the clock or reads a file"
    return None


def _ps(words: Sequence[Word]) -> str | None:
    """Check that no environment variables are shown. Without a dash, an `e` anywhere in a cluster shows them; so does
    one after a dash if another letter makes ps read the clusters as those without a dash."""
    takes, clusters = "", []
    for word in words:
        text, taken_by, takes = word.text, takes, ""
        if "env" in text.casefold():
            return f"`{text}` shows other programs' variables"
        if taken_by:
            if text.startswith("-") and not taken_by.startswith("--"):
                return f"`{text}` is not a valid value for `{taken_by}`"
            continue
        if "e" in text and not text.startswith("-"):
            return f"`{text}` shows other programs' variables"
        if text.startswith("-") and not text.startswith("--"):
            clusters.append(text)
        lists = _PS_LISTS.fullmatch(text)
        if text in _PS_TAKES or (lists is not None and lists[1]):
            takes = text
    if takes:
        return f"`{takes}` has no value"
    plain = all(text in _PS_TAKES - {"-t"} or _PS_LISTS.fullmatch(text) for text in clusters)
    if any("E" in text or ("e" in text and not plain) for text in clusters):
        return "an `e` may show other programs' variables with these words"
    return None


def _tar(words: Sequence[Word]) -> str | None:
    """Check that the archive is only listed."""
    texts = [word.text for word in words]
    if any(":" in text for text in texts):
        return "a name with a colon is an archive on another machine"
    return None if any(text == "--list" or re.match(r"-[a-z]*t", text) for text in texts) else "tar that does not list"


def _jq(words: Sequence[Word]) -> str | None:
    if any(_JQ_REACHES.search(word.text) for word in words):
        return "the jq filter reads variables or other files"
    return None


def _yq(words: Sequence[Word]) -> str | None:
    """One program of this name has its own language, the other one that of jq."""
    if any(_YQ_REACHES.search(word.text) or _JQ_REACHES.search(word.text) for word in words):
        return "the yq expression reads variables or other files"
    return None


def _test(words: Sequence[Word]) -> str | None:
    """Check that no operator is used that evaluates the subscripts in names."""
    if any(word.text in ("-v", "-R") for word in words):
        return "`-v` and `-R` evaluate what follows them"
    return None


def _git(words: Sequence[Word]) -> str | None:
    """Check the words after a sub-command for formats that verify signatures."""
    if any(_SIGNED.search(word.text) for word in words):
        return "signatures are checked by a program that the repository names"
    return None


def _make(words: Sequence[Word]) -> str | None:
    if any("=" in word.text and not word.text.startswith("-") for word in words):
        return "a variable of make can name programs"
    return None


def _response(words: Sequence[Word]) -> str | None:
    if any(word.text.startswith("@") for word in words):
        return "it reads more options from the file after the @"
    return None


_GCC_RUNS = ("@", "-B", "-specs", "--specs", "-wrapper", "-fplugin", "-fpass-plugin", "-Xclang", "-load", "--config")


def _gcc(words: Sequence[Word]) -> str | None:
    for word in words:
        if word.text.startswith(_GCC_RUNS):
            return f"`{word.text}` loads or runs something else"
    return None


def _file(words: Sequence[Word]) -> str | None:
    """Check that an interpreter does not read its program from its input, which is not a file of the project."""
    if any(word.text == "-" or word.text.startswith(("/dev/", "/proc/")) for word in words):
        return "what it reads from its input may be a program"
    if words and words[0].text in ("inspect", "debug"):
        return "a debugger takes commands from its input"
    return None


def _first(*allowed: str, without: bool = False) -> Callable[[Sequence[Word]], str | None]:
    def check(words: Sequence[Word]) -> str | None:
        operands = [word.text for word in words if not word.text.startswith("-")]
        if (not operands and without) or (operands and operands[0] in allowed):
            return None
        return "with these words it changes something"

    return check


def _reflog(words: Sequence[Word]) -> str | None:
    operands = [word.text for word in words if not word.text.startswith("-")]
    if operands and operands[0] in ("expire", "delete", "drop", "exists", "write", "migrate"):
        return "with these words it changes something"
    return None


def _config(words: Sequence[Word]) -> str | None:
    """Check that the configuration is only read: one name, or a name after `--get` and similar flags."""
    operands = [word.text for word in words if not word.text.startswith("-")]
    flags = {word.text for word in words if word.text.startswith("-")}
    if operands and operands[0] in ("edit", "set", "unset", "rename-section", "remove-section"):
        return "with these words it changes the configuration"
    if len(operands) > 1 and not flags & {"--get", "--get-all", "--get-regexp"} and operands[0] not in ("get", "list"):
        return "`git config` with a value changes the configuration"
    return None


CHECKS: Mapping[str, Callable[[Sequence[Word]], str | None]] = {
    "awk": awk_problem,
    "config": _config,
    "date": _date,
    "file": _file,
    "gcc": _gcc,
    "git": _git,
    "jq": _jq,
    "list": _first("list"),
    "list-or-show": _first("list", "show"),
    "make": _make,
    "printf": _printf,
    "ps": _ps,
    "reflog": _reflog,
    "remote": _first("get-url", without=True),
    "response": _response,
    "sed": _sed,
    "tar": _tar,
    "test": _test,
    "var": _first("GIT_DEFAULT_BRANCH", "GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT"),
    "yq": _yq,
}
