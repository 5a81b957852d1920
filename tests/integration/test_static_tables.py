"""Static tables of word pieces, compared text by text with the libraries that they were made for."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from parasphere import SphericalParagraphModel, Tokenizer, VectorsError, WordVectors, datasets
from parasphere.model import Reader
from parasphere.text import count_words
from parasphere.vectors import StaticTable

tokenizers = pytest.importorskip("tokenizers", reason="the extra `static`")
# Short ones: model2vec adds in float32, and its rounding grows with the length of a text.
TEXTS = [
    *(text[:200] for text in datasets.load("docstrings").texts[:60]),
    "",
    "Zürich's café, 2,000 ﬁsh & 北京!",
    "naïve [UNK] ##ing",
]
PLAIN = Tokenizer(digits=True)  # what both sides agree to be words
CORPUS = ["the cat sat on the mat", "a dog barked at cats", "unbelievable catalogues, 1984 b2b"]


def unit(rows: Any) -> NDArray[np.float64]:
    rows = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def read(vectors: WordVectors, tokenizer: Any, texts: list[str]) -> NDArray[np.float64]:
    return unit(Reader(vectors, tokenizer, weights=vectors.weights).read(texts).sums)


@pytest.fixture(scope="module")
def wordpiece() -> Any:
    """A WordPiece tokenizer like that of BERT, learned from texts."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=2000, special_tokens=["[PAD]", "[UNK]"], show_progress=False
    )
    tokenizer.train_from_iterator([*TEXTS, *CORPUS], trainer)
    return tokenizer


@pytest.fixture(scope="module")
def rows(wordpiece: Any) -> NDArray[np.float32]:
    size = (wordpiece.get_vocab_size(), 16)
    return np.random.default_rng(0).normal(size=size).astype(np.float32) * np.linspace(0.1, 2, size[0])[:, None].astype(
        np.float32
    )


@pytest.fixture(scope="module")
def model2vec_folder(wordpiece: Any, rows: NDArray[np.float32], tmp_path_factory: Any) -> Path:
    model2vec = pytest.importorskip("model2vec", reason="writes the folder and judges the result")
    folder = tmp_path_factory.mktemp("model2vec")
    few, mapping = rows[:1500], np.arange(len(rows)) % 1500
    weights = np.linspace(0.5, 1.5, len(rows)).astype(np.float32)
    model = model2vec.StaticModel(few, wordpiece, weights=weights, token_mapping=mapping, normalize=True)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def static_folder(wordpiece: Any, rows: NDArray[np.float32], tmp_path_factory: Any) -> Path:
    transformers = pytest.importorskip("sentence_transformers", reason="writes the folder and judges the result")
    modules = pytest.importorskip("sentence_transformers.models")
    folder = tmp_path_factory.mktemp("static")
    transformers.SentenceTransformer(modules=[modules.StaticEmbedding(wordpiece, rows)], device="cpu").save(str(folder))
    return folder


def test_model2vec_is_read_exactly(model2vec_folder: Path) -> None:
    theirs = __import__("model2vec").StaticModel.from_pretrained(str(model2vec_folder), max_length=None)
    table = StaticTable.read(model2vec_folder)
    ours = read(WordVectors.load(table, pieces=True), table.tokenizer, TEXTS)
    np.testing.assert_allclose(ours, unit(theirs.encode(TEXTS)), atol=1e-6)
    plain = [" ".join(PLAIN(text)) for text in TEXTS]
    words = WordVectors.load(model2vec_folder, words=count_words(plain, PLAIN)[0])
    np.testing.assert_allclose(read(words, PLAIN, plain), unit(theirs.encode(plain)), atol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # their own
def test_a_static_embedding_is_read_exactly(static_folder: Path) -> None:
    theirs = __import__("sentence_transformers").SentenceTransformer(str(static_folder), device="cpu")
    table = StaticTable.read(static_folder)
    ours = read(WordVectors.load(table, pieces=True), table.tokenizer, TEXTS)
    np.testing.assert_allclose(ours, unit(theirs.encode(TEXTS)), atol=1e-6)
    plain = [" ".join(PLAIN(text)) for text in TEXTS]
    words = WordVectors.load(static_folder, words=count_words(plain, PLAIN)[0])
    np.testing.assert_allclose(read(words, PLAIN, plain), unit(theirs.encode(plain)), atol=1e-6)


@pytest.mark.skipif(find_spec("wordllama") is None, reason="needs wordllama")
def test_wordllama_is_read_exactly_by_pieces_and_nearly_by_words() -> None:
    inference = pytest.importorskip("wordllama.inference")
    table = StaticTable.read("wordllama")
    tokenizer = tokenizers.Tokenizer.from_str(table.tokenizer.to_str())  # WordLlama.load would fetch it by network
    theirs = unit(inference.WordLlamaInference(table.rows, tokenizer).embed(TEXTS))
    np.testing.assert_allclose(read(WordVectors.load(table, pieces=True), table.tokenizer, TEXTS), theirs, atol=1e-6)
    words = WordVectors.load("wordllama", words=count_words(TEXTS, PLAIN)[0])
    cosines = (read(words, PLAIN, TEXTS[:60]) * theirs[:60]).sum(1)
    assert np.median(cosines) > 0.7  # it has rows for punctuation and capitals, which words are without


@pytest.mark.skipif(find_spec("static_model") is None, reason="needs tokenlearn-static-model")
def test_integers_in_many_languages() -> None:
    spec = find_spec("static_model")
    assert spec is not None
    folder = Path(spec.origin or "").parent / "model"
    model2vec = pytest.importorskip("model2vec")
    theirs = model2vec.StaticModel.from_pretrained(str(folder), max_length=None)
    table = StaticTable.read(folder)
    ours = read(WordVectors.load(table, pieces=True), table.tokenizer, TEXTS)
    np.testing.assert_allclose(ours, unit(theirs.encode(TEXTS)), atol=1e-5)  # its own sums are less precise
    np.testing.assert_allclose(ours, unit(table.sums(TEXTS)[0]), atol=2e-7)


GERMAN = [
    "Der Hafen liegt am Meer, und die Schiffe kommen bei Sturm zurück",
    "Die Fischer fahren mit ihren Schiffen auf das Meer hinaus",
    "Das Gericht verhandelt über die Klage der Nachbarn",
    "Die Richterin weist die Klage ab, und der Anwalt geht in Berufung",
] * 60


def test_words_of_another_language_are_composed(model2vec_folder: Path, tmp_path: Path) -> None:
    theirs = __import__("model2vec").StaticModel.from_pretrained(str(model2vec_folder), max_length=None)
    words = count_words(GERMAN, PLAIN)[0]
    vectors = WordVectors.load(model2vec_folder, words=[*words, words[0]])
    assert vectors.words == words  # each once, and no English ones
    assert {"hafen", "zurück", "klage"} <= set(words)
    plain = [" ".join(PLAIN(text)) for text in GERMAN[:4]]
    np.testing.assert_allclose(read(vectors, PLAIN, plain), unit(theirs.encode(plain)), atol=1e-6)
    model = SphericalParagraphModel(vectors, tol=0.1).fit(GERMAN)
    assert model.read(GERMAN).unknown.sum() == 0
    model.save(tmp_path / "model")
    again = SphericalParagraphModel.load(tmp_path / "model")
    assert np.array_equal(again.transform(GERMAN[:4]), model.transform(GERMAN[:4]))
    model.write_static(tmp_path / "static")
    written = json.loads((tmp_path / "static" / "tokenizer.json").read_text())["model"]["vocab"]
    assert "zurück" in written


def test_words_or_pieces(model2vec_folder: Path) -> None:
    with pytest.raises(VectorsError, match="give one of them"):
        WordVectors.load(model2vec_folder, words=["meer"], pieces=True)
    with pytest.raises(VectorsError, match="not the one str 'meer'"):
        WordVectors.load(model2vec_folder, words="meer")
    with pytest.raises(VectorsError, match="needs at least one word"):
        WordVectors.load(model2vec_folder, words=[])
    with pytest.raises(VectorsError, match="the word in row 1 is 7; a str is needed"):
        WordVectors.load(model2vec_folder, words=["meer", 7])  # type: ignore[list-item]
    assert "##s" in WordVectors.load(model2vec_folder, pieces=True)


def test_a_folder_is_loaded_by_its_path(model2vec_folder: Path) -> None:
    vectors = WordVectors.load(model2vec_folder)
    assert {"the", "of", "ocean"} <= set(vectors.words)  # of its pieces, and of English
    assert vectors.weights is not None
    assert 0.2 < vectors.weights[vectors.vocabulary.get_many(["the", "of", "and", "ocean"])].mean() < 5


def test_saved_word_vectors_are_not_taken_for_a_table(tmp_path: Path) -> None:
    WordVectors.from_arrays(["sea"], [[3, 4]]).save(tmp_path / "saved")
    assert WordVectors.load(tmp_path / "saved").words == ["sea"]


def test_what_is_wrong_with_a_folder_is_told(model2vec_folder: Path, tmp_path: Path) -> None:
    text = (model2vec_folder / "tokenizer.json").read_text()
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(VectorsError, match=r"model\.safetensors cannot be read"):
        WordVectors.load(tmp_path)
    save_file = pytest.importorskip("safetensors.numpy").save_file
    save_file({"embeddings": np.ones((3, 2), np.float32)}, tmp_path / "model.safetensors")
    with pytest.raises(VectorsError, match=r"need one row of finite numbers each, not an array of shape \(3, 2\)"):
        WordVectors.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps({"version": "1.0"}))
    with pytest.raises(VectorsError, match="is not a Hugging Face tokenizer"):
        WordVectors.load(tmp_path)
