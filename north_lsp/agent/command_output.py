"""What the model is told of a command that ran: its output within bounds, and notes. The whole of it is kept."""

import re
from dataclasses import dataclass

from north_lsp.agent.digests import shortened_text
from north_lsp.agent.tails import cut
from north_lsp.shell.minimise import minimise
from north_lsp.shell.runner import Ran
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Command

_DENIED = re.compile(
    r"permission denied|read-only file system|operation not permitted|network is unreachable|could not resolve host"
    r"|name resolution|connection refused|EACCES|EROFS|EPERM|ENETUNREACH|EAI_AGAIN|failed to lookup address",
    re.IGNORECASE,
)
_ASKED_FOR_LINES = 200
_ASKED_FOR_CHARACTERS = 16_000


@dataclass(frozen=True, slots=True)
class Told:
    """`number` is that of the artifact with the whole output, if there is one."""

    text: str
    number: int | None
    shortened: bool


def told(ran: Ran, command: Command, artifacts: Artifacts | None, *, minimises: bool, notes: list[str]) -> Told:
    """The text for the model. Writes an artifact where lines are left out: call it on a thread."""
    whole = ran.output.text
    number, shortened = ran.output.number, ran.output.truncated
    text = whole
    kept = cut(text, command.head, command.tail)
    if kept.left_out:
        text, shortened = kept.text, True
        lines = " and ".join(
            f"the {where} {count}" for where, count in (("first", command.head), ("last", command.tail)) if count
        )
        notes.append(f"({lines} of {ran.output.total_lines} lines)")
    elif minimises and ran.exit_code == 0 and (small := minimise(command.command, text)) is not None:
        text, shortened = small.text, True
        notes.append(
            f"(the filter {small.name!r} left out {small.left_out} lines that only say that all went well; "
            f"{ran.output.total_lines} lines, {ran.output.total_bytes} bytes in all)"
        )
    if shortened and number is None and artifacts is not None:
        number = artifacts.add("shell_run", whole)
    text = text.rstrip("\n") or "(no output)"
    is_small = kept.left_out and text.count("\n") < _ASKED_FOR_LINES and len(text) < _ASKED_FOR_CHARACTERS
    if artifacts is not None and not is_small:
        before, text = text, shortened_text(text, "shell_run", artifacts, number)
        if before is not text:
            shortened = True
            number = _number(text) if number is None else number
    if number is not None and shortened and f"artifact://{number}" not in text:
        notes.append(f"Complete output: artifact://{number}")
    return Told("\n".join([text, *notes]), number, shortened)


def _number(text: str) -> int | None:
    found = re.search(r"artifact://(\d+)\Z", text)
    return int(found[1]) if found is not None else None


def notes_of(ran: Ran, command: Command, made: list[str]) -> list[str]:
    """What is worth knowing beside the output; `made` are protected names that the command made."""
    notes = []
    if ran.timed_out:
        notes.append(
            f"stopped after {command.timeout:g} s (time limit); what runs for long belongs into the background: "
            "call again with background: true, or with a longer timeout"
        )
    elif ran.enough:
        notes.append("stopped: the lines that were asked for were there, and the command went on")
    elif ran.exit_code is None:
        notes.append("missing exit status")
    elif ran.exit_code:
        notes.append(f"exit code {ran.exit_code}")
    if ran.output.truncated:
        notes.append(f"(the output is shortened: {ran.output.total_lines} lines, {ran.output.total_bytes} bytes)")
    if ran.lost:
        notes.append(f"{ran.lost}: variables and functions of earlier commands are gone")
    if ran.moved:
        notes.append(f"the shell is now in {ran.cwd}")
    if ran.shell_ended:
        notes.append(f"the shell ended; the next command starts a new one in {ran.cwd}")
    if ran.left_running:
        notes.append(f"background processes still running: {', '.join(map(str, ran.left_running))}")
    if ran.sandbox is not None and ran.exit_code != 0 and _DENIED.search(ran.output.text):
        notes.append(
            "This ran in a sandbox, which may be what denied it: only the workspace and the temporary folder "
            f"({ran.sandbox.temp}) can be written, git's and other protected files and the home folder are closed, and "
            "there is no network. If it is needed, call again with `outside_sandbox: true`: the user is asked."
        )
    notes += command.notices
    if made:
        notes.append(f"this command made {', '.join(made)}: programs may run what stands there; look at it first")
    return notes
