"""Write everyday English for scripts/english/make_english.py: the glosses of WordNet, and sentences made of its words.

Run with ``python scripts/english/everyday.py WORDNET/dict --counts wikipedia.txt.xz --out everyday.txt.xz``. Wikipedia
rarely has sentences such as "a man is slicing an onion", so everyday words are learned badly from it alone. The file
has one text per line: each definition and each example of WordNet 3, and sentences of a small grammar, with nouns,
verbs and adjectives drawn in proportion to the square root of their counts in ``--counts``. These counts also decide
between possible spellings of forms ("runing", "running"). A word is used as its most frequent part of speech in
WordNet's tagged texts, and in its first two senses. The same files and seed give the same bytes.
"""

import argparse
import lzma
import random
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

# Lexicographer files of WordNet, by the roles of their words in a sentence.
PEOPLE, ANIMALS, THINGS, FOOD = (18,), (5,), (6,), (13,)
PLACES = (15,)
ACTS = (29, 30, 33, 34, 35, 36, 38, 39, 40, 41)
PHYSICAL = (29, 34, 35, 36, 38)
COMMON = ("man", "woman", "boy", "girl", "child", "person", "dog", "cat", "player", "baby")
COLOURS = "black white red blue green brown yellow grey orange pink purple".split()
NUMBERS = "two three four five six several many some".split()
PREPOSITIONS = "in on near at under behind beside over across through with into by".split()
SETTINGS = (
    "street park kitchen field beach room water snow grass table road river garden stage pool house city forest bed "
    "mountain floor air crowd field office school store car boat couch sidewalk"
).split()
WORKS = (
    "film movie story plot acting comedy drama book song show game restaurant food service hotel phone product novel "
    "performance script director actor cast ending picture thriller romance documentary"
).split()
DEGREES = "very really quite so too rather never always hardly truly".split()
FEELS = "love hate like enjoy admire dislike regret recommend forget miss".split()
MONTHS = "January February March April May June July August September October November December".split()
UNITS = "percent million dollars years points".split()
RAREST = 20  # occurrences below which a word is left out


NOUN, VERB, ADJECTIVE = 1, 2, 3
SENSES = 2  # senses of a word that are used, the most frequent first


def glosses(path: Path) -> Iterator[str]:
    """Yield the glosses of the synsets of a data file of WordNet."""
    for line in _read(path).splitlines():
        if not line.startswith("  "):  # the licence
            yield line.partition(" | ")[2].strip()


class Senses:
    """The words of WordNet by part of speech and lexicographer file.

    Attributes
    ----------
    files : dict of (str, int) to set of int
        The lexicographer files of the first senses of a word as a part of speech.
    tagged : Counter of (str, int)
        How often a word is that part of speech in the tagged texts.
    """

    def __init__(self, folder: Path) -> None:
        names = {word.lower() for word in re.findall(r" ([A-Z][a-z]+) [0-9a-f] ", _read(folder / "data.noun"))}
        self.files: dict[tuple[str, int], set[int]] = {}
        self.tagged: Counter[tuple[str, int]] = Counter()
        for line in _read(folder / "index.sense").splitlines():
            key, _, place, count = line.split()
            word, _, sense = key.partition("%")
            kind, file, *_ = sense.split(":")
            if not (word.isascii() and word.isalpha()) or word in names:
                continue
            entry = word, {5: ADJECTIVE}.get(int(kind), int(kind))
            self.tagged[entry] += int(count)
            if int(place) <= SENSES:
                self.files.setdefault(entry, set()).add(int(file))

    def words(self, kind: int, files: tuple[int, ...]) -> set[str]:
        """Return the words that are mostly of a kind and have one of their first senses in one of the files."""
        return {
            word
            for (word, of), found in self.files.items()
            if of == kind and found & set(files) and self._mostly(word, kind)
        }

    def _mostly(self, word: str, kind: int) -> bool:
        others = max(self.tagged[word, other] for other in (NOUN, VERB, ADJECTIVE) if other != kind)
        return self.tagged[word, kind] > others or (kind == NOUN and others == 0)


def parts_of(gloss: str) -> Iterator[str]:
    """Yield the definition and the examples of a gloss."""
    definition, *rest = gloss.split('"')
    yield definition.strip(" ;:.")
    yield from (example for example in rest[::2] if len(example.split()) > 1)


class Words:
    """Words to draw from, in proportion to the square root of their counts."""

    def __init__(self, words: set[str], counts: Counter[str]) -> None:
        self.words = sorted(word for word in words if counts[word] >= RAREST)
        self.sums = list(accumulate(counts[word] ** 0.5 for word in self.words))

    def draw(self, rng: random.Random) -> str:
        """Return a word."""
        return self.words[bisect(self.sums, rng.random() * self.sums[-1])]


class Grammar:
    """Draws sentences from the words of WordNet."""

    def __init__(self, folder: Path, counts: Counter[str], rng: random.Random) -> None:
        self.counts, self.rng = counts, rng
        senses = Senses(folder)
        self.people, self.animals, self.things, self.food, self.places = (
            Words(senses.words(NOUN, files), counts) for files in (PEOPLE, ANIMALS, THINGS, FOOD, PLACES)
        )
        self.acts, self.physical = (Words(senses.words(VERB, files), counts) for files in (ACTS, PHYSICAL))
        self.qualities = Words(senses.words(ADJECTIVE, (0,)), counts)
        self.templates: tuple[Callable[[], str], ...] = (
            self.doing, self.doing, self.several, self.tells, self.scene, self.headline, self.said, self.opinion,
            self.opinion, self.figures,
        )  # fmt: skip

    def sentence(self) -> str:
        """Return a sentence."""
        return self.rng.choice(self.templates)()

    def doing(self) -> str:
        """Return a sentence about what somebody is doing."""
        what = f"{self.one(self.who())} is {self.ing(self.verb())}"
        return self.closed(what + self.maybe(0.7, self.object) + self.maybe(0.3, self.where))

    def several(self) -> str:
        """Return a sentence about what several are doing."""
        who = f"{self.rng.choice(NUMBERS)} {self.maybe(0.3, self.quality).strip()} {self.many(self.who())}"
        return self.closed(f"{who} are {self.ing(self.verb())}" + self.maybe(0.5, self.object) + self.where())

    def tells(self) -> str:
        """Return a sentence about what somebody does or did."""
        form = self.rng.choice((self.third, self.past))
        return self.closed(
            f"the {self.who()} {form(self.acts.draw(self.rng))}" + self.object() + self.maybe(0.3, self.where)
        )

    def scene(self) -> str:
        """Return a description of a scene."""
        what = f"{self.one(self.thing())}" + self.where()
        return self.closed(what + self.maybe(0.3, lambda: f" and {self.one(self.thing())}"))

    def headline(self) -> str:
        """Return a headline of a newspaper."""
        verb = self.third(self.acts.draw(self.rng))
        words = f"{self.who()} {verb} {self.thing()}" + self.maybe(0.5, lambda: f" in {self.places.draw(self.rng)}")
        return words[0].upper() + words[1:]

    def said(self) -> str:
        """Return somebody's opinion or question."""
        who = self.rng.choice(("I", "we", "they", "you", "he", "she"))
        ask = self.rng.choice(
            ("can {0} {1}", "should {0} {1}", "{0} will {1}", "{0} did not {1}", "{0} want to {1}", "how do {0} {1}")
        )
        words = ask.format(who, self.acts.draw(self.rng)) + self.object()
        return self.closed(words)

    def opinion(self) -> str:
        """Return what somebody thinks of a work or a service."""
        work, degree = self.rng.choice(WORKS), self.maybe(0.5, lambda: f"{self.rng.choice(DEGREES)} ")
        kind = self.rng.randrange(4)
        if kind == 0:
            return self.closed(f"the {work} is {degree}{self.quality()}")
        if kind == 1:
            return f"{self.one(work, 1.0)}{self.maybe(0.5, self.about)}"
        if kind == 2:
            return self.closed(f"I {self.rng.choice(FEELS)} the{self.quality()} {work}")
        return f"{degree}{self.quality().strip()} and{self.quality()}"

    def about(self) -> str:
        """Return what a work is about, with a space before it."""
        return f" about{self.object()}" if self.rng.random() < 0.5 else f" with{self.quality()} {self.many(self.who())}"

    def figures(self) -> str:
        """Return a report with a number, an amount or a date."""
        number = self.rng.choice((self.rng.randint(1, 12), self.rng.randint(1, 99), self.rng.randint(100, 999)))
        what = f"{self.who()} {self.past(self.acts.draw(self.rng))}"
        kind = self.rng.randrange(4)
        if kind == 0:
            return self.closed(f"{number} {self.many(self.who())} {self.past(self.acts.draw(self.rng))}{self.where()}")
        if kind == 1:
            return self.closed(f"the {what} {number} {self.many(self.thing())}")
        if kind == 2:
            day = f"{self.rng.choice(MONTHS)} {self.rng.randint(1, 31)}, {self.rng.randint(1950, 2025)}"
            return self.closed(f"the {what}{self.object()} on {day}")
        return self.closed(f"{self.thing()} {self.third(self.acts.draw(self.rng))} {number} {self.rng.choice(UNITS)}")

    def who(self) -> str:
        """Return somebody or some animal."""
        drawn = self.rng.random()
        if drawn < 0.4:
            return self.rng.choice(COMMON)
        return (self.people if drawn < 0.8 else self.animals).draw(self.rng)

    def verb(self) -> str:
        """Return a verb of a visible act."""
        return self.physical.draw(self.rng)

    def thing(self) -> str:
        """Return something."""
        drawn = self.rng.random()
        of = (
            self.things if drawn < 0.6 else self.food if drawn < 0.75 else self.animals if drawn < 0.85 else self.people
        )
        return of.draw(self.rng)

    def object(self) -> str:
        """Return an object of a verb, with a space before it."""
        return f" {self.one(self.thing()) if self.rng.random() < 0.6 else 'the ' + self.thing()}"

    def where(self) -> str:
        """Return a place, with a space before it."""
        place = self.rng.choice(SETTINGS) if self.rng.random() < 0.6 else self.thing()
        return f" {self.rng.choice(PREPOSITIONS)} {self.rng.choice(('a', 'the'))} {place}"

    def quality(self) -> str:
        """Return an adjective, with a space before it."""
        return " " + (self.rng.choice(COLOURS) if self.rng.random() < 0.4 else self.qualities.draw(self.rng))

    def one(self, noun: str, chance: float = 0.3) -> str:
        """Return a noun with an article and sometimes an adjective."""
        words = (self.maybe(chance, self.quality) + " " + noun).strip()
        return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"

    def maybe(self, chance: float, part: Callable[[], str]) -> str:
        """Return a part of a sentence, or nothing."""
        return part() if self.rng.random() < chance else ""

    def closed(self, words: str) -> str:
        """Return words as a sentence."""
        words = re.sub(r"\s+", " ", words)
        return words[0].upper() + words[1:] + "."

    def ing(self, verb: str) -> str:
        """Return the present participle of a verb."""
        return self.known(verb + "ing", verb[:-1] + "ing", verb + verb[-1] + "ing")

    def third(self, verb: str) -> str:
        """Return the third person singular of a verb."""
        return self.known(verb + "s", verb + "es", verb[:-1] + "ies")

    def past(self, verb: str) -> str:
        """Return the past tense of a verb."""
        return self.known(verb + "ed", verb + "d", verb[:-1] + "ied", verb + verb[-1] + "ed")

    def many(self, noun: str) -> str:
        """Return the plural of a noun."""
        return {"man": "men", "woman": "women", "child": "children", "person": "people"}.get(noun) or self.known(
            noun + "s", noun + "es", noun[:-1] + "ies"
        )

    def known(self, *forms: str) -> str:
        """Return the form that occurs most often."""
        return max(forms, key=lambda form: self.counts[form])


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main() -> None:
    """Read WordNet, draw sentences, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("wordnet", type=Path, help="the folder of index.sense, data.noun, data.verb, ...")
    parser.add_argument("--counts", type=Path, required=True, help="an xz file of text, whose words are counted")
    parser.add_argument("--sentences", type=int, default=600_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="the xz file to write")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    counts: Counter[str] = Counter()
    with lzma.open(given.counts, "rt", encoding="utf-8") as lines:
        for line in lines:
            counts.update(re.findall("[a-z]+", line.lower()))
    texts = [text for kind in ("noun", "verb", "adj", "adv") for gloss in glosses(given.wordnet / f"data.{kind}")
             for text in parts_of(gloss)]  # fmt: skip
    print(f"{len(texts):,} definitions and examples", flush=True)
    grammar = Grammar(given.wordnet, counts, rng)
    texts += [grammar.sentence() for _ in range(given.sentences)]
    rng.shuffle(texts)
    with lzma.open(given.out, "wt", encoding="utf-8") as file:
        file.writelines(f"{text}\n" for text in texts)
    print(f"{given.out.name}: {len(texts):,} texts", flush=True)


if __name__ == "__main__":
    main()
