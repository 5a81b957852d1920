"""Write a bill of materials in CycloneDX's format: vendored parts, and packages installed with this one.

Run with ``make sbom``, or ``python scripts/sbom.py PYTHON FILE``; PYTHON is the interpreter of an environment with the
package.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# Parts of other projects that are in this repository. The wheel contains those in `src`.
VENDORED: list[dict[str, str]] = [
    {"name": "KaTeX", "version": "0.16.47", "licence": "MIT", "path": "docs/vendor/katex",
     "purl": "pkg:npm/katex@0.16.47"},
    {"name": "iframe-worker", "version": "1.0.4", "licence": "MIT", "path": "docs/vendor/iframe-worker",
     "purl": "pkg:npm/iframe-worker@1.0.4"},
    {"name": "english-128", "version": "1", "licence": "Apache-2.0", "path": "src/parasphere/vectors/english-128"},
    {"name": "docstrings of numpy, scipy and scikit-learn", "version": "1", "licence": "BSD-3-Clause",
     "path": "src/parasphere/datasets/docstrings.jsonl.xz"},
]  # fmt: skip


def component(part: dict[str, str]) -> dict[str, Any]:
    """Describe a vendored part, with a hash of its files."""
    path = ROOT / part["path"]
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    found: dict[str, Any] = {
        "type": "data" if part["path"].startswith("src") else "library",
        "bom-ref": f"vendored:{part['name']}",
        "name": part["name"],
        "version": part["version"],
        "licenses": [{"license": {"id": part["licence"]}}],
        "hashes": [{"alg": "SHA-256", "content": digest.hexdigest()}],
        "properties": [{"name": "path", "value": part["path"]}],
    }
    return found | ({"purl": part["purl"]} if "purl" in part else {})


def main() -> None:
    """List the environment by cyclonedx-py, and add the vendored parts."""
    python, target = sys.argv[1], Path(sys.argv[2])
    command = [sys.executable, "-m", "cyclonedx_py", "environment", python, "--output-format", "JSON"]
    bill = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    bill["components"] += [component(part) for part in VENDORED]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    print(f"{len(bill['components'])} components in {target}")


if __name__ == "__main__":
    main()
