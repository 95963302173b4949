"""A key broker: what it gives is used in its place, renewed in time, never stored; what is wrong with it is said."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from north_lsp.providers.catalog.catalog import secret_names
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.credentials import KeySource
from north_lsp.providers.keys.broker import Broker, broker_of
from north_lsp.providers.keys.credential_lookup import credential_source, find_key
from north_lsp.providers.keys.sources import Keys
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from north_lsp.storage.model_settings import ModelSettings

TOKEN = KeySource("tkn-0123456789", "auth.broker.token")


class Company(ThreadingHTTPServer):
    """A broker on loopback: `rows` is what it gives, `renewed` what it answers to a refresh."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rows: list[dict[str, Any]] = []
        self.renewed: dict[str, Any] = {}
        self.status = 200
        self.asked: list[tuple[str, str, str | None]] = []
        self.text: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Company

    def _answer(self, body: object) -> None:
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization")))
        data = (self.server.text or json.dumps(body)).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self._answer({"credentials": self.server.rows})

    def do_POST(self) -> None:
        self._answer(self.server.renewed)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def company() -> Iterator[Company]:
    server = Company()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def secret(keys: Keys, tmp_path: Path, environ: dict[str, str], name: str = "sonnet-4-5") -> str | None:
    found = find_key(load_catalog(tmp_path, environ).find(name).provider, environ, keys)
    return found.secret if found is not None else None


def test_its_keys_stand_between_those_of_models_yml_and_all_others(tmp_path: Path, company: Company) -> None:
    company.rows = [{"id": "1", "provider": "anthropic", "secret": "lent"}, {"provider": "openai"}]
    store = CredentialStore(Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state"))
    store.add("anthropic", "stored-0123456789")
    store.add("openai", "stored-9876543210")
    keys = Keys(store, Broker(company.url, TOKEN, {}))
    assert keys.is_stale
    assert keys.refresh()
    assert not keys.is_stale
    environ = {"ANTHROPIC_API_KEY": "variable"}
    assert secret(keys, tmp_path, environ) == "lent"
    info = load_catalog(tmp_path, {}).find("sonnet-4-5").provider
    assert credential_source(info, environ, keys) == f"the key broker {company.url}"
    assert secret(keys, tmp_path, {}, "gpt-5.1") == "stored-9876543210"
    (tmp_path / "models.yml").write_text("providers: {anthropic: {apiKey: written, headers: {X-A: b}}}")
    assert secret(keys, tmp_path, environ) == "written"
    keys.give("anthropic", "given")
    assert secret(keys, tmp_path, environ) == "given"
    assert company.asked == [("GET", "/v1/credentials", "Bearer tkn-0123456789")]
    assert b"lent" not in store.path.read_bytes()


def test_a_key_is_renewed_before_it_ends_and_not_used_afterwards(company: Company) -> None:
    clock = Clock()
    row = {"id": "a/1", "provider": "anthropic", "secret": "old", "expires_at": clock.now + 200}
    company.rows, company.renewed = [row], row | {"secret": "new", "expires_at": clock.now + 4000}
    broker = Broker(company.url, TOKEN, {}, clock)
    assert broker.refresh()
    assert not broker.is_stale
    clock.now += 150
    assert broker.is_stale
    assert broker.refresh()
    found = broker.find("anthropic")
    assert found is not None
    assert found.secret == "new"
    assert company.asked[-1][:2] == ("POST", "/v1/credential/a%2F1/refresh")
    company.status = 500
    clock.now += 3000
    assert not broker.refresh()
    assert broker.find("anthropic") == found
    clock.now += 2000
    assert broker.find("anthropic") is None


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        (401, None, "it refused the token (401): check auth.broker.token"),
        (503, None, "it answered with status 503"),
        (200, "[1]", "its answer has no list of credentials"),
        (200, "<h1>", "Expecting value"),
        (302, None, "it answered with status 302"),
    ],
)
def test_what_is_wrong_with_it_is_said(company: Company, status: int, text: str | None, said: str) -> None:
    company.status, company.text = status, text
    clock = Clock()
    keys = Keys(broker=Broker(company.url, TOKEN, {}, clock))
    assert not keys.refresh()
    assert keys.problem is not None
    assert keys.problem.startswith(f"the key broker {company.url} cannot be asked for keys: {said}")
    assert not keys.is_stale  # not at every prompt
    company.status, company.text = 200, None
    clock.now += 11
    assert keys.is_stale
    keys.refresh()
    assert keys.problem is None


@pytest.mark.parametrize(
    "row",
    [
        '{"id": "1", "provider": "openai", "secret": "k", "expires_at": 1' + "0" * 400 + "}",
        '{"id": 1, "provider": "openai", "secret": "k", "expires_at": true}',
    ],
)
def test_odd_rows_are_used_as_far_as_they_go(company: Company, row: str) -> None:
    company.text = f'{{"credentials": [{row}]}}'
    broker = Broker(company.url, None, {})
    assert broker.refresh()
    assert broker.find("openai") is not None


def test_one_key_that_cannot_be_renewed_takes_no_other_away(company: Company) -> None:
    clock = Clock()
    soon = {"expires_at": clock.now + 30}
    company.rows = [
        {"id": "1", "provider": "anthropic", "secret": "first", **soon},
        {"id": "2", "provider": "openai", "secret": "second"},
    ]
    company.renewed = {"id": "1", "provider": "openai", "secret": "of another vendor"}
    broker = Broker(company.url, TOKEN, {}, clock)
    for renewed in (company.renewed, {"error": "gone"}, [1]):
        company.renewed = renewed  # type: ignore[assignment]  # what a broker may answer
        broker.refresh()
        found = [broker.find(name) for name in ("anthropic", "openai")]
        assert [one.secret for one in found if one is not None] == ["first", "second"]


@pytest.mark.parametrize(
    ("text", "said"), [("[" * 200_000, "cannot be read"), ("x" * 2_000_000, "took too long, or is too large")]
)
def test_answers_without_end_are_refused(company: Company, text: str, said: str) -> None:
    company.text = text
    broker = Broker(company.url, TOKEN, {})
    assert not broker.refresh()
    assert said in (broker.problem or "")


def test_nothing_secret_is_said(company: Company) -> None:
    keys = Keys(broker=Broker(company.url, KeySource("line1\nline2", "auth.broker.token"), {}))
    keys.refresh()
    assert keys.problem is not None
    assert keys.problem.endswith("auth.broker.token has characters that cannot be sent: check it")
    assert not company.asked
    broker = Broker("https://user:word@127.0.0.1:1", TOKEN, {})
    broker.refresh()
    assert "word" not in (broker.problem or "")
    assert broker.problem is not None
    bad = Broker("http://127.0.0.1:1/\x07", TOKEN, {})
    assert not bad.refresh()


def test_its_variable_is_withheld_from_commands(tmp_path: Path) -> None:
    known = load_catalog(tmp_path, {})
    known.keys = Keys(broker=Broker("https://keys.example.com", KeySource("CORP_LOGIN", "auth.broker.token"), {}))
    assert "CORP_LOGIN" in secret_names(known)


def test_what_is_no_broker(company: Company) -> None:
    url = company.url
    company.shutdown()
    company.server_close()
    for address, token, said in (
        (url, TOKEN, "refused"),
        ("http://keys.example.com", TOKEN, "use https"),
        ("keys", TOKEN, "must be an address"),
        (url, KeySource("NO_SUCH_TOKEN", "auth.broker.token"), "NO_SUCH_TOKEN, which auth.broker.token names"),
    ):
        broker = Broker(address, token, {})
        assert not broker.refresh()
        assert said in (broker.problem or "")


def test_the_environment_names_one_before_the_settings(company: Company) -> None:
    settings = ModelSettings(broker_url="http://127.0.0.1:9", broker_token="set")
    assert broker_of(ModelSettings(), {}) is None
    named = {"NORTH_AUTH_BROKER_URL": f"{company.url}/", "NORTH_AUTH_BROKER_TOKEN": "environment"}
    broker = broker_of(settings, named)
    assert broker is not None
    broker.refresh()
    assert company.asked == [("GET", "/v1/credentials", "Bearer environment")]
