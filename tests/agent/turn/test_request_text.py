"""A request as texts for the log: no secret in it, however that is written in JSON, and no pictures."""

import json

from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.secrets.sources import Found
from north_lsp.agent.turn.request_text import request_texts
from north_lsp.providers.base import (
    AssistantMessage,
    Image,
    ModelRequest,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)

SECRET = 'pa"ss\\word-9f8e7d'
PICTURE = "iVBORw0KGgo" * 100


class Known:
    has_news = False

    def read(self) -> Found:
        return Found(frozenset({SECRET}))


def test_a_request_has_no_secret_also_where_json_is_in_json() -> None:
    secrets = Secrets(Known(), lambda: b"key", lambda: True)
    inner = json.dumps({"note": SECRET})
    call = ToolCall("c1", "shell", {"command": f"login {SECRET}", "env": [inner]})
    request = ModelRequest(
        "m",
        f"Key: {SECRET}",
        [
            UserMessage(f"I use {SECRET}"),
            AssistantMessage((Text(inner), call)),
            ToolResult("c1", "shell", inner, False),
        ],
        (ToolSpec("read_file", "Reads.", {}),),
        100,
    )
    texts = request_texts(request, secrets.masked)
    written = json.dumps(texts)
    assert "9f8e7d" not in written
    user, answer, result = json.loads(texts["messages"])
    assert (user["kind"], user["text"]) == ("UserMessage", "I use <<$env:S0>>")
    assert answer["blocks"][1]["arguments"]["command"] == "login <<$env:S0>>"
    assert result["text"] == '{"note": "<<$env:S0>>"}'
    assert json.loads(texts["tools"]) == ["read_file"]


def test_a_picture_is_its_size() -> None:
    request = ModelRequest("m", "", [UserMessage("Look", (Image("image/png", PICTURE),))], (), 100)
    texts = request_texts(request, str)
    assert PICTURE not in texts["messages"]
    assert "1,100 characters" in texts["messages"]
