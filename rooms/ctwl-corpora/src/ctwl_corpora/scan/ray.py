"""Scan on a Ray cluster: the same rows as in one process. Needs the extra ``[ray]``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from ctwl_decoder.errors import needing
from ctwl_protocol import CTWLError

from ..errors import ClusterFailed
from .chunks import Chunk, ChunkReader
from .job import Engine


def on_cluster(address: str | None = None) -> Engine:
    """The engine that sends the chunks to one actor for each free CPU; for each free GPU where the device is one.

    Ray starts an actor again, and repeats its chunk, where a machine is lost.

    Args:
        address: of the cluster; None for ``$RAY_ADDRESS``, else a cluster of this machine alone. A connection that this
            process has already is used.

    Raises:
        ExtraMissing: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody has agreed to be counted
    with needing("ray", "a scan on a cluster"):
        import ray
        from ray.util import ActorPool

    def decoded(reader: ChunkReader, chunks: Iterable[Chunk], _: Callable[[float], None]) -> Iterator[Chunk]:
        connected = ray.is_initialized()
        try:
            if not connected:
                ray.init(address=address, logging_level="WARNING", log_to_driver=False)
            free = ray.available_resources()
            gpus, cpus = int(free.get("GPU", 0)) * (reader.device != "cpu"), int(free.get("CPU", 0))
            # An actor that never gets what it asks for never gives back its chunk, so it asks for one thing only.
            needs = {"num_cpus": 0, "num_gpus": 1} if gpus else {"num_cpus": 1}
            actor = ray.remote(**needs, max_restarts=-1, max_task_retries=-1)(ChunkReader)
            given = reader.settings, reader.proxy_path, reader.device, reader.computes_in
            pool = ActorPool([actor.remote(*given) for _ in range(gpus or max(cpus, 1))])
            for chunk in chunks:
                while not pool.has_free():
                    yield pool.get_next_unordered()
                pool.submit(lambda actor, each: actor.read_chunk.remote(each), chunk)
            while pool.has_next():
                yield pool.get_next_unordered()
        except (ray.exceptions.RayError, ConnectionError) as error:
            if isinstance(cause := getattr(error, "cause", None), CTWLError):
                raise cause from error
            raise ClusterFailed(f"Ray: {error}; the same command goes on where it was") from error
        finally:
            if not connected:
                ray.shutdown()

    return decoded
