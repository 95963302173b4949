"""The provider that plays a script."""

import json
from pathlib import Path

from north_lsp.providers.adapters.scripted import ScriptedProvider
from north_lsp.providers.base import (
    Done,
    Failed,
    ModelRequest,
    StreamEvent,
    Text,
    Thinking,
    ToolCall,
    Usage,
    UserMessage,
)
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.factory import make_provider

REQUEST = ModelRequest("test", "", [UserMessage("q")], [], 100)


def provider(folder: Path, *answers: object) -> ScriptedProvider:
    path = folder / "script.json"
    path.write_text(json.dumps(answers))
    return ScriptedProvider(path)


async def play(one: ScriptedProvider) -> list[StreamEvent]:
    return [event async for event in one.stream(REQUEST)]


async def test_answers_come_in_order_and_begin_anew(tmp_path: Path) -> None:
    first = [{"think": "hm"}, {"say": "Hi"}, {"call": "list_root", "arguments": {"a": 1}}, {"usage": {"input": 3}}]
    one = provider(tmp_path, first, [{"delayMs": 1}, {"say": "long"}, {"stop": "length"}])
    done, cut, again = [(await play(one))[-1] for _ in range(3)]
    assert isinstance(done, Done)
    assert done.message.blocks == (Thinking("hm"), Text("Hi"), ToolCall("test_1", "list_root", {"a": 1}))
    assert (done.reason, done.message.usage) == ("toolUse", Usage(3))
    assert isinstance(cut, Done)
    assert cut.reason == "length"
    assert isinstance(again, Done)
    assert again.message.calls[0].id == "test_2"


async def test_failures_and_mistakes_in_the_script(tmp_path: Path) -> None:
    failing = [{"say": "Hi"}, {"fail": "overloaded", "message": "busy", "retryable": True, "retryAfterMs": 5}]
    failed = (await play(provider(tmp_path, failing)))[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.message, failed.retryable, failed.retry_after_ms) == ("overloaded", "busy", True, 5)
    assert failed.partial.text == "Hi"
    for answers in (([{"sing": "la"}],), ({"say": "x"},), ()):
        wrong = (await play(provider(tmp_path, *answers)))[-1]
        assert isinstance(wrong, Failed)
        assert "script.json" in wrong.message


async def test_it_is_there_only_when_the_environment_names_a_script(tmp_path: Path) -> None:
    environ = {"NORTH_TEST_PROVIDER": str(tmp_path / "script.json")}
    provider(tmp_path, [{"say": "Hi"}])
    assert all(model.api != "north-test" for model in load_catalog(tmp_path, {}).models)
    known = load_catalog(tmp_path, environ)
    assert known.default(environ).selector == "north-test/test"
    done = [event async for event in make_provider(known.find("test"), environ).stream(REQUEST)][-1]
    assert isinstance(done, Done)
