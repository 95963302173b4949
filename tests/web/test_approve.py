"""Which hosts are asked about, and what is looked at for secrets."""

from collections.abc import Callable
from dataclasses import field
from types import SimpleNamespace
from typing import cast

import pytest

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.ports.editor import Choice, Decided, Editor
from north_lsp.agent.web.approve import HostApprover, HostQuestion
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.web.addresses import target

NONE: frozenset[str] = frozenset()


@dataclass
class Approvals:
    hosts: dict[str, frozenset[str]] = field(default_factory=dict)

    def host_allowed(self, host: str) -> frozenset[str] | None:
        return self.hosts.get(host)

    def allow_host(self, host: str, addresses: frozenset[str]) -> None:
        self.hosts[host] = addresses


@dataclass
class Record:
    approvals: Approvals = field(default_factory=Approvals)

    def open(self, call_id: str, request: object) -> SimpleNamespace:
        return SimpleNamespace(id="review")

    async def sync_question(self) -> None:
        pass

    def close(self, entry_id: str, decision: object) -> None:
        pass

    async def remember(self, store: Callable[[], None]) -> None:
        store()


@dataclass
class Always:
    asked: list[Choice] = field(default_factory=list)

    async def decide(self, choice: Choice) -> Decided:
        self.asked.append(choice)
        return Decided("always")


@dataclass
class Asking:
    """An approver whose user always says "always"."""

    has_secret: Callable[[dict[str, object]], bool] = lambda _: False
    editor: Always = field(default_factory=Always)
    record: Record = field(default_factory=Record)

    async def permit(self, url: str, source: str = "") -> None:
        approver = HostApprover(cast(ReviewRecord, self.record), self.has_secret, cast(Editor, self.editor))
        question = HostQuestion(target(url), source=source)
        await approver.permit(ToolCall("1", "web_fetch", {}), "Fetching", question)


async def test_always_for_https_is_not_always_for_http() -> None:
    asking = Asking()
    for url in ("https://example.com/a", "https://example.com/b", "http://example.com/", "http://example.com/c"):
        await asking.permit(url)
    assert asking.record.approvals.hosts == {"example.com": NONE, "http://example.com": NONE}
    assert ["http://" in one.scope for one in asking.editor.asked] == [False, True]


async def test_a_redirect_from_https_to_http_is_asked_about_every_time() -> None:
    asking = Asking(record=Record(Approvals({"http://example.com": NONE})))
    await asking.permit("http://example.com/", source="http://example.com/a")
    assert asking.editor.asked == []
    for _ in range(2):
        await asking.permit("http://example.com/", source="https://example.com/a")
    assert [[name for name, _ in one.options] for one in asking.editor.asked] == [["run", "deny"]] * 2
    assert "leaves https" in asking.editor.asked[0].detail


@pytest.mark.parametrize("url", ["https://SeCret.example.com/", "https://a/%53eCret"])
async def test_an_address_is_looked_at_for_secrets_as_it_is_written(url: str) -> None:
    asking = Asking(lambda sent: any("SeCret" in str(value) for value in sent.values()))
    asking.record.approvals.hosts = {target(url).authority: NONE}
    await asking.permit(url)
    assert "secret of yours" in asking.editor.asked[0].detail
