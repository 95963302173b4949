"""Sites that say by an API what their pages show: packages, repositories, questions. Each row of the table says which
addresses are meant, what is asked instead, and how the answer is told."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import field
from html import escape
from typing import Any

import anyio.to_thread

from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.web.addresses import Target, not_public, target
from north_lsp.web.client import WebClient
from north_lsp.web.documents import Document
from north_lsp.web.reference_sites import REFERENCE_SITES
from north_lsp.web.search.base import rows, text
from north_lsp.web.site import MOST_ROWS, Site, names, one_part, sheet
from north_lsp.workspace.formats.parsing_child import page_in_child


@dataclass(frozen=True)
class SiteReader:
    """Asks the APIs. `bases` replaces their addresses."""

    client: WebClient
    bases: Mapping[str, str] = field(default_factory=dict)

    async def read(self, page: Target) -> Document | None:
        """Return what a page is about; None if no API is known for it, or the API does not say."""
        host = page.host.removeprefix("www.")
        for site in SITES:
            if (parts := site.found(host, page.path)) is None:
                continue
            try:
                data = await self._asked(site, site.asked, parts)
                if site.list and isinstance(data, dict):
                    data["_list"] = await self._asked(site, site.list, parts)
                told = await anyio.to_thread.run_sync(site.tell, data)
                if site.html and told:
                    whole = f"<html><body><main>{told}</main></body></html>".encode("utf-8", "replace")
                    _, told = await page_in_child(whole, "utf-8", page.url)
                told = await anyio.to_thread.run_sync(_shown, told)
            except (ToolError, KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
                return None  # the page itself says it, too
            if told:
                return Document("text/markdown", told, note=f"told by the API of {host}")
        return None

    async def _asked(self, site: Site, asked: str, parts: Mapping[str, str]) -> Any:
        """Ask an API, which must be on the public internet. Raises ToolError, ValueError, RecursionError."""
        at = target(self.bases.get(site.base, site.base.format(**parts)) + asked.format(**parts))
        addresses = () if self.client.proxy(at) else await self.client.addresses(at)
        if site.base not in self.bases and not_public(addresses):
            raise ToolError("DENIED", f"{at.authority} is not on the public internet")
        headers = {"accept": "*/*" if site.text else "application/json"}
        environ = self.client.environ
        if site.base == _GITHUB and (token := environ.get("GITHUB_TOKEN", "") or environ.get("GH_TOKEN", "")):
            headers["authorization"] = f"Bearer {token}"
        answer = await self.client.get(at, addresses, headers)
        if answer.status != 200:
            raise ToolError("REMOTE_ERROR", f"{at.authority} answers {answer.status}")
        if site.text:
            return answer.data.decode("utf-8", "replace")
        return await anyio.to_thread.run_sync(json.loads, answer.data)


def _shown(told: str) -> str:
    return visible(told.strip())


# -- code ----------------------------------------------------------------------------------------------


def _repository(data: Any) -> str:
    license_name = text(data.get("license"), "spdx_id")
    facts = [(name, data.get(name)) for name in ("language", "default_branch", "stargazers_count", "open_issues_count")]
    more = [("topics", names(data.get("topics"))), ("license", license_name), ("homepage", text(data, "homepage"))]
    return sheet(data["full_name"], text(data, "description"), *facts, *more, ("pushed", text(data, "pushed_at")))


def _file(data: Any) -> str:
    if isinstance(data, list):
        return "\n".join(f"- {text(row, 'type')}: {text(row, 'path')}" for row in data[:500])
    content = base64.b64decode(data["content"])
    if b"\0" in content:
        raise ValueError("no text")
    return content.decode("utf-8", "replace")


def _issue(data: Any) -> str:
    user = text(data.get("user"), "login")
    head = sheet(
        f"{data['title']} (#{data['number']})",
        text(data, "body"),
        ("state", "merged" if data.get("merged") else data["state"]),
        ("by", user),
        ("created", text(data, "created_at")),
        ("labels", ", ".join(text(one, "name") for one in rows(data, "labels"))),
    )
    said = [
        f"## {text(one.get('user'), 'login')}, {text(one, 'created_at')}\n\n{text(one, 'body')}"
        for one in rows(data, "_list")[:MOST_ROWS]
    ]
    return "\n\n".join([head, *said])


def _gist(data: Any) -> str:
    files = [one for one in data["files"].values() if isinstance(one, dict)]
    parts = [f"## {text(one, 'filename')}\n\n{text(one, 'content')}" for one in files]
    return "\n\n".join([f"# {text(data, 'description') or 'Gist'}", *parts])


def _gitlab(data: Any) -> str:
    facts = [(name, data.get(name)) for name in ("default_branch", "star_count", "last_activity_at", "web_url")]
    return sheet(data["path_with_namespace"], text(data, "description"), *facts, ("topics", names(data.get("topics"))))


def _gitlab_issue(data: Any) -> str:
    """Tell an issue or a merge request; what was said about it is only for those who have signed in."""
    facts = [(name, data.get(name)) for name in ("state", "created_at", "source_branch", "target_branch")]
    who = [("by", text(data.get("author"), "username")), ("labels", names(data.get("labels")))]
    return sheet(f"{data['title']} (#{data['iid']})", text(data, "description"), *facts, *who)


# -- packages ------------------------------------------------------------------------------------------


def _pypi(data: Any) -> str:
    info = data["info"]
    links = info.get("project_urls") or {}
    facts = [
        (name, info.get(name)) for name in ("version", "requires_python", "license_expression", "license", "author")
    ]
    needs = names(info.get("requires_dist"))
    pages = ", ".join(f"{name} {url}" for name, url in links.items())
    return sheet(info["name"], text(info, "summary"), *facts, ("needs", needs), ("links", pages)) + (
        f"\n\n{text(info, 'description')}"
    )


def _npm(data: Any) -> str:
    latest = data["dist-tags"]["latest"]
    version = data["versions"][latest]
    needs = names(version.get("dependencies"))
    license_name = text(version, "license") or text(version.get("license"), "type")
    facts = [("version", latest), ("license", license_name), ("needs", needs)]
    about = text(data, "description")
    return f"{sheet(data['name'], about, *facts, ('homepage', text(data, 'homepage')))}\n\n{text(data, 'readme')}"


def _crate(data: Any) -> str:
    crate = data["crate"]
    version = ("version", crate.get("max_stable_version") or crate.get("max_version"))
    facts = [version, *((name, crate.get(name)) for name in ("downloads", "repository", "documentation"))]
    return sheet(crate["name"], text(crate, "description"), *facts, ("updated", text(crate, "updated_at")))


def _gem(data: Any) -> str:
    facts = [(name, data.get(name)) for name in ("version", "downloads", "homepage_uri", "source_code_uri", "authors")]
    needs = ", ".join(
        f"{text(one, 'name')} {text(one, 'requirements')}" for one in rows(data, "dependencies", "runtime")
    )
    return sheet(data["name"], text(data, "info"), *facts, ("needs", needs))


def _packagist(data: Any) -> str:
    package = data["package"]
    versions = names([name for name in package["versions"] if "dev" not in name][:10])
    return sheet(
        package["name"],
        text(package, "description"),
        ("versions", versions),
        ("repository", text(package, "repository")),
    )


def _docker(data: Any) -> str:
    facts = [(name, data.get(name)) for name in ("pull_count", "star_count", "last_updated")]
    name = f"{data['namespace']}/{data['name']}"
    return f"{sheet(name, text(data, 'description'), *facts)}\n\n{text(data, 'full_description')}"


def _extension(data: Any) -> str:
    facts = [(name, data.get(name)) for name in ("version", "downloadCount", "license", "repository", "timestamp")]
    return sheet(f"{data['namespace']}.{data['name']}", text(data, "description"), *facts)


def _model(data: Any) -> str:
    """Tell a model, a data set or a space."""
    known = ("pipeline_tag", "library_name", "sdk", "downloads", "likes", "lastModified", "gated")
    files = ", ".join(text(one, "rfilename") for one in rows(data, "siblings")[:MOST_ROWS])
    more = [("tags", names(data.get("tags"))), ("license", text(data.get("cardData"), "license")), ("files", files)]
    return sheet(data["id"], text(data, "description"), *((name, data.get(name)) for name in known), *more)


# -- what people say -----------------------------------------------------------------------------------


def _question(data: Any) -> str:
    (asked,) = rows(data, "items")
    answers = sorted(rows(data, "_list", "items"), key=lambda one: not one.get("is_accepted"))
    facts = f"<p>score {asked.get('score')}, tags: {escape(names(asked['tags']))}</p>"
    parts = [f"<h1>{asked['title']}</h1>{facts}{asked['body']}"]  # its title is HTML, too
    parts += [
        f"<h2>{'Accepted answer' if one.get('is_accepted') else 'Answer'}, score {one.get('score')}</h2>"
        f"{text(one, 'body')}"
        for one in answers[:10]
    ]
    return "".join(parts)


def _article(data: Any) -> str:
    (page,) = data["query"]["pages"].values()
    return f"# {page['title']}\n\n{page['extract']}"


def _vulnerability(data: Any) -> str:
    affected = rows(data, "affected")
    packages = ", ".join(f"{text(one.get('package'), 'name')}{_fixed_in(one)}" for one in affected)
    scores = ", ".join(text(one, "score") for one in rows(data, "severity"))
    facts = [("aliases", names(data.get("aliases"))), ("packages", packages), ("severity", scores)]
    facts += [(name, text(data, name)) for name in ("published", "withdrawn")]
    links = "\n".join(f"- {text(one, 'url')}" for one in rows(data, "references"))
    about = text(data, "summary") + "\n\n" + text(data, "details")
    return f"{sheet(data['id'], about, *facts)}\n\n{links}"


def _fixed_in(affected: Any) -> str:
    events = [event for one in rows(affected, "ranges") if text(one, "type") != "GIT" for event in rows(one, "events")]
    fixed = [text(one, "fixed") for one in events if text(one, "fixed")]
    return f" (fixed in {', '.join(fixed)})" if fixed else ""


_GITHUB, _STACK, _GITLAB = "https://api.github.com", "https://api.stackexchange.com", "https://gitlab.com"
_NAME = r"[A-Za-z0-9_.-]+"
_GROUPS = rf"/(?P<path>{_NAME}(?:/(?!-/){_NAME})+?)"
_NPM = "https://registry.npmjs.org"
_HUB = "https://huggingface.co"
_REPOSITORY = rf"/(?P<owner>{_NAME})/(?P<name>{_NAME})"
_ONE = rf"(?P<name>{_NAME})/?"
_ASKED = "/2.3/questions/{id}?site=stackoverflow&filter=withbody"
_ANSWERS = "/2.3/questions/{id}/answers?site=stackoverflow&filter=withbody&sort=votes"
_WIKI = "/w/api.php?action=query&prop=extracts&explaintext=1&format=json&redirects=1&titles={name}"
_PROJECT = rf"/(?P<owner>{_NAME})/(?P<name>{_NAME})/?"
SITES = (
    Site("github.com", _REPOSITORY + "/?", _GITHUB, "/repos/{owner}/{name}", _repository),
    Site(
        "github.com",
        _REPOSITORY + r"/(?:blob|tree)/(?P<ref>[^/]+)/(?P<path>.+)",
        _GITHUB,
        "/repos/{owner}/{name}/contents/{path}?ref={ref}",
        _file,
    ),
    Site(
        "github.com",
        _REPOSITORY + r"/issues/(?P<id>\d+)",
        _GITHUB,
        "/repos/{owner}/{name}/issues/{id}",
        _issue,
        "/repos/{owner}/{name}/issues/{id}/comments",
    ),
    Site(
        "github.com",
        _REPOSITORY + r"/pull/(?P<id>\d+)",
        _GITHUB,
        "/repos/{owner}/{name}/pulls/{id}",
        _issue,
        "/repos/{owner}/{name}/issues/{id}/comments",
    ),
    Site("gist.github.com", rf"/(?:{_NAME}/)?(?P<id>[0-9a-f]{{5,}})", _GITHUB, "/gists/{id}", _gist),
    Site("gitlab.com", f"{_GROUPS}/?", _GITLAB, "/api/v4/projects/{path}", _gitlab, spell=one_part),
    Site(
        "gitlab.com",
        rf"{_GROUPS}/-/(?P<kind>issues|merge_requests)/(?P<id>\d+)",
        _GITLAB,
        "/api/v4/projects/{path}/{kind}/{id}",
        _gitlab_issue,
        spell=one_part,
    ),
    Site(
        "gitlab.com",
        rf"{_GROUPS}/-/blob/(?P<ref>[^/]+)/(?P<file>.+)",
        _GITLAB,
        "/api/v4/projects/{path}/repository/files/{file}?ref={ref}",
        _file,
        spell=one_part,
    ),
    Site("pypi.org", f"/project/{_ONE}", "https://pypi.org", "/pypi/{name}/json", _pypi),
    Site("npmjs.com", r"/package/(?P<name>(?:@[\w.-]+/)?[\w.-]+)/?", _NPM, "/{name}", _npm, spell=one_part),
    Site("crates.io", f"/crates/{_ONE}", "https://crates.io", "/api/v1/crates/{name}", _crate),
    Site("rubygems.org", f"/gems/{_ONE}", "https://rubygems.org", "/api/v1/gems/{name}.json", _gem),
    Site("packagist.org", "/packages" + _PROJECT, "https://packagist.org", "/packages/{owner}/{name}.json", _packagist),
    Site("hub.docker.com", "/r" + _PROJECT, "https://hub.docker.com", "/v2/repositories/{owner}/{name}/", _docker),
    Site("hub.docker.com", f"/_/{_ONE}", "https://hub.docker.com", "/v2/repositories/library/{name}/", _docker),
    Site("open-vsx.org", "/extension" + _PROJECT, "https://open-vsx.org", "/api/{owner}/{name}", _extension),
    Site("huggingface.co", r"/(?P<kind>datasets|spaces)" + _PROJECT, _HUB, "/api/{kind}/{owner}/{name}", _model),
    Site("huggingface.co", _PROJECT, _HUB, "/api/models/{owner}/{name}", _model),
    Site("stackoverflow.com", r"/(?:questions|q)/(?P<id>\d+)(?:/.*)?", _STACK, _ASKED, _question, _ANSWERS, html=True),
    Site(".wikipedia.org", "/wiki/(?P<name>[^?]+)", "https://{host}", _WIKI, _article),
    *REFERENCE_SITES,
    Site("osv.dev", r"/vulnerability/(?P<id>[\w.-]+)", "https://api.osv.dev", "/v1/vulns/{id}", _vulnerability),
)
