"""Search providers that answer in words: models which search. What they are sent, and what they answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from north_lsp.web.search.base import Citation, Found, Query, SearchClient, SearchFailed, Source, rows, sources, text
from north_lsp.web.search.indexes import tool_text

_AGAIN = (1.0, 2.0, 4.0)
_ADDRESSES = ("https://", "http://")


async def perplexity(query: Query, client: SearchClient) -> Found:
    body: dict[str, object] = {
        "model": "sonar-pro",
        "messages": [{"role": "user", "content": query.text}],
        "search_mode": "web",
        "max_tokens": query.max_tokens or 8192,
        "temperature": 0.2 if query.temperature is None else query.temperature,
        "num_search_results": query.count or 20,
    }
    if query.recency:
        body["search_recency_filter"] = query.recency
    answer = await client.post("/chat/completions", body, client.bearer)
    said = text((rows(answer, "choices") or [{}])[0].get("message"), "content")
    found = sources(rows(answer, "search_results"), "title", "url", "snippet", "date")
    cited = answer.get("citations") if isinstance(answer, dict) else None
    if not found and isinstance(cited, list):
        found = [Source(one, one) for one in cited if isinstance(one, str)]
    related = answer.get("related_questions") if isinstance(answer, dict) else None
    more = [one for one in related if isinstance(one, str)] if isinstance(related, list) else []
    return Found(found if query.limit is None else found[: max(query.limit, 1)], said, related=more)


async def anthropic(query: Query, client: SearchClient) -> Found:
    body: dict[str, object] = {
        "model": client.environ.get("ANTHROPIC_SEARCH_MODEL") or "claude-haiku-4-5",
        "max_tokens": query.max_tokens or 4096,
        "messages": [{"role": "user", "content": query.text}],
        "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}],
    }
    if query.temperature is not None:
        body["temperature"] = query.temperature
    try:
        answer = await client.post("/v1/messages", body, {"x-api-key": client.key, "anthropic-version": "2023-06-01"})
    except SearchFailed as failed:
        if failed.status == 404:
            raise SearchFailed("the model or the endpoint was not found", 404) from None
        raise
    said, found, cited, queries = [], list[Source](), list[Citation](), list[str]()
    for block in rows(answer, "content"):
        match block.get("type"):
            case "text":
                said.append(text(block, "text"))
                cited += [
                    Citation(text(one, "url"), text(one, "title"), text(one, "cited_text"))
                    for one in rows(block, "citations")
                    if text(one, "url")
                ]
            case "server_tool_use":
                queries.append(text(block.get("input"), "query"))
            case "web_search_tool_result":
                if isinstance(error := block.get("content"), dict):
                    raise SearchFailed(f"the search failed: {text(error, 'error_code')}")
                found += sources(rows(block, "content"), "title", "url", "", "page_age")
    return Found(found, "".join(said).strip(), cited, queries=[one for one in queries if one])


async def gemini(query: Query, client: SearchClient) -> Found:
    config: dict[str, object] = {}
    if query.max_tokens is not None:
        config["maxOutputTokens"] = query.max_tokens
    if query.temperature is not None:
        config["temperature"] = query.temperature
    body: dict[str, object] = {"contents": [{"role": "user", "parts": [{"text": query.text}]}]}
    body |= {"tools": [{"google_search": {}}]} | ({"generationConfig": config} if config else {})
    model = client.environ.get("GEMINI_SEARCH_MODEL") or "gemini-2.5-flash"
    answer = await _patiently(client, f"/v1beta/models/{model}:generateContent", body)
    first = (rows(answer, "candidates") or [{}])[0]
    said = "".join(text(part, "text") for part in rows(first, "content", "parts"))
    grounding = first.get("groundingMetadata")
    found = [
        Source(text(chunk.get("web"), "title", "uri"), text(chunk.get("web"), "uri"))
        for chunk in rows(grounding, "groundingChunks")
        if text(chunk.get("web"), "uri")
    ]
    cited = []
    for support in rows(grounding, "groundingSupports"):
        places = support.get("groundingChunkIndices")
        for place in places if isinstance(places, list) else []:
            if isinstance(place, int) and 0 <= place < len(found):
                cited.append(Citation(found[place].url, found[place].title, text(support.get("segment"), "text")))
    searched = grounding.get("webSearchQueries") if isinstance(grounding, dict) else None
    queries = [one for one in searched if isinstance(one, str)] if isinstance(searched, list) else []
    return Found(found, said, cited, queries=queries)


async def _patiently(client: SearchClient, path: str, body: object) -> Any:
    for seconds in _AGAIN:
        try:
            return await client.post(path, body, {"x-goog-api-key": client.key})
        except SearchFailed as failed:
            if failed.status != 429 and failed.status < 500:
                raise
        await client.wait(seconds)
    return await client.post(path, body, {"x-goog-api-key": client.key})


async def codex(query: Query, client: SearchClient) -> Found:
    body: dict[str, object] = {
        "model": client.environ.get("OPENAI_SEARCH_MODEL") or "gpt-5-mini",
        "input": query.text,
        "tools": [{"type": "web_search", "search_context_size": "high"}],
        "store": False,
    }
    if query.max_tokens is not None:
        body["max_output_tokens"] = query.max_tokens
    answer = await client.post("/v1/responses", body, client.bearer)
    said, cited, queries = list[str](), list[Citation](), list[str]()
    for item in rows(answer, "output"):
        if item.get("type") == "web_search_call":
            queries.append(text(item.get("action"), "query"))
        for part in rows(item, "content"):
            written = text(part, "text")
            said.append(written)
            cited += [
                Citation(text(one, "url"), text(one, "title"), _piece(written, one))
                for one in rows(part, "annotations")
                if one.get("type") == "url_citation" and text(one, "url")
            ]
    whole = "\n".join(one for one in said if one)
    pages = {one.url: Source(one.title or one.url, one.url) for one in cited}
    if not pages:
        words = (word.strip("()[]<>,;.\"'") for word in whole.split())
        pages = {word: Source(word, word) for word in words if word.startswith(_ADDRESSES)}
    return Found(list(pages.values()), whole, cited, queries=[one for one in queries if one])


def _piece(written: str, annotation: Mapping[str, object]) -> str:
    match annotation:
        case {"start_index": int(start), "end_index": int(end)} if 0 <= start < end:
            return written[start:end]
        case _:
            return ""


async def zai(query: Query, client: SearchClient) -> Found:
    count = query.wanted(50, 10)
    forms: list[dict[str, object]] = [
        {"query": query.text, "count": count},
        {"search_query": query.text, "count": count},
        {"search_query": query.text, "search_engine": "search-prime", "count": count},
    ]
    for form in forms[:-1]:
        try:
            return _of_zai(await tool_text(client, "", "web_search_prime", form))
        except SearchFailed as failed:
            if failed.status in (401, 403):
                raise
    return _of_zai(await tool_text(client, "", "web_search_prime", forms[-1]))


def _of_zai(said: str) -> Found:
    found: object = said
    for _ in range(2):  # a text that has JSON in it, itself written as JSON
        try:
            found = json.loads(found) if isinstance(found, str) else found
        except ValueError:
            raise SearchFailed("its answer cannot be read") from None
    inner = found if isinstance(found, list) else rows(found, "search_result") or rows(found, "results")
    made = [
        Source(text(row, "title", "link"), text(row, "link", "url"), text(row, "content"), text(row, "publish_date"))
        for row in inner
        if text(row, "link", "url")
    ]
    return Found(made)
