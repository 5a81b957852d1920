"""A corpus whose words are hardly known is told of, with what would help."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from commands import typed

from parasphere import JointVectors, SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.errors import CoverageWarning, ParasphereWarning
from parasphere.model import Reader

KNOWN = ["north", "east", "west"]
TEXTS = ["north foreign words", "east alien", "west north words"] * 10  # 40 of 80 words are known
CHINESE = ["我喜欢吃苹果，他也喜欢。", "今天天气很好，我们去公园散步。", "north east west"] * 15


@pytest.fixture
def vectors(rng: np.random.Generator) -> WordVectors:
    return WordVectors.from_arrays(KNOWN, rng.normal(size=(3, 4)) + 1.0)


def test_few_known_words_are_told_with_the_remedy(vectors: WordVectors, tmp_path: Path) -> None:
    model = SphericalParagraphModel(vectors, tol=0.1)
    told = r"only 50% of 80 words are known; frequent unknown words: words, alien, foreign, \.\.\. .*JointVectors"
    (tmp_path / "c.txt").write_text("\n".join(TEXTS))
    for source in (TEXTS, iter(TEXTS), TEXTS * 3, tmp_path / "c.txt"):
        expected = told.replace("80", "240") if source == TEXTS * 3 else told
        with pytest.warns(CoverageWarning, match=expected) as caught:
            model.fit(source)
        assert len(caught) == 1  # once, and where the user called
        assert caught[0].filename == __file__
    for read in (model.transform, model.posterior, model.read, lambda x: list(model.stream(x)), model.fit_transform):
        with pytest.warns(CoverageWarning, match=told) as caught:
            read(TEXTS)
        assert len(caught) == 1
    with pytest.warns(CoverageWarning, match=told):
        bags = Reader(vectors, tokenizer=Tokenizer()).read(TEXTS)
    model.fit(bags)  # was told when they were read
    assert issubclass(CoverageWarning, ParasphereWarning)


def test_another_language_is_told_with_english_vectors() -> None:
    german = [
        "Dieses Programm kopiert Dateien und Verzeichnisse von einem Ort an einen anderen.",
        "Der Benutzer kann sein Passwort ändern, wenn er das alte Passwort kennt.",
        "Sortiert die Zeilen einer Textdatei nach dem Alphabet oder nach Zahlen.",
        "Vergleicht zwei Dateien zeilenweise und meldet alle gefundenen Unterschiede.",
    ] * 3
    with pytest.warns(CoverageWarning, match=r"unknown words: dateien, passwort, .*with JointVectors"):
        SphericalParagraphModel(tol=0.1).fit(german)


def test_what_is_known_well_or_is_short_is_not_told(vectors: WordVectors) -> None:
    model = SphericalParagraphModel(vectors, tol=0.1)
    model.fit(["north east west north east west north foreign words x"] * 20)  # 70 %
    model.transform(["all of these are foreign words"] * 6)  # too few words to judge
    model.transform([""] * 1000)
    model.fit([["north", "east"], ["west"]] * 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        model.fit(TEXTS)


def test_scripts_without_spaces_need_a_tokenizer(vectors: WordVectors) -> None:
    told = r"only 43% of 105 words are known; .*: .*我喜欢吃苹果.* without spaces .*SegmentingTokenizer\(\)"
    with pytest.warns(CoverageWarning, match=told):
        SphericalParagraphModel(vectors, tokenizer=Tokenizer(), tol=0.1).fit(CHINESE)
    for text in ("ฉันชอบกินแอปเปิ้ล", "ຂ້ອຍມັກກິນ", "ខ្ញុំចូលចិត្ត", "ကျွန်တော်ကြိုက်တယ်", "わたしはりんごがすきです"):
        with pytest.warns(CoverageWarning, match="without spaces"):
            Reader(vectors).read([text] * 60)
    with pytest.warns(CoverageWarning, match="Use vectors that have these words"):
        Reader(vectors).read(["나는 사과를 좋아한다", "мне нравятся яблоки"] * 20)
    # a tokenizer that segments, here into characters, makes words of them, which can be learned
    model = SphericalParagraphModel(JointVectors(4, start=None, epochs=2), tokenizer=list, tol=0.1).fit(CHINESE)
    assert "喜" in model.vectors_


def test_a_long_unknown_word_is_cut_short(vectors: WordVectors) -> None:
    with pytest.warns(CoverageWarning, match=rf"unknown words: {'x' * 29}…, \.\.\. "):
        Reader(vectors).read(["x" * 500] * 60)


def test_the_command_line_warns_once_and_names_a_remedy(tmp_path: Path, vectors: WordVectors) -> None:
    vectors.save(tmp_path / "vectors")
    (tmp_path / "c.txt").write_text("\n".join(TEXTS))
    (tmp_path / "zh.txt").write_text("\n".join(CHINESE))
    fit = ["-v", tmp_path / "vectors", "-o", tmp_path / "m"]
    told = typed("fit", tmp_path / "c.txt", *fit).err
    assert told.startswith("warning: only 50% of 80 words are known; frequent unknown words: words, alien, foreign, ")
    assert "learn vectors from the texts with JointVectors" in told
    assert told.count("words are known") == 1
    told = typed("transform", tmp_path / "m", tmp_path / "zh.txt", "-o", tmp_path / "v.npy").err
    assert told.count("warning: ") == 1
    assert told.endswith("or pass a tokenizer that finds them, tokenizer=SegmentingTokenizer().\n")
