"""What the log has of calls beside their output, as far as it is not about commands: the answers of a user, what was
searched for, a skill, and that a call was not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from north_lsp.lazy_dataclass import dataclass

NOT_RUN: Mapping[str, object] = {"cancelled": True}
"""The details of a call that was cancelled before it ran."""


@dataclass(frozen=True, slots=True)
class AnswerDetails:
    """The answer to the question with an id: the options that were `chosen`, and words of the user's `own`.
    `unfinished` and `automatic` say how it came about without the user."""

    id: str
    chosen: tuple[str, ...] = ()
    own: str = ""
    unfinished: bool = False
    automatic: bool = False

    def to_json(self) -> dict[str, object]:
        row: dict[str, object] = {"id": self.id, "chosen": list(self.chosen)}
        row |= {"own": self.own} if self.own else {}
        row |= {"unfinished": True} if self.unfinished else {}
        return row | ({"automatic": True} if self.automatic else {})


def details_of_answers(answers: Sequence[AnswerDetails]) -> dict[str, object]:
    """Make the details of a call that has asked the user."""
    rows = [answer.to_json() for answer in answers]
    return rows[0] if len(rows) == 1 else {"results": rows}


def details_of_search(provider: str, sources: Sequence[tuple[str, str]], error: str | None = None) -> dict[str, object]:
    """Make the details of a search of the web by a provider; `sources` are the titles and addresses that it found, and
    `error` is why there are none."""
    rows = [{"title": title, "url": url} for title, url in sources]
    details: dict[str, object] = {"response": {"provider": provider, "sources": rows}}
    return details if error is None else details | {"error": error}


def details_of_skill(skill: str) -> dict[str, object]:
    """Make the details of a call that has loaded a skill."""
    return {"skill": skill}
