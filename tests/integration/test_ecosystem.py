"""A model as other libraries load it, compared with its own vectors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from parasphere import SphericalParagraphModel, Tokenizer, WordVectors, datasets
from parasphere.errors import ParasphereError, VectorsError
from parasphere.model import langchain_embeddings

# Short ones: model2vec adds in float32, and its rounding grows with the length of a text.
TEXTS = [text[:500] for text in datasets.load("docstrings").texts[:300]]
STRANGE = [
    "Zürich's CAFÉ, 2,000 ﬁsh & 北京!",
    "b2b — naïve Ω̂ x̄ ʼn",
    "unknownword only",
    "The sea, THE SEA; the\u00a0sea",
]
their_warnings = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    """The default vectors of the words of the texts, which are written and loaded faster than all."""
    known = WordVectors.load()
    words = dict.fromkeys(word for text in [*TEXTS, *STRANGE] for word in Tokenizer(digits=True)(text))
    some = known.subset([word for word in words if word in known])
    return some.with_weights(some.weights)  # other libraries leave unknown words out


def by_model2vec(folder: Path, texts: list[str]) -> NDArray[Any]:
    model2vec = pytest.importorskip("model2vec")
    return np.asarray(model2vec.StaticModel.from_pretrained(str(folder)).encode(texts))


def by_sentence_transformers(folder: Path, texts: list[str]) -> NDArray[Any]:
    library = pytest.importorskip("sentence_transformers")
    return np.asarray(library.SentenceTransformer(str(folder), device="cpu").encode(texts))


@pytest.fixture(scope="module")
def exact(vectors: WordVectors, tmp_path_factory: pytest.TempPathFactory) -> tuple[SphericalParagraphModel, Path]:
    """A model whose vectors are sums of rows, and its folder."""
    model = SphericalParagraphModel(vectors, prior_strength=np.inf, space="direction").fit(TEXTS)
    folder = tmp_path_factory.mktemp("exact") / "model"
    model.write_static(folder)
    return model, folder


@their_warnings
@pytest.mark.parametrize("load", [by_model2vec, by_sentence_transformers])
def test_directions_are_the_same_in_other_libraries(load: Any, exact: tuple[SphericalParagraphModel, Path]) -> None:
    model, folder = exact
    texts = [*TEXTS, *STRANGE]
    np.testing.assert_allclose(load(folder, texts), model.transform(texts), atol=1e-6)


@their_warnings
@pytest.mark.parametrize("load", [by_model2vec, by_sentence_transformers])
def test_offsets_are_nearly_the_same(load: Any, vectors: WordVectors, tmp_path: Path) -> None:
    model = SphericalParagraphModel(vectors).fit(TEXTS)
    model.write_static(tmp_path / "model")
    cosines = (load(tmp_path / "model", TEXTS) * model.transform(TEXTS)).sum(1)
    assert np.median(cosines) > 0.95
    assert cosines.min() > 0.8


def test_the_folder_is_a_saved_model_too(exact: tuple[SphericalParagraphModel, Path]) -> None:
    model, folder = exact
    loaded = SphericalParagraphModel.load(folder)
    assert np.array_equal(loaded.transform(TEXTS[:5]), model.transform(TEXTS[:5]))


def test_stop_words_and_entries_of_several_words_are_left_out(tmp_path: Path) -> None:
    vectors = WordVectors.from_arrays(["new york", "the", "sea", "Sea", "x"], np.eye(5))
    tokenizer = Tokenizer(stop_words=["the"], min_length=2, lowercase=False)
    texts = ["the sea", "Sea x", "sea new york"]
    model = SphericalParagraphModel(vectors, tokenizer=tokenizer, tol=1e-2, space="direction").fit(texts)
    model.write_static(tmp_path / "model")
    kept = json.loads((tmp_path / "model" / "tokenizer.json").read_text())["model"]["vocab"]
    assert [word for word in kept if word.isascii()] == ["[UNK]", "sea", "Sea"]


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    vectors = WordVectors.from_arrays(["sea", "lake", "fire"], [[3, 4], [4, 3], [-1, 0]])
    texts = ["sea lake", "fire", "sea fire"]
    with pytest.raises(ParasphereError, match="cannot read texts"):
        SphericalParagraphModel(None).fit(np.eye(3)).write_static(tmp_path / "numbers")
    with pytest.raises(VectorsError, match="a Tokenizer of this library only"):
        SphericalParagraphModel(vectors, tokenizer=str.split, tol=0.1).fit(texts).write_static(tmp_path / "callable")
    assert list(tmp_path.iterdir()) == []  # refused before anything was written
    model = SphericalParagraphModel(vectors, tol=0.1).fit(texts)
    with pytest.raises(ValueError, match="space must be"):
        model.write_static(tmp_path / "space", space="angle")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_encode_and_similarity(exact: tuple[SphericalParagraphModel, Path]) -> None:
    model, _ = exact
    rows = model.encode(TEXTS[:3], batch_size=2, show_progress_bar=False, convert_to_numpy=True)
    assert np.array_equal(rows, model.transform(TEXTS[:3]))
    assert np.array_equal(model.encode(TEXTS[0]), rows[0])
    np.testing.assert_allclose(model.similarity(rows, rows), rows @ rows.T, atol=1e-6)
    assert model.similarity(rows[0], rows).shape == (1, 3)
    with pytest.raises(ParasphereError, match=r"compare\(a, b\) takes texts"):
        model.similarity(["a text"], ["another"])


def test_langchain_stores_texts_by_our_vectors() -> None:
    stores = pytest.importorskip("langchain_core.vectorstores")
    embeddings = langchain_embeddings(SphericalParagraphModel().fit(TEXTS))
    assert embeddings.embed_documents([]) == []
    store = stores.InMemoryVectorStore(embeddings)
    store.add_texts(TEXTS)
    [found] = store.similarity_search(TEXTS[7], k=1)
    assert found.page_content == TEXTS[7]


@pytest.mark.filterwarnings("ignore")  # theirs and their dependencies'
def test_bertopic_takes_a_pipeline_of_a_fitted_model(exact: tuple[SphericalParagraphModel, Path]) -> None:
    model, _ = exact
    bertopic = pytest.importorskip("bertopic", reason="finds topics by our vectors")
    axes, clusters = PCA(5, random_state=0), KMeans(4, n_init=1, random_state=0)
    found = bertopic.BERTopic(embedding_model=make_pipeline(model), umap_model=axes, hdbscan_model=clusters)
    topics, _ = found.fit_transform(TEXTS)
    vectors = model.transform(TEXTS)
    assert np.array_equal(found.embedding_model.embed(TEXTS), vectors)
    expected = KMeans(4, n_init=1, random_state=0).fit(PCA(5, random_state=0).fit_transform(vectors)).labels_
    assert adjusted_rand_score(topics, expected) == 1.0


@pytest.mark.filterwarnings("ignore")
def test_turftopic_takes_a_fitted_model_as_encoder(exact: tuple[SphericalParagraphModel, Path]) -> None:
    model, _ = exact
    turftopic = pytest.importorskip("turftopic", reason="finds topics by our vectors")
    found = turftopic.SemanticSignalSeparation(3, encoder=model, random_state=0)
    assert np.array_equal(found.encode_documents(TEXTS), model.transform(TEXTS))
    assert found.fit_transform(TEXTS).shape == (len(TEXTS), 3)
