"""What a worker computes: vectors, similar texts, explanations and topics, with a model, an index and topics."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError, StoreError
from ..model import Encoder, Match
from ..search import Index
from ..storage import is_saved
from ..topics import SphericalTopics
from .settings import Settings

Rows = NDArray[np.float32]
_SHORT = 16_384  # characters whose vectors take less than a millisecond
_EXAMPLES = ["a boat on the lake", "the road to the hills"]


class AbsentError(ParasphereError):
    """Something that this server was started without."""


@dataclass(frozen=True)
class Engine:
    """The encoder of a server, and its index and topics if it has any.

    Parameters
    ----------
    encoder : Encoder
    index : Index, default=None
    topics : SphericalTopics, default=None
    """

    encoder: Encoder
    index: Index | None = None
    topics: SphericalTopics | None = None
    dim: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", self.encoder.dim)

    @classmethod
    def load(cls, settings: Settings) -> "Engine":
        """Map everything that a server needs into memory."""
        return cls(
            _encoder(settings),
            None if settings.index is None else Index.load(settings.index, vectors=settings.vectors),
            None if settings.topics is None else SphericalTopics.load(settings.topics, vectors=settings.vectors),
        )

    def is_short(self, texts: list[str]) -> bool:
        """Tell whether the vectors of some texts take less than a millisecond."""
        return sum(map(len, texts)) <= _SHORT

    def vectors(self, texts: list[str]) -> Rows:
        """Return the vector of each text, (n, dim)."""
        return np.ascontiguousarray(self.encoder.transform(texts), np.float32)

    def directions(self, texts: list[str]) -> Rows:
        """Return the posterior direction of each text, (n, dim)."""
        return np.ascontiguousarray(self.encoder.transform(texts, space="direction"), np.float32)

    def certainty(self, texts: list[str]) -> NDArray[np.float64]:
        """Return how much is known of each text, (n, 3): information in nats, concentration, known words."""
        posterior = self.encoder.posterior(texts)
        return np.column_stack([posterior.information, posterior.concentration, posterior.length])

    def search(self, queries: list[str], k: int, weight: float | None) -> list[list[Match]]:
        """Return the best documents of the index for each query."""
        if self.index is None:
            raise AbsentError("this server has no index: start it with --index, or send the texts to rank as 'among'.")
        return self.index.search(queries, k, weight=weight)

    def similar(self, queries: list[str], among: list[str], k: int) -> list[list[Match]]:
        """Return the most similar of some texts for each query."""
        found: list[list[Match]] = self.encoder.similar(queries, among, k)
        return found

    def explain(self, text: str) -> dict[str, Any]:
        """Return the share of each word in the direction of a text."""
        found = self.encoder.explain(text)
        return {
            "words": [{"word": word, "share": share} for word, share in found.words],
            "prior": found.prior,
            "unknown": found.unknown,
            "concentration": found.concentration,
        }

    def explain_match(self, text: str, other: str) -> dict[str, Any]:
        """Return the part of each word in the similarity of two texts."""
        found = self.encoder.explain_match(text, other)
        return {
            "similarity": found.similarity,
            "words": [{"word": word, "share": share} for word, share in found.words_a],
            "other_words": [{"word": word, "share": share} for word, share in found.words_b],
            "common": found.common_a,
            "other_common": found.common_b,
        }

    def known_topics(self) -> list[dict[str, Any]]:
        """Return the topics: their sizes, words, and typical texts."""
        topics = self._topics()
        sizes = np.bincount(topics.labels_[topics.labels_ >= 0], minlength=len(topics.weights_)).tolist()
        return [
            {"topic": topic, "size": size, "words": words, "texts": texts}
            for topic, (size, words, texts) in enumerate(
                zip(sizes, topics.topic_words(), topics.typical_, strict=True)
            )
        ]  # fmt: skip

    def topics_of(self, texts: list[str], k: int) -> list[dict[str, Any]]:
        """Return the topic of each text, and its ``k`` most likely ones with their probabilities."""
        topics = self._topics()
        shares, labels = topics.transform(texts), topics.predict(texts).tolist()
        names = [", ".join(words) for words in topics.topic_words(3)]
        best = np.argsort(-shares, axis=1, kind="stable")[:, :k]
        return [
            {
                "topic": label if label >= 0 else None,
                "likely": [{"topic": int(t), "name": names[t], "probability": float(row[t])} for t in order],
            }
            for label, row, order in zip(labels, shares, best, strict=True)
        ]

    def warm(self) -> None:
        """Compute everything once, so that no client waits for what is built on first use."""
        self.vectors(_EXAMPLES)
        calls: list[Callable[[], object]] = [
            lambda: self.directions(_EXAMPLES), lambda: self.certainty(_EXAMPLES),
            lambda: self.similar(_EXAMPLES[:1], _EXAMPLES, 1), lambda: self.explain(_EXAMPLES[0]),
            lambda: self.explain_match(_EXAMPLES[0], _EXAMPLES[1]),
        ]  # fmt: skip
        if self.index is not None:
            calls.append(lambda: self.search(_EXAMPLES, 1, None))
        if self.topics is not None:
            calls += [self.known_topics, lambda: self.topics_of(_EXAMPLES, 1)]
        for call in calls:
            try:
                call()
            except ParasphereError:  # none of the words of the examples is known here
                continue

    def _topics(self) -> SphericalTopics:
        if self.topics is None:
            raise AbsentError("this server has no topics: start it with --topics.")
        return self.topics


def _encoder(settings: Settings) -> Encoder:
    try:
        return Encoder.load(settings.model, vectors=settings.vectors)
    except StoreError as error:
        hint = " Give the model, and the index by --index." if is_saved(settings.model, "index") else ""
        raise StoreError(f"{error}{hint}") from error
