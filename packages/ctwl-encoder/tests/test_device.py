"""What marking on a device keeps, and that it lets next to nothing leave the device.

What takes ``device`` runs on a GPU too, where there is one: there by the kernels.
"""

import weakref
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import WORDS, made_logits

from ctwl_encoder import Bridge
from ctwl_encoder.core import marker as core_marker
from ctwl_encoder.core.device import candidates
from ctwl_encoder.core.device import step as step_module
from ctwl_encoder.core.device.marker import DeviceMarker
from ctwl_encoder.core.host import probabilities
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.core.strategies.race.shares import SHARE
from ctwl_encoder.options import MarkingOptions
from ctwl_protocol.partition import reference
from ctwl_protocol.proxy import Proxy


def test_membership_on_a_device_is_that_of_the_reference(offline_proxy: Proxy, device: torch.device) -> None:
    """Of the proxy's own weights, and of weights that meet every border: ties, zeros, and nothing at all."""
    rng = np.random.default_rng(1)
    prefixes = rng.integers(0, 49000, (2, offline_proxy.profile.prefix_length))
    weights = offline_proxy.weights_on_device(prefixes)
    np.testing.assert_array_equal(weights.cpu().numpy().view(np.uint32), offline_proxy.weights(prefixes))
    made = torch.from_numpy(
        rng.integers(0, 3, (64, 40)).astype(np.int32) * rng.integers(0, 2, (64, 1)).astype(np.int32)
    )
    for some in (weights.cpu(), made):
        seeds = rng.integers(0, 2**32, len(some))
        for sigma in ((1, 2), (1, 4), (65521, 65536)):
            found = candidates.members(some.to(device), torch.from_numpy(seeds).to(device), sigma)
            expected = reference.members(some.numpy().view(np.uint32), seeds.astype(np.uint32), sigma)
            np.testing.assert_array_equal(found.cpu().numpy(), expected)


def test_probabilities_are_added_exactly() -> None:
    shares = probabilities(np.random.default_rng(1).normal(scale=4, size=(1, 5000)).astype(np.float32))[0]
    whole = (torch.from_numpy(shares[shares > 1e-6]) * 2.0**60).long()
    assert [int(each) for each in whole] == [int(float(share) * 2**60) for share in shares[shares > 1e-6]]


def test_a_text_read_anew_is_marked_as_before(bridge: Bridge, smollm2: tuple[Any, Any], device: torch.device) -> None:
    """As after a preemption: what stands at which place follows from the tokens alone."""
    marker = DeviceMarker(bridge, Strategy.RACE)
    ids = smollm2[1]("The old bridge and the old river, the old mill and the old town." * 2)["input_ids"]
    text, anew = (marker.start(Payload((5,)), SHARE) for _ in range(2))
    for number, token in enumerate(ids):
        found = torch.tensor(made_logits(bridge, 2, number), device=device)
        found[1] = found[0]
        marker.mark([text, anew], found)
        assert torch.equal(found[0], found[1])
        marker.texts.free(anew)
        anew = marker.start(Payload((5,)), SHARE)
        marker.extend([text], [token])
        for known in ids[: number + 1]:
            marker.extend([anew], [known])
        assert marker.texts.of(anew).pairs.tolist() == marker.texts.of(text).pairs.tolist()
    assert len(set(marker.texts.of(text).key.tolist())) < len(marker.texts.of(text).key)  # contexts came back


def test_the_places_of_a_step_are_bounded(
    bridge: Bridge, smollm2: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes memory on the device. The place behind the text goes first, those inside of candidates go last."""
    marker, ids = DeviceMarker(bridge, Strategy.RACE), smollm2[1](WORDS)["input_ids"]
    texts = [marker.start(Payload((code,)), SHARE) for code in (5, 77, 4242)]
    most = 0
    for number, token in enumerate(ids):
        marker.extend(texts, [token] * 3)
        marker.mark(texts, torch.from_numpy(made_logits(bridge, 3, number)))
        most = max(most, len(marker.places(texts)))
        with monkeypatch.context() as patched:
            patched.setattr(core_marker, "MOST_PLACES", 3)
            places = marker.places(texts)
            assert places.owner.tolist() == list(range(len(places)))  # a place for each row
            assert len(places) <= 3
            marker.mark(texts, torch.from_numpy(made_logits(bridge, 3, number)))
    assert most > 3


def test_texts_that_take_turns_keep_their_marks(bridge: Bridge, smollm2: tuple[Any, Any]) -> None:
    """As batches do under pipeline parallelism. Too little that is kept costs the expected evidence, and no mark."""
    ids = smollm2[1](WORDS)["input_ids"]
    marked, seen = [], []
    for kept in (2, 1):
        marker = DeviceMarker(bridge, Strategy.RACE, kept=kept)
        texts = [marker.start(Payload((code,)), SHARE) for code in (5, 77)]
        for number, token in enumerate(ids):
            for i in range(2):
                marker.mark([texts[i]], torch.from_numpy(made_logits(bridge, 1, number)))
                other = texts[1 - i]
                if number or i:
                    marker.extend([other], [ids[number - 1] if i == 0 else token])
        marked.append([len(marker.texts.of(text).marked.token) for text in texts])
        seen.append([marker.texts.of(text).pairs.tolist() for text in texts])
    assert min(marked[0]) > 20 and marked[1] == [0, 0]
    assert seen[0] == seen[1]


def test_a_marker_that_has_warmed_up_marks_as_another(
    bridge: Bridge, smollm2: tuple[Any, Any], device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, tables_of = list[Any](), step_module.Tables.of

    def made(of: Any) -> Any:
        found = tables_of(*of)
        tables.append(weakref.ref(found.opening))
        return found

    warm, cold = DeviceMarker(bridge, Strategy.RACE), DeviceMarker(bridge, Strategy.RACE)
    with monkeypatch.context() as patched:
        patched.setattr(step_module.Tables, "of", classmethod(lambda cls, *of: made(of)))
        warm.warm_up(len(bridge.vocabulary), device)
    assert tables and not any(table() for table in tables)  # an engine may take back what is made while it starts
    rows = []
    for marker in (warm, cold):
        text = marker.start(Payload((5,)), SHARE)
        for token in smollm2[1](WORDS)["input_ids"]:
            marker.extend([text], [token])
        rows.append(torch.tensor(made_logits(bridge, 1, 3), device=device))
        marker.mark([text], rows[-1])
    assert not torch.equal(rows[0], torch.tensor(made_logits(bridge, 1, 3), device=device))
    assert torch.equal(rows[0], rows[1])


@pytest.mark.slow
@pytest.mark.parametrize("strategy", Strategy)
def test_what_leaves_the_device_is_a_few_bytes_a_row(
    bridge: Bridge, smollm2: tuple[Any, Any], strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every way by which a tensor's values reach Python is counted; with joined candidates, and without."""
    copied = 0

    def counted(method: Any) -> Any:
        def wrapper(tensor: torch.Tensor, *arguments: Any, **named: Any) -> Any:
            nonlocal copied
            copied += tensor.nbytes
            return method(tensor, *arguments, **named)

        return wrapper

    for name in ("numpy", "tolist", "item", "__array__", "__bool__", "__float__", "__int__", "__index__"):
        monkeypatch.setattr(torch.Tensor, name, counted(getattr(torch.Tensor, name)))
    rows, ids = 8, smollm2[1](WORDS)["input_ids"]
    for joined, most in ((64, 64 * 1024), (0, 64)):
        marker = DeviceMarker(Bridge(smollm2[1], bridge.proxy, joined=joined), strategy)
        texts = [marker.start(Payload((code,)), MarkingOptions().strength_of(strategy)) for code in range(rows)]
        for step in range(16):
            logits = torch.from_numpy(made_logits(bridge, rows, step))
            copied = 0
            marker.mark(texts, logits)
            marker.extend(texts, ids[step : step + rows])
            assert copied <= most * rows
        assert copied > 0


def test_the_probabilities_of_one_step_alone_are_kept(
    bridge: Bridge, smollm2: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are as large as the logits: those of the step before are freed before the next are computed."""
    marker, ids = DeviceMarker(bridge, Strategy.RACE), smollm2[1](WORDS)["input_ids"]
    kept, softmax, alive = weakref.WeakSet[torch.Tensor](), torch.softmax, []

    def watched(*given: Any, **named: Any) -> torch.Tensor:
        alive.append(len(kept))
        found = softmax(*given, **named)
        kept.add(found)
        return found

    monkeypatch.setattr(torch, "softmax", watched)
    texts = [marker.start(Payload((5,)), SHARE)]
    for step in range(16):
        marker.mark(texts, torch.from_numpy(made_logits(bridge, 1, step)))
        marker.extend(texts, [ids[step]])
    assert len(alive) > 4 and set(alive) == {0}
