"""Google Cloud's credentials, as Google's own library finds them: a service account, a user's login, the machine's
account. Imported only for Vertex AI."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from north_lsp.display import one_line
from north_lsp.providers.adapters.failures import Refused
from north_lsp.providers.credentials import MissingCredential

if TYPE_CHECKING:
    import httpx2

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_SECONDS = 20
_HINT = "log in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"


class VertexToken:
    """Puts a token into each request, and gets a new one when the last has ended. Raises MissingCredential where the
    library is not installed."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        try:
            import google.auth
            import google.auth.transport.requests
        except ImportError:
            raise MissingCredential(
                "Google Vertex AI needs a package: run `pip install 'north-lsp[vertex]'` where North is installed"
            ) from None
        self._library: Any = google.auth
        self._file = environ.get("GOOGLE_APPLICATION_CREDENTIALS", "").strip()
        self._bundle = environ.get("NORTH_CA_BUNDLE", "")
        self._found: Any = None
        self._lock = threading.Lock()

    async def sign(self, request: httpx2.Request) -> None:
        """Raise Refused, with what to do, where there are no credentials or they are not accepted."""
        request.headers["Authorization"] = (
            f"Bearer {await anyio.to_thread.run_sync(self._token, abandon_on_cancel=True)}"
        )

    def _token(self) -> str:
        google_auth = self._library
        with self._lock:
            try:
                if self._found is None:
                    self._found = self._credentials()
                if not self._found.valid:
                    requests = google_auth.transport.requests
                    with requests.requests.Session() as session:
                        session.verify = self._bundle or True
                        self._found.refresh(partial(requests.Request(session), timeout=_SECONDS))
                return str(self._found.token)
            except (google_auth.exceptions.GoogleAuthError, OSError, ValueError) as error:
                reason = f"{_HINT} ({one_line(str(error), 120)})"
                raise Refused(401, {}, {"error": {"message": reason}}, reason) from None

    def _credentials(self) -> Any:
        if not self._file:
            return self._library.default(scopes=_SCOPES)[0]
        with warnings.catch_warnings():
            # The library warns of files from strangers; this one is named by the user's own environment.
            warnings.simplefilter("ignore", DeprecationWarning)
            return self._library.load_credentials_from_file(self._file, scopes=_SCOPES)[0]
