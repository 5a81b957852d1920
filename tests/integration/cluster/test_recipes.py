"""The recipes for other engines, run as they are printed where the engine is installed."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from parasphere import SphericalParagraphModel, datasets

RECIPES = Path(__file__).parents[3] / "docs" / "recipes"


@pytest.mark.parametrize(("script", "library"), [("spark.py", "pyspark"), ("ray_data.py", "ray")])
def test_a_recipe_gives_the_model_of_one_machine(script: str, library: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed; docs/cluster.md says what it is for")
    if library == "pyspark" and shutil.which("java") is None:
        pytest.skip("pyspark needs a Java runtime, and there is none")
    texts = [" ".join(text.split()) for text in datasets.load("docstrings").texts[:600]]
    (tmp_path / "texts").mkdir()
    for number in range(3):
        (tmp_path / "texts" / f"{number}.txt").write_text("\n".join(texts[200 * number :][:200]) + "\n")
    arguments = [f"{tmp_path}/texts/*.txt", str(tmp_path / "vectors"), str(tmp_path / "model")]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}  # Spark's workers would take the Python of the path
    subprocess.run([sys.executable, str(RECIPES / script), *arguments], check=True, timeout=300, env=environment)
    alone, model = SphericalParagraphModel(adapt=False).fit(texts), SphericalParagraphModel.load(tmp_path / "model")
    np.testing.assert_allclose(model.mean_direction_, alone.mean_direction_, atol=1e-9)
    np.testing.assert_allclose(model.encoder_.whitening, alone.encoder_.whitening, atol=1e-9)
    rows = [
        row for path in (tmp_path / "vectors").glob("*.parquet") for row in pq.read_table(path)["vector"].to_pylist()
    ]
    found, expected = np.array(rows, np.float32), model.transform(texts)
    assert np.array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
