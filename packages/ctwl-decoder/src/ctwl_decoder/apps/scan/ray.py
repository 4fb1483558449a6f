"""Decoding on a Ray cluster: the same rows as :mod:`ctwl_decoder.apps.scan`, from as many machines as there are.

Ray Data moves the documents, starts the actors and repeats what a lost machine had in hand; each actor holds a decoder
and calls :func:`ctwl_decoder.apps.scan.decode_chunk`. Needs the extra ``[ray]``, on every node.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctwl_protocol import CTWLError

from ...errors import ClusterFailed, ExtraMissing
from .corpus import Document
from .rows import decode_chunk
from .work import Chunk, Decoded, Engine, Settings, Work

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset


__all__ = ["cluster", "scan_dataset"]


class _Decoding:
    """An actor: a decoder, loaded once, and a dataset's batches, one after the other."""

    def __init__(self, settings: Settings, proxy_path: str | Path | None, device: str) -> None:
        self.settings = settings
        self.decoder = settings.open_decoder(proxy_path, device)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """A batch of records with the results' columns beside their own."""
        texts = batch[self.settings.columns.text].to_pylist()
        chunk = [_document(row, text, self.settings) for row, text in enumerate(texts)]
        rows = decode_chunk(self.decoder, chunk, self.settings)
        for name in rows.column_names:
            if name not in ("source", "row", "id"):
                batch = batch.append_column(name, rows[name])
        return batch


class _Chunks(_Decoding):
    """An actor for the chunks of a job."""

    def __call__(self, batch: pa.Table) -> pa.Table:
        """A batch of one chunk becomes the rows of it, in Arrow's own encoding."""
        import pyarrow as pa

        (chunk,) = batch.to_pylist()
        rows = decode_chunk(self.decoder, [Document(**each) for each in chunk["documents"]], self.settings)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_table(rows)
        encoded = pa.array([sink.getvalue().to_pybytes()], pa.large_binary())
        return batch.select(["number", "size"]).append_column("rows", encoded)


def _document(row: int, text: object, settings: Settings) -> Document:
    if isinstance(text, str):
        return Document("", row, text=text)
    return Document("", row, error="text-missing", message=f"the column {settings.columns.text!r} holds no text here")


def scan_dataset(
    dataset: Dataset,
    settings: Settings,
    *,
    proxy_path: str | Path | None = None,
    device: str = "auto",
    batch_size: int = 64,
    compute: Any = None,
    num_cpus: float | None = None,
    num_gpus: float | None = None,
) -> Dataset:
    """Decode a Ray dataset: its rows with the columns of :func:`ctwl_decoder.apps.scan.schema` that tell of the text.

    Args:
        dataset: records with the settings' text column, and with no column of the results' names.
        settings: the settings; all but the chunks' bounds.
        proxy_path: see :meth:`ctwl_decoder.Decoder.open`; a path on every node.
        device: a torch device.
        batch_size: documents that are decoded together.
        compute: how many actors, see ``Dataset.map_batches``; by default as many as the cluster has room for.
        num_cpus: CPUs of an actor.
        num_gpus: GPUs of an actor; by default one where the cluster has any.
    """
    return dataset.map_batches(
        _Decoding,
        fn_constructor_args=(settings, proxy_path, device),
        batch_size=batch_size,
        batch_format="pyarrow",
        compute=compute,
        num_cpus=num_cpus,
        num_gpus=_gpus() if num_gpus is None else num_gpus,
    )


def cluster(address: str | None = None, *, proxy_path: str | Path | None = None, device: str = "auto") -> Engine:
    """The engine of :func:`ctwl_decoder.apps.scan.scan` that decodes on a cluster; its nodes see the inputs at their paths.

    One task reads the corpus, which is quick work next to decoding; actors decode the chunks.

    Args:
        address: of the cluster; None for ``$RAY_ADDRESS``, else a cluster of this machine alone. One that this process
            is connected to already is used as it is.
        proxy_path: see :meth:`ctwl_decoder.Decoder.open`; a path on every node.
        device: a torch device.

    Raises:
        ExtraMissing: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # whoever decodes texts has not agreed to be counted
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ExtraMissing("this needs Ray; install it with: pip install 'ctwl-decoder[ray]'") from error

    def decode(work: Work) -> Iterator[Decoded]:
        mine = not ray.is_initialized()
        try:
            if mine:
                _knock(address)
                quiet = logging.WARNING  # the progress bar tells
                ray.init(
                    address=address,
                    include_dashboard=None if address else False,
                    logging_level=quiet,
                    log_to_driver=False,
                )
                logging.getLogger("ray.data").setLevel(quiet)
            yield from _decoded(work, proxy_path, device)
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise _told(error) from error
        finally:
            if mine:
                ray.shutdown()

    return decode


def _knock(address: str | None) -> None:
    """Raise :class:`ClusterFailed` where nobody answers at ``HOST:PORT``: Ray itself tries for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except (OSError, OverflowError) as error:
            raise ClusterFailed(
                f"no Ray cluster answers at {address} ({error}); is `ray start --head` running?"
            ) from error


def _decoded(work: Work, proxy_path: str | Path | None, device: str) -> Iterator[Decoded]:
    import pyarrow as pa
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    chunks = ray.data.from_items([{"job": 0}]).map_batches(_read, fn_args=(work,), batch_size=1, num_cpus=0)
    decoded = chunks.map_batches(
        _Chunks,
        fn_constructor_args=(work.settings, proxy_path, device),
        batch_size=1,
        batch_format="pyarrow",
        num_cpus=1,
        num_gpus=_gpus(),
    )
    for batch in decoded.iter_batches(batch_size=1, batch_format="pyarrow"):
        (chunk,) = batch.to_pylist()
        yield Decoded(chunk["number"], chunk["size"], pa.ipc.open_stream(chunk["rows"]).read_all())


def _read(job: Any, work: Work) -> Iterator[pa.Table]:  # noqa: ARG001
    """The job's chunks, a row each."""
    yield from map(_row, work)  # Ray streams what a generator gives


def _row(chunk: Chunk) -> pa.Table:
    import pyarrow as pa

    text = [(name, pa.large_string()) for name in ("source", "id", "text", "error", "message")]
    document = pa.struct([*text, ("row", pa.int64()), ("read", pa.int64())])
    kind = pa.schema([("number", pa.int64()), ("size", pa.int64()), ("documents", pa.large_list(document))])
    documents = [vars(document) for document in chunk.documents]
    return pa.Table.from_pylist([{"number": chunk.number, "size": chunk.size, "documents": documents}], kind)


def _gpus() -> int | None:
    import ray

    return 1 if ray.cluster_resources().get("GPU") else None


def _told(error: Exception) -> CTWLError:
    """Our own error, where Ray's wraps one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CTWLError):
            return type(cause)(str(cause).strip().splitlines()[-1])
        cause = getattr(cause, "cause", None) or cause.__cause__
    lines = str(error).strip().splitlines()
    return ClusterFailed(f"Ray: {lines[-1] if lines else type(error).__name__}; the same command goes on where it was")
