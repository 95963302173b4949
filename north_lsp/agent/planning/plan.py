"""Plan mode: the plan is a document that the model writes, the user edits, and only the user approves."""

from __future__ import annotations

from functools import partial

import anyio.to_thread

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.log.choices import AcceptedPlan, ModeEntry, PlanEntry, PlanWork
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.plans import last_plan
from north_lsp.agent.log.projection import mode_shown
from north_lsp.agent.log.questions import PlanModeRequest, PlanRequest
from north_lsp.agent.log.reviews import StoredDecision
from north_lsp.agent.planning.plan_place import MOST_BYTES, plan_file, put_plan, read_plan
from north_lsp.agent.planning.plan_text import difference, digest_of, missing_of, name_of, steps_of
from north_lsp.agent.planning.todo import TodoKeeper
from north_lsp.agent.ports.editor import NOBODY, Choice, Decided
from north_lsp.agent.ports.events import CallEnded, DocumentWanted, TitleChanged
from north_lsp.agent.ports.results import NextPrompt, Result, StopTurn, ok
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.storage.entries import new_entry_id, timestamp
from north_lsp.tools.todo_list import Phase, Task, TodoList
from north_lsp.vocabulary import Location, Mode
from north_lsp.workspace.workspace import Workspace

_OPTIONS = (
    ("execute", "Approve and execute"),
    ("compact", "Approve and compact the context, then execute"),
    ("approve", "Approve, and stop here"),
    ("edit", "Edit the plan"),
    ("leave", "Leave plan mode"),
    ("reject", "Reject"),
)
_ENTER = (("plan", "Work out a plan first"), ("no", "Continue without a plan"))
_WORK_OUT = "Work out the plan: read what it needs, write it with write_plan, then present it."
_APPROVED = ("execute", "compact", "approve")
_CARRY_OUT = "I approve the plan. Carry it out, step by step, and verify each step as the plan says."
_TO_WRITE = "call write_plan with the whole plan first"
_REJECTED = "The user rejected the plan. Change it with write_plan, or ask; then present it again."
_REJECTED_UNSAID = (
    "The user rejected the plan without saying why. Ask what is wrong, or end your turn: their next message says it."
)


@dataclass(frozen=True, slots=True)
class PlanKeeper:
    """The plan of one conversation."""

    log: Log
    reviews: ReviewRecord
    todo: TodoKeeper
    ports: Ports

    async def write(
        self, workspace: Workspace, call: ToolCall, title: str, content: str, *, in_project: bool = False
    ) -> Result:
        """Write a model's plan, a first one into the project if that is wanted. Raises ToolError."""
        content = content.replace("\r\n", "\n")  # as it is read
        if missing := missing_of(content):
            told = f"the plan lacks {', '.join(missing)}"
            raise ToolError("INVALID_INPUT", told, "write the whole plan again with all headings")
        if len(content.encode("utf-8", "replace")) > MOST_BYTES:
            raise ToolError("TOO_LARGE", f"the plan is longer than {MOST_BYTES:,} bytes", "write a shorter one")
        await self._ensure_seen()
        put = partial(put_plan, self.log, workspace, content, in_project=in_project)
        try:
            file = await anyio.to_thread.run_sync(put)
        except OSError as error:
            raise ToolError("IO_ERROR", f"the plan could not be written: {error.strerror or error}") from None
        self.log.append(PlanEntry(content, file=file))
        ended = CallEnded(call.id, title, True, visible(content), locations=(Location(plan_file(self.log)),))
        return Result(ok({"written": True, "steps": len(steps_of(content))}), False, ended)

    async def _ensure_seen(self) -> None:
        """Refuse to write over what the user has made of the plan unless the model has been told. Raises ToolError."""
        known, now = last_plan(self.log.path()), await anyio.to_thread.run_sync(read_plan, self.log)
        if now is None or (known is not None and now == known.text):
            return
        self.log.append(PlanEntry(now, file=known.file if known is not None else ""))
        # Without a plan in the conversation, as after going back, the file may be the user's own work, too.
        before = known.text if known is not None else ""
        told = f"the user has edited the plan, so nothing was written:\n{difference(before, now)}"
        raise ToolError("STALE", told, "include these changes, then call write_plan again")

    async def propose_mode(self, call: ToolCall, title: str, reason: str) -> Result:
        """Have the user decide whether plan mode begins. Raises StopTurn, ToolError."""
        if not self.ports.editor.has_user:
            raise ToolError("UNAVAILABLE", f"{NOBODY}: plan mode cannot begin", "continue without it")
        review = self.reviews.open(call.id, PlanModeRequest(reason)).id
        await self.reviews.sync_question()
        choice = Choice(f"plan-{new_entry_id(())}", "Work out a plan first?", _ENTER, visible(reason), call_id=call.id)
        decided = await self.ports.editor.decide(choice)
        status = {"plan": "approved", None: "cancelled"}.get(decided.option, "rejected")
        self.reviews.close(review, StoredDecision(status, decided.comment))
        if decided.option is None:
            raise StopTurn(decided.comment)
        if decided.option != "plan":
            data: dict[str, object] = {"planning": False} | ({"comment": decided.comment} if decided.comment else {})
            return Result(ok(data), False, CallEnded(call.id, title, False, "You want no plan first."))
        await self._set_mode("plan", PlanWork(str(plan_file(self.log)), "active"))
        ended = CallEnded(call.id, title, True, "Plan mode begins.")
        return Result(ok({"planning": True}), False, ended, ends_turn=True, next=NextPrompt(_WORK_OUT, "plan"))

    async def present(self, call: ToolCall, title: str, summary: str) -> Result:
        """Have the user decide on the plan. Raises StopTurn, ToolError."""
        if not self.ports.editor.has_user:
            raise ToolError("UNAVAILABLE", f"{NOBODY}: no plan can be approved", "end your turn with the plan as text")
        text = await anyio.to_thread.run_sync(read_plan, self.log)
        if text is None or not text.strip():
            raise ToolError("NOT_FOUND", "there is no plan to present", _TO_WRITE)
        path = plan_file(self.log)
        request = PlanRequest(summary, str(path), digest_of(text))
        review = self.reviews.open(call.id, request).id
        await self.reviews.sync_question()
        decided = await self._decided(call, summary)
        final = await anyio.to_thread.run_sync(read_plan, self.log)
        self.reviews.close(review, StoredDecision(_status(decided), decided.comment))
        match decided.option:
            case None:
                raise StopTurn(decided.comment)
            case "leave":
                await self._set_mode("agent", PlanWork(str(path), "paused"))
                ended = CallEnded(call.id, title, False, "You left plan mode; the plan is kept.")
                told = {"approved": False, "note": "The user left plan mode without a decision. End your turn."}
                return Result(ok(told), False, ended, ends_turn=True)
            case option if option in _APPROVED and final is not None and final.strip():
                return await self._approve(call, title, final, option)
            case _:
                return self._rejected(call, title, decided.comment)

    async def _decided(self, call: ToolCall, summary: str) -> Decided:
        """Ask about the plan as it is now, until the user is done with editing it."""
        path = plan_file(self.log)
        note = ""
        while True:
            text = await anyio.to_thread.run_sync(read_plan, self.log) or ""
            detail = "\n\n".join(part for part in (note, summary, text, f"The plan is in `{path}`.") if part)
            own = f"plan-{new_entry_id(())}"
            choice = Choice(own, "Approve this plan?", _OPTIONS, detail, alike=True, call_id=call.id)
            decided = await self.ports.editor.decide(choice)
            if decided.option != "edit":
                return decided
            await self.ports.show(DocumentWanted(path))
            note = "**Save the plan when you have edited it, then decide.** What is in the file then counts."

    async def _approve(self, call: ToolCall, title: str, final: str, option: str) -> Result:
        path, known = plan_file(self.log), last_plan(self.log.path())
        self.log.append(PlanEntry(final, approved=True, file=known.file if known is not None else ""))
        await self._set_mode("agent", AcceptedPlan(str(path), digest_of(final)))
        if (name := name_of(final)) and self.log.set_title(name, "plan"):
            await self.ports.show(TitleChanged(name, timestamp()))
        if steps := steps_of(final):
            await self.todo.put(TodoList((Phase("Plan", tuple(map(Task, steps))),)).normalized())
        note = "The plan is approved. End your turn: it is carried out with the next prompt."
        ended = CallEnded(call.id, title, True, "You approved the plan.", locations=(Location(path),))
        carried = NextPrompt(_CARRY_OUT, "agent", compacts=option == "compact") if option != "approve" else None
        return Result(ok({"approved": True, "note": note}), False, ended, ends_turn=True, next=carried)

    def _rejected(self, call: ToolCall, title: str, comment: str | None) -> Result:
        data: dict[str, object] = {"approved": False} | ({"comment": comment} if comment else {})
        data["note"] = _REJECTED if comment else _REJECTED_UNSAID
        said = f": {comment}" if comment else "."
        return Result(ok(data), False, CallEnded(call.id, title, False, visible(f"You rejected the plan{said}")))

    async def _set_mode(self, mode: Mode, plan: PlanWork | AcceptedPlan) -> None:
        """Continue in a mode from the next prompt on; the running turn stays as it is."""
        entry = ModeEntry(mode, plan)
        self.log.append(entry)
        self.log.mode = mode
        for event in mode_shown(entry):
            await self.ports.show(event)


def _status(decided: Decided) -> str:
    match decided.option:
        case None:
            return "cancelled"
        case "leave":
            return "left"
        case option:
            return "approved" if option in _APPROVED else "rejected"
