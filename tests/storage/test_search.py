import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage import search
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.conversation_index import ConversationIndex, Wanted
from north_lsp.storage.listing import delete_conversation
from north_lsp.storage.locations import Locations
from north_lsp.storage.search import Search, snippet
from tests.storage.test_listing import header, put, said

New = Callable[..., Conversation]
ALL = Wanted()


@pytest.fixture(params=["fts5", "scan"])
def find(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Search as both ways do, and return the ids."""
    if request.param == "scan":
        monkeypatch.setattr(search, "_CREATE", "CREATE VIRTUAL TABLE IF NOT EXISTS words USING nosuchmodule(text)")

    def ids(store: Locations, query: str, wanted: Wanted = ALL) -> list[str]:
        return [hit.summary.id for hit in Search(store).search(query, wanted).found]

    return ids


Find = Callable[..., list[str]]


def titled(text: str) -> dict[str, Any]:
    return {"type": "title_changed", "id": "t", "title": text, "titleSource": "user"}


def test_every_word_is_found_as_the_beginning_of_one_in_any_case(store: Locations, find: Find) -> None:
    put(store, "a", header(1), said(2, "Rename the Parser"), said(3, "Renamed in grammar.py", "assistant"))
    put(store, "b", header(1), said(2, "unrelated"))
    for query in ("parser", "PARS", "rename grammar", "gram ren pars", "grammar.py", '"parser', "pars*"):
        expected = [] if query in ('"parser', "pars*") and find(store, query) == [] else ["a"]
        assert find(store, query) == expected, query
    assert find(store, "parser unrelated") == []
    assert find(store, "zebra") == []
    assert find(store, "") == ["a", "b"]
    assert find(store, " \0 ") == ["a", "b"]


def test_what_was_said_done_and_touched_is_found(store: Locations, find: Find) -> None:
    call = {"type": "tool_call", "id": "c", "name": "edit_create_file", "arguments": {"path": "src/wombat.py"}}
    answer = said(3, "answer", "assistant")
    answer["message"]["content"].append(call)
    own = said(4, "")
    own["message"] = {"role": "bashExecution", "command": "cargo koala", "output": "hidden"}
    mention = said(5, "see")
    mention["message"]["content"].append({"type": "file_mention", "path": "docs/quokka.md", "preview": "p"})
    mention["message"]["content"].append({"type": "context", "text": "volatile"})
    label = {"type": "label", "id": "l", "targetId": "3", "label": "milestone"}
    result = said(6, "outputs", "toolResult")
    nudge = said(7, "again")
    nudge["message"]["attribution"] = "north"
    lines = (answer, own, mention, label, result, nudge, titled("Marsupials"))
    put(store, "f00d", header(1, cwd="/home/me/burrow"), said(2, "prompt"), *lines)
    for query in ("wombat", "koala", "quokka.md", "milestone", "marsupials", "burrow", "f00d", "prompt answer"):
        assert find(store, query) == ["f00d"], query
    for query in ("hidden", "volatile", "outputs"):
        assert find(store, query) == [], query


def test_title_before_first_prompt_before_the_rest_then_the_newest(store: Locations, find: Find) -> None:
    put(store, "text1", header(1), said(2, "x"), said(5, "needle", "assistant"))
    put(store, "text2", header(1), said(2, "x"), said(9, "needle", "assistant"))
    put(store, "prompt", header(1), said(3, "a needle"))
    put(store, "title", header(1), said(2, "x"), titled("Needles"))
    assert find(store, "needle") == ["title", "prompt", "text2", "text1"]
    assert find(store, "needle", Wanted(limit=2)) == ["title", "prompt"]
    assert find(store, "needle", Wanted(limit=2, start=2)) == ["text2", "text1"]


def test_a_hit_names_its_entry_and_shows_the_words(store: Locations) -> None:
    put(store, "a", header(1), said(2, "x"), said(3, "word " * 90 + "the\nneedle in " + "hay " * 90, "assistant"))
    (hit,) = Search(store).search("needle", ALL).found
    assert (hit.entry_id, hit.place) == ("3", "text")
    assert "the needle in hay" in hit.snippet
    assert len(hit.snippet) <= 160
    put(store, "b", header(1), said(2, "apple first"), said(3, "pear"), said(4, "an apple and a pear", "assistant"))
    (hit,) = Search(store).search("pear apple", ALL).found
    assert hit.entry_id == "4"


def test_a_hit_in_the_first_prompt_names_its_entry(store: Locations, find: Find) -> None:
    log = put(store, "a", header(1), said(2, "a needle"), said(3, "x", "assistant"))
    assert find(store, "needle") == ["a"]
    (hit,) = Search(store).search("needle", ALL).found
    assert (hit.place, hit.entry_id) == ("prompt", "2")
    with log.open("ab") as file:
        file.write(json.dumps(said(4, "another prompt")).encode() + b"\n")
    (hit,) = Search(store).search("needle", ALL).found
    assert (hit.place, hit.entry_id) == ("prompt", "2")


def test_what_was_said_is_shown_before_the_folder(store: Locations) -> None:
    put(store, "a", header(1, cwd="/home/me/burrow"), said(2, "x"), said(3, "dig a burrow", "assistant"))
    (hit,) = Search(store).search("burrow", ALL).found
    assert (hit.entry_id, hit.snippet) == ("3", "dig a burrow")


def test_words_that_are_far_apart_are_found_and_those_together_are_shown(store: Locations, find: Find) -> None:
    far = "word " * 4000
    lines = [said(3, "apple", "assistant"), said(4, far), said(5, "pear", "assistant"), said(6, far)]
    log = put(store, "a", header(1), said(2, "x"), *lines)
    assert find(store, "pear apple") == ["a"]
    (hit,) = Search(store).search("pear apple", ALL).found
    assert hit.entry_id in ("3", "5")
    with log.open("ab") as file:
        file.write(json.dumps(said(7, "apples and pears")).encode() + b"\n")
    (hit,) = Search(store).search("pear apple", ALL).found
    assert hit.entry_id == "7"


def test_scope_and_archive(store: Locations, find: Find) -> None:
    put(store, "a", header(1, repoHash="11", cwd="/a"), said(2, "needle"))
    put(store, "b", header(1, repoHash="22", cwd="/b"), said(3, "needle"))
    archived = {"type": "archived", "id": "z", "archived": True}
    put(store, "c", header(1, repoHash="11", cwd="/a"), said(4, "needle"), archived)
    assert find(store, "needle", Wanted(repo_hash="11")) == ["c", "a"]
    assert find(store, "needle", Wanted(folder=Path("/b"))) == ["b"]
    assert find(store, "needle", Wanted(archived="hidden")) == ["b", "a"]
    assert find(store, "needle", Wanted(archived="only")) == ["c"]


def test_what_was_written_meanwhile_is_found_and_what_was_deleted_is_not(store: Locations, find: Find) -> None:
    log = put(store, "a", header(1), said(2, "first"))
    assert find(store, "needle") == []
    with log.open("ab") as file:
        file.write(json.dumps(said(3, "a needle")).encode() + b"\n")
    assert find(store, "needle first") == ["a"]
    put(store, "a", header(1), said(2, "all else"))
    assert find(store, "needle") == []
    put(store, "b", header(1), said(2, "needle"))
    assert find(store, "needle") == ["b"]
    delete_conversation(store, "b")
    put(store, "c", header(1), said(2, "x"))
    assert find(store, "needle") == []


def test_deleted_words_leave_the_index(store: Locations) -> None:
    put(store, "a", header(1), said(2, "secretword"))
    Search(store).fill()
    delete_conversation(store, "a")
    Search(store).fill()
    with sqlite3.connect(store.data / "search.db") as index:
        assert index.execute("SELECT count(*) FROM words").fetchone() == (0,)


def test_signs_and_scripts_without_blanks_are_found(store: Locations, find: Find) -> None:
    put(store, "a", header(1), said(2, "用語の検索はむずかしい => 100%_x"))
    put(store, "c", header(1), said(2, "文書abc, a ===> b\u200b; x__init__ → y"))
    for query in ("検索", "の検索は", "=>", "%", "_x"):
        assert "a" in find(store, query), query
    for query in ("文書abc", "書", "書a", "==>", "===>", "→", "__", ";", ","):
        assert find(store, query) == ["c"], query
    for query in ("café", "索検", "==>>", ";;"):
        assert find(store, query) == [], query
    put(store, "b", header(1), said(2, "Das CAFÉ"))
    assert find(store, "café") == ["b"]


@pytest.mark.parametrize(
    "query", ['"', "' OR 1", "NEAR(", "a AND", "-x", "^a", "text:x", "*", "(", "\ud800", "x" * 9999]
)
def test_no_query_is_an_error(store: Locations, find: Find, query: str) -> None:
    put(store, "a", header(1), said(2, "hello"))
    find(store, query)


def test_a_long_text_is_found_to_its_end(store: Locations, find: Find) -> None:
    put(store, "a", header(1), said(2, "x" * 40_000 + " " + "word " * 9000 + "needle"))
    assert find(store, "needle") == ["a"]


def test_what_cannot_be_read_in_time_is_said(store: Locations, monkeypatch: pytest.MonkeyPatch) -> None:
    for id in ("a", "b"):
        put(store, id, header(1), said(2, "needle"))
    times = iter([0.0, 99.0])
    results = Search(store, lambda: next(times)).search("needle", ALL)
    assert ([hit.summary.id for hit in results.found], results.truncated) == (["b"], True)
    results = Search(store).search("needle", ALL)
    assert ([hit.summary.id for hit in results.found], results.truncated) == (["b", "a"], False)
    monkeypatch.setattr(search, "_CREATE", "CREATE VIRTUAL TABLE IF NOT EXISTS others USING nosuchmodule(text)")
    times = iter([0.0, 0.0, 99.0])
    results = Search(store, lambda: next(times)).search("needle", ALL)
    assert ([hit.summary.id for hit in results.found], results.truncated) == (["b"], True)


def test_damaged_words_are_made_anew(store: Locations) -> None:
    put(store, "a", header(1), said(2, "needle"))
    before = Search(store).search("needle", ALL)
    with sqlite3.connect(store.data / "search.db") as index:
        index.execute("DELETE FROM words_data")
        index.commit()
    assert Search(store).search("needle", ALL) == before


@pytest.mark.parametrize("version", [2, 3])
def test_words_of_an_older_north_are_read_again(store: Locations, version: int) -> None:
    put(store, "a", header(1), said(2, "hello"), titled("Wombats"))

    def as_before(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE words")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, entry UNINDEXED)")
        for number in (1, 2):
            values = [(number << 24) + place for place in range(3)]
            connection.executemany("INSERT INTO words (rowid, text) VALUES (?, 'outdated')", [[one] for one in values])
        connection.execute("DROP INDEX by_file")
        if version == 2:
            connection.execute("DROP INDEX unread")
        connection.execute(f"PRAGMA user_version = {version}")

    assert Search(store).fill()
    ConversationIndex(store).use(as_before)
    assert Search(store).search("outdated", ALL).found == []
    (hit,) = Search(store).search("wombats", ALL).found
    assert (hit.summary.id, hit.place, hit.snippet) == ("a", "title", "Wombats")


def test_a_log_of_an_old_format_or_with_junk_is_searched(store: Locations, find: Find) -> None:
    put(store, "a", {"type": "session", "id": "a", "cwd": "/p"}, said(2, "needle"))
    put(store, "b", header(1), b"\xff\x00\n[]\n", said(3, "needle"), b'{"typ')
    assert find(store, "needle") == ["b", "a"]
    assert find(store, "needle") == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "tokens", "shown"),
    [
        ("short needle", ["needle"], "short needle"),
        ("nothing", ["needle"], "nothing"),
        ("a\x1b[31mb needle", ["needle"], "a<U+001B>[31mb needle"),
    ],
)
def test_snippets(text: str, tokens: list[str], shown: str) -> None:
    assert snippet(text, tokens) == shown
