"""Texts are read without scipy and scikit-learn, which take long to import, and all but Arrow without pyarrow."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

HEAVY = ("pyarrow", "scipy", "sklearn")
# Modules below the reader, of which each importer is named.
LIGHT = ("parasphere.text", "parasphere.corpus", "parasphere.model.reader")
WATCH = f"""
import sys
importers = set()

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {HEAVY!r}:
            frame = sys._getframe(1)
            while frame is not None and not frame.f_globals.get("__name__", "").startswith("parasphere"):
                frame = frame.f_back
            importers.add(frame.f_globals["__name__"] if frame else "?")

def told():
    return sorted(one for one in importers if one.startswith({LIGHT!r}))

sys.meta_path.insert(0, Watch())
"""


def importers(code: str) -> str:
    """Return the modules of LIGHT that import what is heavy while some code runs."""
    # What others have imported already is not seen; so nothing is.
    program = WATCH + dedent(code) + "\nprint(told())"
    return subprocess.check_output([sys.executable, "-c", program], text=True).strip()


def test_importing_the_package_of_texts_is_light() -> None:
    assert importers("import parasphere.text") == "[]"


def test_reading_lists_is_light() -> None:
    code = """
    import numpy as np
    from parasphere.model.reader import Reader
    from parasphere.vectors import WordVectors

    for name in [name for name in sys.modules if name.split(".")[0] in ("pyarrow", "scipy", "sklearn")]:
        del sys.modules[name]  # of other packages, so that each import is seen
    vectors = WordVectors.from_arrays(["north", "east", "new", "york"], np.eye(4))
    reader = Reader(vectors)
    for texts in (["North east"], ["e\\u0301 north of New York", "\\ud800"] * 9, ["north east " * 9] * 9999):
        reader.read(texts, n_jobs=2)
    reader.bags(["east"])
    assert [part[0] for part in reader.parts("North New York")] == ["north", "new", "york"]
    import warnings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader.read(["unknown words only"] * 50)
    assert "unknown" in str(caught[0].message)
    """
    assert importers(code) == "[]"


def test_importers_are_seen() -> None:
    assert importers("import parasphere.corpus.arrow") != "[]"


def test_all_but_arrow_works_without_pyarrow(tmp_path: Path) -> None:
    program = f"""
    import sys
    sys.modules["pyarrow"] = None  # as if it were not installed
    from pathlib import Path
    import numpy as np
    from parasphere import SphericalParagraphModel, SphericalTopics
    from parasphere.errors import MissingExtraError
    from parasphere.model.exports import writer
    from parasphere.search import Index

    folder = Path({str(tmp_path)!r})
    texts = ["north wind", "the sea", "a matrix of numbers", "rain over the sea"] * 5
    (folder / "c.txt").write_text("\\n".join(texts))
    (folder / "c.csv").write_text("id,text\\n" + "".join(f"{{i}},{{text}}\\n" for i, text in enumerate(texts)))
    rows = (f'{{{{"id": {{i}}, "text": "{{text}}"}}}}\\n' for i, text in enumerate(texts))
    (folder / "c.jsonl").write_text("".join(rows))
    model = SphericalParagraphModel(tol=1e-3).fit(texts)
    for name in ("c.txt", "c.csv", "c.jsonl"):
        assert np.array_equal(model.transform(folder / name), model.transform(texts))
    index = model.index(folder / "c.jsonl", ids="id")
    index.save(folder / "index")
    assert [match.id for match in Index.load(folder / "index").search("matrix", 1)] == [2]
    index.remove(3)
    index.duplicates()
    model.vectors_.subset(["sea"]).write(folder / "v.vec")
    for name in ("v.npy", "v.jsonl", "v.csv"):
        with writer(folder / name, 128) as write:
            for block, posterior in model.stream(folder / "c.csv", id="id"):
                write(block, posterior)
    (folder / "c.parquet").write_bytes(b"")
    try:
        model.transform(folder / "c.parquet")
    except MissingExtraError as error:
        print(error)
    """
    run = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "c.parquet needs pyarrow, which is not installed: pip install 'parasphere[arrow]'" in run.stdout
