"""Traces of a model's inner channels: told from words that are meant."""

import pytest

from north_lsp.providers.leaks import leak_in, may_leak, texts_of
from north_lsp.tools.edit.edit_patch import EditPatch

MARK = "to=functions.edit_patch"
FIRST = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n"
PATCH = f"{FIRST}*** Update File: b.py\n@@\n-x\n+Japgolly to=functions.x\n*** End Patch\n"


@pytest.mark.parametrize(
    "before", ["Japgolly ", "Jsii ", "changedFiles\n", "RTLU ", "analysis ", "commentary: ", "彩票中奖 "]
)
def test_a_marker_behind_a_telltale_is_a_leak(before: str) -> None:
    text = f"x = 1\n{before}{MARK} json"
    assert leak_in(text) == text.index(MARK)


@pytest.mark.parametrize(
    "text", [MARK, f"the {MARK} marker", f"superuser2 {MARK}", "analysis of functions", f"été {MARK}"]
)
def test_other_words_are_left_alone(text: str) -> None:
    assert leak_in(text) is None


def test_only_one_family_of_models_is_looked_at() -> None:
    assert [may_leak(id) for id in ("gpt-5", "openai/gpt-oss-20b", "o3-mini", "claude-opus-4", "qwen3")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_operations_before_the_leak_are_kept() -> None:
    leak = leak_in(PATCH)
    assert leak is not None
    kept = EditPatch().cut_before(PATCH, leak)
    assert kept == "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
    assert EditPatch().cut_before(kept.replace("+y", "+z"), kept.index("+y")) is None


def test_texts_are_found_wherever_they_stand() -> None:
    assert list(texts_of({"a": "1", "b": [{"c": "2"}], "d": 3})) == [("a", "1"), ("b[0].c", "2")]
