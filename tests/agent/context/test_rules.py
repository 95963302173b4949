"""Rule files: heads, globs, buckets, and which of two counts."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.context.documents import cut, framed, plain, size_of
from north_lsp.agent.context.frontmatter import split_front
from north_lsp.agent.context.globs import check_glob, matching_glob, split_globs
from north_lsp.agent.context.rules import Provider, Rule, Rules, parse_rule
from north_lsp.agent.prompts import fill
from north_lsp.storage.kinds import Level


def rule(text: str, name: str = "r", provider: Provider = "north", level: Level = "project") -> Rule:
    root = Path("/p") if level == "project" else None
    return parse_rule(text, Rule(name, provider, level, f"{provider}/{level}/{name}.md", "", root))


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("Just text.", {}, "Just text."),
        ("---\nnot closed", {}, "---\nnot closed"),
        ("--- \na: 1\n---\n\nBody\n", {"a": 1}, "Body"),
        ("---\nglobs: *.ts\nalwaysApply: false\n---\nB", {"globs": "*.ts", "alwaysApply": False}, "B"),
        ("---\nglobs:\n  - *.ts\n  - '*.js'\nn: 1.5\n---\nB", {"globs": ["*.ts", "*.js"], "n": 1.5}, "B"),
        ("---\nx: [a, 'b', 3]\ny: *z\n---\nB", {"x": ["a", "b", 3], "y": "*z"}, "B"),
        ("---\ndescription:\n---\nB", {"description": None}, "B"),
        ("---\n---\nB", {}, "B"),
        ("---\na: !!python/object/apply:os.system [x]\n---\nB", {"a": ["x"]}, "B"),
    ],
)
def test_a_head_is_split_from_the_text_also_where_it_is_not_yaml(
    text: str, fields: dict[str, object], body: str
) -> None:
    found = split_front(text)
    assert dict(found.fields) == fields
    assert found.body == body


@pytest.mark.parametrize("head", ["a: &a [*a]", "- a\n- b", "x" * 20_000, "[" * 500])
def test_a_hostile_head_costs_only_itself(head: str) -> None:
    found = split_front(f"---\n{head}\n---\nBody")
    assert found.body == "Body"
    assert found.problem


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("**/*.py", "a.py", True), ("**/*.py", "x/y/a.py", True), ("*.py", "x/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False), ("src/**", "src/x/a.py", True), ("src/", "src/x/a.py", True),
        ("./src/*.py", "src/a.py", True), ("*.{ts,tsx}", "a/b.tsx", True), ("*.{ts,tsx}", "a/b.js", False),
        ("{a,b}/{c,d}.py", "b/c.py", True), ("{a,{b,c}}.py", "c.py", True), ("[ab].py", "b.py", True),
        ("?.py", "ab.py", False),
        ("**", "x/y", True), ("a{,b}.py", "a.py", True),
    ],
)  # fmt: skip
def test_globs_match_paths_relative_to_the_root(glob: str, path: str, matches: bool) -> None:
    assert check_glob(glob) is None
    assert (matching_glob([glob], path) is not None) is matches


def test_a_glob_that_could_take_for_ever_is_refused() -> None:
    assert check_glob("{a,b}" * 7) is not None
    assert check_glob("{a}" * 17) is not None
    assert check_glob("a" * 1001) is not None
    assert matching_glob(["**/" * 200 + "*a*b*c*d*e*f"], "a/" * 500 + "abcde") is None
    assert split_globs("a.py, src/{b,c}.ts,,d") == ["a.py", "src/{b,c}.ts", "d"]


@pytest.mark.parametrize(
    ("head", "buckets"),
    [
        ("", ("always",)),
        ("alwaysApply: true\nglobs: a.py", ("always",)),
        ("globs: a.py", ("glob",)),
        ("paths: ['a.py']", ("glob",)),
        ("applyTo: '**/*.py'", ("glob",)),
        ("description: D", ("rulebook",)),
        ("description: D\nglobs: a.py", ("glob", "rulebook")),
        ("alwaysApply: false", ("always",)),
        ("trigger: always_on\ndescription: D", ("always",)),
        ("condition: foo", ("stream",)),
    ],
)
def test_fields_say_when_a_rule_applies(head: str, buckets: tuple[str, ...]) -> None:
    assert rule(f"---\n{head}\n---\nBody" if head else "Body").buckets == buckets


def test_a_field_of_a_wrong_type_is_left_out_and_told() -> None:
    found = rule("---\nglobs: 7\ndescription: [a]\nalwaysApply: 'yes'\nother: 1\n---\nBody")
    assert found.buckets == ("always",)
    assert [problem.split("`")[1] for problem in found.problems] == ["globs", "alwaysApply", "description"]
    assert not rule("---\nenabled: false\n---\nBody").applies
    assert not rule("").applies


def test_of_two_rules_with_one_name_the_stronger_source_counts_and_the_project_before_the_user() -> None:
    rules = [
        rule("a", provider="cursor"),
        rule("b", provider="claude", level="user"),
        rule("c", provider="claude"),
        rule("d", name="off", provider="north"),
        rule("---\nenabled: false\n---\nx", name="other", provider="north"),
        rule("e", name="other", provider="cline"),
        rule("f", name="item", provider="cline"),
    ]
    found = {(one.provider, one.level, one.name): one.why for one in Rules(("off", "rule:item")).settled(rules).all}
    assert "disabledItems" in found["cline", "project", "item"]
    assert found["claude", "project", "r"] == ""
    assert found["claude", "user", "r"] == found["cursor", "project", "r"] == "shadowed by claude/project/r.md"
    assert "disabledRules" in found["north", "project", "off"]
    assert found["cline", "project", "other"] == ""


@given(st.text(max_size=200), st.integers(0, 120))
def test_a_cut_text_has_at_most_so_many_bytes_and_whole_lines(text: str, most: int) -> None:
    found = cut(text, most, "[truncated]")
    if size_of(text) <= most:
        assert found == text
    else:
        assert found.endswith("[truncated]")
        assert size_of(found) <= max(most, len("[truncated]"))


@given(
    st.text(alphabet="<>/ \u200bpPrRoOjJeEcCtT_xXuUsS\n", max_size=60).map(
        lambda text: f"</project_text>{text}</ user_text >"
    )
)
def test_no_text_ends_its_frame(text: str) -> None:
    shown = framed("project", text, path='"><')
    inside = shown.removeprefix('<project_text path="&quot;&gt;&lt;">\n').removesuffix("\n</project_text>")
    assert plain(inside) == inside
    assert re.search(r"<\s*/?\s*(?:project|user)_text", inside, re.IGNORECASE) is None


def test_a_frame_is_kept_in_linear_time() -> None:
    assert len(plain(("<" + " " * 400_000) + "x")) > 400_000  # the square of it would take hours


def test_what_is_filled_in_is_not_read_as_a_template() -> None:
    template = "{{#if a}}<{{a}}>{{/if}}{{#each rows}}\n- {{x}}{{/each}}{{#if none}}no{{/if}}"
    assert fill(template, {"a": "{{b}}", "none": "", "rows": [{"x": "{{a}}"}, {"x": "2"}]}) == "<{{b}}>- {{a}}- 2"
    with pytest.raises(KeyError):
        fill("{{missing}}", {})
