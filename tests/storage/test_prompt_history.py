import sqlite3
from pathlib import Path

import pytest

from north_lsp.storage import prompt_history
from north_lsp.storage.locations import Locations
from north_lsp.storage.prompt_history import PromptHistory

A, B = Path("/a"), Path("/b")


@pytest.fixture(params=["fts5", "plain"])
def history(request: pytest.FixtureRequest, store: Locations, monkeypatch: pytest.MonkeyPatch) -> PromptHistory:
    if request.param == "plain":
        monkeypatch.setattr(prompt_history, "_WORDS", ("CREATE VIRTUAL TABLE history_fts USING nosuchmodule(x)",))
    return PromptHistory(store)


def prompts(history: PromptHistory, query: str = "", folder: Path | None = None, limit: int = 100) -> list[str]:
    return [row.prompt for row in history.listed(query, folder, limit)]


def test_nothing_is_written_before_the_first_prompt(store: Locations, history: PromptHistory) -> None:
    assert prompts(history) == []
    assert not store.data.exists()


def test_newest_first_of_a_folder_or_all(history: PromptHistory) -> None:
    for text, folder in (("one", A), ("two", B), ("three", A)):
        history.add(text, folder)
    assert prompts(history) == ["three", "two", "one"]
    assert prompts(history, folder=A) == ["three", "one"]
    assert prompts(history, limit=1) == ["three"]
    (row,) = history.listed(folder=B)
    assert (row.cwd, row.created_at[-1]) == ("/b", "Z")


def test_the_same_text_is_listed_once(store: Locations, history: PromptHistory) -> None:
    for text in ("one", "one", " one ", "two", "one"):
        history.add(text, A)
    assert prompts(history) == ["one", "two"]
    with sqlite3.connect(store.data / "history.db") as database:
        assert database.execute("SELECT count(*) FROM history").fetchone() == (3,)


def test_search(history: PromptHistory) -> None:
    for text in ("Rename the parser", "explain => here", "検索する", "100% sure"):
        history.add(text, A)
    found = {"pars ren": 0, "RENAME": 0, "=>": 1, "索": 2, "%": 3, "zebra": None, '"': None, "the =>": None}
    every = ["Rename the parser", "explain => here", "検索する", "100% sure"]
    for query, index in found.items():
        assert prompts(history, query) == ([] if index is None else [every[index]]), query
    assert prompts(history, "rename", B) == []


def test_only_so_many_are_kept(history: PromptHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_history, "MOST_ROWS", 3)
    for number in range(5):
        history.add(f"number {number}", A)
    assert prompts(history) == ["number 4", "number 3", "number 2"]
    assert prompts(history, "0") == []


def test_empty_and_very_long_ones_are_not_kept(history: PromptHistory) -> None:
    for text in ("", " \n", "x" * 100_001):
        history.add(text, A)
    assert prompts(history) == []
    history.add("a\ud800b", A)
    assert prompts(history) == ["a?b"]


def test_keys_in_a_prompt_are_masked(store: Locations, history: PromptHistory) -> None:
    history.add("use sk-ant-0123456789abcdef0123 for it", A)
    assert prompts(history) == ["use [masked] for it"]
    assert b"0123456789" not in (store.data / "history.db").read_bytes()


def test_a_damaged_file_is_set_aside(store: Locations, history: PromptHistory) -> None:
    store.data.mkdir(parents=True)
    (store.data / "history.db").write_bytes(b"x" * 5000)
    history.add("one", A)
    assert prompts(history) == ["one"]
    (aside,) = store.data.glob("history.db.bad-*")
    assert aside.read_bytes() == b"x" * 5000
    assert (store.data / "history.db").stat().st_mode & 0o777 == 0o600
