"""SIMD registers for compiled loops: four or eight consecutive numbers in memory, processed by one instruction.

Unasked, the compiler uses these registers only in loops of unknown length, and then checks in every pass whether the
memory read and the memory written overlap. Inner loops over the columns of a block are too short to pay for that check.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from ..svd import REGISTER_BITS


class Lanes(types.Type):
    """A SIMD register full of numbers of one type; one number is a lane."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")

    @property
    def count(self) -> int:
        """The number of lanes."""
        return int(REGISTER_BITS // self.dtype.bitwidth)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        element = manager.lookup(lanes.dtype).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(element, lanes.count))  # type: ignore[no-untyped-call]


def _address(context: Any, builder: Any, signature: Any, values: Any, lanes: Any) -> Any:
    """Return the address of ``array[row, column]`` as that of a register; the array is in C order."""
    array, row, column = values[:3]
    made = context.make_array(signature.args[0])(context, builder, array)
    row, column = (
        context.cast(builder, value, kind, types.int64)
        for value, kind in zip((row, column), signature.args[1:3], strict=True)
    )
    place = builder.add(builder.mul(row, builder.extract_value(made.shape, 1)), column)
    return builder.bitcast(builder.gep(made.data, [place]), lanes.as_pointer())


def _bytes(lanes: Lanes) -> int:
    """Return the alignment that arrays guarantee, that of one number, in bytes."""
    return int(lanes.dtype.bitwidth // 8)


def _lane_count(typing: Any, array: Any) -> Any:
    """Return how many numbers of an array one register holds."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.get_constant(types.intp, Lanes(array.dtype).count)

    return types.intp(array), generate


def _load(typing: Any, array: Any, row: Any, column: Any) -> Any:
    """Return a register loaded from ``array[row, column:]``."""
    lanes = Lanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = context.get_value_type(lanes)
        return builder.load(_address(context, builder, signature, values, vector), align=_bytes(lanes))

    return lanes(array, row, column), generate


def _number(typing: Any, array: Any, place: Any) -> Any:
    """Return ``array[place]`` of a flat array, without the test for a negative place."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        made = context.make_array(array)(context, builder, values[0])
        return builder.load(builder.gep(made.data, [context.cast(builder, values[1], place, types.int64)]))

    return array.dtype(array, place), generate


def _store(typing: Any, array: Any, row: Any, column: Any, lanes: Any) -> Any:
    """Store a register in ``array[row, column:]``."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = context.get_value_type(lanes)
        builder.store(values[3], _address(context, builder, signature, values, vector), align=_bytes(lanes))
        return context.get_dummy_value()

    return types.void(array, row, column, lanes), generate


def _plus_scaled(typing: Any, total: Any, scale: Any, lanes: Any) -> Any:
    """Return ``total + scale * lanes``, with one `scale` for all lanes."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = context.get_value_type(lanes)
        number = context.cast(builder, values[1], signature.args[1], lanes.dtype)
        blank = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(blank, number, ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
        scales = builder.shuffle_vector(first, blank, everywhere)
        return builder.fadd(values[0], builder.fmul(scales, values[2], flags=["fast"]), flags=["fast"])

    return total(total, scale, lanes), generate


def _nothing(typing: Any, array: Any) -> Any:
    """Return a register of zeros, for the numbers of an array."""
    lanes = Lanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return ir.Constant(context.get_value_type(lanes), None)

    return lanes(array), generate


def _plus(typing: Any, first: Any, second: Any) -> Any:
    """Return ``first + second``, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(*values, flags=["fast"])

    return first(first, second), generate


def _plus_product(typing: Any, total: Any, first: Any, second: Any) -> Any:
    """Return ``total + first * second``, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(values[0], builder.fmul(*values[1:], flags=["fast"]), flags=["fast"])

    return total(total, first, second), generate


def _lane_sum(typing: Any, lanes: Any) -> Any:
    """Return the sum of all lanes."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        total, count, place = values[0], lanes.count, ir.IntType(32)
        while count > 1:
            count //= 2
            halves = ([ir.Constant(place, first + lane) for lane in range(count)] for first in (0, count))
            masks = [ir.Constant(ir.VectorType(place, count), half) for half in halves]
            low, high = (builder.shuffle_vector(total, total, mask) for mask in masks)
            total = builder.fadd(low, high, flags=["fast"])
        return builder.extract_element(total, ir.Constant(place, 0))

    return lanes.dtype(lanes), generate


# The type Any hides the parameter `typing`, which numba fills in, from the type checker.
lane_count: Any = intrinsic(_lane_count)
load: Any = intrinsic(_load)
number: Any = intrinsic(_number)
store: Any = intrinsic(_store)
plus_scaled: Any = intrinsic(_plus_scaled)
nothing: Any = intrinsic(_nothing)
plus: Any = intrinsic(_plus)
plus_product: Any = intrinsic(_plus_product)
lane_sum: Any = intrinsic(_lane_sum)
