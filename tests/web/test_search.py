"""Each search provider is asked as its API wants it, and what it answers is told in one form."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import anyio
import pytest

from north_lsp.agent.web.means import search_chain
from north_lsp.storage.settings import Settings
from north_lsp.storage.web_settings import WebSettings
from north_lsp.web.search.base import Found, Query
from north_lsp.web.search.chain import PROVIDERS, SearchChain, Searched
from north_lsp.web.search.shown import shown
from tests.support.web_site import Asked, Page, Site

KEY = "key-0123456789"
VARIABLES = {one.id: one.variables[0] for one in PROVIDERS if one.variables}


pytestmark = pytest.mark.usefixtures("without_proxies")


async def no_wait(seconds: float) -> None:
    pass


def chain(site: Site, *ids: str, preferred: str = "auto", **environ: str) -> SearchChain:
    """A chain of these providers, all of which are the site."""
    keys = {VARIABLES[id]: KEY for id in ids if id != "searxng"}
    bases = {one.id: site.url for one in PROVIDERS if one.id != "searxng"}
    searxng = site.url if "searxng" in ids else ""
    return SearchChain({**keys, **environ}, preferred, searxng=searxng, bases=bases, wait=no_wait)


def answering(site: Site, answer: object, status: int = 200) -> None:
    site.answer = lambda asked: Page(json.dumps(answer), "application/json", status)


def body(asked: Asked) -> dict[str, Any]:
    found = json.loads(asked.body)
    assert isinstance(found, dict)
    return found


def bearer(asked: Asked) -> bool:
    return asked.headers["authorization"] == f"Bearer {KEY}"


async def found_by(site: Site, id: str, answer: object, query: Query) -> tuple[Asked, Found]:
    answering(site, answer)
    searched = await chain(site, id).search(query)
    assert searched.provider == id
    assert searched.found is not None, searched.failures
    return site.asked[-1], searched.found


ROW = {"title": "A page", "url": "https://a.example/"}
ALL = Query("how to fly", "week", limit=3, count=4, max_tokens=100, temperature=0.5)


async def test_tavily(site: Site) -> None:
    answer = {"answer": "Jump.", "results": [{**ROW, "content": "words", "published_date": "2026-01-02"}]}
    asked, found = await found_by(site, "tavily", answer, ALL)
    assert (asked.method, asked.path) == ("POST", "/search")
    assert bearer(asked)
    assert body(asked)["max_results"] == 5
    assert body(asked)["time_range"] == "week"
    assert (found.answer, found.sources[0].snippet, found.sources[0].when) == ("Jump.", "words", "2026-01-02")


async def test_perplexity(site: Site) -> None:
    answer = {
        "choices": [{"message": {"content": "Jump."}}],
        "search_results": [{**ROW, "date": "2026-01-02"}] * 5,
        "related_questions": ["Why?"],
    }
    asked, found = await found_by(site, "perplexity", answer, ALL)
    sent = body(asked)
    assert asked.path == "/chat/completions"
    assert (sent["model"], sent["search_mode"], sent["search_recency_filter"]) == ("sonar-pro", "web", "week")
    assert (sent["max_tokens"], sent["temperature"], sent["num_search_results"]) == (100, 0.5, 4)
    assert (found.answer, len(found.sources), found.related) == ("Jump.", 3, ["Why?"])
    usual, _ = await found_by(
        site, "perplexity", {**answer, "search_results": None, "citations": ["https://b"]}, Query("x")
    )
    assert (body(usual)["max_tokens"], body(usual)["temperature"], body(usual)["num_search_results"]) == (8192, 0.2, 20)


async def test_brave(site: Site) -> None:
    answer = {"web": {"results": [{**ROW, "description": "one", "extra_snippets": ["two"], "age": "2 days ago"}]}}
    asked, found = await found_by(site, "brave", answer, ALL)
    sent = parse_qs(urlsplit(asked.path).query)
    assert asked.headers["x-subscription-token"] == KEY
    assert sent == {"q": ["how to fly"], "count": ["4"], "extra_snippets": ["true"], "freshness": ["pw"]}
    assert (found.sources[0].snippet, found.sources[0].when) == ("one two", "2 days ago")


async def test_jina(site: Site) -> None:
    asked, found = await found_by(site, "jina", {"data": [{**ROW, "description": "words"}] * 9}, ALL)
    assert unquote(asked.path) == "/how to fly"
    assert bearer(asked)
    assert len(found.sources) == 4


async def test_kimi(site: Site) -> None:
    asked, found = await found_by(site, "kimi", {"search_results": [{**ROW, "snippet": "words", "date": "x"}]}, ALL)
    assert body(asked) == {"text_query": "how to fly", "limit": 4, "enable_page_crawling": False, "timeout_seconds": 30}
    assert found.sources[0].snippet == "words"


async def test_anthropic(site: Site) -> None:
    citation = {"type": "web_search_result_location", **ROW, "cited_text": "said so"}
    answer = {
        "content": [
            {"type": "server_tool_use", "name": "web_search", "input": {"query": "fly"}},
            {"type": "web_search_tool_result", "content": [{"type": "web_search_result", **ROW, "page_age": "1 day"}]},
            {"type": "text", "text": "Jump.", "citations": [citation]},
        ]
    }
    asked, found = await found_by(site, "anthropic", answer, Query("how to fly"))
    assert (asked.path, asked.headers["x-api-key"]) == ("/v1/messages", KEY)
    assert asked.headers["anthropic-version"]
    assert (body(asked)["model"], body(asked)["max_tokens"]) == ("claude-haiku-4-5", 4096)
    assert body(asked)["tools"][0]["name"] == "web_search"
    assert (found.answer, found.queries, found.citations[0].text) == ("Jump.", ["fly"], "said so")
    assert (found.sources[0].url, found.sources[0].when) == ("https://a.example/", "1 day")


async def test_gemini_is_asked_again_when_it_is_busy(site: Site) -> None:
    answer = {
        "candidates": [
            {
                "content": {"parts": [{"text": "Jump."}]},
                "groundingMetadata": {
                    "webSearchQueries": ["fly"],
                    "groundingChunks": [{"web": {"uri": "https://a.example/", "title": "A page"}}],
                    "groundingSupports": [{"segment": {"text": "said so"}, "groundingChunkIndices": [0, 7]}],
                },
            }
        ]
    }
    busy = [Page("{}", status=429), Page("{}", status=503)]
    site.answer = lambda asked: busy.pop() if busy else Page(json.dumps(answer), "application/json")
    searched = await chain(site, "gemini").search(ALL)
    assert searched.found is not None
    assert len(site.asked) == 3
    assert site.asked[0].headers["x-goog-api-key"] == KEY
    assert site.asked[0].path.endswith(":generateContent")
    assert body(site.asked[0])["tools"] == [{"google_search": {}}]
    found = searched.found
    assert (found.answer, found.queries, [one.text for one in found.citations]) == ("Jump.", ["fly"], ["said so"])


async def test_codex(site: Site) -> None:
    annotation = {"type": "url_citation", **ROW, "start_index": 0, "end_index": 4}
    content = [{"type": "output_text", "text": "Jump.", "annotations": [annotation]}]
    call = {"type": "web_search_call", "action": {"query": "fly"}}
    asked, found = await found_by(site, "codex", {"output": [call, {"type": "message", "content": content}]}, ALL)
    assert asked.path == "/v1/responses"
    assert body(asked)["tools"] == [{"type": "web_search", "search_context_size": "high"}]
    assert (found.answer, found.queries, found.citations[0].text) == ("Jump.", ["fly"], "Jump")
    bare = {"output": [{"type": "message", "content": [{"text": "See (https://b.example/x)."}]}]}
    _, found = await found_by(site, "codex", bare, ALL)
    assert [one.url for one in found.sources] == ["https://b.example/x"]


async def test_zai_is_asked_in_other_forms_until_one_is_taken(site: Site) -> None:
    pages = json.dumps(json.dumps([{"title": "A page", "link": "https://a.example/", "content": "words"}]))

    def answer(asked: Asked) -> Page:
        given = body(asked)["params"]["arguments"]
        if "search_engine" not in given:
            return Page(json.dumps({"error": {"code": -32602, "message": "wrong"}}), "application/json")
        result = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": pages}]}}
        return Page(f"id:1\nevent:message\ndata:{json.dumps(result)}\n\n", "text/event-stream")

    site.answer = answer
    searched = await chain(site, "zai").search(Query("x", count=7))
    assert searched.found is not None
    assert searched.found.sources[0].snippet == "words"
    assert [[*body(asked)["params"]["arguments"]] for asked in site.asked] == [
        ["query", "count"],
        ["search_query", "count"],
        ["search_query", "search_engine", "count"],
    ]


async def test_exa_with_a_key_and_without_one(site: Site) -> None:
    answer: object = {"results": [{**ROW, "highlights": ["one", "two"], "publishedDate": "2026-01-02T00:00:00Z"}]}
    asked, found = await found_by(site, "exa", answer, ALL)
    assert (asked.path, asked.headers["x-api-key"]) == ("/search", KEY)
    assert body(asked)["numResults"] == 4
    assert (found.sources[0].snippet, found.sources[0].when) == ("one two", "2026-01-02")
    said = "Title: A page\nURL: https://a.example/\nText: words\nmore\n\nTitle: B\nURL: https://b.example/\nText: x"
    answering(site, {"result": {"content": [{"type": "text", "text": said}]}})
    assert chain(site).usable() == []
    searched = await chain(site, preferred="exa").search(ALL)
    assert searched.found is not None
    assert site.asked[-1].path == "/mcp"
    assert "authorization" not in site.asked[-1].headers
    assert [one.url for one in searched.found.sources] == ["https://a.example/", "https://b.example/"]


async def test_parallel(site: Site) -> None:
    asked, found = await found_by(site, "parallel", {"results": [{**ROW, "excerpts": ["one", "two"]}]}, ALL)
    assert asked.headers["parallel-beta"] == "search-extract-2025-10-10"
    assert (body(asked)["mode"], body(asked)["max_chars_per_result"]) == ("fast", 10_000)
    assert found.sources[0].snippet == "one two"


async def test_kagi(site: Site) -> None:
    answer = {"data": {"search": [{**ROW, "snippet": "words"}], "related_search": [{"title": "wings"}]}}
    asked, found = await found_by(site, "kagi", answer, ALL)
    assert body(asked)["limit"] == 4
    assert len(body(asked)["filters"]["after"]) == 10
    assert (found.sources[0].snippet, found.related) == ("words", ["wings"])


async def test_synthetic(site: Site) -> None:
    asked, found = await found_by(site, "synthetic", {"results": [{**ROW, "text": "words", "published": "x"}]}, ALL)
    assert (asked.path, body(asked)) == ("/v2/search", {"query": "how to fly"})
    assert found.sources[0].snippet == "words"


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        ({}, None),
        ({"SEARXNG_TOKEN": "t"}, "Bearer t"),
        ({"SEARXNG_TOKEN": "t", "SEARXNG_BASIC_USERNAME": "u", "SEARXNG_BASIC_PASSWORD": "p"}, "Basic dTpw"),
        ({"SEARXNG_BASIC_USERNAME": "u"}, "set together"),
        ({"SEARXNG_BASIC_USERNAME": "u:v", "SEARXNG_BASIC_PASSWORD": "p"}, "set together"),
    ],
)
async def test_searxng(site: Site, environ: Mapping[str, str], sent: str | None) -> None:
    answering(site, {"results": [{**ROW, "content": "words"}] * 9, "suggestions": ["wings"], "answers": ["Jump."]})
    searched = await chain(site, "searxng", **environ).search(ALL)
    if sent == "set together":
        assert sent in searched.failures[0][1]
        assert site.asked == []
        return
    assert searched.found is not None
    asked = parse_qs(urlsplit(site.asked[0].path).query)
    assert asked == {"q": ["how to fly"], "format": ["json"], "time_range": ["month"]}
    assert site.asked[0].headers.get("authorization") == sent
    assert (len(searched.found.sources), searched.found.answer) == (4, "Jump.")


# -- one after the other ---------------------------------------------------------------------------------


async def test_the_next_one_is_asked_when_one_fails(site: Site) -> None:
    def answer(asked: Asked) -> Page:
        if asked.path == "/search":  # Tavily
            return Page('{"detail": {"error": "no"}}', "application/json", 401)
        return Page(json.dumps({"web": {"results": [ROW]}}), "application/json")

    site.answer = answer
    searched = await chain(site, "brave", "tavily").search(Query("x"))
    assert (searched.provider, searched.failures) == ("brave", [("Tavily", "authorization failed")])


async def test_the_preferred_one_is_first_and_an_unusable_one_is_said(site: Site) -> None:
    assert [one.id for one in chain(site, "tavily", "brave", "kagi", preferred="kagi").usable()] == [
        "kagi", "tavily", "brave",
    ]  # fmt: skip
    answering(site, {"results": []})
    searched = await chain(site, "tavily", preferred="kagi").search(Query("x"))
    assert searched.provider == "tavily"
    assert "kagi" in searched.notice


async def test_a_cancel_is_not_taken_for_a_failure(site: Site) -> None:
    arrived = anyio.Event()
    ended: list[Searched] = []

    async def hang(seconds: float) -> None:
        arrived.set()
        await anyio.sleep_forever()

    site.answer = lambda asked: Page("{}", status=503)
    busy = SearchChain({"GEMINI_API_KEY": KEY, "KAGI_API_KEY": KEY}, bases={"gemini": site.url}, wait=hang)

    async def search() -> None:
        ended.append(await busy.search(Query("x")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search)
        await arrived.wait()
        tasks.cancel_scope.cancel()
    assert ended == []


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (Page("not json", "application/json"), "cannot be read"),
        (Page('{"error": {"message": "too much"}}', status=429), "HTTP 429: too much"),
        (Page("{}", status=302, headers={"location": "http://127.0.0.1/"}), "HTTP 302"),
        (Page("[1]", "application/json"), ""),
    ],
)
async def test_whatever_is_answered_is_told(site: Site, page: Page, said: str) -> None:
    site.answer = lambda asked: page
    for id in VARIABLES:
        searched = await chain(site, id).search(Query("x"))
        assert said in shown(searched)
        assert KEY not in shown(searched)


async def test_the_settings_of_searxng_are_sent(site: Site) -> None:
    answering(site, {"results": [ROW]})
    said = {"searxng_endpoint": site.url, "searxng_categories": "it,science", "searxng_language": "de"}
    for more, sent in (
        ({"searxng_token": "t"}, "Bearer t"),
        ({"searxng_user": "me", "searxng_password": "p", "searxng_token": "t"}, "Basic bWU6cA=="),
    ):
        settings = Settings(web=WebSettings(search_provider="searxng", **said, **more))  # type: ignore[arg-type]  # texts
        await search_chain({}, None, settings).search(ALL)
        asked = site.asked[-1]
        assert asked.headers["authorization"] == sent
        assert "categories=it%2Cscience&language=de" in asked.path


# -- what a model is told --------------------------------------------------------------------------------


async def test_failures_are_told(site: Site) -> None:
    nothing = shown(await SearchChain({}).search(Query("x")))
    assert nothing.startswith("Error: no search provider is configured")
    assert all(name in nothing for name in ("TAVILY_API_KEY", "KAGI_API_KEY", "SEARXNG_ENDPOINT"))
    answering(site, {}, 403)
    assert shown(await chain(site, "brave").search(Query("x"))) == "Error: Brave authorization failed"
    both = shown(await chain(site, "brave", "kagi").search(Query("x")))
    assert both == "Error: every search provider failed:\n- Brave authorization failed\n- Kagi authorization failed"
    answering(site, {}, 404)
    assert "Anthropic: the model or the endpoint was not found" in shown(await chain(site, "anthropic").search(ALL))


async def test_what_was_found_is_told(site: Site) -> None:
    answer = {"answer": "Jump\u202e.", "results": [{**ROW, "content": "w" * 300, "published_date": "2026"}]}
    _, found = await found_by(site, "tavily", answer, ALL)
    told = shown(Searched("tavily", "Tavily", found)).split("\n\n")
    assert told[:3] == [
        "Jump<U+202E>.",
        "## Sources\n1 source",
        f"[1] A page (2026)\nhttps://a.example/\n{'w' * 239}\u2026",
    ]
    assert "data from the web" in told[-1]
    assert shown(Searched("tavily", "Tavily", Found())).startswith("Nothing was found.")
