"""The workflow in the log: what earlier versions wrote of it is still understood."""

from north_lsp.agent.log.workflows import SkillStateEntry


def test_a_workflow_that_an_earlier_version_began_has_its_name_of_today() -> None:
    earlier = SkillStateEntry("parallelise", "work", "speed-up").to_json()
    assert SkillStateEntry.from_json(earlier) == SkillStateEntry("parallelize", "work", "speed-up")
    skill = SkillStateEntry("parallelise", "draw")  # without a folder, it is a skill of the user's
    assert SkillStateEntry.from_json(skill.to_json()) == skill
