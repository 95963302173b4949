"""What `doctor` finds: settings, models, keys, network, programs, editors, files that others can read, and what takes
room."""

import json
import os
import socket
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from north_lsp import __version__
from north_lsp.cli import doctor
from north_lsp.cli.doctor import (
    _keys,
    _models,
    _modes,
    _network,
    _own_files,
    _program,
    _settings,
    _shell,
    _storage,
    examine,
)
from north_lsp.cli.finding import Finding, as_json, report
from north_lsp.cli.reach import network
from north_lsp.cli.surroundings import editors, on_path
from north_lsp.cli.variables import WITHOUT_EFFECT
from north_lsp.server.options import Options
from tests.cli import test_command_line
from tests.end_to_end.world import SERVER
from tests.support.model_server import ModelServer

run = partial(test_command_line.run, program=SERVER)


def options_in(folder: Path, **environ: str) -> Options:
    folders = {f"NORTH_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    return Options(environ=folders | {"NORTH_DISCOVERY": "off", "HOME": str(folder)} | environ, path=folder)


def texts(findings: list[Finding], level: str) -> str:
    return "\n".join(f"{one.text} -> {one.remedy}" for one in findings if one.level == level)


@pytest.mark.parametrize(("shell", "said"), [("/bin/zsh", 1), ("/usr/bin/fish", 1), ("/bin/bash", 0), ("", 0)])
def test_a_user_of_another_shell_is_told_that_commands_run_with_bash(tmp_path: Path, shell: str, said: int) -> None:
    found = list(_shell(Options(environ={"SHELL": shell, "PATH": os.environ["PATH"]})))
    assert len(found) == said
    for one in found:
        assert one.level == "note"
        assert f"your shell is {os.path.basename(shell)}: commands run with bash" in one.text
        assert "~/.bash_profile" in one.remedy


def test_files_with_secrets_that_others_can_read_are_named_and_closed(tmp_path: Path) -> None:
    options = Options(environ={f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")})
    for path in (tmp_path / "DATA" / "agent.db", tmp_path / "CONFIG" / "secrets.yml"):
        path.parent.mkdir()
        path.write_text("x")
        path.chmod(0o644)
        (found,) = _modes(options)
        assert (found.level, str(path) in found.text) == ("warning", True)
        assert path.stat().st_mode & 0o777 == 0o600
        assert list(_modes(options)) == []


def test_what_takes_room_is_listed_with_what_frees_it(tmp_path: Path) -> None:
    options = Options(environ={f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")})
    assert list(_storage(options)) == []
    (tmp_path / "STATE").mkdir()
    (tmp_path / "STATE" / "north.log").write_bytes(b"x" * 12_345)
    (found,) = _storage(options)
    assert found.text.startswith("storage: log files: 12 KB in 1 file; freed by `north-lsp purge`; `log.maxBytes`")


def test_what_is_wrong_in_the_users_settings_and_in_the_projects_is_named(tmp_path: Path) -> None:
    environ = {f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    (tmp_path / "CONFIG").mkdir()
    (tmp_path / "CONFIG" / "config.json").write_text('{"shell.timeoutS": 0}')
    (tmp_path / "p" / ".north").mkdir(parents=True)
    (tmp_path / "p" / ".north" / "settings.json").write_text('{"cost.dayLimitUsd": 5}')
    found = list(_settings(Options(environ=environ, path=tmp_path / "p")))
    assert [one.level for one in found] == ["error", "warning"]
    assert "cost.dayLimitUsd has no effect in a project's file" in found[1].text


@pytest.mark.parametrize(
    ("arguments", "environ", "says"),
    [
        (["--model", "sonnet-4-5"], {}, "change --model"),
        ([], {"NORTH_MODEL": "sonnet-9"}, "change NORTH_MODEL"),
    ],
)
def test_a_model_that_cannot_be_used_is_an_error_among_the_others(
    tmp_path: Path, arguments: list[str], environ: dict[str, str], says: str
) -> None:
    done = run(tmp_path, "doctor", *arguments, environ=environ)
    assert (done.returncode, done.stderr) == (1, "")
    assert "git: " in done.stdout
    assert says in done.stdout.partition("What to do:")[2]
    rows = json.loads(run(tmp_path, "doctor", "--json", *arguments, environ=environ).stdout)
    assert [row["level"] for row in rows].count("error") == 1


def test_settings_that_name_what_does_not_exist_are_found(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    wrong = {
        "selectedModel": "sonet-4-5",
        "modelRoles": {"fast": "nothing-like-it", "slwo": "haiku-4-5", "smol": "haiku-4-5"},
        "enabledModels": ["gone/*"],
        "disabledProviders": ["opnai", "offline"],
        "shell.timeout": 3,
    }
    (tmp_path / "config" / "config.json").write_text(json.dumps(wrong))
    options = options_in(tmp_path)
    found = texts(list(_models(options)), "warning")
    assert "the saved model 'sonet-4-5' cannot be used" in found
    assert "the role fast: " in found
    assert "no known model is called gone/*" in found
    assert "there is no provider opnai; did you mean openai?" in found
    assert "North has no role slwo; did you mean slow?" in found
    assert "smol" not in found
    assert "the offline model cannot be disabled" in texts(list(_models(options)), "note")
    assert "shell.timeout is unknown and has no effect; did you mean shell.timeoutS?" in texts(
        list(_settings(options)), "warning"
    )


def test_a_saved_model_that_is_gone_is_named_while_another_one_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.json").write_text('{"selectedModel": "sonet-4-5"}')
    found = list(_models(replace(options_in(tmp_path), model="sonnet-9")))
    assert "change --model" in texts(found, "error")
    assert "the saved model: there is no model 'sonet-4-5'" in texts(found, "warning")


def test_without_a_saved_model_none_is_named(tmp_path: Path) -> None:
    found = list(_models(replace(options_in(tmp_path, NORTH_MODEL="nope"), model="nope")))
    assert "change NORTH_MODEL" in texts(found, "error")
    assert "the saved model" not in texts(found, "warning")


@pytest.mark.parametrize(("answer", "level"), [({}, "ok"), (401, "error"), (403, "error"), (500, "ok")])
def test_each_key_is_tried_out(tmp_path: Path, server: ModelServer, answer: object, level: str) -> None:
    server.pages["/v1/models?limit=1"] = answer
    options = options_in(tmp_path, ANTHROPIC_API_KEY="very-secret", ANTHROPIC_BASE_URL=server.url)
    (found,) = _keys(options)
    assert (found.level, "very-secret" in str(found)) == (level, False)
    assert f"Anthropic: the key is in ANTHROPIC_API_KEY, served by {server.url}" in found.text
    if level == "error":
        assert f"Anthropic does not accept this key (it answered {answer})" in found.text
        assert found.remedy.endswith(
            "`north-lsp login anthropic`, or correct ANTHROPIC_API_KEY where the editor is started"
        )


def test_a_password_in_an_address_is_not_shown(tmp_path: Path) -> None:
    environ = {"ANTHROPIC_API_KEY": "x", "NORTH_NO_NETWORK": "1"}
    options = options_in(tmp_path, ANTHROPIC_BASE_URL="https://me:hunter2@example.com/v1", **environ)
    (found,) = _keys(options)
    assert "served by https://…@example.com/v1" in found.text
    (wrong,) = [
        one for one in _network(options_in(tmp_path, ANTHROPIC_BASE_URL="me:hunter2@host")) if "is not" in one.text
    ]
    assert "'…@host'" in wrong.text


def test_a_provider_that_cannot_be_reached_is_a_warning_that_names_the_proxy(tmp_path: Path) -> None:
    with socket.socket() as nobody:  # bound, so that nobody else listens there
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        options = options_in(tmp_path, ANTHROPIC_API_KEY="k-123456789", ANTHROPIC_BASE_URL=address)
        (found,) = _keys(options)
    assert found.level == "warning"
    assert "could not be asked whether it accepts this key" in found.text
    assert "HTTPS_PROXY" in found.remedy


@pytest.mark.parametrize("proxy", ["socks4://127.0.0.1:9", "other://proxy", "http://127.0.0.1:99999999", "http://[::1"])
def test_a_proxy_that_cannot_be_used_ends_no_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)  # the HTTP client reads those of the process
    address = {"ANTHROPIC_API_KEY": "k-123456789", "ANTHROPIC_BASE_URL": "https://models.example.invalid"}
    options = options_in(tmp_path, HTTPS_PROXY=proxy, **address)
    (found,) = _keys(options)
    assert (found.level, "could not be asked whether it accepts this key" in found.text) == ("warning", True)
    assert "HTTPS_PROXY does not name a proxy" in texts(list(_network(options)), "error")


@pytest.mark.parametrize("more", ["headers: {X-Team: a}", "authHeader: true"])
def test_a_key_of_a_gateway_with_ways_of_its_own_is_not_tried(tmp_path: Path, server: ModelServer, more: str) -> None:
    server.pages["/v1/models?limit=1"] = 401
    (tmp_path / "config").mkdir()
    rows = f"baseUrl: '{server.url}', api: anthropic-messages, apiKeyEnv: A_KEY, models: [{{id: m}}], {more}"
    (tmp_path / "config" / "models.yml").write_text(f"providers: {{gateway: {{{rows}}}}}")
    found = texts(list(_keys(options_in(tmp_path, A_KEY="k-123456789"))), "ok")
    assert "the key is in A_KEY" in found


def test_what_is_wrong_in_lists_of_secrets_and_of_servers_is_named(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "secrets.yml").write_text("- {type: plan, content: abcdef}\n")
    (tmp_path / ".north").mkdir()
    (tmp_path / ".north" / "secrets.yml").write_text("{")
    (tmp_path / "config" / "mcp.json").write_text('{"mcpServers": {"git": {"comand": "x"}}}')
    (tmp_path / ".mcp.json").write_text("{")
    found = list(_own_files(options_in(tmp_path)))
    errors, warnings = texts(found, "error"), texts(found, "warning")
    assert "secrets.yml:1: an entry does not count: `type` must be" in errors
    assert "until then, no request is sent to a model" in errors
    assert "the MCP server git cannot be used: it has neither `command` nor `url`" in warnings
    assert f"fix {tmp_path / '.mcp.json'}" in warnings


def test_unknown_variables_are_named_with_the_nearest(tmp_path: Path) -> None:
    found = texts(list(_program(options_in(tmp_path, NORTH_MODLE="x"))), "note")
    assert "NORTH_MODLE (did you mean NORTH_MODEL?)" in found


def test_variables_for_what_north_does_not_have_are_said_to_have_no_effect(tmp_path: Path) -> None:
    found = list(_program(options_in(tmp_path, **dict.fromkeys(WITHOUT_EFFECT, "1"))))
    notes = texts(found, "note")
    for name in WITHOUT_EFFECT:
        assert f"{name} has no effect: " in notes
    assert "unknown" not in notes
    assert {"FS_SCAN_CACHE_TTL_MS", "NORTH_MAX_AST_FILES", "NORTH_PYTHON_GATEWAY_URL"} <= WITHOUT_EFFECT.keys()
    assert "no effect" not in texts(list(_program(options_in(tmp_path, NORTH_MODEL="x"))), "note")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("NORTH_NO_TITLE", "maybe", "NORTH_NO_TITLE is 'maybe', which is neither on nor off: it counts as on"),
        ("NORTH_TIMING", "2", "NORTH_TIMING is '2', which is neither on nor off: it counts as not set"),
        ("NORTH_OFFLINE_DELAY_MS", "fast", "NORTH_OFFLINE_DELAY_MS is 'fast', which is not a whole number"),
        ("NORTH_NO_TITLE", "off", ""),
        ("NORTH_TASK_MAX_OUTPUT_LINES", "100", ""),
    ],
)
def test_values_that_mean_nothing_are_said(tmp_path: Path, name: str, value: str, says: str) -> None:
    found = texts(list(_program(options_in(tmp_path, **{name: value}))), "warning")
    assert (says in found) if says else found == ""


@pytest.mark.parametrize(
    ("environ", "level", "says"),
    [
        ({"HTTPS_PROXY": "http://user:hidden@proxy.example:3128"}, "ok", "through the proxy proxy.example"),
        ({"https_proxy": "http://:port"}, "error", "https_proxy does not name a proxy"),
        ({"NORTH_CA_BUNDLE": "/nowhere.pem"}, "error", "NORTH_CA_BUNDLE cannot be used"),
        ({"ANTHROPIC_BASE_URL": "api.example.com"}, "error", "ANTHROPIC_BASE_URL is not an address"),
        ({"NORTH_NO_NETWORK": "1"}, "note", "this machine only"),
        ({"NORTH_NO_NETWORK": "yes please"}, "note", "this machine only"),
    ],
)
def test_what_requests_go_through_is_looked_at(tmp_path: Path, environ: dict[str, str], level: str, says: str) -> None:
    options = options_in(tmp_path, **environ)
    found = list(network(options, options.load_catalog()))
    assert says in texts(found, level)
    assert "hidden" not in report(found)


def test_clients_of_editors_are_found_with_their_versions(tmp_path: Path) -> None:
    for version in (__version__, "0.0.1"):
        (tmp_path / ".vscode" / "extensions" / f"north.north-{version}").mkdir(parents=True)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "nvim").write_text("#!/bin/sh\necho NVIM v0.9.5\n")
    (programs / "nvim").chmod(0o755)
    plugins = tmp_path / ".local/share/nvim/site/pack/north/start"
    plugins.mkdir(parents=True)
    (plugins / "north").symlink_to(tmp_path / "gone")
    options = options_in(tmp_path, PATH=f"{programs}:{os.environ['PATH']}")
    found = list(editors(options))
    assert f"North's extension {__version__}" in texts(found, "ok")
    assert "North's plugin needs 0.10" in texts(found, "warning")
    assert "is a broken link to" in texts(found, "warning")
    (tmp_path / "gone" / "lua" / "north").mkdir(parents=True)
    (tmp_path / "gone" / "lua" / "north" / "init.lua").touch()
    assert f"with North's plugin in {plugins / 'north'}" in texts(list(editors(options)), "ok")


def test_it_is_said_when_editors_do_not_find_the_program(tmp_path: Path) -> None:
    (found,) = on_path(options_in(tmp_path, PATH=str(tmp_path)))
    assert "not on PATH" in found.text
    assert "by its whole path" in found.remedy


def test_a_check_that_fails_is_a_finding_and_the_others_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def _broken(options: Options) -> list[Finding]:
        raise KeyError("x")

    monkeypatch.setattr(doctor, "_CHECKS", (_broken, _program))
    found = examine(options_in(tmp_path))
    assert "the check of broken failed: KeyError: 'x'" in texts(found, "error")
    assert texts(found, "ok").startswith(f"North {__version__}")


def test_the_report_ends_with_what_to_do() -> None:
    found = [Finding("error", "a", "fix a"), Finding("ok", "b"), Finding("warning", "c", "fix c")]
    assert report(found).endswith("\n\n1 error and 1 warning. What to do:\n  1. fix a\n  2. fix c")
    assert report([Finding("ok", "b"), Finding("note", "c", "d")]).endswith("\n\nNothing is wrong.")
    assert "\033[31merror" in report(found, colored=True)
    assert json.loads(as_json(found))[0] == {"level": "error", "text": "a", "remedy": "fix a"}
