"""The settings of commands, as they stand under `shell.` in the user's settings file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class InterceptorRule:
    """A rule of the user's own, or with `enabled` false the name of one that is switched off."""

    name: str
    pattern: str = ""
    tool: str = ""
    reason: str = ""
    enabled: bool = True


@dataclass(frozen=True)
class ShellSettings:
    """`path` is the bash to run, `env` are variables that commands get, `pass_keys` lets them have the providers' keys,
    `prefix` stands before every command, `timeout_s`
    is how long one may take that names no time. `problems` are for the user: what was left out."""

    path: str | None = None
    persistent: bool = True
    virtual_terminal: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    pass_keys: bool = False
    prefix: str = ""
    snapshot: bool = True
    minimise: bool = True
    interceptor_rules: tuple[InterceptorRule, ...] = ()
    problems: tuple[str, ...] = ()
    timeout_s: int = 60


class Reader(Protocol):
    """How the settings file is read. A value of another type is left out."""

    def text(self, key: str) -> str | None: ...

    def choice(self, key: str, choices: tuple[str, ...], default: str | None) -> str | None: ...

    def flag(self, key: str, default: bool, *, strict: bool | None = None) -> bool: ...

    def number(self, key: str, default: int, low: int, high: int) -> int: ...

    def named_texts(self, key: str) -> Mapping[str, str]: ...

    def rows(self, key: str) -> tuple[Mapping[str, object], ...]: ...


def shell_settings(reader: Reader) -> ShellSettings:
    """Read everything under `shell.`."""
    default = ShellSettings()
    rules, problems = _rules(reader.rows("shell.interceptor.rules"))
    return ShellSettings(
        reader.text("shell.path"),
        reader.flag("shell.persistent", default.persistent),
        reader.choice("shell.virtualTerminal", ("on", "off"), "on") != "off",
        reader.named_texts("shell.env"),
        reader.flag("shell.passKeys", default.pass_keys, strict=False),
        (reader.text("shell.prefix") or "").strip(),
        reader.flag("shell.snapshot", default.snapshot),
        reader.flag("shell.minimize", default.minimise),
        rules,
        problems,
        reader.number("shell.timeoutS", default.timeout_s, 1, 3600),
    )


def _rules(rows: tuple[Mapping[str, object], ...]) -> tuple[tuple[InterceptorRule, ...], tuple[str, ...]]:
    """A rule that is none is left out, and the user is told."""
    rules: list[InterceptorRule] = []
    problems: list[str] = []
    for number, row in enumerate(rows, 1):
        texts = {key: row.get(key, "") for key in ("name", "pattern", "tool", "reason")}
        enabled = row.get("enabled", True)
        name = str(texts["name"]) or f"number {number}"
        if not isinstance(enabled, bool) or not all(isinstance(text, str) for text in texts.values()):
            problems.append(f"shell.interceptor.rules: the rule {name} is left out: it has values of a wrong type")
            continue
        rule = InterceptorRule(name, str(texts["pattern"]), str(texts["tool"]), str(texts["reason"]), enabled)
        if enabled and not (rule.pattern and rule.tool):
            problems.append(f"shell.interceptor.rules: the rule {name} is left out: it needs a pattern and a tool")
            continue
        try:
            re.compile(rule.pattern)
        except re.error as error:
            problems.append(f"shell.interceptor.rules: the rule {name} is left out: {error}")
            continue
        rules.append(rule)
    return tuple(rules), tuple(problems)
