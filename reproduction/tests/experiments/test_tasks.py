"""Tasks that measure similarity: measures by hand, planted data with a known answer, the cache and the command."""

import json
import math
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import typed

from parasphere import ParasphereError, SphericalParagraphModel, Tokenizer, WordVectors
from reproduction.baselines import LatentSemanticIndex, TfIdf
from reproduction.datasets import Collection, Dataset
from reproduction.experiments.pieces import MeanOfPieces
from reproduction.experiments.report import read_tasks, write_tasks
from reproduction.experiments.significance import bootstrap_interval, randomisation
from reproduction.experiments.tasks import SYSTEMS, clustering, retrieval, run_tasks, sts
from reproduction.experiments.tasks.rivals import BM25, Cosine, Hybrid, Indexed
from reproduction.experiments.tasks.systems import Given, System, named_systems
from reproduction.experiments.tasks.tables import markdown, tables

TOPICS = {
    "sea": "wave sail harbour tide anchor".split(),
    "farm": "wheat cattle barn plough harvest".split(),
    "music": "violin chord melody rhythm choir".split(),
}
needs_llama = pytest.mark.skipif(find_spec("wordllama") is None, reason="wordllama is not installed")
CHEAP = ("spm", "mean", "tfidf", "bm25")


def vectors() -> WordVectors:
    """Words of a topic lie near each other, and all of them in one half of the space."""
    rng = np.random.default_rng(1)
    words = [(word, place) for place, words in enumerate(TOPICS.values()) for word in words]
    matrix = rng.normal(0, 0.2, (len(words), 8))
    matrix[:, 7] += 1.0
    matrix[np.arange(len(words)), [place for _, place in words]] += 1.0
    return WordVectors.from_arrays([word for word, _ in words], matrix, name="planted")


def sentence(rng: np.random.Generator, topic: str, n: int = 6) -> str:
    return " ".join(rng.choice(TOPICS[topic], n))


def write_data(folder: Path) -> Path:
    """Write a small dataset for every task: texts about the same topic are similar."""
    rng = np.random.default_rng(0)
    names = list(TOPICS)
    (folder / "sts").mkdir(parents=True)
    for part, n in (("train", 60), ("dev", 40), ("test", 40)):
        lines = ["sentence1,sentence2,score"]
        for i in range(n):
            one, other = names[i % 3], names[(i + i // 3 % 2) % 3]
            lines.append(f"{sentence(rng, one)},{sentence(rng, other)},{5 if one == other else 0}")
        (folder / "sts" / f"stsb-en-{part}.csv").write_text("\n".join(lines) + "\n")
    home = folder / "retrieval" / "cranfield"
    home.mkdir(parents=True)
    documents = [{"_id": f"d{i}", "text": sentence(rng, names[i % 3])} for i in range(30)]
    queries = [{"_id": name, "text": sentence(rng, name, 3)} for name in names]
    (home / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (home / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in queries))
    answers = [f"{name}\td{i}\t1" for i in range(30) for name in [names[i % 3]]]
    (home / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *answers]) + "\n")
    (folder / "clustering").mkdir()
    texts = [f"{names[i % 3]}\t{sentence(rng, names[i % 3])}" for i in range(60)]
    (folder / "clustering" / "searchsnippets.tsv").write_text("\n".join(["label\ttext", *texts]) + "\n")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("tasks"))


@pytest.fixture(scope="module")
def results(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return of(data, tmp_path_factory.mktemp("cache"))


def of(data: Path, cache: Path, systems: Any = CHEAP, datasets: Any = None, **how: Any) -> dict[str, Any]:
    names = datasets or ("stsb-dev", "stsb-test", "cranfield", "searchsnippets")
    how = {"data_folder": data, "cache_folder": cache, "jobs": 1, "command": "made by hand", **how}
    return run_tasks(["sts", "retrieval", "clustering"], systems, names, [vectors()], **how)


# Measures


def test_rank_correlation_by_hand() -> None:
    scores, similarities = np.arange(12.0), np.exp(np.arange(12.0))
    similarities[[4, 5]] = similarities[[5, 4]]
    found = sts.measured(similarities, scores)
    assert found["spearman"] == pytest.approx(1 - 6 * 2 / (12 * 143))  # 1 - 6 sum d^2 / (n (n^2 - 1))
    assert found["pearson"] == pytest.approx(np.corrcoef(similarities, scores)[0, 1])


def test_gain_and_recall_by_hand() -> None:
    ids = [f"d{i}" for i in range(200)]
    judged = {"q": {"d0": 3, "d1": 1, "d150": 2}, "other": {"d7": 1}}
    collection = Collection("c", ids, ids, ["q", "other"], ["q", "other"], judged)
    scores = np.zeros((2, 200))
    scores[0, [5, 0, 1]] = 3.0, 2.0, 1.0  # d5, d0, d1 and then 97 others, but not d150
    scores[1, 7] = 1.0
    found = retrieval.measured(collection, retrieval.ranking(scores))
    gain = 3 / math.log2(3) + 1 / math.log2(4)
    ideal = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert found["ndcg_by_query"] == pytest.approx([gain / ideal, 1.0], abs=1e-6)
    assert found["ndcg"] == pytest.approx((gain / ideal + 1) / 2)
    assert found["recall"] == pytest.approx((2 / 3 + 1) / 2)


def test_equal_scores_are_ranked_in_the_order_of_the_collection() -> None:
    assert retrieval.ranking(np.array([[1.0, 2.0, 2.0, 0.0]])).tolist() == [[1, 2, 0, 3]]


def test_agreement_of_clusters_by_hand() -> None:
    labels = np.array([0, 0, 1, 1])
    found = clustering.measured(labels, [np.array([1, 1, 0, 0]), np.array([0, 1, 0, 1])])
    assert found["nmi"] == pytest.approx([1.0, 0.0], abs=1e-12)
    assert found["ari"] == pytest.approx([1.0, -0.5])


def test_the_bootstrap_interval_is_that_of_the_mean() -> None:
    values = np.random.default_rng(2).normal(size=400)
    low, high = bootstrap_interval(lambda places: float(values[places].mean()), 400)
    assert (low, high) == pytest.approx(values.mean() + np.array([-1.96, 1.96]) * values.std() / 20, abs=0.02)
    assert (low, high) == bootstrap_interval(lambda places: float(values[places].mean()), 400)


def test_the_randomisation_test_counts_signs() -> None:
    exact = randomisation([1.0] * 6, [0.0] * 6)  # of 64 signs, 2 have so large a mean
    assert exact.p == pytest.approx(2 / 64, abs=0.006)
    assert exact.statistic == 1.0
    assert randomisation([0.3, 0.1], [0.3, 0.1]).p == 1.0
    with pytest.raises(ParasphereError, match="same queries"):
        randomisation([], [])


# Rivals


def test_bm25_is_that_of_the_formula() -> None:
    texts = ["wave wave sail", "sail harbour", "wheat barn barn barn cattle"]
    fitted = BM25(Tokenizer()).fit(texts).index(texts)
    frequencies = {"wave": 1, "sail": 2, "harbour": 1}
    idf = {word: math.log(1 + (3 - n + 0.5) / (n + 0.5)) for word, n in frequencies.items()}
    length = [3, 2, 5]

    def part(word: str, doc: int) -> float:
        count = texts[doc].split().count(word)
        return idf[word] * count / (count + 1.5 * (0.25 + 0.75 * length[doc] / (10 / 3)))

    found = fitted.scores(["wave sail", "harbour unknown", "nothing of this"])
    expected = [[part("wave", doc) + part("sail", doc) for doc in range(3)], [part("harbour", doc) for doc in range(3)]]
    np.testing.assert_allclose(found, [*expected, [0.0] * 3], rtol=1e-5)


def test_bm25_of_pairs_agrees_with_its_scores() -> None:
    rng = np.random.default_rng(5)
    texts = [sentence(rng, name) for name in [*TOPICS] * 5]
    fitted = BM25(Tokenizer()).fit(texts).index(texts)
    scores = fitted.scores(texts)
    a, b = np.arange(15), np.roll(np.arange(15), 4)
    expected = (scores[a, b] + scores[b, a]) / (scores[a, a] + scores[b, b])
    found = fitted.similarities([texts[i] for i in a], [texts[i] for i in b])
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert fitted.similarities(["wave sail", ""], ["wave sail", ""]).tolist() == pytest.approx([1.0, 0.0])


def test_cosines_of_sparse_and_dense_vectors() -> None:
    texts = ["wave sail", "sail tide", "barn"]
    fitted = Cosine(TfIdf(tokenizer=Tokenizer())).fit(texts).index(texts)
    scores = fitted.scores(texts)
    np.testing.assert_allclose(np.diag(scores), 1.0)
    assert scores[0, 2] == 0.0
    np.testing.assert_allclose(fitted.similarities(texts, texts[::-1]), scores[[0, 1, 2], [2, 1, 0]])


def test_a_hybrid_weighs_both_alike_and_query_by_query() -> None:
    texts = ["wave sail", "sail tide", "barn wheat", "barn"]
    parts = [Cosine(TfIdf(tokenizer=Tokenizer())), BM25(Tokenizer())]
    both = Hybrid(*parts).fit(texts).index(texts)
    queries = ["sail", "nothing of this", "barn tide"]
    standardised = [
        (row - row.mean()) / row.std() if row.std() else row * 0 for part in parts for row in part.scores(queries)
    ]
    np.testing.assert_allclose(both.scores(queries), np.array(standardised[:3]) + standardised[3:])
    np.testing.assert_allclose(both.scores(queries)[2:], both.scores(queries[2:]))


@pytest.mark.parametrize("weight", [None, 1.0])
def test_an_index_is_ranked_as_it_is_searched(weight: float | None) -> None:
    texts = ["wave sail tide", "sail tide", "barn wheat", "barn", "plough barn wheat"]
    words = ["wave", "sail", "tide", "barn", "wheat", "plough"]
    vectors = WordVectors.from_arrays(words, np.random.default_rng(0).normal(size=(6, 4)))
    model = SphericalParagraphModel(vectors, tokenizer=Tokenizer(), tol=1e-3)
    ranked = Indexed(model, weight).fit(texts).index(texts)
    queries = ["sail", "barn tide"]
    for row, matches in zip(ranked.scores(queries), ranked.index_.search(queries, k=3, weight=weight), strict=True):
        assert np.argsort(-row, kind="stable")[:3].tolist() == [match.position for match in matches]


@needs_llama
def test_wordllama_sums_pieces() -> None:
    composed = WordVectors.load("wordllama", words=["aerodynamics", "of", "harbours", "wave"])
    assert composed.weights is not None
    means = MeanOfPieces("wordllama").fit().transform(["wave of harbours", "wave", ""])
    weights = dict(zip(composed.words, composed.weights, strict=True))
    rows = {word: composed[word].astype(float) * weights[word] for word in ("wave", "of", "harbours")}
    whole = rows["wave"] + rows["of"] + rows["harbours"]  # the pieces of a text are those of its words
    np.testing.assert_allclose(means[0] / np.linalg.norm(means[0]), whole / np.linalg.norm(whole), atol=1e-5)
    np.testing.assert_allclose(means[1] / np.linalg.norm(means[1]), composed["wave"], atol=1e-5)
    assert not means[2].any()


# Planted data


def test_every_task_finds_what_was_planted(results: dict[str, Any]) -> None:
    for run in results["runs"]:
        where = (run["task"], run["system"])
        if run["task"] == "sts" and run["system"] in ("spm", "mean"):
            assert run["spearman"] > 0.8, where
            assert run["interval"][0] <= run["spearman"] <= run["interval"][1]
        elif run["task"] == "retrieval":
            assert run["ndcg"] > 0.8, where
            assert run["recall"] == 1.0  # there are fewer documents than are ranked
            assert run["milliseconds"] > 0
        elif run["system"] == "spm":
            assert min(run["clusterings"]["k-means"]["nmi"]) > 0.9
            assert len(run["clusterings"]["movMF"]["ari"]) == 5
    assert {run["task"] for run in results["runs"]} == {"sts", "retrieval", "clustering"}


def test_offsets_tell_more_than_directions(data: Path, tmp_path: Path) -> None:
    runs = of(data, tmp_path, ["spm", "spm-direction"], ["searchsnippets"])["runs"]
    offset, direction = (np.mean(run["clusterings"]["k-means"]["nmi"]) for run in runs)
    assert offset >= direction


def test_topics_are_clusters() -> None:
    rng = np.random.default_rng(6)
    names = [*TOPICS] * 20
    corpus = Dataset("c", [sentence(rng, name) for name in names], np.arange(60) % 3, [*TOPICS], names, "ours", "")
    built = SYSTEMS["nmf"].build
    facts, arrays = clustering.evaluate(lambda seed: built(Given(None, 3, seed)), corpus, topics=True)
    assert set(facts["clusterings"]) == set(arrays) == {"largest topic"}
    assert min(facts["clusterings"]["largest topic"]["nmi"]) > 0.9


# The cache and the report


def test_what_was_computed_is_not_computed_again(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    measured = sts.measured
    monkeypatch.setattr(sts, "measured", lambda *args: (done.append(1), measured(*args))[1])
    first = of(data, tmp_path, ["tfidf", "mean"], ["stsb-dev"])
    assert len(done) == 2
    again = of(data, tmp_path, ["tfidf", "mean", "spm"], ["stsb-dev"], cached_only=True)
    assert (len(done), again["runs"]) == (2, [first["runs"][0], first["runs"][1]])
    shutil.copytree(data, changed := tmp_path / "changed")
    with (changed / "sts" / "stsb-en-dev.csv").open("a") as file:
        file.write("wave,tide,5\n")
    of(changed, tmp_path, ["tfidf"], ["stsb-dev"])
    assert len(done) == 3


def test_nothing_to_run(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ParasphereError, match="no system is called 'spmm'; there are: spm, "):
        of(data, tmp_path, ["spmm"])
    with pytest.raises(ParasphereError, match="no dataset of these tasks is called 'trec'; there are: stsb-dev"):
        of(data, tmp_path, datasets=["trec"])
    with pytest.raises(ParasphereError, match="no task is called 'quiz'; there are: sts, retrieval, clustering"):
        run_tasks(["quiz"], ["spm"])
    with pytest.raises(ParasphereError, match="nothing to run"):
        of(data, tmp_path, ["nmf"], ["cranfield"])


def test_a_system_that_cannot_run_is_an_error_only_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = System("odd", "Odd", lambda _: BM25(), libraries=("no-such-library",))
    monkeypatch.setitem(SYSTEMS, "odd", entry)
    chosen, left_out = named_systems(["all"])
    assert "spm" in {system.name for system in chosen}
    assert left_out["odd"] == "no_such_library is not installed"
    with pytest.raises(ParasphereError, match="odd cannot be run: no_such_library is not installed"):
        named_systems(["odd"])


def test_tables_say_the_numbers(results: dict[str, Any]) -> None:
    similarity, ranking, clusters = tables(results)
    assert similarity.columns[:4] == ["system", "vectors", "development: Spearman", "test: Spearman"]
    systems = [["SPM", "planted"], ["mean", "planted"], ["tf-idf", "–"], ["BM25", "–"]]
    assert [row[:2] for row in similarity.rows] == systems
    run = next(run for run in results["runs"] if (run["dataset"], run["system"]) == ("stsb-test", "spm"))
    assert similarity.rows[0][3].startswith(f"{100 * run['spearman']:.1f} (")
    assert ranking.columns[2:4] == ["Cranfield: nDCG@10", "Cranfield: recall@100"]
    assert "SPM: movMF" in {row[0] for row in clusters.rows}
    assert any("tf-idf: k-means" in line and "±" in line for line in markdown(clusters).split("\n"))
    best = [row for row, column in similarity.best if column == 2]
    spearman = [run["spearman"] for run in results["runs"] if run["dataset"] == "stsb-dev"]
    assert best[0] == int(np.argmax(spearman))


def test_rankings_are_marked_against_bm25() -> None:
    def run(system: str, values: list[float]) -> dict[str, Any]:
        facts = {"task": "retrieval", "dataset": "cisi", "system": system, "title": system, "vectors": None}
        measures = {"ndcg": float(np.mean(values)), "interval": [0.1, 0.9], "recall": 0.5, "ndcg_by_query": values}
        return {**facts, **measures, "milliseconds": 1.0, "fit_seconds": 1.0}

    middle = np.linspace(0.3, 0.6, 20)
    found = {"bm25": middle, "better": middle + 0.2, "worse": middle - 0.2, "same": middle[::-1]}
    (table,) = tables({"runs": [run(name, values.tolist()) for name, values in found.items()]})
    marks = [row[2].split(" (")[0] for row in table.rows]
    assert marks == ["45.0", "65.0 ▲", "25.0 ▼", "45.0"]


def test_the_report_has_the_tasks(results: dict[str, Any], tmp_path: Path) -> None:
    write_tasks(results, tmp_path)
    assert read_tasks(tmp_path) == json.loads(json.dumps(results))
    text = (tmp_path / "README.md").read_text()
    for heading in ("## Semantic textual similarity", "## Retrieval", "## Clustering", "`made by hand`"):
        assert heading in text
    write_tasks(results, tmp_path)
    assert (tmp_path / "README.md").read_text() == text
    (tmp_path / "README.md").write_text("Our thoughts.")
    with pytest.raises(ParasphereError, match="would be lost"):
        write_tasks(results, tmp_path)


def test_seeds_are_averaged(data: Path) -> None:
    pairs, collection = sts.load("stsb-dev", data), retrieval.load("cranfield", data)

    def build(seed: int) -> Any:
        return LatentSemanticIndex(1 + seed)  # differs with the seed for certain

    facts, _ = sts.evaluate(build, pairs, (0, 1))
    alone = [sts.evaluate(build, pairs, (seed,))[0] for seed in (0, 1)]
    assert facts["by_seed"] == [one["spearman"] for one in alone]
    assert facts["spearman"] == pytest.approx(np.mean(facts["by_seed"]))
    assert facts["interval"][0] < facts["spearman"] < facts["interval"][1]
    facts, _ = retrieval.evaluate(build, collection, (0, 1))
    alone = [retrieval.evaluate(build, collection, (seed,))[0] for seed in (0, 1)]
    assert facts["ndcg"] == pytest.approx(np.mean([one["ndcg"] for one in alone]))
    assert facts["ndcg_by_query"] == pytest.approx(np.mean([one["ndcg_by_query"] for one in alone], axis=0), abs=1e-5)


# The command


def test_the_command(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "cache"))
    vectors().save(tmp_path / "vectors")
    usual = ["run", "--tasks", "sts,retrieval", "--systems", "spm,bm25", "-v", tmp_path / "vectors", "--jobs", 1]
    some = [*usual, "--datasets", "stsb-dev,cranfield", "--task-data", data, "-o", tmp_path / "out"]
    told = typed(*some)
    assert told.code == 0, told.err
    assert "Semantic textual similarity" in told.out
    tasks = read_tasks(tmp_path / "out")
    assert tasks is not None
    assert len(tasks["runs"]) == 4
    assert str(data) not in tasks["made"]["command"]
    runs = json.loads(typed(*some, "--json").out)
    assert [run["system"] for run in runs] == ["spm", "bm25"] * 2


def test_the_command_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARASPHERE_TASKS", raising=False)
    told = typed("run", "--tasks", "sts", "--systems", "tfidf", "-o", tmp_path)
    assert told.code == 1
    assert "--task-data FOLDER" in told.err
    told = typed("run", "-v", "one", "-v", "two", "-o", tmp_path)
    assert (told.code, "classification takes one --vectors" in told.err) == (1, True)
    told = typed("run", "--tasks", "sts,classification", "--datasets", "mr", "-o", tmp_path)
    assert (told.code, "give a command for each" in told.err) == (1, True)


def test_tasks_of_several_commands_are_joined(tmp_path: Path) -> None:
    made = {"date": "2026-01-01", "machine": "m", "versions": {"numpy": "2"}, "code": "c"}
    row = {
        "task": "sts",
        "dataset": "stsb-dev",
        "title": "SPM",
        "vectors": "v",
        "spearman": 0.5,
        "interval": [0.4, 0.6],
    }
    row |= {"pearson": 0.5, "n_pairs": 10, "fit_seconds": 1.0, "pairs_per_second": 1.0, "unconverged": 0}
    for name, systems in (("a", ["mean"]), ("b", ["spm", "mean"])):
        runs = [row | {"system": system, "spearman": 0.5 if name == "a" else 0.7} for system in systems]
        write_tasks({"made": made | {"command": name, "vectors": [name]}, "runs": runs}, tmp_path / name)
    typed("join", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "both")
    joined = read_tasks(tmp_path / "both")
    assert joined is not None
    assert [(run["system"], run["spearman"]) for run in joined["runs"]] == [("spm", 0.7), ("mean", 0.5)]
    assert (joined["made"]["commands"], joined["made"]["vectors"]) == (["a", "b"], ["a", "b"])
