"""A language server on standard input and output that knows Python a little: `name = …` defines a name, `BAD` is an
error, and a formatter takes the blanks off the ends of lines. Columns are counted in UTF-8: Neovim has to recount."""

import json
import re
import sys
from typing import Any

texts: dict[str, str] = {}


def send(message: dict[str, Any]) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
    sys.stdout.buffer.flush()


def receive() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def span(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def found(text: str, pattern: str) -> list[dict[str, Any]]:
    lines = (line.encode() for line in text.split("\n"))
    return [
        span(n, *match.span())
        for n, line in enumerate(lines)
        for match in re.finditer(pattern.encode(), line, re.ASCII)
    ]


def publish(uri: str) -> None:
    diagnostics = [
        {"range": at, "severity": 1, "message": "this is bad", "source": "stub"} for at in found(texts[uri], "BAD")
    ]
    send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": diagnostics}})


def word_at(params: dict[str, Any]) -> str:
    at = params["position"]
    line = texts[params["textDocument"]["uri"]].split("\n")[at["line"]].encode()
    return next(
        (m[0].decode() for m in re.finditer(rb"\w+", line, re.ASCII) if m.start() <= at["character"] < m.end()), ""
    )


def places(pattern: str) -> list[dict[str, Any]]:
    return [{"uri": uri, "range": at} for uri, text in sorted(texts.items()) for at in found(text, pattern)]


def answer(method: str, params: dict[str, Any]) -> object:
    uri = params.get("textDocument", {}).get("uri", "")
    match method:
        case "initialize":
            provided = ("definition", "references", "hover", "rename", "documentSymbol", "documentFormatting")
            capabilities = {f"{name}Provider": True for name in provided}
            return {"capabilities": {"positionEncoding": "utf-8", "textDocumentSync": 1, **capabilities}}
        case "textDocument/definition":
            return places(rf"\b{word_at(params)}(?= =)")
        case "textDocument/references":
            return places(rf"\b{word_at(params)}\b")
        case "textDocument/hover":
            return {"contents": {"kind": "markdown", "value": f"the name `{word_at(params)}`"}}
        case "textDocument/rename":
            edits = [{"range": at["range"], "newText": params["newName"]} for at in places(rf"\b{word_at(params)}\b")]
            return {"changes": {uri: edits}}
        case "textDocument/documentSymbol":
            lines = texts[uri].encode().split(b"\n")
            named = [(at, lines[at["start"]["line"]]) for at in found(texts[uri], r"^\w+(?= =)")]
            return [
                {"name": line[: at["end"]["character"]].decode(), "kind": 13, "range": at, "selectionRange": at}
                for at, line in named
            ]
        case "textDocument/formatting":
            return [{"range": at, "newText": ""} for at in found(texts[uri], r" +$")]
        case _:
            return None


def main() -> None:
    while (message := receive()) is not None:
        method, params = message.get("method", ""), message.get("params") or {}
        if method in ("textDocument/didOpen", "textDocument/didChange"):
            uri = params["textDocument"]["uri"]
            texts[uri] = params["textDocument"].get("text") or params["contentChanges"][-1]["text"]
            publish(uri)
        elif method == "exit":
            return
        elif "id" in message and method:
            send({"id": message["id"], "result": answer(method, params)})


if __name__ == "__main__":
    main()
