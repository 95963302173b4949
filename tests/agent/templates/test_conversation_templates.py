"""The templates of a conversation are those of its folder as it is trusted now."""

import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from north_lsp.agent.templates.conversation_templates import ConversationTemplates
from north_lsp.agent.templates.listing import templates_markdown
from north_lsp.agent.templates.template import Template, parse_template
from north_lsp.storage.locations import Locations
from north_lsp.storage.trust import By, Trust
from tests.support.workspaces import make_workspace


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


def templates_of(root: Path, trust: Trust) -> ConversationTemplates:
    locations = Locations(root.parent / "config", root.parent / "data", root.parent / "state")
    return ConversationTemplates(make_workspace(root), locations, {"HOME": str(root.parent)}, trust, ())


async def test_what_was_read_before_the_trust_changed_does_not_come_out_last(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    (root / ".north/commands").mkdir(parents=True)
    (root / ".north/commands/check.md").write_text("Check it.")
    locations = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")
    trust = ChangingTrust(locations)
    templates = templates_of(root, trust)
    async with anyio.create_task_group() as group:
        group.start_soon(templates.load)
        await anyio.to_thread.run_sync(trust.reading.wait)
        group.start_soon(templates.load)
        await anyio.wait_all_tasks_blocked()
        trust.goes.set()
    assert templates.find("check") is None


async def test_what_fails_in_one_folder_and_what_is_too_much_is_told_and_costs_no_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repo"
    many, broken, good = (root / name for name in (".claude/commands", ".codex/prompts", ".north/commands"))
    for folder in (many, broken, good):
        folder.mkdir(parents=True)
        (folder / f"{folder.parent.name[1:]}.md").write_text("Look." if folder is not broken else "Raises.")
    for number in range(200):
        (many / f"x{number}.md").write_text("Look.")

    def parse(text: str, about: Template) -> Template:
        if text == "Raises.":
            raise TypeError("a bug")
        return parse_template(text, about)

    monkeypatch.setattr("north_lsp.agent.templates.sources.parse_template", parse)
    templates = templates_of(root, Trust(Locations(tmp_path, tmp_path, tmp_path), "project"))
    await templates.load()
    assert {"north", "claude", "x7"} <= {one.name for one in templates.offered}
    assert [one.partition(", test_")[0] for one in templates.problems] == [
        f"{many}: only the first 200 of 201 files are used",
        "Commands and skills of Codex cannot all be read (TypeError: a bug",
    ]
    listed = templates_markdown(templates.all, templates.problems)
    assert "**Problems**\n\n- " in listed
    assert "(TypeError: a bug" in listed
