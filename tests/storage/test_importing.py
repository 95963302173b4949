"""Logs that are copied into new conversations: foreign ones, those of other formats, the rest of damaged ones."""

import json
from pathlib import Path

import pytest

from north_lsp.storage.conversation import Conversation
from north_lsp.storage.copying import Place
from north_lsp.storage.importing import NotImported, import_log
from north_lsp.storage.locations import Locations
from tests.storage.conftest import New
from tests.storage.test_old_formats import LOGS, said

GOLDEN = Path(__file__).parent / "logs"


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, "0123456789abcdef")


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", LOGS)
def test_every_former_format_becomes_what_the_golden_file_has(store: Locations, place: Place, name: str) -> None:
    source = GOLDEN / f"{name}.jsonl"
    before = source.read_bytes()
    got = import_log(store, source, place, salvage=False)
    conversation = Conversation.open(store, got.id)
    assert (conversation.read_only_reason, conversation.warnings) == (None, [])
    assert (got.messages, got.left_out) == (2, 0)
    assert said(conversation)[0] == ("user", ["rename it"])
    assert (conversation.header["repoRoot"], conversation.header["repoHash"]) == (str(place.root), place.hash)
    header, *rest, note = lines_of(conversation.path)
    parent = header["parentSession"]
    assert isinstance(parent, dict)
    assert parent["relation"] == "import"
    assert (note["customType"], note["data"]) == (
        "import",
        {"path": str(source), "leftOut": 0, "formerId": parent["id"]},
    )
    assert rest == lines_of(GOLDEN / f"{name}.today.jsonl")
    assert source.read_bytes() == before


def test_one_of_todays_keeps_its_project_if_that_is_there(store: Locations, place: Place, new: New) -> None:
    root = place.root / "own"
    root.mkdir()
    conversation = new(root, "1111111111111111")
    conversation.append("message", message=user("hello"))
    conversation.annotate("queue_changed", words=[{"id": "q", "kind": "followUp", "mode": "agent", "text": "later"}])
    (conversation.folder).mkdir()
    (conversation.folder / "1.shell_run.log").write_text("all of it")
    conversation.close()
    got = import_log(store, conversation.path, place, salvage=False)
    copy = Conversation.open(store, got.id)
    assert copy.header["repoHash"] == "1111111111111111"
    assert copy.header["parentSession"] == {"id": conversation.id, "relation": "import"}
    assert copy.queue == []
    assert (copy.folder / "1.shell_run.log").read_text() == "all of it"
    copy.append("message", message=user("more"))
    copy.close()
    assert said(Conversation.open(store, conversation.id)) == [("user", ["hello"])]
    assert said(Conversation.open(store, got.id)) == [("user", ["hello"]), ("user", ["more"])]


def damaged(new: New, *bad: int) -> Conversation:
    conversation = new()
    for number in range(5):
        conversation.append("message", message=user(f"words {number}"))
    conversation.close()
    lines = conversation.path.read_bytes().splitlines(keepends=True)
    for number in bad:
        lines[number] = b"\x00" * 20 + b"\n"
    lines += [b"{ torn\n"] * 4
    conversation.path.write_bytes(b"".join(lines))
    return conversation


@pytest.mark.parametrize("bad", [(2, 4), (0, 1, 3)])
def test_what_can_be_read_of_a_damaged_one_is_copied(
    store: Locations, place: Place, new: New, bad: tuple[int, ...]
) -> None:
    conversation = damaged(new, *bad)
    before = conversation.path.read_bytes()
    assert Conversation.open(store, conversation.id).read_only_reason is not None
    with pytest.raises(NotImported) as refused:
        import_log(store, conversation.path, place, salvage=False)
    assert refused.value.can_be_salvaged
    got = import_log(store, conversation.path, place, salvage=True)
    assert got.left_out == 4 + len(bad)
    copy = Conversation.open(store, got.id)
    assert copy.read_only_reason is None
    kept = [number for number in range(5) if number + 1 not in bad]
    path = [entry["message"]["content"][0]["text"] for entry in copy.active_path() if entry["type"] == "message"]
    assert path == [f"words {number}" for number in kept]
    assert conversation.path.read_bytes() == before


def test_what_a_newer_north_wrote_is_not_taken_apart(store: Locations, place: Place, tmp_path: Path) -> None:
    newer, nothing = tmp_path / "newer.jsonl", tmp_path / "nothing.jsonl"
    newer.write_text('{"type":"conversation_started","version":5,"id":"a"}\n{"type":"message","id":"1"}\n')
    nothing.write_text("no log\nat all\n")
    for salvage in (False, True):
        with pytest.raises(NotImported, match="a newer North wrote it") as refused:
            import_log(store, newer, place, salvage=salvage)
        assert not refused.value.can_be_salvaged
        with pytest.raises(NotImported) as refused:
            import_log(store, nothing, place, salvage=salvage)
        assert not refused.value.can_be_salvaged
    with pytest.raises(FileNotFoundError):
        import_log(store, tmp_path / "gone.jsonl", place, salvage=True)
    assert not list(store.conversations.glob("*.jsonl"))
