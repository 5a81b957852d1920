"""Files for other programs: what is written is read back by the reader of this package."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parasphere import WordVectors
from parasphere.errors import StoreError, VectorsError
from parasphere.vectors import formats, writing

LARGEST = float(np.finfo(np.float32).max)
# Its shortest spelling is 7.038531e-26; read as a double, that rounds to the float32 beside it.
TRAP = np.array([0x15AE43FD], np.uint32).view(np.float32)
NAMES = ["vectors.txt", "vectors.vec", "vectors.bin"]

words_of = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1)
tables = st.lists(words_of, min_size=1, max_size=6, unique=True).flatmap(
    lambda words: st.tuples(
        st.just(words),
        hnp.arrays(
            np.float32,
            st.tuples(st.just(len(words)), st.integers(1, 5)),
            elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
        ),
    )
)


def lengthened(vectors: WordVectors) -> np.ndarray:
    """Return what is to be written: a float32 matrix (n_words, dim) of the original lengths."""
    return np.clip(vectors.matrix * vectors.norms[:, None], -LARGEST, LARGEST).astype(np.float32)


@settings(max_examples=60)
@given(tables, st.sampled_from(NAMES), st.integers(1, 4))
@example((["a", "b"], np.array([[LARGEST, LARGEST], [-LARGEST, 1e-45]], np.float32)), "vectors.txt", 1)
def test_what_is_written_is_read_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, table: tuple[list[str], np.ndarray], name: str, at_once: int
) -> None:
    words, matrix = table
    matrix[~matrix.any(axis=1), 0] = 1
    vectors = WordVectors.from_arrays(words, matrix)
    path = tmp_path_factory.getbasetemp() / name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "_NUMBERS", at_once)
        vectors.write(path)
    found = formats.read(path)
    assert found.vocabulary.words == words
    assert found.matrix.tobytes() == lengthened(vectors).tobytes()
    # Rounded once on the sphere and once at its length: by 2^-24 each, or half the least float32 there is.
    error = np.abs(found.matrix.astype(np.float64) - matrix)
    assert (error <= 2e-7 * np.abs(matrix) + 1e-45 * (1 + vectors.norms[:, None])).all()


@settings(max_examples=60)
@given(hnp.arrays(np.float32, 50, elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
@example(TRAP)
def test_text_gives_the_same_float32_back_by_way_of_a_double(values: np.ndarray) -> None:
    spelled = writing._text(values)
    assert np.array([float(number) for number in spelled.split(b" ")]).astype(np.float32).tobytes() == values.tobytes()


def test_all_formats_hold_the_same_vectors(tmp_path: Path, rng: np.random.Generator) -> None:
    vectors = WordVectors.from_arrays([f"w{i}" for i in range(100)], rng.normal(size=(100, 7)))
    prints = set()
    for name in NAMES:
        vectors.write(tmp_path / "new" / name)
        prints.add(WordVectors.load(tmp_path / "new" / name).fingerprint)
    assert len(prints) == 1


def test_the_name_must_say_the_format(tmp_path: Path) -> None:
    water = WordVectors.from_arrays(["sea"], [[3, 4]])
    for name in ("water", "water.kv", "water.txt.gz"):
        with pytest.raises(VectorsError, match=rf"{name}: the name must end in \.txt or \.vec .* or \.bin"):
            water.write(tmp_path / name)
    (tmp_path / "folder.bin").mkdir()
    with pytest.raises(StoreError, match=r"folder\.bin is a folder"):
        water.write(tmp_path / "folder.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.bin"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("space", " \t\n\r\v\f")
def test_a_word_with_white_space_is_named(tmp_path: Path, name: str, space: str) -> None:
    vectors = WordVectors.from_arrays(["sea", f"New{space}York", "a b"], np.ones((3, 2)))
    with pytest.raises(VectorsError) as raised:
        vectors.write(tmp_path / name)
    assert f"the word {f'New{space}York'!r} (row 1) contains white space" in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "water.vec"
    WordVectors.from_arrays(["sea"], [[3, 4]]).write(path)
    monkeypatch.setitem(writing._FORMATS, ".vec", interrupted)
    with pytest.raises(KeyboardInterrupt):
        WordVectors.from_arrays(["lake"], [[4, 3]]).write(path)
    assert path.read_text() == "1 2\nsea 3 4\n"
    assert [found.name for found in tmp_path.iterdir()] == ["water.vec"]
