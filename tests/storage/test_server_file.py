"""The user's file of tool servers is changed, and keeps the rest as it is written."""

from typing import Any

import pytest

from north_lsp.storage.locations import Locations
from north_lsp.storage.relaxed_json import parse
from north_lsp.storage.server_file import ServerFile, ServerNotWritten

ENTRY: dict[str, Any] = {"command": "a", "args": ["b"]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"mcpServers": {}}',
        '{"mcpServers": {"x": {"url": "y"}}}',
        '{\n  // why\n  "other": [1],\n  "mcpServers": {\n    "x.y": {"url": "y"}, // mine\n  },\n}\n',
        '{"mcpServers": {}, "mcpServers.z": 1}',
    ],
)
@pytest.mark.parametrize("name", ["new", "new.one", "mcpServers"])
def test_a_server_is_added_and_removed_and_the_rest_stays(store: Locations, text: str, name: str) -> None:
    file = ServerFile(store)
    if text:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_text(text)
    before: Any = parse((text or "{}").encode())
    file.add(name, ENTRY)
    after: Any = parse(file.path.read_bytes())
    assert after == {**before, "mcpServers": {**before.get("mcpServers", {}), name: ENTRY}}
    assert all(comment in file.path.read_text() for comment in ("// why", "// mine") if comment in text)
    with pytest.raises(ServerNotWritten, match="already"):
        file.add(name, ENTRY)
    assert file.remove(name)
    assert parse(file.path.read_bytes()) == {**before, "mcpServers": before.get("mcpServers", {})}
    assert not file.remove(name)


@pytest.mark.parametrize("text", ["[", "[]", '{"mcpServers": []}', "{" * 100_000])
def test_a_file_that_cannot_be_read_stays_as_it_is(store: Locations, text: str) -> None:
    file = ServerFile(store)
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(text)
    for change in (lambda: file.add("a", ENTRY), lambda: file.remove("a")):
        with pytest.raises(ServerNotWritten, match="fix it first"):
            change()
    assert file.path.read_text() == text


def test_what_cannot_be_changed_for_certain_stays_as_it_is(store: Locations) -> None:
    file = ServerFile(store)
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(text := '{"mcpServers": {"x": {"url": "y"}}}')
    with pytest.raises(ServerNotWritten, match="change it yourself"):
        file.add("x.new", ENTRY)
    assert file.path.read_text() == text
