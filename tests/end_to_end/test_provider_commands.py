"""`/provider`, `/login` and `/logout` in a conversation: what is asked, written, forgotten, and what is never kept."""

from collections.abc import Sequence
from typing import Any

from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations
from tests.end_to_end.test_faults import opened, prompt, texts
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside

SECRET = "sk-live-0123456789abcdef"


def choosing(client: RawAcpClient, *choices: str) -> list[dict[str, Any]]:
    """The questions that will be asked; each is answered with the next of these ids."""
    asked: list[dict[str, Any]] = []

    async def answer(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"outcome": {"outcome": "selected", "optionId": choices[len(asked) - 1]}}

    client.handlers["session/request_permission"] = answer
    return asked


def ids(question: dict[str, Any]) -> Sequence[str]:
    return [option["optionId"] for option in question["options"]]


async def test_a_provider_is_added_after_its_lines_were_shown(world: World) -> None:
    path = world.folder / "config" / "models.yml"
    async with inside(world.environ, "offline") as client:
        session = await opened(client, world)
        asked = choosing(client, "glm", "leave", "write")
        await prompt(client, session, "/provider add")
        assert "glm" in ids(asked[0])
        shown = asked[1]["toolCall"]["content"][0]["content"]["text"]
        assert "+  glm-proxy:" in shown
        assert "Nothing was written." in texts(client)
        assert not path.exists()
        await prompt(client, session, "/provider add glm")
        assert "glm-proxy:" in path.read_text()
        # It can be chosen at once, and what is missing is said.
        await prompt(client, session, "/login glm-proxy")
        assert "`north-lsp login glm-proxy`" in texts(client)
        before = path.read_text()

        asked = choosing(client, "keep", "rename", "write", "replace", "write")
        for _ in range(3):
            await prompt(client, session, "/provider add zai")
        assert ids(asked[0]) == ["replace", "rename", "keep"]
        after = path.read_text()
        assert "glm-proxy-2:" in after
        assert after.count("glm-proxy:") == before.count("glm-proxy:")

        choosing(client)
        await prompt(client, session, "/provider add local")
        assert "`/provider add local <address>`" in texts(client)
        await prompt(client, session, "/provider add nothing")
        assert "There is no preset 'nothing'; there are minimax" in texts(client)
        await prompt(client, session, "/provider remove glm")
        assert "Usage: `/provider add" in texts(client)


async def test_keys_are_forgotten_and_never_kept_in_a_conversation(world: World) -> None:
    store = CredentialStore(Locations.from_environment(world.environ))
    for provider in ("anthropic", "openai", "groq"):
        store.add(provider, f"{provider}-{SECRET}", f"{provider} at work")
    async with inside(world.environ, "offline") as client:
        session = await opened(client, world)
        for typed in ("/login\t{}", "/login={}", "/login '{}", "/login groq\n{}", "/login a b\n{}", "/logout {}"):
            await prompt(client, session, typed.format(SECRET))
        assert "failed inside" not in texts(client)
        await prompt(client, session, f"/login anthropic {SECRET}")
        assert "Never type a key into a conversation" in texts(client)
        await prompt(client, session, f"/login {SECRET}")
        assert "This is not a provider that needs a key; those that do are anthropic" in texts(client)
        await prompt(client, session, "/login")
        assert "- `anthropic`: Anthropic, stored" in texts(client)
        asked = choosing(client, "none", "1", "all")
        await prompt(client, session, "/logout")
        assert len(store.all_keys()) == 3
        assert [option["name"] for option in asked[0]["options"]][-2:] == ["All of these", "None"]
        await prompt(client, session, "/logout anthropic")
        assert [key.provider for key in store.all_keys()] == ["groq", "openai"]
        await prompt(client, session, "/logout anthropic")
        assert "No key is stored for that provider." in texts(client)
        await prompt(client, session, "/logout")
        assert not store.all_keys()
        await prompt(client, session, "Hello")
    kept = "".join(world.log_entries())
    assert '"/login …"' in kept
    assert SECRET not in kept
    assert SECRET not in "".join(path.read_text() for path in (world.folder / "state").rglob("*") if path.is_file())
