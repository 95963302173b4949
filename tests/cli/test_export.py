"""`north-lsp export`: a conversation as a file, without an editor."""

import json
from functools import partial
from pathlib import Path

from tests.agent.log.test_foreign_logs import LOG
from tests.cli import test_command_line
from tests.end_to_end.world import SERVER
from tests.support.exported_page import Page

run = partial(test_command_line.run, program=SERVER)


def store(folder: Path) -> Path:
    log = folder / "data" / "conversations" / "a1b2c3.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(line) + "\n" for line in LOG))
    return log


def test_a_conversation_is_exported_by_its_id_or_its_file(tmp_path: Path) -> None:
    log = store(tmp_path)
    done = test_command_line.run(tmp_path, "export", "a1b2c3")  # as a user starts it
    assert (done.returncode, done.stdout) == (0, "")
    (page,) = tmp_path.glob("north-a1b2c3-*.html")
    assert str(page) in done.stderr
    assert Page(page.read_text()).problems == []
    done = run(tmp_path, "export", str(log.relative_to(tmp_path)), "out.md")
    assert done.returncode == 0, done.stderr
    assert "do it" in (tmp_path / "out.md").read_text()
    done = run(tmp_path, "export", "a1b2c3", "-", "--format", "json")
    assert json.loads(done.stdout)["id"] == "a1b2c3"
    assert sorted(path.name for path in log.parent.iterdir()) == ["a1b2c3.jsonl"]


def test_a_key_is_masked_unless_it_is_wanted_raw(tmp_path: Path) -> None:
    log = store(tmp_path)
    log.write_text(log.read_text().replace("do it", "with key-of-mine-123"))
    environ = {"ANTHROPIC_API_KEY": "key-of-mine-123"}
    masked = run(tmp_path, "export", "a1b2c3", "-", "--format", "txt", environ=environ)
    assert "with [masked]" in masked.stdout
    raw = run(tmp_path, "export", "a1b2c3", "-", "--format", "txt", "--raw", environ=environ)
    assert "with key-of-mine-123" in raw.stdout


def test_keys_that_cannot_be_known_are_said_and_nothing_is_exported(tmp_path: Path) -> None:
    store(tmp_path)
    (tmp_path / "data" / "agent.db").write_text("this is no database")
    done = run(tmp_path, "export", "a1b2c3", "out.md")
    assert done.returncode == 1
    assert "North cannot determine which keys to mask" in done.stderr
    assert "--raw" in done.stderr
    assert not (tmp_path / "out.md").exists()
    assert run(tmp_path, "export", "a1b2c3", "out.md", "--raw").returncode == 0


def test_what_cannot_be_exported_is_one_line(tmp_path: Path) -> None:
    store(tmp_path)
    (tmp_path / "other.txt").write_text("no log")
    (tmp_path / "there.md").write_text("mine")
    for arguments, words in (
        (["nosuch"], "file not found: "),
        (["nosuch.jsonl"], "file not found: "),
        (["other.txt"], "is not the log of a conversation"),
        (["a1b2c3", "there.md"], "exists already"),
        (["a1b2c3", "out.pdf"], "'.pdf' is not the ending of an export: end the name in .html, "),
        (["a1b2c3", "nowhere/out.md"], "there is no folder"),
        (["a1b2c3", "data/out.md"], "belongs to North itself"),
        (["."], "cannot be read"),
    ):
        done = run(tmp_path, "export", *arguments)
        assert (done.returncode, done.stdout) == (1, ""), arguments
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
    assert (tmp_path / "there.md").read_text() == "mine"
    assert run(tmp_path, "export", "a1b2c3", "there.md", "--force").returncode == 0
    assert "do it" in (tmp_path / "there.md").read_text()


def test_a_damaged_log_is_exported_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    log = store(tmp_path)
    log.write_text("\n".join(["broken", *log.read_text().split("\n")[1:4]]))
    done = run(tmp_path, "export", "a1b2c3", "-", "--format", "md")
    assert done.returncode == 0, done.stderr
    assert "Not everything in this conversation can be read" in done.stdout
    assert "do it" in done.stdout
