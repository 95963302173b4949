"""A key broker: a server of the user's company that hands out keys (`auth.broker.url`, `NORTH_AUTH_BROKER_URL`). None
of its keys are stored. `refresh` blocks: call it on a thread.

The broker answers `GET /v1/credentials` with `{"credentials": [{"id", "provider", "secret", "expires_at"}]}`, where
`expires_at` is in seconds since 1970 or missing, and `POST /v1/credential/<id>/refresh` with one such object.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.compat import is_local
from north_lsp.providers.credentials import Credential, KeySource, MissingCredential, can_be_sent, is_bearer_token
from north_lsp.providers.json_values import as_object
from north_lsp.providers.tls import verification
from north_lsp.storage.model_settings import ModelSettings

_SECONDS = 3.0
_FRESH_SECONDS = 300.0
_AGAIN_SECONDS = 10.0  # after a failure
_EARLY_SECONDS = 60.0
_MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class BrokerKey:
    """A key and when it expires (seconds since 1970), None for never."""

    id: str
    provider: str
    secret: str
    expires_at: float | None

    def __repr__(self) -> str:
        return f"BrokerKey({self.provider})"


class Broker:
    """Asks a broker for keys. `problem` is one line for the user about a broker that cannot be asked; keys that it has
    given before are used until they expire."""

    def __init__(
        self,
        url: str,
        token: KeySource | None,
        environ: Mapping[str, str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._url = url.rstrip("/")
        self._shown = re.sub(r"//[^/@]*@", "//", self._url)  # without a password in it
        self._token = token
        self._environ = environ
        self._now = now
        self._lent: dict[str, BrokerKey] = {}
        self._next = 0.0
        self.problem: str | None = None

    def find(self, provider: str) -> Credential | None:
        """Return the key that was given for a provider, None if there is none or it has expired."""
        lent = self._lent.get(provider)
        if lent is None or (lent.expires_at is not None and lent.expires_at <= self._now()):
            return None
        return Credential(lent.secret, f"the key broker {self._shown}", is_bearer_token(lent.secret))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys that it has given, also those that have expired."""
        return tuple(one.secret for one in self._lent.values())

    @property
    def variable(self) -> str | None:
        """The environment variable that holds the broker's token, None if none does."""
        return self._token.variable if self._token is not None else None

    @property
    def is_stale(self) -> bool:
        now = self._now()
        return now >= self._next or (self.problem is None and any(self._ends_soon(one) for one in self._lent.values()))

    def refresh(self) -> bool:
        """Ask for all keys, and for new ones in place of those that expire soon. Returns whether any has changed."""
        before = dict(self._lent)
        try:
            self._check()
            rows = as_object(self._ask("GET", "/v1/credentials")).get("credentials")
            if not isinstance(rows, list):
                raise ValueError("its answer has no list of credentials")
            known = [one for row in rows if (one := _lent(row)) is not None]
            self._lent = {one.provider: self._renewed(one) for one in reversed(known)}  # the first of a provider wins
            self.problem, self._next = None, self._now() + _FRESH_SECONDS
        except (ValueError, OSError) as error:
            self.problem = f"the key broker {self._shown} cannot be asked for keys: {error}"
            self._next = self._now() + _AGAIN_SECONDS
        return self._lent != before

    def _renewed(self, lent: BrokerKey) -> BrokerKey:
        if not self._ends_soon(lent):
            return lent
        try:
            renewed = _lent(self._ask("POST", f"/v1/credential/{quote(lent.id, safe='')}/refresh"))
        except (ValueError, OSError):
            return lent  # still valid until it expires
        return renewed if renewed is not None and renewed.provider == lent.provider else lent

    def _ends_soon(self, lent: BrokerKey) -> bool:
        return lent.expires_at is not None and lent.expires_at - self._now() <= _EARLY_SECONDS

    def _check(self) -> None:
        """Check the address: keys must not be sent unencrypted over a network. Raises ValueError."""
        parts = urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("auth.broker.url must be an address like https://keys.example.com")
        if parts.scheme == "http" and not is_local(self._url):
            raise ValueError("http is allowed only for a broker on this machine: use https")

    def _ask(self, method: str, path: str) -> Any:
        """Send a request and return the answer's JSON. Raises ValueError, OSError."""
        import httpx2

        headers = {}
        if self._token is not None:
            try:
                secret = self._token.resolve(self._environ).secret
            except MissingCredential as error:
                raise ValueError(str(error)) from None
            if not can_be_sent(secret):
                raise ValueError(f"{self._token.where} has characters that cannot be sent: check it")
            headers["Authorization"] = f"Bearer {secret}"
        verify = verification(self._environ, self._url)
        try:
            with (
                httpx2.Client(timeout=_SECONDS, follow_redirects=False, verify=verify) as client,
                client.stream(method, self._url + path, headers=headers) as response,
            ):
                answer = self._whole(response.iter_bytes())
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise OSError(str(error) or type(error).__name__) from None
        if response.status_code in (401, 403):
            where = self._token.where if self._token is not None else "auth.broker.token"
            raise ValueError(f"it refused the token ({response.status_code}): check {where}")
        if response.status_code != 200:
            raise ValueError(f"it answered with status {response.status_code}")
        try:
            return json.loads(answer)
        except RecursionError:
            raise ValueError("its answer cannot be read") from None

    def _whole(self, pieces: Iterator[bytes]) -> bytes:
        """Join the pieces of an answer. Raises OSError if it takes too long or is too large."""
        until, answer = time.monotonic() + _SECONDS, b""
        for piece in pieces:
            answer += piece
            if time.monotonic() > until or len(answer) > _MAX_BYTES:
                raise OSError("its answer took too long, or is too large")
        return answer


def _lent(row: object) -> BrokerKey | None:
    found = as_object(row)
    provider, secret, ends = found.get("provider"), found.get("secret"), found.get("expires_at")
    if not isinstance(provider, str) or not isinstance(secret, str) or not secret.strip():
        return None
    try:
        expires_at = float(ends) if isinstance(ends, int | float) and not isinstance(ends, bool) else None
    except OverflowError:  # too large for a float: it never expires
        expires_at = None
    return BrokerKey(str(found.get("id", "")), provider, secret.strip(), expires_at)


def broker_of(settings: ModelSettings, environ: Mapping[str, str]) -> Broker | None:
    """Return the broker that the environment or the settings name, None if neither does."""
    url = environ.get("NORTH_AUTH_BROKER_URL", "").strip() or settings.broker_url
    if not url:
        return None
    if environ.get("NORTH_AUTH_BROKER_TOKEN", "").strip():
        token: KeySource | None = KeySource("NORTH_AUTH_BROKER_TOKEN", "NORTH_AUTH_BROKER_TOKEN")
    else:
        token = KeySource(settings.broker_token, "auth.broker.token") if settings.broker_token else None
    return Broker(url, token, environ)
