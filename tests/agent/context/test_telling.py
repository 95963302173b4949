"""What a model knows of what is told once."""

from north_lsp.agent.context.telling import told_before
from north_lsp.agent.log.compactions import CompactionEntry
from north_lsp.agent.log.entries import Entry, Logged
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.messages import News, PromptEntry, Words


def path_of(*entries: Entry) -> list[Logged]:
    return [Logged(str(at), None, "", entry) for at, entry in enumerate(entries)]


def prompt(about: str, text: str, *, excluded: bool = False) -> PromptEntry:
    return PromptEntry(Content((News(text, about), News("job done"), Words("hello"))), excluded=excluded)


def test_the_last_text_of_each_counts_and_nothing_that_models_do_not_get() -> None:
    path = path_of(prompt("git", "a"), prompt("rule::x", "X"), prompt("git", "b"), prompt("date", "d", excluded=True))
    assert told_before(path) == {"git": "b", "rule::x": "X"}


def test_what_a_summary_has_replaced_is_told_again() -> None:
    before, kept = prompt("rule::x", "X"), prompt("git", "a")
    assert told_before(path_of(before, kept, CompactionEntry("short", "1"))) == {"git": "a"}
    assert told_before(path_of(before, kept, CompactionEntry("short", "2"))) == {}
