"""Columns of texts: the same words for them in every method, and no option that is silently ignored."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from parasphere import Encoder, SphericalParagraphModel, SphericalTopics, WordVectors
from parasphere.errors import CorpusError, ParasphereWarning
from parasphere.search import duplicates

COMPASS = WordVectors.from_arrays(["north", "east", "west"], np.array([[0, 1], [1, 0], [-1, 0.1]]))
TITLES = ["north", None, "west", "", "north north", "east"] * 4
BODIES = ["north east", "east", "west north", "west", "east", None] * 4
JOINED = ["\n\n".join(filter(None, both)) for both in zip(TITLES, BODIES, strict=True)]
TABLE = pd.DataFrame({"title": TITLES, "body": BODIES, "id": [f"d{i}" for i in range(24)]})
BOTH = {"text": ["title", "body"]}


def model() -> SphericalParagraphModel:
    return SphericalParagraphModel(COMPASS, adapt=False, tol=1e-3)


@pytest.fixture(params=["frame", "file", "stream"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "frame":
        return lambda: TABLE
    if request.param == "file":
        TABLE.to_csv(tmp_path / "c.csv", index=False)
        return lambda: tmp_path / "c.csv"
    arrow = pytest.importorskip("pyarrow")
    return lambda: arrow.Table.from_pandas(TABLE).to_reader(5)


def test_every_method_joins_columns(source: Any) -> None:
    expected = model().fit(JOINED)
    vectors = expected.transform(JOINED)
    fitted = model().fit(source(), **BOTH)
    assert fitted.mean_direction_.tobytes() == expected.mean_direction_.tobytes()
    assert fitted.transform(source(), **BOTH).tobytes() == vectors.tobytes()
    assert model().fit_transform(source(), **BOTH).tobytes() == vectors.tobytes()
    assert model().partial_fit(source(), **BOTH).transform(JOINED).tobytes() == vectors.tobytes()
    assert fitted.partial_fit(source(), **BOTH).online_.held is not None
    assert expected.encoder_.transform(source(), **BOTH).tobytes() == vectors.tobytes()
    assert expected.posterior(source(), **BOTH).offset.shape == (24, 2)
    assert len(expected.read(source(), **BOTH)) == 24
    assert [text for block, _ in expected.stream(source(), **BOTH) for text in block.texts] == JOINED
    index = expected.index(source(), "id", **BOTH)
    assert index.texts is not None
    assert (index.texts.tolist(), index.ids[1]) == (JOINED, "d1")
    assert index.update(source(), "id", **BOTH).kept == 24
    assert list(duplicates(source(), **BOTH)) == list(duplicates(JOINED))


def test_texts_are_read_twice_with_their_columns(source: Any) -> None:
    adapting = SphericalParagraphModel(COMPASS, tol=1e-3, random_state=0)
    assert (
        adapting.fit(source(), **BOTH).transform(JOINED).tobytes() == adapting.fit(JOINED).transform(JOINED).tobytes()
    )


def test_topics_join_columns(source: Any) -> None:
    topics = SphericalTopics(model(), n_topics=2).fit(source(), **BOTH)
    assert topics.labels_.tolist() == SphericalTopics(model(), n_topics=2).fit(JOINED).labels_.tolist()
    assert topics.predict(source(), **BOTH).tolist() == topics.predict(JOINED).tolist()
    assert topics.transform(source(), **BOTH).shape == (24, 2)
    assert len(topics.partial_fit(source(), **BOTH).labels_) == 48


@pytest.mark.parametrize("name", ["fit", "fit_transform", "partial_fit", "transform", "posterior"])
@pytest.mark.parametrize("X", [JOINED, np.eye(2), TABLE])
def test_unknown_options_are_named(name: str, X: Any) -> None:
    fitted = model().fit(JOINED)
    with pytest.raises(TypeError, match="without an option 'sample_weight'; there are text, label, id, encoding"):
        getattr(fitted, name)(X, sample_weight=[1, 2])


def test_bags_and_lists_have_no_columns() -> None:
    fitted = model().fit(JOINED)
    with pytest.raises(CorpusError, match="the corpus is of type Bags"):
        fitted.transform(fitted.read(JOINED), text="body")
    with pytest.raises(CorpusError, match='"title" would name a column, but the documents come without columns'):
        fitted.transform(JOINED, **BOTH)


def test_rows_of_two_columns_warn() -> None:
    fitted = model().fit(JOINED)
    with pytest.warns(ParasphereWarning, match="tokens contain spaces") as caught:
        fitted.posterior(np.array([["north", "north east"], ["west", "east west"]]))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("fitted", [model().fit(JOINED), model().fit(JOINED).encoder_])
def test_encode_takes_the_options_of_sentence_transformers(fitted: SphericalParagraphModel | Encoder) -> None:
    vectors = fitted.encode(["north", "east"])
    same = fitted.encode(
        ["north", "east"], batch_size=7, show_progress_bar=True, convert_to_numpy=True, normalize_embeddings=True,
        device="cpu", prompt=None, prompt_name=None, precision="float32", convert_to_tensor=False,
    )  # fmt: skip
    assert same.tobytes() == vectors.tobytes()
    for options in ({"normalise": True}, {"convert_to_tensor": True}, {"truncate_dim": 1}):
        (name,) = options
        with pytest.raises(TypeError, match=f"encode does not take {name}=.*batch_size, convert_to_numpy, device"):
            fitted.encode(["north"], **options)
