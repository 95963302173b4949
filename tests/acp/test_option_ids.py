"""The ids that a client gets for the options of a question: their kinds, if it does not know North."""

from collections.abc import Mapping
from typing import Any

import pytest

from north_lsp.acp.editor import AcpEditor
from north_lsp.acp.initialize import DRAFT, Client
from north_lsp.acp.questions import for_client
from north_lsp.agent.ports.editor import Choice

PLAIN, NORTH = Client(), Client(knows_north=True)
PARTS = Choice("i", "Which?", (("a", "A"), ("b", "B"), ("c", "C"), ("none", "None")))
TWO = Choice("i", "Which?", (("a", "A"), ("b", "B"), ("none", "None")))


def request(*options: tuple[str, str]) -> dict[str, Any]:
    return {"options": [{"optionId": id, "name": id, "kind": kind} for id, kind in options]}


def told(client: Client, *options: tuple[str, str]) -> Mapping[str, str]:
    """The options' own ids by those that the client gets; what is shown of each stays as it is."""
    params = request(*options)
    shown, own_ids = for_client(params, client)
    assert [row["optionId"] for row in shown["options"]] == list(own_ids)
    names = [(row["name"], row["kind"]) for row in shown["options"]]
    assert names == [*options]
    assert params == request(*options)
    return own_ids


def test_a_client_that_does_not_know_north_gets_the_kinds() -> None:
    options = (("run", "allow_once"), ("always", "allow_always"), ("deny", "reject_once"))
    kinds = {"allow_once": "run", "allow_always": "always", "reject_once": "deny"}
    assert told(PLAIN, *options) == told(Client(protocol=DRAFT), *options) == kinds
    assert told(NORTH, *options) == {"run": "run", "always": "always", "deny": "deny"}


def test_a_second_option_of_a_kind_keeps_its_own_id() -> None:
    options = (("a", "allow_once"), ("b", "allow_once"), ("c", "allow_once"), ("none", "reject_once"))
    assert told(PLAIN, *options) == {"allow_once": "a", "b": "b", "c": "c", "reject_once": "none"}


def test_an_option_that_is_called_like_a_kind_is_not_mistaken_for_another() -> None:
    """Commands of users in Python name their options themselves."""
    options = (("a", "allow_once"), ("allow_once", "allow_once"), ("reject_once", "reject_once"))
    assert told(PLAIN, *options) == {"a": "a", "allow_once": "allow_once", "reject_once": "reject_once"}
    options = (("allow_always", "allow_once"), ("b", "allow_always"), ("allow_once", "reject_once"))
    assert told(PLAIN, *options) == {"allow_always": "allow_always", "b": "b", "reject_once": "allow_once"}


class Answers:
    """A peer whose client answers each question with the next of these ids."""

    has_ended = False

    def __init__(self, *ids: object) -> None:
        self.ids = [*ids]

    async def request(self, method: str, params: Any, **more: Any) -> Any:
        return {"outcome": {"outcome": "selected", "optionId": self.ids.pop(0)}}

    async def notify(self, method: str, params: Any) -> None:
        """What is told of a question that has ended."""


async def chosen(client: Client, choice: Choice, *ids: object) -> str | None:
    peer: Any = Answers(*ids)
    nothing: Any = None
    found = await AcpEditor(peer, "s", client, nothing, nothing).choose(choice)
    assert peer.ids == []
    return found


@pytest.mark.parametrize(
    ("id", "option"),
    [("allow_once", "a"), ("allow_always", "b"), ("reject_once", "none"), ("a", None), ("none", None), ("", None)],
)
async def test_an_answer_by_kind_is_the_option_of_that_kind(id: str, option: str | None) -> None:
    assert await chosen(PLAIN, TWO, id) == option


@pytest.mark.parametrize("id", ["allow_always", "reject_always", None, 1, ["allow_once"], {"allow_once": 1}])
async def test_what_was_not_offered_is_no_answer(id: object) -> None:
    assert await chosen(PLAIN, PARTS, id) is None


async def test_one_of_several_of_a_kind_is_confirmed_by_kind_as_well() -> None:
    assert await chosen(PLAIN, PARTS, "allow_once", "allow_once") == "a"
    assert await chosen(PLAIN, PARTS, "c", "allow_once") == "c"
    assert await chosen(PLAIN, PARTS, "allow_once", "reject_once") == "none"
    assert await chosen(PLAIN, PARTS, "reject_once") == "none"


async def test_norths_own_clients_answer_with_the_ids_that_they_always_had() -> None:
    assert await chosen(NORTH, PARTS, "b") == "b"
    assert await chosen(NORTH, PARTS, "allow_once") is None
