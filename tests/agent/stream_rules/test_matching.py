"""What breaks a rule."""

import json

import pytest

from north_lsp.agent.ports.stream_rules import Condition, StreamRule
from north_lsp.agent.stream_rules.builtin import built_in
from north_lsp.agent.stream_rules.matching import ArrivingText, Source, Watched, watched, watched_own
from north_lsp.agent.stream_rules.written import WrittenSource

OWN = {one.rule.name: watched_own(one) for one in built_in()}


def rule(**condition: object) -> Watched:
    return watched(StreamRule("r", "Body", Condition(**condition)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ("# ... rest of the file unchanged ...", True), ("    // ... existing code ...", True),
        ("/* … rest of code … */", True), ("<!-- ... existing content ... -->", True),
        ("# the rest of the function stays unchanged", True), ("// rest of the class omitted", True),
        ("# (rest of file as before)", True), ("// existing methods ...", True), ("-- ... unchanged", True),
        ("# existing code must not be changed", False), ("x = '...rest'", False), ("# ...", False),
        ("return existing  # ... see above", False), ("// the rest of the team reviews this", False),
        ("# Wait for the remaining jobs", False), ("const { a, ...rest } = props;", False),
        ("# previous versions kept the same name", False),
    ],
)  # fmt: skip
def test_comments_in_place_of_code_are_found(line: str, broken: bool) -> None:
    assert OWN["no-elided-code"].is_in(f"def f():\n{line}\n    return 1\n") is broken


@pytest.mark.parametrize(
    ("text", "broken"),
    [("a\n<<<<<<< HEAD\nb", True), (">>>>>>> main", True), ("=======", False), ("x = 1 <<<<<<< 2", False)],
)
def test_conflict_markers_are_found(text: str, broken: bool) -> None:
    assert OWN["no-conflict-markers"].is_in(text) is broken


@pytest.mark.parametrize(
    ("arguments", "broken"),
    [
        ({"command": "npm run dev"}, True), ({"command": "cd web && yarn start --port 3"}, True),
        ({"command": "python3 -m http.server 80"}, True), ({"command": "vite"}, True),
        ({"command": "npm run dev", "background": True}, False), ({"background": True, "command": "flask run"}, False),
        ({"command": "npm run build"}, False), ({"command": "vite build"}, False), ({"command": "npm test"}, False),
        ({"command": 'echo "npm_dev"', "background": False}, False),
    ],
)  # fmt: skip
def test_servers_in_the_foreground_are_found(arguments: dict[str, object], broken: bool) -> None:
    assert OWN["no-blocking-server"].is_in(json.dumps(arguments)) is broken


def test_what_is_written_is_read_from_the_arguments_of_edits() -> None:
    arriving, written = ArrivingText(Source("tool", "edit_apply_batch", "1", writes=True)), WrittenSource()
    first = {"tool": "edit_replace_exact", "args": {"path": "a.py", "old": "OLD", "new": "NEW"}}
    second = {"tool": "edit_create_file", "args": {"path": "b.py", "content": "ALL"}}
    text = json.dumps({"edits": [first, second]})
    cut = text.index("EW")
    written.feed(text[:cut], arriving)
    assert (arriving.path, arriving.tail) == ("a.py", "N")
    written.feed(text[cut:], arriving)
    assert (arriving.path, arriving.tail) == ("b.py", "ALL\n")


def edit(*rows: tuple[str, str]) -> str:
    """Spell an edit of a batch, with its arguments in this order."""
    args = ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in rows)
    return f'{{"tool": "edit_create_file", "args": {{{args}}}}}'


def searched(tool: str, arguments: str, *, step: int) -> dict[str, str]:
    """Return the texts that are searched of a call whose arguments come in pieces, by their files."""
    arriving, written = ArrivingText(Source("tool", tool, "1", writes=True)), WrittenSource()
    found: dict[str, str] = {}
    for at in range(0, len(arguments), step):
        written.feed(arguments[at : at + step], arriving)
        found |= {one.path: one.tail for one in (*arriving.take_ended(), arriving)}
    return found


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_no_edit_of_a_call_goes_unseen_however_it_arrives(step: int) -> None:
    first = edit(("path", "a.py"), ("content", "A"))
    second = edit(("content", "B"), ("path", "b.py"))
    third = edit(("path", "x.py"), ("content", "C"), ("path", "c.py"))
    batch = f'{{"edits": [{first}, {second}, {third}]}}'
    seen = searched("edit_apply_batch", batch, step=step)
    assert {path: text for path, text in seen.items() if path in ("a.py", "b.py", "c.py")} == {
        "a.py": "A\n",
        "b.py": "B\n",
        "c.py": "C\n",
    }
    patch = json.dumps({"patch": "+++ b/x.py\n+new\n*** Update File: y.py\n+other\n"})
    seen = searched("edit_patch", patch, step=step)
    assert {seen["x.py"], seen["y.py"]} == {"new\n", "other\n"}


@pytest.mark.parametrize("cut", [0, 30, 61, 75])
def test_only_the_lines_that_a_patch_adds_are_written(cut: int) -> None:
    patch = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n keep\n-old\n+new\n*** Update File: y.py\n@@\n-a\n+b"
    text = json.dumps({"patch": patch})
    arriving, written = ArrivingText(Source("tool", "edit_patch", "1", writes=True)), WrittenSource()
    for piece in (text[:cut], text[cut:]):
        written.feed(piece, arriving)
    assert (arriving.path, arriving.tail) == ("y.py", "b\n")


def test_a_scope_is_a_source_or_a_tool() -> None:
    text, shell, edit = Source("text"), Source("tool", "shell_run"), Source("tool", "edit_patch", writes=True)
    sources = [text, shell, edit, Source("thinking")]
    assert [rule().concerns(one) for one in sources] == [True, True, True, False]
    assert [rule(scope=("tool:edit_*", "thinking")).concerns(one) for one in sources] == [False, False, True, True]


def test_a_pattern_that_takes_for_ever_is_given_up() -> None:
    slow = rule(patterns=(r"^(\w+\s?)*$",))
    for _ in range(3):
        assert not slow.is_off
        assert not slow.is_in("a" * 5_000 + "!")
    assert slow.is_off


def test_structures_are_looked_for_in_source_only() -> None:
    found = rule(structures=("print($X, $X)",), patterns=())
    arriving = ArrivingText(Source("tool", "edit_create_file", writes=True), "a.py")
    arriving.add("def f():\n    print(a, b)\n")
    assert not found.is_in_code(arriving)
    arriving.add("    print(a, a)\n")
    assert not arriving.begin_parse(at_end=False)  # too little is new
    assert arriving.begin_parse(at_end=True)
    assert found.is_in_code(arriving)
    arriving.path = "a.unknown"
    assert not found.is_in_code(arriving)
