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
run() { env -i PATH="$1/env/bin" HOME=/nonexistent LANG=C.UTF-8 "${@:2}"; }
run "$1" "$1/env/bin/python" - <<'PYTHON'
import shutil, socket, sys
if any(map(shutil.which, ("cc", "gcc", "clang", "c++"))):
    sys.exit("there is a compiler")
if [name for _, name in socket.if_nameindex() if name != "lo"]:
    sys.exit("there is a network")
PYTHON
run "$1" "$1/env/bin/parasphere" demo
run "$1" "$1/env/bin/parasphere" info
INSIDE
as_root=(--net --mount --fork)
[ "$(id -u)" = 0 ] || as_root+=(--user --map-root-user)
cd /
unshare "${as_root[@]}" bash "$folder/inside.sh" "$folder"
echo "parasphere demo works without compiler, network, home directory and writable file system."
