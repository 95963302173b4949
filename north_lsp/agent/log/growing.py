"""Shows an answer that another process gets while it arrives there: each time only what is new of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from north_lsp.agent.ports.events import AnswerDelta, CallNamed, CallTitled, Event, ThoughtDelta


class GrowingAnswer:
    """Computes the new events of an answer that is still arriving, whose entry will have the id `entry_id`."""

    def __init__(self, entry_id: str) -> None:
        self.entry_id = entry_id
        self._shown: list[Event] = []

    def more(self, events: Iterable[Event]) -> list[Event]:
        """Return what is new in the events of the answer as it is now."""
        now = _joined(events)
        new = [
            event
            for index, event in enumerate(now)
            for event in _difference(self._shown[index] if index < len(self._shown) else None, event)
        ]
        self._shown = now
        return new


def _joined(events: Iterable[Event]) -> list[Event]:
    """Join the texts that follow each other."""
    joined: list[Event] = []
    for event in events:
        match joined[-1] if joined else None, event:
            case AnswerDelta(id, before, ""), AnswerDelta(other, text, "") if id == other:
                joined[-1] = AnswerDelta(id, before + text)
            case ThoughtDelta(id, before), ThoughtDelta(other, text) if id == other:
                joined[-1] = ThoughtDelta(id, before + text)
            case _:
                joined.append(event)
    return joined


def _difference(before: Event | None, now: Event) -> Iterator[Event]:
    match before, now:
        case _ if before == now:
            pass
        case AnswerDelta(text=shown), AnswerDelta(id, text, failure):
            if text.startswith(shown):
                yield AnswerDelta(id, text[len(shown) :], failure)
        case ThoughtDelta(text=shown), ThoughtDelta(id, text):
            if text.startswith(shown):
                yield ThoughtDelta(id, text[len(shown) :])
        case CallNamed(), CallNamed(call_id, _, _, title):
            yield CallTitled(call_id, title)
        case _:
            yield now
