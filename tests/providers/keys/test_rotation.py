"""Several stored keys of one provider: which one is asked with, and what becomes of one that is limited or refused."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from north_lsp.providers.base import Done, Failed, ModelRequest, Provider, StreamEvent, Told, UserMessage
from north_lsp.providers.catalog.catalog import catalog
from north_lsp.providers.factory import make_provider
from north_lsp.providers.keys.credential_lookup import credential_source
from north_lsp.providers.keys.sources import Keys
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Cut, Fail, Say, StreamError, answer, fail, say

KEYS = [f"sk-test-{number}-0123456789-{number * 1111}" for number in (1, 2, 3)]
LIMITED = answer(Fail(429, "rate_limit_error", "slow down", {"retry-after": "600"}))
REFUSED = answer(fail(401, "authentication_error", "invalid x-api-key"))
NO_CREDIT = answer(fail(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."))
NOW = 1_000_000.0


class Keyring:
    """Three stored keys, the provider that is asked with them, and a clock."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.now = NOW
        self.server = server
        self.store = CredentialStore(Locations(folder / "config", folder / "data", folder / "state"))
        for secret in KEYS:
            self.store.add("anthropic", secret)
        self.environ = {"ANTHROPIC_BASE_URL": server.url}
        self.keys = self.read()
        self.provider = self.made()

    def read(self) -> Keys:
        """The keys as another process reads them."""
        keys = Keys(self.store)
        keys.refresh()
        keys.resting.now = lambda: self.now
        return keys

    def made(self) -> Provider:
        return make_provider(catalog().find("sonnet-4-5"), self.environ, keys=self.keys)

    async def ask(self, conversation: str = "a") -> list[StreamEvent]:
        request = ModelRequest("m", "", [UserMessage("q")], [], 100, conversation)
        return [event async for event in self.provider.stream(request)]

    @property
    def used(self) -> list[int]:
        """Which key each request had: 1, 2 or 3."""
        sent = [{name.lower(): value for name, value in one.headers.items()} for one in self.server.requests]
        return [KEYS.index(headers["authorization"].removeprefix("Bearer ")) + 1 for headers in sent]

    def source(self, keys: Keys | None = None) -> str | None:
        return credential_source(catalog().find("sonnet-4-5").provider, self.environ, keys or self.keys)


@pytest.fixture
async def keyring(tmp_path: Path, server: ModelServer) -> AsyncIterator[Keyring]:
    keyring = Keyring(tmp_path, server)
    yield keyring
    await keyring.provider.aclose()


def told(events: list[StreamEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, Told)]


async def test_a_conversation_keeps_its_key_and_the_next_one_gets_the_next(keyring: Keyring) -> None:
    keyring.server.script(*[answer(say("Hi"))] * 8)
    for conversation in ("a", "a", "b", "c", "d", "b", "a", ""):
        assert isinstance((await keyring.ask(conversation))[-1], Done)
    first, second, third = 3, 2, 1  # the newest first
    assert keyring.used == [first, first, second, third, first, second, first, first]


@pytest.mark.parametrize(
    ("failure", "why", "shown"),
    [
        (LIMITED, "is limited for now", "limited, rests until"),
        (NO_CREDIT, "has used up its quota", "limited, rests until"),
        (REFUSED, "was refused", "refused, rests until"),
    ],
)
async def test_the_next_key_is_used_at_once_and_the_user_is_told(
    keyring: Keyring, failure: Answer, why: str, shown: str
) -> None:
    keyring.server.script(failure, answer(say("Hi")), answer(say("Ho")))
    events = await keyring.ask()
    assert isinstance(events[-1], Done)
    assert told(events) == [f"the key …3333 of Anthropic {why}; …2222 is used"]
    await keyring.ask()
    assert keyring.used == [3, 2, 2]
    source = keyring.source() or ""
    assert source.startswith(f"North's own store (…3333 {shown}")
    assert source.endswith(", …2222, …1111)")
    assert not [secret for secret in KEYS if secret in source]


async def test_a_key_is_used_again_when_its_rest_is_over(keyring: Keyring) -> None:
    keyring.server.script(LIMITED, *[answer(say("Hi"))] * 4)
    await keyring.ask("a")
    for later, conversation in ((599, "b"), (601, "c"), (601, "d")):
        keyring.now = NOW + later
        await keyring.ask(conversation)
    assert keyring.used[:3] == [3, 2, 1]
    assert 3 in keyring.used[3:]
    assert keyring.source() == "North's own store (…3333, …2222, …1111)"


async def test_a_limit_is_known_to_other_processes_and_a_refusal_is_not(keyring: Keyring) -> None:
    keyring.server.script(LIMITED, REFUSED, answer(say("Hi")))
    await keyring.ask()
    other = keyring.read()
    assert [str(other.resting.rest_of(key))[:7] for key in other.stored] == ["limited", "None", "None"]
    assert not keyring.keys.refresh()  # the keys are the same, so nothing is made anew


@pytest.mark.parametrize("is_over", [True, False])
async def test_a_limit_that_another_process_finds_later_counts_too(keyring: Keyring, is_over: bool) -> None:
    """Whether this process's own rest of the key is over, or was ended by an answer."""
    key = keyring.keys.stored[0]
    keyring.keys.resting.limit(key, 60)
    keyring.now += 61 if is_over else 1
    if not is_over:
        keyring.keys.resting.answered(key)
    keyring.keys.refresh()
    assert keyring.keys.resting.rest_of(keyring.keys.stored[0]) is None
    other = keyring.read()
    other.resting.limit(other.stored[0], 300)
    keyring.keys.refresh()
    rest = keyring.keys.resting.rest_of(keyring.keys.stored[0])
    assert rest is not None
    assert rest.until == keyring.now + 300


async def test_when_all_are_limited_the_wait_is_until_the_first_is_free(keyring: Keyring) -> None:
    soon = answer(Fail(429, "rate_limit_error", "slow down", {"retry-after": "60"}))
    keyring.server.script(LIMITED, soon, REFUSED, answer(say("Hi")), answer(say("Ho")))
    failed = (await keyring.ask())[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable, failed.retry_after_ms) == ("rate_limit", True, 60_000)
    assert "none of the keys can be used: …3333 limited, rests until" in failed.message
    assert "…1111 refused" in failed.message
    # Whoever asks all the same is answered, with the key whose rest ends first; that one is free from then on.
    assert isinstance((await keyring.ask())[-1], Done)
    assert isinstance((await keyring.ask())[-1], Done)
    assert keyring.used == [3, 2, 1, 2, 2]
    other = keyring.read()
    assert [other.resting.rest_of(key) is None for key in other.stored] == [False, True, True]


async def test_when_all_are_refused_it_is_a_matter_of_keys(keyring: Keyring) -> None:
    keyring.server.script(REFUSED, REFUSED, REFUSED)
    failed = (await keyring.ask())[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable) == ("auth", False)
    assert failed.message.count("refused, rests until") == 3


@pytest.mark.parametrize("failure", [fail(529, "overloaded_error", "busy"), fail(400, "invalid_request_error", "no")])
async def test_what_no_other_key_would_mend_is_left_as_it_is(keyring: Keyring, failure: Fail) -> None:
    keyring.server.script(answer(failure))
    events = await keyring.ask()
    assert isinstance(events[-1], Failed)
    assert len(keyring.used) == 1
    assert "rests" not in (keyring.source() or "")


async def test_an_answer_that_has_begun_is_asked_for_again_by_the_turn(keyring: Keyring) -> None:
    keyring.server.script(answer(Say("Half"), StreamError("rate_limit_error", "slow down")), answer(say("Hi")))
    events = await keyring.ask()
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert (failed.retryable, failed.retry_after_ms, failed.partial.text) == (True, None, "Half")
    await keyring.ask()
    assert keyring.used == [3, 2]


async def test_an_answer_that_breaks_off_says_nothing_of_the_key(keyring: Keyring) -> None:
    keyring.server.script(answer(Say("Half"), Cut()))
    await keyring.ask()
    assert "rests" not in (keyring.source() or "")


@pytest.mark.parametrize(
    "elsewhere",
    [
        lambda keyring: keyring.keys.give("anthropic", KEYS[0]),
        lambda keyring: [keyring.store.remove(key.id) for key in keyring.keys.stored[:2]],
    ],
)
async def test_one_key_takes_no_turns(keyring: Keyring, elsewhere: Callable[[Keyring], object]) -> None:
    """As the one that this process was given, which wins over those that are stored."""
    elsewhere(keyring)
    keyring.keys.refresh()
    keyring.provider = keyring.made()
    keyring.server.script(LIMITED)
    assert isinstance((await keyring.ask())[-1], Failed)
    assert keyring.used == [1]


async def test_a_key_that_cannot_be_sent_is_skipped(keyring: Keyring) -> None:
    keyring.store.add("anthropic", "sk-tést-0123456789-4444")
    keyring.keys.refresh()
    keyring.provider = keyring.made()
    keyring.server.script(answer(say("Hi")))
    events = await keyring.ask()
    assert isinstance(events[-1], Done)
    assert told(events) == ["the key …4444 of Anthropic was refused; …3333 is used"]
