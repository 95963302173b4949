"""How an adapter reaches its model, the same for every vendor's API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import httpx2

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.adapters.failures import Endpoint
from north_lsp.providers.base import DEFAULT_TIMEOUTS, Timeouts


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a model is served and what each request to it carries. `http` belongs to the adapter, which closes it, and
    has the `timeouts`. `secret` is None for a server that needs no key, or where `http` signs requests. `wire_id` is
    the model's id there, None if it is the same as North's. `extra_body` are fields of each request, which win."""

    endpoint: Endpoint
    http: httpx2.AsyncClient
    secret: str | None = None
    wire_id: str | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict)
    timeouts: Timeouts = DEFAULT_TIMEOUTS

    @property
    def address(self) -> str:
        """The base address of the API."""
        return self.endpoint.address

    def id_of(self, model: str) -> str:
        """Return the id by which the server knows a model."""
        return self.wire_id or model
