"""What the model sees, in a cache-stable order: the tools, the system text, the conversation."""

import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from north_lsp.agent.prompts import render
from north_lsp.display import one_line
from north_lsp.providers.base import Message, ModelRequest, ToolSpec
from north_lsp.providers.model import Model


def system_text(roots: tuple[Path, ...], started: date) -> str:
    """The fixed behaviour text and the environment facts; the same for the whole conversation."""
    return render(
        "system",
        system=f"{platform.system()} {platform.release()}",
        root=one_line(str(roots[0]), 1000),
        other_roots=", ".join(one_line(str(root), 1000) for root in roots[1:]) or "none",
        date=started.isoformat(),
    )


def build_request(
    model: Model,
    system: str,
    messages: Sequence[Message],
    tools: tuple[ToolSpec, ...],
    conversation_id: str,
) -> ModelRequest:
    """One request; for a longer history of the same conversation it begins with the whole of this one."""
    return ModelRequest(model.id, system, messages, tools, model.output_limit, conversation_id, model.reasoning)
