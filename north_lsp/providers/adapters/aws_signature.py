"""Signs requests to AWS with the credentials that Amazon's own library finds: variables, a profile, single sign-on, the
role of a container or a machine. Imported only for Amazon Bedrock without a key of its own."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from north_lsp.display import one_line
from north_lsp.providers.adapters.failures import Refused
from north_lsp.providers.credentials import MissingCredential

if TYPE_CHECKING:
    import httpx2

_SERVICE = "bedrock"
_HINT = "sign in with `aws sso login` or `aws configure`, or set AWS_BEARER_TOKEN_BEDROCK; AWS_PROFILE names a profile"


class AwsSignature:
    """Puts a signature into each request, for a region. Raises MissingCredential where the library is not installed."""

    def __init__(self, environ: Mapping[str, str], region: str) -> None:
        if importlib.util.find_spec("botocore") is None:
            raise MissingCredential(
                "Amazon Bedrock needs a package to sign requests: run `pip install 'north-lsp[bedrock]'` where North "
                "is installed, or set AWS_BEARER_TOKEN_BEDROCK"
            )
        self._region = region
        self._key = environ.get("AWS_ACCESS_KEY_ID", "").strip()
        self._secret = environ.get("AWS_SECRET_ACCESS_KEY", "").strip()
        self._session = environ.get("AWS_SESSION_TOKEN", "").strip() or None
        self._profile = environ.get("AWS_PROFILE", "").strip() or None
        self._found: Any = None
        self._lock = threading.Lock()

    async def sign(self, request: httpx2.Request) -> None:
        """Raise Refused, with what to do, where there are no credentials or they cannot be refreshed."""
        content = await request.aread()
        # What a proxy may change on the way is not signed.
        signed = {name: request.headers[name] for name in ("content-type",) if name in request.headers}
        about = (request.method, str(request.url), signed, content)
        request.headers.update(await anyio.to_thread.run_sync(self._headers, *about, abandon_on_cancel=True))

    def _headers(self, method: str, url: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]:
        auth, awsrequest = import_module("botocore.auth"), import_module("botocore.awsrequest")
        exceptions = import_module("botocore.exceptions")
        try:
            with self._lock:
                if self._found is None:
                    self._found = self._credentials()
            if self._found is None:
                raise ValueError("no credentials were found")
            asked = awsrequest.AWSRequest(method=method, url=url, headers=dict(headers), data=content)
            auth.SigV4Auth(self._found, _SERVICE, self._region).add_auth(asked)  # which refreshes what has ended
        except (exceptions.BotoCoreError, exceptions.ClientError, OSError, ValueError) as error:
            reason = f"{_HINT} ({one_line(str(error), 120)})"
            raise Refused(401, {}, {"error": {"message": reason}}, reason) from None
        return dict(asked.headers.items())

    def _credentials(self) -> Any:
        if self._key and self._secret:
            return import_module("botocore.credentials").Credentials(self._key, self._secret, self._session)
        return import_module("botocore.session").Session(profile=self._profile).get_credentials()
