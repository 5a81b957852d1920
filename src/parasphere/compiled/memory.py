"""Memory access by address, for compiled code.

Passing an array from one compiled function to another costs two atomic reference counts per call, which made the loop
over words five times slower. An address is a plain number. The caller must keep the array alive; that includes arrays
made in compiled code, which are freed after their last use.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _addresser() -> Any:
    """Return a compiled function from an array to the address of its memory."""

    @intrinsic
    def begin(_typing: Any, array: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            struct = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.ptrtoint(struct.data, ir.IntType(64))

        return types.int64(array), build

    return begin


def _reader(kind: Any) -> Any:
    """Return a compiled function that reads a value of this kind at an address, aligned or not."""

    @intrinsic
    def read(_typing: Any, place: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())
            return builder.load(pointer, align=1)

        return kind(place), build

    return read


def _writer(kind: Any) -> Any:
    """Return a compiled function that writes a value of this kind to an address."""

    @intrinsic
    def write(_typing: Any, place: Any, _value: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())
            builder.store(arguments[1], pointer, align=1)
            return context.get_dummy_value()

        return types.none(place, kind), build

    return write


def _zero_counter() -> Any:
    """Return a compiled function that counts the trailing zero bits of a number."""

    @intrinsic
    def count(_typing: Any, _number: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.uint64(types.uint64), build

    return count


def _multiplier() -> Any:
    """Return a compiled function that multiplies two uint64 and folds the 128 bits of the product to 64."""

    @intrinsic
    def multiply(_typing: Any, _one: Any, _other: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            wide, half = ir.IntType(128), ir.IntType(64)
            product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
            high = builder.trunc(builder.lshr(product, wide(64)), half)
            return builder.xor(builder.trunc(product, half), high)

        return types.uint64(types.uint64, types.uint64), build

    return multiply


_EIGHT = ir.VectorType(ir.DoubleType(), 8)


def _eight(builder: Any, place: Any, kind: Any) -> Any:
    """Load eight numbers of a kind as eight float64."""
    pointer = builder.inttoptr(place, ir.VectorType(kind, 8).as_pointer())
    values = builder.load(pointer, align=4)
    return values if kind == ir.DoubleType() else builder.fpext(values, _EIGHT)


def _add_to_eight(builder: Any, total: Any, added: Any) -> None:
    pointer = builder.inttoptr(total, _EIGHT.as_pointer())
    builder.store(builder.fadd(builder.load(pointer, align=8), added), pointer, align=8)


def _row_adder() -> Any:
    """Return a compiled function that adds eight float32, times a weight, to eight float64."""

    @intrinsic
    def add(_typing: Any, total: Any, row: Any, _weight: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            first = builder.insert_element(ir.Constant(_EIGHT, ir.Undefined), arguments[2], ir.IntType(32)(0))
            weights = builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8))
            row = _eight(builder, arguments[1], ir.FloatType())
            _add_to_eight(builder, arguments[0], builder.fmul(row, weights))
            return context.get_dummy_value()

        return types.none(total, row, types.float64), build

    return add


def _product_adder(kind: Any) -> Any:
    """Return a compiled function that adds the products of eight numbers of a kind and eight float64 to eight sums."""

    @intrinsic
    def add(_typing: Any, total: Any, row: Any, factors: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            row = _eight(builder, arguments[1], kind)
            factors = _eight(builder, arguments[2], ir.DoubleType())
            _add_to_eight(builder, arguments[0], builder.fmul(row, factors))
            return context.get_dummy_value()

        return types.none(total, row, factors), build

    return add


def _prefetcher() -> Any:
    """Return a compiled function that prefetches the cache line at an address."""

    @intrinsic
    def fetch(_typing: Any, place: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = ir.IntType(8).as_pointer()
            flag = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
            call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
            builder.call(call, [builder.inttoptr(arguments[0], pointer), flag(0), flag(3), flag(1)])
            return context.get_dummy_value()

        return types.none(place), build

    return fetch


address = _addresser()
add_eight = _row_adder()
add_products_f32 = _product_adder(ir.FloatType())
add_products_f64 = _product_adder(ir.DoubleType())
folded_product = _multiplier()
prefetch = _prefetcher()
read_u8 = _reader(types.uint8)
read_u32 = _reader(types.uint32)
read_u64 = _reader(types.uint64)
read_i64 = _reader(types.int64)
write_u64 = _writer(types.uint64)
trailing_zeros = _zero_counter()
