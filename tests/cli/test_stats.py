"""`north-lsp stats`: the numbers of a conversation, and of the disk."""

import json
from functools import partial
from pathlib import Path

import pytest

from north_lsp.storage.areas import areas
from north_lsp.storage.locations import Locations
from tests.cli import test_command_line
from tests.cli.test_export import store
from tests.end_to_end.world import SERVER

run = partial(test_command_line.run, program=SERVER)

TIME = "2026-01-02T03:04:05.678Z"


def test_what_a_conversation_adds_up_to(tmp_path: Path) -> None:
    log = store(tmp_path)
    header = json.loads(log.read_text().splitlines()[0])
    child = header | {"id": "b1b2c3", "parentSession": {"id": "a1b2c3", "relation": "fork"}}
    said: dict[str, object] = {"type": "message", "id": "1", "parentId": None, "timestamp": TIME}
    said |= {"message": {"role": "user", "content": "Go on"}}
    data = {"retryId": "r", "attempt": 1, "of": 3, "reason": "busy", "kind": "overloaded", "outcome": "over"}
    waited: dict[str, object] = {"type": "custom", "id": "2", "parentId": "1", "timestamp": TIME}
    waited |= {"customType": "north.retry", "data": data}
    summary = {"type": "compaction", "id": "3", "parentId": "2", "timestamp": TIME, "summary": "What was done"}
    lines = [child, said, waited, summary | {"firstKeptEntryId": "1", "tokensBefore": 9, "reason": "manual"}]
    log.with_name("b1b2c3.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    parent = json.loads(run(tmp_path, "stats", "a1b2", "--json").stdout)
    assert (parent["children"], parent["parent"]) == (["b1b2c3"], None)
    assert parent["prompts"] >= 1
    numbers = json.loads(run(tmp_path, "stats", "b1b2c3", "--json").stdout)
    assert (numbers["retries"], numbers["compactions"], numbers["parent"]) == (1, 1, "a1b2c3")
    told = run(tmp_path, "stats", "b1b2c3").stdout
    assert "summarized 1 time, asked again after a failure 1 time" in told
    assert "comes from the conversation a1b2c3" in told
    assert "other conversations come from it: b1b2c3" in run(tmp_path, "stats", "a1b2c3").stdout


def test_what_is_on_the_disk_with_what_frees_it(tmp_path: Path) -> None:
    assert "North keeps nothing in" in run(tmp_path, "stats", "--disk").stdout
    store(tmp_path)
    done = run(tmp_path, "stats", "--disk")
    assert "1 file  conversations" in done.stdout
    assert "freed by deleting them, or the setting sessions.maxAgeDays" in done.stdout
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    (row,) = (one for one in areas(locations) if one.id == "conversations")
    rows = json.loads(run(tmp_path, "stats", "--disk", "--json").stdout)
    assert {one["id"]: one["bytes"] for one in rows}["conversations"] == row.size


@pytest.mark.parametrize("words", [(), ("a1b2c3", "--disk")])
def test_it_is_one_or_the_other(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, "stats", *words)
    assert done.returncode == 2
    assert "or --disk" in done.stderr


def test_an_unknown_conversation_is_said(tmp_path: Path) -> None:
    done = run(tmp_path, "stats", "ffff")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no conversation starts with 'ffff'" in done.stderr
