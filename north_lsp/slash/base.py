"""The types of slash commands: a command, its reply, and what it is given by its host (`slash/host.py`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol

from north_lsp.lazy_dataclass import dataclass

MemoryAction = Literal["view", "clear", "enqueue", "rebuild"]
SettingPlace = Literal["user", "project", "session"]
"""Where a setting is changed: in the user's settings, in the project's, or for this conversation alone."""


class CommandError(Exception):
    """The command could not be carried out; the text says why, and what to do instead. It is shown as a sentence."""


class UsageError(CommandError):
    """These words cannot follow the command. Its usage is shown, and then the text, which says only what the hint does
    not."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Markdown for the user; `prompt` is sent to the model in the command's place. `then` is done once the text is in
    the conversation."""

    text: str
    prompt: str = ""
    then: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model has used: tokens, US dollars, and whether its price is known."""

    model: str
    input: int
    output: int
    cost_usd: float
    priced: bool = True


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs by model, for this conversation and for all; `days` are the last days with what they cost, by date;
    `missing` says what is not in the sums over all, and why."""

    session: Sequence[Spent]
    all_time: Sequence[Spent]
    days: Sequence[tuple[str, float]]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class PlannedProvider:
    """A change of models.yml at `path`; `shown` is the change in Markdown, `next_step` what to do once it is there.
    `write` may raise CommandError."""

    path: str
    shown: str
    next_step: str
    write: Callable[[], Awaitable[None]]


class KnownKey(Protocol):
    """A stored key: `ending` is all that is shown of it."""

    @property
    def id(self) -> int: ...

    @property
    def provider(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def ending(self) -> str: ...

    @property
    def use(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command. `run` gets the host and the words after the name. `hint` says which words there can be; with
    `is_private` they may be a key, and neither they nor the text around them go into the conversation. One that
    `is_harmless` changes nothing in this conversation, and runs also where that cannot be written, here or at all. One
    that `takes_text` gets all that follows its name as one word, with its quotation marks. With one of its
    `private_words` it is private as well, and one that `names_settings` with a setting that nobody is shown."""

    name: str
    description: str
    run: Callable[[Any, Sequence[str]], Awaitable[Reply]]
    hint: str = ""
    is_private: bool = False
    is_harmless: bool = False
    takes_text: bool = False
    private_words: frozenset[str] = frozenset()
    names_settings: bool = False
