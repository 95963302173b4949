"""The templates of a conversation are those of its folder as it is trusted now."""

import threading
from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.templates.conversation_templates import ConversationTemplates
from north_lsp.storage.locations import Locations
from north_lsp.storage.trust import By, Trust
from north_lsp.workspace.files.ignore import IgnoreRules
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.seen import Seen
from north_lsp.workspace.workspace import Workspace


async def unsaved(path: Path) -> str | None:
    return None


async def texts() -> Mapping[Path, str]:
    return {}


class ChangingTrust(Trust):
    """Trusted when it is asked first, which takes until `goes`, and not any more afterwards."""

    def __init__(self, locations: Locations) -> None:
        super().__init__(locations, "project")
        self.asked = 0
        self.reading, self.goes = threading.Event(), threading.Event()

    def decided(self) -> tuple[bool, By] | None:
        self.asked += 1
        if self.asked > 1:
            return False, "user"
        self.reading.set()
        assert self.goes.wait(30)
        return True, "user"


async def test_what_was_read_before_the_trust_changed_does_not_come_out_last(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    (root / ".north/commands").mkdir(parents=True)
    (root / ".north/commands/check.md").write_text("Check it.")
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    trust = ChangingTrust(locations)
    roots = Roots.of(root)
    workspace = Workspace(roots, {root: IgnoreRules.of(root)}, unsaved, texts, Seen())
    templates = ConversationTemplates(workspace, locations, {"HOME": str(tmp_path)}, trust, ())
    async with anyio.create_task_group() as group:
        group.start_soon(templates.load)
        await anyio.to_thread.run_sync(trust.reading.wait)
        group.start_soon(templates.load)
        await anyio.wait_all_tasks_blocked()
        trust.goes.set()
    assert templates.find("check") is None
