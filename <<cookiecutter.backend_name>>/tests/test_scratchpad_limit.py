"""A machine whose scratchpad does not overflow: what does not fit is out of resources, which the autotuner understands."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch
from triton.runtime.errors import OutOfResources

from <<cookiecutter.package_name>>.errors import CompileError
from <<cookiecutter.package_name>>.lowering import lower

LIMIT = 8192


@pytest.fixture
def hard_limit(monkeypatch: pytest.MonkeyPatch, fresh_cache: Any) -> None:
    monkeypatch.setattr(lower, "SCRATCHPAD_BYTES", LIMIT)
    monkeypatch.setattr(lower, "SCRATCHPAD_OVERFLOWS", False)


@triton.jit
def transpose(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = tl.load(x + i[:, None] * N + i[None, :])
    tl.store(y + i[:, None] * N + i[None, :], tl.cumsum(tile, axis=0))


@pytest.mark.usefixtures("hard_limit")
def test_the_error_is_both_ours_and_tritons() -> None:
    x = np.ones((128, 128), np.float32)
    with pytest.raises(
        OutOfResources, match=r"(?s)bytes of scratchpad: \d+ needed, 8192 available.*test_scratchpad"
    ) as caught:
        launch(transpose, (1,), x, x, 128)
    assert isinstance(caught.value, CompileError) and caught.value.required > caught.value.limit == LIMIT
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@triton.autotune(configs=[triton.Config({"N": n}) for n in (128, 16)], key=[])
@triton.jit
def tuned(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    for row in range(0, 128, N):
        for column in range(0, 128, N):
            at = (row + i[:, None]) * 128 + column + i[None, :]
            tl.store(y + at, tl.cumsum(tl.load(x + at), axis=0))


@pytest.mark.usefixtures("hard_limit")
def test_the_autotuner_takes_what_fits() -> None:
    x, y = np.ones((128, 128), np.float32), np.zeros((128, 128), np.float32)
    launch(tuned, (1,), x, y)
    assert tuned.best_config.kwargs["N"] == 16
    np.testing.assert_array_equal(y[:16, 0], np.arange(1, 17))
