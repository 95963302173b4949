"""Pictures in results: kept as blobs, and put into a request for a model that takes images."""

import base64
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from north_lsp.providers.base import Image, Message, ModelRequest, ToolResult

PREFIX = "blob:sha256:"
_OMITTED = "[image omitted: model has no vision]"
_UNAVAILABLE = "[image unavailable]"


def has_images(request: ModelRequest) -> bool:
    return any(isinstance(message, ToolResult) and message.images for message in request.messages)


def with_images(request: ModelRequest, find: Callable[[str], bytes | None], *, takes_images: bool) -> ModelRequest:
    """Fill in the pictures that the results of a request refer to, or a placeholder where the model takes none or a
    picture is gone. `find` returns a blob by its digest. Reads files, so run it in a thread."""
    filled = [_filled(message, find, takes_images=takes_images) for message in request.messages]
    return replace(request, messages=filled)


def _filled(message: Message, find: Callable[[str], bytes | None], *, takes_images: bool) -> Message:
    if not isinstance(message, ToolResult) or not message.images:
        return message
    images: list[Image] = []
    words: list[str] = []
    for image in message.images:
        data = find(image.data.removeprefix(PREFIX)) if takes_images else None
        if data is not None:
            images.append(replace(image, data=_base64(data)))
        else:
            words.append(_UNAVAILABLE if takes_images else _OMITTED)
    return replace(message, images=tuple(images), text="\n".join([message.text, *words]))


@lru_cache(maxsize=8)
def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
