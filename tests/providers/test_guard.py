"""Whatever stands in for a model in a test holds what it is asked to the vendors' rules, in every process."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from north_lsp.providers.adapters.scripted import ScriptedProvider
from north_lsp.providers.base import (
    AssistantMessage,
    Failed,
    Message,
    ModelRequest,
    Provider,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from north_lsp.providers.catalog.extensions import ExtensionProvider
from north_lsp.providers.offline.provider import OfflineProvider
from tests.end_to_end.test_faults import opened, prompt, texts
from tests.end_to_end.world import COLD_SERVER, SERVER, World
from tests.providers.adapters.vendors import ask
from tests.support.client import raw_client
from tests.support.guard import take_refusals
from tests.support.guard.judging import complaints

ROOT = Path(__file__).parents[2]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = ToolSpec("read_file", "Reads.", SCHEMA)
CALL = AssistantMessage((Text("I look."), ToolCall("c1", "read_file", {"path": "a.py"})), "toolUse", model="m-1")
RESULT = ToolResult("c1", "read_file", "one", is_error=False)


def request(*messages: Message, tools: Sequence[ToolSpec] = (TOOL,), max_output: int = 1000) -> ModelRequest:
    return ModelRequest("m-1", "Be good.", [UserMessage("Look."), *messages], tools, max_output)


GOOD = request(CALL, RESULT)
BAD = request(CALL)  # a call without its result


def test_a_request_that_all_vendors_take_passes() -> None:
    assert list(complaints(GOOD)) == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (BAD, ["/messages: ", "/responses: No tool output found", "/chat/completions: "]),
        (request(RESULT), ["/messages: ", "/responses: No tool call found", "/chat/completions: "]),
        (request(CALL, RESULT, tools=[ToolSpec("read_file", "", {})]), ["/messages: ", "of type OBJECT"]),
        (request(max_output=1), ["/responses: Invalid 'max_output_tokens'"]),
        (request(UserMessage("\ud800")), ["/messages: it cannot be written"]),
    ],
)
def test_a_bad_one_is_judged_as_each_vendor_would(asked: ModelRequest, said: list[str]) -> None:
    found = "\n".join(complaints(asked))
    for words in said:
        assert words in found


def providers(folder: Path) -> list[Provider]:
    script = folder / "script.json"
    script.write_text('[[{"say": "Hi"}]]')
    played = OfflineProvider().stream  # any stream at all
    return [OfflineProvider(), ScriptedProvider(script), ExtensionProvider(played, "Mine")]


async def test_providers_in_python_refuse_and_the_test_would_fail(tmp_path: Path, held_to_the_rules: Path) -> None:
    for provider in providers(tmp_path):
        assert not isinstance((await ask(provider, GOOD))[-1], Failed)
    assert take_refusals(held_to_the_rules) == []
    for provider in providers(tmp_path):
        (failed,) = await ask(provider, BAD)
        assert isinstance(failed, Failed)
        assert "the vendors would have refused: /messages: " in failed.message
        assert len(take_refusals(held_to_the_rules)) == 1


IS_HELD = """
from north_lsp.providers.base import *
from north_lsp.providers.catalog.extensions import ExtensionProvider
async def stream(request):
    said = Text(str(hasattr(ExtensionProvider.stream, "__wrapped__")))
    yield TextDelta(0, said.text)
    yield BlockEnd(0, said)
    yield Done("stop", AssistantMessage((said,)))
def setup(api):
    api.register_provider({"id": "mine", "models": [{"id": "m-1"}], "stream": stream})
"""


@pytest.mark.parametrize("started", [SERVER, COLD_SERVER], ids=["warm", "cold"])
async def test_servers_that_tests_start_are_held_to_the_rules(world: World, started: list[str]) -> None:
    extension = world.folder / "config" / "extensions" / "mine.py"
    extension.parent.mkdir()
    extension.write_text(IS_HELD)
    async with raw_client([*started, "acp", "--model", "mine/m-1"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        assert await prompt(client, await opened(client, world), "Hi") == "end_turn"
        assert texts(client) == "True"


def test_a_refusal_in_another_process_is_written_where_the_test_finds_it(
    tmp_path: Path, held_to_the_rules: Path
) -> None:
    code = """
import anyio, sys
from north_lsp.providers.base import *
from north_lsp.providers.offline.provider import OfflineProvider
call = AssistantMessage((ToolCall("c1", "read_file", {}),), "toolUse")
async def main():
    request = ModelRequest("m-1", "s", [UserMessage("Look."), call], [], 1000)
    return [event async for event in OfflineProvider().stream(request)]
anyio.run(main)
assert not any(path.endswith("support/guard") for path in sys.path)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    (line,) = take_refusals(held_to_the_rules)
    assert "/responses: No tool output found for function call c1" in line


STANDS_IN = re.compile(
    r"text/event-stream|HTTPServer|socketserver|start_server|create_server\(|createServer|AsyncBaseTransport"
    r"|MockTransport|def stream\(self"
)
KNOWN = {
    "tests/support/model_server.py": "holds requests to the rules",
    "tests/support/script.py": "says what that server answers",
    "tests/support/guard/path/sitecustomize.py": "is the guard of providers in Python",
    "tests/providers/adapters/test_chunks.py": "holds requests to the rules",
    "benchmarks/turns.py": "holds requests to the rules",
    "tests/e2e/vscode/scripted-model.mjs": "has its requests held to the rules",
    "benchmarks/agents.py": "answers agents of all makers in turn, whose requests follow rules of their own",
    "tests/e2e/vscode/extension-context.mjs": "is a page of the web, and answers no model's requests",
    "tests/providers/adapters/vendors.py": "hands on the transport that a test gives",
    "tests/providers/keys/test_broker.py": "gives keys, and answers no model's requests",
    "tests/support/mcp_server.py": "offers tools, and answers no model's requests",
    "tests/acp/test_telemetry.py": "collects numbers about turns, and answers no model's requests",
    "tests/cli/test_command_line.py": "is a socket that may be reached without network",
    "tests/cli/test_updates.py": "is a proxy and a registry of packages, and answers no model's requests",
    "tests/shell/test_sandbox.py": "is a socket that commands try to reach",
    "tests/support/web_site.py": "shows pages of the web, and answers no model's requests",
    "tests/web/test_search.py": "answers searches of the web, and no model's requests",
    "tests/mcp/test_posting.py": "is a server of tools, and answers no model's requests",
    "tests/mcp/test_oauth.py": "signs in to servers of tools, and answers no model's requests",
    "tests/shell/test_jobs.py": "is a socket that commands try to reach",
}
"""Files with a server, a transport or a provider of their own, and why nothing gets past the rules there."""


def test_nothing_else_stands_in_for_a_model() -> None:
    """A new one is either `ModelServer`, a provider in Python (which is held to the rules), or stands above."""
    here = Path(__file__).relative_to(ROOT).as_posix()
    files = [
        path
        for folder in ("tests", "benchmarks")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
        and "node_modules" not in path.parts
        and path.suffix in {".py", ".mjs", ".js", ".ts", ".lua", ""}
    ]
    found = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if STANDS_IN.search(path.read_text("utf-8", errors="replace"))
    } - {here}
    assert found == set(KNOWN)
    for name, why in KNOWN.items():
        text = (ROOT / name).read_text("utf-8")
        assert why != "holds requests to the rules" or "check_http(" in text, name
        assert why != "has its requests held to the rules" or "tests.support.rules.recorded_requests" in text, name


def test_the_real_editors_run_with_the_guard() -> None:
    """Their servers are asked with the offline model: every script that starts one asks what was refused at its end."""
    folder = ROOT / "tests/e2e/vscode"
    bed = (folder / "bed.mjs").read_text("utf-8")
    for line in (
        "Object.assign(this.env, rules.env);",
        "rules.check()",
        "model.check()",
        "of this.#checks) await check();",
    ):
        assert line in bed, line
    for path in sorted(folder.glob("*.mjs")):
        text = path.read_text("utf-8")
        if "makeBed(" in text and path.name != "bed.mjs":
            assert "NORTH_MODEL" not in text, path.name  # the bed says which model answers, and guards it
            if re.search(r"bed\.use\w+Model\(", text):
                assert ".each(" in text or "bed.check()" in text, path.name  # which asks what was refused
            else:
                assert "fakeNorth" in text, path.name  # a server that asks no model
        elif path.name not in ("bed.mjs", "scripted-model.mjs"):
            if "NORTH_MODEL" in text:
                assert "...rules.env" in text, path.name
                assert "await rules.check()" in text, path.name
            if "scriptedModel(" in text:
                assert "model.check()" in text, path.name
    assert json.dumps("PYTHONPATH") not in (ROOT / "tests/e2e/nvim/bed.py").read_text("utf-8")  # inherited
