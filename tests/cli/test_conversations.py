import json
from collections.abc import Callable
from pathlib import Path

import pytest

from north_lsp.cli.conversations import Wishes, conversations
from north_lsp.server.options import Options, UsageError
from north_lsp.storage.locations import Locations
from tests.storage.test_listing import header, put, said

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def store(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")


@pytest.fixture
def run(store: Locations, tmp_path: Path) -> Run:
    """Run the command in the project; the answer to its question is the last argument."""
    (tmp_path / "project").mkdir()
    folders = {f"NORTH_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "data", "state")}
    options = Options(folders | {"HOME": str(tmp_path)}, tmp_path / "project")

    def action(*words: str, answer: str = "", **wishes: bool | int) -> tuple[int, str]:
        shown: list[str] = []
        code = conversations(options, words, Wishes(**wishes), lambda _: answer, shown.append)  # type: ignore[arg-type]
        return code, "\n".join(shown)

    return action


@pytest.fixture
def three(store: Locations, tmp_path: Path) -> None:
    here = str(tmp_path / "project")
    put(
        store,
        "aa11",
        header(1, cwd=here, model="v/m1"),
        said(2, "Explain the cache"),
        said(3, "It holds quokkas.", "assistant"),
    )
    archived = {"type": "archived", "id": "z", "archived": True}
    put(store, "aa22", header(1, cwd=here), said(4, "Old \x1b[31mthings"), archived)
    put(store, "bb11", header(1, cwd="/elsewhere"), said(5, "Another project with quokkas"))


def test_nothing_yet(run: Run, tmp_path: Path) -> None:
    assert run() == (0, f"No conversations about {tmp_path / 'project'} yet.")


@pytest.mark.usefixtures("three")
def test_lists(run: Run) -> None:
    code, shown = run()
    assert (code, shown.split()[0], shown.splitlines()[0].endswith("Explain the cache")) == (0, "aa11", True)
    assert "on 2025-01-01" in shown
    assert "$0.00" in shown
    assert "  m1  " in shown
    assert len(shown.splitlines()) == 1
    assert [line[:4] for line in run(everywhere=True)[1].splitlines()] == ["bb11", "aa11"]
    assert [line[:4] for line in run("list", everywhere=True, limit=1)[1].splitlines()] == ["bb11"]
    shown = run(archived=True)[1]
    assert "(archived)" in shown
    assert "\x1b" not in shown


@pytest.mark.usefixtures("three")
def test_search_and_json(run: Run) -> None:
    code, shown = run("search", "quokk", "cache")
    assert code == 0
    assert shown.splitlines()[1].strip() == "It holds quokkas."
    assert run("search", "zebra")[1].endswith("has 'zebra' in it.")
    rows = json.loads(run("search", "quokkas", everywhere=True, as_json=True)[1])
    assert (rows[0]["id"], rows[0]["cwd"]) == ("bb11", "/elsewhere")
    assert rows[1]["snippet"] == "It holds quokkas."


@pytest.mark.usefixtures("three")
def test_one_is_shown_renamed_archived_and_deleted(
    run: Run, store: Locations, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "It holds quokkas." in run("show", "aa1")[1]
    assert run("rename", "aa1", "The", "cache") == (0, "aa11 is called 'The cache' now.")
    assert run("archive", "aa11") == (0, "aa11 is archived.")
    assert "aa11" not in run()[1]
    assert run("unarchive", "aa11") == (0, "aa11 is in the lists again.")
    assert run("delete", "aa11", answer="n") == (1, "Nothing was deleted.")
    assert run("delete", "aa11", answer="y")[0] == 0
    assert run("delete", "aa22", agreed=True)[0] == 0
    assert [path.name for path in store.conversations.glob("*.jsonl")] == ["bb11.jsonl"]
    assert run("show", "aa11") == (1, "")
    assert "no conversation starts with 'aa11'" in capsys.readouterr().err


@pytest.mark.usefixtures("three")
def test_what_fits_several_is_listed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "aa") == (1, "")
    told = capsys.readouterr().err
    assert "several conversations start with 'aa'" in told
    assert "aa11" in told
    assert "aa22" in told


@pytest.mark.parametrize("words", [["frobnicate"], ["search"], ["show"], ["rename", "a"], ["delete", "a", "b"]])
def test_mistakes(run: Run, words: list[str]) -> None:
    with pytest.raises(UsageError, match="conversations takes one of: list, search WORDS"):
        run(*words)


def test_a_limit_is_a_number(run: Run) -> None:
    with pytest.raises(UsageError, match="--limit"):
        run(limit=0)


@pytest.mark.usefixtures("three")
def test_what_was_deleted_is_listed_and_put_back(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("trash")[1].startswith("Nothing in the trash is about ")
    assert run("trash", everywhere=True)[1] == "Nothing in the trash."
    assert "north-lsp conversations restore aa11 puts it back" in run("delete", "aa11", agreed=True)[1]
    run("delete", "bb11", agreed=True)
    assert run("trash")[1].split()[:4] == ["aa11", "deleted", "just", "now"]
    assert len(run("trash", everywhere=True)[1].splitlines()) == 2
    assert run("trash", "quokkas", everywhere=True)[1].startswith("bb11")
    (row,) = json.loads(run("trash", as_json=True)[1])
    assert (row["id"], row["deleted_at"][-1]) == ("aa11", "Z")
    assert run("restore", "aa") == (0, "aa11 (Explain the cache) is in the lists again.")
    assert "aa11" in run()[1]
    assert run("restore", "aa") == (1, "")
    assert "no conversation in the trash starts with 'aa'" in capsys.readouterr().err


@pytest.mark.usefixtures("three")
def test_one_of_another_project_is_copied_into_this_one(run: Run, store: Locations) -> None:
    code, shown = run("fork", "bb")
    id = shown.split()[0]
    assert (code, f"{id} is a copy of bb11 about " in shown) == (0, True)
    assert {line[:4] for line in run()[1].splitlines()} == {"aa11", id[:4]}
    assert [line[:4] for line in run("search", "another", everywhere=True)[1].splitlines() if line[0] != " "] != []
    assert (store.conversations / "bb11.jsonl").exists()
