"""Secrets of a user and a project stay on the machine: in the requests and the logs of a real server there are
placeholders, and what the model does with those is done with the real values."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_faults import configure, each_api, serve
from tests.end_to_end.test_stable_prefix import Life
from tests.end_to_end.world import World, make_world
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.recorded import option, replace, shell, stage
from tests.support.script import Answer, Say, answer, call
from tests.support.shown import shown
from tests.support.web_site import Site

TOKEN = "deploy-4f9c2e7a1b"
IN_FILE = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"
OF_ENV_FILE = "pw-8c1d5e9f3a"
ALL = (TOKEN, IN_FILE, OF_ENV_FILE)


@pytest.fixture
def world(tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    world = make_world(tmp_path / "world", server.url)
    (world.project / ".env").write_text(f"# mine\nDB_PASSWORD='{OF_ENV_FILE}'\n")
    (world.project / "config.py").write_text(f'KEY = "{IN_FILE}"\nDEBUG = True\n')
    return world


def sent(server: ModelServer) -> list[str]:
    return [json.dumps(request.body, ensure_ascii=False) for request in server.requests]


def stored(world: World) -> str:
    return "".join(
        path.read_text("utf-8", "replace")
        for folder in (world.data / "conversations", world.folder / "state")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    )


def assert_nothing_left(world: World, server: ModelServer) -> None:
    for secret in ALL:
        assert [text for text in sent(server) if secret in text] == []
        assert secret not in stored(world)


async def test_no_request_and_no_log_has_a_secret_and_edits_write_the_real_value(
    world: World, server: ModelServer
) -> None:
    async with stage(world, server) as on:
        end = await on.say(
            f"Use {TOKEN} with {OF_ENV_FILE}",
            answers=(
                answer(call("read_file", path="config.py"), call("shell_run", command="cat .env")),
                answer(replace("config.py", 'KEY = "<<$env:S2>>"', 'KEY = "<<$env:S2>>"\nTOKEN = "<<$env:S0>>"')),
                answer(shell("touch <<$env:S1>>.txt")),
                answer(Say("I wrote <<$env:S0>>.", 7)),
            ),
        )
        assert end == "end_turn"
        live = json.dumps(shown(on.client.updates))
        await on.ask("session/close")
        on.client.updates.clear()
        await on.ask("session/load", cwd=str(world.project), mcpServers=[])
        replayed = json.dumps(shown(on.client.updates))
    assert (world.project / "config.py").read_text() == f'KEY = "{IN_FILE}"\nTOKEN = "{TOKEN}"\nDEBUG = True\n'
    assert (world.project / f"{OF_ENV_FILE}.txt").exists()
    assert f"I wrote {TOKEN}." in live
    assert "<<$env:" not in live
    assert f"I wrote {TOKEN}." in replayed
    assert_nothing_left(world, server)


async def test_a_conversation_goes_on_with_the_same_placeholders(world: World, server: ModelServer) -> None:
    async with stage(world, server) as on:
        await on.say(f"{OF_ENV_FILE} and {TOKEN}", answers=(answer(Say("Yes, <<$env:S1>>.")),))
        await on.ask("session/close")
        await on.ask("session/load", cwd=str(world.project), mcpServers=[])
        await on.say(f"Again {TOKEN}", answers=(answer(Say("Yes.")),))
    first, second = (request.body["messages"] for request in server.requests)
    said = [json.dumps(one["content"]) for one in second]
    assert json.dumps(first[0]["content"])[:60] == said[0][:60]
    assert "<<$env:S0>> and <<$env:S1>>" in said[0]
    assert "Yes, <<$env:S1>>." in said[1]
    assert "Again <<$env:S1>>" in said[2]
    assert_nothing_left(world, server)


async def test_what_was_known_by_its_form_is_found_again_in_the_files_that_were_read(
    world: World, server: ModelServer
) -> None:
    (world.project / "other.py").write_text("A = 'npm_" + "z" * 36 + "'\n")
    async with stage(world, server) as on:
        look = answer(call("read_file", path="config.py"), call("read_file", path="other.py"))
        await on.say("Look", answers=(look, answer(Say("It is <<$env:S0>>."))))
        session = on.session
    (world.project / "other.py").write_text("A = 'npm_" + "y" * 36 + "'\n")
    async with stage(world, server) as on:
        on.session = session
        await on.ask("session/load", cwd=str(world.project), mcpServers=[])
        replayed = json.dumps(shown(on.client.updates))
        change = replace("config.py", 'KEY = "<<$env:S0>>"', 'TOKEN = "<<$env:S0>>"')
        await on.say("Rename it", answers=(answer(change), answer(Say("Done."))))
    assert f"It is {IN_FILE}." in replayed
    assert "<<$env:S1>>" in replayed  # its value is gone
    assert (world.project / "config.py").read_text() == f'TOKEN = "{IN_FILE}"\nDEBUG = True\n'
    assert_nothing_left(world, server)


async def test_the_user_is_told_once_and_context_says_how_many(world: World, server: ModelServer) -> None:
    async with stage(world, server) as on:
        await on.say(f"{OF_ENV_FILE} and {TOKEN}", answers=(answer(Say("Yes.")),))
        await on.say(f"Again {IN_FILE}", answers=(answer(Say("Yes.")),))
        told = json.dumps(on.client.updates)
        report = await on.ask("_north/context")
    assert told.count("2 secret values stay on this machine") == 1
    assert "stay on this machine" not in told.replace("2 secret values stay on this machine", "")
    assert "3 values are masked" in report["markdown"]
    assert report["secrets"] in report["markdown"]


async def test_exports_have_placeholders(world: World, server: ModelServer) -> None:
    async with stage(world, server) as on:
        await on.say(f"{OF_ENV_FILE} and {TOKEN}", answers=(answer(Say("Yes, <<$env:S1>>.")),))
        for name in ("talk.md", "talk.html", "talk.json", "talk.txt"):
            await on.ask("_north/sessions/export", path=str(world.project / name))
            text = (world.project / name).read_text()
            assert [secret for secret in ALL if secret in text] == []
            assert "$env:S1" in text


@pytest.mark.parametrize("setting", ["enabled", "offIn"])
async def test_the_user_can_switch_it_off(world: World, server: ModelServer, setting: str) -> None:
    value: object = False if setting == "enabled" else [str(world.project)]
    configure(world, **{f"secrets.{setting}": value})
    async with stage(world, server) as on:
        await on.say(f"Use {TOKEN}", answers=(answer(Say("Yes.")),))
        report = await on.ask("_north/context")
    assert TOKEN in sent(server)[0]
    assert "not masked" in report["markdown"]


async def test_another_conversation_is_read_without_its_placeholders(world: World, server: ModelServer) -> None:
    async with stage(world, server) as on:
        await on.say(f"Take {TOKEN}", answers=(answer(Say("Yes.")),))
        first = on.session
        place = {"cwd": str(world.project), "mcpServers": []}
        on.session = str((await on.client.request("session/new", place))["sessionId"])
        look = call("read_file", path=f"conversation://{first}")
        await on.say(f"Take {OF_ENV_FILE}", answers=(answer(look), answer(Say("Yes."))))
    assert "Take [masked]" in sent(server)[-1]
    assert_nothing_left(world, server)


async def test_files_of_user_and_project_say_what_else_is_secret(world: World, server: ModelServer) -> None:
    write_file(world.folder / "config" / "secrets.yml", "- {type: plain, content: Zeppelin}\n- {type: odd}\n")
    write_file(world.project / ".north" / "secrets.yml", "- {type: regex, content: 'cust-\\d{4}'}\n")
    async with stage(world, server) as on:
        await on.ask("_north/trust", trusted=False)
        await on.say("Zeppelin for cust-1234", answers=(answer(Say("Yes.")),))
        told = json.dumps(on.client.updates)
    assert "<<$env:S0>> for <<$env:S1>>" in sent(server)[0]
    assert told.count("secrets.yml:2: an entry does not count") == 1
    assert "Zeppelin" not in stored(world)


async def test_nothing_is_sent_while_a_file_that_says_what_is_secret_cannot_be_read(
    world: World, server: ModelServer
) -> None:
    path = write_file(world.folder / "config" / "secrets.yml", "- [broken")
    async with stage(world, server) as on:
        await on.say("Hello", answers=(answer(Say("Yes.")),))
        assert f"{path}:1 is not valid YAML: repair or remove the file" in json.dumps(on.client.updates)
        assert server.requests == []
        path.write_text("[]")
        assert await on.say("Hello") == "end_turn"


def write_file(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


async def test_a_placeholder_whose_value_is_gone_is_neither_run_nor_written(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(world, server) as on:
        await on.say(f"Take {TOKEN}", answers=(answer(Say("Yes.")),))
        session = on.session
    monkeypatch.delenv("DEPLOY_TOKEN")
    async with stage(world, server) as on:
        on.session = session
        await on.ask("session/load", cwd=str(world.project), mcpServers=[])
        assert "Take <<$env:S0>>" in json.dumps(shown(on.client.updates))
        file = '<NORTH_FILE path="new.py">\nTOKEN = "<<$env:S0>>"\n</NORTH_FILE>\n'
        again = (answer(shell("touch <<$env:S0>>")), answer(Say(file)), answer(Say("I see.")))
        await on.say("Go on", answers=again)
    assert not (world.project / "new.py").exists()
    assert [path for path in world.project.iterdir() if "env" in path.name] == [world.project / ".env"]
    assert "<<$env:S0>> is not known any more" in sent(server)[-2]
    assert "<<$env:S0>> is not known any more, so the file was not written" in sent(server)[-1]
    assert "Take <<$env:S0>>" in sent(server)[-1]


class Secretive(Life):
    """A conversation in which secrets are said and read all the time."""

    def good(self) -> Answer:
        self.count += 1
        return answer(Say(f"Answer {self.count}: <<$env:S0>>.", 5))

    def looking(self) -> Answer:
        return answer(Say("I look."), call("read_file", path="config.py"), call("read_file", path=".env"))


@each_api
async def test_whatever_happens_no_request_has_a_secret_and_numbers_stay(
    world: World, server: ModelServer, site: Site, api: str
) -> None:
    (world.project / "AGENTS.md").write_text(f"Deploy with {TOKEN}.")
    chains = {"there/m-1": ["there/m-2"], "there/m-2": ["there/m-1"]}
    retry = {"baseDelayMs": 8, "requestMaxRetries": 0, "streamMaxRetries": 0, "maxRetries": 1, "fallbackChains": chains}
    (world.folder / "config" / "config.json").write_text(json.dumps({"retry": retry}))
    serve(world, api, server.url, "m-1", "m-2")
    async with inside(world.environ, "there/m-1") as client:
        life = Secretive(client, world, server, site, api, thinks=False)
        await life.open()
        order = [life.look, life.break_off, life.fall_back, life.steer, life.cancel, life.switch, life.load, life.look]
        order += [life.summarize, life.load, life.look]
        for happening in (life.talk, *order, life.talk):
            await happening()
    assert_nothing_left(world, server)
    numbers = [json.loads(line) for line in world.log_entries() if '"secret_index"' in line]
    assert [one["index"] for one in numbers] == [0, 1, 2]


async def test_a_command_with_a_secret_is_asked_about_with_its_value_and_not_remembered(
    world: World, server: ModelServer
) -> None:
    asked: list[dict[str, Any]] = []

    def decide(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return option(params["options"][0]["optionId"])(params)

    async with stage(world, server) as on:
        on.verdicts = [decide, decide]
        commands = answer(shell("touch plain.txt"), shell("touch <<$env:S0>>.txt"))
        await on.say(f"Use {TOKEN}", answers=(commands, answer(Say("Done."))))
    plain, secret = ({row["optionId"] for row in params["options"]} for params in asked)
    assert f"touch {TOKEN}.txt" in json.dumps(asked[1])
    assert plain - secret == {"always", "rule"}
    assert secret < plain
