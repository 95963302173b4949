"""Several stored keys of one provider: which one rests is shown everywhere, and no key is shown anywhere."""

from functools import partial

import anyio.to_thread

from north_lsp.cli import reports
from north_lsp.cli.doctor import examine
from north_lsp.server.options import Options
from tests.end_to_end.test_faults import opened, prompt, texts
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Fail, answer, say

SECRETS = ["sk-test-aaaaaaaaaaaaaaaa-first", "sk-test-bbbbbbbbbbbbbbbb-other"]


async def test_it_is_shown_which_key_rests_and_no_key_is(world: World, server: ModelServer) -> None:
    environ = World(world.folder).environ | {"OPENAI_BASE_URL": f"{server.url}/v1"}
    async with inside(environ, "openai/gpt-5.1") as client:
        for secret in SECRETS:
            await client.request("_north/keys/set", {"provider": "openai", "key": secret, "force": True})
        session = await opened(client, world)
        server.script(answer(Fail(429, "rate_limit_exceeded", "slow down", {"retry-after": "1200"})), answer(say("Hi")))
        assert await prompt(client, session, "Hello") == "end_turn"
        assert "The key …ther of OpenAI is limited for now; …irst is used" in texts(client)
        sent = [{name.lower(): value for name, value in one.headers.items()} for one in server.requests]
        assert [headers["authorization"] for headers in sent] == [f"Bearer {one}" for one in reversed(SECRETS)]
        rests = {row["ending"]: row["rest"] for row in (await client.request("_north/keys/list"))["keys"]}
        assert rests["…irst"] is None
        shown = f"…ther {rests['…ther']}, …irst"
        assert shown.startswith("…ther limited, rests until ")
        for command in ("/config", "/login"):
            before = len(client.updates)
            assert await prompt(client, session, command) == "end_turn"
            assert shown in str(client.updates[before:]), command
        told = "".join(line.decode() for line in client.lines)
    # Other processes know it from the store.
    options = Options(environ=environ, path=world.project)
    models = partial(reports.models, options, "gpt", available=True, as_json=False)
    doctor = "\n".join(found.text for found in await anyio.to_thread.run_sync(examine, options))
    for report in (doctor, (await anyio.to_thread.run_sync(models))[0]):
        assert shown in report
        told += report
    told += (world.folder / "state" / "north.log").read_text()
    told += "".join(world.log_entries())
    assert not [secret for secret in SECRETS if secret in told]
