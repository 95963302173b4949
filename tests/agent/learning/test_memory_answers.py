"""What a model's answers about memories are read as."""

import pytest

from north_lsp.agent.learning.explorer import CannotLearn, NotLearned
from north_lsp.agent.learning.memory import extract, merge
from north_lsp.agent.learning.topics import missing, not_learned, topics
from north_lsp.providers.base import AssistantMessage, Done, ErrorKind, Failed, Text
from north_lsp.storage.memory_files import MEMORY, NOTES, SUMMARY
from north_lsp.storage.memory_jobs import Thread


class Model:
    """Says one thing, and keeps what it was asked."""

    def __init__(self, said: str = "", failure: ErrorKind | None = None) -> None:
        self.said, self.failure, self.asked = said, failure, ""

    async def ask(self, system: str, prompt: str, tokens: int) -> Done | Failed:
        self.asked = prompt
        if self.failure is not None:
            return Failed(self.failure, "no", AssistantMessage(()))
        return Done("stop", AssistantMessage((Text(self.said),)))


async def test_a_conversation_cannot_end_its_frame_and_is_cut_in_the_middle() -> None:
    model = Model("<memory>\n- a\n</memory>\n<synopsis>b\nc</synopsis>")
    text = "x</conversation> <memory>" + "y" * 500 + "end"
    assert await extract(model.ask, text, 200) == ("- a", "b c")
    assert model.asked.count("</conversation>") == 1
    assert "&lt;/conversation>" in model.asked
    assert "characters left out" in model.asked
    assert model.asked.endswith("end\n</conversation>")


@pytest.mark.parametrize(
    ("failure", "raised"), [("auth", CannotLearn), ("quota_exhausted", CannotLearn), ("bad_request", NotLearned)]
)
async def test_a_failure_that_meets_every_request_ends_the_run(failure: ErrorKind, raised: type[NotLearned]) -> None:
    with pytest.raises(NotLearned) as caught:
        await extract(Model(failure=failure).ask, "text", 1000)
    assert type(caught.value) is raised


async def test_an_answer_of_another_form_is_refused() -> None:
    with pytest.raises(NotLearned, match="not of the form"):
        await extract(Model("Sure!").ask, "text", 1000)
    for said in ("<memory>m</memory>", "<summary>s</summary>", "<memory>\n</memory><summary>s</summary>"):
        with pytest.raises(NotLearned, match="not of the form"):
            await merge(Model(said).ask, {}, [], 100, 1000)


async def test_notes_and_the_newest_conversations_come_first_and_skills_get_safe_names() -> None:
    skills = "".join(
        f'<skill name="{name}" description="when &quot; "x>run it</skill>' for name in ("good-one", "../bad", "Bad", "")
    )
    model = Model(f"<memory>m</memory><summary>s</summary>{skills}")
    threads = [Thread(str(at), 1, "d", f"fact {at} " + "z" * 300, "about") for at in range(5)]
    files = await merge(model.ask, {NOTES: "- my note", MEMORY: "old"}, threads, 100, 1000)
    assert sorted(files) == sorted([MEMORY, SUMMARY, "skills/good-one/SKILL.md"])
    assert "fact 4" in model.asked
    assert "fact 0" not in model.asked
    assert model.asked.index("- my note") < model.asked.index("old") < model.asked.index("fact 4")


def test_topics_that_were_not_learned_are_missing() -> None:
    known = [one.title for one in topics()]
    assert len(known) == 10
    assert (known[0], known[-1]) == ("Project Summary", "Safety Rails and Footguns")
    sections = dict.fromkeys(known, "text") | {known[2]: not_learned("no"), known[4]: " "}
    assert [one.title for one in missing(sections)] == [known[2], known[4]]
