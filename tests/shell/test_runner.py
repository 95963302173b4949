"""Commands that behave and commands that do not; real processes, the shell usable after each, nothing left behind."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from north_lsp.errors import ToolError
from north_lsp.shell import bash, tree
from north_lsp.shell.environment import changes_meaning, command_environment, looks_like_credential
from north_lsp.shell.launcher import CONTROL_FD, TTY_FD
from north_lsp.shell.options import Place
from north_lsp.shell.processes import children_of, is_asleep
from north_lsp.shell.protocol import reporting
from north_lsp.shell.results import CommandResult
from north_lsp.shell.runner import CommandRunner
from north_lsp.shell.tree import MARK, find_tree
from tests.support.patience import PATIENCE


@asynccontextmanager
async def runner(folder: Path, environ: Mapping[str, str] = os.environ) -> AsyncIterator[CommandRunner]:
    async with anyio.create_task_group() as background:
        runner = CommandRunner(command_environment(environ, frozenset()), background, folder)
        try:
            yield runner
        finally:
            with anyio.CancelScope(shield=True), anyio.fail_after(PATIENCE):
                await runner.end_all(0.2)
            background.cancel_scope.cancel()


async def run(
    runner: CommandRunner, command: str, cwd: Path | None = None, seconds: float = PATIENCE, place: Place = "session"
) -> CommandResult:
    async def ignore(text: str) -> None:
        return None

    return await runner.run(command, cwd, seconds, ignore, place)


def is_gone(pid: int) -> bool:
    try:
        return "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except (FileNotFoundError, ProcessLookupError):
        return True


def at_work_in(folder: Path) -> set[int]:
    """All live processes whose directory it is: a daemon can leave its parent, group and environment, but not hide."""
    found = set()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and Path(os.readlink(entry / "cwd")) == folder and not is_gone(int(entry.name)):
                found.add(int(entry.name))
    return found


async def gone(pid: int) -> None:
    with anyio.fail_after(PATIENCE):
        while not is_gone(pid):
            await anyio.sleep(0.01)


HOSTILE: list[tuple[str, int | None, str | None]] = [
    ("echo hi; echo there >&2", 0, "hi\nthere\n"),
    ("exit 3", 3, ""),
    ("cat", 0, ""),
    ("read x; echo \"[$x]\"", 0, "[]\n"),
    ("kill -9 $$", -9, ""),
    ("kill -TERM $$; echo still", 0, "still\n"),
    ("kill -HUP $$", None, ""),
    ("if then", 2, None),
    ("echo 'unterminated", 2, None),
    ('echo "unterminated', 2, None),
    ("echo $(unterminated", 2, None),
    ("echo `unterminated", 2, None),
    ("cat <<EOF\nbody", 0, None),
    ("case x in", 2, None),
    ("f() {", 2, None),
    ("echo )", 2, None),
    ("echo a \\", 0, "a\n"),
    ("exec echo replaced", 0, "replaced\n"),
    ("exec cat", 0, ""),
    ("exec >&- 2>&-; exit 4", 4, ""),
    ("exec 0<&-; exec 1>&-; exec 2>&-", 0, ""),
    ("exec >/dev/null 2>&1; echo lost", 0, ""),
    ("exec 71>&-; exec 72>&-; echo closed", 0, "closed\n"),
    ("echo x >&72; echo y >&71; true", 0, None),
    ("for f in /proc/$$/fd/*; do n=${f##*/}; [ $n -gt 2 ] && eval \"exec $n>&-\"; done 2>/dev/null; echo", None, None),
    ("printf 'no end'", 0, "no end"),
    ("set -e; false; echo never", 1, ""),
    ("set -euo pipefail; echo strict", 0, "strict\n"),
    ("set -u; echo $nothing; echo never", 1, None),
    ("echo ${nothing:?is missing}; echo never", 1, None),
    ("set -x; echo traced", 0, None),
    ("set -v; echo verbose", 0, None),
    ("set -n; echo not run", 0, None),
    ("set -t; echo one", None, None),
    ("set -o posix; echo posix", 0, "posix\n"),
    ("set -r; echo restricted", None, None),
    ("set -f; set -C; set -k; set -b; echo options", 0, "options\n"),
    ("set -m; sleep 0 & wait; echo jobs", 0, None),
    ("set -H; set -o history; echo 'a!b'", 0, "a!b\n"),
    ("shopt -s extdebug; trap 'false' DEBUG; echo skipped", None, None),
    ("trap '' TERM INT; echo trapped", 0, "trapped\n"),
    ("trap 'echo leaving' EXIT; echo body", 0, "body\n"),
    ("trap 'echo debug' DEBUG; echo body", 0, None),
    ("trap 'echo err' ERR; false", 1, None),
    ("trap 'exit 9' DEBUG", None, None),
    ("echo '__NORTH_END__'; echo '__NORTH_END_0__EXIT__0__'", 0, "__NORTH_END__\n__NORTH_END_0__EXIT__0__\n"),
    ("printf '__NORTH_END_'", 0, "__NORTH_END_"),
    ("printf '__NORTH_START_%s__' $NORTH_COMMAND_ID; printf '__NORTH_END_%s__' $NORTH_COMMAND_ID; echo more", 0, None),
    ("PS1='evil> '; PS2=x; PS4=y; PROMPT_COMMAND='echo prompted'; echo x", 0, "x\n"),
    ("PROMPT_COMMAND='exit 5'; echo x", 0, "x\n"),
    ("PS0='ps0'; PS1='$(echo sub)'; echo x", 0, "x\n"),
    ("builtin() { echo no; }; echo x", 0, "x\n"),
    ("printf() { echo no; }; unset() { :; }; set() { :; }; trap() { :; }; echo x", 0, "x\n"),
    ("declare() { exit 1; }; export() { exit 1; }; shopt() { exit 1; }; echo x", 0, "x\n"),
    ("function . { echo hijacked; }; source() { echo hijacked; }; echo x", 0, "x\n"),
    ("shopt -s expand_aliases; alias unset=echo builtin=echo printf=echo; echo x", 0, "x\n"),
    ("enable -n printf; echo x", None, None),
    ("enable -n builtin unset; echo x", None, None),
    ("POSIXLY_CORRECT=1; echo x", 0, "x\n"),
    ("readonly POSIXLY_CORRECT=1; echo x", None, None),
    ("readonly PS1 PS2 PROMPT_COMMAND; echo x", 0, None),
    ("IFS=abcdefgh_NORTH; echo x", 0, "x\n"),
    ("PATH=/nonexistent; echo x", 0, "x\n"),
    ("unset PATH; echo x", 0, "x\n"),
    ("HOME= TERM= LANG=; export LC_ALL=xx_YY; echo x", 0, None),
    ("TMOUT=1; echo x", 0, "x\n"),
    ("BASH_ENV=/nonexistent; ENV=/nonexistent; echo x", 0, "x\n"),
    ("hash -p /bin/false echo; hash -p /bin/false cat; echo x", 0, "x\n"),
    ("umask 777; echo x", 0, "x\n"),
    ("ulimit -n 20; echo x", None, None),
    ("cd /; rm -rf /nonexistent; echo x", 0, "x\n"),
    ("mkdir gone; cd gone; rmdir ../gone; echo x", 0, "x\n"),
    ("tty || true", 0, None),
    ("stty raw -echo </dev/tty; echo x", 0, "x\n"),
    ("stty sane </dev/tty; echo x", 0, None),
    ("printf '\\033]0;title\\007\\033[31mred\\033[0m\\033[2J'; echo", 0, "red\n"),
    ("printf 'a\\rb\\rc\\n'", 0, "c\n"),
    ("printf '\\000\\377\\376\\n'", 0, None),
    ("head -c 3000 /dev/urandom; true", 0, None),
    ("yes | head -n 100000; true", 0, None),
    ("return 7", 7, ""),
    ("break; continue; echo x", 0, None),
    ("logout; echo x", None, None),
    ("suspend; echo x", None, None),
    ("fg; bg; jobs; disown; echo x", 0, None),
    ("wait; echo x", 0, "x\n"),
    ("f() { f; }; f", None, None),
    ("coproc cat; echo x", 0, "x\n"),
    ("exec 5</dev/null 6>/dev/null; echo x", 0, "x\n"),
    ("NORTH_COMMAND_ID=0; unset NORTH_COMMAND_ID; echo x", 0, "x\n"),
    ("eval 'echo x'; eval 'if'", None, None),
    (". /nonexistent", 1, None),
    ("history; fc -l; true", 0, None),
    ("ptmx=1; echo x > /dev/stdout; echo y > /dev/stderr", 0, "x\ny\n"),
    ("echo x\r", 0, None),
    ("echo ünïcödé ✓ 🎉", 0, "ünïcödé ✓ 🎉\n"),
    ("#only a comment", 0, ""),
    ("   ", 0, ""),
    ("echo a\n\n\necho b", 0, "a\nb\n"),
    ("python3 -c 'import os; os.close(1); os.close(2)'", 0, ""),
    ("kill -STOP $BASHPID & sleep 0; kill -CONT $!; echo x", 0, None),
]  # fmt: skip


@pytest.mark.parametrize(("command", "code", "text"), HOSTILE, ids=[case[0][:40] for case in HOSTILE])
async def test_the_shell_is_usable_after(tmp_path: Path, command: str, code: int | None, text: str | None) -> None:
    async with runner(tmp_path) as shell:
        with anyio.fail_after(PATIENCE):
            ran = await run(shell, command, seconds=0.3 if code is None else PATIENCE)
            assert code is None or ran.exit_code == code
            assert text is None or ran.output.text == text
            after = await run(shell, "echo alive; false")
            if after.shell_ended:
                after = await run(shell, "echo alive; false")
        assert after.output.text == "alive\n"
        assert after.exit_code == 1


async def test_there_are_enough_of_them() -> None:
    assert len({case[0] for case in HOSTILE}) >= 60


async def test_directory_variables_and_functions_stay(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with runner(tmp_path) as shell:
        ran = await run(shell, "cd sub; export WORD='a \"b\" $c\n`d`'; LOCAL=1; f() { echo called; }")
        assert ran.cwd == tmp_path / "sub"
        assert ran.moved
        ran = await run(shell, 'pwd; echo "$WORD"; echo $LOCAL; f')
        assert ran.output.text == f'{tmp_path}/sub\na "b" $c\n`d`\n1\ncalled\n'
        assert not ran.moved
        assert (await run(shell, "pwd", tmp_path)).output.text == f"{tmp_path}\n"
        assert (await run(shell, "pwd")).output.text == f"{tmp_path}/sub\n"


async def test_a_shell_that_ended_is_replaced_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with runner(tmp_path) as shell:
        assert not (await run(shell, "exit 0")).shell_ended  # nothing was in it
        await run(shell, "cd sub")
        assert (await run(shell, "exit 0")).shell_ended
        assert (await run(shell, "pwd")).output.text == f"{tmp_path}/sub\n"
        (tmp_path / "sub").rmdir()
        await run(shell, "exit 0")
        assert (await run(shell, "pwd")).output.text == f"{tmp_path}\n"
        with pytest.raises(ToolError, match="does not exist"):
            await run(shell, "pwd", tmp_path / "sub")


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("export PATH=/x:$PATH", "changed PATH"),
        ("export LD_PRELOAD=", "changed LD_PRELOAD"),
        ("export GIT_PAGER=x", "changed GIT_PAGER"),
        ("unset HOME", "changed HOME"),
        ("export -n PATH", "changed PATH"),
        ("ls() { :; }", "function ls"),
        ("alias ls=rm", "alias ls"),
        ("shopt -s dotglob", "options (dotglob)"),
        ("trap 'echo' EXIT", "trap"),
        ("trap 'echo' USR1", "trap"),
        ("enable -n echo", "builtin"),
        ("CDPATH=/", "CDPATH"),
        ("GLOBIGNORE=x", "GLOBIGNORE"),
        ("exec 7>/dev/null", "descriptors"),
        ("declare() { :; }; ls() { :; }; builtin() { :; }", "function"),
        ("builtin() { :; }; alias() { :; }; \\alias ls=rm; shopt -s expand_aliases", "function"),
    ],
)
async def test_what_changes_the_meaning_of_words_is_known(tmp_path: Path, command: str, change: str) -> None:
    async with runner(tmp_path) as shell:
        await run(shell, "true")
        assert shell.state(tmp_path).changes == ()
        await run(shell, command)
        assert any(change in one for one in shell.state(tmp_path).changes), shell.state(tmp_path).changes


@pytest.mark.parametrize(
    "command",
    [
        "export MY_WORD=1",
        "x=1; y=(1 2)",
        "for i in 1 2; do :; done",
        "cd /",
        "set -e",
        "ls /; cat /etc/passwd",
        "hash -r",
        "sleep 0 & wait",
        "set -x; true",
        "PS1=x",
        "POSIXLY_CORRECT=1",
        "FOO=1 true",
        "pushd / >/dev/null",
    ],
)
async def test_what_does_not_change_their_meaning_is_no_reason_to_ask(tmp_path: Path, command: str) -> None:
    async with runner(tmp_path) as shell:
        await run(shell, command)
        assert shell.state(tmp_path).changes == ()


async def test_the_clean_shell_has_the_variables_but_nothing_that_gives_words_another_meaning(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with runner(tmp_path) as shell:
        await run(
            shell, "cd sub; export WORD='it'\"'\"'s $x'; export PATH=/nonexistent; ls() { echo hijacked; }; alias cat=x"
        )
        ran = await run(shell, 'pwd; echo "$WORD"; type -t ls; ls -d .', place="bare")
        assert ran.output.text == f"{tmp_path}/sub\nit's $x\nfile\n.\n"
        await run(shell, "unset WORD; cd ..")
        assert (await run(shell, 'pwd; echo "[$WORD]"', place="bare")).output.text == f"{tmp_path}\n[]\n"
        await run(shell, "cd sub", place="bare")
        assert (await run(shell, "pwd", place="session")).output.text == f"{tmp_path}/sub\n"


async def test_credentials_and_pagers_are_not_inherited(tmp_path: Path) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "GITHUB_TOKEN": "secret",
        "DATABASE_URL": "postgres://u:secret@h/d",
        "BASH_ENV": "/x",
        "HOME": "/h",
        "MONKEY": "banana",
    }
    async with runner(tmp_path, environ) as shell:
        text = (await run(shell, "env")).output.text
    assert "secret" not in text
    assert "BASH_ENV" not in text
    for line in ("PAGER=cat", "HOME=/h", "MONKEY=banana", "GIT_TERMINAL_PROMPT=0"):
        assert line in text
    passed = command_environment(environ, frozenset({"MONKEY"}), ("GITHUB_TOKEN",))
    assert passed["GITHUB_TOKEN"] == "secret"
    assert "MONKEY" not in passed


@pytest.mark.parametrize(
    ("name", "value", "is_credential"),
    [
        ("OPENAI_API_KEY", "x", True),
        ("AWS_SECRET_ACCESS_KEY", "x", True),
        ("GH_TOKEN", "x", True),
        ("DB_PASSWORD", "x", True),
        ("PGPASSWORD", "x", True),
        ("npm_token", "x", True),
        ("SLACK_WEBHOOK", "x", False),
        ("ANYTHING", "ghp_0123456789abcdef", True),
        ("URL", "https://user:pw@host/", True),
        ("URL", "https://host:80/", False),
        ("TOKENIZERS_PARALLELISM", "false", False),
        ("KEYBOARD", "us", False),
        ("SSH_AUTH_SOCK", "/x", False),
        ("PATH", "/bin", False),
        ("MY_SECRET_2", "x", True),
        ("AUTHOR", "me", False),
        ("PWD", "/", False),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/x.json", True),
        ("XDG_SESSION_ID", "1", False),
        ("LANG", "C", False),
    ],
)
def test_credentials_are_known_by_name_or_form(name: str, value: str, is_credential: bool) -> None:
    assert looks_like_credential(name, value) is is_credential


def test_variables_of_effect() -> None:
    for name in (
        "PATH",
        "LD_PRELOAD",
        "GIT_SSH_COMMAND",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "MANPAGER",
        "HOME",
        "BASH_FUNC_x",
        "MAWK_LONG_OPTIONS",
        "AWKPATH",
        "RSH",
        "MAGIC",
        "PYENV_VERSION",
        "COVERAGE_PROCESS_START",
        "OPENSSL_CONF",
    ):
        assert changes_meaning(name)
    for name in ("DEBUG", "FOO", "DATABASE_NAME", "LS_COLORS", "TZ", "PORT"):
        assert not changes_meaning(name)


@pytest.mark.parametrize(
    "command",
    [
        "echo begun; sleep 60",
        "echo begun; while :; do :; done",
        "echo begun; exec sleep 60",
        "echo begun; trap '' INT TERM; sleep 60",
        "echo begun; cat </dev/tty",
        "echo begun; sleep 60 | cat",
    ],
)
async def test_the_time_limit_ends_the_command_and_keeps_its_output(tmp_path: Path, command: str) -> None:
    async with runner(tmp_path) as shell:
        with anyio.fail_after(PATIENCE):
            ran = await run(shell, command, seconds=0.4)
        assert ran.timed_out
        assert ran.output.text.startswith("begun\n")
        assert ran.left_running == ()
        assert (await run(shell, "echo on")).output.text == "on\n"


async def test_the_time_limit_keeps_the_shell_where_it_can(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        await run(shell, "kept=1")
        for command in ("sleep 60", "while :; do :; done", "sleep 60; echo never"):
            ran = await run(shell, command, seconds=0.3)
            assert not ran.shell_ended
            assert "never" not in ran.output.text
        assert (await run(shell, "echo $kept")).output.text == "1\n"


STUBBORN = (
    "sh -c 'trap \"exit 3\" INT; while :; do sleep 0.05; done'",
    "sh -c 'trap \"\" INT; while :; do sleep 1; done'",
    "sh -c 'trap \"\" INT TERM; while :; do sleep 1; done'",
    "(trap '' INT; sleep 60)",
)


@pytest.mark.parametrize("first", STUBBORN)
async def test_what_stands_after_a_command_that_was_stopped_never_runs(tmp_path: Path, first: str) -> None:
    """Bash itself goes on with it, unless the command dies of the interrupt."""
    async with runner(tmp_path) as shell:
        await run(shell, "kept=1")
        ran = await run(shell, f"{first}; echo never; touch made", seconds=0.3)
        assert (ran.timed_out, ran.shell_ended) == (True, False)
        assert "never" not in ran.output.text
        assert (await run(shell, "ls; echo $kept")).output.text == "1\n"


async def test_a_program_in_the_shells_place_may_end_in_its_own_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import signal, subprocess, sys, time; subprocess.Popen(['sleep', '60']); signal.signal(signal.SIGINT, "
    code += "lambda *_: (time.sleep(0.8), open('tidy', 'w'), sys.exit(7))); print('begun', flush=True); time.sleep(60)"
    monkeypatch.setattr(bash, "_INTERRUPT_SECONDS", PATIENCE)
    async with runner(tmp_path) as shell:
        ran = await run(shell, f'exec {sys.executable} -c "{code}"', seconds=2)
        assert (ran.output.text, ran.exit_code, (tmp_path / "tidy").exists()) == ("begun\n", 7, True)


async def test_a_command_that_ends_as_it_is_stopped_costs_no_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its report may be under way when the shell is told to give the command up."""
    monkeypatch.setattr(bash, "_PROBE_SECONDS", PATIENCE)
    async with runner(tmp_path) as shell:
        await run(shell, "kept=1; for n in {1..3000}; do export many_$n=x; done")
        for tenths in (1, 2, 3, 4, 5):
            ran = await run(shell, f"(trap '' INT TERM; sleep 60) & sleep 0.{tenths}", seconds=0.3)
            assert not ran.shell_ended
        assert (await run(shell, "echo $kept")).output.text == "1\n"


async def test_a_shell_that_gives_up_the_line_that_was_to_report_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives up what it has read of a line when it is interrupted."""
    monkeypatch.setattr(bash, "_PROBE_SECONDS", PATIENCE)
    monkeypatch.setattr(bash, "_INTERRUPT_SECONDS", PATIENCE)
    told: list[str] = []

    def cut_once(nonce: str) -> str:
        told.append(reporting(nonce))
        return told[0][:100] if len(told) == 1 else told[-1]

    async with runner(tmp_path) as shell:
        await run(shell, "kept=1")
        monkeypatch.setattr(bash, "reporting", cut_once)
        ran = await run(shell, "sleep 60", seconds=0.3)
        assert (ran.shell_ended, len(told) > 1) == (False, True)
        assert (await run(shell, "echo $kept")).output.text == "1\n"


@pytest.mark.parametrize(
    "command",
    [
        "echo $BASHPID; sleep 60",
        "sh -c 'trap \"\" TERM INT HUP; echo $$; while :; do sleep 1; done'",
        "(setsid sh -c 'echo $$; exec sleep 60' &) ; sleep 60",
        "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & sleep 60",
        "(env -i setsid sh -c '(echo $$; exec sleep 60) & exit' &); sleep 60",
        "python3 -c 'import os,time\nif os.fork(): time.sleep(60)\nos.setsid()\nif os.fork(): os._exit(0)\n"
        "os.environ.clear(); print(os.getpid(), flush=True); time.sleep(60)'",
        "nohup sh -c 'echo $$; exec sleep 60' 2>&1 | cat & disown; sleep 60",
        "coproc sh -c 'echo $$ >&2; exec sleep 60'; disown -a; sleep 60",
        "setsid -f env -i sh -c 'trap \"\" TERM INT HUP; echo $$; while :; do setsid sleep 60; done'; sleep 60",
        "env -i python3 -c 'import ctypes,os,time\nctypes.CDLL(None).prctl(36, 1)\nif os.fork(): time.sleep(60)\n"
        "os.setsid()\nif os.fork(): os._exit(0)\nos.closerange(3, 100); print(os.getpid(), flush=True)\n"
        "while True: time.sleep(0.01) if os.fork() else os._exit(0)'",
        "exec -c python3 -c 'import os,time\nif os.fork() == 0:\n os.setsid(); print(os.getpid(), flush=True)\n"
        "time.sleep(60)'",
    ],
)
async def test_a_cancelled_command_leaves_no_process(tmp_path: Path, command: str) -> None:
    pids: list[int] = []
    async with runner(tmp_path) as shell:
        started = anyio.Event()
        own = (await run(shell, "echo $$")).output.text.strip()

        async def on_output(text: str) -> None:
            if text.strip().isdecimal():
                pids.append(int(text))
                started.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(shell.run, command, None, 60, on_output))
            with anyio.fail_after(PATIENCE):
                await started.wait()
            tasks.cancel_scope.cancel()
        ran = await run(shell, "echo again; echo $$")
        again, now = ran.output.text.split()
        assert again == "again"
        assert now == own or command.startswith("exec")
        if pids[0] != int(own):
            await gone(pids[0])
        with anyio.fail_after(PATIENCE):
            while at_work_in(tmp_path) != {int(now)}:
                await anyio.sleep(0.01)


async def test_pipes_of_a_coprocess_are_none_of_the_shell_s_own(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        for _ in range(2):
            begun = await run(shell, "coproc cat; disown -a; echo ${COPROC[@]}")
            pipes = [int(word) for word in begun.output.text.split("\n")[-2].split()]
            assert max(pipes) < min(TTY_FD, CONTROL_FD)  # the shell's own were closed meanwhile, and are put back
            ended = await run(shell, "kill $COPROC_PID; while kill -0 $COPROC_PID 2>/dev/null; do :; done; true")
            assert (ended.exit_code, ended.timed_out) == (0, False)
            assert (await run(shell, "echo on")).output.text == "on\n"


async def test_a_cancel_answers_before_what_it_stops_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = anyio.Event()

    async def end_tree(*given: Any) -> None:
        await may_end.wait()
        await tree.end_tree(*given)

    monkeypatch.setattr("north_lsp.shell.runner.end_tree", end_tree)
    async with runner(tmp_path) as shell:
        started = anyio.Event()

        async def on_output(text: str) -> None:
            started.set()

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(shell.run, "trap '' INT TERM; echo begun; sleep 60", None, 60, on_output))
                await started.wait()
                tasks.cancel_scope.cancel()
        may_end.set()


async def test_a_cancel_leaves_what_earlier_commands_put_aside(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        kept = (await run(shell, "sleep 60 &")).left_running[0]
        assert (await run(shell, "sleep 60", seconds=0.2)).timed_out
        assert not is_gone(kept)
        await shell.end_all(0.2)
        await gone(kept)


async def test_a_process_left_in_the_background_is_told_and_ended_with_the_session(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        ran = await run(shell, "sleep 60 & echo started")
        assert ran.exit_code == 0
        assert ran.output.text == "started\n"
        assert len(ran.left_running) == 1
        await shell.end_all(0.2)
        await gone(ran.left_running[0])


async def test_what_the_background_prints_later_is_not_the_next_command_s(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        await run(shell, "(while :; do echo noise; sleep 0.01; done) & sleep 0")
        ran = await run(shell, "true")
        assert set(ran.output.text.split()) <= {"noise"}
        assert (await run(shell, "kill $!; wait; echo quiet")).output.text.endswith("quiet\n")


async def test_a_process_that_does_not_belong_to_the_command_is_left_alone(tmp_path: Path) -> None:
    other = await anyio.open_process(["sleep", "60"], env={"PATH": os.environ["PATH"], MARK: "other"})
    try:
        async with runner(tmp_path) as shell:
            await run(shell, "sleep 60", seconds=0.2)
        assert other.returncode is None
        assert other.pid in find_tree(None, "other")
    finally:
        os.kill(other.pid, signal.SIGKILL)
        await other.aclose()


def memory() -> int:
    """Resident memory in kB."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


async def test_a_flood_of_500_mb_is_bounded(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        await run(shell, "true")
        before = memory()
        ran = await run(shell, "head -c 500000000 /dev/zero; echo; echo end")
        assert ran.exit_code == 0
        assert ran.output.truncated
        assert len(ran.output.text) < 60_000
        assert ran.output.text.endswith("\nend\n")
        assert ran.output.total_bytes == 500_000_005
        assert memory() - before < 30_000
        assert (await run(shell, "echo alive")).output.text == "alive\n"


async def test_a_growing_tree_of_processes_is_ended(tmp_path: Path) -> None:
    script = "spawn() { [ $1 -gt 6 ] && sleep 60; spawn $(($1+1)) & spawn $(($1+1)) & wait; }; spawn 1"
    async with runner(tmp_path) as shell:
        ran = await run(shell, script, seconds=0.5)
        assert ran.timed_out
        with anyio.fail_after(PATIENCE):
            assert (await run(shell, "echo over")).output.text == "over\n"


async def test_output_arrives_while_the_command_runs(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        seen = anyio.Event()

        async def on_output(text: str) -> None:
            if "first" in text:
                (tmp_path / "seen").touch()
                seen.set()

        ran = await shell.run("echo first; until [ -e seen ]; do sleep 0.01; done; echo last", None, 20, on_output)
        assert seen.is_set()
        assert ran.output.text == "first\nlast\n"


async def test_a_thousand_commands_leave_nothing(tmp_path: Path) -> None:
    def held() -> tuple[int, int]:
        """Descriptors and processes."""
        return len(os.listdir("/proc/self/fd")), len(children_of(os.getpid()))

    async with runner(tmp_path) as shell:
        first = await run(shell, "set -- /proc/$$/fd/*; echo $#; echo $$")
        for _ in range(20):
            await run(shell, "/bin/true")
        before, used = held(), memory()
        folder = len(list(tmp_path.rglob("*")))
        for number in range(1000):
            assert (await run(shell, f"echo {number}")).output.text == f"{number}\n"
        assert held() <= before
        assert memory() - used < 4096
        assert len(list(tmp_path.rglob("*"))) == folder
        assert (await run(shell, "set -- /proc/$$/fd/*; echo $#; echo $$")).output.text == first.output.text
        assert not shell.state(tmp_path).changes


async def test_a_process_is_asleep_while_it_waits_and_not_while_it_works() -> None:
    sleeping, working = [
        await anyio.open_process(["bash", "-c", command]) for command in ("read x", "while :; do :; done")
    ]
    try:
        with anyio.fail_after(PATIENCE):
            while not is_asleep(sleeping.pid) or is_asleep(working.pid):
                await anyio.sleep(0.01)
    finally:
        for process in (sleeping, working):
            process.kill()
            await process.aclose()


@pytest.mark.parametrize(
    "command",
    ["kill -STOP $$", "suspend -f", "enable -n builtin printf unset", "readonly POSIXLY_CORRECT=1"],
)
async def test_a_shell_that_cannot_go_on_is_replaced_long_before_the_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("north_lsp.shell.bash._PROBE_SECONDS", 0.1)
    async with anyio.create_task_group() as background:
        shell = CommandRunner(command_environment(os.environ, frozenset()), background, tmp_path)
        with anyio.fail_after(PATIENCE):
            ran = await run(shell, command, seconds=3600)
            assert not ran.timed_out
            assert (await run(shell, "echo on")).output.text.endswith("on\n")
        await shell.end_all(0.1)
        background.cancel_scope.cancel()


async def test_what_only_waits_is_not_taken_for_a_shell_that_cannot_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("north_lsp.shell.bash._PROBE_SECONDS", 0.1)
    async with anyio.create_task_group() as background:
        shell = CommandRunner(command_environment(os.environ, frozenset()), background, tmp_path)
        assert (await run(shell, "sleep 0.5; echo slept")).output.text.endswith("slept\n")
        assert (await run(shell, "exec sleep 0.5")).exit_code == 0
        await shell.end_all(0.1)
        background.cancel_scope.cancel()


async def test_a_link_leads_where_rules_take_it_to_lead(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    async with anyio.create_task_group() as background:
        shell = CommandRunner(command_environment(os.environ, frozenset()), background, tmp_path)
        for command in ("cd link; cd ..; pwd", "cd ..; cd link/..; pwd"):
            assert (await run(shell, command, place="bare")).output.text == f"{tmp_path}/a\n"
        await run(shell, f"cd {tmp_path}; cd link", place="bare")
        assert (await run(shell, "cd ..; pwd", place="bare")).output.text == f"{tmp_path}/a\n"
        assert (await run(shell, f"cd {tmp_path}/link; cd ..; pwd")).output.text == f"{tmp_path}\n"
        await shell.end_all(0.1)
        background.cancel_scope.cancel()
