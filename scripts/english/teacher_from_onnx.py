"""Convert a BERT encoder from ONNX to a folder of sentence-transformers, with matrices rounded to int8.

Run with ``python scripts/english/teacher_from_onnx.py gte-small teachers/gte-small``; the first folder has
``onnx/model.onnx``, ``config.json`` and the tokenizer. Each row of a matrix is rounded to 255 levels, so that the
weights of a teacher fit into a quarter of the space; they are written as float32. The encoder takes the mean of its
last layer, as sentence-transformers does by default. Needs ``onnx`` and ``safetensors``.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BESIDE = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")
SMALLEST = 5000  # smaller matrices (in numbers) are not rounded


def weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return the weights by their names in torch."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    given = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found = {
        name: array
        for name, array in given.items()
        if name.startswith(("embeddings", "encoder")) and array.dtype == np.float32
    }
    for node in graph.node:  # the matrices of linear layers are transposed, and have lost their names
        if node.op_type == "MatMul" and node.input[1] in given:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            found[f"{name}.weight"] = np.ascontiguousarray(given[node.input[1]].T)
    return found


def rounded(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an array whose rows, if it is a large matrix, have 255 levels each."""
    if array.ndim != 2 or array.size <= SMALLEST:
        return array
    scale = (np.abs(array).max(axis=1, keepdims=True) / 127).astype(np.float32)
    levels: NDArray[Any] = np.rint(array / scale).astype(np.int8)
    return np.asarray(levels.astype(np.float32) * scale)


def main() -> None:
    """Read, round and write."""
    from safetensors.numpy import save_file

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("source", type=Path, help="the folder with onnx/model.onnx")
    parser.add_argument("folder", type=Path, help="the folder to write")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: rounded(array) for name, array in weights(given.source / "onnx" / "model.onnx").items()},
        given.folder / "model.safetensors",
    )
    for name in BESIDE:
        shutil.copy(given.source / name, given.folder)


if __name__ == "__main__":
    main()
