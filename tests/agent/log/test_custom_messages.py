"""Messages of extensions, which logs of other programs have: models get them, people if they are meant to."""

from typing import Any

import pytest

from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Logged, UnknownEntry, entry_from_json
from north_lsp.agent.log.projection import events_of
from north_lsp.agent.log.transcript import messages_of
from north_lsp.agent.log.tree import tree_rows
from north_lsp.agent.ports.events import AnswerDelta
from north_lsp.providers.base import Image, UserMessage
from north_lsp.storage.passages import passages_of
from north_lsp.tools.builtin import builtin_tools
from tests.agent.log.test_foreign_logs import MODEL

PICTURE = {"type": "image", "mimeType": "image/png", "data": "aWc="}
PARTS = [{"type": "text", "text": "Deploys are frozen."}, PICTURE, {"type": "other"}, 1]
OWN: dict[str, Any] = {"type": "custom_message", "customType": "ops", "content": PARTS, "display": True, "details": {}}
HIDDEN: dict[str, Any] = {"type": "custom_message", "customType": "ops", "content": "Be brief.", "display": False}
ROLE: dict[str, Any] = {"type": "message", "message": {"role": "custom", "content": "Be kind."}, "more": 1}
WRONG: list[dict[str, Any]] = [
    {"type": "custom_message"},
    {"type": "custom_message", "content": 1},
    {"type": "message", "message": {"role": "custom", "content": None}},
]


def placed(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "id": "x", "parentId": None, "timestamp": ""}


@pytest.mark.parametrize("record", [OWN, HIDDEN, ROLE, *WRONG])
def test_it_is_written_as_it_was_read(record: dict[str, Any]) -> None:
    entry = entry_from_json(placed(record))
    assert entry.to_json() == record
    assert isinstance(entry, UnknownEntry if record in WRONG else CustomMessageEntry)


def test_models_get_all_and_people_those_that_are_shown() -> None:
    path = [
        Logged(f"{number}", None, "", entry_from_json(placed(one))) for number, one in enumerate((OWN, HIDDEN, ROLE))
    ]
    assert messages_of(path, MODEL) == [
        UserMessage("Deploys are frozen.", (Image("image/png", "aWc="),)),
        UserMessage("Be brief."),
        UserMessage("Be kind."),
    ]
    assert list(events_of(path, builtin_tools())) == [
        AnswerDelta("0", "\n\nDeploys are frozen.\n\n[picture]\n\n"),
        AnswerDelta("2", "\n\nBe kind.\n\n"),
    ]
    assert [row.text for row in tree_rows(path, path, {})] == ["Deploys are frozen.", "Be brief.", "Be kind."]


def test_one_that_is_kept_from_models_is_not_sent() -> None:
    message = {"role": "custom", "content": "x", "excludeFromContext": True}
    assert messages_of([Logged("x", None, "", entry_from_json({"type": "message", "message": message}))], MODEL) == []


@pytest.mark.parametrize(("record", "text"), [(OWN, "Deploys are frozen."), (HIDDEN, "Be brief."), (ROLE, "Be kind.")])
def test_it_is_found_by_its_words(record: dict[str, Any], text: str) -> None:
    assert [one.text for one in passages_of(placed(record))] == [text]
