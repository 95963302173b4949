"""Who may have what done by whom. Whatever a model asks for, an agent gets nothing that whoever asks does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from north_lsp.agent.subagents.definition import ANY, Definition
from north_lsp.agent.subagents.place import Place
from north_lsp.agent.subagents.slots import Slot
from north_lsp.agent.subagents.sources import Definitions
from north_lsp.agent.subagents.tool_words import TASK, chosen_tools, writes
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.model import Model
from north_lsp.tools.base import Tool
from north_lsp.tools.registry import Registry, plan_required
from north_lsp.vocabulary import Mode

BLOCKED = "NORTH_BLOCKED_AGENT"


@dataclass(frozen=True, slots=True)
class Powers:
    """What a model may use: the `tools`, in its `mode`, and as `spawns` other agents. It is `depth` agents away from
    the conversation's own; `is_behind`: it works in the background, so that the conversation may be in another mode by
    then."""

    mode: Mode
    tools: Registry
    model: Model
    spawns: tuple[str, ...] = (ANY,)
    depth: int = 0
    is_behind: bool = False


@dataclass(frozen=True, slots=True)
class Asker:
    """Who assigns tasks: the conversation's own model (no `name`), or an agent. `place` is where it works, `schema`
    what its own result must fit, and so must those of its agents that have no schema of their own."""

    powers: Powers
    name: str = ""
    output_id: str = ""
    slot: Slot | None = None
    place: Place | None = None
    schema: Mapping[str, object] | None = None


def permitted(name: str, asker: Asker, known: Definitions, environ: Mapping[str, str]) -> Definition:
    """Return an agent that may be used. Raises ToolError."""
    names = [one.name for one in known.used]
    found = known.find(name)
    if found is None:
        told = ", ".join(names)
        raise ToolError("NOT_FOUND", f"there is no agent called {one_line(name, 60)!r}", f"known: {told}")
    if environ.get(BLOCKED, "") == name:
        raise ToolError(
            "DENIED", f"the agent {name} is blocked here ({BLOCKED})", "use another agent, or do it yourself"
        )
    may = [one for one in names if _may(one, asker)]
    if name not in may:
        hint = f"permitted: {', '.join(may)}" if may else "do it yourself: no agent may be used here"
        raise ToolError("DENIED", f"{asker.name or 'this agent'} may not use the agent {name}", hint)
    mode = asker.powers.mode
    if mode != "agent":
        own, _ = chosen_tools(found.tools, asker.powers.tools.tools())
        if _is_a_writer(found):
            readers = ", ".join(one.name for one in known.used if not _is_a_writer(one))
            told = f"the agent {name} changes files, which is not possible in {mode} mode"
            hint = f"agents that only read: {readers}"
            raise plan_required(f"{told}; {hint}") if mode == "plan" else ToolError("MODE_FORBIDDEN", told, hint)
        if not own:
            raise ToolError("MODE_FORBIDDEN", f"the agent {name} has no tool that may be used in {mode} mode")
    return found


def _may(name: str, asker: Asker) -> bool:
    """Tell whether an agent may use another one; itself only if that is said by name."""
    return name in asker.powers.spawns or (ANY in asker.powers.spawns and name != asker.name)


def _is_a_writer(definition: Definition) -> bool:
    """Tell whether an agent is made to change files: all tools, or words for edits."""
    words = definition.tools
    return words is None or any(one.casefold() in _WRITERS or one.startswith("edit_") for one in words)


_WRITERS = frozenset({"*", "edit", "multiedit", "write", "notebookedit", "replace", "write_file", "apply_patch"})


def uses_agents(definition: Definition, asker: Asker, most_depth: int) -> bool:
    """Tell whether an agent may use agents itself."""
    words = {word.casefold() for word in definition.tools or (ANY,)}
    return asker.powers.depth + 1 < most_depth and bool(definition.may_spawn) and bool(words & {TASK, "agent", ANY})


def mode_for(tools: Sequence[Tool], asker: Powers) -> Mode:
    """Return the mode that an agent works in: that of whoever asks, but only reading where no tool needs more."""
    if asker.mode != "agent":
        return asker.mode
    return "agent" if any(writes(tool) or tool.modes == {"agent"} for tool in tools) else "ask"
