"""The tool `ask`."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.tools.questions import Option, UserQuestion
from north_lsp.vocabulary import Kind
from north_lsp.workspace.workspace import Workspace

_MOST_QUESTIONS = 10
_MOST_OPTIONS = 20


class AskOption(Arguments):
    label: str = Field(min_length=1)
    description: str = Field("", description="What it means, in a few words.")


class AskQuestion(Arguments):
    id: str = Field(min_length=1, description="A short name for the answer.")
    question: str = Field(min_length=1)
    options: list[AskOption] = Field(
        default_factory=list, max_length=_MOST_OPTIONS, description="2 to 5 answers; the user can give another one."
    )
    multi: bool = Field(False, description="Whether several options can be chosen.")
    recommended: int = Field(default_factory=lambda: -1, description="The option that you would take, from 0 on.")


class AskArgs(Arguments):
    questions: list[AskQuestion] = Field(max_length=_MOST_QUESTIONS)


class Ask(Tool):
    """Asks the user."""

    name = "ask"
    kind: Kind = "think"
    needs = frozenset({"ask"})
    modes = frozenset({"ask", "agent", "plan"})
    args = AskArgs

    def title(self, args: dict[str, Any]) -> str:
        match args.get("questions"):
            case [{"question": str(question)}]:
                return f"Asking: {one_line(question, 100)}"
            case [_, *_] as questions:
                return f"Asking {len(questions)} questions"
            case _:
                return "Asking you"

    async def invoke(self, args: AskArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        if not args.questions:
            raise ToolError("INVALID_INPUT", "there is no question: ask at least one")
        ids = [one.id for one in args.questions]
        if len({*ids}) != len(ids):
            raise ToolError("INVALID_INPUT", "two questions have the same id")
        return await host.ask_user([_question(one) for one in args.questions])


def _question(asked: AskQuestion) -> UserQuestion:
    labels = [option.label.strip() for option in asked.options]
    if len({*labels}) != len(labels):
        raise ToolError("INVALID_INPUT", f"two options of {asked.id} have the same label")
    recommended = asked.recommended if 0 <= asked.recommended < len(labels) else None
    options = tuple(Option(label, one.description) for label, one in zip(labels, asked.options, strict=True))
    return UserQuestion(asked.id, asked.question, options, asked.multi, recommended)
