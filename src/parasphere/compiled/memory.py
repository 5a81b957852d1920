"""Memory access by address, for compiled code.

Passing an array from one compiled function to another costs two atomic reference counts per call, which made the loop
over words five times slower. An address is a plain number. The caller must keep the array alive; that includes arrays
made in compiled code, which are freed after their last use.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_EIGHT = ir.VectorType(ir.DoubleType(), 8)


def _intrinsic(define: Any) -> Any:
    """Make an intrinsic; to mypy, numba's own decorator hides the arguments that it is called with."""
    return intrinsic(define)


@_intrinsic
def address(_typing: Any, array: Any) -> Any:
    """Return the address of the memory of an array."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(struct.data, ir.IntType(64))

    return types.int64(array), build


@_intrinsic
def trailing_zeros(_typing: Any, _number: Any) -> Any:
    """Count the trailing zero bits of a number."""

    def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), build


@_intrinsic
def folded_product(_typing: Any, _one: Any, _other: Any) -> Any:
    """Multiply two uint64 and fold the 128 bits of the product to 64."""

    def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide, half = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        high = builder.trunc(builder.lshr(product, wide(64)), half)
        return builder.xor(builder.trunc(product, half), high)

    return types.uint64(types.uint64, types.uint64), build


def _prefetch(builder: Any, place: Any) -> None:
    pointer = ir.IntType(8).as_pointer()
    flag = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
    call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
    builder.call(call, [builder.inttoptr(place, pointer), flag(0), flag(3), flag(1)])


@_intrinsic
def prefetch(_typing: Any, place: Any) -> Any:
    """Prefetch the cache line at an address."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        _prefetch(builder, arguments[0])
        return context.get_dummy_value()

    return types.none(place), build


@_intrinsic
def prefetch_in(_typing: Any, array: Any, _byte: Any) -> Any:
    """Prefetch the cache line some bytes after the beginning of an array. Nothing is read: any place is safe."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        _prefetch(builder, builder.add(builder.ptrtoint(struct.data, ir.IntType(64)), arguments[1]))
        return context.get_dummy_value()

    return types.none(array, types.int64), build


@_intrinsic
def write_u64(_typing: Any, place: Any, _value: Any) -> Any:
    """Write a uint64 to an address, aligned or not."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.none(place, types.uint64), build


def _reader(kind: Any) -> Any:
    """Return a compiled function that reads a value of this kind at an address, aligned or not."""

    @_intrinsic
    def read(_typing: Any, place: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())
            return builder.load(pointer, align=1)

        return kind(place), build

    return read


def _eight(builder: Any, place: Any, kind: Any) -> Any:
    """Load eight numbers of a kind as eight float64."""
    pointer = builder.inttoptr(place, ir.VectorType(kind, 8).as_pointer())
    values = builder.load(pointer, align=4)
    return values if kind == ir.DoubleType() else builder.fpext(values, _EIGHT)


def _eightfold(builder: Any, number: Any) -> Any:
    """Return a vector of eight times the same number."""
    first = builder.insert_element(ir.Constant(_EIGHT, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8))


def _add_to_eight(builder: Any, total: Any, added: Any) -> None:
    pointer = builder.inttoptr(total, _EIGHT.as_pointer())
    builder.store(builder.fadd(builder.load(pointer, align=8), added), pointer, align=8)


@_intrinsic
def add_eight(_typing: Any, total: Any, row: Any, _weight: Any) -> Any:
    """Add eight float32, times a weight, to eight float64."""

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        row = _eight(builder, arguments[1], ir.FloatType())
        _add_to_eight(builder, arguments[0], builder.fmul(row, _eightfold(builder, arguments[2])))
        return context.get_dummy_value()

    return types.none(total, row, types.float64), build


@_intrinsic
def add_eight_rows(_typing: Any, total: Any, row: Any, _width: Any, weights: Any) -> Any:
    """Add eight numbers of each of eight rows of float64, times a weight per row, to eight float64.

    The rows are some bytes apart, and are added in their order.
    """

    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        total, row, width, weights = arguments
        pointer = builder.inttoptr(total, _EIGHT.as_pointer())
        sums = builder.load(pointer, align=8)
        for i in range(8):
            place = builder.inttoptr(builder.add(weights, weights.type(8 * i)), ir.DoubleType().as_pointer())
            weight = _eightfold(builder, builder.load(place, align=8))
            numbers = _eight(builder, builder.add(row, builder.mul(width, width.type(i))), ir.DoubleType())
            sums = builder.fadd(sums, builder.fmul(numbers, weight))
        builder.store(sums, pointer, align=8)
        return context.get_dummy_value()

    return types.none(total, row, types.int64, weights), build


def _product_adder(kind: Any) -> Any:
    """Return a compiled function that adds the products of eight numbers of a kind and eight float64 to eight sums."""

    @_intrinsic
    def add(_typing: Any, total: Any, row: Any, factors: Any) -> Any:
        def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            row = _eight(builder, arguments[1], kind)
            factors = _eight(builder, arguments[2], ir.DoubleType())
            _add_to_eight(builder, arguments[0], builder.fmul(row, factors))
            return context.get_dummy_value()

        return types.none(total, row, factors), build

    return add


add_products_f32 = _product_adder(ir.FloatType())
add_products_f64 = _product_adder(ir.DoubleType())
read_u8 = _reader(types.uint8)
read_u32 = _reader(types.uint32)
read_u64 = _reader(types.uint64)
read_i64 = _reader(types.int64)
