"""What a log shows of commands that ran and of files that changed: whether a criterion of a goal is met follows from
it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from north_lsp.agent.log.checkpoints import CheckpointEntry
from north_lsp.agent.log.command_details import CommandDetails
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.goals import GoalEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import AnswerEntry
from north_lsp.agent.log.results import AgentCallEntry, ResultEntry
from north_lsp.agent.log.reviews import ReviewEntry
from north_lsp.lazy_dataclass import dataclass

_RUN = "shell_run"
_OF_SERVERS = "mcp_"
_ALLOWED = ("ran", "always", "auto")
_OLD = "an older North ran it; run it again"


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a command: the `id` of its result's entry, its call, how it ended, and the last change of files before
    its end. `unfit` says why it is no evidence; empty if it is."""

    id: str
    call_id: str
    exit_code: int
    state: str
    unfit: str


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of commands that a log shows, and the state of the files. `state` names the last change of files that
    the conversation or an agent of it made, on whatever branch; `last` are the runs of each command on the path that
    have ended, the last one at the end."""

    state: str
    of: Mapping[str, Sequence[Run]]

    def last(self, command: str) -> Run | None:
        """Return the last run of exactly this command; what the user changed before it ran is another."""
        found = self.of.get(command.strip())
        return found[-1] if found else None


def runs_in(log: Log) -> Runs:
    """Look at what is new in a log since the last time."""
    return log.read_by(_Reader, _Reader.now)


@dataclass
class _Calls:
    """What is known of calls, by their ids: the command that each one runs, and which of them the user allowed or
    refused, whose command they changed, and which have ended."""

    commands: dict[str, str] = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)


@dataclass
class _Reader:
    """Reads entries in the order in which they were written. `own` are the commands of the goal's criteria, `at` says
    where each checkpoint was read."""

    state: str = ""
    runs: dict[str, list[Run]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    calls: _Calls = field(default_factory=_Calls)
    at: dict[str, tuple[str, int]] = field(default_factory=dict)

    def now(self) -> Runs:
        """Return what has been found so far."""
        return Runs(self.state, {command: tuple(runs) for command, runs in self.runs.items()})

    def reread(self, one: Logged) -> bool:
        """Take a change that is as good as if it had been read in its place: nothing has followed from that yet."""
        match one.entry:
            case ReviewEntry(call_id=call_id) if call_id in self.calls.ended:
                return False
            case CheckpointEntry() if self.at.get(one.id) != self._place:
                return False
            case ReviewEntry() | CheckpointEntry():
                self.read(one, on_path=True)
            case _:  # a message that models do not get any more is still what has happened
                pass
        return True

    @property
    def _place(self) -> tuple[str, int]:
        return self.state, len(self.calls.ended)

    def read(self, one: Logged, *, on_path: bool) -> None:
        match one.entry:
            case GoalEntry(goal):
                self.own = frozenset(each.command for each in goal.criteria) if goal is not None else frozenset()
            case AnswerEntry(calls=calls):
                self.calls.commands |= {call.id: _command(call.arguments) for call in calls}
            case ReviewEntry(call_id=call_id, status=status, decision=decision):
                if status in _ALLOWED:
                    self.calls.allowed.add(call_id)
                elif decision is not None:
                    self.calls.refused.add(call_id)
                if decision is not None and decision.command:
                    self.calls.edited.add(call_id)
            case CheckpointEntry(status=status, files=files):
                self.at[one.id] = self._place
                if status == "applied" and files:
                    self.state = one.id
            case ResultEntry(call_id, tool, details=details) if tool == _RUN:
                self.calls.ended.add(call_id)
                command = self.calls.commands.get(call_id, "")
                self._command_ended(one.id, call_id, command, CommandDetails.of(details.of_tool), on_path=on_path)
            case AgentCallEntry(call_id, tool, arguments=arguments, details=details) if tool == _RUN:
                self.calls.ended.add(call_id)
                self._note_change(one.id, call_id, _command(arguments or {}), CommandDetails.of(details.of_tool))
            case ResultEntry(call_id, tool, details=details) | AgentCallEntry(call_id, tool, details=details):
                self._note_other(one.id, call_id, tool, CommandDetails.of(details.of_tool))
            case _:
                pass

    def _command_ended(self, id: str, call_id: str, command: str, told: CommandDetails, *, on_path: bool) -> None:
        fits = on_path and call_id not in self.calls.edited and not told.timed_out
        if fits and told.exit_code is not None:
            run = Run(id, call_id, told.exit_code, self.state, told.unfit if told.unfit is not None else _OLD)
            self.runs.setdefault(command, []).append(run)
        self._note_change(id, call_id, command, told)

    def _note_change(self, id: str, call_id: str, command: str, told: CommandDetails) -> None:
        """Take a command for a change of files unless it is known that it is none: it did not run, only looks, or is
        that of a criterion."""
        ran = told.ended or told.begun or call_id in self.calls.allowed
        checks = command in self.own and call_id not in self.calls.edited
        if ran and not checks and not told.only_looks:
            self.state = id

    def _note_other(self, id: str, call_id: str, tool: str, told: CommandDetails) -> None:
        """Take what another program's tool did for a change of files unless it says that it only reads, and what a job
        was told as well."""
        by_server = tool.startswith(_OF_SERVERS) and call_id not in self.calls.refused and not told.only_looks
        if by_server or told.got_input:
            self.calls.ended.add(call_id)
            self.state = id


def _command(arguments: Mapping[str, object]) -> str:
    return str(arguments.get("command", "")).strip()
