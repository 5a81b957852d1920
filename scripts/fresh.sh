#!/usr/bin/env bash
# Install the wheel into a new environment and run the demo there: without a compiler, a network, a home directory, or a
# file system that can be written. Needs Linux, uv and unshare (user namespaces, or root).
#
#     scripts/fresh.sh dist/parasphere-*.whl [PYTHON]
set -euo pipefail
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
uv venv --quiet --python "${2:-python3}" "$folder/env"
VIRTUAL_ENV=$folder/env uv pip install --quiet --only-binary :all: "$wheel"

# Within namespaces of its own: no network but a dead loopback, every file system read-only, an empty environment whose
# PATH leads to the environment alone.
cat > "$folder/inside.sh" <<'INSIDE'
set -euo pipefail
mount --make-rprivate /
awk '{print $5}' /proc/self/mountinfo | while read -r place; do
    mount -o remount,bind,ro "$place" 2>/dev/null || true
done
if touch "$1/file" 2>/dev/null; then echo "the file system can be written"; exit 3; fi
run() { env -i PATH="$1/env/bin" LANG=C.UTF-8 "${@:2}"; }
for compiler in cc gcc clang; do if run "$1" "$1/env/bin/python" -c "import shutil, sys; sys.exit(shutil.which('$compiler') is None)"; then echo "there is $compiler"; exit 3; fi; done
if run "$1" "$1/env/bin/python" -c "import socket; socket.create_connection(('192.0.2.1', 80), 1)" 2>/dev/null; then echo "there is a network"; exit 3; fi
run "$1" "$1/env/bin/parasphere" doctor
run "$1" "$1/env/bin/parasphere" demo
INSIDE
as_root=(--net --mount --fork)
[ "$(id -u)" = 0 ] || as_root+=(--user --map-root-user)
cd /
unshare "${as_root[@]}" bash "$folder/inside.sh" "$folder"
echo "parasphere demo works without compiler, network, home directory and writable file system."
