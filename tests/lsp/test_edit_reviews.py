"""Deciding on an edit in a plain LSP client: hunk by hunk, with a word to the model, with the text changed before."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.agent.log.accepted import accepted_part
from north_lsp.agent.ports.editor import EditDecision, EditReview
from north_lsp.lsp.code_lenses import actions, lenses
from north_lsp.lsp.editor import PlainEditor
from north_lsp.lsp.initialize import read_client
from north_lsp.lsp.message_questions import MessageQuestions
from north_lsp.lsp.pending_review import PendingReview
from north_lsp.lsp.progress import Progress
from north_lsp.lsp.review_document import ReviewProblem, document, read_document
from north_lsp.rpc.messages import RpcError
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_folder_change, make_rename
from north_lsp.workspace.proposal import EditProposal, FileChange, TextEncoding
from tests.support.edits import MemoryEditor
from tests.support.patience import PATIENCE

ROOT = Path("/r")
OLD = "".join(f"line {number}\n" for number in range(1, 31))
NEW = OLD.replace("line 3\n", "third\n").replace("line 20\n", "twentieth\nand more\n")


def change(name: str = "a.txt", old: str | None = OLD, new: str = NEW) -> FileChange:
    return make_change(ROOT / name, name, old, new, TextEncoding())


def pending(*files: FileChange, warnings: tuple[str, ...] = ()) -> PendingReview:
    review = EditReview(EditProposal("p1", "c", files, "an edit"), "an edit", not warnings, warnings)
    return PendingReview(review, ROOT / "north-review.diff")


def accepted(one: PendingReview) -> dict[str, str]:
    """What the decision comes to, by file."""
    assert one.decision is not None
    return {part.shown: part.new_text for part in accepted_part(one.review.proposal, one.decision).files}


def edited(old: str, new: str, *files: FileChange) -> PendingReview:
    """Accepted with the document changed."""
    one = pending(*(files or (change(),)))
    assert old in one.text()
    one.decide("accept", one.text().replace(old, new))
    return one


# -- the document ----------------------------------------------------------------------------------------------------


def test_an_unchanged_document_accepts_everything() -> None:
    one = pending(change(), change("new.txt", None, "x\n"), make_folder_change(ROOT / "e", "e", "delete"))
    one.decide("accept", one.text())
    assert one.decision == EditDecision("accept")


def test_the_word_to_the_model_goes_with_either_answer() -> None:
    for kind in ("accept", "reject", "stop"):
        one = pending(change())
        one.decide(kind, one.text().replace("\n\ndiff", "\nRather use a set.\n  Because.\ndiff", 1))
        assert one.decision == EditDecision(kind, "Rather use a set.\n  Because.")


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("+third", "+3rd\n+more", NEW.replace("third\n", "3rd\nmore\n")),
        ("+third\n", "", NEW.replace("third\n", "")),
        ("-line 3\n", " line 3\n", NEW.replace("third\n", "line 3\nthird\n")),
        (" line 4\n", "-line 4\n", NEW.replace("line 4\n", "")),
        ("+and more", "+", NEW.replace("and more", "")),
        (" line 5\n", "+new\n line 5\n", NEW.replace("line 5\n", "new\nline 5\n")),
    ],
)
def test_the_lines_of_the_document_are_what_is_applied(old: str, new: str, wanted: str) -> None:
    one = edited(old, new)
    assert one.decision is not None
    assert accepted(one) == {"a.txt": wanted}
    assert one.decision.texts == {ROOT / "a.txt": wanted}


def test_hunks_and_files_that_are_taken_out_are_rejected() -> None:
    one = pending(change(), change("b.txt"))
    text = one.text()
    first, second, third, _ = (place for place in [text.index("diff "), text.index("@@ -17"), text.rindex("diff "), 0])
    one.decide("accept", text[:second] + text[third : text.rindex("@@ -1,")] + text[text.rindex("@@ -17") :])
    assert first < second < third
    assert accepted(one) == {
        "a.txt": OLD.replace("line 3\n", "third\n"),
        "b.txt": OLD.replace("line 20\n", "twentieth\nand more\n"),
    }
    assert one.decision is not None
    assert one.decision.texts == {}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (" line 4", " line four", "must not be changed"),
        ("-line 3", "-line three", "must not be changed"),
        (" line 5\n", "", "must not be changed"),
        ("+third", "third", "every new line begins with +"),
        ("+third\n", "\n", "must not be changed"),
        (" line 23\n", "", "must not be changed"),
        ("@@ -1,6", "@@ -1,7", "first line of a hunk was changed"),
        ("b/a.txt\n---", "b/b.txt\n---", "names a file was changed"),
        (" line 21\n line 22\n line 23\n", "", "must not be changed"),
        (" line 23\n", " line 23\nx\n", "every new line begins with +"),
        (" line 23\n", " line 23\n\n+x\n", "every new line begins with +"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_line(old: str, new: str, words: str) -> None:
    one = pending(change())
    assert old in one.text()
    text = one.text().replace(old, new)
    with pytest.raises(ReviewProblem, match=r"line \d+ of the review: .*" + re.escape(words)):
        one.decide("accept", text)
    assert one.decision is None
    one.decide("reject", text)  # that needs no sense
    assert one.decision == EditDecision("reject")


def test_what_editors_do_by_themselves_changes_nothing() -> None:
    old = "a\n\nx  \nb\n"
    one = pending(change(old=old, new=old.replace("b", "c")))
    text = "\r\n".join(line if line[:1] == "+" else line.rstrip() for line in one.text().split("\n"))
    one.decide("accept", text + "\r\n\r\n")
    assert one.decision == EditDecision("accept")


def test_line_ends_and_a_missing_one_at_the_end_survive() -> None:
    old, new = "a\r\nb\nc\r\nd", "a\r\nB\nC\r\nd"
    assert accepted(edited("+C", "+CC", change(old=old, new=new))) == {"a.txt": "a\r\nB\nCC\r\nd"}
    assert accepted(edited("+C", "+C\n+D", change(old=old, new=new))) == {"a.txt": "a\r\nB\nC\r\nD\r\nd"}
    no_end = "\\ No newline at end of file\n"
    more = edited(f" d\n{no_end}", f" d\n{no_end}+e\n", change(old=old, new=new))
    assert accepted(more) == {"a.txt": "a\r\nB\nC\r\nd\r\ne\r\n"}
    last = edited(f"+y\n{no_end}", f"+y\n+z\n{no_end}", change(old="x", new="y"))
    assert accepted(last) == {"a.txt": "y\nz"}


def test_hidden_characters_are_shown_and_kept() -> None:
    one = pending(change(old="a\nb\n", new="a\u202e\nb\u200b\nc\n"))
    assert "+a<U+202E>\n" in one.text()
    one.decide("accept", one.text().replace("+c", "+d"))
    assert accepted(one) == {"a.txt": "a\u202e\nb\u200b\nd\n"}


def test_what_the_encoding_cannot_hold_is_said_while_it_can_be_fixed() -> None:
    latin = make_change(ROOT / "a.txt", "a.txt", "x\n", "ß\n", TextEncoding("latin-1"))
    with pytest.raises(ReviewProblem, match="cannot be written in latin-1"):
        edited("+ß", "+€", latin)
    assert accepted(edited("+ß", "+ä", latin)) == {"a.txt": "ä\n"}


def test_new_deleted_and_moved_files() -> None:
    assert accepted(edited("+x", "+y\n+z", change(old=None, new="x\n"))) == {"a.txt": "y\nz\n"}
    gone = make_deletion(ROOT / "a.txt", "a.txt", "x\ny\n", TextEncoding())
    with pytest.raises(ReviewProblem, match="only be accepted or rejected"):
        edited("-x", " x", gone)
    moved = make_rename(ROOT / "a.txt", "a.txt", ROOT / "b.txt", "b.txt", OLD, NEW, TextEncoding())
    assert accepted(edited("+third", "+3rd", moved)) == {"b.txt": NEW.replace("third", "3rd")}


def test_no_content_can_pass_for_a_part_of_the_document() -> None:
    evil = "diff --git a/x b/x\n@@ -1,6 +1,6 @@\n# North: fine\r+++ b/x\n\x0c\u2028@@ -1 +1 @@\n"
    one = pending(change(old="a\n", new=evil), change("b.txt"))
    one.decide("accept", one.text())
    assert one.decision == EditDecision("accept")
    written = read_document(one.review.proposal, one.text())
    assert (written.comment, written.changed) == (None, {})


lines = st.lists(st.sampled_from(["a", "b", "", " x ", "# c", "@@ -1 +1 @@", "\t", "é\u202e", "\\ No newline", "x\r"]))


@given(lines, lines, lines, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_whatever_is_proposed_an_unchanged_document_means_just_that(
    old: list[str], new: list[str], typed: list[str], newline: str, ends: bool, ended: bool
) -> None:
    before = newline.join(old) + newline * ended
    one = pending(change(old=before, new=newline.join(new) + newline * ends))
    one.decide("accept", one.text())
    assert one.decision == EditDecision("accept")
    written = read_document(
        one.review.proposal, one.text() + "".join(f"+{line}\n" for line in typed if "\r" not in line)
    )
    assert written.left == frozenset(one.all_units())


words = st.lists(st.sampled_from(["a", "b", "c", "", "# x", "-", "+", "@@ -1 +1 @@"]), max_size=25)
Typing = st.tuples(st.integers(0, 60), st.sampled_from(["drop", "add", "keep", "delete"]), st.sampled_from("ab#+ "))


@settings(max_examples=60)
@given(words, words, st.lists(Typing, max_size=6))
def test_whatever_is_typed_at_the_signs_is_what_stands_there(
    old: list[str], new: list[str], typed: list[tuple[int, str, str]]
) -> None:
    one = pending(change(old="".join(f"{line}\n" for line in old), new="".join(f"{line}\n" for line in new)))
    rows = one.text().split("\n")
    begin = next((at for at, row in enumerate(rows) if row.startswith("@@ ")), len(rows))
    for at, what, letter in typed:
        here = begin + 1 + at
        if here >= len(rows) or rows[here].startswith("@@ ") or not rows[here]:
            continue
        match what:
            case "drop" if rows[here][0] == "+":
                del rows[here]
            case "add":
                rows.insert(here, f"+{letter}")
            case "keep" if rows[here][0] == "-":
                rows[here] = f" {rows[here][1:]}"
            case "delete" if rows[here][0] == " ":
                rows[here] = f"-{rows[here][1:]}"
    one.decide("accept", "\n".join(rows))
    assert accepted(one).get("a.txt", "".join(f"{line}\n" for line in old)) == _meant(old, rows[begin:])


def _meant(old: list[str], rows: list[str]) -> str:
    """What a diff says, read in the simplest way."""
    out: list[str] = []
    at = 0
    for row in rows:
        if found := re.match(r"@@ -(\d+),(\d+) \+\d+,\d+ @@$", row):
            start, size = int(found[1]), int(found[2])
            start -= size > 0
            out += old[at:start]
            at = start + size
        elif row[:1] in (" ", "+") and row:
            out.append(row[1:])
    return "".join(f"{line}\n" for line in out + old[at:])


# -- hunk by hunk ------------------------------------------------------------------------------------------------------


def test_the_last_hunk_decides_the_edit() -> None:
    one = pending(change(), change("b.txt"))
    first, second = one.find(ROOT / "a.txt", "h1"), one.find(ROOT / "a.txt", "h2")
    assert not one.decide_units(first, True, None)
    assert not one.decide_units(second, True, None)
    assert not one.decide_units(second, False, None)  # thought better of it
    assert one.decide_units(one.find(ROOT / "b.txt", None), False, None)
    assert accepted(one) == {"a.txt": OLD.replace("line 3\n", "third\n")}


def test_all_means_what_was_not_rejected_before() -> None:
    one = pending(change())
    one.decide_units(one.find(ROOT / "a.txt", "h1"), False, None)
    one.decide("accept", None)
    assert accepted(one) == {"a.txt": OLD.replace("line 20\n", "twentieth\nand more\n")}


def test_when_no_hunk_stands_it_is_rejected() -> None:
    one = pending(change())
    for hunk in ("h1", "h2"):
        one.decide_units(one.find(ROOT / "a.txt", hunk), False, None)
    assert one.decision == EditDecision("reject")
    assert one.find(ROOT / "x", None) == one.find(ROOT / "a.txt", "h9") == []


def titles(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in found]


def test_lenses_stand_at_the_hunks_of_the_file_and_of_the_document() -> None:
    one = pending(change(), change("new.txt", None, "x\n"))
    assert titles(lenses(one, ROOT / "a.txt", OLD)) == [
        (2, "North: accept (+1/-1)"),
        (2, "North: reject"),
        (19, "North: accept (+2/-1)"),
        (19, "North: reject"),
    ]
    one.decide_units(one.find(ROOT / "a.txt", "h1"), True, None)
    assert titles(lenses(one, ROOT / "a.txt", OLD))[0] == (2, "North: accepted (reject instead)")
    rows = one.text().split("\n")
    shown = titles(lenses(one, one.path, one.text()))
    assert shown[:2] == [(0, "North: accept the rest"), (0, "North: reject all")]
    assert [rows[line][:9] for line, _ in shown[2:]] == ["@@ -1,6 +", "@@ -17,7 ", "@@ -17,7 ", *["diff --gi"] * 2]
    assert lenses(one, ROOT / "new.txt", "") == []
    assert titles(lenses(one, ROOT / "a.txt", "short\n"))[-1][0] == 1


def test_actions_are_those_of_the_lines_in_question() -> None:
    one = pending(change())

    def names(path: Path, text: str, line: int) -> list[str]:
        return [row["title"] for row in actions(one, path, text, line, line)]

    whole = ["North: accept all", "North: reject all"]
    assert names(ROOT / "a.txt", OLD, 2) == ["North: accept (+1/-1)", "North: reject", *whole]
    assert names(ROOT / "a.txt", OLD, 19) == ["North: accept (+2/-1)", "North: reject", *whole]
    assert names(ROOT / "a.txt", OLD, 12) == []
    assert names(one.path, one.text(), 0) == whole
    assert names(one.path, one.text(), one.text().count("\n") - 1)[0] == "North: accept (+2/-1)"


# -- with a client -----------------------------------------------------------------------------------------------------


class Client:
    """A client whose message stays open until `answers` has something for it."""

    def __init__(self) -> None:
        self.answers, self.taken = anyio.create_memory_object_stream[object](10)
        self.methods: list[str] = []
        self.messages: list[dict[str, Any]] = []
        self.withdrawn = 0
        self.asked = anyio.Event()
        self.shows = True

    async def request(self, method: str, params: Any, *, cancellable: bool = False) -> object:
        self.methods.append(method)
        if method == "window/showDocument":
            return {"success": self.shows}
        if method == "workspace/codeLens/refresh":
            return None
        self.messages.append(params)
        self.asked.set()
        self.asked = anyio.Event()
        try:
            answer = await self.taken.receive()
        except anyio.get_cancelled_exc_class():
            self.withdrawn += 1
            raise
        if isinstance(answer, RpcError):
            raise answer
        return answer


class Asked:
    def __init__(self, north: PlainEditor, client: Client, documents: MemoryEditor) -> None:
        self.north, self.client, self.documents = north, client, documents
        self.decision: EditDecision | None = None

    @property
    def path(self) -> Path:
        return self.north.reviews.pending({}).path

    async def command(self, verb: str, **given: Any) -> dict[str, Any]:
        return await self.north.reviews.command(given, accepts=verb == "accept")


@asynccontextmanager
async def asking(*files: FileChange, lenses: bool = True, shows: bool = True, **more: Any) -> AsyncIterator[Asked]:
    """While an edit is asked about; afterwards `decision` is what came of it."""
    document: dict[str, Any] = {"codeLens": {}} if lenses else {}
    window = {"showDocument": {"support": shows}}
    capabilities = {"window": window, "textDocument": document, "workspace": {"codeLens": {"refreshSupport": True}}}
    client, documents = Client(), MemoryEditor()
    progress = Progress(cast(Any, client), is_shown=False)
    north = PlainEditor(cast(Any, client), documents, read_client({"capabilities": capabilities}), progress)
    asked = Asked(north, client, documents)

    async def review() -> None:
        asked.decision = await north.review_edit(pending(*(files or (change(),)), **more).review)

    with anyio.fail_after(PATIENCE), client.answers, client.taken:
        async with anyio.create_task_group() as tasks:
            begun = client.asked
            tasks.start_soon(review)
            await begun.wait()
            yield asked


async def test_hunks_are_decided_by_commands_and_the_message_is_withdrawn() -> None:
    async with asking() as asked:
        path = asked.path
        assert path.read_text().startswith("# North: an edit\n")
        assert path.stat().st_mode & 0o777 == 0o600
        (message,) = asked.client.messages
        names = [action["title"] for action in message["actions"]]
        always = "Accept this and all later edits in this project"
        assert names == ["Reject", "Decide in the document", "Accept", always]
        assert "north-review.diff" in message["message"]
        assert message["message"].endswith("changed: a.txt (+3/-2)")
        assert "+third\n" in path.read_text()
        given = {"reviewId": "p1", "path": "/r/a.txt"}
        assert await asked.command("accept", **given, hunk="h1") == {"decided": False}
        assert await asked.command("reject", **given, hunk="h2", comment="Not that one.") == {"decided": True}
    assert asked.decision == EditDecision("accept", "Not that one.", {ROOT / "a.txt": frozenset({"h1"})})
    assert asked.client.withdrawn == 1
    assert not path.exists()
    assert asked.client.methods.count("workspace/codeLens/refresh") == 3
    with pytest.raises(RpcError, match="no such edit is waiting"):
        await asked.command("accept", reviewId="p1")


async def test_the_text_in_the_editor_counts_and_else_what_was_saved() -> None:
    async with asking() as asked:
        asked.documents.texts[asked.path] = asked.path.read_text().replace("+third", "+3rd")
        await asked.client.answers.send({"title": "Accept"})
    assert asked.decision is not None
    assert asked.decision.texts == {ROOT / "a.txt": NEW.replace("third", "3rd")}
    async with asking() as asked:
        asked.path.write_text(asked.path.read_text().replace("\n\ndiff", "\nFine so.\ndiff", 1))
        await asked.command("accept")
    assert asked.decision == EditDecision("accept", "Fine so.")
    async with asking() as asked:
        asked.documents.texts[asked.path] = asked.path.read_text()  # its change was saved, but not told yet
        asked.path.write_text(asked.path.read_text().replace("\n\ndiff", "\nFine so.\ndiff", 1))
        await asked.command("accept")
    assert asked.decision == EditDecision("accept", "Fine so.")


async def test_a_document_that_makes_no_sense_is_asked_about_again() -> None:
    async with asking() as asked:
        good = asked.path.read_text()
        asked.documents.texts[asked.path] = good.replace("+third", "third")
        with pytest.raises(RpcError, match="every new line begins with"):
            await asked.command("accept")
        again = asked.client.asked
        await asked.client.answers.send({"title": "Accept"})
        await again.wait()
        assert "The edit cannot be accepted as it is: line " in asked.client.messages[1]["message"]
        asked.documents.texts[asked.path] = good
        await asked.client.answers.send({"title": "Accept this and all later edits in this project"})
    assert asked.decision == EditDecision("always")


@pytest.mark.parametrize("answer", [None, {"title": "Reject"}, {"title": "accept"}, RpcError(-32603, "no")])
async def test_whatever_is_no_consent_refuses_even_with_accepted_hunks(answer: object) -> None:
    async with asking() as asked:
        await asked.command("accept", path="/r/a.txt", hunk="h1")
        await asked.client.answers.send(answer)
    assert asked.decision == EditDecision("reject")


async def test_deciding_in_the_document_keeps_the_edit_waiting() -> None:
    async with asking() as asked:
        await asked.client.answers.send({"title": "Decide in the document"})
        await anyio.lowlevel.checkpoint()
        params = {"textDocument": {"uri": asked.path.as_uri()}}
        (first, *_) = await asked.north.reviews.lenses(params)
        assert first["command"]["command"] == "north.review.accept"
        await asked.command("reject", **first["command"]["arguments"][0], stop=True)
    assert asked.decision == EditDecision("stop")


async def test_a_client_without_questions_decides_in_documents() -> None:
    async with asking() as asked:
        await asked.client.answers.send(RpcError(-32601, "no such method"))
        summary = asked.north.reviews.pending({}).summary()
        assert summary["uri"] == asked.path.as_uri()
        assert [part["hunk"] for part in summary["files"][0]["parts"]] == ["h1", "h2"]
        await asked.command("accept", scope="session")
    assert asked.decision == EditDecision("session")


@pytest.mark.parametrize("more", [{"lenses": False}, {"shows": False}])
async def test_where_nothing_else_can_be_done_only_the_answers_to_the_message_count(more: Any) -> None:
    async with asking(**more) as asked:
        (message,) = asked.client.messages
        assert [action["title"] for action in message["actions"]][:2] == ["Reject", "Accept"]
        await asked.client.answers.send(RpcError(-32601, "no such method"))
    assert asked.decision == EditDecision("reject")


async def test_a_diff_is_in_the_message_only_where_it_is_not_open_beside_it() -> None:
    long = change("new.txt", None, "".join(f"line {number}\n" for number in range(500)))
    for shows in (True, False):
        async with asking(long, shows=shows) as asked:
            (message,) = asked.client.messages
            assert ("+line 499" in message["message"]) == (not shows)
            assert ("new: new.txt (+500/-0)" in message["message"]) == shows
            assert message["message"].count("\n") < 10 or not shows
            assert "+line 499" in asked.path.read_text()
            await asked.client.answers.send(None)


async def test_bad_commands_decide_nothing() -> None:
    async with asking(warnings=("asks every time",)) as asked:
        for given in (
            {"reviewId": "other"},
            {"path": "/r/x"},
            {"path": "/r/a.txt", "hunk": "h9"},
            {"path": 3},
            {"hunk": "h1"},
            {"path": "/r/a.txt", "hunk": 1},
            {"comment": 3},
            {"always": True},
            {"scope": "session"},
            {"uri": "https://x/a.txt"},
        ):
            with pytest.raises(RpcError):
                await asked.command("accept", **given)
        assert asked.decision is None
        await asked.command("reject", value="Because.")
    assert asked.decision == EditDecision("reject", "Because.")


async def test_nothing_is_offered_where_nothing_waits() -> None:
    async with asking() as asked:
        for uri in ("file:///r/other.txt", "untitled:x", 3):
            assert await asked.north.reviews.lenses({"textDocument": {"uri": uri}}) == []
        here = {"textDocument": {"uri": asked.path.as_uri()}}
        lines = {"start": {"line": 0}, "end": {"line": 0}}
        only = {**here, "range": lines, "context": {"only": ["refactor"]}}
        assert await asked.north.reviews.actions(only) == []
        assert await asked.north.reviews.actions({**here, "range": lines, "context": {}}) != []
        await asked.client.answers.send(None)
    assert await asked.north.reviews.lenses(here) == []


async def test_a_cancelled_turn_leaves_nothing_behind() -> None:
    north: PlainEditor
    with anyio.CancelScope() as scope:
        async with asking() as asked:
            north, path = asked.north, asked.path
            scope.cancel()
    assert not path.parent.exists()
    with pytest.raises(RpcError):
        north.reviews.pending({})


def test_the_document_says_what_the_user_has_to_know() -> None:
    one = pending(change(), make_folder_change(ROOT / "e", "e", "delete"), warnings=("x is protected",))
    head = document(one.review.proposal, one.review.warnings).split("\n\n")[0]
    assert "# x is protected" in head
    assert "Deletes the empty folder e" in one.text()


async def test_of_two_edits_that_wait_each_is_decided_for_itself() -> None:
    """An agent in the background asks while the conversation asks."""
    async with asking() as asked:
        decided: list[EditDecision] = []

        async def of_an_agent() -> None:
            decided.append(await asked.north.review_edit(pending(change("b.txt")).review))

        first = asked.north.reviews.waiting
        assert first is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(of_an_agent)
            while asked.north.reviews.waiting is first:
                await anyio.sleep(0.001)
            second = asked.north.reviews.waiting
            assert second is not None
            await asked.north.reviews.command({"reviewId": second.id}, accepts=False)
        assert decided == [EditDecision("reject")]
        assert asked.north.reviews.waiting is first
        await asked.north.reviews.command({"reviewId": first.id}, accepts=True)
    assert asked.decision == EditDecision("accept")


async def test_of_two_questions_the_one_that_is_left_can_be_answered() -> None:
    client = Client()
    with client.answers, client.taken:
        async with anyio.create_task_group() as tasks:
            questions = MessageQuestions(cast(Any, client), lambda text: True)
            tasks.start_soon(questions.ask, "first?", {"Yes": "yes"}, 3)
            await anyio.wait_all_tasks_blocked()
            first = questions.waiting
            tasks.start_soon(questions.ask, "second?", {"Yes": "yes"}, 3)
            await anyio.wait_all_tasks_blocked()
            second = questions.waiting
            assert first is not None
            assert second is not first
            first.done.set()
            await anyio.wait_all_tasks_blocked()
            assert questions.waiting is second
            tasks.cancel_scope.cancel()
