"""Run by the Python of the bed: has one conversation with an agent through `acp-client`, and prints what came of it.

drive_client.py PROJECT COMMAND [ARGUMENT …]
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from acp_client import Agent  # type: ignore[import-not-found]  # it is in the bed alone


async def main() -> None:
    project, command = Path(sys.argv[1]), sys.argv[2:]
    asked: list[dict[str, Any]] = []
    updates: list[str] = []
    allows = False

    async def decide(request: dict[str, Any]) -> str:
        asked.append(request)
        kind = "allow_once" if allows else "reject_once"
        return next(str(option["optionId"]) for option in request["options"] if option["kind"] == kind)

    agent = Agent(command, project, permission=decide)
    said = [await agent.ask("Hello"), await agent.ask("Edit it, and run it")]
    allows = True
    said.append(await agent.ask("Once more"))

    def heard(text: str) -> None:
        if "going" in text:
            agent.cancel()

    said.append(await agent.ask("Go on", heard))
    session = agent.session
    await agent.stop()
    again = Agent(command, project, session=session)
    await again.start(lambda update: updates.append(update["sessionUpdate"]))
    said.append(await again.ask("Still there?"))
    titles = [request["toolCall"]["title"] for request in asked]
    sys.stdout.write(json.dumps({"said": said, "asked": titles, "replayed": updates, "same": again.session == session}))
    await again.stop()


asyncio.run(main())
