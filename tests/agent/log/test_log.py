"""The log of a conversation, which several threads use."""

import threading
from pathlib import Path

from north_lsp.agent.log.choices import ModeEntry
from north_lsp.agent.log.log import Log
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.locations import Locations


def test_who_writes_for_a_moment_and_who_reads_do_not_wait_for_each_other(tmp_path: Path) -> None:
    store = Locations(tmp_path, tmp_path, tmp_path)
    conversation = Conversation.create(
        store, repo_root=tmp_path, repo_hash="0", cwd=tmp_path, model="m", client=None, north_version="0"
    )
    log, is_over = Log(conversation), threading.Event()
    conversation.append("message", message={"role": "user", "content": [{"type": "text", "text": "x"}]})
    conversation.close()

    def read() -> None:
        while not is_over.is_set():
            log.path()

    def write() -> None:
        for _ in range(200):
            with log.borrowed() as is_mine:
                assert is_mine
                log.append(ModeEntry("ask"))
                log.path()
        is_over.set()

    for each in (read, write):
        threading.Thread(target=each, daemon=True).start()
    assert is_over.wait(60)
    assert len(log.path()) == 201
