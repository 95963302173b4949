"""What runs without asking, from the call of `shell_run` to its result, in the real sandbox."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from north_lsp.agent.ports.editor import CommandDecision, EditDecision, EditReview
from north_lsp.storage.settings import Settings
from north_lsp.storage.shell_settings import ShellSettings
from tests.agent.shell.test_run import Playing, Shell, shell
from tests.support.patience import PATIENCE


@dataclass
class Reviewing(Playing):
    """Also decides on edits."""

    edit: EditDecision = field(default_factory=lambda: EditDecision("reject"))
    edits: list[EditReview] = field(default_factory=list)

    async def review_edit(self, review: object) -> Any:
        assert isinstance(review, EditReview)
        self.edits.append(review)
        return self.edit


def edits(one: Shell) -> Reviewing:
    assert isinstance(one.editor, Reviewing)
    return one.editor


@asynccontextmanager
async def unasked(folder: Path, settings: Settings | None = None) -> AsyncIterator[Shell]:
    """A conversation in which all commands are approved, in a repository with some protected names."""
    root = folder / "repo"
    for name, text in {
        "package.json": "{}",
        ".env": "A=1",
        "sub/.vscode/tasks.json": "{}",
        "tmpl/.github/workflows/x.yml": "run: evil",
        "tmpl/config.toml": "[build]",
        "closed/secret.txt": "hidden words",
        "notes.key.txt": "open",
        ".northignore": "closed/\n*.secret\n",
        "a.secret": "hidden words",
        "dist/package.json": "{}",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "outside").write_text("hidden words")
    await anyio.run_process(["git", "init", "-q", str(root)])
    settings = settings or Settings(shell=ShellSettings(snapshot=False))
    async with shell(folder, settings, Reviewing(decision=CommandDecision("deny"))) as one:
        one.approvals.approve_commands_of_this_session()
        yield one


async def script(one: Shell, command: str) -> str:
    """Run what no look at the command line tells, from a file."""
    (one.world.root / "run.sh").write_text(command)
    return await one.text(command=f"bash {one.world.root}/run.sh")


async def test_it_runs_in_the_sandbox_with_the_setting_off(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        assert await one.text(command="echo made > made && cat made") == "made"
        assert "hidden words" not in await script(one, "cat ../outside")
        assert (await one.call(command="touch ../other"))["isError"]
        assert not (tmp_path / "other").exists()
        assert [review.reasons[0][:23] for review in one.editor.reviews] == ["it ran in the sandbox w"] * 2


async def test_its_shell_keeps_its_state_and_has_the_directory_of_the_other(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        made = 'mkdir -p bin && printf "#!/bin/sh\\necho mine" > bin/mine && chmod +x bin/mine'
        await one.text(command=f"{made} && export PATH=$PWD/bin:$PATH && hi() {{ echo hello; }} && cd sub")
        assert await one.text(command="mine; hi; basename $PWD") == "mine\nhello\nsub"
        one.editor.decision = CommandDecision("run")
        asked = await one.text(command="type -t hi mine; basename $PWD; export FROM=asked", outside_sandbox=True)
        assert asked.split("\n")[0] == "sub"
        assert await one.text(command="echo $FROM; hi") == "asked\nhello"


async def test_what_fails_for_want_of_something_outside_is_asked_about(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        one.editor.decision = CommandDecision("deny", "leave it")
        text = await script(one, "cat ../outside")
        assert "was not run outside the sandbox: the user declined. The user says: leave it" in text
        assert "hidden words" not in text
        one.editor.decision = CommandDecision("run")
        text = await script(one, "cat ../outside")
        assert text.startswith("hidden words")
        assert "with the user's approval, it ran again outside of it" in text
        assert one.editor.reviews[-1].warnings == ("runs outside the sandbox, with all of your rights",)
        assert not one.editor.reviews[-1].may_remember
        asked = len(one.editor.reviews)
        await script(one, "grep nothing package.json")
        assert len(one.editor.reviews) == asked  # it failed by itself


async def test_what_the_user_closes_is_no_reason_to_ask_about_running_outside(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        for command in ("grep -rn open .", "find . -name 'notes*'", f"grep -rn open {one.world.root}"):
            text = await script(one, command)
            assert "notes.key.txt" in text
            assert "What it could not read is closed by `.northignore`" in text
            assert one.editor.reviews == [], command
        assert "notes.key.txt" in await script(one, "grep -rn open . ../outside")
        assert len(one.editor.reviews) == 1
        assert "outside: " in one.editor.reviews[0].reasons[0]


async def test_caches_of_tools_have_a_place_that_can_be_written(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        names = ("XDG_CACHE_HOME", "NPM_CONFIG_CACHE", "GOCACHE", "CACHE_DIR")
        assert (
            await script(one, f'for one in {" ".join(names)}; do mkdir -p "${{!one}}" || exit 1; done; echo made')
            == "made"
        )


async def test_closed_files_are_hidden_by_every_name(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        os.link(root / "a.secret", root / "other-name")
        for command in (
            "cat closed/secret.txt",
            "cat a.secret",
            "cat other-name",
            "cat closed/*",
            "chmod 777 closed a.secret; cat a.secret closed/secret.txt",
            "cat /proc/self/cwd/a.secret",
            "ln a.secret again; cat again",
            "mv closed open; cat open/secret.txt",
            "cp a.secret b; cat b",
            "grep -r hidden .",
            "tar cf - . | grep -a hidden",
            "python3 -c 'print(open(\"a.secret\").read())'",
            "git add -A && git show :a.secret",
        ):
            text = await script(one, command)
            assert "hidden words" not in text, (command, text)
        (root / "later.secret").write_text("hidden words")
        assert "hidden words" not in await script(one, "cat later.secret")
        (root / ".northignore").write_text("*.txt\nclosed/\n*.secret\n")
        assert "open" not in await script(one, "cat notes.key.txt")
        await one.text(command="echo mine > new.txt; mkdir -p deep/er; echo more > deep/er/new.txt")
        assert "mine" not in await script(one, "cat new.txt deep/er/new.txt")


EXISTING = [
    "sed -i s/A/B/ .env",
    "dd if=/dev/zero of=.env count=1",
    "install -m 644 tmpl/config.toml .env",
    "cp tmpl/config.toml package.json",
    "mv tmpl/config.toml package.json",
    "rm -rf .git",
    "rm -rf sub",
    "mv sub other",
    "mv sub/.vscode sub/x",
    "mv tmpl/.github .",
    "truncate -s 0 .env",
    'python3 -c \'import os; os.replace("tmpl/config.toml", ".env")\'',
    "ln -f tmpl/config.toml .env",
    "ln -sf tmpl/config.toml .env",
    "ln .env plain && echo B=2 >> plain",
    "echo x > .git/hooks/pre-commit",
    "git config core.fsmonitor ./evil",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=a.b GIT_CONFIG_VALUE_0=c git config --local x.y z",
    "git commit --allow-empty -m x",
    "git checkout -b other",
    "echo x > /proc/self/cwd/.env",
    "exec 9<.env; echo x > /proc/self/fd/9",
    "cd sub/.vscode && echo x > tasks.json",
    "chmod 600 .env && echo x > .env",
    "echo x | tee .ENV .env",
    "mount --bind tmpl sub/.vscode",
    "umount .env; umount -l .git",
    'python3 -c \'import os; d = os.open("sub", os.O_RDONLY); os.rename(".vscode", "v", src_dir_fd=d, dst_dir_fd=d)\'',
    "(setsid nohup sh -c 'sleep 0.05; echo x > .env' >/dev/null 2>&1 &); sleep 0.2",
    "unshare -Urm sh -c 'umount .env; echo x > .env'",
    "nsenter -t 1 -m sh -c 'echo x > .env'",
    "patch .env <<< $'@@ -1 +1 @@\\n-A=1\\n+A=2'",
    "chattr +i .env; touch .env",
]


async def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        held = (".env", "package.json", "sub/.vscode/tasks.json", "tmpl/.github/workflows/x.yml", ".git/config")
        before = {name: (root / name).read_text() for name in held}
        hooks = sorted(os.listdir(root / ".git/hooks"))
        for command in EXISTING:
            (root / "tmpl/config.toml").write_text("[build]")
            await script(one, command)
            assert {name: (root / name).read_text() for name in held} == before, command
            assert not (root / ".env").is_symlink(), command
            assert not (root / ".github/workflows").exists(), command
            assert sorted(os.listdir(root / ".git/hooks")) == hooks


NEW = [
    ("cp -r tmpl/.github .", ".github/workflows"),
    ("mkdir .github && cp -r tmpl/.github/workflows .github/", ".github/workflows"),
    ("mkdir .cargo && cp tmpl/config.toml .cargo/", ".cargo/config.toml"),
    ("mkdir x && touch x/tasks.json && mv x .vscode", ".vscode"),
    ("mkdir -p a/b/c/.vscode && echo 1 > a/b/c/.vscode/tasks.json", "a/b/c/.vscode"),
    ("git init -q nested", "nested/.git"),
    ("git init -q --bare bare", "bare/HEAD"),
    ("GIT_DIR=hidden git init -q", "hidden/HEAD"),
    ("mkdir -p w && echo gitdir: /tmp/x > w/.git", "w/.git"),
    ("mkdir n && echo 'ref: refs/heads/a' > n/HEAD && echo ../s > n/commondir && touch n/config", "n/HEAD"),
    ("mkdir objects refs && echo 'ref: refs/heads/a' > HEAD", "HEAD"),
    ("mkdir .VSCODE && touch .VSCODE/tasks.json", ".VSCODE"),
    ("mkdir .Git && touch .Git/config", ".Git"),
    ("mkdir .north && echo '{}' > .north/allowlist.json", ".north"),
    ("ln -s tmpl .claude", ".claude"),
    ("touch .envrc", ".envrc"),
    ("echo x > CLAUDE.md", "CLAUDE.md"),
    ("touch .mcp.json; chmod 000 .mcp.json", ".mcp.json"),
    ("mkdir closed2 && mkdir closed2/.vscode && chmod 000 closed2", "closed2/.vscode"),
    ("mkdir .idea && chmod 555 .idea", ".idea"),
    ("mkdir ro && touch ro/.envrc && chmod 555 ro", "ro/.envrc"),
    ("mkdir -p node_modules/x/.git && touch node_modules/x/.git/config", None),
    ("mkdir -p build/.git && touch build/.git/config", "build/.git"),
    ("mkdir -p target/.vscode", "target/.vscode"),
    ("mkdir -p packages/new && echo '{}' > packages/new/package.json", "packages/new/package.json"),
    ("touch $'.env\\n.x'", ".env\n.x"),
    ("mkfifo .env.fifo", ".env.fifo"),
    ("touch .gitattributes .gitmodules", ".gitattributes"),
    ("echo '*' > .gitignore", ".gitignore"),
    ("(setsid sh -c 'mkdir .zed' &); sleep 0.3", ".zed"),
    ("python3 -c 'import os; os.mkdir(\".helix\"); os.rename(\".helix\", \".zed\")'", ".zed"),
    ("d=$(printf 'd%.0s' {1..200}); for i in $(seq 30); do mkdir $d && cd $d; done; mkdir .vscode; cd /", None),
]  # fmt: skip


@pytest.mark.parametrize("part", range(4))
async def test_what_appears_is_taken_away(tmp_path: Path, part: int) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        for command, appears in NEW[part::4]:
            edits(one).edits = []
            text = await script(one, f"cd {root}; {command}")
            if appears is None:
                continue
            assert not os.path.lexists(root / appears), (command, text)
            assert "is a protected name: what the command created there was moved away" in text, (command, text)
            for review in edits(one).edits:
                assert review.warnings, command


async def test_what_is_accepted_is_put_back_and_held_from_then_on(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        edits(one).edit = EditDecision("accept")
        text = await script(one, "cp -r tmpl/.github . && chmod +x .github/workflows/x.yml")
        assert ".github/workflows is a protected name" in text
        assert "the user accepted it" in text
        (review,) = edits(one).edits
        assert [change.shown for change in review.proposal.files] == [".github/workflows/x.yml"]
        assert not review.may_remember
        assert (root / ".github/workflows/x.yml").read_text() == "run: evil"
        assert os.access(root / ".github/workflows/x.yml", os.X_OK)
        await script(one, "echo more >> .github/workflows/x.yml")
        assert (root / ".github/workflows/x.yml").read_text() == "run: evil"
        quarantine = one.world.locations.data
        assert not list(quarantine.rglob("x.yml"))


async def test_all_that_appeared_is_one_question(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        edits(one).edit = EditDecision("accept")
        text = await script(one, "for i in 1 2 3; do mkdir p$i; echo $i > p$i/.envrc; done; git init -q nested")
        (review,) = edits(one).edits
        assert [change.shown for change in review.proposal.files] == ["p1/.envrc", "p2/.envrc", "p3/.envrc"]
        assert (one.world.root / "p3/.envrc").read_text() == "3\n"
        assert text.count("the user accepted it") == 3
        assert not (one.world.root / "nested/.git").exists()


async def test_who_makes_it_again_and_again_is_ended(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        loop = "while :; do mkdir -p .vscode; touch .vscode/tasks.json; done"
        text = await script(one, f"(setsid sh -c '{loop}' >/dev/null 2>&1 &); sleep 0.3")
        assert ".vscode is a protected name" in text
        with anyio.fail_after(PATIENCE):  # on a busy machine it may get one more turn before it is ended
            quiet = 0
            while quiet < 3:
                quiet = 0 if (root / ".vscode").exists() else quiet + 1
                await anyio.sleep(0.1)


async def test_a_job_is_held_and_looked_after_too(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        (root / "run.sh").write_text("while ! test -e go; do sleep 0.05; done; mkdir .vscode; cat a.secret; sleep 60")
        await one.text(command="bash run.sh", background=True)
        (root / "go").touch()
        box = one.means.runner().containment
        assert box is not None
        with anyio.fail_after(PATIENCE):
            while not box.late:
                await anyio.sleep(0.05)
        assert not (root / ".vscode").exists()
        text = await one.text("job", action="output", jobId="1")
        assert "hidden words" not in text
        assert ".vscode is a protected name" in text


async def test_names_that_the_user_makes_meanwhile_are_the_users(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        await one.text(command="true")
        (root / ".envrc").write_text("mine")
        (root / ".new").write_text("{}")
        os.replace(root / ".new", root / "package.json")  # as editors save
        text = await script(one, "echo x > package.json; echo x > .envrc")
        assert "taken away" not in text
        assert (root / "package.json").read_text() == "{}"
        assert (root / ".envrc").read_text() == "mine"


@pytest.mark.parametrize("many", [300, 2500])
async def test_a_list_that_is_long_is_held_or_asks(tmp_path: Path, many: int) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        for number in range(many):
            (root / f"p{number}").mkdir()
            (root / f"p{number}/package.json").write_text("{}")
        text = await script(one, f"echo x > p{many - 1}/package.json; echo x > p0/package.json; touch ran")
        assert (root / f"p{many - 1}/package.json").read_text() == "{}"
        assert (root / "p0/package.json").read_text() == "{}"
        assert (root / "ran").exists() == (many == 300), text
        if many != 300:
            assert "protected or closed names" in str(one.editor.reviews[0])


async def test_what_git_would_run_stays_as_it_is(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        (root / "Scripts").mkdir()
        (root / "Scripts/watch.sh").write_text("echo mine")
        await anyio.run_process(["git", "-C", str(root), "config", "core.fsmonitor", "Scripts/watch.sh"])
        await script(one, "echo x > Scripts/watch.sh; mv Scripts other; rm -rf Scripts")
        assert (root / "Scripts/watch.sh").read_text() == "echo mine"


async def test_installed_packages_and_files_of_others_stay_as_they_are(tmp_path: Path) -> None:
    async with unasked(tmp_path) as one:
        root = one.world.root
        (root / "node_modules/x").mkdir(parents=True)
        (root / "node_modules/.cache").mkdir()
        os.link(tmp_path / "outside", root / "linked")
        text = await script(one, "touch node_modules/x/index.js; touch node_modules/.cache/x; echo x >> linked")
        assert text.count("Read-only file system") >= 2
        assert os.listdir(root / "node_modules/x") == []
        assert os.listdir(root / "node_modules/.cache") == ["x"]
        assert (tmp_path / "outside").read_text() == "hidden words"
        await script(one, "echo 1 > one && ln one two && echo 2 >> two")
        await script(one, "echo 3 >> two")
        assert (root / "one").read_text() == "1\n2\n3\n"
        text = await script(one, "rm -rf dist && mkdir dist && echo '{}' > dist/package.json")
        assert text == "(no output)"
        assert (root / "dist/package.json").exists()
