"""The small pure parts of a turn: repaired arguments, remarks on results, deltas."""

import json

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.calls.arguments import repair_arguments
from north_lsp.agent.calls.repetition import with_note
from north_lsp.agent.ports.events import AnswerDelta, Event
from north_lsp.agent.turn.deltas import DeltaMerger
from north_lsp.display import unfinished_emoji, visible

SCHEMA = {
    "properties": {
        "paths": {"type": "array", "items": {"type": "string"}},
        "maybe": {"anyOf": [{"type": "array"}, {"type": "null"}]},
        "options": {"$ref": "#/$defs/Options"},
        "either": {"anyOf": [{"type": "array"}, {"type": "string"}]},
        "name": {"type": "string"},
    }
}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"paths": "a.py"}, {"paths": ["a.py"]}),
        ({"paths": '["a.py", "b.py"]'}, {"paths": ["a.py", "b.py"]}),
        ({"maybe": 5}, {"maybe": [5]}),
        ({"options": '{"deep": true}'}, {"options": {"deep": True}}),
    ],
)
def test_harmless_mismatches_are_repaired(given: dict[str, object], wanted: dict[str, object]) -> None:
    assert repair_arguments(given, SCHEMA) == (wanted, list(given))


@pytest.mark.parametrize(
    "arguments",
    [{"paths": ["a"]}, {"maybe": None}, {"either": "[1]"}, {"name": "[x"}, {"unknown": 1}, {"options": "x"}],
)
def test_what_fits_or_cannot_be_understood_stays(arguments: dict[str, object]) -> None:
    assert repair_arguments(arguments, SCHEMA) == (arguments, [])


def test_a_remark_keeps_the_form_of_the_result() -> None:
    assert json.loads(with_note('{"ok":true,"data":1}', "hm")) == {"ok": True, "data": 1, "note": "hm"}
    assert with_note("out\nexit code 3", "hm") == "out\nexit code 3\n\n[hm]"


EMOJI = st.lists(st.sampled_from(["👨‍👩‍👧", "❤️", "👍", "a", " ", "✈️ ", "\u202e", "\n", "🏳️‍🌈"]), max_size=12).map(
    "".join
)


@given(EMOJI, st.lists(st.integers(0, 200)))
def test_emoji_are_shown_whole_however_their_text_arrives(text: str, places: list[int]) -> None:
    cuts = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    shown: list[str] = []

    async def run() -> None:
        async def show(event: Event) -> None:
            assert isinstance(event, AnswerDelta)
            shown.append(visible(event.text))

        merger = DeltaMerger("m", show)
        for start, end in zip(cuts, cuts[1:], strict=False):  # noqa: RUF007
            merger.push(text[start:end])
            await merger.flush_shown()
        await merger.flush()

    anyio.run(run)
    assert "".join(shown) == visible(text)


def test_what_is_held_back_is_one_emoji_at_most() -> None:
    assert unfinished_emoji("plain") == 5
    assert unfinished_emoji("ab👨‍👩") == 2
    assert unfinished_emoji("👍👍") == 1
