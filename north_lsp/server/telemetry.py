"""Turns what North logs into OpenTelemetry's spans and counts, if the user has switched that on. Names, numbers and
durations only, unless the user wants contents as well: the other events have none. Nothing that goes wrong here reaches
anybody.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from north_lsp import __version__
from north_lsp.storage.masking import masked

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

MISSING = "telemetry.enabled is set, but the package for it is missing: install north-lsp[telemetry]"
NO_ENDPOINT = "telemetry.enabled is set, but there is no address to send it to: set telemetry.endpoint"
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_LAST_SECONDS = 1.0
_PAIRS = ("model_request", "tool_call", "compaction", "subagent")
_TEXTS = {"model_request_text": ("system", "messages"), "model_answer_text": ("answer",)}
_LONGEST_TEXT = 100_000
_ENDS = ("turn_end", "cancel_complete")
_ATTRIBUTES = {
    "provider": "provider",
    "model": "model",
    "mode": "mode",
    "toolName": "tool.name",
    "ok": "ok",
    "errorCode": "error.kind",
    "kind": "error.kind",
    "status": "http.status",
    "stopReason": "stop_reason",
    "durationMs": "duration_ms",
    "firstTokenMs": "first_token_ms",
    "estimatedTokens": "tokens.estimated",
    "cost": "cost_usd",
    "truncated": "truncated",
}


class Telemetry:
    """Observes the events of all sessions. Safe for several threads."""

    def __init__(self, traces: TracerProvider, metrics: MeterProvider) -> None:
        self._tracer = traces.get_tracer("north_lsp", __version__)
        meter = metrics.get_meter("north_lsp", __version__)
        self._tokens = meter.create_counter("north.tokens", "token")
        self._cost = meter.create_counter("north.cost", "USD")
        self._retries = meter.create_counter("north.retries")
        self._turns: dict[object, Span] = {}
        self._open: dict[tuple[object, str, object], Span] = {}
        self._lock = threading.Lock()

    def observe(self, name: str, data: Mapping[str, object]) -> None:
        """Take an event. Never raises."""
        with self._lock, suppress(Exception):
            self._take(name, data)

    def _take(self, name: str, data: Mapping[str, object]) -> None:
        session = data.get("sessionId")
        stem, _, end = name.rpartition("_")
        if name == "user_prompt":
            self._end_turn(session, {})
            self._turns[session] = self._tracer.start_span("turn", _context(data), attributes=_attributes(data))
        elif name in _ENDS:
            self._end_turn(session, {**_attributes(data), "ok": name == "turn_end"})
        elif name == "api_retry_attempt":
            self._retries.add(1, {"layer": str(data.get("layer"))})
        elif name in _TEXTS:
            if (span := self._open.get((session, "model_request", _id(data)))) is not None:
                for key in _TEXTS[name]:
                    span.set_attribute(f"content.{key}", masked(str(data.get(key, "")))[:_LONGEST_TEXT])
        elif stem in _PAIRS and end == "start":
            parent = _under(self._turns.get(session))
            made = self._tracer.start_span(stem, parent, attributes=_attributes(data))
            self._open[session, stem, _id(data)] = made
        elif stem in _PAIRS and end in ("complete", "error"):
            opened = self._open.pop((session, stem, _id(data)), None)
            self._count(data)
            if opened is not None:
                _end(opened, _attributes(data) | _usage(data), failed=end == "error" or data.get("ok") is False)

    def _count(self, data: Mapping[str, object]) -> None:
        for kind, number in _usage(data).items():
            self._tokens.add(int(number), {"kind": kind.removeprefix("tokens.")})
        if isinstance(cost := data.get("cost"), float):
            self._cost.add(cost)

    def _end_turn(self, session: object, attributes: dict[str, Any]) -> None:
        for key in [key for key in self._open if key[0] == session]:
            _end(self._open.pop(key), {"ok": False}, failed=True)  # it was cancelled
        if (span := self._turns.pop(session, None)) is not None:
            _end(span, attributes, failed=False)


class Exported:
    """Telemetry that is sent to the user's collector."""

    def __init__(self, endpoint: str) -> None:
        """Begin to send. Raises ImportError without the packages for it."""
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        # It would complain on standard error, which some editors show.
        for name in ("opentelemetry", "urllib3"):
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
        base = endpoint.rstrip("/")
        resource = Resource.create({"service.name": "north-lsp", "service.version": __version__})
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{base}/v1/traces")))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{base}/v1/metrics"))
        self._metrics = MeterProvider([reader], resource, shutdown_on_exit=False)
        self.observe = Telemetry(self._traces, self._metrics).observe

    def close(self) -> None:
        """Send what is left, for a second at most."""
        thread = threading.Thread(target=self._close, name="north-telemetry", daemon=True)
        thread.start()
        thread.join(_LAST_SECONDS)

    def _close(self) -> None:
        for provider in (self._traces, self._metrics):
            with suppress(Exception):
                provider.shutdown()


def endpoint_of(setting: str, environ: Mapping[str, str]) -> str | None:
    """Return where telemetry is sent; None if the user has not said."""
    return setting or environ.get(_ENDPOINT) or None


def _context(data: Mapping[str, object]) -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    given = data.get("traceparent")
    return TraceContextTextMapPropagator().extract({"traceparent": given}) if isinstance(given, str) else None


def _under(span: Span | None) -> Any:
    from opentelemetry.trace import set_span_in_context

    return None if span is None else set_span_in_context(span)


def _id(data: Mapping[str, object]) -> object:
    return next((data[key] for key in ("requestId", "callId", "id") if key in data), None)


def _attributes(data: Mapping[str, object]) -> dict[str, Any]:
    return {
        _ATTRIBUTES[key]: value
        for key, value in data.items()
        if key in _ATTRIBUTES and isinstance(value, str | bool | int | float)
    }


def _usage(data: Mapping[str, object]) -> dict[str, int]:
    usage = data.get("usage")
    if not isinstance(usage, dict):
        return {}
    return {f"tokens.{kind}": number for kind, number in usage.items() if isinstance(number, int) and number}


def _end(span: Span, attributes: Mapping[str, Any], *, failed: bool) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attributes(dict(attributes))
    if failed:
        span.set_status(Status(StatusCode.ERROR))
    span.end()
