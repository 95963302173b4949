"""The user's models.yml: what it can say, and what is said about its mistakes."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.providers.base import Done, ModelRequest, Provider, UserMessage
from north_lsp.providers.catalog.catalog import Catalog, catalog, secret_names
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.compat import compat_for
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.factory import make_provider
from north_lsp.providers.keys.credential_lookup import require_credential
from north_lsp.storage.yaml_tree import TreeError, parse
from tests.support.model_server import ModelServer
from tests.support.script import answer, say

DOCS = Path(__file__).parents[3] / "docs" / "models.md"


def load(folder: Path, text: str, name: str = "models.yml", environ: dict[str, str] | None = None) -> Catalog:
    (folder / name).write_text(text, "utf-8")
    return load_catalog(folder, environ or {})


async def answer_of(provider: Provider, id: str) -> str:
    request = ModelRequest(id, "s", [UserMessage("Q")], [], 1000)
    try:
        last = [event async for event in provider.stream(request)][-1]
    finally:
        await provider.aclose()
    assert isinstance(last, Done), last
    return last.message.text


LOCAL = """
providers:
  local:
    baseUrl: http://127.0.0.1:8000/v1
    api: openai-completions
    auth: none
    models:
      - id: qwen3
        name: Qwen 3
        reasoning: true
        contextWindow: 32768
        maxTokens: 8192
        compat: {thinkingFormat: qwen, extraBody: {top_k: 20}}
        wireModelId: qwen3:8b
modelBindings:
  modelRoles: {fast: local/qwen3, default: "qwen3:low"}
"""


def test_a_model_of_ones_own(tmp_path: Path) -> None:
    known = load(tmp_path, LOCAL)
    assert known.problems == ()
    model = known.find("qwen3")
    assert (model.selector, model.title, model.window, model.max_output) == ("local/qwen3", "Qwen 3", 32768, 8192)
    assert model.prices.known
    assert model.prices.input == 0  # it runs on this machine
    assert require_credential(model, {}) is None
    assert known.default({}).selector == "local/qwen3"
    assert known.find("fast").selector == "local/qwen3"
    assert compat_for("http://127.0.0.1:8000/v1", model.compat).extra_body == {"top_k": 20}
    assert known.find("sonnet-4").alias == "sonnet-4"


MINE = """
providers:
  mine:
    baseUrl: {address}
    api: openai-completions
    {key}
    models: [{{id: m}}]
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("models.yaml", LOCAL),
        (
            "models.jsonc",
            '{ // mine\n\t"providers": {"local": {"baseUrl": "http://127.0.0.1:8/v1", /* x */ "auth": "none",\n'
            '\t"api": "openai-completions", "models": [{"id": "qwen3"},]}}}',
        ),
    ],
)
def test_other_names(tmp_path: Path, name: str, text: str) -> None:
    known = load(tmp_path, text, name)
    assert known.problems == ()
    assert known.find("local/qwen3").id == "qwen3"


def test_defaults_of_what_is_not_said(tmp_path: Path) -> None:
    rest = "apiKeyEnv: FAR_KEY, api: openai-responses, models: [{id: m}]"
    text = f"providers: {{far: {{baseUrl: 'https://far.example/v1', {rest}}}}}"
    model = load(tmp_path, text).find("far/m")
    assert (model.window, model.max_output, model.thinking, model.images) == (128_000, 16_384, None, False)
    assert not model.prices.known


def test_a_shipped_provider_can_be_moved_and_its_models_changed(tmp_path: Path) -> None:
    text = """
providers:
  anthropic:
    baseUrl: https://proxy.example/anthropic
    headers: {X-Team: north}
    modelOverrides:
      claude-sonnet-4-20250514:
        contextWindow: 1000000
        cost: {input: 6, output: 22.5}
      no-such-model: {name: x}
"""
    known = load(tmp_path, text, environ={"ANTHROPIC_BASE_URL": "http://elsewhere"})
    model = known.find("sonnet-4")
    assert model.provider.address_in({"ANTHROPIC_BASE_URL": "http://elsewhere"}) == "https://proxy.example/anthropic"
    assert (model.window, model.prices.input, model.prices.output) == (1_000_000, 6, 22.5)
    assert model.thinking is not None
    assert "no-such-model" in known.problems[0]  # a warning: the rest is used


OAUTH = """providers:
  a:
    auth: oauth
    oauth:
      authorizeUrl: https://a.example/authorize
      tokenUrl: {token}
      clientId: north
"""


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (
            "providers:\n  a:\n    baseURL: http://x\n",
            3,
            "providers.a.baseURL: this key is unknown; the closest is baseUrl",
        ),
        (
            OAUTH.format(token="http://127.evil.example/token"),
            6,
            "providers.a.oauth.tokenUrl: expected an https address",
        ),
        (
            OAUTH.format(token="'https://a.example/#x'"),
            6,
            "providers.a.oauth.tokenUrl: expected an address without `#`",
        ),
        ("providers:\n  a:\n    baseUrl: x\n", 3, "providers.a.baseUrl: expected an address like"),
        ("providers:\n  A b: {baseUrl: 'http://x'}\n", 2, "providers.A b: a provider's id"),
        ("providers:\n  a: {}\n", 2, "providers.a: is empty"),
        ("providers:\n  a:\n    headers: [x]\n", 3, "providers.a.headers: expected an object"),
        ("providers:\n  a:\n    authHeader: yes please\n", 3, "expected true or false, found 'yes please'"),
        ("providers:\n  a:\n    api: gopher\n", 3, "expected one of anthropic-messages"),
        ("providers:\n  a:\n    api: cursor-agent\n", 3, "is not supported; register an extension provider"),
        ("providers:\n  a:\n    auth: oauth\n", 3, "oauth needs `oauth: {authorizeUrl, tokenUrl, clientId}` beside it"),
        ("providers:\n  a:\n    discovery: {type: ollama}\n", 3, "discovery requires api"),
        ("providers:\n  a:\n    models: [{id: m}]\n", 2, "models requires baseUrl"),
        (
            "providers:\n  a:\n    baseUrl: http://x\n    auth: none\n    models:\n      - id: m\n",
            6,
            "providers.a.models[0]: expected api",
        ),
        (
            "providers:\n  a:\n    baseUrl: http://x\n    api: openai-completions\n    models:\n      - id: m\n",
            2,
            "models requires apiKeyEnv, apiKey, oauth or auth: none",
        ),
        (LOCAL.replace("32768", "-1"), 11, "providers.local.models[0].contextWindow: expected a whole number above 0"),
        (LOCAL.replace("id: qwen3", "title: qwen3"), 8, "this key is unknown"),
        (LOCAL.replace("thinkingFormat: qwen", "thinkingFormat: x"), 13, "expected one of openai, openrouter"),
        (LOCAL.replace("extraBody: {top_k: 20}", "extraBody: {model: x}"), 13, "cannot be changed"),
        ("providers:\n  a: {baseUrl: 'http://x'}\n  a: {baseUrl: 'http://y'}\n", 3, "has the key 'a' twice"),
        ("providers:\n  a: [\n", 3, "expected"),
        ("a: &a [*a]\n", 1, "refers to itself"),
        ("- a\n", 1, "expected an object"),
        ("equivalence: {overrides: 3}\n", 1, "equivalence.overrides: expected an object"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, line: int, problem: str) -> None:
    known = load(tmp_path, text, environ={"ANTHROPIC_API_KEY": "k"})
    assert len(known.problems) == 1
    said = known.problems[0]
    assert "\n" not in said
    assert f"models.yml, line {line}: " in said
    assert problem in said
    assert known.models == catalog().models
    assert known.default({"ANTHROPIC_API_KEY": "k"}).alias == "sonnet-4-5"


@given(st.text(alphabet=st.sampled_from("{}[]:,-&*!|>'\"# \n\tabc01%@`")))
def test_no_text_breaks_the_reader(text: str) -> None:
    for is_json in (False, True):
        with contextlib.suppress(TreeError):
            parse(text, is_json=is_json)


def test_a_small_text_cannot_become_a_large_one() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(TreeError, match="more than"):
        parse("\n".join(lines))


@pytest.mark.parametrize(
    ("api", "path"),
    [
        ("anthropic-messages", "/v1/messages"),
        ("openai-responses", "/v1/responses"),
        ("openai-completions", "/v1/chat/completions"),
        ("ollama-chat", "/v1/chat/completions"),
    ],
)
async def test_a_configured_model_is_asked_as_the_file_says(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, api: str, path: str
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID"):
        monkeypatch.setenv(name, "not-for-others")
    base = server.url if api == "anthropic-messages" else f"{server.url}/v1"
    text = f"""
providers:
  mine:
    baseUrl: {base}
    api: {api}
    apiKeyEnv: MINE_KEY
    authHeader: true
    headers: {{X-From-Variable: MY_HEADER, X-Literal: plain}}
    requestTransform:
      profile: openai-proxy
      setHeaders: {{X-Set: "1", X-Literal: null}}
      extraBody: {{metadata: {{team: north}}}}
    models: [{{id: m, wireModelId: upstream-m}}]
"""
    environ = {"MINE_KEY": "secret-key", "MY_HEADER": "from variable"}
    known = load(tmp_path, text, environ=environ)
    assert known.problems == ()
    assert {"MINE_KEY", "MY_HEADER"} <= secret_names(known)
    server.script(answer(say("hello")))
    assert await answer_of(make_provider(known.find("mine/m"), environ), "m") == "hello"
    request = server.requests[0]
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert request.path == path
    assert request.body["model"] == "upstream-m"
    assert request.body["metadata"] == {"team": "north"}
    assert headers["authorization"] == "Bearer secret-key"
    assert headers["x-from-variable"] == "from variable"
    assert headers["x-set"] == "1"
    assert "x-literal" not in headers
    assert not [name for name in headers if name.startswith("x-stainless")]
    assert "not-for-others" not in str(headers)


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-responses", "openai-completions"])
async def test_a_server_without_a_key_is_sent_none(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-others")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-for-others")
    base = server.url if api == "anthropic-messages" else f"{server.url}/v1"
    text = f"providers: {{mine: {{baseUrl: '{base}', api: {api}, auth: none, models: [{{id: m}}]}}}}"
    server.script(answer(say("hello")))
    assert await answer_of(make_provider(load(tmp_path, text).find("mine/m"), {}), "m") == "hello"
    headers = {name.lower() for name in server.requests[0].headers}
    assert not headers & {"authorization", "x-api-key"}


@pytest.mark.parametrize(
    ("key", "environ", "secret"),
    [
        ("apiKey: MINE_KEY", {"MINE_KEY": "k1"}, "k1"),
        ("apiKey: sk-literal", {}, "sk-literal"),
        ("apiKey: '!printf from-command'", {}, "from-command"),
        ("apiKey: sk-literal\n    apiKeyEnv: MINE_KEY", {"MINE_KEY": "k1"}, "k1"),
        ("apiKey: sk-literal\n    apiKeyEnv: MINE_KEY", {}, "sk-literal"),
    ],
)
async def test_where_a_key_comes_from(
    tmp_path: Path, server: ModelServer, key: str, environ: dict[str, str], secret: str
) -> None:
    text = MINE.format(address=f"{server.url}/v1", key=key)
    server.script(answer(say("hello")))
    model = load(tmp_path, text, environ=environ).find("mine/m")
    assert await answer_of(make_provider(model, environ), "m") == "hello"
    assert {name.lower(): value for name, value in server.requests[0].headers.items()}[
        "authorization"
    ] == f"Bearer {secret}"


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("apiKeyEnv: MINE_KEY", "set MINE_KEY"),
        ("apiKey: MINE_KEY", "set MINE_KEY"),
        ("apiKey: 'smart “quotes”'", "has characters that cannot be sent"),
        ("apiKey: '!exit 3'", "the command in models.yml: providers.mine.apiKey printed no key (exit code 3)"),
    ],
)
def test_a_key_that_is_missing(tmp_path: Path, key: str, said: str) -> None:
    text = MINE.format(address="http://x/v1", key=key)
    with pytest.raises(MissingCredential, match=re.escape(said)):
        make_provider(load(tmp_path, text).find("mine/m"), {})


def test_a_key_command_that_cannot_be_started_is_not_called_slow(tmp_path: Path) -> None:
    model = load(tmp_path, MINE.format(address="http://x/v1", key="apiKey: '!echo key'")).find("mine/m")
    with pytest.raises(MissingCredential, match="could not be started: Argument list too long"):
        make_provider(model, {"LONG": "x" * 5_000_000})


def test_the_same_model_at_several_providers(tmp_path: Path) -> None:
    text = """
providers:
  one:
    {baseUrl: "https://one/v1", api: openai-completions, apiKeyEnv: ONE_KEY, models: [{id: meta/llama-4.1}, {id: mine}]}
  two:
    {baseUrl: "https://two/v1", api: openai-completions, apiKeyEnv: TWO_KEY, models: [{id: llama-4-1}, {id: yours}]}
equivalence:
  overrides: {one/mine: ours, two/yours: ours}
"""
    assert load(tmp_path, text, environ={"TWO_KEY": "k"}).find("llama-4").selector == "two/llama-4-1"
    assert load(tmp_path, text, environ={"ONE_KEY": "k"}).find("llama-4").selector == "one/meta/llama-4.1"
    assert load(tmp_path, text, environ={"TWO_KEY": "k"}).find("ours").selector == "two/yours"


def test_thinking_of_a_configured_model(tmp_path: Path) -> None:
    text = LOCAL.replace("reasoning: true", "thinking: {mode: budget, budget: 2000, maxLevel: medium, minLevel: off}")
    model = load(tmp_path, text).find("local/qwen3:xhigh")
    assert model.thinking is not None
    assert model.thinking.levels == ("off", "minimal", "low", "medium")
    assert model.reasoning.budget == 2000


def _examples() -> list[Any]:
    texts = re.findall(r"```yaml\n(.*?)```", DOCS.read_text("utf-8"), re.S)
    return [pytest.param(text, id=str(index)) for index, text in enumerate(texts)]


@pytest.mark.parametrize("text", _examples())
def test_the_examples_of_the_documentation(tmp_path: Path, text: str) -> None:
    environ = dict.fromkeys(re.findall(r"apiKeyEnv: (\w+)", text), "k")
    known = load(tmp_path, text, environ=environ | {"OPENROUTER_API_KEY": "k"})
    assert known.problems == ()
    for selector in re.findall(r"# north-lsp demo --model (\S+)", text):
        model = known.find(selector)
        assert known.is_available(model) == (model.provider.sign_in is None)  # to which nobody has signed in yet


async def test_what_bedrock_serves_in_openais_format_is_asked_with_its_key(tmp_path: Path, server: ModelServer) -> None:
    (example,) = re.findall(r"```yaml\n(.*?bedrock-us.*?)```", DOCS.read_text("utf-8").partition("## Amazon")[2], re.S)
    text = example.replace("https://bedrock-runtime.us-west-2.amazonaws.com", server.url)
    environ = {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-key"}
    model = load(tmp_path, text, environ=environ).find("bedrock-us/openai.gpt-oss-120b-1:0")
    server.script(answer(say("It is lit.")))
    assert await answer_of(make_provider(model, environ), model.id) == "It is lit."
    (asked,) = server.requests
    assert asked.path == "/openai/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer bedrock-key"
    assert asked.body["model"] == "openai.gpt-oss-120b-1:0"


def test_there_are_examples() -> None:
    assert len(_examples()) >= 5


def test_patches_are_offered_to_models_that_want_them(tmp_path: Path) -> None:
    text = "providers: {anthropic: {modelOverrides: {claude-haiku-4-5-20251001: {compat: {editPatch: true}}}}}"
    known = load(tmp_path, text)
    wanting = {alias for alias in ("haiku-4-5", "sonnet-4-5", "gpt-5.1") if known.find(alias).wants_patches}
    assert wanting == {"haiku-4-5", "gpt-5.1"}


@pytest.mark.parametrize(
    ("provider", "id", "price"),
    [
        ("anthropic", "claude-sonnet-4-5-20260115", 3.0),
        ("anthropic", "claude-opus-4-1-latest", 15.0),
        ("anthropic", "claude-opus-4-20260115", 15.0),
        ("anthropic", "claude-opus-9-20260115", None),
        ("openai", "gpt-5-mini-2026-01-15", 0.25),
        ("openai", "gpt-5-large", None),
        ("mine", "claude-sonnet-4-5-20260115", None),
    ],
)
def test_another_days_version_of_a_model_costs_the_same_at_its_maker(
    tmp_path: Path, provider: str, id: str, price: float | None
) -> None:
    address = next((one.address for one in catalog().providers if one.id == provider), "https://x.example/v1")
    row = f"baseUrl: '{address}', api: openai-completions, apiKeyEnv: X_KEY, "
    (tmp_path / "models.yml").write_text(f"providers: {{{provider}: {{{row}models: [{{id: {id}}}]}}}}")
    known = load_catalog(tmp_path, {})
    assert known.problems == ()
    prices = known.find(f"{provider}/{id}").prices
    assert (prices.input if prices.known else None) == price
