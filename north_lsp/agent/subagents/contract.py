"""What an agent owes whoever asked: one call of `submit_result`, whose result fits the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import nudge
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.prompts import render
from north_lsp.agent.servers.schema import usable_schema
from north_lsp.agent.stream_rules.watch import StreamRules
from north_lsp.agent.subagents.schemas import as_json_schema, violations
from north_lsp.agent.turn.reminders import Reminders
from north_lsp.errors import ToolError
from north_lsp.providers.base import AssistantMessage
from north_lsp.storage.entries import now_ms
from north_lsp.tools.base import DescribedTool, Host, Output, R
from north_lsp.vocabulary import Mode
from north_lsp.workspace.workspace import Workspace

SUBMIT = "submit_result"
_TRIES = 3
_DESCRIPTION = "Hand in your result, once, when you are done. Nothing else of what you write is passed on."


class Contract:
    """Checks the result of one task. `result` is what was handed in; `status` says whether it fits."""

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        self.schema = as_json_schema(schema) if schema is not None else None
        self.result: object = None
        self.summary = ""
        self.status: Literal["open", "done", "invalid"] = "open"
        self._tries = 0

    def submit(self, result: object, summary: str) -> None:
        """Take a result. Raises ToolError naming what does not fit, as long as there are tries left."""
        if self.schema is not None:
            result = _parsed(result)
        wrong = violations(result, self.schema) if self.schema is not None else []
        self._tries += 1
        if wrong and self._tries < _TRIES:
            left = _TRIES - self._tries
            told = f"the result does not fit its schema: {'; '.join(wrong)}"
            raise ToolError("INVALID_INPUT", told, f"call {SUBMIT} again with a corrected result ({left} tries left)")
        self.result, self.summary = result, summary
        self.status = "invalid" if wrong else "done"

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    @property
    def text(self) -> str:
        """The result as a text."""
        if isinstance(self.result, str):
            return self.result
        return json.dumps(self.result, ensure_ascii=False, indent=1)


def _parsed(result: object) -> object:
    """Return what a model meant that sent an object as a text."""
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(result)
        except ValueError:
            return result
    return result


class SubmitResult(DescribedTool):
    """The tool through which an agent hands in its result."""

    name = SUBMIT
    kind = "other"
    needs = frozenset()
    modes: frozenset[Mode] = frozenset({"ask", "agent", "plan"})
    description = _DESCRIPTION

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        of_result: Mapping[str, Any] = contract.schema or {"type": "string", "description": "All that you found."}
        root = {key: one for key, one in (contract.schema or {}).items() if key in ("$defs", "definitions")}
        whole: dict[str, Any] = {"type": "object", "properties": {"result": of_result, "summary": {"type": "string"}}}
        self.schema = usable_schema(root | whole | {"required": ["result"]})

    def title(self, args: dict[str, Any]) -> str:
        return "Handing in the result"

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        if "result" not in args:
            raise ToolError("INVALID_INPUT", "result: is missing", f"call {SUBMIT} with your result")
        summary = args.get("summary")
        self._contract.submit(args["result"], summary if isinstance(summary, str) else "")
        return Output(self.title({}), text="The result was handed in.", ends_turn=True)


class ContractReminder(Reminders):
    """Reminds an agent once that stops without a result."""

    def __init__(self, contract: Contract, context: TurnContext, log: Log, rules: StreamRules, ports: Ports) -> None:
        super().__init__(context, log, rules, ports)
        self._agents_log = log
        self._contract = contract
        self._was_told = False

    async def remind(self, answer: AssistantMessage) -> bool:
        if self._was_told or not self._contract.is_open or answer.stop_reason not in ("stop", "length"):
            return False
        self._was_told = True
        self._agents_log.append(nudge(render("nudge_submit"), now_ms()))
        return True
