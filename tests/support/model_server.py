"""A model server on loopback that plays scripted answers, in the real streaming format of the API that a request's path
names. It refuses what the vendor would refuse (`rules/`)."""

import json
import socket
import ssl
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import anyio.to_thread

from tests.support import (
    anthropic_format,
    bedrock_format,
    chat_format,
    converse_format,
    google_format,
    responses_format,
)
from tests.support.patience import PATIENCE
from tests.support.rules.check import check_http
from tests.support.script import Answer, Cut, Fail, Gate, Raw, Reset

_FORMATS = {
    "/messages": anthropic_format,
    "/responses": responses_format,
    "/chat/completions": chat_format,
    "/invoke-with-response-stream": bedrock_format,
    "/converse-stream": converse_format,
    ":streamRawPredict": anthropic_format,
    ":streamGenerateContent?alt=sse": google_format,
}


@dataclass(frozen=True)
class RecordedRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes


class ModelServer:
    """A context manager; `script` answers before they are asked for. Leaving it fails for requests that had no answer
    left, and for those that the vendor would have refused (unless `may_refuse`). `pages` are JSON, a status alone, or a
    function that makes either from the body, by path, for requests other than to models. With `tls` it speaks https,
    but has no gates."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[RecordedRequest] = []
        self.unexpected: list[RecordedRequest] = []
        self.refused: list[str] = []
        self.may_refuse = False
        self.disconnects = 0
        self.pages: dict[str, Any] = {}
        self._answers: deque[Answer] = deque()
        self._routes: dict[str, deque[Answer]] = {}
        self._reached: set[str] = set()
        self._opened: set[str] = set()
        self._closing = False
        self._news = threading.Condition()
        self._http = _Http(("127.0.0.1", 0), partial(_Handler, self))
        self._http.daemon_threads = True
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._scheme = "https" if tls is not None else "http"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._news:
            self._closing = True
            self._news.notify_all()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(PATIENCE)
        if kind is None and self.refused and not self.may_refuse:
            raise AssertionError(f"the vendor would have refused: {'; '.join(self.refused)}")
        if kind is None and self.unexpected:
            raise AssertionError(f"{len(self.unexpected)} requests came for which no answer was scripted")

    def script(self, *answers: Answer) -> None:
        with self._news:
            self._answers.extend(answers)

    def route(self, words: str, *answers: Answer) -> None:
        """Script answers for requests that have these words, as those of several models at once do."""
        with self._news:
            self._routes.setdefault(words, deque()).extend(answers)

    def drop(self) -> None:
        """Forget the answers that have not been asked for."""
        with self._news:
            self._answers.clear()

    def open(self, name: str) -> None:
        with self._news:
            self._opened.add(name)
            self._news.notify_all()

    def wait_reached(self, name: str, timeout: float = PATIENCE) -> None:
        self._wait(lambda: name in self._reached, f"no stream reached the gate {name!r}", timeout)

    async def reached(self, name: str) -> None:
        await anyio.to_thread.run_sync(self.wait_reached, name)

    def wait_disconnect(self, timeout: float = PATIENCE) -> None:
        self._wait(lambda: self.disconnects > 0, "no client hung up", timeout)

    def _wait(self, condition: Callable[[], bool], complaint: str, timeout: float) -> None:
        with self._news:
            if not self._news.wait_for(condition, timeout):
                raise AssertionError(complaint)

    # -- for the handler -----------------------------------------------------------------------------------------------

    def take(self, request: RecordedRequest) -> Answer | None:
        with self._news:
            self.requests.append(request)
            text = request.raw.decode("utf-8", "replace")
            for words, answers in self._routes.items():
                if words in text and answers:
                    return answers.popleft()
            if self._answers:
                return self._answers.popleft()
            self.unexpected.append(request)
            return None

    def refuse(self, message: str) -> None:
        with self._news:
            self.refused.append(message)

    def hold(self, gate: Gate, connection: socket.socket) -> bool:
        """Wait at a gate. Return False if the client hangs up or the server closes before it opens."""
        with self._news:
            self._reached.add(gate.name)
            self._news.notify_all()
            while gate.name not in self._opened:
                if self._closing or _hung_up(connection):
                    return False
                self._news.wait(0.01)
        return True

    def hung_up(self) -> None:
        with self._news:
            self.disconnects += 1
            self._news.notify_all()


class _Http(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore TLS errors: a client that does not trust the certificate hangs up, which is what the test wants."""
        if not isinstance(sys.exc_info()[1], ssl.SSLError):
            super().handle_error(request, client_address)


def _hung_up(connection: socket.socket) -> bool:
    connection.settimeout(0)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(None)


def _read(raw: bytes) -> Any:
    """JSON, or nothing for a form, as tokens are asked for."""
    try:
        return json.loads(raw)
    except ValueError:
        return {}


def _error_headers(format: Any, type: str) -> dict[str, str]:
    """The headers of an error, in which some vendors name it."""
    named = getattr(format, "error_headers", None)
    return {"Content-Type": "application/json", **(named(type) if named is not None else {})}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, server: ModelServer, *arguments: Any) -> None:
        self._model = server
        super().__init__(*arguments)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._page()

    def _page(self, raw: bytes = b"") -> None:
        page = self._model.pages.get(self.path)
        page = page(raw) if callable(page) else page
        body = page if isinstance(page, bytes) else json.dumps(page).encode()
        self.send_response(page if isinstance(page, int) else 404 if page is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        raw = self.rfile.read(length)
        if len(raw) < length:  # the client was killed while it sent
            self._model.hung_up()
            self.close_connection = True
            return
        request = RecordedRequest(self.command, self.path, dict(self.headers.items()), _read(raw), raw)
        path = self.path if "alt=sse" in self.path else self.path.partition("?")[0]
        format = next((known for end, known in _FORMATS.items() if path.endswith(end)), None)
        if format is None:
            self._page(raw)
            return
        answer = self._model.take(request)
        if (refused := check_http(path, request.body)) is not None:
            self._model.refuse(refused.message)
            self._send(400, refused.body, _error_headers(format, "ValidationException"))
            return
        if answer is None:
            answer = Answer((Fail(500, "api_error", "no answer was scripted for this request"),))
        fail = next((part for part in answer.parts if isinstance(part, Fail)), None)
        try:
            match answer.parts:
                case (Reset(), *_):
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    self.close_connection = True
                case (Raw() as whole, *_):
                    self._send(whole.status, whole.body, {"Content-Type": whole.content_type})
                case _ if fail is not None:
                    headers = _error_headers(format, fail.type) | fail.headers
                    self._send(fail.status, format.error_body(fail), headers)
                case _:
                    kind = getattr(format, "CONTENT_TYPE", "text/event-stream")
                    self._stream(format.stream(answer, request.body), kind)
        except (BrokenPipeError, ConnectionResetError):
            self._model.hung_up()
            self.close_connection = True

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, pieces: Iterator[anthropic_format.Piece], kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            match piece:
                case Gate():
                    if not self._model.hold(piece, self.connection):
                        self._model.hung_up()
                        self.close_connection = True
                        return
                case Cut():
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                case data:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                    self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
