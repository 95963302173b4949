"""Texts that are no files of the workspace: the manual, and other conversations of the project."""

from dataclasses import replace
from pathlib import Path

import pytest

from north_lsp.agent.log.export import OtherConversations
from north_lsp.errors import ToolError
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.locations import Locations
from north_lsp.workspace.workspace import Addresses
from tests.tools.conftest import Desk


async def test_the_manual_explains_north(desk: Desk) -> None:
    pages = await desk.call("read_file", path="docs://north")
    assert "docs://north/models: " in pages["content"]
    page = await desk.call("read_file", path="docs://north/models", startLine=1, endLine=1)
    assert (page["path"], page["content"][:3]) == ("docs://north/models", "1→#")
    assert (await desk.call("search_text", query="models.yml", file="docs://north/models"))["totalMatches"] > 0
    for wrong in ("docs://north/../README", "docs://north/none", "docs://other", "docs://north/models.md"):
        error = await desk.error("read_file", path=wrong)
        assert (error.code, "models" in str(error.hint)) == ("NOT_FOUND", True)


def conversation(store: Locations, hash: str) -> Conversation:
    made = Conversation.create(
        store, repo_root=Path("/p"), repo_hash=hash, cwd=Path("/p"), model="m", client=None, north_version="1"
    )
    made.append("message", message={"role": "user", "content": [{"type": "text", "text": "hello *there*"}]})
    call = {"type": "tool_call", "id": "t1", "name": "read_file", "arguments": {}}
    thought = {"type": "thinking", "thinking": "secret"}
    made.append("message", message={"role": "assistant", "content": [thought, {"type": "text", "text": "hi"}, call]})
    result = {"role": "toolResult", "toolCallId": "t1", "toolName": "read_file", "isError": True}
    made.append("message", message=result | {"content": [], "details": {"title": "Reading a.py", "ok": False}})
    made.sync()
    return made


async def test_other_conversations_of_the_project_can_be_read(desk: Desk, tmp_path: Path) -> None:
    store = Locations.from_environment({"NORTH_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)})
    ours, foreign, own = (conversation(store, hash) for hash in ("here", "there", "here"))
    read = OtherConversations(store, "here", own.id)
    desk.workspace = replace(desk.workspace, addresses=Addresses(conversations=read))
    text = (await desk.call("read_file", path=f"conversation://{ours.id}", lineNumbers=False))["content"]
    assert text.split("\n\n")[1:] == [
        "## User", "hello *there*", "## North", "hi", "- called `read_file`", "- Reading a.py (failed)\n",
    ]  # fmt: skip
    listed = (await desk.call("read_file", path="conversation://", lineNumbers=False))["content"]
    assert listed.startswith(f"conversation://{ours.id} ")
    assert own.id not in listed
    for wrong in (foreign.id, "none", "../x", "x" * 100):
        with pytest.raises(ToolError) as caught:
            read(wrong)
        assert (caught.value.code, ours.id in str(caught.value.hint)) == ("NOT_FOUND", True)
    for one in (ours, foreign, own):
        one.close()


async def test_without_conversations_there_are_none(desk: Desk) -> None:
    assert (await desk.error("read_file", path="conversation://abc")).code == "NOT_FOUND"
