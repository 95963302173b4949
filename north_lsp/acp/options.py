"""`session/set_mode` and `session/set_config_option`: what answers, and what happens without a question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from north_lsp.acp import params as read
from north_lsp.agent.log.modes import find_mode
from north_lsp.agent.session.session import Session
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.rpc.messages import Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler
from north_lsp.vocabulary import Mode


def option_methods(
    session_of: Callable[[Params], Session], options_of: Callable[[str], list[dict[str, Any]]]
) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError;
    `options_of` returns the options of a session as they go over the wire, by its id."""

    async def set_mode(params: Params, call: Call) -> object:
        session = session_of(params)
        await session.set_mode(_mode(read.text(params, "modeId"), "modeId"))
        return {}

    async def set_option(params: Params, call: Call) -> object:
        session = session_of(params)
        match read.text(params, "configId"):
            case "mode":
                await session.set_mode(_mode(read.text(params, "value"), "value"))
            case "model":
                try:
                    await session.choice.choose(await session.choice.find(read.text(params, "value")))
                except (UnknownModel, ValueError) as error:
                    raise RpcError(-32602, f"invalid params: {error}", {"field": "value"}) from None
            case "thought_level":
                try:
                    await session.choice.choose_thinking(read.text(params, "value"))
                except ValueError as error:
                    raise invalid_params("value", str(error)) from None
            case "_edits":
                await session.approvals.set_edits_auto_accepted(_is_auto(params))
            case "_shell":
                await session.approvals.set_commands_auto_approved(_is_auto(params))
            case id:
                raise invalid_params("configId", f"must be mode, model, thought_level, _edits or _shell, not {id!r}")
        return {"configOptions": options_of(session.id)}

    return {"session/set_mode": set_mode, "session/set_config_option": set_option}


def _mode(text: str, field: str) -> Mode:
    try:
        return find_mode(text)
    except ValueError as error:
        raise RpcError(-32602, f"invalid params: {error}", {"field": field}) from None


def _is_auto(params: Params) -> bool:
    """Read the value of an option that a client has as a boolean or as a choice."""
    if isinstance(params.get("value"), bool):
        return read.flag(params, "value")
    value = read.text(params, "value")
    if value not in ("review", "auto"):
        raise invalid_params("value", f"must be review or auto, not {value!r}")
    return value == "auto"
