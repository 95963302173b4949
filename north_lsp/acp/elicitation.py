"""Forms and pages through ACP's `elicitation/create`, for clients that announced them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import anyio

from north_lsp.acp.initialize import Client
from north_lsp.agent.ports.editor import Choice
from north_lsp.agent.ports.forms import (
    ChoiceField,
    Field,
    Form,
    FormAnswer,
    NumberField,
    Page,
    SwitchField,
    TextField,
    read_values,
)
from north_lsp.display import visible
from north_lsp.rpc.messages import METHOD_NOT_FOUND, RpcError
from north_lsp.rpc.peer import Peer

_ANSWER = "answer"


class Elicitation:
    """The forms and pages of a session, or, where `scope` is `{"requestId": …}`, of one request of the client's.
    Nothing is asked of a client that has not announced it."""

    def __init__(self, peer: Peer, scope: Mapping[str, Any], client: Client) -> None:
        self._peer = peer
        self._scope = scope
        self._fills_forms = client.fills_forms
        self._opens_pages = client.opens_pages
        self._comes_back = client.comes_back

    async def fill(self, form: Form) -> FormAnswer | None:
        """Ask the user to fill in a form; None if the client has no forms."""
        if not self._fills_forms:
            return None
        answer = await self._ask(form_params(self._scope, form))
        self._fills_forms = answer is not None
        return answer if answer is None else read_answer(answer, form)

    async def open(self, page: Page) -> FormAnswer | None:
        """Ask the user to open a page; None if the client opens none. Accepted means that the user agreed to open it,
        not that what happens there is done: `done` tells the client that."""
        if not self._opens_pages:
            return None
        answer = await self._ask(page_params(self._scope, page))
        self._opens_pages = answer is not None
        return answer if answer is None else read_answer(answer, None)

    async def done(self, page: Page) -> None:
        """Tell the client that what the page was opened for has happened."""
        if self._opens_pages:
            await self._peer.notify("elicitation/complete", {"elicitationId": page.id})

    async def _ask(self, params: dict[str, Any]) -> dict[str, Any] | None:
        """Return the client's answer, empty for one that makes no sense; None if it does not know the method after
        all."""
        try:
            answer = await self._peer.request("elicitation/create", params, cancellable=True)
        except RpcError as error:
            if self._comes_back and self._peer.has_ended:
                await anyio.sleep_forever()  # it stays asked: the user answers when the client is back
            return None if error.code == METHOD_NOT_FOUND else {}
        return answer if isinstance(answer, dict) else {}


def as_form(choice: Choice) -> Form:
    """Return a choice as a form."""
    title = visible(choice.question)
    message = f"{title}\n\n{visible(choice.detail)}" if choice.detail else title
    return Form(choice.id, message, (ChoiceField(_ANSWER, "Answer", choice.options),))


def chosen(answer: FormAnswer, choice: Choice) -> str | None:
    """Return the option that the answer to the form of a choice means; None if it stays without an answer."""
    match answer.kind:
        case "accepted":
            return str(answer.values[_ANSWER])
        case "declined":
            return choice.options[-1][0]
        case "cancelled":
            return None


def form_params(scope: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """Return the params of `elicitation/create` for a form."""
    schema = {
        "type": "object",
        "properties": {one.key: _property(one) for one in form.fields},
        "required": [one.key for one in form.fields if one.required],
    }
    call = {"toolCallId": form.call_id} if form.call_id is not None else {}
    message = visible(form.message)
    return {"mode": "form", **scope, **call, "message": message, "requestedSchema": schema}


def page_params(scope: Mapping[str, Any], page: Page) -> dict[str, Any]:
    """Return the params of `elicitation/create` for a page."""
    call = {"toolCallId": page.call_id} if page.call_id is not None else {}
    shown = {"message": visible(page.message), "url": page.url, "elicitationId": page.id}
    return {"mode": "url", **scope, **call, **shown}


def read_answer(answer: dict[str, Any], form: Form | None) -> FormAnswer:
    """Read the client's answer. An action that is not known counts as cancelled."""
    match answer.get("action"):
        case "accept":
            return read_values(form.fields if form is not None else (), answer.get("content"))
        case "decline":
            return FormAnswer("declined")
        case _:
            return FormAnswer("cancelled")


def _property(one: Field) -> dict[str, Any]:
    words: dict[str, Any] = {"title": visible(one.title)}
    words |= {"description": visible(one.detail)} if one.detail else {}
    words |= {"default": one.default} if one.default is not None else {}
    match one:
        case TextField():
            return {"type": "string", **words} | ({"maxLength": one.most} if one.most is not None else {})
        case NumberField():
            limits = {"minimum": one.least, "maximum": one.most}
            known = {name: limit for name, limit in limits.items() if limit is not None}
            return {"type": "integer" if one.whole else "number", **words, **known}
        case SwitchField():
            return {"type": "boolean", **words}
        case ChoiceField():
            options = [{"const": value, "title": visible(name)} for value, name in one.options]
            if one.several:
                chosen = {"default": [one.default]} if one.default is not None else {}
                return {"type": "array", **words, "items": {"anyOf": options}, **chosen}
            return {"type": "string", **words, "oneOf": options}
        case _:
            assert_never(one)
