"""Random files, edits, decisions and changes by others, against a model that knows only lines and hunks."""

import asyncio
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north_lsp.agent.edits.model_report import rejected_for_model
from north_lsp.agent.log.accepted import accepted_part
from north_lsp.agent.ports.editor import EditDecision
from north_lsp.errors import ToolError
from north_lsp.workspace.edit.merge import merge
from north_lsp.workspace.proposal import EditProposal, FileChange, TextEncoding
from north_lsp.workspace.text import decode, split_lines
from tests.support.edits import World
from tests.support.history import FileDiff, ToolCall, calls_for

_WORDS = st.sampled_from(["alpha", "beta", "gamma", "", "  indented", "\ttab", "ü", "x = 1", "}"])
_FORMS = st.sampled_from(
    [TextEncoding(), TextEncoding("utf-8", b"\xef\xbb\xbf"), TextEncoding("utf-16-le", b"\xff\xfe")]
)
_ENDS = st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]])
_SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Made:
    """A file: its lines with their ends, and how it is spelled on disk."""

    lines: tuple[str, ...]
    text_encoding: TextEncoding

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @property
    def data(self) -> bytes:
        return self.text_encoding.bom + self.text.encode(self.text_encoding.encoding)


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


@dataclass(frozen=True)
class Wanted:
    """What the model wants of one file: another text, another name, or nothing of it any more."""

    name: str
    file: Made | None
    target: str
    after: str | None


@st.composite
def wishes(draw: st.DrawFn) -> list[Wanted]:
    wanted: list[Wanted] = []
    for number, file in enumerate(draw(st.lists(made_files(), min_size=1, max_size=3))):
        name = f"f{number}.txt"
        kind = draw(st.sampled_from(["edit", "edit", "edit", "move", "delete"]))
        after = "".join(draw(changed_lines(file.lines)))
        target = f"moved/{name}" if kind == "move" else name
        wanted.append(Wanted(name, file, target, None if kind == "delete" else after))
    if draw(st.sampled_from([False, False, True])):
        lines = draw(st.lists(_WORDS, min_size=1, max_size=6))
        wanted.append(Wanted("new/n.txt", None, "new/n.txt", "".join(f"{line}.\n" for line in lines)))
    return wanted


def calls_of(one: Wanted, chance: random.Random) -> Iterator[ToolCall]:
    """Calls of any edit tools that come to what is wanted."""
    before = one.file.data if one.file is not None else None
    after = one.after
    ends = {line.endswith("\r\n") for line in (one.file.lines if one.file is not None else ()) if line.endswith("\n")}
    if after is not None and one.file is not None and (not after or (len(ends) > 1 and one.target != one.name)):
        yield "edit_create_file", {"path": one.name, "content": after, "overwrite": True}
        if one.target != one.name:
            yield "edit_move_file", {"from": one.name, "to": one.target}
        return
    form = one.file.text_encoding if one.file is not None else TextEncoding()
    data = None if after is None else form.bom + after.encode(form.encoding)
    old = one.name if one.target != one.name else None
    yield from calls_for(FileDiff("", one.target, old, before, data), chance)


async def _decide_and_apply(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        wanted = data.draw(wishes())
        chance = random.Random(data.draw(st.integers(0, 2**32)))
        for one in wanted:
            if one.file is not None:
                path = world.write(one.name, one.file.data)
                if one.after is not None and one.target == one.name and data.draw(st.booleans()):
                    world.editor.texts[path] = one.file.text
        edits = [{"tool": tool, "args": args} for one in wanted for tool, args in calls_of(one, chance)]
        if not edits:
            world.conversation.close()
            return
        changes = [one for one in await world.prepare("edit_apply_batch", edits=edits) if not one.is_empty]
        by_target = {change.shown: change for change in changes}
        for one in wanted:
            found = by_target.get(one.target)
            text = (one.file.text if one.file is not None else None) if found is None else found.new_text
            assert text == (one.after or "" if found is not None else one.after), (one, edits)
        proposal = proposal_of(changes)

        decision = data.draw(decisions(changes))
        accepted = accepted_part(proposal, decision)
        told = rejected_for_model(proposal, decision)
        expected = {change.shown: decided(change, decision) for change in changes}
        stands = {
            name: text
            for name, text in expected.items()
            if text is not None and (by_target[name].action != "update" or text != by_target[name].old_text)
        }
        assert {one.shown: one.new_text for one in accepted.files} == stands
        every = {hunk.id for change in changes for hunk in change.hunks}
        if decision.hunks is not None and not decision.texts and every and "partial" in told:
            whole = [hunk for change in changes if change.shown in stands for hunk in change.hunks]
            kept = [hunk for change in changes for hunk in change.hunks if is_kept(change, hunk.id, decision)]
            assert len(told["acceptedHunks"]) == len(kept) <= len(whole)  # type: ignore[arg-type]  # a list, as JSON

        meanwhile: dict[str, str] = {}
        for one in wanted:
            if one.file is not None and data.draw(st.sampled_from([False, False, True])):
                theirs = "".join(data.draw(changed_lines(one.file.lines)))
                meanwhile[one.name] = theirs
                path = world.root / one.name
                if path in world.editor.texts:
                    world.editor.texts[path] = theirs
                else:
                    path.write_bytes(one.file.text_encoding.bom + theirs.encode(one.file.text_encoding.encoding))
            elif one.file is None and data.draw(st.sampled_from([False, False, True])):
                meanwhile[one.name] = data.draw(st.sampled_from([one.after or "", "by somebody else\n"]))
                world.write(one.name, meanwhile[one.name])

        before, texts = world.files(), dict(world.editor.texts)
        after: dict[str, bytes] = dict(before)
        open_after = dict(texts)
        clash = False
        for one in wanted:
            if one.target not in stands:
                continue
            text = stands[one.target]
            if one.file is None:
                clash = clash or meanwhile.get(one.name, text) != text
                after[one.name] = text.encode()
                continue
            now = meanwhile.get(one.name, one.file.text)
            if one.after is None:
                clash = clash or now != one.file.text
                after.pop(one.name)
                continue
            made = merge(one.file.text, now, text)
            clash = clash or bool(made.conflicts)
            path = world.root / one.name
            if path in texts:
                open_after[path] = made.text
            else:
                after.pop(one.name)
                after[one.target] = one.file.text_encoding.bom + made.text.encode(one.file.text_encoding.encoding)
        if clash:
            with pytest.raises(ToolError) as caught:
                await world.apply(accepted.files)
            assert caught.value.code == "STALE"
            assert (world.files(), world.editor.texts) == (before, texts)
            world.conversation.close()
            return
        await world.apply(accepted.files)
        assert (world.files(), world.editor.texts) == (after, open_after)
        await world.undo(1)
        assert (world.files(), world.editor.texts) == (before, texts)
        await world.redo(1)
        assert (world.files(), world.editor.texts) == (after, open_after)

        # What the user changes later is kept by an undo, or the file is left as it is.
        mine = [name for name in after if before.get(name) != after[name] and before.get(name) is not None]
        if mine and data.draw(st.sampled_from([True, False])):
            name = data.draw(st.sampled_from(mine))
            text, form = decode(after[name])
            later = "".join(data.draw(changed_lines(tuple(split_lines(text)))))
            (world.root / name).write_bytes(form.bom + later.encode(form.encoding))
            outcome = (await world.undo(1))[name]
            back = merge(text, later, decode(before[name])[0])
            if later == text:
                assert world.read(name) == before[name]
            elif back.conflicts:
                assert (outcome, decode(world.read(name))[0]) == ("conflict", later)
            else:
                assert decode(world.read(name))[0] == back.text
            rest = {other: content for other, content in before.items() if other != name}
            assert {other: content for other, content in world.files().items() if other != name} == rest
            assert world.editor.texts == texts
        world.conversation.close()


def is_kept(change: FileChange, id: str, decision: EditDecision) -> bool:
    ids = (decision.hunks or {}).get(change.target, frozenset())
    whole = change.action in ("create", "delete") and len(ids) < len(change.hunks)
    return id in ids and not whole


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
        if change.action == "delete":
            return EditDecision("accept", None, hunks)
        texts[change.target] = "".join(draw(changed_lines(tuple(split_lines(change.new_text)))))
    return EditDecision("accept", None, hunks, texts)


def decided(change: FileChange, decision: EditDecision) -> str | None:
    """By the words of the contract, with lines alone; None for a file of which nothing stands."""
    if change.target in decision.texts and change.action != "delete":
        return decision.texts[change.target]
    old, new = split_lines(change.old_text or ""), split_lines(change.new_text)
    if decision.hunks is None:
        return change.new_text
    if change.target not in decision.hunks:
        return None
    ids = decision.hunks[change.target]
    if change.hunks and not ids:
        return None
    if change.action in ("create", "delete") and len(ids) < len(change.hunks):
        return None
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
