"""Where spans go: an OTLP endpoint that the operator names. Needs the extra `jackfield[otel]`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from ...graphs.errors import Code, JackfieldError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

QUIET_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Exporting:
    """`url` is of the collector: `/v1/traces` is added to a bare one. `token` is sent as a bearer's."""

    url: str
    service: str = "jackfield"
    share: float = 1.0
    token: str = ""
    timeout_s: float = 5.0


def provider(settings: Exporting) -> TracerProvider:
    """A provider of its own, beside the process's. Raises CONFIG_INVALID for a wrong address, and without the extra."""
    endpoint = _endpoint(settings.url)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
    except ImportError:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            "`telemetry.otlp_url` is set, and what exports spans is not installed.",
            "Install jackfield[otel], or unset it.",
            {"key": "telemetry.otlp_url"},
        ) from None
    logging.getLogger(OTLPSpanExporter.__module__).addFilter(SELDOM)
    headers = {"authorization": f"Bearer {settings.token}"} if settings.token else None
    exporter = OTLPSpanExporter(endpoint=endpoint, headers=headers, timeout=settings.timeout_s)
    resource = Resource.create({"service.name": settings.service, "service.version": version("jackfield")})
    made = TracerProvider(
        resource=resource, sampler=ParentBased(TraceIdRatioBased(settings.share)), shutdown_on_exit=False
    )
    made.add_span_processor(BatchSpanProcessor(exporter, export_timeout_millis=settings.timeout_s * 1000))
    return made


class _Seldom(logging.Filter):
    """A collector that is away is told of once a minute, not at every batch."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.created < self._next or record.levelno < logging.ERROR:
            return False
        self._next = record.created + QUIET_S
        return True


SELDOM: Final = _Seldom()


def _endpoint(url: str) -> str:
    """Raises CONFIG_INVALID for what is no address."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.rstrip("/").partition("/")
    if scheme not in ("http", "https") or not host or "@" in host or host.isspace():
        raise JackfieldError(
            Code.CONFIG_INVALID,
            "`telemetry.otlp_url` is no http:// or https:// address of a host, without user or password.",
            "Write it such as http://127.0.0.1:4318; `telemetry.secret_key` names a token to send.",
            {"key": "telemetry.otlp_url"},
        )
    return f"{scheme}://{host}/{path}" if slash else f"{scheme}://{host}/v1/traces"
