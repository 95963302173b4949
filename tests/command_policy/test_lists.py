"""Two long lists against rules that allow every program with every flag: what has to ask, and what must not."""

from pathlib import Path

from north_lsp.command_policy.allowed import Rule
from north_lsp.command_policy.classification import find_dangers
from north_lsp.command_policy.grammar import read
from north_lsp.command_policy.parsing import parse
from tests.command_policy.test_rules import GENEROUS, GIT, READING, asks, make_place

HERE = Path(__file__).parent
MORE = (
    "awk gawk mawk nawk stat column basename dirname tr cut df free uptime ps nproc xxd base64 expr xargs env export "
    "kubectl fold hostname stty less vim top watch strace gdb perf openssl nc getent host ping dig dmesg zip unzip "
    "gzip split csplit install patch truncate chmod ln wget docker colordiff wdiff gofmt shfmt claude codex ccache "
    "sshpass proot setlock posh rustfmt goimports git-annex uudecode delta dtach : "
    "nm objdump ranlib size strings readelf x86_64-linux-gnu-nm"
)
RULES = [*GENEROUS, *GIT, *READING, *(Rule((program,), ("-*",)) for program in MORE.split())]
SEVERAL_LINES = [
    "awk '{print a,\nb > \"out\"}' a.txt",
    "awk '{print \\\n> \"o\"}'",
    "sed '/x/{e id\n}' a.txt",
    "sed '{w out\n}' a.txt",
    "sed '{s/a/b/w out\n}' a.txt",
    "sed '/foo/{r /etc/passwd\n}' a.txt",
    "sed 'a foo\\\nw x' a.txt",
    "sed 'a\\\ntext' a.txt",
    "ls\nid2",
    "ls \\\n; rm x",
    "ls # a comment\nrm x",
    "ls 'a\nb' && $(id)",
]
PROGRAMS = [
    "colordiff -l a b", "wdiff -a a b", "gofmt -w a", "gofmt -cpuprofile=x a", "shfmt -w a",
    "claude -p x", "codex exec x",
    "ccache gcc a", "sshpass -p x id", "proot id", "setlock x id", "posh x", "rustfmt a", "goimports a", "git-annex x",
    "uudecode a", "delta a b", "dtach -n x id", "file -f list", "file --files-from=list",
]  # fmt: skip
EVERYDAY_LINES = [
    "ls \\\n  -la \\\n  src",
    "git log \\\n  --oneline \\\n  -5",
    "# look around\nls\n# and the state\ngit status",
    "ls &&\ngit status",
    "ls |\n  head -3",
    "grep -rn foo src |\n  grep -v test |\n  head",
    "ls\n\n\nls\n",
    "awk '\n/foo/ { n++ }\nEND { print n }\n' a.txt",
    "sed -n '\n/foo/{\np\nq\n}\n' a.txt",
]


def test_none_of_the_ways_past_rules_passes(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    lines = (HERE / "hostile.txt").read_text("utf-8").splitlines()
    assert len(lines) > 400
    assert [line for line in [*lines, *SEVERAL_LINES, *PROGRAMS] if asks(line, RULES, place) is None] == []


def test_in_the_sandbox_only_what_runs_a_project_s_code_passes(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    lines = [*(HERE / "hostile.txt").read_text("utf-8").splitlines(), *SEVERAL_LINES, *PROGRAMS]
    for line in lines:
        if asks(line, RULES, place) is None:
            readings = [read(simple) for simple in parse(line)]
            assert all(not isinstance(one, str) and one.kind == "project" for one in readings), line


def test_nothing_of_every_day_asks(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    for folder in ("src", "tests"):
        (tmp_path / folder).mkdir(exist_ok=True)
    lines = (HERE / "everyday.txt").read_text("utf-8").splitlines()
    assert len(lines) > 330
    found = {line: asks(line, RULES, place) or find_dangers(line) or None for line in [*lines, *EVERYDAY_LINES]}
    assert {line: why for line, why in found.items() if why is not None} == {}


def test_links_that_lead_out_are_not_followed_by_a_rule_for_paths(tmp_path: Path) -> None:
    root = tmp_path / "root"
    place = make_place(root)
    commands = ["grep -Rn x .", "grep -R x", "find -L . -name x", "rg -L x", "tree -l sub", "diff -r sub sub", "du -aL"]
    rules = [Rule((command.split()[0],), ("-*",), "paths") for command in commands]
    wide = [Rule((command.split()[0],), ("-*",)) for command in commands]
    (root / "inside").symlink_to("sub")
    assert [asks(command, rules, place) for command in commands] == [None] * len(commands)
    (root / "sub" / "out").symlink_to(tmp_path)
    for command in commands:
        assert "points outside the workspace" in (asks(command, rules, place) or ""), command
        assert asks(command, wide, place) is None
    (root / "other").mkdir()
    for command in ("grep -rn x .", "grep -R x other"):
        assert asks(command, rules, place) is None


def test_a_link_inside_leads_on_to_one_that_leads_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    place = make_place(root, contained=True)
    (root / "docs").mkdir()
    (root / "sub/docs").symlink_to("../docs")
    commands = ["grep -R x sub", "find -L sub -name x", "diff sub docs"]
    rules = [Rule((command.split(maxsplit=1)[0],), ("-*",), "paths") for command in commands]
    assert [asks(command, rules, place) for command in commands] == [None] * len(commands)
    (root / "docs/out").symlink_to(tmp_path)
    for command in commands:
        assert "points outside the workspace" in (asks(command, rules, place) or ""), command
