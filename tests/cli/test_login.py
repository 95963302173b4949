"""Keys and providers from the terminal: nothing is shown that is secret, nothing is written that was not seen."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from north_lsp.cli.login import login, logout, setup_provider, stored_as_json
from north_lsp.cli.reports import models
from north_lsp.providers.catalog.models_file import read_models_file
from north_lsp.providers.catalog.presets import presets
from north_lsp.server.options import Options, UsageError
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from tests.support.model_server import ModelServer

SECRET = "sk-test-0123456789abcdef"


class Terminal:
    """A user's answers, and what was shown."""

    def __init__(self, *answers: str) -> None:
        self._answers: Iterator[str] = iter(answers)
        self.text = ""

    def ask(self, question: str) -> str:
        self.text += question
        return next(self._answers)

    def say(self, text: str) -> None:
        self.text += text + "\n"


@pytest.fixture
def options(tmp_path: Path) -> Options:
    folders = {f"NORTH_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    return Options(folders | {"NORTH_DISCOVERY": "off"})


def stored(options: Options) -> list[str]:
    return [key.provider for key in CredentialStore(Locations.from_environment(options.environ)).all_keys()]


def at(options: Options, **environ: str) -> Options:
    return Options({**options.environ, **environ})


def test_a_key_is_tried_out_and_stored(options: Options, server: ModelServer) -> None:
    server.pages = {"/v1/models?limit=1": {"data": []}}
    terminal = Terminal("1")
    here = at(options, ANTHROPIC_BASE_URL=server.url)
    assert login(here, None, terminal.ask, lambda _: f" {SECRET}\n", terminal.say) == 0
    assert stored(options) == ["anthropic"]
    assert "  1  Anthropic (anthropic)" in terminal.text
    assert "…cdef" in terminal.text
    assert SECRET not in terminal.text


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_a_key_that_does_not_work_is_stored_only_if_the_user_insists(options: Options, answer: str, code: int) -> None:
    here = at(options, OPENAI_BASE_URL="http://127.0.0.1:1/v1")
    terminal = Terminal(answer)
    assert login(here, "openai", terminal.ask, lambda _: SECRET, terminal.say) == code
    assert "OpenAI could not be asked whether it accepts this key" in terminal.text
    assert stored(options) == (["openai"] if code == 0 else [])


def test_what_is_no_key_or_no_provider(options: Options) -> None:
    terminal = Terminal("n")
    assert login(options, "openai", terminal.ask, lambda _: "two words", terminal.say) == 1
    assert "not a valid API key" in terminal.text
    assert login(options, "openai", terminal.ask, lambda _: "", terminal.say) == 1
    with pytest.raises(UsageError, match=r"unknown provider 'opena1'; did you mean openai\?"):
        login(options, "opena1", terminal.ask, lambda _: SECRET, terminal.say)
    assert stored(options) == []


def test_forgetting_keys(options: Options) -> None:
    store = CredentialStore(Locations.from_environment(options.environ))
    terminal = Terminal("2", "all")
    assert logout(options, None, terminal.ask, terminal.say) == 0
    for provider in ("anthropic", "openai", "groq"):
        store.add(provider, f"{provider}-{SECRET}", f"{provider} at work")
    assert logout(options, "groq", terminal.ask, terminal.say) == 0
    assert logout(options, "groq", terminal.ask, terminal.say) == 0  # there is nothing to do
    assert logout(options, None, terminal.ask, terminal.say) == 0  # 1 is openai, the newest
    assert stored(options) == ["openai"]
    assert "2  anthropic  anthropic at work  …cdef" in terminal.text
    assert logout(options, None, terminal.ask, terminal.say) == 0
    assert stored(options) == []
    assert SECRET not in terminal.text


def test_what_is_stored_as_json_removes_nothing_and_shows_no_key(options: Options) -> None:
    store = CredentialStore(Locations.from_environment(options.environ))
    terminal = Terminal()
    stored_as_json(options, None, terminal.say)
    assert json.loads(terminal.text) == []
    store.add("groq", SECRET, "groq at work")
    store.keep_sign_in("company", "company", SECRET)
    terminal = Terminal()
    stored_as_json(options, None, terminal.say)
    key, sign_in = json.loads(terminal.text)
    assert (key["provider"], key["label"], key["ending"]) == ("groq", "groq at work", "…cdef")
    assert key.keys() == {"provider", "kind", "label", "ending", "createdAt", "lastUsedAt"}
    assert sign_in == {"provider": "company", "kind": "sign-in"}
    assert SECRET not in terminal.text
    terminal = Terminal()
    stored_as_json(options, "company", terminal.say)
    assert json.loads(terminal.text) == [sign_in]
    assert (stored(options), list(store.sign_ins())) == (["groq"], ["company"])


def test_a_sign_in_is_listed_and_ended_beside_keys(options: Options) -> None:
    store = CredentialStore(Locations.from_environment(options.environ))
    store.add("groq", SECRET)
    for provider in ("groq", "company"):
        store.keep_sign_in(provider, provider, SECRET)
    terminal = Terminal("2")
    assert logout(options, None, terminal.ask, terminal.say) == 0
    assert "2  groq  signed in\n3  company  signed in\n" in terminal.text
    assert (stored(options), list(store.sign_ins())) == (["groq"], ["company"])
    assert logout(options, "company", terminal.ask, terminal.say) == 0
    assert "Removed your sign-in of company." in terminal.text
    assert (stored(options), store.sign_ins()) == (["groq"], {})


@pytest.mark.parametrize("preset", [preset.name for preset in presets()])
@pytest.mark.parametrize(
    "before",
    [
        "",
        "# mine\nproviders:\n    other: {baseUrl: 'http://h/v1'}\n",
        "modelBindings:\n  modelRoles: {fast: haiku-4-5}",
    ],
)
def test_a_preset_is_added_to_what_is_there(options: Options, preset: str, before: str) -> None:
    path = Path(options.environ["NORTH_CONFIG_DIR"]) / "models.yml"
    if before:
        path.parent.mkdir(parents=True)
        path.write_text(before)
    terminal = Terminal(*(["http://127.0.0.1:9/v1"] if preset == "local" else []), "y")
    assert setup_provider(options, preset, None, None, False, terminal.ask, terminal.say) == 0
    after = path.read_text()
    assert all(line in after.split("\n") for line in before.split("\n"))
    ids = [entry.id for entry in read_models_file(path).providers]
    assert len(ids) == 1 + ("other" in before)
    assert options.load_catalog().problems == ()
    assert "Write this?" in terminal.text
    assert "+" in terminal.text
    assert "KEY: " not in terminal.text  # it names variables, no keys


def test_a_provider_that_is_there_is_kept_replaced_or_added_under_another_name(options: Options) -> None:
    path = Path(options.environ["NORTH_CONFIG_DIR"]) / "models.yml"
    path.parent.mkdir(parents=True)
    before = "providers:\n  glm-proxy:\n    baseUrl: http://old/v1\n\n  other:\n    headers: {X-A: b}\n"
    path.write_text(before)

    def setup(*answers: str) -> int:
        terminal = Terminal(*answers)
        return setup_provider(options, "zai", None, None, False, terminal.ask, terminal.say)

    assert setup("k") == 0
    assert setup("r", "n") == 1
    assert path.read_text() == before
    assert setup("glm-two", "y") == 0
    assert [entry.id for entry in read_models_file(path).providers] == ["glm-two", "glm-proxy", "other"]
    assert setup("replace", "y") == 0
    assert "http://old/v1" not in path.read_text()
    assert [entry.id for entry in read_models_file(path).providers] == ["glm-two", "glm-proxy", "other"]
    with pytest.raises(UsageError, match="choose another name with --id"):
        setup_provider(options, "glm", None, None, True, Terminal().ask, print)


def test_what_cannot_be_set_up(options: Options) -> None:
    path = Path(options.environ["NORTH_CONFIG_DIR"]) / "models.yml"
    path.parent.mkdir(parents=True)
    nobody = Terminal()
    with pytest.raises(UsageError, match="there is no preset 'x'; there are minimax, minimax-cn, glm or zai or z-ai"):
        setup_provider(options, "x", None, None, True, nobody.ask, nobody.say)
    with pytest.raises(UsageError, match="'here' is not an address"):
        setup_provider(options, "local", None, "here", True, nobody.ask, nobody.say)
    for bad in ("providers: {a: {baseUrl: 'http://h/v1'}}\n", "providers:\n  a: {bad: 1}\n"):
        path.write_text(bad)
        with pytest.raises(UsageError, match="fix it first"):
            setup_provider(options, "glm", None, None, True, nobody.ask, nobody.say)
        assert path.read_text() == bad


def test_the_common_providers_are_listed_first(options: Options) -> None:
    terminal = Terminal("")
    with pytest.raises(UsageError, match="unknown provider ''"):
        login(options, None, terminal.ask, lambda _: SECRET, terminal.say)
    first = [line.rpartition("(")[2].rstrip(")") for line in terminal.text.splitlines()[:4]]
    assert first == ["anthropic", "openai", "google", "openrouter"]


def test_without_a_preset_they_are_listed_and_one_is_chosen(options: Options) -> None:
    for typed in ("3", "glm"):
        terminal = Terminal(typed, "n")
        assert setup_provider(options, None, None, None, False, terminal.ask, terminal.say) == 1
        assert "  3  glm          https://api.z.ai/" in terminal.text
        assert "+  glm-proxy:" in terminal.text
    assert "local        a server of your own" in terminal.text
    with pytest.raises(UsageError, match="setup --yes needs --preset: minimax, "):
        setup_provider(options, None, None, None, True, terminal.ask, terminal.say)


def test_a_local_preset_says_that_it_needs_an_address(options: Options) -> None:
    nobody = Terminal()
    with pytest.raises(UsageError, match="the preset local needs --address URL, for example"):
        setup_provider(options, "local", None, None, True, nobody.ask, nobody.say)


def test_the_list_of_models(options: Options) -> None:
    shown = models(options, "", available=True, as_json=False)[0].splitlines()
    assert [line.split()[0] for line in shown] == ["model", "offline/offline"]
    keyed = at(options, OPENAI_API_KEY="k")
    rows = json.loads(models(keyed, "5.1-CODEX", available=False, as_json=True)[0])
    assert [row["alias"] for row in rows] == ["gpt-5.1-codex", "gpt-5.1-codex-mini", "gpt-5.1-codex-max"]
    assert rows[0]["available"]
    assert rows[0]["cost"] == {"input": 1.25, "output": 10.0, "cacheRead": 0.125, "cacheWrite": 1.25}
    assert "xhigh" in rows[2]["thinking"]
    assert (
        "needs a key (ANTHROPIC_OAUTH_TOKEN or ANTHROPIC_API_KEY)"
        in models(keyed, "haiku", available=False, as_json=False)[0]
    )
    assert models(keyed, "haiku", available=True, as_json=False)[0] == "No model name contains 'haiku'."
