"""Pictures in prompts and results: kept as blobs, and put into a request for a model that takes images."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.messages import PromptEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.ports.events import Event, UserSaid
from north_lsp.errors import ToolError
from north_lsp.providers.base import AssistantMessage, Image, Message, ModelRequest
from north_lsp.workspace.formats.pictures import sides_of

PREFIX = "blob:sha256:"
Find = Callable[[str], bytes | None]
"""Gives a blob by its digest. Reads files: for a thread."""

_OMITTED = "[image omitted: model has no vision]"
_UNAVAILABLE = "[image unavailable]"
_TOO_MANY = "[image omitted: the conversation has too many, and newer ones are shown]"
_WITH_IMAGES = (PromptEntry, CustomMessageEntry, ResultEntry)
_MOST_IMAGES = 50
_MOST_BYTES = 20 * 1024 * 1024  # vendors accept 20 to 32 MB a request, and base64 adds a third


def kept_image(mime_type: str, data: bytes, digest: str) -> Image:
    """Return a picture that refers to its blob."""
    return Image(mime_type, PREFIX + digest, sides_of(data))


def has_images(request: ModelRequest) -> bool:
    return any(not isinstance(message, AssistantMessage) and message.images for message in request.messages)


def with_images(request: ModelRequest, find: Find, *, takes_images: bool) -> ModelRequest:
    """Fill in the pictures that the messages of a request refer to, or a placeholder where the model takes none, a
    picture is gone, or newer ones fill the request already."""
    room = _Room()
    filled = [_filled(message, find, room, takes_images=takes_images) for message in reversed(request.messages)]
    return replace(request, messages=filled[::-1])


def loaded_events(events: Iterable[Event], find: Find) -> list[Event]:
    """Return the events with the data of their pictures in base64; pictures that are gone are left out."""
    return [
        replace(event, images=tuple(loaded_images(event.images, find)))
        if isinstance(event, UserSaid) and event.images
        else event
        for event in events
    ]


def loaded_images(images: Iterable[Image], find: Find) -> Iterator[Image]:
    """Yield pictures with their data in base64, without those that are gone."""
    for image in images:
        with suppress(ToolError):
            data = picture_in(image, find)
            if data is not None:
                yield replace(image, data=_base64(data))


def picture_in(image: Image, find: Find) -> bytes | None:
    """Return the data of a picture, which is a blob, or stands in the log; None if it is gone, or is none. Raises what
    `find` does."""
    if image.data.startswith(PREFIX):
        return find(image.data.removeprefix(PREFIX))
    try:
        return base64.b64decode(image.data, validate=True) or None
    except ValueError:
        return None


def gone_from(path: Iterable[Logged], folder: Path) -> int:
    """Count the pictures of a path whose blobs are not in their folder any more."""
    shown = (image for one in path if isinstance(one.entry, _WITH_IMAGES) for image in one.entry.images)
    names = {image.data.removeprefix(PREFIX) for image in shown if image.data.startswith(PREFIX)}
    return sum(not (folder / name).is_file() for name in names)


class _Room:
    """Counts how many images still fit into a request."""

    def __init__(self) -> None:
        self._images, self._bytes = _MOST_IMAGES, _MOST_BYTES

    def take(self, size: int) -> bool:
        if self._images < 1 or size > self._bytes:
            return False
        self._images, self._bytes = self._images - 1, self._bytes - size
        return True


def _filled(message: Message, find: Find, room: _Room, *, takes_images: bool) -> Message:
    if isinstance(message, AssistantMessage) or not message.images:
        return message
    images: list[Image] = []
    words: list[str] = []
    for image in message.images:
        data = picture_in(image, find) if takes_images else None
        if data is None:
            words.append(_UNAVAILABLE if takes_images else _OMITTED)
        elif room.take(len(data)):
            images.append(replace(image, data=_base64(data)))
        else:
            words.append(_TOO_MANY)
    text = "\n".join([*([message.text] if message.text or not (images or words) else []), *words])
    return replace(message, images=tuple(images), text=text)


@lru_cache(maxsize=8)
def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
