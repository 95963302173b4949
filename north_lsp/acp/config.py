"""`_north/config/*`: the settings, with where each value comes from; changing and resetting them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast, get_args

from north_lsp.acp import params as read
from north_lsp.agent.session.configuration import Configuration, Place, SettingRow, WrongSetting
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.rpc.messages import INVALID_REQUEST, Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler


def config_methods(
    session_of: Callable[[Params], Session], of_process: Configuration, take_editor: Callable[[dict[str, object]], None]
) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError; where
    none is named, the settings are those of the process."""

    def chosen(params: Params) -> Configuration:
        return of_process if params.get("sessionId") is None else session_of(params).configuration

    async def listed(params: Params, call: Call) -> object:
        configuration = chosen(params)
        rows = configuration.rows(read.optional_text(params, "query") or "")
        return {
            "settings": [_told(row) for row in rows],
            "files": {place: str(path) for place, path in configuration.files.items()},
            "problems": [visible(problem) for problem in configuration.problems],
        }

    async def get(params: Params, call: Call) -> object:
        with_key = read.text(params, "key")
        try:
            return _told(chosen(params).row(with_key))
        except WrongSetting as error:
            raise invalid_params("key", str(error)) from None

    async def change(params: Params, call: Call) -> object:
        configuration, key = chosen(params), read.text(params, "key")
        place, value = _place(params), params.get("value")
        if (typed := read.optional_text(params, "typed")) is not None:
            try:
                value = configuration.typed(key, typed)
            except WrongSetting as error:
                raise RpcError(INVALID_REQUEST, visible(str(error))) from None
        if value is None:
            raise invalid_params("value", "is needed; _north/config/reset resets a setting")
        return await _done(configuration.set(key, value, place))

    async def reset(params: Params, call: Call) -> object:
        return await _done(chosen(params).reset(read.text(params, "key"), _place(params)))

    async def editor(params: Params, call: Call) -> object:
        settings = params.get("settings")
        if not isinstance(settings, dict):
            raise invalid_params("settings", "must be an object of settings by their keys")
        take_editor(settings)
        return {"problems": [visible(problem) for problem in of_process.problems]}

    return {
        "_north/config/list": listed,
        "_north/config/get": get,
        "_north/config/set": change,
        "_north/config/reset": reset,
        "_north/config/editor": editor,
    }


async def _done(change: Awaitable[SettingRow]) -> object:
    try:
        return _told(await change)
    except WrongSetting as error:
        raise RpcError(INVALID_REQUEST, visible(str(error))) from None
    except OSError as error:
        raise RpcError(INVALID_REQUEST, f"the setting could not be written: {visible(str(error))}") from None


def _place(params: Params) -> Place:
    place = params.get("place", "user")
    if place not in get_args(Place):
        raise invalid_params("place", f"must be {', '.join(get_args(Place))}")
    if place != "user" and params.get("sessionId") is None:
        raise invalid_params("sessionId", f"must name a session: {place} is one's own")
    return cast(Place, place)


def _told(row: SettingRow) -> dict[str, object]:
    return {
        "key": row.key,
        "text": row.text,
        "value": row.value,
        "default": row.default,
        "origin": row.origin,
        "others": [{"origin": origin, "value": value} for origin, value in row.others],
        "expects": row.expects,
        "choices": list(row.choices),
        "needsRestart": row.restart,
        "project": row.project,
    }
