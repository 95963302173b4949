"""What the model has seen of files, from the log."""

from pathlib import Path

from north_lsp.agent.log.entries import Logged, logged_from_json
from north_lsp.agent.log.seen import seen_of, seen_to_json
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.workspace.seen import Noted, Seen, Sighting, noting

A, B = Path("/w/a.py"), Path("/w/b.py")


def line(role: str, **fields: object) -> Logged:
    return logged_from_json({"type": "message", "id": "1", "message": {"role": role, **fields}})


def result(noted: Noted) -> Logged:
    return line("toolResult", details={"seen": seen_to_json(seen_of(noted))})


def mention(noted: Noted) -> Logged:
    return line("user", content=[{"type": "file_mention", "seen": seen_to_json(seen_of(noted))}])


def test_the_last_text_counts_with_all_its_lines() -> None:
    path = [
        mention({A: Sighting("1", ((1, 2),)), B: Sighting("9", ((1, 1),))}),
        result({A: Sighting("2", ((5, 6),))}),
        result({A: Sighting("2", ((8, 9), (5, 6)))}),
        result({B: None}),
        logged_from_json({"type": "mode_change", "id": "2", "mode": "ask"}),
    ]
    assert sightings_of(path) == {A: Sighting("2", ((5, 6), (8, 9)))}


def test_what_is_no_such_row_is_passed_over() -> None:
    rows = [["/w/a.py", 1, []], ["/w/b.py", "1", [["x", 2], [1, 2], [3]]], "x", None]
    entries = [
        line("toolResult", details={"seen": rows}),
        line("toolResult", details={"seen": 1}, content="text"),
        logged_from_json({"type": "message", "message": None}),
    ]
    assert sightings_of(entries) == {B: Sighting("1", ((1, 2),))}


def test_what_is_known_from_earlier_counts_for_the_same_text_only() -> None:
    seen = Seen(earlier={A: Sighting("1", ((1, 2),)), B: Sighting("1")})
    assert seen.recall(A, "1") == "1"
    assert seen.ranges[A] == ((1, 2),)
    assert seen.recall(B, "2") is None
    assert seen.paths() == [A, B]
    seen.note(B, "2", [(3, 4)])
    assert seen.recall(B, "5") == "2"
    assert seen.drain() == {B: Sighting("2", ((3, 4),))}
    assert seen.drain() == {}


def test_each_call_has_its_own_notes() -> None:
    seen = Seen()
    noted: Noted = {}
    with noting(noted):
        seen.note(A, "1", [(1, 1)])
        seen.note(A, "1", [(3, 3)])
        seen.wrote(B, "2")
        seen.forget(B)
    assert noted == {A: Sighting("1", ((1, 1), (3, 3))), B: None}
    assert seen.drain() == {}
    assert seen.paths() == [A]
