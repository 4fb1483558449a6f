"""Does the service stay up, answer and keep its memory while many use it and some abuse it?

A real ``ctwl-decode serve`` process with its default limits. Good clients, each from an address of its own, post short
and longer texts one after the other, and come back when they are told to. Meanwhile one client sends garbage and one
sends bodies of 10 MB. Latencies are those of good answers, from the first attempt, so waiting one's turn counts.
"""

from __future__ import annotations

import asyncio
import pydoc_data.topics
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

import httpx
import numpy as np

from ..shared.experiment import OFFLINE, Options, Result, experiment

HUMAN = "\n".join(text for _, text in sorted(pydoc_data.topics.topics.items()))

MIX = {270: 6, 700: 3, 2000: 1}
"""Characters of a text, about 60, 150 and 450 tokens, and how often such texts come."""

GARBAGE = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
    b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-length: 90\r\n\r\n{",  # and hangs up
    b"POST /report HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data\r\ncontent-length: 2\r\n\r\n\xff\xff",
    b"POST /v1/decode HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n[[[[",
]


def client(url: str, number: int) -> httpx.AsyncClient:
    """A client with the loopback address of that number."""
    transport = httpx.AsyncHTTPTransport(local_address=f"127.0.{1 + number // 250}.{1 + number % 250}")
    return httpx.AsyncClient(base_url=url, transport=transport, timeout=120)


async def good(url: str, number: int, end: float, statuses: Counter[str], latencies: list[float]) -> None:
    """Post texts until the end."""
    rng = random.Random(number)
    async with client(url, number) as api:
        while (started := time.perf_counter()) < end:
            size = rng.choices(list(MIX), list(MIX.values()))[0]
            start = rng.randrange(len(HUMAN) - size)
            while True:
                try:
                    answer = await api.post("/v1/decode", json={"text": HUMAN[start : start + size]})
                except httpx.TransportError as error:  # a good client must never see one
                    statuses[type(error).__name__] += 1
                    return
                statuses[str(answer.status_code)] += 1
                if answer.status_code not in {429, 503} or time.perf_counter() > end:
                    break
                await asyncio.sleep(int(answer.headers["retry-after"]) * rng.uniform(0.5, 1))
            if answer.status_code == 200:
                latencies.append(time.perf_counter() - started)


async def garbage(url: str, end: float, statuses: Counter[str]) -> None:
    """Send what is no request, or no text, until the end."""
    rng, at = random.Random(0), httpx.URL(url)
    while time.perf_counter() < end:
        reader, writer = await asyncio.open_connection(at.host, at.port, local_addr=("127.0.9.1", 0))
        writer.write(rng.choice([*GARBAGE, rng.randbytes(3000)]))
        first = b""
        with suppress(OSError, TimeoutError):
            first = await asyncio.wait_for(reader.readline(), 0.5)
        statuses[first[9:12].decode("ascii", "replace") or "no answer"] += 1
        writer.close()
        await asyncio.sleep(0.02)


async def huge(url: str, end: float, statuses: Counter[str]) -> None:
    """Post 10 MB at once, again and again, until the end."""
    async with client(url, 2500) as api:
        while time.perf_counter() < end:
            try:
                answer = await api.post("/report", content=b"a" * 10_000_000)
                statuses[str(answer.status_code)] += 1
            except httpx.TransportError as error:
                statuses[type(error).__name__] += 1
            await asyncio.sleep(0.1)


async def idle(url: str) -> dict[str, float]:
    """Wait until nothing is worked on; the service's metrics then."""
    while True:
        async with client(url, 2501) as api:
            lines = (await api.get("/metrics")).text.splitlines()
        values = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        metrics = {name: float(value) for name, value in values}
        if not metrics["ctwl_working"] + metrics["ctwl_waiting"]:
            return metrics
        await asyncio.sleep(0.1)


async def load(url: str, clients: int, seconds: int, statuses: dict[str, Counter[str]]) -> dict[str, object]:
    """The measurement, after a twentieth of it that only warms up."""
    loop_end = time.perf_counter() + max(2.0, seconds / 20)
    await asyncio.gather(*(good(url, i, loop_end, Counter(), []) for i in range(clients)))
    before, latencies = await idle(url), list[float]()
    started = time.perf_counter()
    end = started + seconds
    await asyncio.gather(
        *(good(url, i, end, statuses["good clients"], latencies) for i in range(clients)),
        garbage(url, end, statuses["garbage"]),
        huge(url, end, statuses["10 MB bodies"]),
    )
    after, elapsed = await idle(url), time.perf_counter() - started
    quantiles = np.quantile(latencies, [0.5, 0.95]) if latencies else np.full(2, np.nan)
    return {
        "positions per second": round((after["ctwl_positions_total"] - before["ctwl_positions_total"]) / elapsed, 1),
        "latency of good clients, seconds": dict(zip(["p50", "p95"], quantiles.round(2).tolist(), strict=True)),
        "resident MiB": {
            when: round(metrics["process_resident_memory_bytes"] / 2**20, 1)
            for when, metrics in (("before", before), ("after", after))
        },
    }


@experiment(quick={"clients": 4, "seconds": 5}, clients=50, seconds=60)
def main(options: Options) -> Result:
    """Run the experiment."""
    command = [sys.executable, "-m", "ctwl_decoder", "serve", "--port", "0", "--profile", OFFLINE]
    statuses = {name: Counter[str]() for name in ("good clients", "garbage", "10 MB bodies")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as service:
        try:
            ready = service.stdout.readline() if service.stdout else ""
            if " at " not in ready:
                raise SystemExit("the service did not start")
            measured = asyncio.run(load(ready.split(" at ")[1].split()[0], options.clients, options.seconds, statuses))
        finally:
            crashed = service.poll() is not None
            service.terminate()
            service.wait()
    return {
        "settings": {"mix": MIX},
        "answers": {name: dict(sorted(found.items())) for name, found in statuses.items()},
        **measured,
        "crashed": crashed,
        "exit status when told to stop": service.returncode,
    }


if __name__ == "__main__":
    main()
