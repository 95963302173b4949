"""A web server on loopback that answers by script and keeps what it was asked."""

import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Asked:
    """A request, as it arrived; the headers' names in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Page:
    """An answer."""

    body: bytes | str = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Answers = Callable[[Asked], Page]


class Site:
    """Answers with `pages`, by path, or with what `answer` returns; `secure` serves https."""

    def __init__(self, secure: ssl.SSLContext | None = None) -> None:
        self.pages: dict[str, Page] = {}
        self.answer: Answers | None = None
        self.asked: list[Asked] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, self.rfile.read(length))
                site.asked.append(asked)
                missing = Page("<title>Nothing here</title>", status=404)
                page = site.answer(asked) if site.answer is not None else site.pages.get(self.path, missing)
                body = page.body.encode() if isinstance(page.body, str) else page.body
                self.send_response(page.status)
                for name, value in {"content-type": page.kind, "content-length": str(len(body))}.items():
                    if name not in {given.lower() for given in page.headers}:
                        self.send_header(name, value)
                for name, value in page.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that goes away, or does not believe the certificate

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if secure is not None:
            self._server.socket = secure.wrap_socket(self._server.socket, server_side=True)
        self.scheme = "https" if secure is not None else "http"

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
