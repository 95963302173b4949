"""How much is kept, by area; and what is removed, with and without a question."""

import json
from pathlib import Path

import pytest

from north_lsp.cli.purge import purge
from north_lsp.server.options import Options
from north_lsp.storage.areas import Scope, areas, human, removal
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from north_lsp.storage.memory_files import MemoryFiles
from north_lsp.storage.memory_jobs import MemoryJobs, Thread
from north_lsp.workspace.project_root import project_hash
from tests.storage.conftest import New

USER = {"role": "user", "content": [{"type": "text", "text": "hello"}]}


@pytest.fixture
def full(store: Locations, new: New, tmp_path: Path) -> Path:
    """A store with something of everything, about two projects. Returns the first one's folder."""
    root = tmp_path / "project"
    for folder, hash in ((root, project_hash(root)), (tmp_path / "other", "1" * 16)):
        folder.mkdir()
        conversation = new(folder, hash)
        conversation.append("message", message=USER)
        conversation.close()
        conversation.folder.mkdir()
        (conversation.folder / "1.shell_run.log").write_bytes(b"x" * 2000)
        store.project(hash).mkdir(parents=True)
        (store.project(hash) / "approvals.json").write_text("{}")
    files = {
        store.conversations / "trash" / "a1b2c3-20260101T000000Z" / "a1b2c3.jsonl": 300,
        store.blobs / ("0" * 64): 70_000,
        store.data / "models-cache.db": 400,
        store.data / "costs.json.bad-20260101T000000Z": 10,
        store.log_file: 1500,
        store.state / "north.log.1": 500,
        store.crashes / "20260101T000000Z.txt": 20,
        store.config / "config.json": 2,
        store.state / "mine.txt": 1,
    }
    for path, size in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size if path.name != "config.json" else b"{}")
    CredentialStore(store).add("openai", "sk-test-0123456789abcdef")
    return root


def options(store: Locations, root: Path) -> Options:
    environ = {"NORTH_CONFIG_DIR": str(store.config), "NORTH_DATA_DIR": str(store.data)}
    return Options(environ | {"NORTH_STATE_DIR": str(store.state)}, root, None, None, None)


def test_areas_are_measured_and_say_what_frees_them(store: Locations, full: Path) -> None:
    rows = {row.id: row for row in areas(store)}
    assert next(iter(rows)) == "contents"
    expected = {"contents": (70_000, 1), "outputs": (4000, 2), "log": (2000, 2), "trash": (300, 1), "caches": (400, 1)}
    assert {id: (rows[id].size, rows[id].count) for id in expected} == expected
    assert {"keys", "projects", "crashes", "aside", "conversations"} <= rows.keys()
    assert "databases" not in rows
    assert rows["trash"].freed_by == "itself after 30 days, or `north-lsp purge`"
    assert [human(size) for size in (0, 999, 1000, 12_345, 70_000_000)] == [
        "0 bytes",
        "999 bytes",
        "1.0 KB",
        "12 KB",
        "70 MB",
    ]


@pytest.mark.parametrize("scope", ["spare", "project", "all"])
def test_what_is_purged_is_told_before_and_gone_after(store: Locations, full: Path, scope: Scope) -> None:
    told: list[str] = []

    def run(answer: str) -> int:
        return purge(options(store, full), scope, lambda _: answer, told.append, told.append)

    before = list(store.data.parent.rglob("*"))
    for answer in ("", "no", "y"):
        assert run(answer) == 1
        assert told[-1] == "Nothing was removed."
    assert set(before) <= set(store.data.parent.rglob("*"))
    expected = {str(path) for path, _ in removal(store, scope, project_hash(full)).paths}
    assert {line.split("  ")[1] for line in told if line.startswith("  /")} == expected
    assert run("yes") == 0
    assert (store.config / "config.json").exists()
    assert (store.state / "mine.txt").exists()
    left = {path.name for path in store.data.rglob("*")}
    match scope:
        case "spare":
            assert {"agent.db", "blobs", "approvals.json"} <= left
            assert not {"models-cache.db", "a1b2c3.jsonl"} & left
            assert not store.log_file.exists()
            assert len(list(store.conversations.glob("*.jsonl"))) == 2
        case "project":
            assert [path.name for path in (store.data / "projects").iterdir()] == ["1" * 16]
            assert len(list(store.conversations.glob("*.jsonl"))) == 1
            assert store.log_file.exists()
        case "all":
            assert left == set()
            assert [path.name for path in store.state.iterdir()] == ["mine.txt"]
    assert run("yes") == 0
    if scope != "spare":
        assert told[-1] == "There is nothing to remove."


@pytest.mark.parametrize("scope", ["project", "all"])
def test_what_is_open_stays(store: Locations, full: Path, new: New, scope: Scope) -> None:
    conversation = new(full, project_hash(full))
    conversation.append("message", message=USER)
    told: list[str] = []
    code = purge(options(store, full), scope, None, told.append, told.append)
    assert code == (1 if scope == "all" else 0)
    assert conversation.id in told[0]
    assert conversation.path.exists()
    assert store.project(project_hash(full)).exists()
    conversation.close()
    assert purge(options(store, full), scope, None, told.append, told.append) == 0
    assert not conversation.path.exists()
    assert not store.project(project_hash(full)).exists()


@pytest.mark.parametrize("scope", ["project", "all"])
def test_what_is_opened_while_the_question_waits_stays(store: Locations, full: Path, new: New, scope: Scope) -> None:
    conversation = new(full, project_hash(full))
    conversation.append("message", message=USER)
    conversation.close()
    told: list[str] = []

    def opened(_: str) -> str:
        conversation.append("message", message=USER)
        return "yes"

    code = purge(options(store, full), scope, opened, told.append, told.append)
    assert code == (1 if scope == "all" else 0)
    assert "opened meanwhile in a running North: " + conversation.id in " ".join(told)
    assert conversation.path.exists()
    assert store.project(project_hash(full)).exists()
    assert len(list(store.conversations.glob("*.jsonl"))) == (3 if scope == "all" else 2)
    conversation.close()


def test_a_folder_that_is_not_only_norths_is_not_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "projects").mkdir()
    store = Locations(tmp_path / "config", tmp_path, tmp_path / "state")
    told: list[str] = []
    assert purge(options(store, tmp_path), "all", None, told.append, told.append) == 1
    assert "remove those by hand" in told[0]
    assert (tmp_path / "projects").exists()


def test_links_are_not_followed(store: Locations, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("a")
    store.data.mkdir()
    (store.data / "memories").symlink_to(tmp_path / "mine")
    store.conversations.mkdir()
    (store.conversations / "trash").symlink_to(tmp_path / "mine")
    assert purge(options(store, tmp_path), "all", None, print, print) == 0
    assert (tmp_path / "mine" / "a.txt").exists()
    assert list(store.data.iterdir()) == []


def test_conversations_in_which_nothing_was_said_go_with_their_project(store: Locations, new: New, full: Path) -> None:
    for folder, hash in ((full, project_hash(full)), (full.parent / "other", "1" * 16)):
        empty = new(folder, hash)
        empty.keep()
        empty.close()
    assert purge(options(store, full), "project", None, print, print) == 0
    left = [json.loads(path.read_bytes().splitlines()[0]) for path in store.conversations.glob("*.jsonl")]
    assert [header["repoHash"] for header in left] == ["1" * 16] * 2


def test_what_is_remembered_of_a_project_goes_with_it(store: Locations, full: Path) -> None:
    mine, others = project_hash(full), "1" * 16
    for hash in (mine, others):
        MemoryFiles(store, hash).add_note("- a note")
        MemoryJobs(store, hash).keep(Thread("a", 1, "b", "- lasts"))
    assert next(row for row in areas(store) if row.id == "databases").count == 3
    told: list[str] = []
    assert purge(options(store, full), "project", None, told.append, told.append) == 0
    assert [MemoryFiles(store, hash).names() for hash in (mine, others)] == [[], ["notes.md"]]
    assert [len(MemoryJobs(store, hash).threads()) for hash in (mine, others)] == [0, 1]
