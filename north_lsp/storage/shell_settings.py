"""The settings of commands, under `shell.` in the user's settings file."""

import re
from collections.abc import Mapping
from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import PartlyWrong, setting

OnOff = Literal["on", "off"]
EVERY_COMMAND = ("",)
"""Patterns of commands that always ask, for when it is unknown which were meant."""


@dataclass(frozen=True, slots=True)
class InterceptorRule:
    """A rule of the user's own, or with `enabled` false the name of a rule to switch off."""

    name: str
    pattern: str = ""
    tool: str = ""
    reason: str = ""
    enabled: bool = True


_RULES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            **{key: {"type": "string"} for key in ("name", "pattern", "tool", "reason")},
            "enabled": {"type": "boolean"},
        },
        "if": {"properties": {"enabled": {"const": False}}, "required": ["enabled"]},
        "else": {"required": ["pattern", "tool"]},
    },
}


def _rules(written: object) -> tuple[InterceptorRule, ...]:
    """Read rules; an invalid one is left out. Raises ValueError."""
    if not isinstance(written, list) or not all(isinstance(row, dict) for row in written):
        raise ValueError("must be a list of objects")
    rules: list[InterceptorRule] = []
    problems: list[str] = []
    for number, row in enumerate(written, 1):
        try:
            rules.append(_rule(row, number))
        except (ValueError, RecursionError, OverflowError) as error:
            problems.append(f"is used without the rule {row.get('name') or f'number {number}'}: {error}")
    if problems:
        raise PartlyWrong(problems, tuple(rules))
    return tuple(rules)


def _rule(row: Mapping[str, object], number: int) -> InterceptorRule:
    texts = {key: row.get(key, "") for key in ("name", "pattern", "tool", "reason")}
    enabled = row.get("enabled", True)
    if not isinstance(enabled, bool) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("it has values of a wrong type")
    name = str(texts["name"]) or f"number {number}"
    rule = InterceptorRule(name, str(texts["pattern"]), str(texts["tool"]), str(texts["reason"]), enabled)
    if enabled and not (rule.pattern and rule.tool):
        raise ValueError("it needs a pattern and a tool")
    compiled(rule.pattern)
    return rule


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression that the user wrote. Raises ValueError."""
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"the regular expression {pattern!r} is invalid ({error})") from None


def patterns(written: tuple[str, ...]) -> tuple[str, ...]:
    """Check the regular expressions of commands that always ask. Raises ValueError: if one is wrong, all ask."""
    try:
        for pattern in written:
            compiled(pattern)
    except ValueError as error:
        raise ValueError(f"is wrong, {error}: until it is fixed, every command asks") from None
    return written


@dataclass(frozen=True)
class ShellSettings:
    """How commands are run, and what is passed to them."""

    path: str | None = setting(
        "shell.path",
        None,
        "The path of the bash that runs commands, instead of the one on `PATH`; on Windows also of PowerShell or "
        "`cmd.exe`.",
        restart=True,
    )
    persistent: bool = setting(
        "shell.persistent",
        True,
        "Use one shell for all commands (not on Windows); with `false` each command has its own shell, and what it "
        "leaves running in the background ends with the next command.",
        restart=True,
    )
    virtual_terminal: OnOff = setting(
        "shell.virtualTerminal",
        "on",
        "Run commands in a terminal; with `off` (or `NORTH_NO_PTY=1`), and on Windows, they print to a pipe.",
        restart=True,
        former=("bash.virtualTerminal",),
    )
    env: Mapping[str, str] = setting(
        "shell.env", {}, "Environment variables for commands, by name.", restart=True, secret=True
    )
    pass_keys: bool = setting(
        "shell.passKeys", False, "Pass the keys of the model providers to commands.", strict=False, restart=True
    )
    prefix: str = setting(
        "shell.prefix",
        "",
        "Words to put before every command (or `NORTH_SHELL_PREFIX`, `CLAUDE_CODE_SHELL_PREFIX`); they are not "
        "part of what is approved.",
        restart=True,
        tightens=("shell.alwaysAsk",),  # it may be what confines commands
        parse=str.strip,
    )
    snapshot: bool = setting(
        "shell.snapshot", True, "Make your own shell functions and aliases available to commands.", restart=True
    )
    minimize: bool = setting(
        "shell.minimize",
        True,
        "Shorten known outputs of commands that succeeded; with `false` they are kept in full.",
        project="yes",
    )
    interceptor_rules: tuple[InterceptorRule, ...] = setting(
        "shell.interceptor.rules",
        (),
        'Your own rules, tried before North\'s: `{"name", "pattern", "tool", "reason"}`, where the pattern is a '
        'regular expression for the command without its quoted strings; `{"name": "read", "enabled": false}` switches '
        "one of North's off (`read`, `search`, `find`, `list`, `edit`, `write`).",
        parse=_rules,
        schema=_RULES,
    )
    timeout_s: int = setting(
        "shell.timeoutS",
        60,
        "How many seconds a command may take if it sets no timeout itself.",
        low=1,
        high=3600,
        project="yes",
    )
