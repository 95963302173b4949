"""Asks the user what a model wants to know: as one form where the editor has forms, else question by question."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.log.call_details import AnswerDetails, details_of_answers
from north_lsp.agent.log.questions import QuestionRequest
from north_lsp.agent.log.reviews import StoredDecision
from north_lsp.agent.ports.editor import NOBODY, Choice, Editor
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.forms import ChoiceField, Field, Form, FormAnswer, TextField
from north_lsp.agent.ports.results import Result, ok
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.storage.entries import new_entry_id
from north_lsp.tools.questions import Option, UserQuestion

_OWN, _DONE = "own", "done"
_OTHER = "Other (type your own)"
_MAX_ANSWER = 4000
_CLOSED = "The user closed the question without an answer. Continue as you think best, or end your turn if you cannot."
_NEXT = "The user wants to answer in their own words: end your turn now, their next message is the answer."


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question: what was `chosen`, in the order of the options, and words of the user's `own`.
    `automatic`: nobody answered in time. `unfinished`: the user had chosen this when the time was over. `later`: the
    user wants to answer with the next prompt."""

    question: UserQuestion
    chosen: tuple[str, ...] = ()
    own: str = ""
    automatic: bool = False
    unfinished: bool = False
    later: bool = False

    @property
    def words(self) -> str:
        parts = [f"Chosen: {', '.join(self.chosen)}"] if self.chosen else []
        parts += [f"Own answer: {self.own}"] if self.own else []
        parts += [_NEXT] if self.later else []
        late = " (nobody answered in time: this was chosen automatically)" if self.automatic else ""
        late = " (time ran out before the user had finished choosing)" if self.unfinished else late
        return ("; ".join(parts) or "no answer") + late

    def details(self) -> AnswerDetails:
        return AnswerDetails(self.question.id, self.chosen, self.own, self.unfinished, self.automatic)


class QuestionAsker:
    """Asks for the model of one session."""

    def __init__(self, reviews: ReviewRecord, editor: Editor) -> None:
        self._reviews = reviews
        self._editor = editor

    async def ask(self, context: TurnContext, call: ToolCall, title: str, questions: Sequence[UserQuestion]) -> Result:
        """Ask, and return the answers as the call's result. Raises ToolError."""
        if not self._editor.has_user:
            raise ToolError("UNAVAILABLE", NOBODY, "decide by yourself, and say what you assumed")
        request = QuestionRequest(tuple(one.text for one in questions))
        review = self._reviews.open(call.id, request).id
        await self._reviews.sync_question()
        limit = context.settings.planning.ask_timeout_s if not context.plans else 0
        answers, taken = list[Answer](), list[int]()
        is_answered = True
        with anyio.move_on_after(limit or None) as waiting:
            is_answered = await self._answer(call, questions, answers, taken)
        if waiting.cancelled_caught:  # what the user has answered counts, and what they had chosen so far
            if taken:
                begun = questions[len(answers)]
                answers.append(Answer(begun, _labels(begun, taken), unfinished=True))
            answers += [_automatic(one) for one in questions[len(answers) :]]
        if not is_answered:
            self._reviews.close(review, StoredDecision("closed"))
            ended = CallEnded(call.id, title, False, "You closed the question.")
            return Result(ok({"answered": False, "note": _CLOSED}), False, ended)
        self._reviews.close(review, StoredDecision("answered"))
        text = _told(answers)
        ended = CallEnded(call.id, title, True, visible(text))
        return Result(text, False, ended, details_of_answers([answer.details() for answer in answers]))

    async def _answer(
        self, call: ToolCall, questions: Sequence[UserQuestion], answers: list[Answer], taken: list[int]
    ) -> bool:
        """Add each answer to `answers` once it is given; False if the user closed a question. `taken` are the options
        that are chosen so far in the question that is open."""
        form = await self._editor.fill(_form(call.id, questions))
        if form is not None:
            if form.kind == "accepted":
                answers += [_of_form(form, at, one) for at, one in enumerate(questions)]
            return form.kind == "accepted"
        for at, question in enumerate(questions):
            answer = await self._choose(call, question, (at, len(questions)), taken)
            if answer is None:
                return False
            answers.append(answer)
            taken.clear()
            if answer.later:
                break
        return True

    async def _choose(
        self, call: ToolCall, question: UserQuestion, place: tuple[int, int], taken: list[int]
    ) -> Answer | None:
        """Ask one question as a choice; one of several is asked again until the user is done. None if it was closed."""
        at, count = place
        text = question.text if count == 1 else f"{question.text} ({at + 1} of {count})"
        while True:
            options = [(str(number), _name(question, number, taken)) for number in range(len(question.options))]
            options += [(_DONE, f"Done ({len(taken)} chosen)")] if question.several else []
            own, options = f"ask-{new_entry_id(())}", [*options, (_OWN, _OTHER)]
            choice = Choice(own, text, tuple(options), _detail(question), alike=True, call_id=call.id)
            decided = await self._editor.decide(choice)
            labels = _labels(question, taken)
            match decided.option:
                case None:
                    return None
                case "own":
                    own = (decided.comment or "").strip()
                    return Answer(question, labels, own, later=not own)
                case "done":
                    return Answer(question, labels)
                case chosen if not question.several:
                    return Answer(question, (question.options[int(chosen)].label,))
                case chosen:
                    number = int(chosen)
                    (taken.remove if number in taken else taken.append)(number)


def _form(call_id: str, questions: Sequence[UserQuestion]) -> Form:
    fields: list[Field] = []
    for at, question in enumerate(questions):
        detail = ""
        if question.options:
            recommended = question.recommended
            default = str(recommended) if recommended is not None else None
            options = tuple((str(number), _form_name(question, number)) for number in range(len(question.options)))
            chosen = ChoiceField(
                f"q{at}", question.text, options, required=False, default=default, several=question.several
            )
            fields.append(chosen)
            detail = "Replaces the choice above." if not question.several else ""
        title = _OTHER if question.options else question.text
        fields.append(TextField(f"q{at}_own", title, detail, required=False, most=_MAX_ANSWER))
    message = questions[0].text if len(questions) == 1 else f"North has {len(questions)} questions."
    return Form(f"ask-{new_entry_id(())}", message, tuple(fields), call_id)


def _of_form(form: FormAnswer, at: int, question: UserQuestion) -> Answer:
    value, own = form.values.get(f"q{at}"), str(form.values.get(f"q{at}_own", "")).strip()
    numbers = value if isinstance(value, tuple) else (str(value),) if value is not None else ()
    labels = tuple(question.options[number].label for number in sorted(map(int, numbers)))
    return Answer(question, labels if question.several or not own else (), own)


def _labels(question: UserQuestion, taken: Sequence[int]) -> tuple[str, ...]:
    return tuple(question.options[number].label for number in sorted(taken))


def _automatic(question: UserQuestion) -> Answer:
    """Answer in the user's place: with what is recommended, else with nothing."""
    if question.recommended is None:
        return Answer(question, automatic=True)
    return Answer(question, (question.options[question.recommended].label,), automatic=True)


def _name(question: UserQuestion, number: int, taken: Sequence[int]) -> str:
    mark = "✓ " if number in taken else ""
    best = " (recommended)" if number == question.recommended else ""
    return visible(f"{mark}{one_line(question.options[number].label, 100)}{best}")


def _form_name(question: UserQuestion, number: int) -> str:
    described = _described(question.options[number])
    return one_line(f"{described} (recommended)" if number == question.recommended else described, 300)


def _detail(question: UserQuestion) -> str:
    return "\n".join(f"- {_described(option)}" for option in question.options if option.description)


def _described(option: Option) -> str:
    return f"{option.label}: {one_line(option.description, 200)}" if option.description else option.label


def _told(answers: Sequence[Answer]) -> str:
    if len(answers) == 1:
        return answers[0].words
    return "\n".join(["Answers:", *(f"- {answer.question.id}: {answer.words}" for answer in answers)])
