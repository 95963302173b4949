"""A long answer is not searched again for each of its lines."""

from north_lsp.agent.stream_rules.matching import TAIL, Source


def test_what_is_searched_grows_with_the_answer_and_not_with_its_lines() -> None:
    source, searched, lines = Source("text"), 0, 5000
    for _ in range(lines):
        source.add("word\n")
        if source.is_due(at_end=False):
            searched += len(source.tail)
    assert searched < 50 * lines * len("word\n")
    assert len(source.tail) <= TAIL


def test_a_short_text_is_searched_at_the_end_of_each_line_and_all_of_it_at_the_end() -> None:
    source = Source("text")
    for _ in range(20):
        source.add("word\n")
        assert source.is_due(at_end=False)
    source.add("x")
    assert not source.is_due(at_end=False)
    assert source.is_due(at_end=True)
