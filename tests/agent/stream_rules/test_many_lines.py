"""A long answer is not searched again for each of its lines."""

from north_lsp.agent.stream_rules.matching import TAIL, ArrivingText, Source


def test_what_is_searched_grows_with_the_answer_and_not_with_its_lines() -> None:
    arriving, searched, lines = ArrivingText(Source("text")), 0, 5000
    for _ in range(lines):
        arriving.add("word\n")
        if arriving.is_due(at_end=False):
            searched += len(arriving.tail)
    assert searched < 50 * lines * len("word\n")
    assert len(arriving.tail) <= TAIL


def test_a_short_text_is_searched_at_the_end_of_each_line_and_all_of_it_at_the_end() -> None:
    arriving = ArrivingText(Source("text"))
    for _ in range(20):
        arriving.add("word\n")
        assert arriving.is_due(at_end=False)
    arriving.add("x")
    assert not arriving.is_due(at_end=False)
    assert arriving.is_due(at_end=True)
