"""The service's metrics for Prometheus; they hold nothing of any text."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from .admission import Admission

_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The service's collectors, in a registry of their own.

    Attributes:
        registry: the registry.
        requests: answers, by endpoint and status; status 499 where the client closed the connection first.
        seconds: time from a request's head to the end of its answer, by endpoint.
        rejected: refusals, by the error's code.
        positions: positions that the proxy LM has weighed.
    """

    def __init__(self, admission: Admission) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("ctwl_requests", "Answers.", ["endpoint", "status"], registry=self.registry)
        self.seconds = Histogram(
            "ctwl_request_seconds", "Time per request.", ["endpoint"], buckets=_SECONDS, registry=self.registry
        )
        self.rejected = Counter("ctwl_rejected", "Refused requests.", ["reason"], registry=self.registry)
        self.positions = Counter("ctwl_positions", "Positions weighed by the proxy LM.", registry=self.registry)
        Gauge("ctwl_waiting", "Requests that wait for their turn.", registry=self.registry).set_function(
            lambda: admission.waiting
        )
        Gauge("ctwl_working", "Requests that are decoded.", registry=self.registry).set_function(
            lambda: admission.working
        )
        ProcessCollector(registry=self.registry)
