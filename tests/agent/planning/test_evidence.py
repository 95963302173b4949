"""What a log shows of runs and changes: looking again costs what is new, and finds what a first look would."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.planning.evidence import _Reader, runs_in
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.locations import Locations

COMMANDS = ("make test", "rm x", "ls")


@pytest.fixture
def conversation(tmp_path: Path) -> Iterator[Conversation]:
    store = Locations(tmp_path, tmp_path, tmp_path)
    made = Conversation.create(
        store, repo_root=tmp_path, repo_hash="0", cwd=tmp_path, model="m", client=None, north_version="0"
    )
    made.append("message", message={"role": "user", "content": [{"type": "text", "text": "x"}]})
    yield made
    made.close()


def called(conversation: Conversation, id: str, command: str) -> None:
    call = {"type": "tool_call", "id": id, "name": "shell_run", "arguments": {"command": command}}
    conversation.append("message", message={"role": "assistant", "content": [call]})


def asked(conversation: Conversation, id: str) -> str:
    request = {"command": "x", "cwd": "/"}
    review: dict[str, Any] = {"reviewId": id, "kind": "shell", "toolCallId": id, "request": request}
    return str(conversation.append("review", **review, status="pending")["id"])


def decided(conversation: Conversation, entry: str, **decision: str) -> None:
    patch = {"status": decision["kind"], "decision": decision}
    conversation.annotate("entry_updated", targetId=entry, patch=patch)


def ended(conversation: Conversation, id: str, **told: Any) -> None:
    result = {"role": "toolResult", "toolCallId": id, "toolName": "shell_run", "content": []}
    conversation.append("message", message={**result, "isError": False, "details": {"ok": True, **told}})


def test_each_entry_is_read_once(conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()
    plain = _Reader.read

    def counting(self: _Reader, one: Logged, *, on_path: bool) -> None:
        read.append(one.id)
        plain(self, one, on_path=on_path)

    monkeypatch.setattr(_Reader, "read", counting)
    log = Log(conversation)
    for number in range(20):
        called(conversation, f"c{number}", "make test")
        entry = asked(conversation, f"c{number}")
        runs_in(log)
        decided(conversation, entry, kind="ran")
        runs_in(log)
        ended(conversation, f"c{number}", exitCode=number, unfit="")
        run = runs_in(log).last("make test")
        assert run is not None
        assert run.exit_code == number
    # A review is read again once it is decided; nothing else ever is.
    assert len(read) == len(set(read)) + 20 == len(conversation.entries) + 20


@pytest.mark.parametrize("seed", range(30))
def test_looking_again_finds_what_a_first_look_does(conversation: Conversation, seed: int) -> None:
    chance, kept = random.Random(seed), Log(conversation)
    reviews, checkpoints, open_calls = list[str](), list[str](), list[str]()
    for number in range(80):
        match chance.randrange(8):
            case 0 | 1:
                open_calls.append(f"c{number}")
                called(conversation, f"c{number}", chance.choice(COMMANDS))
            case 2 if open_calls:
                reviews.append(asked(conversation, chance.choice(open_calls)))
            case 3 if reviews:
                edited = {"command": "other"} if chance.random() < 0.3 else {}
                decided(conversation, chance.choice(reviews), kind=chance.choice(("ran", "denied")), **edited)
            case 4 if open_calls:
                told = chance.choice(({}, {"exitCode": number, "unfit": ""}, {"exitCode": 0, "onlyLooks": True}))
                ended(conversation, chance.choice(open_calls), **told)
            case 5:
                files = [{"path": "/a", "action": "update", "before": None, "after": "x"}]
                more: dict[str, Any] = {"checkpointId": f"k{number}", "files": files, "status": "pending"}
                checkpoints.append(conversation.append("checkpoint", **more)["id"])
            case 6 if checkpoints:
                patch = {"status": chance.choice(("applied", "undone"))}
                conversation.annotate("entry_updated", targetId=chance.choice(checkpoints), patch=patch)
            case 7 if chance.random() < 0.2:
                conversation.move_leaf(chance.choice(conversation.entries)["id"], "rewind")
            case _:
                pass
        assert runs_in(kept) == runs_in(Log(conversation))


def test_a_log_that_is_shorter_than_it_was_is_read_again(conversation: Conversation, tmp_path: Path) -> None:
    called(conversation, "a", "ls")
    ended(conversation, "a", exitCode=0)
    conversation.close()
    reader = Conversation.open(Locations(tmp_path, tmp_path, tmp_path), conversation.id)
    log = Log(reader)
    assert runs_in(log).last("ls") is not None
    lines = reader.path.read_bytes().splitlines(keepends=True)
    reader.path.write_bytes(b"".join(lines[:-1]))
    assert reader.refresh()
    assert runs_in(log).last("ls") is None
