"""Saved encoders whose arrays and facts lie, made and tried by the library's ``tests/fuzz/crafted.py``."""

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduction.baselines import fisher, lsi, nmf, plsi, sam, sif, tfidf
from reproduction.baselines.fastsent import FastSent
from reproduction.baselines.lda import TopicsLDA
from reproduction.baselines.movmf import MovMFTopics
from reproduction.baselines.pv import ParagraphVectors
from reproduction.baselines.word2vec import Word2Vec
from reproduction.sphere import SphericalAdmixture

SOURCE = Path(__file__).parents[3] / "tests" / "fuzz" / "crafted.py"
CASES = 70  # as many per kind as the library's tests try


def library_harness() -> Any:
    spec = importlib.util.spec_from_file_location("crafted", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


crafted = library_harness()


def of_texts(encoder: Any) -> Any:
    return crafted.Target(
        lambda folder: encoder.fit(crafted.TEXTS).save(folder),
        type(encoder).load,
        lambda found: found.transform(crafted.ASKED),
    )


crafted.OURS = (*crafted.OURS, "reproduction")
crafted.TARGETS = {
    "word2vec": crafted._learner(Word2Vec(4, min_count=1, epochs=1)),
    "admixture": crafted._of_rows(SphericalAdmixture(2, random_state=0)),
    "tfidf": of_texts(tfidf.TfIdf((1, 2))),
    "lsi": of_texts(lsi.LatentSemanticIndex(2)),
    "nmf": of_texts(nmf.NonnegativeFactors(2, max_iter=500)),
    "plsi": of_texts(plsi.ProbabilisticLatentSemanticIndex(2)),
    "lda": of_texts(TopicsLDA(2, passes=1)),
    "movmf topics": of_texts(MovMFTopics(2)),
    "sam": of_texts(sam.SphericalAdmixtureTopics(2)),
    "fastsent": of_texts(FastSent(4, min_count=1, epochs=1, random_state=0)),
    "pv": of_texts(ParagraphVectors(dim=4, epochs=1, infer_epochs=1)),
    "mean": of_texts(sif.WeightedMean(crafted._vectors())),
    "sif": of_texts(sif.SmoothInverseFrequency(crafted._vectors())),
    "fisher": of_texts(fisher.FisherVector(crafted._vectors(), n_components=2)),
}


@pytest.mark.parametrize("seed", range(CASES))
def test_nothing_but_our_own_errors(seed: int) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        crafted.case(seed)
