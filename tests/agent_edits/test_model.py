"""Random files, edits, decisions and changes by others, against a model that knows only lines and hunks."""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north_lsp.agent.editor import EditDecision
from north_lsp.agent.edits import accepted_part, left_out
from north_lsp.errors import ToolError
from north_lsp.workspace.merge import merge
from north_lsp.workspace.proposal import EditProposal, FileChange, TextForm
from north_lsp.workspace.text import split_lines
from tests.support.edits import World

_WORDS = st.sampled_from(["alpha", "beta", "gamma", "", "  indented", "\ttab", "ü", "x = 1", "}"])
_FORMS = st.sampled_from([TextForm(), TextForm("utf-8", b"\xef\xbb\xbf"), TextForm("utf-16-le", b"\xff\xfe")])
_ENDS = st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]])
_SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Made:
    """A file: its lines with their ends, and how it is spelled on disk."""

    lines: tuple[str, ...]
    form: TextForm

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @property
    def data(self) -> bytes:
        return self.form.bom + self.text.encode(self.form.encoding)


@st.composite
def made_files(draw: st.DrawFn) -> Made:
    ends, words = draw(_ENDS), draw(st.lists(_WORDS, min_size=1, max_size=5))
    count = draw(st.integers(1, 90))
    lines = [f"{words[at % len(words)]} {at}{ends[at * at % 7 % len(ends)]}" for at in range(count)]
    if draw(st.booleans()):
        lines[-1] = lines[-1].rstrip("\r\n")
    return Made(tuple(lines), draw(_FORMS))


@st.composite
def changed_lines(draw: st.DrawFn, lines: tuple[str, ...]) -> tuple[str, ...]:
    """The same lines but for a few that are dropped, replaced or added."""
    kinds = st.sampled_from(["drop", "change", "add"])
    places = draw(st.dictionaries(st.integers(0, max(len(lines) - 1, 0)), kinds, max_size=5))
    word = draw(_WORDS)
    out: list[str] = []
    for number, line in enumerate(lines):
        end = "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""
        match places.get(number):
            case "drop":
                pass
            case "change":
                out.append(f"changed {word} {number}{end}")
            case "add" if end:
                out += [line, f"added {word}{end}"]
            case _:
                out.append(line)
    return tuple(out)


def proposal_of(changes: list[FileChange]) -> EditProposal:
    return EditProposal("p", "c", tuple(changes), "t")


@_SLOW
@given(st.data())
def test_what_is_applied_is_what_the_user_decided_on_merged_with_what_happened(data: st.DataObject) -> None:
    asyncio.run(_decide_and_apply(data))


async def _decide_and_apply(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        files = data.draw(st.lists(made_files(), min_size=1, max_size=3))
        names = [f"f{number}.txt" for number in range(len(files))]
        edits: list[dict[str, Any]] = []
        for name, file in zip(names, files, strict=True):
            path = world.write(name, file.data)
            if data.draw(st.booleans()):
                world.editor.texts[path] = file.text
            after = "".join(data.draw(changed_lines(file.lines)))
            # A whole new text with ends of its own is taken as it is; one without them gets the file's.
            args = {"path": name, "content": after, "overwrite": True}
            edits.append({"tool": "edit_create_file", "args": args})
        changes = [one for one in await world.prepare("edit_apply_batch", edits=edits) if not one.is_empty]
        proposal = proposal_of(changes)

        decision = data.draw(decisions(changes))
        accepted = accepted_part(proposal, decision)
        told = left_out(proposal, decision)
        expected = {name: file.text for name, file in zip(names, files, strict=True)}
        for change in changes:
            expected[change.relative] = decided(change, decision)
        assert {one.relative: one.new_text for one in accepted.files} == {
            name: text for name, text in expected.items() if text != text_before(changes, name, files, names)
        }
        every = {hunk.id for change in changes for hunk in change.hunks}
        if decision.hunks is not None and not decision.texts and every:
            stands = len(told.get("acceptedHunks", []))  # type: ignore[arg-type]  # a list, as JSON data
            assert stands == sum(len(ids) for ids in decision.hunks.values()) or "partial" not in told

        meanwhile: dict[str, str] = {}
        for name, file in zip(names, files, strict=True):
            if data.draw(st.sampled_from([False, False, True])):
                theirs = "".join(data.draw(changed_lines(file.lines)))
                meanwhile[name] = theirs
                path = world.root / name
                if path in world.editor.texts:
                    world.editor.texts[path] = theirs
                else:
                    path.write_bytes(file.form.bom + theirs.encode(file.form.encoding))

        merged: dict[str, str] = {}
        clash = False
        for name, file in zip(names, files, strict=True):
            now = meanwhile.get(name, file.text)
            merged[name] = now
            if expected[name] != file.text:
                made = merge(file.text, now, expected[name])
                clash = clash or bool(made.conflicts)
                merged[name] = made.text
        before, texts = world.files(), dict(world.editor.texts)
        if clash:
            with pytest.raises(ToolError) as caught:
                await world.apply(accepted.files)
            assert caught.value.code == "STALE"
            assert (world.files(), world.editor.texts) == (before, texts)
            world.conversation.close()
            return
        await world.apply(accepted.files)
        for name, file in zip(names, files, strict=True):
            path = world.root / name
            if path in world.editor.texts:
                assert world.editor.texts[path] == merged[name]
                assert path.read_bytes() == before[name]
            else:
                assert path.read_bytes() == file.form.bom + merged[name].encode(file.form.encoding)

        await world.undo(1)
        for name, file in zip(names, files, strict=True):
            path = world.root / name
            assert world.editor.texts.get(path, path.read_bytes()) == texts.get(path, before[name]), file
        await world.redo(1)
        for name, file in zip(names, files, strict=True):
            path = world.root / name
            if path in world.editor.texts:
                assert world.editor.texts[path] == merged[name]
            else:
                assert path.read_bytes() == file.form.bom + merged[name].encode(file.form.encoding)
        world.conversation.close()


def text_before(changes: list[FileChange], name: str, files: list[Made], names: list[str]) -> str:
    return files[names.index(name)].text


@st.composite
def decisions(draw: st.DrawFn, changes: list[FileChange]) -> EditDecision:
    if not changes or draw(st.booleans()):
        return EditDecision("accept")
    hunks = {
        change.target: frozenset(hunk.id for hunk in change.hunks if draw(st.booleans()))
        for change in changes
        if draw(st.sampled_from([True, True, False]))
    }
    texts: dict[Path, str] = {}
    if draw(st.sampled_from([False, False, True])):
        change = draw(st.sampled_from(changes))
        texts[change.target] = "".join(draw(changed_lines(tuple(split_lines(change.new_text)))))
    return EditDecision("accept", None, hunks, texts)


def decided(change: FileChange, decision: EditDecision) -> str:
    """By the words of the contract, with lines alone."""
    if change.target in decision.texts:
        return decision.texts[change.target]
    old, new = split_lines(change.old_text or ""), split_lines(change.new_text)
    if decision.hunks is None:
        return change.new_text
    ids = decision.hunks.get(change.target, frozenset())
    out: list[str] = []
    at = 0
    for hunk in change.hunks:
        start = hunk.old_start - bool(hunk.old_lines)
        begin = hunk.new_start - bool(hunk.new_lines)
        out += old[at:start]
        end = start + hunk.old_lines
        out += new[begin : begin + hunk.new_lines] if hunk.id in ids else old[start:end]
        at = end
    return "".join(out + old[at:])


_BASE = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d\n"]), max_size=25)


@given(st.data(), _BASE)
def test_a_merge_loses_nothing_of_either_side(data: st.DataObject, base: list[str]) -> None:
    ours = data.draw(changed_lines(tuple(base)))
    theirs = data.draw(changed_lines(tuple(base)))
    made = merge("".join(base), "".join(ours), "".join(theirs))
    assert merge("".join(base), "".join(ours), "".join(base)).text == "".join(ours)
    assert merge("".join(base), "".join(base), "".join(theirs)).text == "".join(theirs)
    added = [line for line in (*ours, *theirs) if line.startswith(("changed", "added"))]
    if not made.conflicts:
        assert made.marked == made.text
        assert merge("".join(base), "".join(theirs), "".join(ours)).text == made.text
        for line in added:
            assert line in made.text
    else:
        for line in added:
            assert line in made.marked


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "delete", "move", "edit", "undo", "redo"]), st.integers(0, 5), st.integers(0, 5)
    ),
    min_size=1,
    max_size=14,
)


@_SLOW
@given(_STEPS)
def test_undo_and_redo_walk_back_and_forth_through_every_state(steps: list[tuple[str, int, int]]) -> None:
    asyncio.run(_walk(steps))


async def _walk(steps: list[tuple[str, int, int]]) -> None:
    """The model: a list of states, and where in it we are; an edit cuts off what was undone."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for number in range(3):
            world.write(f"{number}.txt", f"file {number}\nsecond\n")
        states, at, counter = [world.files()], 0, 0
        for what, one, other in steps:
            name, to = f"{one}.txt", f"{other}.txt"
            counter += 1
            if what == "undo":
                await world.undo()
                at = max(at - 1, 0)
            elif what == "redo":
                if at + 1 < len(states):
                    await world.redo()
                    at += 1
            else:
                calls: dict[str, tuple[str, dict[str, Any]]] = {
                    "create": ("edit_create_file", {"path": name, "content": f"new {counter}"}),
                    "delete": ("edit_delete_file", {"path": name}),
                    "move": ("edit_move_file", {"from": name, "to": to}),
                    "edit": ("edit_insert_at_line", {"path": name, "line": 1, "content": f"line {counter}"}),
                }
                tool, arguments = calls[what]
                exists = set(states[at])
                possible = name not in exists if what == "create" else name in exists
                if what == "move":
                    possible = possible and to not in exists
                if not possible:
                    with pytest.raises(ToolError):
                        await world.prepare(tool, **arguments)
                    continue
                for known in exists:
                    world.show(known)
                if at + 1 < len(states):
                    continue  # what redo means after a new edit is another question
                await world.edit(tool, **arguments)
                states.append(world.files())
                at += 1
            assert world.files() == states[at]
        world.conversation.close()
