"""What the model is told, in a real Neovim: a rule of the project changes an answer, the editor's state goes along, and
`:North context` shows it. The model answers by what is in the request."""

import json
from collections.abc import Iterator
from typing import cast

import pytest

from tests.e2e.nvim.nvim_driver import Nvim
from tests.e2e.nvim.test_plugin import FILE, IDLE, Bed, ask, bed, in_chat
from tests.support.model_server import ModelServer, RecordedRequest
from tests.support.narrow_model import is_summary
from tests.support.script import Answer, Say, answer

__all__ = ["bed"]


class Obedient(ModelServer):
    """A model that answers as a rule in the system text wants it, and writes `summary` where it has one."""

    summary: dict[str, object] | None = None

    def take(self, request: RecordedRequest) -> Answer | None:
        self.requests.append(request)
        if self.summary is not None and is_summary(request.body):
            return answer(Say(json.dumps(self.summary)))
        return answer(Say("Ahoy!" if "like a sailor" in json.dumps(request.body["system"]) else "Good day."))


@pytest.fixture
def model() -> Iterator[Obedient]:
    with Obedient() as model:
        yield model


def nvim_with(bed: Bed, model: Obedient) -> Nvim:
    keys = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": model.url, "HOME": str(bed.folder)}
    switches = {"NORTH_DISCOVERY": "off", "NORTH_NO_TITLE": "1", "NORTH_NO_OFFER": "1"}
    return bed.nvim(FILE, NORTH_MODEL="anthropic/claude-sonnet-4-5", **switches, **keys)


def test_a_rule_changes_the_answer_and_context_shows_it(bed: Bed, model: Obedient) -> None:
    with nvim_with(bed, model) as nvim:
        ask(nvim, "greet me")
        nvim.until(f"{in_chat('Good day.')} and {IDLE}")
        (bed.project / "AGENTS.md").write_text("Talk like a sailor.\n")
        ask(nvim, "greet me again")
        nvim.until(f"{in_chat('Ahoy!')} and {IDLE}")
        nvim.command("North context")
        nvim.until("vim.bo.filetype == 'markdown' and #vim.api.nvim_list_tabpages() == 2")
        shown = "\n".join(cast(list[str], nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")))
        assert "| AGENTS.md | active | always | project | AGENTS.md | 19 bytes |" in shown
        assert "| Context files |" in shown
        assert not nvim.lua("return vim.bo.modifiable")


def test_compact_and_context_are_typed_in_the_chat(bed: Bed, model: Obedient) -> None:
    (bed.folder / "config").mkdir(exist_ok=True)
    (bed.folder / "config" / "config.json").write_text('{"compaction.keepRecentTokens": 100}')
    model.summary = {"goal": "Greet people", "decisions": ["Be brief"], "shortSummary": "Greeting"}
    with nvim_with(bed, model) as nvim:
        nvim.lua("vim.api.nvim_exec2('North ask the beginning ' .. ('long '):rep(8000), {})")
        nvim.until(f"{in_chat('Good day.')} and {IDLE}")
        for turn in range(1, 7):
            ask(nvim, f"go on, {turn}")
            nvim.until(f"{in_chat(f'go on, {turn}')} and {IDLE}")
        ask(nvim, "/compact keep the names")
        nvim.until(f"{in_chat('The conversation up to here was summarized')} and {IDLE}")
        assert "keep the names" in json.dumps(model.requests[-1].body)
        nvim.command("North replaced")
        nvim.until("#vim.api.nvim_list_tabpages() == 2")
        replaced = "\n".join(cast(list[str], nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")))
        assert "the beginning long long" in replaced
        nvim.command("tabclose")
        ask(nvim, "and now")
        nvim.until(f"{in_chat('and now')} and {IDLE}")
        sent = json.dumps(model.requests[-1].body["messages"])
        assert "Greet people" in sent
        assert "long long" not in sent
        ask(nvim, "/context")
        nvim.until(f"{in_chat('The next request has about')} and {IDLE}")


def test_what_the_editor_shows_goes_along(bed: Bed, model: Obedient) -> None:
    with nvim_with(bed, model) as nvim:
        nvim.keys("5GA  # typed<Esc>")
        ask(nvim, "what do I see")
        nvim.until(f"{in_chat('Good day.')} and {IDLE}")
    told = json.dumps(model.requests[0].body["messages"])
    assert f"Active file: {FILE}" in told
    assert "Cursor in line: 5" in told
    assert f"Open files: {FILE}" in told
    assert f"Not saved: {FILE}" in told
    assert f"Edited lately: {FILE}:5" in told


def test_a_project_is_learned_and_its_profile_opens(bed: Bed, model: Obedient) -> None:
    with nvim_with(bed, model) as nvim:
        nvim.command("North learned")
        nvim.until("vim.fn.execute('messages'):find('nothing has been learned about this project yet', 1, true)")
        ask(nvim, "/learn")
        nvim.until(f"{in_chat('Learned 10 of 10 topics')} and {in_chat('Learning this project')} and {IDLE}")
        nvim.command("North learned")
        nvim.until("vim.api.nvim_buf_get_name(0):find('/profile.md', 1, true) ~= nil")
        shown = cast(list[str], nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"))
        assert shown.count("Good day.") == 10
        assert nvim.lua("return vim.bo.modifiable")
