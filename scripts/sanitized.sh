#!/bin/sh
# Run the tests of the compiled loops, and the fuzzers, with loops that AddressSanitizer and UndefinedBehaviorSanitizer
# watch. PYTHON names the interpreter, which needs nanobind and pytest; BUILD the folder of object files. Arguments are
# passed on to pytest, instead of the folders of tests.
set -e
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
build=${BUILD:-build/sanitized}
compiler=${CXX:-c++}
cmake -S . -B "$build" -DPARASPHERE_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug -DPython_EXECUTABLE="$(command -v "$python")" \
    >/dev/null
cmake --build "$build" -j"$(nproc 2>/dev/null || echo 2)" >/dev/null
kernels=$(ls "$PWD/$build"/_kernels*.so)
[ $# -gt 0 ] || set -- -n auto tests/kernels tests/fuzz

# Python itself does not know the sanitizers: their library comes first, and that of C++, whose exceptions they watch.
# Python keeps memory until it ends, which is no leak. What is too large to be had is Python's MemoryError.
LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    PARASPHERE_TEST_KERNELS="$kernels" PARASPHERE_CRAFTED="${PARASPHERE_CRAFTED:-10000}" \
    exec "$python" -m pytest "$@"
