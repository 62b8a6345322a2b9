"""Products by panels against the plain ones, with every remainder of rows and columns that panels leave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.kit.compiled import SETTINGS
from holdfast.learner.engines.products import COLUMNS, LANES, ROWS, add_products, add_products_plainly

Array = np.ndarray


def drawn(rows: int, inner: int, columns: int) -> tuple[Array, Array, Array]:
    draw = np.random.default_rng([rows, inner, columns])
    shapes = ((rows, columns), (rows, inner), (inner, columns))
    out, left, right = (draw.normal(size=shape).astype(np.float32) for shape in shapes)
    return out, left, right


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3 * ROWS + 1), st.integers(0, 70), st.integers(1, 2 * COLUMNS + LANES + 1))
def test_panels_give_what_plain_sums_give(rows: int, inner: int, columns: int) -> None:
    out, left, right = drawn(rows, inner, columns)
    exact = out + left.astype(np.float64) @ right.astype(np.float64)
    plain = out.copy()
    add_products(out, left, right, rows, inner)
    add_products_plainly(plain, left, right, rows, inner)
    assert np.abs(out - exact).max() < 2e-5 and np.abs(plain - exact).max() < 2e-5


@pytest.mark.parametrize("rows", [1, ROWS, ROWS + 3])
@pytest.mark.parametrize("columns", [1, LANES, LANES + 1, COLUMNS + 7])
def test_what_a_panel_is_made_of_changes_no_bit(rows: int, columns: int) -> None:
    """A row alone, a transposed factor and a cut vector give the bits that any other panel gives."""
    out, left, right = drawn(rows, 11, columns)
    alone, turned, wider = out.copy(), out.copy(), np.zeros((rows, columns + 40), np.float32)
    wider[:, :columns] = out
    add_products(out, left, right, rows, 11)
    for row in range(rows):
        add_products(alone[row : row + 1], left[row : row + 1], right, 1, 11)
    add_products(turned, np.ascontiguousarray(left.T).T, right, rows, 11)
    add_products(wider, left, np.pad(right, ((0, 0), (0, 40))), rows, 11)
    assert alone.tobytes() == turned.tobytes() == out.tobytes()
    assert np.ascontiguousarray(wider[:, :columns]).tobytes() == out.tobytes()


@pytest.mark.parametrize("columns", [1, 7, LANES + 2, COLUMNS + 5])
def test_nothing_beside_the_asked_rows_and_columns_is_touched(columns: int) -> None:
    around = np.full((ROWS + 6, columns + 40), 7.0, np.float32)
    inside = around[2 : 2 + ROWS + 3, 9 : 9 + columns]
    out, left, right = drawn(ROWS + 3, 5, columns)
    inside[...] = out
    add_products(inside, left, right, ROWS + 1, 5)
    assert (around[:2] == 7.0).all() and (around[:, :9] == 7.0).all() and (around[:, 9 + columns :] == 7.0).all()
    assert inside[ROWS + 1 :].tobytes() == out[ROWS + 1 :].tobytes()
    assert np.allclose(inside[: ROWS + 1], (out + left @ right)[: ROWS + 1], atol=1e-4)


@pytest.mark.skipif(bool(SETTINGS.DISABLE_JIT), reason="without the compiler there is only the plain version")
def test_the_compiled_version_is_not_the_plain_one() -> None:
    assert add_products is not add_products_plainly
