"""Pictures on their way to an editor."""

from north_lsp.agent.log.images import loaded_events
from north_lsp.agent.ports.events import AnswerDelta, UserSaid
from north_lsp.errors import ToolError
from north_lsp.providers.base import Image


def picture(data: str) -> Image:
    return Image("image/png", data)


def find(digest: str) -> bytes | None:
    if digest == "unreadable":
        raise ToolError("IO_ERROR", "cannot be read")
    return {"kept": b"png"}.get(digest)


def test_events_get_the_data_of_their_pictures_and_lose_those_that_are_gone() -> None:
    said = UserSaid("1", "look", tuple(picture(f"blob:sha256:{name}") for name in ("gone", "kept", "unreadable")))
    answered = AnswerDelta("2", "a lamp")
    assert loaded_events([said, answered], find) == [UserSaid("1", "look", (picture("cG5n"),)), answered]
