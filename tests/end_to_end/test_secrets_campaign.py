"""Two hundred secrets of forty kinds, in prompts, attached and read files, outputs, variables and rules, and as many
from the web, MCP servers and agents: none is in a request to any vendor, in a log or in an export."""

import base64
import html
import json
import random
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage.masking import PLACEHOLDER
from tests.end_to_end.test_faults import APIS, configure, each_api, opened, prompt, serve
from tests.end_to_end.test_mcp import stdio
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call
from tests.support.web_site import Page, Site

LETTERS, HEX = string.ascii_letters + string.digits, "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits

Draw = Callable[[str, int], str]

BY_FORM: dict[str, Callable[[Draw], str]] = {
    "anthropic": lambda draw: "sk-ant-api03-" + draw(LETTERS, 40) + "7",
    "openai": lambda draw: "sk-proj-" + draw(LETTERS, 40) + "7",
    "google": lambda draw: "AIza" + draw(LETTERS, 35),
    "google client": lambda draw: "GOCSPX-" + draw(LETTERS, 28),
    "groq": lambda draw: "gsk_" + draw(LETTERS, 40),
    "xai": lambda draw: "xai-" + draw(LETTERS, 60),
    "perplexity": lambda draw: "pplx-" + draw(LETTERS, 40),
    "digitalocean": lambda draw: "dop_v1_" + draw(HEX, 64),
    "stripe": lambda draw: "sk_live_" + draw(LETTERS, 24),
    "github": lambda draw: "ghp_" + draw(LETTERS, 36),
    "github fine": lambda draw: "github_pat_" + draw(LETTERS, 60),
    "gitlab": lambda draw: "glpat-" + draw(LETTERS, 20),
    "atlassian": lambda draw: "ATATT3" + draw(LETTERS, 60),
    "aws": lambda draw: "AKIA" + draw(UPPER, 16),
    "slack": lambda draw: "xoxb-" + draw(string.digits, 12) + "-" + draw(LETTERS, 24),
    "slack hook": lambda draw: "T" + draw(UPPER, 8) + "/B" + draw(UPPER, 8) + "/" + draw(LETTERS, 24),
    "npm": lambda draw: "npm_" + draw(LETTERS, 36),
    "pypi": lambda draw: "pypi-" + draw(LETTERS, 60),
    "huggingface": lambda draw: "hf_" + draw(LETTERS, 34),
    "sendgrid": lambda draw: "SG." + draw(LETTERS, 22) + "." + draw(LETTERS, 43),
    "mailgun": lambda draw: "key-" + draw(HEX, 32),
    "twilio": lambda draw: "SK" + draw(HEX, 32),
    "shopify": lambda draw: "shpat_" + draw(HEX, 32),
    "databricks": lambda draw: "dapi" + draw(HEX, 32),
    "vault": lambda draw: "hvs." + draw(LETTERS, 30),
    "grafana": lambda draw: "glsa_" + draw(LETTERS, 40),
    "figma": lambda draw: "figd_" + draw(LETTERS, 40),
    "telegram": lambda draw: draw("123456789", 9) + ":AA" + draw(LETTERS, 33),
    "json web token": lambda draw: ".".join(["ey" + draw(LETTERS, 20), "ey" + draw(LETTERS, 40), draw(LETTERS, 43)]),
    "private key": lambda draw: "\n".join(draw(LETTERS, 64) for _ in range(3)),
    "address": lambda draw: "app:" + draw(LETTERS, 14),
}
AROUND = {
    "slack hook": "https://hooks.slack.com/services/{}",
    "private key": "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
    "address": "postgres://{}@db.example.com/app",
}
BY_NAME: dict[str, Callable[[Draw], str]] = {
    "hexadecimal": lambda draw: draw(HEX, 32),
    "letters": lambda draw: draw(string.ascii_lowercase, 12),
    "digits": lambda draw: draw("123456789", 10),
    "base64": lambda draw: base64.b64encode(draw(LETTERS, 30).encode()).decode(),
    "words": lambda draw: " ".join(draw(string.ascii_lowercase, 6) for _ in range(4)),
    "signs": lambda draw: draw("!%&()*+,-./:;<=>?@[]^_{|}~", 12) + draw(LETTERS, 4),
    "quotes": lambda draw: draw(LETTERS, 6) + '"' + draw(LETTERS, 6),
    "umlauts": lambda draw: draw("äöüßéèñçøå", 8) + draw(LETTERS, 4),
    "least": lambda draw: draw(LETTERS, 8),
}
ENDINGS = ("_KEY", "_SECRET", "_TOKEN", "_PASSWORD", "_PASS", "_CREDENTIALS", "_API_KEY_2")
EACH = 5


def planted(seed: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Those that are found by their form, each with what stands around it, and those of variables, with their names."""
    source = random.Random(seed)

    def draw(signs: str, count: int) -> str:
        return "".join(source.choice(signs) for _ in range(count))

    forms = [(make(draw), AROUND.get(kind, "{}")) for kind, make in BY_FORM.items() for _ in range(EACH)]
    variables = [
        (make(draw), f"V{number}{source.choice(ENDINGS)}")
        for number, make in enumerate(make for make in BY_NAME.values() for _ in range(EACH))
    ]
    source.shuffle(forms)
    return [(secret, around.format(secret)) for secret, around in forms], variables


def parts_of(secret: str) -> list[str]:
    """What must not be found of it: of several lines, each."""
    return secret.split("\n")


def texts_in(value: Any) -> list[str]:
    if isinstance(value, str):
        try:
            inner = json.loads(value) if value[:1] in ("{", "[") else None
        except ValueError:
            inner = None
        return [value, *(texts_in(inner) if inner is not None else [])]
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts_in(one)]
    return [text for one in value for text in texts_in(one)] if isinstance(value, list) else []


async def attach(client: RawAcpClient, session: str, text: str, path: Path) -> None:
    link = {"type": "resource_link", "uri": path.as_uri(), "name": path.name}
    await client.request("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}, link]})


async def agree(params: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}}


@each_api
async def test_no_secret_is_in_a_request_a_log_or_an_export(
    world: World, server: ModelServer, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms, variables = planted(list(APIS).index(api))
    assert len(forms) + len(variables) == 200
    assert len(BY_FORM) + len(BY_NAME) == 40
    of_process, of_file = variables[::2], variables[1::2]
    for secret, name in of_process:
        monkeypatch.setenv(name, secret)
    quoted = "".join(f"{name}='{secret}'\n" for secret, name in of_file)
    (world.project / ".env").write_text(quoted)
    shown = [*(around for _, around in forms), *(f"value = {secret}" for secret, _ in variables)]
    random.Random(1).shuffle(shown)
    prompts, files, outputs, rules, attached = (shown[start::5] for start in range(5))
    (world.project / "AGENTS.md").write_text("Rules\n\n" + "\n".join(rules))
    (world.project / "read.txt").write_text("\n".join(files))
    (world.project / "output.txt").write_text("\n".join(outputs))
    (world.project / "attached.txt").write_text("\n".join(attached[:20]))
    (world.project / "more.txt").write_text("\n".join(attached[20:]))
    serve(world, api, server.url, "m-1")
    configure(world, **{"log.level": "debug"})
    read = [call("read_file", path=name) for name in ("read.txt", "attached.txt", "more.txt", "output.txt")]
    server.script(
        answer(Say("I see.")),
        answer(*read, call("shell_run", command="cat output.txt .env")),
        answer(call("search_text", query="value = ", path="."), call("shell_run", command="echo '<<$env:S3>>'")),
        answer(Say("All of <<$env:S1>> and <<$env:S2>>, too.", 9)),
    )
    async with inside(world.environ, "there/m-1") as client:
        client.handlers["session/request_permission"] = agree
        session = await opened(client, world)
        await attach(client, session, "\n".join(prompts), world.project / "attached.txt")
        await prompt(client, session, "Look at the files")
        await export(client, world, session)
    assert any("shell_run_start_text" in line for line in log_lines(world))
    logs = everything_in(world)
    assert found_in(world, server, [*forms, *variables]) == []
    assert "echo '<<$env:S3>>'" in logs
    assert len(set(PLACEHOLDER.findall(bodies_of(server)))) >= 200


def bodies_of(server: ModelServer) -> str:
    return "\n".join(text for request in server.requests for text in texts_in(request.body))


def log_lines(world: World) -> list[str]:
    """The lines of the conversations' logs, those of agents, and of North's own."""
    paths = (*world.data.rglob("conversations/**/*.jsonl"), *(world.folder / "state").glob("north.log*"))
    return [line for path in paths for line in path.read_text("utf-8").splitlines()]


def everything_in(world: World) -> str:
    lines = log_lines(world)
    kept = [path.read_bytes().decode("utf-8", "replace") for path in world.data.glob("*.db")]
    kept += [
        path.read_bytes().decode("utf-8", "replace") for path in world.data.rglob("artifacts/**/*") if path.is_file()
    ]
    return "\n".join([*lines, *(text for line in lines for text in texts_in(json.loads(line))), *kept])


async def export(client: RawAcpClient, world: World, session: str) -> None:
    for ending in ("html", "md", "txt", "json"):
        path = str(world.folder / f"export.{ending}")
        await client.request("_north/sessions/export", {"sessionId": session, "path": path})


def found_in(world: World, server: ModelServer, secrets: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The secrets that are somewhere, each with where."""
    written = [(world.folder / f"export.{ending}").read_text() for ending in ("html", "md", "txt", "json")]
    exports = "\n".join([*written, html.unescape(written[0]), *texts_in(json.loads(written[3]))])
    places = (("request", bodies_of(server)), ("log", everything_in(world)), ("export", exports))
    return [
        (place, part) for secret, _ in secrets for part in parts_of(secret) for place, text in places if part in text
    ]


@pytest.mark.usefixtures("without_proxies")
async def test_nor_is_one_that_comes_from_elsewhere(
    world: World, server: ModelServer, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From pages of the web, tools of other programs and what they say of themselves, rules that watch an answer,
    agents and their results, a summary, and a conversation that a handoff begins."""
    forms, variables = planted(4)
    assert len(forms) + len(variables) == 200
    for secret, name in variables:
        monkeypatch.setenv(name, secret)
    shown = [*(around for _, around in forms), *(f"value = {secret}" for secret, _ in variables)]
    random.Random(2).shuffle(shown)
    page, said, described, ruled, looked_at = ("\n".join(shown[start::5]) for start in range(5))
    site.pages["/page"] = Page(page, "text/plain")
    (world.folder / "said.txt").write_text(said)
    (world.folder / "described.txt").write_text(described)
    (world.project / "looked-at.txt").write_text(looked_at)
    rules = world.project / ".north" / "rules"
    rules.mkdir(parents=True)
    (rules / "never.md").write_text(f"---\ncondition: 'forbidden word'\nscope: text\n---\n{ruled}")
    configure(world, **{"log.level": "debug", "sessions.autoTitle": False})
    task = {"agent": "task", "prompt": "Use <<$env:S0>> on looked-at.txt", "id": "look"}
    server.script(
        answer(call("web_fetch", url=f"{site.url}/page")),
        answer(call("mcp_test_says"), call("mcp_test_look", text="<<$env:S2>>")),
        answer(Say("The forbidden word <<$env:S5>>")),
        answer(call("task", tasks=[task])),
        answer(call("read_file", path="looked-at.txt", startLine=1, endLine=200)),
        answer(call("shell_run", command="cat looked-at.txt")),
        answer(call("submit_result", result="It has <<$env:S7>> and <<$env:S9>>.", summary="<<$env:S8>>")),
        answer(Say("All of it, and <<$env:S1>>.", 9)),
        answer(Say('{"goal": "Keep <<$env:S3>>", "progress": "<<$env:S4>>", "shortSummary": "<<$env:S6>>"}')),
        answer(Say("Still here.")),
        answer(Say("## Goal\nGo on with <<$env:S3>>.")),
        answer(Say("Here we are.")),
    )
    modes = (f"says={world.folder / 'said.txt'}", f"lie={world.folder / 'described.txt'}")
    async with inside(world.environ) as client:
        client.handlers["session/request_permission"] = agree
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": [stdio(*modes)]})
        session = str(made["sessionId"])
        assert await prompt(client, session, "Look everywhere") == "end_turn"
        assert await prompt(client, session, "/summarize --keep-last 1") == "end_turn"
        assert await prompt(client, session, "And now?") == "end_turn"
        assert await prompt(client, session, "/handoff") == "end_turn"
        await export(client, world, session)
    asked = bodies_of(server)
    for words in ("Says the text again", "system-interrupt", "You are the agent `task`", "<conversation>"):
        assert words in asked, words
    assert found_in(world, server, [*forms, *variables]) == []
    assert len(set(PLACEHOLDER.findall(asked))) >= 200
