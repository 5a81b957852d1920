#!/bin/sh
# Build the compiled loops into src/parasphere, for work in this tree.
# PYTHON names the interpreter, which needs nanobind; BUILD the folder of object files.
set -e
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
build=${BUILD:-build/kernels}
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DPARASPHERE_WERROR=ON -DPython_EXECUTABLE="$(command -v "$python")" "$@" >/dev/null
cmake --build "$build" -j"$(nproc 2>/dev/null || echo 2)"
rm -f src/parasphere/_kernels*.so src/parasphere/_kernels*.pyd
cp "$build"/_kernels*.so src/parasphere/ 2>/dev/null || cp "$build"/Release/_kernels*.pyd src/parasphere/
