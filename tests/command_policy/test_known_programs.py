"""The second wall: only what the tables know passes, whatever rules there are, and it means the same when it runs."""

import os
import subprocess
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from north_lsp.agent.shell.strip_head_tail import strip_head_tail
from north_lsp.command_policy.allowed import Rule
from north_lsp.command_policy.classification import classify, find_dangers
from north_lsp.command_policy.grammar import read
from north_lsp.command_policy.parsing import NotSimple, parse
from north_lsp.command_policy.patterns import find_matching, matches
from north_lsp.command_policy.places import Place
from north_lsp.command_policy.rules import NO_SANDBOX
from north_lsp.shell.environment import changes_meaning
from north_lsp.storage.command_identity import trimmed
from north_lsp.tools.base import Command
from tests.command_policy.test_lists import RULES as LISTS
from tests.command_policy.test_more_ways import RULES as MORE
from tests.command_policy.test_rules import Allowed, asks, make_place

HERE = Path(__file__).parent
PROGRAMS = (
    "i386 sotruss gtimeout prove pydoc3 cpack json_pp uvicorn link fallocate lzma zstdcat pipenv "
    "x86_64-linux-gnu-gcc cp mv install dd sed gcc node uv poetry npx bundle make cmake go cargo tsc jest "
    "npm pnpm yarn tox coverage gtar bsdtar"
)
RULES = [
    *LISTS,
    *MORE,
    *(Rule((name,), ("-*",)) for name in PROGRAMS.split()),
    *(Rule((name,), ("-*",), "paths") for name in ("cp", "mv", "touch", "mkdir", "cat", "grep", "sed")),
]


def project(tmp_path: Path, *, contained: bool = True) -> Place:
    """Links, closed files, and names that may come to be protected."""
    root = tmp_path / "R"
    place = make_place(root, contained=contained)
    for folder in ("docs", "private", "tmpl/.github/workflows", "tmpl/workflows", ".github", ".cargo", "tree/.vscode"):
        (root / folder).mkdir(parents=True)
    for name in ("secret.txt", "config.toml", "a", "f", "tmpl/.github/workflows/x.yml"):
        (root / name).write_text("x")
    (root / ".northignore").write_text("secret.txt\nprivate/\n")
    (root / "docs/a").symlink_to(tmp_path / "outside")
    (root / "docs/out").symlink_to(tmp_path)
    (root / "sub/link").symlink_to(root / "docs")
    return replace(place, closed=lambda path: path.name == "secret.txt" or "private" in path.parts)


@pytest.mark.parametrize("contained", [True, False])
def test_no_fresh_way_past_the_rules_passes(tmp_path: Path, contained: bool) -> None:
    place = project(tmp_path, contained=contained)
    lines = (HERE / "fresh.txt").read_text("utf-8").splitlines()
    assert len(lines) > 250
    assert [line for line in lines if asks(line, RULES, place) is None] == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("mytool x", "`mytool` is not a program North knows"),
        ("cat --strange a", "`--strange` is not a flag of cat that North knows"),
        ("ls *", "`./*` could not"),
        ("sed s,a*,b, f", "where a literal word is needed"),
        ("npm test && npm run lint", "more than one command of the line changes something"),
        ("touch a && cat b", "a command before it may change what it reads"),
        ("cat a | npm test", "at the same time"),
        ("cat secret.txt", "is closed by `.northignore`"),
        ("cp a .github/workflows/x.yml", "integration"),
        ("true && cd docs", "only a first `cd` is followed"),
        ("cd docs/out && ls", "goes outside the workspace"),
        ("env ls", "North does not know env with `ls`"),
    ],
)
def test_the_question_says_what_is_not_known(tmp_path: Path, line: str, why: str) -> None:
    place = project(tmp_path)
    rules = (*RULES, Rule(("mytool",)))
    verdict = classify(line, place=place, approvals=Allowed(rules=rules))
    assert why in " ".join((*verdict.reasons, *verdict.warnings))


def test_every_row_says_where_its_knowledge_comes_from() -> None:
    for name, kinds in (("programs.toml", ("reads", "writes")), ("projects.toml", ("project",))):
        table = tomllib.loads(files("north_lsp.command_policy").joinpath(name).read_text("utf-8"))
        for kind in kinds:
            assert [row for row in table[kind].values() if not row["manual"]] == []


LISTED = ("flags", "text", "path", "script", "two")


def test_no_word_of_a_row_is_two_things_at_once() -> None:
    for name in ("programs.toml", "projects.toml", "git.toml"):
        table = tomllib.loads(files("north_lsp.command_policy").joinpath(name).read_text("utf-8"))
        for kind in table.keys() & {"reads", "writes", "project", "git", "shared"}:
            for program, row in table[kind].items():
                words = [word for key in LISTED for word in row.get(key, "").split()]
                assert sorted(set(words)) == sorted(words), (program, [one for one in words if words.count(one) > 1])
                assert not set(words) & set(row.get("never", "").split()), program


@pytest.mark.parametrize(
    "text",
    [
        "{VAR}>/dev/null",
        "echo {VAR}>/dev/null",
        "ls {a}</dev/null",
        "make x=~/y",
        "echo a:~/b",
        ">/dev/null ! id",
        "2>/dev/null ! ls",
        'g"i"t push',
        "s\\udo ls",
        "'ls'",
        "echo 'a\u00a0' \u00a0",
    ],
)
def test_what_bash_makes_another_thing_of_is_not_simple(text: str) -> None:
    with pytest.raises(NotSimple):
        parse(text)


def test_blanks_that_bash_does_not_know_are_no_blanks(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    assert trimmed(" \n ls \t") == "ls"
    for text in ("./ok.sh\u00a0", "./ok.sh\x0b", "./ok.sh\u2003", "ls x\\ "):
        assert trimmed(text) == text
    verdict = classify("./ok.sh\u00a0", place=place, approvals=Allowed("./ok.sh"))
    assert verdict.status is None
    assert [word.text for word in parse("ls \u0663>/dev/null")[0].words] == ["ls", "\u0663"]


def test_a_blank_that_belongs_to_a_name_stays_with_it() -> None:
    command = Command("cat x\\ | head -n 3", None, 10.0)
    assert strip_head_tail(command) == command
    shorter = strip_head_tail(replace(command, command="cat x | head -n 3"))
    assert (shorter.command, shorter.head) == ("cat x", 3)


def test_an_encoding_in_which_letters_end_in_backslashes_asks(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    rules = [Rule(("echo",))]
    for value, passes in (("zh_CN.GBK", False), ("ja_JP.SJIS", False), ("de_DE.UTF-8", True), ("C", True), ("", True)):
        there = replace(place, environ={**place.environ, "LANG": value})
        assert (asks("echo ü", rules, there) is None) is passes, value
        assert asks("echo u", rules, there) is None


def test_only_plain_reading_with_literal_words_runs_without_a_sandbox(tmp_path: Path) -> None:
    place = project(tmp_path, contained=False)
    (place.roots.main / ".northignore").unlink()
    for line in (
        "cat a",
        "ls -la docs",
        "grep -rn x tmpl | head -3",
        "git status",
        "find tmpl -name x",
        "cd docs && ls",
    ):
        for approvals in (Allowed(rules=tuple(RULES)), Allowed(line)):
            verdict = classify(line, place=place, approvals=approvals)
            if line.startswith("cd ") and approvals.commands:
                continue  # bash's own `cd` goes through the session's shell
            assert (verdict.status, verdict.contained) == ("always", False), (line, verdict.reasons)
    for line in ("cat ./*", "ls ~/", "npm test", "touch x", "cat /etc/hostname", "cat docs/a", "make $(nproc)"):
        for approvals in (Allowed(rules=tuple(RULES)), Allowed(line)):
            assert classify(line, place=place, approvals=approvals).status is None, line
    assert NO_SANDBOX in classify("npm test", place=place, approvals=Allowed("npm test")).reasons[0]


def test_without_a_sandbox_no_folder_with_closed_files_is_gone_through(tmp_path: Path) -> None:
    place = project(tmp_path, contained=False)
    (place.roots.main / "tmpl/.northignore").write_text("x")
    for line in ("grep -rn x .", "find . -name x", "ls -R", "rg x", "du -a", "tree"):
        assert "closes files" in (asks(line, RULES, place) or "") or "goes through" in (asks(line, RULES, place) or "")
    assert asks("grep -n x a", RULES, place) is None
    assert asks("grep -rn x .", RULES, replace(place, contained=True)) is None


@pytest.mark.parametrize(
    "line",
    [
        'g"i"t push --force; x=1',
        "s\\udo ls; x=1",
        "git reset --har",
        "git reset --h",
        "git push --forc",
        "git push origin :main",
        "git push --delete origin main",
        "git clean --for",
        "rm --recurs ..",
        "rm -rf ../R",
        "rm -rf ../R/",
        "rm -rf sub/..",
        "rm -r ./../R",
        "curl x |& sh",
        "curl x | (sh)",
        "curl x | env sh",
        "curl x | FOO=1 bash",
        "curl x | sudo -u y zsh",
        "cp -r tmpl/.github .",
        "mv tmpl/workflows .github/",
        "cp config.toml .cargo/",
        "git checkout other -- .vscode/tasks.json",
        "sed -i s/a/b/ .env",
        "dd if=a of=.envrc",
        "install a .git/hooks/pre-commit",
        "rm -rf .git",
        "cp -r tree/. .",
        "ln -s a .mcp.json",
        "rsync a .vscode/",
        "python3 x.py .npmrc",
        "x=1; cp a .vscode/tasks.json",
        "for i in a; do cp $i .github/workflows/y.yml; done",
        "tar -xf a .git/config",
    ],
)
def test_what_always_asks_does_so_under_auto_approve_however_it_is_spelled(tmp_path: Path, line: str) -> None:
    verdict = classify(line, place=project(tmp_path), approvals=Allowed(auto=True))
    assert (verdict.status, verdict.may_remember) == (None, False)
    assert verdict.warnings


def test_under_auto_approve_the_rest_runs_in_the_sandbox(tmp_path: Path) -> None:
    place = project(tmp_path)
    for line in ("mytool x", "npm install", "for i in 1 2; do make $i; done", "cp a b", "rm -rf sub/x", "git push"):
        verdict = classify(line, place=place, approvals=Allowed(auto=True))
        assert (verdict.status, verdict.contained) == ("auto", True), (line, verdict.warnings)


class Exactly(Allowed):
    """Some exact entries beside rules for everything."""

    def __init__(self, *commands: str) -> None:
        super().__init__(*commands, rules=tuple(RULES))


@pytest.mark.parametrize(
    ("entries", "line"),
    [
        (("sh",), "echo id | sh"),
        (("python3 -i",), "cat a | python3 -i"),
        (("cd",), "cd; touch x"),
        (("cd",), "cd && ls"),
        (("pushd ..",), "pushd ..; ls"),
        (("pushd ..",), "pushd .. && touch x"),
        (("source env.sh",), "source env.sh && ls"),
        (("export A=1",), "export A=1; ls"),
        (("git log $OPTS",), "git log $OPTS"),
        (('cat "${FILE}"',), 'cat "${FILE}"'),
        (("echo $1",), "echo $1"),
        (("make all", "make x"), "make all && make x"),
        (("make all",), "make all; cat a"),
        (("make all",), "cat a | make all"),
        (("./ok.sh",), "./ok.sh; git status"),
    ],
)
def test_an_exact_entry_is_no_part_of_what_it_was_not_meant_for(
    tmp_path: Path, entries: tuple[str, ...], line: str
) -> None:
    assert classify(line, place=project(tmp_path), approvals=Exactly(*entries)).status is None


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("sh", "sh"),
        ("make all", "make all"),
        ("make all", "make all 2>&1 | tail -5"),
        ("make all", "cat a && make all"),
        ("cd", "cd"),
        ("for i in 1 2; do echo $i; done", "for i in 1 2; do echo $i; done"),
        ("A=1; echo $A", "A=1; echo $A"),
        ("make -j$(nproc)", "make -j$(nproc)"),
        ("echo '$HOME'", "echo '$HOME'"),
    ],
)
def test_an_exact_entry_holds_where_it_was_meant(tmp_path: Path, entry: str, line: str) -> None:
    verdict = classify(line, place=project(tmp_path), approvals=Exactly(entry))
    assert (verdict.status, verdict.contained) == ("always", True), verdict.reasons


def test_what_can_be_sent_input_later_asks_if_that_may_be_a_program(tmp_path: Path) -> None:
    place = project(tmp_path)
    for line in ("sh", "python3 -i", "node", "FOO=1 bash", "while read x; do eval $x; done"):
        assert classify(line, place=place, approvals=Allowed(line), background=True).status is None, line
    for line in ("npm run dev", "python3 -m pytest", "sleep 5"):
        assert classify(line, place=place, approvals=Allowed(line), background=True).status == "always", line


def test_copies_are_judged_by_where_they_come_to_lie(tmp_path: Path) -> None:
    place = project(tmp_path)
    rules = [Rule(("cp",), ("-*",), "paths"), Rule(("mv",), (), "paths")]
    (place.roots.main / "deep/docs").mkdir(parents=True)
    (place.roots.main / "deep/docs/a").write_text("x")
    for line in ("cp a docs/", "cp a docs", "cp a ./docs/.", "cp -r deep/docs .", "cp -r deep/. .", "cp f a docs"):
        found = asks(line, rules, place)
        assert (found is None) is (line == "cp f a docs" and False), (line, found)
    assert asks("cp f docs", rules, place) is None
    assert asks("cp -r deep other", rules, place) is None


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "a*a*a*a*a*a*b", "(?:a|a)+$", "(a*)*b", r"(\w+\s?)*!", r"(.*)\1x", "(?=(a+)+b)"]
)
def test_no_pattern_of_the_settings_hangs_the_question(tmp_path: Path, pattern: str) -> None:
    place = make_place(tmp_path, contained=True)
    command = "echo " + "a" * 3000
    verdict = classify(command, place=place, approvals=Allowed(auto=True), always_ask=(pattern,))
    assert verdict.status in (None, "auto")
    assert matches(pattern, "b") in (True, False)


def test_a_pattern_that_takes_too_long_counts_as_found() -> None:
    assert matches("(a+)+$", "a" * 40 + "!") is None
    assert "takes too long" in find_matching(["(a+)+$"], "a" * 40 + "!")[0]
    assert find_matching(["deploy", "x+y"], "make deploy") == ["matches the pattern 'deploy' from your settings"]
    assert matches("(a|b)+c", "ababc" * 500) is True


@pytest.mark.parametrize(
    "name", ["RUFF_OUTPUT_FILE", "LC_ALL", "LANG", "PYTEST_ADDOPTS", "JEST_CONFIG", "SPEC_OPTS", "X_CONFIG"]
)
def test_variables_that_say_where_to_write_or_what_to_load_count(name: str) -> None:
    assert changes_meaning(name)


def test_words_of_wrapped_programs_are_read_as_theirs() -> None:
    reading = read(parse("uv run pytest -q tests/x.py")[0])
    assert not isinstance(reading, str)
    assert (reading.name, reading.kind, reading.commands) == ("pytest", "project", 3)
    assert [part.role for part in reading.parts] == ["program", "command", "program", "flag", "path"]


def test_a_rule_for_a_wrapper_alone_covers_nothing(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    for rule in (Rule(("uv",), ("-*",)), Rule(("uv", "run"), ("-*",)), Rule(("uv",), ("-*",), "paths")):
        assert asks("uv run pytest", [rule], place) is not None
    assert asks("uv run pytest", [Rule(("uv", "run", "pytest"))], place) is None


def test_a_list_of_the_directory_is_what_bash_would_make_of_a_pattern(tmp_path: Path) -> None:
    """The words that pass as patterns never become flags."""
    for name in ("-n", "--output=x", "a", "b"):
        (tmp_path / name).write_text("")
    for word in ("./*", "./?*", "./[-a]*"):
        ran = subprocess.run(
            ["bash", "-c", f"printf '%s\\n' {word}"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert not any(line.startswith("-") for line in ran.stdout.splitlines())
    assert os.listdir(tmp_path)


def test_dangers_of_a_line_that_cannot_be_read_are_seen_without_its_quotes() -> None:
    for line in ('g"i"t pu\\sh --for"c"e; x=1', "s''udo ls; y=2", "r\\m -r\\f /; z=1"):
        assert find_dangers(line), line


def test_what_git_keeps_of_closed_files_asks(tmp_path: Path) -> None:
    place = project(tmp_path)
    root = place.roots.main
    for line in ("git init -q", "git add a f"):
        subprocess.run(line.split(), cwd=root, check=True)
    for line in ("git show", "git diff HEAD~1", "git log -p", "git log -n 3", "git grep x", "git status"):
        assert asks(line, RULES, place) is None, line
    subprocess.run(["git", "add", "-f", "secret.txt"], cwd=root, check=True)
    for line in ("git show", "git diff HEAD~1", "git log -p", "git log --patch -3", "git log -L1,2:a", "git grep x"):
        assert "secret.txt, which `.northignore` closes" in (asks(line, RULES, place) or ""), line
    for line in ("git log -n 3", "git status", "git log --oneline", "git blame a"):
        assert asks(line, RULES, place) is None, line


def test_git_does_not_show_closed_files_unasked_whatever_was_allowed(tmp_path: Path) -> None:
    place = project(tmp_path)
    root = place.roots.main
    for line in ("git init -q", "git add a f"):
        subprocess.run(line.split(), cwd=root, check=True)
    prints = (
        *("git show HEAD", "git diff", "git log -p", "git log --word-diff", "git log --binary", "git grep x"),
        *("git cat-file -p HEAD", "git archive HEAD", "git format-patch -1", "git stash show -p", "cd sub && git show"),
        *("for f in a; do git show $f; done", "env git show HEAD", "sh -c 'g\"i\"t show'", "cd .. && git -C R show"),
    )
    allowed = Allowed(*prints, auto=True)
    for line in prints:
        assert classify(line, place=place, approvals=allowed).status is not None, line
    for line in ("git show HEAD:secret.txt", "git blame secret.txt", "git cat-file -p HEAD:private/x"):
        assert classify(line, place=place, approvals=allowed).status is None, line
    subprocess.run(["git", "add", "-f", "secret.txt"], cwd=root, check=True)
    for line in prints:
        verdict = classify(line, place=place, approvals=allowed)
        assert verdict.status is None, line
        assert "secret.txt out of git's own files" in verdict.warnings[0]
    for line in ("git status", "git log -n 3", "git log --stat", "git blame a", "echo git show", "ls"):
        assert classify(line, place=place, approvals=allowed).status == "auto", line
    nothing = replace(place, has_lists=lambda: False)
    assert all(classify(line, place=nothing, approvals=allowed).status == "auto" for line in prints)


def test_what_leads_elsewhere_for_each_process_is_no_path_inside(tmp_path: Path) -> None:
    place = project(tmp_path)
    rules = [Rule(("cat",), (), "paths"), Rule(("grep",), (), "paths")]
    for word in ("/proc/self/cwd/a", "/dev/stdin", "/dev/fd/0", "/proc/self/root/etc/passwd"):
        assert asks(f"cat {word}", rules, place) is not None
        assert asks(f"grep x {word}", rules, place) is not None


def test_versions_and_help_are_told(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    for line in ("node -v", "python3 -V", "npm -v", "ls --help", "pytest --help", "cargo --version", "cargo -V"):
        name, flag = line.split()
        assert asks(line, [Rule((name,), (flag,))], place) is None, line
    for line in ("python3 -v", "git log --help"):
        assert asks(line, [Rule(("python3",), ("-*",)), Rule(("git",), ("-*",))], place) is not None
