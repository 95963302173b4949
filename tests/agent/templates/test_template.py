"""What a template's file says, and which of several with one name counts."""

from pathlib import Path

import pytest

from north_lsp.agent.templates.bundled_templates import bundled_templates
from north_lsp.agent.templates.template import NO_WISHES, Template, Templates, Wishes, parse_template


def about(
    name: str = "review", *, kind: str = "command", provider: str = "north", level: str = "project", file: str = ""
) -> Template:
    path = Path("/repo") / (file or f".north/commands/{name}.md")
    return Template(name, kind, provider, level, path, str(path.relative_to("/repo")))  # type: ignore[arg-type]


def test_the_head_describes_a_command_and_the_rest_is_what_it_says() -> None:
    text = "---\ndescription: Review a file\nargument-hint: <path>\n---\n\nLook at $1.\n"
    found = parse_template(text, about())
    assert (found.description, found.hint, found.body, found.why) == ("Review a file", "<path>", "Look at $1.", "")


def test_without_a_description_the_first_line_describes_it() -> None:
    found = parse_template("\n# Review " + "x" * 80 + "\n\nMore.", about())
    assert found.description == "Review " + "x" * 53 + "..."


def test_a_hint_in_brackets_is_one_although_yaml_takes_it_for_a_list() -> None:
    assert parse_template("---\nargument-hint: [file]\n---\nLook.", about()).hint == "[file]"


def test_a_broken_head_costs_only_the_head() -> None:
    found = parse_template("---\ndescription: [\n---\nLook.", about())
    assert found.applies
    assert found.body == "Look."
    assert found.problems


def test_a_skill_says_what_files_it_is_about_and_a_command_does_not() -> None:
    head = "---\ndescription: Bakes\nglobs: '*.tart, !old/**'\nalwaysApply: yes\n---\nBake."
    found = parse_template(head, about("bake", kind="skill"))
    assert (found.globs, found.always, found.problems) == (("*.tart", "!old/**"), True, ())
    wrong = parse_template("---\ndescription: Bakes\nglobs: 3\n---\nBake.", about("bake", kind="skill"))
    assert (wrong.globs, wrong.problems) == ((), ("`globs` must be a string, or a list of strings, and was left out",))
    assert parse_template(head, about()).globs == ()


@pytest.mark.parametrize(
    ("head", "wishes"),
    [
        ("model: opus\nallowed-tools: Bash(git add:*), Read", Wishes("opus", tools=("Bash", "Read"))),
        ("tools: [codebase, 'mcp:*']\nmode: ask", Wishes(only_reads=True, tools=("codebase", "mcp:*"))),
        ("mode: agent", NO_WISHES),
        ("allowed-tools: []", Wishes(tools=())),
    ],
)
def test_what_a_template_wants_of_its_turn(head: str, wishes: Wishes) -> None:
    found = parse_template(f"---\n{head}\n---\nLook.", about())
    assert (found.wishes, found.problems) == (wishes, ())


def test_what_has_no_effect_is_said() -> None:
    found = parse_template("---\nmode: fast\nagent: x\ntools: 3\n---\nLook.", about())
    assert found.wishes == NO_WISHES
    assert found.problems == (
        "`agent` in its front matter has no effect",
        "`mode: fast` has no effect: only `ask` has one",
        "`allowed-tools` must be a list of names, and was left out",
    )


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("", "review", "it is empty"),
        ("---\ndisable: true\n---\nLook.", "review", "its front matter says `disable: true`"),
        ("Look.", "über", "its name is not made of letters, digits, `-`, `_` and `:`"),
        ("Look.", "two words", "its name is not made of letters, digits, `-`, `_` and `:`"),
    ],
)
def test_why_a_command_cannot_be_called(text: str, name: str, why: str) -> None:
    assert parse_template(text, about(name)).why == why


def test_a_skill_needs_a_description_and_may_name_itself() -> None:
    skill = about("skill:pdf", kind="skill", file=".north/skills/pdf/SKILL.md")
    assert parse_template("Do it.", skill).why == "its front matter has no `description`"
    named = parse_template("---\nname: PDF-forms\ndescription: Fill in forms\n---\nDo it.", skill)
    assert (named.name, named.applies) == ("skill:pdf-forms", True)


def test_a_command_for_gemini_is_toml() -> None:
    found = parse_template(
        'description = "Say hello"\nprompt = """\nHello {{args}}\n"""\n', about(file=".gemini/commands/a.toml")
    )
    assert (found.description, found.body) == ("Say hello", "Hello {{args}}")
    assert parse_template("prompt = ", about(file=".gemini/commands/a.toml")).why.startswith("it is not TOML")


def test_of_the_same_name_norths_own_counts_then_the_provider_then_the_project() -> None:
    body = "Look."
    found = Templates(["undo"]).settled(
        [
            parse_template(body, about("review", provider="claude", file=".claude/commands/review.md")),
            parse_template(body, about("review", level="user", file="user/review.md")),
            parse_template(body, about("review")),
            parse_template(body, about("undo")),
        ]
    )
    whys = {(one.shown, one.why) for one in found.all}
    assert whys == {
        (".north/commands/review.md", ""),
        ("user/review.md", "shadowed by .north/commands/review.md"),
        (".claude/commands/review.md", "shadowed by .north/commands/review.md"),
        (".north/commands/undo.md", "shadowed by a command of North's"),
    }


def test_what_the_settings_switch_off_cannot_be_called_and_takes_no_name() -> None:
    skill = about("skill:pdf", kind="skill", file=".north/skills/pdf/SKILL.md")
    found = Templates(disabled=("skill:pdf", "command:review")).settled(
        [
            parse_template("---\ndescription: Fill\n---\nDo.", skill),
            parse_template("Look.", about("review")),
            parse_template("Look.", about("review", provider="claude", kind="prompt", file=".claude/review.md")),
        ]
    )
    off = "the setting `disabledItems` names it"
    assert {one.shown: one.why for one in found.all} == {
        ".north/skills/pdf/SKILL.md": off,
        ".north/commands/review.md": off,
        ".claude/review.md": "",
    }


def test_what_north_brings_along_is_all_there_and_described() -> None:
    found = bundled_templates()
    assert {one.name for one in found} == {path.stem for path in found[0].path.parent.glob("*.md")}
    assert all(one.applies and one.description and one.body and "---" not in one.body for one in found)
