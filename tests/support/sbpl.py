"""Reads profiles of Seatbelt and says what they allow: parentheses, and the last rule that matches decides."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Expression: TypeAlias = "str | Text | list[Expression]"
_TOKEN = re.compile(
    r"""\s+|;[^\n]*|(?P<open>\()|(?P<close>\))|\#"(?P<regex>[^"]*)"|"(?P<text>[^"\\]*)"|(?P<word>[^\s()";]+)"""
)


@dataclass(frozen=True)
class Text:
    """A text in quotation marks; with `regex`, an expression."""

    value: str
    regex: bool = False


def read(text: str) -> list[Expression]:
    """Return the expressions of a profile. Raises ValueError if it is not one."""
    stack: list[list[Expression]] = [[]]
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"not a profile: {text[at : at + 40]!r}")
        at = found.end()
        if found["open"]:
            stack.append([])
        elif found["close"]:
            done = stack.pop()
            if not stack:
                raise ValueError("a parenthesis too many")
            stack[-1].append(done)
        elif found["regex"] is not None:
            stack[-1].append(Text(found["regex"], regex=True))
        elif found["text"] is not None:
            stack[-1].append(Text(found["text"]))
        elif found["word"]:
            stack[-1].append(found["word"])
    if len(stack) != 1:
        raise ValueError("a parenthesis is missing")
    return stack[0]


def texts(expression: Expression) -> list[str]:
    """Return all texts in quotation marks."""
    if isinstance(expression, Text):
        return [expression.value]
    return [] if isinstance(expression, str) else [text for part in expression for text in texts(part)]


class Rules:
    """The rules of a profile with the values of its parameters."""

    def __init__(self, profile: str, parameters: Mapping[str, str]) -> None:
        self._parameters = parameters
        version, *rules = read(profile)
        assert version == ["version", "1"]
        self._rules: list[tuple[bool, list[str], list[Expression]]] = []
        for rule in rules:
            assert isinstance(rule, list)
            effect, *rest = rule
            assert effect in ("allow", "deny")
            operations = [one for one in rest if isinstance(one, str)]
            self._rules.append((effect == "allow", operations, [one for one in rest if not isinstance(one, str)]))

    def allows(self, operation: str, subject: str, *, exact_first: bool = False) -> bool:
        """Return whether an operation on a path (or of a name) is allowed: what the last rule that matches says or,
        with `exact_first`, the last of those that name the operation most exactly."""
        found: list[tuple[int, int, bool]] = []
        for number, (allowed, operations, filters) in enumerate(self._rules):
            exactness = max((_exactness(one, operation) for one in operations), default=-1)
            if exactness >= 0 and (not filters or any(self._matches(one, subject) for one in filters)):
                found.append((exactness if exact_first else 0, number, allowed))
        return bool(found) and max(found)[2]

    def _matches(self, what: Expression, subject: str) -> bool:
        assert isinstance(what, list)
        kind, *values = what
        if kind == "require-all":
            return all(self._matches(one, subject) for one in values)
        if kind in ("extension", "target"):
            return False  # what others granted, and processes of its own
        (value,) = values
        if isinstance(value, list):
            word, name = value
            assert word == "param"
            assert isinstance(name, Text)
            wanted = self._parameters[name.value]
        else:
            assert isinstance(value, Text)
            wanted = value.value
        match kind:
            case "subpath":
                return subject == wanted or subject.startswith(f"{wanted}/")
            case "literal" | "global-name" | "sysctl-name":
                return subject == wanted
            case "sysctl-name-prefix":
                return subject.startswith(wanted)
            case "regex":
                return re.search(wanted, subject) is not None
        raise ValueError(f"an unknown filter: {kind}")


def _exactness(named: str, operation: str) -> int:
    if named == "default":
        return 0
    if named.endswith("*") and operation.startswith(named[:-1]):
        return len(named)
    return 1000 if named == operation else -1


def of_command(argv: Sequence[str]) -> tuple[str, dict[str, str], list[str]]:
    """Return the profile, the parameters and the command of a call of `sandbox-exec`. Raises ValueError."""
    words = [*argv[1:]]
    profile, parameters = "", dict[str, str]()
    while words:
        word = words.pop(0)
        if word == "--":
            return profile, parameters, words
        if word == "-p":
            profile = words.pop(0)
        elif word == "-D":
            name, _, value = words.pop(0).partition("=")
            parameters[name] = value
        else:
            raise ValueError(f"no option of sandbox-exec: {word}")
    raise ValueError("no command")
