"""Names of topics, from texts whose phrases, boilerplate and forms are planted."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parasphere import SphericalParagraphModel, SphericalTopics, WordVectors, storage
from parasphere.errors import InvalidParameterError, ParasphereError, StoreError
from parasphere.text import SegmentingTokenizer
from parasphere.topics.merging import Merges, merge_topics
from parasphere.topics.naming import Phrases, find_phrases, same_word

FILLERS = [f"{a}{b}{c}er" for a in "bdfgk" for b in "aiou" for c in "lmnprt"]
SUBJECTS = ["Fourier transforms", "NASA", "hard drive"]


def made(subject: str, i: int) -> str:
    """A text about a subject, whose other words any text may have; its sentences are its own."""
    one, two, three, four, five = np.random.default_rng(i).choice(FILLERS, 5, replace=False)
    return (
        f"Near the {one} we saw a {two} with the {subject} and {three}s.\nThe {four} is about the {subject} of {five}s."
    )


@cache
def planted() -> tuple[list[str], np.ndarray]:
    texts = [made(subject, 100 * topic + i) for topic, subject in enumerate(SUBJECTS) for i in range(40)]
    return texts, np.repeat(np.arange(3), 40)


@cache
def merges() -> Merges:
    return merge_topics(np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0, 1.0]]) * 30, np.full(3, 40.0))


def phrases(texts: list[Any]) -> Phrases:
    return find_phrases(texts, planted()[1], merges())


def names(texts: list[Any]) -> list[list[str]]:
    return phrases(texts).names(np.full(3, 40.0))


def test_topics_have_their_phrases_as_these_are_written() -> None:
    assert [name[0] for name in names(planted()[0])] == SUBJECTS


def test_lines_and_runs_of_words_that_several_texts_have_count_once() -> None:
    texts = list(planted()[0])
    for i in range(40):
        texts[i] += "\nSerdar Argic"
        texts[40 + i] += (
            f"\nAs {i} said, all rights in this free licence text are reserved by the Boost Developers, {i}."
        )
    found = phrases(texts)
    assert "Serdar Argic" not in found.written
    assert "Boost Developers" not in found.written
    assert [name[0] for name in found.names(np.full(3, 40.0))] == SUBJECTS


def test_quotations_references_headers_and_signatures_do_not_count() -> None:
    texts = [
        f"From: Zhang Wei\nOrganization: Wei Institute {i}\n\n{text}\n> the Quoted Person {i}\n"
        f".. [1] Shanjie Zhang, volume {i}\n--\nSigned Person {i}"
        for i, text in enumerate(planted()[0])
    ]
    everything = " ".join(phrases(texts).written)
    assert not {"Wei", "Institute", "Quoted", "Shanjie", "Signed"} & set(everything.split())


def test_a_text_that_is_nothing_but_a_repeated_line_counts() -> None:
    texts = [SUBJECTS[topic] for topic in planted()[1]]
    assert [name[0] for name in names(texts)] == SUBJECTS


def test_verbs_adjectives_adverbs_and_code_are_no_names() -> None:
    extra = " They glorp the thing to glorp it; it was very bad, so bad. Really quickly np.fft.glorp_it a@b.org x1."
    extra += " Of the snarf np.snarf x.snarf by the `quux` of the `quux`."
    found = phrases([text + extra * int(topic == 0) for text, topic in zip(*planted(), strict=True)])
    assert not {"glorp", "bad", "quickly", "org", "np", "fft", "x1", "snarf", "quux"} & set(
        " ".join(found.written).split()
    )


def test_no_word_is_in_two_names() -> None:
    texts = [text.replace(SUBJECTS[1], "Fourier series") for text in planted()[0]]
    words = [{same_word(word) for phrase in name for word in phrase.split()} for name in names(texts)]
    assert not words[0] & words[1]
    assert not words[1] & words[2]
    assert words[0] | words[1] > {"fourier"}


def test_a_topic_that_is_loud_in_a_few_texts_is_not_named_by_these() -> None:
    texts = list(planted()[0])
    texts[0] += " ".join(f" The Loud Person is at the {word} with the Loud Person." for word in FILLERS)
    assert "Loud Person" not in phrases(texts).written


def test_token_lists_have_phrases_of_their_tokens() -> None:
    texts = [["the", *FILLERS[i % 7 : i % 7 + 2], "of", SUBJECTS[topic]] for i, topic in enumerate(planted()[1])]
    assert [name[0] for name in names(texts)] == SUBJECTS


def test_scripts_without_spaces_and_with_marks() -> None:
    tokenizer = SegmentingTokenizer(chinese="pairs")
    subjects = ["经济", "音乐", "हिन्दी"]
    texts = [f"{subjects[topic]}，{FILLERS[i % 7]}。" for i, topic in enumerate(planted()[1])]
    found = find_phrases(texts, planted()[1], merges(), tokenizer.spaced)
    assert [name[0] for name in found.names(np.full(3, 40.0))] == subjects


def test_texts_without_words_have_no_phrases() -> None:
    assert phrases(["", "12"] * 60).written == []
    assert phrases([[]] * 120).names(np.full(3, 40.0)) == [[], [], []]


def test_merged_topics_have_the_texts_of_both() -> None:
    found = phrases(planted()[0])
    both = found.merged(np.array([[1.0, 1, 0], [0, 0, 1]]), np.array([40.0, 40, 40]))
    assert both.shares[0, found.written.index("NASA")] == pytest.approx(0.5)
    assert set(both.names(np.array([80.0, 40]))[0]) >= {"NASA", "Fourier transforms"}


@cache
def fitted() -> SphericalTopics:
    words = sorted({word for text in planted()[0] for word in text.lower().replace(".", " ").replace(",", " ").split()})
    rows = np.random.default_rng(0).normal(size=(len(words), 12))
    model = SphericalParagraphModel(WordVectors.from_arrays(words, rows), tol=1e-3)
    return SphericalTopics(model, 3, lexical_weight=1.0, outliers=False).fit(planted()[0])


def test_topics_are_named_and_keep_their_names(tmp_path: Path) -> None:
    found = fitted()
    assert {name.split(" · ")[0] for name in found.names_} == set(SUBJECTS)
    assert [row["name"] for row in found.topics_] == found.names_
    assert found.text_names([1, -1]) == [found.names_[1], ""]
    assert len(found.at(2).names_) == 2
    assert len(found.at(1).names_) == 1
    found.save(tmp_path / "topics")
    again = SphericalTopics.load(tmp_path / "topics")
    assert again.names_ == found.names_
    assert again.at(2).names_ == found.at(2).names_
    before = list(again.names_)
    assert again.partial_fit(planted()[0][:50]).names_ == before


def test_a_function_may_name_topics(tmp_path: Path) -> None:
    asked: list[tuple[list[list[str]], list[list[str]]]] = []

    def naming(phrases: list[list[str]], texts: list[list[str]]) -> list[str]:
        asked.append((phrases, texts))
        return [f"about {best[0]}" for best in phrases]

    found = SphericalTopics(fitted().encoder_, 3, lexical_weight=1.0, naming=naming).fit(planted()[0])
    assert set(found.names_) == {f"about {subject}" for subject in SUBJECTS}
    assert asked[0][1] == found.typical_
    assert all(name.startswith("about ") for name in found.at(2).names_)
    found.save(tmp_path / "topics")
    assert SphericalTopics.load(tmp_path / "topics").names_ == found.names_


@pytest.mark.parametrize("answer", [["one"], "abc", [1, 2, 3], None])
def test_names_that_are_no_list_of_strings_are_refused(answer: Any) -> None:
    topics = SphericalTopics(fitted().encoder_, 3, naming=lambda *_: answer)
    with pytest.raises(ParasphereError, match="naming must return a list of 3 strings, one per topic, not"):
        topics.fit(planted()[0])
    with pytest.raises(InvalidParameterError, match="naming"):
        SphericalTopics(naming="a name").fit(planted()[0])


def test_a_topic_without_phrases_is_named_by_its_words() -> None:
    texts = [f"we {one} and {two} the" for one, two in (("baler", "damer"), ("foner", "guper"))] * 30
    topics = SphericalTopics(fitted().encoder_, 2, lexical_weight=1.0, outliers=False).fit(texts)
    assert topics.phrases_.names(np.full(2, 30.0)) == [[], []]
    assert all(len(name.split(" · ")) > 1 for name in topics.names_)


@pytest.mark.parametrize(
    ("name", "lie"),
    [
        ("phrases_.shares", lambda array: array + 1), ("phrases_.shares", lambda array: array[1:].copy()),
        ("phrases_.shares", lambda array: array * np.nan), ("phrases_.weights", lambda array: -array),
        ("phrases_.weights", lambda array: array[1:].copy()),
    ],
)  # fmt: skip
def test_phrases_with_other_arrays_are_refused(name: str, lie: Any, tmp_path: Path) -> None:
    fitted().save(tmp_path / "topics")
    arrays, info = storage.read(tmp_path / "topics")
    storage.write(tmp_path / "topics", "SphericalTopics", arrays | {name: lie(arrays[name])}, info.facts)
    with pytest.raises(StoreError, match="damaged"):
        SphericalTopics.load(tmp_path / "topics")


@pytest.mark.parametrize(("name", "value"), [("names_", {"list": ["one"]}), ("names_", {"list": [1, 2, 3]})])
def test_names_of_other_topics_are_refused(name: str, value: Any, tmp_path: Path) -> None:
    fitted().save(tmp_path / "topics")
    arrays, info = storage.read(tmp_path / "topics")
    info.facts["objects"][0]["learned"][name] = value
    storage.write(tmp_path / "topics", "SphericalTopics", arrays, info.facts)
    with pytest.raises(StoreError, match="damaged"):
        SphericalTopics.load(tmp_path / "topics")
