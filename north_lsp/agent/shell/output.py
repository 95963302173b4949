"""Reports to the model on a command that ran: its output within bounds, and notes. The complete output is kept."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from north_lsp.agent.log.digests import artifact_of, shortened_text, where_whole
from north_lsp.agent.ports.results import SpilledOutput
from north_lsp.agent.shell.strip_head_tail import select_lines
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.shell.minimize import minimize
from north_lsp.shell.results import CommandResult
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Command
from north_lsp.workspace.files.ignore import OWN_IGNORE_FILE

_DENIED = lazy_pattern(
    r"permission denied|read-only file system|operation not permitted|network is unreachable|could not resolve host"
    r"|name resolution|connection refused|EACCES|EROFS|EPERM|ENETUNREACH|EAI_AGAIN|failed to lookup address"
    r"|device or resource busy|EBUSY|invalid cross-device link|EXDEV|ENOTFOUND|cannot assign requested address"
    r"|but --offline was specified|may be offline|offline mode|dial tcp|no route to host|could not connect to server"
    r"|from versions: none|unknown ?host|dns error|tcp connect error"
    r"|ENOENT: no such file or directory, mkdir",  # how Node reports a read-only file system when it creates a path
    re.IGNORECASE,
)
_UNREADABLE = lazy_pattern(r"permission denied|EACCES", re.IGNORECASE)
_UNREADABLE_ON_MACOS = lazy_pattern(r"permission denied|EACCES|operation not permitted|EPERM", re.IGNORECASE)
_MAX_DENIALS = 100
_REASON_CHARACTERS = 200
_ASKED_FOR_LINES = 200
_ASKED_FOR_CHARACTERS = 16_000


@dataclass(frozen=True, slots=True)
class ModelReport:
    """The text for the model. `number` is that of the artifact with the complete output, if there is one; `truncation`
    describes what is missing."""

    text: str
    number: int | None
    shortened: bool
    truncation: Mapping[str, object] | None = None


def report_to_model(
    ran: CommandResult,
    command: Command,
    artifacts: Artifacts | None,
    *,
    minimizes: bool,
    notes: list[str],
    most: int | None = None,
) -> ModelReport:
    """Make the text for the model, with `most` lines instead of a digest's few. Call it in a thread: it writes an
    artifact if lines are left out."""
    output = ran.output
    text, shortened, is_selected = output.text, output.truncated, False
    part = select_lines(text, command.head, command.tail)
    if part.left_out:
        text, shortened, is_selected = part.text, True, True
        lines = " and ".join(
            f"the {where} {count}" for where, count in (("first", command.head), ("last", command.tail)) if count
        )
        notes.append(f"({lines} of {output.total_lines} lines)")
    elif minimizes and ran.exit_code == 0 and (small := minimize(command.command, text)) is not None:
        text, shortened, is_selected = small.text, True, True
        notes.append(
            f"(the filter {small.name!r} left out {small.left_out} lines that only report success; "
            f"{output.total_lines} lines, {output.total_bytes} bytes in total)"
        )
    text = text.rstrip("\n") or "(no output)"
    if artifacts is None:
        return ModelReport("\n".join([text, *notes]), None, shortened)
    number = output.number
    if shortened and not output.truncated:
        number = artifacts.add("shell_run", output.text)
    kept = SpilledOutput(number, output.total_lines, output.total_bytes) if shortened else None
    if is_selected and text.count("\n") < _ASKED_FOR_LINES and len(text) < _ASKED_FOR_CHARACTERS:
        notes.append(where_whole(number))
        return ModelReport("\n".join([text, *notes]), number, True)
    short = shortened_text(text, "shell_run", artifacts, kept, most, notes)
    if number is None and short.truncation is not None:
        number = artifact_of(short.truncation)
    return ModelReport(short.text, number, short.truncation is not None, short.truncation)


def denied_by_sandbox(ran: CommandResult) -> str | None:
    """Return the line that suggests that the sandbox made a command fail; None if there is none."""
    if ran.sandbox is None or ran.exit_code == 0 or ran.timed_out:
        return None
    line = next((line for line in _denials(ran) if not _is_about_closed(line, ran)), None)
    return None if line is None else one_line(line.strip(), _REASON_CHARACTERS)


def _denials(ran: CommandResult) -> Iterator[str]:
    text = ran.output.text
    for found in islice(_DENIED.finditer(text), _MAX_DENIALS):
        yield text[text.rfind("\n", 0, found.start()) + 1 :].partition("\n")[0]


def _is_about_closed(line: str, ran: CommandResult) -> bool:
    """Tell whether a line says that a closed file could not be read, and nothing else."""
    on_macos = ran.sandbox is not None and ran.sandbox.seatbelt
    if not ran.closed or not (_UNREADABLE_ON_MACOS if on_macos else _UNREADABLE).search(line):
        return False
    names = {name for path in ran.closed for name in (path, os.path.relpath(path, ran.cwd))}
    return re.search(rf"(?<![\w./-])(?:\./)?(?:{'|'.join(map(re.escape, names))})(?![\w.-])", line) is not None


def _met_closed(ran: CommandResult) -> bool:
    """Tell whether something was denied to a command in the sandbox, and all of it is closed."""
    denials = [*_denials(ran)] if ran.sandbox is not None and ran.exit_code != 0 else []
    return bool(denials) and all(_is_about_closed(line, ran) for line in denials)


def notes_of(ran: CommandResult, command: Command, *, offered: bool) -> list[str]:
    """List what is worth knowing besides the output. `offered`: the user was asked whether it may run outside the
    sandbox."""
    notes = []
    if ran.timed_out:
        notes.append(
            f"stopped after {command.timeout:g} s (time limit); run long commands in the background: "
            "call again with background: true, or with a longer timeout"
        )
    elif ran.enough:
        notes.append("stopped after the requested lines; the command was still running")
    elif ran.exit_code is None:
        notes.append("missing exit status")
    elif ran.exit_code:
        notes.append(f"exit code {ran.exit_code}")
    if ran.output.truncated:
        notes.append(f"(the output is shortened: {ran.output.total_lines} lines, {ran.output.total_bytes} bytes)")
    if ran.lost:
        notes.append(f"{ran.lost}: variables and functions of earlier commands are gone")
    if ran.alone:
        notes.append(f"this ran in a separate bash, so none of its state is kept: {ran.alone}")
    if ran.moved:
        notes.append(f"the shell is now in {ran.cwd}")
    if ran.shell_ended:
        notes.append(f"the shell ended; the next command starts a new one in {ran.cwd}")
    if ran.left_running:
        notes.append(f"background processes still running: {', '.join(map(str, ran.left_running))}")
    if _met_closed(ran):
        notes.append(f"What it could not read is closed by `{OWN_IGNORE_FILE}`; the rest of its output is valid.")
    if not offered and denied_by_sandbox(ran) is not None:
        notes.append(
            "This ran in a sandbox, which may be why it failed: only the workspace and the temporary folder "
            "($TMPDIR) can be written, git's and other protected files and the home folder are closed, and "
            "there is no network. If it needs more, call again with `outside_sandbox: true`: the user will be asked."
        )
    notes += command.notices
    return notes
