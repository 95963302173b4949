"""Picks a model by its selector. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.catalog.model_list import ModelList, UnknownModel
from north_lsp.providers.thinking import Level, as_level

if TYPE_CHECKING:
    from north_lsp.providers.model import Model

ROLES = ("default", "fast", "slow", "vision", "plan", "reviewer", "oracle", "designer", "commit", "task")
_SYNONYMS = {"smol": "fast"}
_VARIABLES = {
    "default": "NORTH_MODEL",
    "fast": "NORTH_FAST_MODEL",
    "slow": "NORTH_SLOW_MODEL",
    "plan": "NORTH_PLAN_MODEL",
}
_SHOWN = 8
_SIMILAR = 0.6
"""How alike two names must be for one to be suggested for the other, from 0 to 1."""
_LONGEST = 100
_VERSION = lazy_pattern(r"(?<=\d)\.(?=\d)")
_DATE = lazy_pattern(r"-20\d{6}$")


def find(known: ModelList, selector: str, _seen: tuple[str, ...] = ()) -> Model:
    """Return the model that a selector picks, as Catalog.find describes. Raises UnknownModel."""
    text = selector.strip()
    base, _, tail = text.rpartition(":")
    level = as_level(tail) if base else None
    for name, wanted in ((text, None), *(((base, level),) if level is not None else ())):
        role = role_of(name)
        if role is not None:
            return _with(by_role(known, role, known.environ, _seen), wanted)
        exact = _exact(known, name)
        if exact is not None:
            return _with(exact, wanted)
    part = base if level is not None else text
    matches = [one for one in known.models if part and part.lower() in one.selector.lower()]
    matches = matches or [one for one in known.models if part and part.lower() in one.title.lower()]
    if len(matches) == 1:
        return _with(matches[0], level)
    if matches:
        if len({canonical(one, known.names) for one in matches}) == 1:
            return _with(_first_available(known, matches), level)
        several = _names(matches)
        raise UnknownModel(f"the model {selector!r} is ambiguous: choose one of {several}")
    undiscovered = known.recover(part)
    if undiscovered is not None:
        return _with(undiscovered, level)
    raise UnknownModel(f"there is no model {shown(selector)!r}{_nor(known, part)}; {_closest(known, part)}")


def _closest(known: ModelList, part: str) -> str:
    """Say which aliases or selectors are closest to what was typed, or name some models if none is close."""
    by_name: dict[str, str] = {}
    for one in known.models:
        for name in (one.alias, one.id, one.selector):
            by_name.setdefault(name.lower(), one.alias if name != one.selector else name)
    wanted = part.lower()
    from difflib import get_close_matches

    close = get_close_matches(wanted, by_name, 9, _SIMILAR)
    close = close or get_close_matches(wanted.rpartition("/")[2], by_name, 9, _SIMILAR)
    names = list(dict.fromkeys(by_name[one] for one in close))[:3]
    if names:
        return f"the closest {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
    return f"there are {', '.join(list(dict.fromkeys(one.alias for one in known.models))[:3])}, and others"


def _nor(known: ModelList, part: str) -> str:
    """Say that the provider is unknown too, and suggest a similar name; empty if the provider exists."""
    provider, slash, _ = part.partition("/")
    ids = [one.id for one in known.providers]
    if not slash or provider in ids:
        return ""
    from difflib import get_close_matches

    close = get_close_matches(provider.lower(), ids, 1, 0.6)
    return f", nor a provider {shown(provider)!r}{f' (did you mean {close[0]}?)' if close else ''}"


def shown(text: str) -> str:
    """Shorten a text that was typed, for a message."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def default(known: ModelList, environ: Mapping[str, str]) -> Model:
    """Return the default model, as Catalog.default describes."""
    from north_lsp.providers.keys.credential_lookup import has_credential

    if "default" in known.roles:
        try:
            chosen = find(known, known.roles["default"], ("default",))
        except UnknownModel:
            pass
        else:
            if known.is_available(chosen, environ):
                return chosen
    for provider in sorted(known.providers, key=lambda one: _rank(known, one.id)):
        usable_here = provider.api != "offline" and has_credential(provider, environ, known.keys)
        if provider.default is not None and usable_here:
            return find(known, f"{provider.id}/{provider.default}")
    usable = [one for one in known.models if known.is_available(one, environ)]
    return next((one for one in usable if one.api != "offline"), usable[-1])


def role_of(text: str) -> str | None:
    """Return the role that a selector names (`fast`, `north/fast`, `smol`), None if it names none."""
    name = text.removeprefix("north/")
    name = _SYNONYMS.get(name, name)
    return name if name in ROLES else None


def is_role_set(known: ModelList, role: str) -> bool:
    """Tell whether the user has named a model for a role."""
    return bool(known.environ.get(_VARIABLES.get(role, ""), "").strip() or known.roles.get(role))


def by_role(known: ModelList, role: str, environ: Mapping[str, str], seen: tuple[str, ...] = ()) -> Model:
    """Return the model of a role: the environment's, the configured one, or a suitable one. Raises UnknownModel."""
    if role in seen:
        raise UnknownModel(f"the roles {' -> '.join((*seen, role))} refer to each other: name a model in one of them")
    selector = environ.get(_VARIABLES.get(role, ""), "").strip() or known.roles.get(role)
    if selector:
        return find(known, selector, (*seen, role))
    chosen = by_role(known, "default", environ, (*seen, role)) if role != "default" else default(known, environ)
    if role == "fast" and chosen.provider.fast is not None:
        return find(known, f"{chosen.provider.id}/{chosen.provider.fast}")
    return chosen


def canonical(model: Model, names: Mapping[str, str]) -> str:
    """Return the name that the same model has at several providers: the one that the user gave, or its id without the
    maker's prefix and the date, and with one way to write versions. A local model is never the same as another:
    Ollama's `qwen3:8b` keeps its tag."""
    if model.selector in names:
        return names[model.selector]
    name = model.id.rpartition("/")[2].lower()
    return _DATE.sub("", _VERSION.sub("-", name))


def _exact(known: ModelList, text: str) -> Model | None:
    for matches in (
        [one for one in known.models if one.selector == text],
        [one for one in known.models if text == f"{one.provider.id}/{one.alias}"],
        _equivalents(known, [one for one in known.models if text in (one.alias, one.id)]),
        [one for one in known.models if text and text == known.names.get(one.selector)],
    ):
        if matches:
            return _first_available(known, matches)
    return None


def _equivalents(known: ModelList, matches: Sequence[Model]) -> list[Model]:
    """Return the matches, followed by the same models at other providers."""
    names = {canonical(one, known.names) for one in matches}
    return [*matches, *(one for one in known.models if canonical(one, known.names) in names and one not in matches)]


def _first_available(known: ModelList, matches: Sequence[Model]) -> Model:
    """Return the first match that can be used, by the user's order of providers, else the first match."""
    ordered = sorted(matches, key=lambda one: _rank(known, one.provider.id))
    return next((one for one in ordered if known.is_available(one)), matches[0])


def _rank(known: ModelList, provider: str) -> int:
    return known.order.index(provider) if provider in known.order else len(known.order)


def _with(model: Model, level: Level | None) -> Model:
    return model if level is None else model.with_level(level)


def _names(matches: Sequence[Model]) -> str:
    """Return what to type for each model: its alias, or its selector if two have the same alias."""
    aliases = [one.alias for one in matches]
    names = [one.alias if aliases.count(one.alias) == 1 else one.selector for one in matches[:_SHOWN]]
    return ", ".join(names)
