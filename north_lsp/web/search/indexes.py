"""Search providers that return pages: what they are sent, and what they answer."""

from __future__ import annotations

import base64
from urllib.parse import quote

from north_lsp.web.search.base import Found, Query, SearchClient, SearchFailed, Source, rows, sources, text


async def tavily(query: Query, client: SearchClient) -> Found:
    body: dict[str, object] = {
        "query": query.text,
        "max_results": query.wanted(20, 5, least=5),
        "include_answer": True,
        "search_depth": "basic",
    }
    if query.recency:
        body["time_range"] = query.recency
    answer = await client.post("/search", body, client.bearer)
    found = sources(rows(answer, "results"), "title", "url", "content", "published_date")
    return Found(found, text(answer, "answer"))


async def brave(query: Query, client: SearchClient) -> Found:
    params = {"q": query.text, "count": str(query.wanted(20, 10)), "extra_snippets": "true"}
    if query.recency:
        params["freshness"] = f"p{query.recency[0]}"
    answer = await client.get("/res/v1/web/search", params, {"x-subscription-token": client.key})
    found = []
    for row in rows(answer, "web", "results"):
        extra = row.get("extra_snippets")
        parts = [text(row, "description"), *(one for one in extra or () if isinstance(one, str))]
        if text(row, "url"):
            snippet = " ".join(part for part in parts if part)
            found.append(Source(text(row, "title", "url"), text(row, "url"), snippet, text(row, "age", "page_age")))
    return Found(found)


async def jina(query: Query, client: SearchClient) -> Found:
    headers = {**client.bearer, "x-respond-with": "no-content"}
    answer = await client.get(f"/{quote(query.text, safe='')}", {}, headers)
    found = sources(rows(answer, "data"), "title", "url", "description", "date")
    asked = query.count if query.count is not None else query.limit
    return Found(found if asked is None else found[: max(asked, 1)])


async def kimi(query: Query, client: SearchClient) -> Found:
    body = {
        "text_query": query.text,
        "limit": query.wanted(20, 10),
        "enable_page_crawling": False,
        "timeout_seconds": 30,
    }
    answer = await client.post("", body, client.bearer)
    return Found(sources(rows(answer, "search_results"), "title", "url", "snippet", "date"))


async def exa(query: Query, client: SearchClient) -> Found:
    """Ask the API with a key, else the public MCP server."""
    count = query.wanted(25, 10)
    if not client.key:
        return await _exa_tool(query, client, count)
    body: dict[str, object] = {
        "query": query.text,
        "numResults": count,
        "type": "auto",
        "contents": {"highlights": True},
    }
    if query.recency:
        body["startPublishedDate"] = query.since()
    answer = await client.post("/search", body, {"x-api-key": client.key})
    found = []
    for row in rows(answer, "results"):
        said = row.get("highlights")
        snippet = " ".join(one for one in said if isinstance(one, str)) if isinstance(said, list) else ""
        if text(row, "url"):
            snippet = snippet or text(row, "summary", "text")
            found.append(Source(text(row, "title", "url"), text(row, "url"), snippet, text(row, "publishedDate")[:10]))
    return Found(found)


async def _exa_tool(query: Query, client: SearchClient, count: int) -> Found:
    arguments = {"query": query.text, "numResults": count}
    said = await tool_text(client, "/mcp", "web_search_exa", arguments)
    found, row = [], dict[str, str]()
    for line in [*said.split("\n"), "Title: "]:
        name, colon, value = line.partition(": ")
        if colon and name == "Title":
            if row.get("URL"):
                found.append(
                    Source(row.get("Title") or row["URL"], row["URL"], row.get("Text", ""), row.get("When", ""))
                )
            row = {"Title": value.strip()}
        elif colon and name in ("URL", "Text", "Published Date"):
            row["When" if name == "Published Date" else name] = value.strip()
        elif row.get("Text"):
            row["Text"] += f" {line.strip()}"
    return Found(found)


async def tool_text(client: SearchClient, path: str, tool: str, arguments: dict[str, object]) -> str:
    """Call a tool of an MCP server that needs no session, and return what it says. Raises SearchFailed."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {**client.bearer, "accept": "application/json, text/event-stream"}
    answer = await client.post(path, body, headers)
    if isinstance(answer, dict) and isinstance(error := answer.get("error"), dict):
        raise SearchFailed(f"error {error.get('code')}: {text(error, 'message')}")
    result = answer.get("result") if isinstance(answer, dict) else None
    said = "\n".join(text(part, "text") for part in rows(result, "content"))
    if isinstance(result, dict) and result.get("isError"):
        raise SearchFailed(said[:200] or "it failed without saying why")
    return said


async def parallel(query: Query, client: SearchClient) -> Found:
    body = {
        "objective": query.text,
        "search_queries": [query.text],
        "mode": "fast",
        "max_results": query.wanted(40, 10),
        "max_chars_per_result": 10_000,
    }
    headers = {"x-api-key": client.key, "parallel-beta": "search-extract-2025-10-10"}
    answer = await client.post("/v1beta/search", body, headers)
    found = []
    for row in rows(answer, "results"):
        said = row.get("excerpts")
        snippet = " ".join(one for one in said if isinstance(one, str)) if isinstance(said, list) else ""
        if text(row, "url"):
            found.append(Source(text(row, "title", "url"), text(row, "url"), snippet, text(row, "publish_date")))
    return Found(found)


async def kagi(query: Query, client: SearchClient) -> Found:
    body: dict[str, object] = {"query": query.text, "limit": query.wanted(40, 10)}
    if query.recency:
        body["filters"] = {"after": query.since()}
    answer = await client.post("/search", body, client.bearer)
    found = sources(rows(answer, "data", "search"), "title", "url", "snippet", "time")
    direct = " ".join(text(row, "snippet", "title") for row in rows(answer, "data", "direct_answer"))
    related = [text(row, "title", "query") for row in rows(answer, "data", "related_search")]
    return Found(found, direct, related=[one for one in related if one])


async def synthetic(query: Query, client: SearchClient) -> Found:
    answer = await client.post("/v2/search", {"query": query.text}, client.bearer)
    return Found(sources(rows(answer, "results"), "title", "url", "text", "published"))


async def searxng(query: Query, client: SearchClient) -> Found:
    params = {"q": query.text, "format": "json"}
    for name in ("categories", "language"):
        if wanted := client.environ.get(f"SEARXNG_{name.upper()}", ""):
            params[name] = wanted
    if query.recency:
        params["time_range"] = "month" if query.recency == "week" else query.recency
    answer = await client.get("/search", params, _searxng_headers(client))
    found = sources(rows(answer, "results"), "title", "url", "content", "publishedDate")
    said, more = (answer.get(name) if isinstance(answer, dict) else None for name in ("answers", "suggestions"))
    answers = [one if isinstance(one, str) else text(one, "answer") for one in said] if isinstance(said, list) else []
    related = [one for one in more if isinstance(one, str)] if isinstance(more, list) else []
    return Found(found[: query.wanted(20, 10)], " ".join(one for one in answers if one), related=related)


def _searxng_headers(client: SearchClient) -> dict[str, str]:
    user, word = (client.environ.get(f"SEARXNG_BASIC_{name}", "") for name in ("USERNAME", "PASSWORD"))
    if bool(user) != bool(word) or ":" in user:
        names = "SEARXNG_BASIC_USERNAME (without a colon) and SEARXNG_BASIC_PASSWORD"
        raise SearchFailed(f"{names} must be set together")
    if user:
        return {"authorization": "Basic " + base64.b64encode(f"{user}:{word}".encode()).decode()}
    return dict(client.bearer)
