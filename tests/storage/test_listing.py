import fnmatch
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage import listing, sqlite, summaries
from north_lsp.storage.conversation import Conversation, UnknownConversation
from north_lsp.storage.conversation_index import SCHEMA, ConversationIndex
from north_lsp.storage.listing import delete_conversation, list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.storage.log_state import parse_line

New = Callable[..., Conversation]
Child = Callable[..., Any]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def put(store: Locations, id: str, *lines: dict[str, Any] | bytes) -> Path:
    store.conversations.mkdir(parents=True, exist_ok=True)
    path = store.conversations / f"{id}.jsonl"
    path.write_bytes(b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines))
    return path


def header(second: int, **more: Any) -> dict[str, Any]:
    time = f"2025-01-01T00:00:{second:02d}.000Z"
    return {"type": "conversation_started", "version": 4, "timestamp": time, "repoRoot": "/p", "cwd": "/p", **more}


NOTE = {"type": "custom", "id": "note", "parentId": None}


def said(second: int, text: str, role: str = "user") -> dict[str, Any]:
    message = {**user(text), "role": role}
    time = f"2025-01-01T00:00:{second:02d}.000Z"
    return {"type": "message", "id": str(second), "parentId": None, "timestamp": time, "message": message}


def names(store: Locations, **filters: Any) -> list[str]:
    return [summary.id for summary in list_conversations(store, **filters)]


def test_an_empty_store_lists_nothing_and_writes_nothing(store: Locations) -> None:
    assert list_conversations(store) == []
    assert not store.data.exists()


def test_an_index_from_before_further_roots_is_used_on(store: Locations) -> None:
    roots = {"type": "roots_changed", "id": "1", "timestamp": "2025-01-01T00:00:09.000Z", "roots": ["/q", 7]}
    put(store, "a", header(1), said(2, "hello"), roots)
    put(store, "b", header(1), said(3, "hello"))
    with closing(sqlite.connect(store.index, SCHEMA[:1])):
        pass
    found = [(summary.id, summary.further_roots, summary.updated_at[-6:]) for summary in list_conversations(store)]
    assert found == [("b", (), "3.000Z"), ("a", (Path("/q"),), "2.000Z")]


def test_a_summary_tells_what_the_log_tells(store: Locations) -> None:
    put(
        store,
        "a",
        header(1, model="m/one", repoHash="11"),
        said(2, "first \x1b[31mprompt\nof two lines"),
        said(3, "answer", "assistant"),
        said(4, "result", "toolResult"),
        {"type": "model_change", "id": "x", "parentId": "4", "timestamp": "2025-01-01T00:00:05.000Z", "model": "m/two"},
        {"type": "title_changed", "id": "y", "timestamp": "2025-01-01T00:00:06.000Z", "title": "A\u202e title"},
        {"type": "archived", "id": "z", "timestamp": "2025-01-01T00:00:07.000Z", "archived": True},
        {"type": "conversation_ended", "id": "e", "timestamp": "2025-01-01T00:00:09.000Z", "reason": "exit"},
    )
    expected = listing.Summary(
        id="a",
        title="A title",
        repo_root=Path("/p"),
        cwd=Path("/p"),
        created_at="2025-01-01T00:00:01.000Z",
        updated_at="2025-01-01T00:00:07.000Z",
        model="m/two",
        message_count=2,
        first_prompt="first [31mprompt of two lines",
        archived=True,
        repo_hash="11",
        title_source="auto",
        last_prompt="first [31mprompt of two lines",
        ended=True,
    )
    assert list_conversations(store) == [expected]
    assert list_conversations(store) == [expected]  # from the index


def test_the_name_is_title_or_first_prompt_or_id(store: Locations) -> None:
    title = {"type": "title_changed", "id": "y", "title": "T" * 50}
    put(store, "a", header(3), said(3, "prompt"), title)
    put(store, "b", header(2), said(2, "prompt"))
    put(store, "c", header(1), NOTE)
    assert [summary.name for summary in list_conversations(store)] == ["T" * 39 + "…", "prompt", "c"]


def test_a_conversation_in_which_nothing_was_said_is_not_listed(store: Locations, new: New) -> None:
    conversation = new()
    conversation.keep()
    assert conversation.path.exists()
    conversation.append("mode_change", mode="ask")
    conversation.end("exit")
    conversation.close()
    assert names(store) == []
    assert Conversation.open(store, conversation.id).entries[-1]["mode"] == "ask"
    conversation.append("message", message=user("hello"))
    conversation.close()
    assert names(store) == [conversation.id]


def test_what_was_about_a_folder_is_listed_when_that_was_moved(store: Locations, new: New, tmp_path: Path) -> None:
    before, after, copy = (tmp_path / name for name in ("before", "after", "copy"))
    before.mkdir()
    copy.mkdir()
    conversation = new(before)
    conversation.append("message", message=user("hello"))
    conversation.close()
    before.rename(after)
    for _ in range(2):  # from the log, then from the index
        assert [names(store, cwd=folder) for folder in (before, after, copy)] == [[conversation.id]] * 2 + [[]]
    before.mkdir()
    assert names(store, cwd=after) == []


def test_newest_first_and_by_project_or_directory(store: Locations, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    put(store, "old", header(1, repoHash="11", cwd=str(tmp_path / "real")), said(9, "later"))
    put(store, "mid", header(5, repoHash="22", cwd="/elsewhere"), NOTE)
    put(store, "new", header(7, repoHash="11", cwd=str(tmp_path / "gone")), NOTE)
    assert names(store) == ["old", "new", "mid"]
    assert names(store, repo_hash="11") == ["old", "new"]
    assert names(store, cwd=tmp_path / "link") == ["old"]
    assert names(store, cwd=tmp_path / "gone") == ["new"]


def test_a_bad_log_hides_neither_itself_nor_others(store: Locations) -> None:
    put(store, "good", header(1), NOTE)
    put(store, "torn", header(2), b'{"type":"message","id":"1"', b"\xff\x00\n[]\n7\n", said(3, "found"), b'{"typ')
    put(store, "junk", b"\0\0\0")
    put(store, "empty")
    (store.conversations / "folder.jsonl").mkdir()
    put(store, "v9", {"type": "conversation_started", "version": 9, "timestamp": [], "cwd": 3, "repoRoot": None})
    found = {summary.id: summary for summary in list_conversations(store)}
    assert set(found) == {"good", "torn", "junk", "folder", "v9"}
    assert found["torn"].first_prompt == "found"
    assert (found["junk"].name, found["junk"].cwd) == ("junk", Path("/"))


def test_what_was_written_meanwhile_is_seen(store: Locations, new: New) -> None:
    conversation = new()
    assert names(store) == []
    conversation.append("message", message=user("hello"))
    assert list_conversations(store)[0].message_count == 1
    conversation.append("message", message=user("again"))
    conversation.annotate("title_changed", title="t", titleSource="auto")
    assert list_conversations(store)[0].message_count == 2
    assert list_conversations(store)[0].title == conversation.title
    conversation.close()


def test_the_index_spares_the_reading_of_logs(store: Locations) -> None:
    one, two = put(store, "a", header(1), NOTE), put(store, "b", header(1), NOTE)
    list_conversations(store)
    size, time = one.stat().st_size, one.stat().st_mtime_ns
    one.write_bytes(b"x" * size)  # same size and time: nobody looks
    os.utime(one, ns=(time, time))
    two.write_bytes(two.read_bytes() + json.dumps(said(2, "x")).encode())
    assert [(summary.id, summary.message_count) for summary in list_conversations(store)] == [("b", 1), ("a", 0)]


def index_of(store: Locations) -> Path:
    return store.data / "search.db"


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{torn",
        b"SQLite format 3\0" + b"\xff" * 5000,
        b"\0" * 8192,
    ],
)
def test_the_index_may_be_lost_or_damaged(store: Locations, damage: bytes) -> None:
    for id in ("a", "b"):
        put(store, id, header(1), NOTE)
    before = list_conversations(store)
    index_of(store).unlink()
    assert list_conversations(store) == before
    for end in ("-wal", "-shm"):
        index_of(store).with_name(f"search.db{end}").unlink(missing_ok=True)
    index_of(store).write_bytes(damage)
    assert list_conversations(store) == before
    assert list_conversations(store) == before
    with sqlite3.connect(index_of(store)) as index:
        assert index.execute("SELECT id FROM conversations ORDER BY id").fetchall() == [("a",), ("b",)]
        index.execute("DROP TABLE conversations")
    assert list_conversations(store) == before


def test_the_index_of_a_newer_north_stays_as_it_is(store: Locations) -> None:
    put(store, "a", header(1), NOTE)
    before = list_conversations(store)
    with sqlite3.connect(index_of(store)) as index:
        index.execute("PRAGMA user_version = 99")
        index.execute("DROP TABLE conversations")
    assert list_conversations(store) == before
    with sqlite3.connect(index_of(store)) as index:
        assert index.execute("PRAGMA user_version").fetchone() == (99,)


def test_a_list_does_not_need_the_index(store: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_SECONDS", 0.01)
    put(store, "a", header(1), NOTE)
    list_conversations(store)
    put(store, "b", header(2), NOTE)
    with closing(sqlite3.connect(index_of(store), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert names(store) == ["b", "a"]
    index_of(store).unlink()
    index_of(store).mkdir()
    assert names(store) == ["b", "a"]


def test_only_the_user_can_read_the_index(store: Locations) -> None:
    put(store, "a", header(1), NOTE)
    list_conversations(store)
    with closing(sqlite3.connect(index_of(store))) as other:
        other.execute("SELECT count(*) FROM conversations").fetchall()  # keeps the files beside it there
        assert {path.stat().st_mode & 0o777 for path in store.data.glob("search.db*")} == {0o600}


def test_of_a_log_that_has_grown_only_the_new_lines_are_read(store: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def counted(line: bytes) -> object:
        read.append(line)
        return parse_line(line)

    monkeypatch.setattr(summaries, "parse_line", counted)
    log = put(store, "a", header(1), said(2, "first"))
    list_conversations(store)
    more = (said(3, "second"), said(4, "answer", "assistant") | {"id": "4"})
    for line in more:
        with log.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
        read.clear()
        found = list_conversations(store)
        assert len(read) == 1
    assert (found[0].first_prompt, found[0].last_prompt, found[0].message_count) == ("first", "second", 3)
    index_of(store).unlink()
    assert list_conversations(store) == found
    log.write_bytes(log.read_bytes().replace(b"first", b"other") + json.dumps(said(5, "x" * 5000)).encode() + b"\n")
    assert list_conversations(store)[0].first_prompt == "other"


def test_the_model_is_that_of_the_first_answer_where_nothing_else_tells_it(store: Locations) -> None:
    first, nameless = said(3, "Here.", "assistant"), said(4, "There.", "assistant")
    first["message"] |= {"provider": "x", "model": "vendor/one"}
    put(store, "aa11", header(1), said(2, "Where?"), nameless, first)
    put(store, "aa22", header(1, model="offline/offline"), said(2, "Where?"), first)
    models = {one.id: (one.model, one.model_name) for one in list_conversations(store)}
    assert models == {"aa11": ("x/vendor/one", "one"), "aa22": ("offline/offline", "offline")}


def test_a_summary_tells_cost_origin_and_end(store: Locations) -> None:
    answer = said(3, "answer", "assistant")
    answer["message"]["usage"] = {"input": 1, "cost": {"total": 0.25}}
    recorded = {"type": "usage_recorded", "id": "u", "purpose": "title", "model": "m", "usage": {}, "cost": 0.5}
    end = {"type": "conversation_ended", "id": "e", "reason": "exit"}
    title = {"type": "title_changed", "id": "t", "title": "Mine", "titleSource": "user"}
    late = {"type": "title_changed", "id": "v", "title": "Theirs", "titleSource": "auto"}
    start = header(1, parentSession={"id": "f00", "relation": "fork"})
    put(store, "a", start, said(2, "first"), answer, recorded, title, late, end)
    (found,) = list_conversations(store)
    assert (found.cost_usd, found.parent, found.ended, found.last_prompt) == (0.75, "f00", True, "first")
    assert (found.title, found.title_source) == ("Mine", "user")
    with (store.conversations / "a.jsonl").open("ab") as file:
        file.write(json.dumps(said(5, "again")).encode() + b"\n")
    assert not list_conversations(store)[0].ended


def test_the_index_is_kept_up_for_one_conversation(store: Locations) -> None:
    put(store, "a", header(1), said(2, "first"))
    put(store, "b", header(1), said(2, "first"))
    ConversationIndex(store).note("a")
    with sqlite3.connect(index_of(store)) as index:
        assert index.execute("SELECT id, message_count FROM conversations").fetchall() == [("a", 1)]
    ConversationIndex(store).note("gone")
    assert names(store) == ["b", "a"]


# -- deleting ---------------------------------------------------------------------------------------------------------


def test_a_deleted_conversation_is_in_the_trash_with_all_its_files(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user("hello"))
    conversation.close()
    id = conversation.id
    (store.conversations / f"{id}.snapshot.json").write_text("{}")
    (store.conversations / f"{id}.partial.jsonl").write_text("{}")
    (store.conversations / id).mkdir()
    (store.conversations / id / "1.shell.log").write_text("output")
    list_conversations(store)
    assert delete_conversation(store, id)
    assert names(store) == []
    assert sorted(os.listdir(store.conversations)) == ["trash"]
    (trash,) = (store.conversations / "trash").iterdir()
    assert trash.name.startswith(f"{id}-")
    assert {f"{id}.jsonl", f"{id}.snapshot.json", f"{id}.partial.jsonl", id} <= set(os.listdir(trash))
    assert (trash / id / "1.shell.log").read_text() == "output"
    with pytest.raises(UnknownConversation):
        Conversation.open(store, id)
    assert not delete_conversation(store, id)
    put(store, id, header(1), NOTE)
    assert delete_conversation(store, id)


@pytest.mark.parametrize("id", ["../x", "", "trash"])
def test_only_conversations_are_deleted(store: Locations, id: str) -> None:
    with pytest.raises(ValueError, match="not the id"):
        delete_conversation(store, id)


def test_a_conversation_that_is_open_elsewhere_is_deleted_and_goes_on_in_memory(store: Locations, child: Child) -> None:
    process = child("""
conversation = create()
conversation.append("message", message=user("first"))
print(conversation.id, flush=True)
sys.stdin.readline()
print(conversation.is_gone, flush=True)
conversation.disown("gone")
conversation.append("message", message=user("second"))
conversation.close()
print(len(conversation.entries), flush=True)
""")
    id = process.stdout.readline().strip()
    assert delete_conversation(store, id)
    assert names(store) == []
    process.stdin.write("\n")
    process.stdin.flush()
    assert [process.stdout.readline().strip() for _ in range(2)] == ["True", "2"]
    process.wait()
    assert [path.name for path in store.conversations.iterdir()] == ["trash"]


def test_deleting_leaves_nothing_behind_in_memory(store: Locations) -> None:
    compiled = fnmatch._compile_pattern  # type: ignore[attr-defined]  # what `glob` keeps its patterns in
    for number in range(3):
        put(store, f"abc{number}", header(1), said(2, "hello"))
        put(store, f"abc{number}.jsonl.bak-1", header(1)).rename(store.conversations / f"abc{number}.jsonl.bak-1")
    before = compiled.cache_info().currsize
    for number in range(3):
        assert delete_conversation(store, f"abc{number}")
        assert not delete_conversation(store, f"abc{number}")
    assert compiled.cache_info().currsize == before
    assert not list(store.conversations.glob("abc*"))
