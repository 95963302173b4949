"""What a picture counts in estimates: by its sides and by who is asked, without a look at its file."""

from dataclasses import replace
from pathlib import Path

import pytest

from north_lsp.agent.costs.sizes import RequestSizes
from north_lsp.agent.log.messages import PromptEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.transcript import message_of
from north_lsp.providers.base import Image, ModelRequest, ToolResult, UserMessage
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.model import Model

MODELS = load_catalog(Path("/nowhere"), {}).models
CLAUDE, GPT, GEMINI = (
    next(model for model in MODELS if model.provider.id == id and model.images)
    for id in ("anthropic", "openai", "google")
)
BLIND = replace(CLAUDE, images=False)


def sent(sides: tuple[int, int] | None) -> ModelRequest:
    return ModelRequest("m", "", [UserMessage("", (Image("image/png", "blob:sha256:0", sides),))], (), 100)


def estimate(model: Model, sides: tuple[int, int] | None) -> int:
    sizes = RequestSizes()
    return sizes.read_tokens(None, sent(sides), model) - sizes.read_tokens(
        None, ModelRequest("m", "", [UserMessage("")], (), 100), model
    )


@pytest.mark.parametrize(
    ("model", "sides", "tokens"),
    [
        (CLAUDE, (1000, 750), 1000),
        (CLAUDE, (10, 10), 1),
        (CLAUDE, (2000, 2000), 4784),
        (CLAUDE, None, 1600),
        (GPT, (1280, 720), 1229),
        (GPT, None, 1600),
        (GEMINI, (100, 100), 1120),
        (GEMINI, None, 1120),
        (BLIND, (2000, 2000), 10),
    ],
)
def test_a_picture_counts_by_its_sides_and_by_who_is_asked(
    model: Model, sides: tuple[int, int] | None, tokens: int
) -> None:
    assert estimate(model, sides) == tokens


def test_another_model_is_estimated_for_itself() -> None:
    sizes, request = RequestSizes(), sent((2000, 2000))
    assert [sizes.read_tokens(None, request, model) - 4 for model in (CLAUDE, GEMINI, CLAUDE)] == [4784, 1120, 4784]


def row(role: str, **image: object) -> dict[str, object]:
    picture = {"type": "image", "mimeType": "image/png", "data": "blob:sha256:0", **image}
    return {"type": "message", "message": {"role": role, "content": [picture]}}


@pytest.mark.parametrize(
    ("stored", "sides"),
    [
        ({"width": 30, "height": 20}, (30, 20)),
        ({}, None),
        ({"width": 30}, None),
        ({"width": -3, "height": 20}, None),
        ({"width": True, "height": "20"}, None),
    ],
)
def test_the_log_says_how_large_a_picture_is_if_it_can(
    stored: dict[str, object], sides: tuple[int, int] | None
) -> None:
    for entry in (PromptEntry.from_json(row("user", **stored)), ResultEntry.from_json(row("toolResult", **stored))):
        message = message_of(entry)
        assert isinstance(message, UserMessage | ToolResult)
        assert [image.sides for image in message.images] == [sides]
        (written,) = entry.to_json()["message"]["content"]
        assert (written.get("width"), written.get("height")) == (sides or (None, None))
