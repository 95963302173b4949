"""Whatever a server sends in whichever field of an event: a stream ends with one Done or Failed, and never raises; and
what it gives can be stored, shown and sent again."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.providers.adapters.aws_event_stream import AwsEventStreamDecoder, named_event
from north_lsp.providers.base import Done, Failed, StreamEvent, ToolCall
from tests.providers.adapters.test_chunks import events_of_chunks, whole_stream
from tests.providers.adapters.vendors import CONVERSE, VENDORS, Vendor
from tests.support import converse_format

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 10**30, 10**400, float("inf"), "", "x", "\ud800", "\x00", "9" * 400,
    [], [1], [[]], {}, {"a": 1}, [None, {"type": []}], {"type": {}, "text": [], "id": {}},
)  # fmt: skip
Path = tuple[str | int, ...]


def read(vendor: Vendor, stream: bytes) -> list[dict[str, Any]]:
    """The events of a good stream; Amazon's by the names that are in their headers."""
    if vendor is CONVERSE:
        return [{event.name: json.loads(event.data)} for event in AwsEventStreamDecoder(named_event).feed(stream)]
    lines = stream.decode().replace("\r\n", "\n").split("\n")
    texts = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(text) for text in texts if text.startswith("{")]


def written(vendor: Vendor, events: list[Any]) -> bytes:
    if vendor is CONVERSE:
        named = [event if isinstance(event, dict) and event else {"": event} for event in events]
        return b"".join(converse_format.event(*next(iter(event.items()))) for event in named)
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(events: list[dict[str, Any]], path: Path, value: Any) -> list[Any]:
    """The events with another value at one place. They share all others, which nobody changes: copying all of them
    took a quarter of these tests' time."""
    mutated = list(events)
    there: Any = mutated
    for key in path[:-1]:
        there[key] = copy.copy(there[key])
        there = there[key]
    if path:
        there[path[-1]] = value
    return mutated


def check(events: list[StreamEvent]) -> None:
    last = events[-1]
    assert isinstance(last, Done | Failed)
    assert not any(isinstance(event, Done | Failed) for event in events[:-1])
    message = last.message if isinstance(last, Done) else last.partial
    assert isinstance(last, Done) or last.message
    usage = message.usage
    assert all(0 <= count <= 10**13 for count in (usage.input, usage.output, usage.cache_read, usage.cache_write))
    for block in message.blocks:
        if isinstance(block, ToolCall):
            assert isinstance(block.id, str)
            assert isinstance(block.name, str)
            json.dumps(dict(block.arguments), ensure_ascii=False, allow_nan=False).encode()
    repr(message).encode()


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_every_field_with_every_wrong_type(vendor: Vendor) -> None:
    """Every third of the fields with each value, one mutated stream a time: some hundreds for each vendor."""
    events = read(vendor, whole_stream(vendor))
    everywhere = [path for path in places(events) if path]
    tried = 0
    for number, path in enumerate(everywhere):
        for value in VALUES[number % 3 :: 3]:
            check(events_of_chunks(vendor, [written(vendor, changed(events, path, value))]))
            tried += 1
    assert tried >= 100


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
@settings(max_examples=40)
@given(data=st.data())
def test_several_fields_at_once(vendor: Vendor, data: st.DataObject) -> None:
    events: list[Any] = read(vendor, whole_stream(vendor))
    for _ in range(data.draw(st.integers(1, 6))):
        paths = [path for path in places(events) if path]
        if paths:
            events = changed(events, data.draw(st.sampled_from(paths)), data.draw(st.sampled_from(VALUES)))
    if data.draw(st.booleans()):
        events = data.draw(st.permutations(events))
    check(events_of_chunks(vendor, [written(vendor, events)]))


def test_a_slice_of_the_campaign() -> None:
    from tests.endurance.streams import run  # which uses this file

    assert run(200, 1).total() == 200
