"""Names of topics: phrases that many texts of a topic have and few others, as they are written.

A phrase is up to three words between punctuation and stop words ("of" may be in the middle). Its last word is a noun,
its first a noun or an adjective, judged by their neighbours: nouns follow articles and prepositions, verbs follow "to"
and pronouns or precede articles, adjectives may also be alone after forms of "be". Without such neighbours, as in other
languages, every word is allowed. Lines, sentences and runs of words that several texts share, such as licences, count
once; quoted lines, numbered references, mail headers and signatures do not count.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..storage import storable
from ..text import Tokenizer, share_without_spaces
from .merging import Merges

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

TEXTS = 500  # per topic, in which phrases are counted
CHARACTERS = 3000  # per text
WRAPPED = 50  # characters of a line whose sentence the next line may continue
REPEATED, WINDOW = 3, 8  # number of texts from which on a line or run that they share counts once; words of a run
FEWEST = 3  # texts of a topic that must have a phrase
SHARE = 0.035  # of a topic's texts that must have a phrase of its name
WEAKEST = (0.0, 0.03, 0.1)  # least score of each phrase of a name, as a share of the first's
MOST_PHRASES = len(WEAKEST)  # of a name
KEPT = 30  # phrases that are kept per topic of each level
APART = 0.25  # least share of a phrase's occurrences without a word before (after) it, relative to that of all words
CODE = 0.5  # share of a word's occurrences within addresses and code, from which on it is a name in code
NOUN = 0.15  # share of a noun's occurrences after articles and prepositions, relative to that of all words
IDIOM = 0.5  # share of a word's occurrences between the same two stop words, from which on it is an idiom
POWER = 1.25  # of the share of texts: above 1, phrases of many texts are preferred
ALONE, LONGER = 0.5, 0.75  # weights of a single word, and of longer phrases
COHESION = 1.0  # weight of the pointwise mutual information of the words of longer phrases
ALIKE = 4  # first letters that no two words of different phrases of a name may share
SEPARATOR = " · "  # between the phrases of a name

_WORD = re.compile(r"[^\W_](?:[-'’]?[^\W_])*(?:\+\+|#)?")
_SEPARATORS = re.compile(r"/|--+|\.\.+|[—–…,;:!?()\[\]\"，、；：！？。]+")
_QUOTED = re.compile(r"\s*(?:>|(?:\.\. )?\[\w+\] )")  # a line that is quoted, or a numbered reference
_CODE = re.compile(r"[\])}]{2}")  # ends a stretch of code
_FIELD = re.compile(r"[A-Z][\w-]*: ")  # begins a line of a mail header
_NAMES = re.compile(r"[^\W\d_]+")  # in code
_LONGEST = 100  # characters of a stretch without spaces
_TOKEN = "\0"  # begins an element of a token list
_BREAK, _END = -1, -2  # tokens that are not words: punctuation, and the end of a sentence or line
_CONTENT, _STOP, _ARTICLE, _LEADING, _SUBJECT, _BE, _OF, _NONE = range(8)  # kinds of words
_CLOSED = {
    _STOP: """two three four five six seven eight nine ten hundred thousand million first second third last next new ago
        better best worse worst least""",
    _ARTICLE: "a an the",
    _LEADING: """this these those my your his her its our their whose some any no each every all another in on for with
        from by at about between into against through during without within""",
    _SUBJECT: """to i you we they he she it who can could may might must shall should will would ought not do does did
        don didn doesn let n't 'll 've 're 'm 'd""",
    _BE: "am is are was were be been being very too so quite rather more most",
    _OF: "of",
}
_CONTRACTED = re.compile(r".*(n't|'ll|'ve|'re|'m|'d)|(.*)'s")
_MULTIPLIER = np.uint64(6364136223846793005)


@storable(shares="f8[topics,phrases]", weights="f8[phrases]")
@dataclass(frozen=True, eq=False)
class Phrases:
    """Phrases that may name topics.

    Attributes
    ----------
    written : list of str
        Each phrase in its most frequent spelling.
    shares : (n_topics, n_phrases) float64
        Share of the texts of each topic that have each phrase.
    weights : (n_phrases,) float64
        Weight of each phrase, by the cohesion of its words.
    """

    written: list[str]
    shares: Floats
    weights: Floats

    def merged(self, members: Floats, sizes: Floats) -> "Phrases":
        """Return the phrases of merged topics, given which topics are part of which, (n, n_topics)."""
        totals = np.maximum(members @ sizes, 1.0)
        return replace(self, shares=(members * sizes) @ self.shares / totals[:, None])

    def scores(self, members: Floats, sizes: Floats) -> Floats:
        """Return how well phrases name groups of topics, given which topics are part of which, (n, n_phrases).

        The share of the group's texts that have the phrase, times the logarithm of its ratio to the share of the other
        texts; 0 if the share, less its standard error, is too small.
        """
        counts, all_counts = (members * sizes) @ self.shares, sizes @ self.shares
        n = (members @ sizes)[:, None]
        others = sizes.sum() - n
        rest = np.where(others > 0, (all_counts - counts + 0.5) / (others + 1), 1e-3)
        n = np.maximum(n, 1)
        scores = self.weights * (counts / n) ** POWER * np.log((counts + 0.5) / (n + 1) / rest)
        return np.where((counts - np.sqrt(counts) < SHARE * n) | (scores < 0), 0.0, scores)

    def best(self, sizes: Floats, k: int) -> list[list[str]]:
        """Return the ``k`` best phrases of each topic, best first."""
        scores = self.scores(np.eye(len(sizes)), sizes)
        return [[self.written[i] for i in np.argsort(-row, kind="stable")[:k] if row[i] > 0] for row in scores]

    def names(self, sizes: Floats) -> list[list[str]]:
        """Choose up to three phrases per topic; no word is in two of them, in any topic.

        All topics get a first phrase before any gets a second; a phrase goes to the topic that it names best.
        """
        scores = self.scores(np.eye(len(sizes)), sizes)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :KEPT]
        candidates = [(t, int(i)) for t, row in enumerate(best) for i in row if scores[t, i] > 0]
        candidates.sort(key=lambda pair: -scores[pair])
        words = {i: words_of(self.written[i]) for _, i in candidates}
        used: set[str] = set()
        chosen: list[list[int]] = [[] for _ in sizes]
        for rank in range(MOST_PHRASES):
            for topic, phrase in candidates:
                own = chosen[topic]
                begun = {word[:ALIKE] for other in own for word in words[other]}
                if (
                    len(own) == rank
                    and not words[phrase] & used
                    and not any(word[:ALIKE] in begun for word in words[phrase])
                    and scores[topic, phrase] >= WEAKEST[rank] * scores[topic, (own or [phrase])[0]]
                ):
                    own.append(phrase)
                    used |= words[phrase]
        return [[self.written[i] for i in own] for own in chosen]

    def _check_loaded(self) -> None:
        if self.shares.shape[1] != len(self.written):
            raise ParasphereError("the phrases of topics need a share each")
        if not ((self.shares >= 0) & (self.shares <= 1)).all() or not (self.weights > 0).all():
            raise ParasphereError("the phrases of topics need shares of texts, from 0 to 1, and positive weights")


class _Tokens(NamedTuple):
    """The words of texts, end to end."""

    ids: Ints  # of words; -1 for punctuation, -2 for the end of a sentence or line
    forms: Ints  # of words as they are written
    texts: Ints  # the text of each
    words: list[str]
    written: list[str]
    in_code: Floats  # how often each word occurs within addresses, paths and code


class _Roles(NamedTuple):
    """Which words may be where in a phrase, (n_tokens,) each."""

    first: Mask
    last: Mask
    alone: Mask
    of: Mask
    opens: Mask  # no word of a phrase precedes it
    closes: Mask  # none follows it
    weights: Floats  # of words alone


def find_phrases(
    texts: Sequence[Any], labels: Ints, merges: Merges, spaced: Callable[[str], str] | None = None
) -> Phrases:  # fmt: skip
    """Return the phrases that may name topics, merged or not.

    Parameters
    ----------
    texts : sequence of str or list of str
        Texts, or lists of tokens.
    labels : (n_texts,) int64
        The topic of each text, or -1.
    merges : Merges
        The merges of the topics.
    spaced : callable, default=None
        Puts spaces between the words of a text in a script without spaces.
    """
    k = len(merges.criteria)
    members = [np.flatnonzero(labels == topic) for topic in range(k)]
    chosen = np.sort(np.concatenate([own[:: max(-(-len(own) // TEXTS), 1)] for own in members]))
    labels = labels[chosen]
    tokens = _without_repeats(_read([texts[i] for i in chosen.tolist()], spaced))
    parts = list(_parts(tokens, labels, k))
    found = Phrases([], np.hstack([part.shares for part in parts]), np.concatenate([part.weights for part in parts]))
    sizes = np.array([len(own) for own in members], np.float64)
    scores = found.scores(_with_merged(merges, k), sizes)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :KEPT]
    kept = np.unique(best[np.take_along_axis(scores, best, axis=1) > 0])
    starts = np.cumsum([0, *(len(part.weights) for part in parts)])
    written: list[str] = []
    for part, start in zip(parts, starts[:-1].tolist(), strict=True):
        own = kept[(kept >= start) & (kept < start + len(part.weights))] - start
        topics = part.shares[:, own].argmax(axis=0)
        written += _written(part, own, tokens, topics, labels)
    return Phrases(written, found.shares[:, kept].copy(), found.weights[kept].copy())


def same_word(word: str) -> str:
    """Return a key that a word and its plural have in common, in lower case.

    Examples
    --------
    >>> same_word("Movies") == same_word("movie"), same_word("stories") == same_word("story"), same_word("analysis")
    (True, True, 'analysis')
    """
    word = word.lower().replace("-", "").removesuffix("'s")
    if len(word) > 3 and word.endswith("s") and word[-2] not in "siu'":
        word = word[:-1]
    return re.sub("men$", "man", re.sub("(?:ie|y)$", "i", word)) if len(word) > 2 else word


def words_of(phrase: str) -> set[str]:
    """Return the words of a phrase that no other name may have; "data-type" is "data", "type" and "datatype"."""
    return {same_word(word) for word in [*phrase.split(), *re.split(r"[-\s]", phrase)]} - {"of"}


def _with_merged(merges: Merges, k: int) -> Floats:
    """Return which topics are part of each topic and merged one, (2 k - 1, k)."""
    members = np.zeros((2 * k - 1, k))
    members[:k] = np.eye(k)
    for step, (one, other) in enumerate(merges.pairs):
        members[k + step] = members[one] + members[other]
    return members


def _read(texts: Sequence[Any], spaced: Callable[[str], str] | None) -> _Tokens:
    """Split texts into words and punctuation; each distinct stretch without spaces is split once."""
    chunk_ids: defaultdict[str, int] = defaultdict(count().__next__)
    end = chunk_ids["."]
    chunks: list[int] = []
    ends = [0]
    for text in texts:
        if isinstance(text, str):
            for line in _lines(text if spaced is None else spaced(text[:CHARACTERS])):
                chunks.extend(map(chunk_ids.__getitem__, line.split()))
                if len(line) < WRAPPED:
                    chunks.append(end)
        else:
            chunks.extend(chunk_ids[_TOKEN + token] for token in text[: CHARACTERS // 6])
        chunks.append(end)
        ends.append(len(chunks))
    word_ids: defaultdict[str, int] = defaultdict(count().__next__)
    form_ids: defaultdict[str, int] = defaultdict(count().__next__)
    ids: list[int] = []
    forms: list[int] = []
    offsets = [0]
    names: list[tuple[str, int]] = []  # within code, and the chunk of each
    for number, chunk in enumerate(chunk_ids):
        pieces = _pieces(chunk)
        if not any(pieces):
            names += [(name, number) for name in _NAMES.findall(chunk.lower())]
        for piece in pieces:
            ids.append(word_ids[_spelled(piece)] if piece else _END if piece is None else _BREAK)
            forms.append(form_ids[piece] if piece else -1)
        offsets.append(len(ids))
    at = np.array(chunks, np.int64)
    sizes = np.diff(offsets)[at]
    where = np.repeat(np.array(offsets)[at] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    owners = np.repeat(np.repeat(np.arange(len(texts)), np.diff(ends)), sizes)
    often = np.bincount(at, minlength=len(chunk_ids))
    in_code = np.zeros(len(word_ids))
    for name, number in names:
        if name in word_ids:
            in_code[word_ids[name]] += often[number]
    own, written = np.array(ids, np.int64)[where], np.array(forms, np.int64)[where]
    return _Tokens(own, written, owners, [*word_ids], [*form_ids], in_code)


def _lines(text: str) -> Iterator[str]:
    """Return the lines of a text without its mail header, signature, quoted lines and numbered references."""
    lines = text[:CHARACTERS].splitlines()
    header = next((i for i, line in enumerate(lines) if not line.strip()), 0)
    if header > 1 and all(_FIELD.match(line) or line[0].isspace() for line in lines[:header]):
        lines = lines[header:]
    for line in lines:
        if line.rstrip() == "--":
            return
        if not _QUOTED.match(line):
            yield line


def _pieces(chunk: str) -> list[str | None]:
    """Return the words of a stretch without spaces; "" for punctuation, None for the end of a sentence.

    Addresses, paths and names of code count as punctuation.
    """
    if chunk.isalpha():
        return [chunk if len(chunk) <= _LONGEST else ""]
    if chunk[0] == _TOKEN:
        return [chunk[1:] if any(map(str.isalpha, chunk)) else ""]
    inner = [i for i, letter in enumerate(chunk[:_LONGEST]) if letter.isalnum() or _is_mark(letter)]
    if not inner:
        return [None if set(chunk) & set(".!?。！？") else ""]
    begin, end = inner[0], inner[-1] + 1
    end += 2 * chunk.startswith("++", end) or chunk.startswith("#", end)
    after = chunk[end:]
    words = [chunk[begin:end]] if _is_word(chunk[begin:end]) else _SEPARATORS.split(chunk[begin:end])
    closing: list[str | None] = [None if set(after) & set(".!?:…。！？：") else ""] if after else []
    if len(chunk) > _LONGEST or "`" in chunk or _CODE.search(after) or not all(map(_is_word, words)):
        return closing or [""]
    opening: list[str | None] = [""] if begin else []
    separated: list[str | None] = [entry for word in words for entry in (word, "")]
    return [*opening, *separated[:-1], *closing]


def _is_mark(letter: str) -> bool:
    return not letter.isascii() and unicodedata.category(letter)[0] == "M"


def _is_word(text: str) -> bool:
    if not text.isascii():
        text = "".join("x" if _is_mark(letter) else letter for letter in text)
    return _WORD.fullmatch(text) is not None and not text.isdigit()


def _spelled(piece: str) -> str:
    """Return a word in lower case, without "'s"; of contractions only the second part, which shows the verb."""
    piece = piece.lower()
    if piece.isalpha():
        return piece
    contracted = _CONTRACTED.fullmatch(piece.replace("’", "'"))
    return piece if contracted is None else contracted[1] or contracted[2]


def _without_repeats(tokens: _Tokens) -> _Tokens:
    """Replace lines, sentences and runs of words that an earlier text has by punctuation, if several texts have them.

    A text that would have no words left keeps them.
    """
    words = np.flatnonzero(tokens.ids >= 0)
    if not len(words):
        return tokens
    ids, texts = tokens.ids[words], tokens.texts[words]
    hashes = np.random.default_rng(0).integers(1, 2**63, len(tokens.words), dtype=np.uint64)[ids]
    starts = np.flatnonzero(np.diff(np.cumsum(tokens.ids == _END)[words], prepend=-1))
    sizes = np.diff([*starts, len(ids)])
    places = (np.arange(len(ids)) - np.repeat(starts, sizes)).astype(np.uint64)
    lines = np.add.reduceat(hashes * (2 * places + np.uint64(1)), starts)
    gone = np.repeat(_repeated(lines, texts[starts]), sizes)
    within = np.flatnonzero(texts[: max(len(ids) - WINDOW + 1, 0)] == texts[WINDOW - 1 :])
    runs = np.zeros(len(within), np.uint64)
    for i in range(WINDOW):
        runs = runs * _MULTIPLIER + hashes[within + i]
    again = within[_repeated(runs, texts[within])]
    for i in range(WINDOW):
        gone[again + i] = True
    gone &= (np.bincount(texts, ~gone) > 0)[texts]
    left = tokens.ids.copy()
    left[words[gone]] = _BREAK
    return tokens._replace(ids=left)


def _repeated(keys: NDArray[np.uint64], texts: Ints) -> Mask:
    """Return which keys several texts have, except in the first text that has them; texts ascend."""
    repeated = np.zeros(len(keys), bool)
    if len(keys):
        order = np.argsort(keys, kind="stable")
        key, text = keys[order], texts[order]
        new = np.concatenate([[True], key[1:] != key[:-1]])
        group = np.cumsum(new) - 1
        n_texts = np.bincount(group, new | np.concatenate([[True], text[1:] != text[:-1]]))
        repeated[order] = (n_texts[group] >= REPEATED) & (text[new][group] != text)
    return repeated


def _roles(tokens: _Tokens, of_words: Ints, base: Ints, kind: Ints, names: list[str]) -> _Roles:
    """Return which words may be where in a phrase, judged by the neighbours of all their occurrences.

    ``of_words`` numbers the words, singular and plural alike; ``base`` has the number of each token, and ``names`` one
    spelling of each number.
    """
    n = len(names) + 1  # the last one is punctuation
    before, after = np.concatenate([[_NONE], kind[:-1]]), np.concatenate([kind[1:], [_NONE]])
    content = kind == _CONTENT
    opens, closes = content & (before != _CONTENT), content & (after != _CONTENT)
    begin = np.maximum.accumulate(np.where(opens, np.arange(len(kind)), 0))
    led = np.isin(before[begin], [_ARTICLE, _LEADING, _OF]) & (np.arange(len(kind)) - begin < 3)

    def times(where: Mask) -> Floats:
        return np.bincount(base[where], minlength=n).astype(np.float64)

    total = times(content)
    nouns, modifiers = times(closes & led), times(opens & ~closes & led)
    verbs = times(opens & (before == _SUBJECT)) + times(content & (after == _ARTICLE))
    adjectives = times(opens & closes & (before == _BE))
    sentence = np.concatenate([[True], tokens.ids[:-1] == _END])
    capital = np.array([*(form[0].isupper() for form in tokens.written), False])[tokens.forms]
    inside = times(content & ~sentence)
    proper = (times(content & ~sentence & capital) > 0.7 * inside) & (inside > 0)
    odd = np.array([*((len(name) < 3 and name.isascii()) or any(map(str.isdigit, name)) for name in names), True])
    code = np.bincount(of_words, tokens.in_code, n)
    plain = proper | (~odd & (code < CODE * (total + code)))
    stops = np.flatnonzero(opens & closes & (before != _NONE) & (before != _ARTICLE) & (after != _NONE))
    places = np.concatenate([[0], base, [0]])
    between, often = np.unique(np.stack([base[stops], places[stops], places[stops + 2]]), axis=1, return_counts=True)
    idioms = np.zeros(n)
    np.maximum.at(idioms, between[0], often)
    noun = (nouns + 1 > NOUN * total * nouns.sum() / max(total.sum(), 1)) | proper
    first = plain & (nouns + modifiers >= verbs)
    last = plain & noun & (nouns + modifiers >= 2 * (verbs + adjectives))
    alone = last & (nouns >= verbs + adjectives) & ((nouns >= 0.5 * modifiers) | proper) & (idioms < IDIOM * total)
    weights = ALONE * (0.5 + 0.5 * (nouns + 1) / (nouns + modifiers + 1))
    first, last, alone = (content & role[base] for role in (first, last, alone))
    return _Roles(first, last, alone, kind == _OF, opens, closes, weights[base])


class _Part(NamedTuple):
    """The phrases of one length."""

    shares: Floats
    weights: Floats
    at: Ints  # the first token of each occurrence
    phrases: Ints  # the phrase of each
    closed: Mask  # whether no word continues it
    length: int


def _parts(tokens: _Tokens, labels: Ints, k: int) -> Iterator[_Part]:
    """Count the phrases of one, two and three words in the texts of each topic."""
    base_ids: defaultdict[str, int] = defaultdict(count().__next__)
    of_words = np.array([base_ids[same_word(word)] for word in tokens.words], np.int64)
    base = np.append(of_words, len(base_ids))[tokens.ids.clip(-1)]
    kind = np.array([*map(_kind, tokens.words), _NONE], np.int64)[tokens.ids.clip(-1)]
    roles = _roles(tokens, of_words, base, kind, list(base_ids))
    n, n_texts = len(base_ids) + 1, len(labels)
    pairs = np.unique(base * n_texts + tokens.texts)
    having = np.log(np.bincount(pairs // n_texts, minlength=n).clip(1) / (n_texts + 1))
    first, middle, last = roles.first[:-2], roles.first[1:-1] | roles.of[1:-1], roles.last[2:]
    ends = roles.opens.sum() / max((kind == _CONTENT).sum(), 1)
    places = [roles.alone, roles.first[:-1] & roles.last[1:], first & middle & last]
    sizes = np.maximum(np.bincount(labels, minlength=k), 1)
    for length, at in enumerate(map(np.flatnonzero, places), start=1):
        codes = base[at]
        for i in range(1, length):
            codes = np.unique(codes, return_inverse=True)[1] * n + base[at + i]
        _, phrases, often = np.unique(codes, return_inverse=True, return_counts=True)
        at, phrases, n_phrases = _only(often >= max(FEWEST, SHARE * sizes.min()), at, phrases)
        table = _texts_of_topics(phrases, tokens.texts[at], labels, k, n_phrases)
        opened, closed = (
            np.bincount(phrases, where, n_phrases) / np.bincount(phrases, minlength=n_phrases)
            for where in (roles.opens[at], roles.closes[at + length - 1])
        )
        shares = table / sizes[:, None]
        good = ((table >= FEWEST) & (shares >= SHARE)).any(axis=0)
        good &= (np.minimum(opened, closed) >= APART * ends) | (length == 1)
        at, phrases, n_phrases = _only(good, at, phrases)
        firsts = np.zeros(n_phrases, np.int64)
        firsts[phrases] = at
        weights = roles.weights[firsts]
        if length > 1:
            alone = np.stack([np.where(roles.of[firsts + i], 0.0, having[base[firsts + i]]) for i in range(length)])
            together = np.log(table[:, good].sum(axis=0) / (n_texts + 1))
            weights = LONGER + COHESION * _normalised_information(together, alone)
        yield _Part(shares[:, good], weights, at, phrases, roles.closes[at + length - 1], length)


def _normalised_information(together: Floats, alone: Floats) -> Floats:
    """Return the normalised pointwise mutual information of words, at least 0, given log shares of texts.

    ``together`` are the log shares of the phrases, (n,), ``alone`` those of their words, (n_words, n), with 0 for "of".
    """
    n_words = (alone < 0).sum(axis=0)
    return np.asarray(np.maximum((together - alone.sum(axis=0)) / (-together * (n_words - 1)), 0.0))


def _only(chosen: Mask, at: Ints, phrases: Ints) -> tuple[Ints, Ints, int]:
    """Return the occurrences of some phrases, with new numbers, and the number of these phrases."""
    kept = chosen[phrases]
    return at[kept], (np.cumsum(chosen) - 1)[phrases[kept]], int(chosen.sum())


def _texts_of_topics(phrases: Ints, texts: Ints, labels: Ints, k: int, n_phrases: int) -> Ints:
    """Return how many texts of each topic have each phrase, (k, n_phrases)."""
    pairs = np.unique(phrases * len(labels) + texts)
    cells = labels[pairs % len(labels)] * n_phrases + pairs // len(labels)
    return np.bincount(cells, minlength=k * n_phrases).reshape(k, n_phrases)


def _written(part: _Part, kept: Ints, tokens: _Tokens, topics: Ints, labels: Ints) -> list[str]:
    """Return the most frequent spelling of phrases in their topics.

    Occurrences that begin a sentence or that a word continues hardly count: "Movies", and "movie" in "movie theater".
    """
    topic_of = np.full(len(part.weights), -1)
    topic_of[kept] = topics
    own = topic_of[part.phrases] == labels[tokens.texts[part.at]]
    at = part.at[own]
    usual = part.closed[own] & ~np.concatenate([[True], tokens.ids[:-1] == _END])[at]
    ways = np.stack([part.phrases[own], *(tokens.forms[at + i] for i in range(part.length))])
    rows, which = np.unique(ways, axis=1, return_inverse=True)
    often = np.bincount(which.ravel(), np.where(usual, 1.0, 0.01))
    best = {int(rows[0, i]): rows[1:, i].tolist() for i in np.argsort(often, kind="stable")}  # the last one is kept
    return [_joined([tokens.written[form] for form in best[phrase]]) for phrase in kept.tolist()]


def _joined(words: list[str]) -> str:
    """Return words as a phrase: without spaces in scripts that have none."""
    words[-1] = re.sub("['’]s$", "", words[-1])
    if share_without_spaces(words) == 1.0:
        return "".join(words)
    return " ".join(words)


def _kind(word: str) -> int:
    if word in _KINDS:
        return _KINDS[word]
    return _STOP if (len(word) < 2 and word.isascii()) or (len(word) > 5 and word.endswith("ly")) else _CONTENT


_KINDS = dict.fromkeys(Tokenizer(stop_words="english").stop_words, _STOP) | {
    word: kind for kind, words in _CLOSED.items() for word in words.split()
}
