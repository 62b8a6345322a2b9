"""Products of small matrices that keep their sums in vector registers: the heart of the fused learner's passes.

Compilers vectorise a loop over columns well, but load and store the sums once for every few terms, which leaves half
of a core unused. Here a panel of a few rows by one or two vectors is summed in registers over all terms, and written
once. The instructions are LLVM's own vectors, so the same text serves every machine; only how large a panel may be
depends on it. Each sum is taken term by term in order, whatever the panel: bytes do not depend on its size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from holdfast.kit.compiled import SETTINGS, contracted

LANES = 16  # float32 numbers in a vector: one register where there are 512 bits, two or four elsewhere
IS_WIDE = bool(llvm.get_host_cpu_features().get("avx512f", False))
ROWS, VECTORS = (8, 2) if IS_WIDE else (4, 1)  # of a panel, at most two vectors: as many sums as registers hold
COLUMNS = LANES * VECTORS
MAY_FUSE = ("contract",)  # a multiply and an add may become one instruction
FLOAT, PLACE, BYTE = ir.FloatType(), ir.IntType(64), ir.IntType(8)
SIZE = 4  # bytes of a number
VECTOR = ir.VectorType(FLOAT, LANES)


class Matrix:
    """A two-dimensional array of float32 as generated code reaches it."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.builder = builder
        self.data = builder.bitcast(array.data, BYTE.as_pointer())
        self.steps = cgutils.unpack_tuple(builder, array.strides, 2)  # in bytes
        if kind.layout in "CF":
            self.steps["FC".index(kind.layout)] = ir.Constant(PLACE, SIZE)

    def at(self, row: Any, column: Any) -> Any:
        down, right = (self.builder.mul(n, step) for n, step in zip((row, column), self.steps, strict=True))
        return moved(self.builder, self.data, self.builder.add(down, right))


def moved(builder: Any, pointer: Any, size: Any) -> Any:
    """A pointer `size` bytes further."""
    return builder.gep(pointer, [size], inbounds=True, source_etype=BYTE)


def masked(builder: Any, name: str, result: Any, arguments: tuple[Any, ...]) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, arguments)


class Vectors:
    """Vectors beside each other in a row; the last one may hold only its first `used` numbers."""

    def __init__(self, builder: Any, count: int, used: Any | None) -> None:
        self.builder, self.count, self.mask = builder, count, None
        if used is not None:
            numbers = ir.Constant(ir.VectorType(PLACE, LANES), list(range(LANES)))
            self.mask = builder.icmp_signed("<", numbers, self.all_lanes(used))

    def all_lanes(self, number: Any) -> Any:
        """A number in every lane."""
        kind = ir.VectorType(number.type, LANES)
        first = self.builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        none = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), none)

    def _pointer(self, place: Any, number: int) -> Any:
        mine = moved(self.builder, place, ir.Constant(PLACE, SIZE * LANES * number))
        return self.builder.bitcast(mine, VECTOR.as_pointer())

    def _is_whole(self, number: int) -> bool:
        return self.mask is None or number < self.count - 1

    def load(self, place: Any) -> list[Any]:
        return [self._load(self._pointer(place, number), number) for number in range(self.count)]

    def _load(self, pointer: Any, number: int) -> Any:
        if self._is_whole(number):
            return self.builder.load(pointer, align=SIZE)
        zeros = ir.Constant(VECTOR, [0.0] * LANES)
        arguments = (pointer, ir.Constant(ir.IntType(32), SIZE), self.mask, zeros)
        return masked(self.builder, f"llvm.masked.load.v{LANES}f32.p0", VECTOR, arguments)

    def store(self, values: list[Any], place: Any) -> None:
        for number, value in enumerate(values):
            pointer = self._pointer(place, number)
            if self._is_whole(number):
                self.builder.store(value, pointer, align=SIZE)
            else:
                arguments = (value, pointer, ir.Constant(ir.IntType(32), SIZE), self.mask)
                masked(self.builder, f"llvm.masked.store.v{LANES}f32.p0", ir.VoidType(), arguments)


def panel(rows: int, vectors: int, is_cut: bool) -> Any:
    """A function for kernels: out[row :, column :] += left[row :, :inner] @ right[:inner, column :], for `rows` rows
    and `vectors` vectors of columns; if `is_cut`, only `used` numbers of the last vector are read and written."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrices = [Matrix(context, builder, signature.args[k], arguments[k]) for k in range(3)]
        row, column, inner, used = arguments[3:]
        sum_panel(builder, matrices, (row, column, inner), Vectors(builder, vectors, used if is_cut else None), rows)
        return context.get_dummy_value()

    @intrinsic
    def made(typing, out, left, right, row, column, inner, used):  # type: ignore[no-untyped-def]
        places = (types.int64,) * 4
        return types.void(out, left, right, *places), generate

    return made


def sum_panel(builder: Any, matrices: list[Matrix], extent: tuple[Any, Any, Any], vectors: Vectors, rows: int) -> None:
    out, left, right = matrices
    row, column, inner = extent
    zero = ir.Constant(PLACE, 0)
    own = [builder.add(row, ir.Constant(PLACE, r)) for r in range(rows)]
    ends = [out.at(r, column) for r in own]
    starts = [left.at(r, zero) for r in own]
    sums = [[cgutils.alloca_once_value(builder, value) for value in vectors.load(end)] for end in ends]
    with cgutils.for_range(builder, inner, intp=PLACE) as loop:
        terms = vectors.load(right.at(loop.index, column))
        move = builder.mul(loop.index, left.steps[1])
        for start, mine in zip(starts, sums, strict=True):
            factor = builder.load(builder.bitcast(moved(builder, start, move), FLOAT.as_pointer()))
            spread = vectors.all_lanes(factor)
            for held, term in zip(mine, terms, strict=True):
                product = builder.fmul(spread, term, flags=MAY_FUSE)
                builder.store(builder.fadd(builder.load(held), product, flags=MAY_FUSE), held)
    for end, mine in zip(ends, sums, strict=True):
        vectors.store([builder.load(held) for held in mine], end)


whole_rows, whole_row = panel(ROWS, VECTORS, False), panel(1, VECTORS, False)
last_rows, last_row = panel(ROWS, VECTORS, True), panel(1, VECTORS, True)
short_rows, short_row = panel(ROWS, 1, True), panel(1, 1, True)


@contracted
def add_panel(out, left, right, row, column, inner, is_single):  # type: ignore[no-untyped-def]
    """Of the columns from one on, as many as a panel holds."""
    rest = out.shape[1] - column
    if is_single:
        if rest >= COLUMNS:
            whole_row(out, left, right, row, column, inner, LANES)
        elif rest > LANES:
            last_row(out, left, right, row, column, inner, rest - LANES)
        else:
            short_row(out, left, right, row, column, inner, rest)
    elif rest >= COLUMNS:
        whole_rows(out, left, right, row, column, inner, LANES)
    elif rest > LANES:
        last_rows(out, left, right, row, column, inner, rest - LANES)
    else:
        short_rows(out, left, right, row, column, inner, rest)


@contracted
def add_products_by_panels(out, left, right, rows, inner):  # type: ignore[no-untyped-def]
    even = rows // ROWS * ROWS
    for column in range(0, out.shape[1], COLUMNS):
        for row in range(0, even, ROWS):
            add_panel(out, left, right, row, column, inner, False)
        for row in range(even, rows):
            add_panel(out, left, right, row, column, inner, True)


def add_products_plainly(out, left, right, rows, inner):  # type: ignore[no-untyped-def]
    """The same term by term, for readers and for Python without a compiler."""
    for k in range(inner):
        out[:rows] += left[:rows, k, None] * right[k]


# out[m] += sum over k < inner of left[m, k] * right[k], for m < rows
add_products: Callable[..., None] = add_products_plainly if SETTINGS.DISABLE_JIT else add_products_by_panels
