"""Which prompts are commands of the user's own (`!ls`). Pure."""

from __future__ import annotations

from north_lsp.agent.log.prompt import Part, TextPart, without_editor
from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """An own command. `excluded` (typed with `!!`) keeps it from the model; `in_terminal` (`/terminal …`) lets the user
    type there. `note` is appended to its output."""

    command: str
    excluded: bool
    in_terminal: bool = False
    note: str = ""


def parse_own_command(parts: tuple[Part, ...]) -> OwnCommand | None:
    """Parse the command in a prompt that begins with `!` or `/terminal` and has nothing else; None for any other
    prompt."""
    text = _only_text(parts)
    slash, _, rest = text.partition(" ")
    if slash == "/terminal":
        command = rest.strip()
        return OwnCommand(command, excluded=False, in_terminal=True) if command and "\0" not in command else None
    excluded = text.startswith("!!")
    command = text.lstrip("!").strip() if text.startswith("!") else ""
    return OwnCommand(command, excluded) if command and "\0" not in command else None


def nothing_to_run(parts: tuple[Part, ...]) -> str | None:
    """Explain why a prompt that looks like an own command is not one, and is nothing for a model either; None
    otherwise."""
    text = _only_text(parts)
    if text and not text.strip("!"):
        return "nothing to run: a command must follow the `!`"
    if "\0" in text and (text.startswith("!") or text.partition(" ")[0] == "/terminal"):
        return "nothing to run: a command cannot contain a NUL character"
    return None


def _only_text(parts: tuple[Part, ...]) -> str:
    """Return what the user typed in a prompt that has nothing else; empty for any other."""
    match without_editor(parts):
        case (TextPart(text, is_made=False),):
            return text.strip()
        case _:
            return ""
