"""Memory by its address, for compiled code.

Passing an array from one compiled function to another costs two atomic reference counts a call, which made the loop
over words five times slower than these do. An address is a number and costs nothing; whoever takes one keeps the
array alive.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


@njit(cache=True, nogil=True, forceinline=True)
def address(array: Any) -> Any:
    """Return where an array's memory begins."""
    return np.int64(array.ctypes.data)


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
    """Return a compiled function that counts the zero bits below a number's lowest one."""

    @intrinsic
    def count(_typing: Any, _number: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.uint64(types.uint64), build

    return count


read_u8 = _reader(types.uint8)
read_u32 = _reader(types.uint32)
read_u64 = _reader(types.uint64)
read_i64 = _reader(types.int64)
write_u64 = _writer(types.uint64)
trailing_zeros = _zero_counter()
