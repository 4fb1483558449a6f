"""What the experiments share: prompts, exact intervals, and results that say how they came about."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import metadata
from itertools import pairwise, product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from scipy import stats

from ctwl_decoder.statistics.evidence import Evidence, Observe, ScoredPositions, observe, permutations
from ctwl_decoder.statistics.scores import Score, position_scores
from ctwl_protocol import Profile
from ctwl_protocol.hashing import ranks_of
from ctwl_protocol.profile import ProxyModel
from ctwl_protocol.proxy import Proxy, build_model, find_files, load_tensors
from ctwl_protocol.registry import Trusted, bundled
from ctwl_protocol.text.positions import Positions, positions

__all__ = [
    "KEPT", "OFFLINE", "RESULTS", "arguments", "beside", "interleaved", "kept", "marks_of", "mean", "news_prompts",
    "plain_model", "rate", "recalled", "registries", "repeats", "settings", "told", "tracked", "write",
]  # fmt: skip

OFFLINE = "org.ctwl.smollm2-135m.1"
RESULTS = Path(__file__).parent / "results"
KEPT = Path(__file__).parent / "kept"
"""Where evidence is kept between runs; not part of the repository."""

_WHO = [
    "The state government", "A spokesman for the farmers' federation", "The mayor of the coastal town",
    "Scientists at the university", "The water authority", "Police in the northern district", "The wheat board",
    "A parliamentary committee", "The head of the hospital", "Residents of the valley", "The fishing industry",
    "The transport minister", "The shire council",
]  # fmt: skip
_WHAT = [
    "said on Monday that heavy rain over the weekend had",
    "has warned that the rising cost of fuel will",
    "is calling for an inquiry into the way that",
    "announced a plan to spend 12 million dollars on",
    "has rejected claims that last year's drought",
    "says the new rules, which start next month, are",
    "expects a better season after a difficult year, but",
    "has welcomed the decision of the court to",
    "will meet representatives of the union today to discuss",
]


def news_prompts(count: int) -> list[str]:
    """Openings of made-up news items in an order that mixes who and what; 117 different ones, then they come again."""
    pairs = [f"{who} {what}" for what, who in product(_WHAT, _WHO)]
    return [pairs[i * 55 % len(pairs)] for i in range(count)]  # 55 is coprime to 117


def plain_model(profile: Profile) -> Any:
    """The proxy LM as transformers builds it, in float32."""
    files = find_files(profile)
    if not isinstance(profile.proxy, ProxyModel) or files.weights is None:
        raise TypeError("the profile has a proxy LM")
    return build_model(profile.proxy.architecture, load_tensors(profile.proxy, files.weights))


def marks_of(proxy: Proxy, ids: NDArray[np.int64], score: Score, by: Observe | None = None) -> ScoredPositions:
    """What a text's proxy tokens say about every code; ``by`` observes in the proxy's place, as :func:`kept` does."""
    profile = proxy.profile
    cut = positions(ids, profile.prefix_length, profile.context_length)
    evidence = by(cut, lambda done: None) if by else observe(proxy, cut)
    return ScoredPositions.of(profile, cut, position_scores(score, evidence, profile.sigma))


def kept(proxy: Proxy, folder: Path = KEPT) -> Observe:
    """Evidence that is found once and kept on disk.

    The proxy's forward is nearly the whole cost of decoding. So an experiment that was stopped goes on where it was,
    and another score or decoder reads the same texts in a fraction of the time.
    """
    numerics = (
        f"{proxy.profile.digest} {proxy.arithmetic} {metadata.version('torch')} {metadata.version('ctwl-protocol')}"
    )

    def recall(cut: Positions, progress: Callable[[int], None]) -> Evidence:
        name = sha256(numerics.encode() + cut.prefixes.tobytes() + cut.observed.tobytes()).hexdigest()
        file = folder / f"{name}.npz"
        if file.exists():
            with np.load(file) as arrays:
                ranks = ranks_of(permutations(proxy.profile, cut.contexts), cut.observed[:, None])  # need no proxy
                return Evidence(arrays["below"], ranks, arrays["weight"], arrays["total"])
        found = observe(proxy, cut, progress)
        with _whole(file) as half:
            np.savez(half, below=found.below, weight=found.weight, total=found.total)
        return found

    return recall


def recalled(told: Any, make: Callable[[], Any], folder: Path = KEPT) -> Any:
    """What is made once and kept on disk as JSON.

    Args:
        told: all that decides it, as JSON: what it is found by.
        make: makes it.
        folder: where it is kept.
    """
    file = folder / f"{sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()}.json"
    if not file.exists():
        made = json.dumps(make())
        with _whole(file) as half:
            half.write_text(made)
    return json.loads(file.read_text())


def versions(*sources: ModuleType | Path) -> list[str]:
    """What is kept depends on beside what it was asked with: the code that makes it, and the libraries underneath.

    Args:
        *sources: packages and files.
    """
    digest = sha256()
    for source in sources:
        folder = None if isinstance(source, Path) else Path(source.__file__ or "").parent
        for file in sorted(folder.rglob("*.py")) if folder else [source]:
            digest.update(file.read_bytes())
    return [*(metadata.version(name) for name in ("torch", "transformers", "tokenizers")), digest.hexdigest()]


@contextmanager
def _whole(file: Path) -> Iterator[Path]:
    """Where to write a file that is to be kept: never is half of it under the name that counts."""
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_name(f"part-{file.name}")
    yield half
    half.replace(file)


def registries() -> tuple[Trusted, Trusted]:
    """The bundled registry, and the same with no entries: to it all codes are alike."""
    trusted = bundled()
    return trusted, trusted.without_entries()


def arguments(
    description: str | None, *, quick: Mapping[str, Any] | None = None, files: str = "", **options: Any
) -> argparse.Namespace:
    """Parse ``--name VALUE`` options with the defaults given, and ``--out``.

    Args:
        description: the module's docstring.
        quick: what ``--quick`` has in place of the defaults, to see in a minute or two that all of it runs.
        files: what the files are that the command takes behind its options, one or more; none if empty.
        **options: names and defaults.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in options.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=type(default), default=default, help=f"default {default}"
        )
    parser.add_argument("--out", type=Path, help="write the result to this file too")
    if files:
        parser.add_argument("files", nargs="+", type=Path, help=files)
    if quick is not None:
        told = ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in quick.items())
        parser.add_argument("--quick", action="store_true", help=f"the size for CI: {told}")
    found = parser.parse_args()
    if quick is not None and found.quick:
        vars(found).update(quick)
    return found


def beside(values: NDArray[np.float64], plain: NDArray[np.float64]) -> dict[str, Any]:
    """How the means of paired values differ, see :func:`mean`."""
    found = mean(values - plain)
    return {"difference to plain": found.pop("mean")} | found


def mean(values: NDArray[np.float64]) -> dict[str, Any]:
    """The mean with its 95 % interval by the t distribution."""
    half = float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))
    middle = float(values.mean())
    return {
        "mean": round(middle, 4),
        "interval_95": [round(middle - half, 4), round(middle + half, 4)],
        "interval holds 0": bool(abs(middle) <= half),
    }


def repeats(ids: Sequence[int]) -> float:
    """The share of the pairs of neighbouring tokens that came before."""
    pairs = list(pairwise(ids))
    return 1 - len(set(pairs)) / max(len(pairs), 1)


def interleaved(jobs: Mapping[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Seconds of each job, the jobs in turn A B A B after a warm-up, so that drift hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for run in range(runs + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if run:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def rate(successes: int, trials: int) -> dict[str, Any]:
    """A rate with its exact (Clopper-Pearson) 95 % interval."""
    interval = stats.binomtest(successes, trials).proportion_ci(0.95, "exact")
    return {
        "successes": successes,
        "trials": trials,
        "rate": round(successes / trials, 4),
        "interval_95": [round(interval.low, 4), round(interval.high, 4)],
    }


def told(options: argparse.Namespace) -> dict[str, Any]:
    """The options that say what was measured: all but files and what selects the work."""
    return {name: value for name, value in vars(options).items() if name not in ("out", "files", "only", "quick")}


def settings(options: argparse.Namespace | None = None, /, **given: Any) -> dict[str, Any]:
    """The date, the versions and the machine, with the experiment's own settings and what :func:`told` tells."""
    packages = (
        "ctwl-protocol",
        "ctwl-encoder",
        "ctwl-decoder",
        "torch",
        "transformers",
        "tokenizers",
        "numba",
        "numpy",
    )
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        **given,
        **(told(options) if options else {}),
        "versions": {name: metadata.version(name) for name in packages},
        "machine": {
            "python": platform.python_version(),
            "architecture": platform.machine(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "torch_threads": torch.get_num_threads(),
        },
    }


def tracked(items: Sequence[Any], title: str) -> Iterator[Any]:
    """Iterate with a progress bar and the remaining time on stderr, where that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        yield from bar.track(items, description=title)


def write(result: dict[str, Any], out: Path | None) -> None:
    """Print a result as JSON, and write it where asked."""
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    print(text, end="")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)
