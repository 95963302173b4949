"""Where a provider's key comes from. A key is never shown. Imports nothing heavy."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_VARIABLE = lazy_pattern(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_COMMAND_SECONDS = 10
BEARER_BETA = "oauth-2025-04-20"  # the beta header that Anthropic requires with a bearer token


class MissingCredential(ValueError):
    """A model cannot be used yet; the text is one line that says what to set."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A secret and, in `source`, where it comes from, for messages: a variable's name, or the key path in
    models.yml."""

    secret: str
    source: str
    is_token: bool = False

    def __repr__(self) -> str:
        return f"Credential({self.source})"


def is_bearer_token(secret: str) -> bool:
    """Return whether a secret is a token of Anthropic's logins, which goes in a different header than a key."""
    return secret.startswith("sk-ant-oat")


def can_be_sent(secret: str) -> bool:
    """Return whether a secret is valid in a header. Check first: the HTTP client's own error would show it."""
    return secret.isascii() and secret.isprintable()


@dataclass(frozen=True, slots=True)
class KeySource:
    """A value in models.yml that may be secret: `!command`, the name of a variable, or the literal value. `where` is
    its key path."""

    value: str
    where: str

    @property
    def variable(self) -> str | None:
        """The environment variable that the value names, None if it does not look like a name."""
        return self.value if _VARIABLE.fullmatch(self.value) else None

    def is_there(self, environ: Mapping[str, str]) -> bool:
        """Return whether it can be resolved, without running a command."""
        if self.value in environ:
            return bool(environ[self.value].strip())
        return bool(self.value.strip()) and self.variable is None

    def resolve(self, environ: Mapping[str, str]) -> Credential:
        """Return the secret, running the command if it is one (up to 10 s). Raises MissingCredential."""
        if self.value.startswith("!"):
            return Credential(self._run(environ), self.where)
        if self.value in environ:
            text = environ[self.value].strip()
            if not text:
                raise MissingCredential(f"the variable {self.value}, which {self.where} names, is empty: set it")
            return Credential(text, self.value)
        if self.variable is not None:
            raise MissingCredential(f"the variable {self.value}, which {self.where} names, is not set: set it")
        return Credential(self.value, self.where)

    def _run(self, environ: Mapping[str, str]) -> str:
        try:
            done = subprocess.run(
                self.value[1:],
                shell=True,
                env={**environ, **systems.ONLY_PATH},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_COMMAND_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise MissingCredential(f"the command in {self.where} did not finish within {_COMMAND_SECONDS} s") from None
        except OSError as error:
            raise MissingCredential(f"the command in {self.where} could not be started: {error.strerror}") from None
        text = done.stdout.decode("utf-8", "replace").strip()
        if done.returncode != 0 or not text:
            raise MissingCredential(f"the command in {self.where} printed no key (exit code {done.returncode}): fix it")
        return text
