"""Finding files by a few letters: the quick way ranks as the plain one does."""

from hypothesis import given
from hypothesis import strategies as st

from north_lsp.workspace.files.fuzzy import FuzzyIndex, _score

PART = st.text("aAb_-.", min_size=1, max_size=5)
PATHS = st.lists(st.lists(PART, min_size=1, max_size=3).map("/".join), min_size=1, max_size=40, unique=True)


@given(PATHS, st.text("ab_", min_size=1, max_size=3), st.integers(1, 12))
def test_many_matches_are_ranked_as_if_each_had_been_scored(paths: list[str], query: str, limit: int) -> None:
    def score(path: str) -> int:
        folded = path.casefold()
        return _score(query, folded, folded.rsplit("/", 1)[-1])

    having = sorted((-score(path), len(path), path) for path in paths if query in path.casefold())
    found = FuzzyIndex.of(paths).ranked(query, limit)
    if len(having) >= limit:
        assert found == having[:limit]
    else:  # what is like it may come before it
        assert found == sorted(found)
    assert len({path for _, _, path in found}) == len(found) <= limit


def test_letters_in_order_are_found_among_very_many_paths() -> None:
    files = [f"package{number % 50}/part{number}/handler_{number}.py" for number in range(50_000)]
    index = FuzzyIndex.of(files)
    assert index.find("hndlr49")[0] == "package49/part49/handler_49.py"
    assert index.find("handler_49999") == ["package49/part49999/handler_49999.py"]
    assert index.find("handler")[:2] == ["package0/part0/handler_0.py", "package1/part1/handler_1.py"]
    assert index.find("zzz") == []
