"""A real cluster of processes: the fit of one machine, whoever dies."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parasphere import JointVectors, SegmentingTokenizer, SphericalParagraphModel, WordVectors, datasets
from parasphere.errors import CorpusError, ParasphereError, ScriptWarning
from parasphere.vectors import adapting

pytest.importorskip("distributed", reason="the extra dask")

import dask
import dask.bag
import dask.dataframe
from distributed import Client, LocalCluster, WorkerPlugin
from test_docs import DOCS, run_page

import parasphere.dask as cluster

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

RNG = np.random.default_rng(8)
WORDS = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(120)]
TOPICS = RNG.normal(size=(4, 8)) + 1.5 * RNG.normal(size=8)  # EM needs few iterations where texts have topics
ROWS = np.repeat(TOPICS, 30, axis=0) + RNG.normal(size=(120, 8))
VECTORS = WordVectors.from_arrays(WORDS, ROWS).with_weights(0.5 + RNG.random(120))
TEXTS = [" ".join(RNG.choice(WORDS[30 * (i % 4) :][:30], size)) for i, size in enumerate(RNG.integers(0, 30, 1300))]
ENGLISH = [" ".join(text.split()) for text in datasets.load("docstrings").texts[:400]]
PATIENT = {"distributed.deploy.lost-worker-timeout": "120s"}  # in which a worker that was killed is restarted
CHINESE = ["显示文件的内容", "复制文件和目录", "更改文件的所有者", "显示日期和时间", "更改用户的密码"] * 8


def make(**options: Any) -> SphericalParagraphModel:
    return SphericalParagraphModel(VECTORS, **({"adapt": False, "tol": 1e-4} | options))


@pytest.fixture(scope="module")
def whole() -> SphericalParagraphModel:
    return make().fit(TEXTS)


@pytest.fixture(scope="module")
def adapted() -> SphericalParagraphModel:
    return SphericalParagraphModel(tol=1e-3).fit(ENGLISH)


@pytest.fixture(scope="module")
def running(order: Path) -> Iterator[Client]:
    """A cluster of two processes, which are restarted when they are killed."""
    with (
        dask.config.set(PATIENT),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
        Client(local) as client,
    ):
        client.register_plugin(Killer(order))
        yield client


@pytest.fixture
def client(running: Client) -> Client:
    running.wait_for_workers(2, timeout=120)
    return running


def write(texts: list[str], path: Path) -> Path:
    """Write texts to a file of the kind that its name says."""
    if path.suffix == ".txt":
        path.write_text("".join(f"{text}\n" for text in texts))
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    elif path.suffix == ".csv":
        pd.DataFrame({"text": texts}).to_csv(path, index=False, lineterminator="\n")
    else:
        pq.write_table(pa.table({"text": texts}), path)
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Seven files of four kinds that hold the texts in order."""
    folder = tmp_path / "texts"
    folder.mkdir()
    parts = enumerate(np.array_split(np.array(TEXTS, object), 7))
    return [
        write(part.tolist(), (folder / str(i)).with_suffix([".txt", ".jsonl", ".csv", ".parquet"][i % 4]))
        for i, part in parts
    ]


def same(one: SphericalParagraphModel, other: SphericalParagraphModel) -> None:
    def close(found: Any, expected: Any) -> None:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    assert one.vectors_ is not None
    assert other.vectors_ is not None
    assert one.vectors_.words == other.vectors_.words
    assert np.array_equal(one.vectors_.matrix, other.vectors_.matrix)
    close(one.mean_direction_, other.mean_direction_)
    close(one.evidence_, other.evidence_)
    close([one.concentration_, one.word_cosine_], [other.concentration_, other.word_cosine_])
    close(one.encoder_.whitening, other.encoder_.whitening)


def parts_of(texts: list[str], count: int) -> list[Any]:
    """Return delayed partitions of texts, of which every third is empty."""
    cuts = np.linspace(0, len(texts), count - count // 3 + 1).astype(int)
    parts = [texts[begin:end] for begin, end in pairwise(cuts.tolist())]
    for at in range(2, count, 3):
        parts.insert(at, [])
    assert len(parts) == count
    return [dask.delayed(part) for part in parts]


def vectors_in(paths: list[Path]) -> np.ndarray:
    parts = [pq.read_table(path)["vector"].combine_chunks() for path in paths]
    return np.concatenate([part.flatten().to_numpy().reshape(len(part), -1) for part in parts])


# ---------------------------------------------------------------------------------------------------
# The same result


@pytest.mark.parametrize("count", [1, 2, 5, 13])
def test_the_default_is_the_fit_in_memory(count: int, client: Client, adapted: SphericalParagraphModel) -> None:
    model = cluster.fit(SphericalParagraphModel(tol=1e-3), parts_of(ENGLISH, count))
    assert model.vectors_.name == "english-128, adapted"
    same(model, adapted)
    np.testing.assert_allclose(model.transform(ENGLISH), adapted.transform(ENGLISH), atol=1e-6)


@pytest.mark.parametrize("random_state", [3, np.random.RandomState(3)])
def test_vectors_adapt_to_the_texts_that_are_drawn_in_memory(
    random_state: Any, client: Client, adapted: SphericalParagraphModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapting, "TEXT", sum(map(len, ENGLISH)) * 2 // 3)
    state = random_state.get_state() if isinstance(random_state, np.random.RandomState) else None
    alone = SphericalParagraphModel(tol=1e-2, random_state=random_state).fit(ENGLISH)
    if state is not None:
        random_state.set_state(state)
    together = cluster.fit(SphericalParagraphModel(tol=1e-2, random_state=random_state), parts_of(ENGLISH, 5))
    same(together, alone)
    assert not np.array_equal(alone.transform(ENGLISH), adapted.transform(ENGLISH))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_without_a_cluster(scheduler: str, whole: SphericalParagraphModel, tmp_path: Path) -> None:
    bag = dask.bag.from_sequence(TEXTS, npartitions=3)
    with dask.config.set(scheduler=scheduler):
        same(cluster.fit(make(), bag), whole)
        assert np.array_equal(vectors_in(cluster.transform(whole, bag, tmp_path / "out")), whole.transform(TEXTS))


def test_files_bags_columns_and_delayed_partitions(
    client: Client, whole: SphericalParagraphModel, files: list[Path]
) -> None:
    same(cluster.fit(make(), files[0].with_name("*")), whole)
    same(cluster.fit(make(), str(files[0].with_name("*"))), whole)
    same(cluster.fit(make(), files), whole)
    same(cluster.fit(make(), dask.bag.from_sequence(TEXTS, npartitions=3)), whole)
    same(cluster.fit(make(), dask.bag.from_sequence([text.split() for text in TEXTS], npartitions=3)), whole)
    frame = dask.dataframe.from_pandas(pd.DataFrame({"body": TEXTS, "n": 0}), npartitions=2)
    same(cluster.fit(make(), frame, text="body"), whole)
    same(cluster.fit(make(), frame["body"]), whole)
    same(cluster.fit(make(), [files[0], dask.delayed(TEXTS[len(files[0].read_text().splitlines()) :])]), whole)


def test_partitions_without_known_words(client: Client, whole: SphericalParagraphModel) -> None:
    parts = [TEXTS[:600], ["unknown", ""], [], TEXTS[600:]]
    same(cluster.fit(make(), [dask.delayed(part) for part in parts]), whole)


def test_nulls_and_columns_are_read_as_in_memory(client: Client) -> None:
    titles: list[Any] = [None if i % 5 == 0 else text for i, text in enumerate(TEXTS[:300])]
    bodies: list[Any] = [None if i % 7 == 0 else text for i, text in enumerate(TEXTS[300:600])]
    frame = pd.DataFrame({"title": titles, "body": bodies}, dtype=object)
    parts = dask.dataframe.from_pandas(frame, npartitions=4)
    for text in ("body", ["title", "body"]):
        with pytest.warns(UserWarning, match="texts are null"):
            alone = make().fit(frame, text=text)
        same(cluster.fit(make(), parts, text=text), alone)


def test_few_documents_and_the_method_of_the_paper(client: Client) -> None:
    options = {"kappa_method": "banerjee", "prior_strength": 0.0}
    few = TEXTS[:300]
    alone, together = make(**options).fit(few), make(**options)
    cluster.fit(together, dask.bag.from_sequence(few, npartitions=4))
    same(together, alone)
    later = [model.partial_fit(TEXTS[300:]).concentration_ for model in (together, alone)]
    assert later[0] == pytest.approx(later[1], rel=0.1)  # one goes on from sums, the other from the documents


def test_a_learner_learns_in_this_process(client: Client) -> None:
    learner = JointVectors(dim=8, start=None, epochs=1)
    alone = SphericalParagraphModel(learner, tol=1e-3).fit(TEXTS)
    same(cluster.fit(SphericalParagraphModel(learner, tol=1e-3), parts_of(TEXTS, 4)), alone)


def test_a_tokenizer_is_chosen_by_the_first_texts(client: Client) -> None:
    words = sorted({word for text in CHINESE for word in SegmentingTokenizer()(text)})
    vectors = WordVectors.from_arrays(words, np.random.default_rng(0).normal(size=(len(words), 6)))
    parts = [dask.delayed([]), dask.delayed(CHINESE[:1]), dask.delayed(CHINESE[1:])]
    with pytest.warns(ScriptWarning):
        alone = SphericalParagraphModel(vectors, adapt=False, tol=1e-2).fit(CHINESE)
    with pytest.warns(ScriptWarning):
        together = cluster.fit(SphericalParagraphModel(vectors, adapt=False, tol=1e-2), parts)
    assert isinstance(together.encoder_.reader.tokenizer, SegmentingTokenizer)
    same(together, alone)
    learning = SphericalParagraphModel(JointVectors(4, start=None, epochs=2, min_count=1), tol=0.1)
    with pytest.warns(ScriptWarning):
        cluster.fit(learning, parts)
    assert "文件" in learning.vectors_


def test_partitions_that_do_not_fit_into_memory_are_spilled(whole: SphericalParagraphModel, tmp_path: Path) -> None:
    settings = {"distributed.worker.memory.target": 1e-6, "temporary-directory": str(tmp_path)}
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit="4GB") as local,
        Client(local) as client,
    ):
        spilled = Spilled()
        client.register_plugin(spilled, name="spilled")
        same(cluster.fit(make(), parts_of(TEXTS, 5)), whole)
        assert max(client.run(most_spilled).values()) >= 3  # partitions with documents


class Spilled(WorkerPlugin):
    """Counts the partitions on the disk of a worker."""

    def setup(self, worker: Any) -> None:
        self.worker, worker.most_spilled = worker, 0

    def transition(self, *_: Any, **__: Any) -> None:
        count = sum(str(each).startswith("_read") for each in self.worker.data.slow)
        self.worker.most_spilled = max(self.worker.most_spilled, count)


def most_spilled(dask_worker: Any) -> int:
    return int(dask_worker.most_spilled)


# ---------------------------------------------------------------------------------------------------
# Vectors in files


def test_vectors_in_files(client: Client, whole: SphericalParagraphModel, files: list[Path], tmp_path: Path) -> None:
    paths = cluster.transform(whole, files, tmp_path / "out")
    assert sorted((tmp_path / "out").iterdir()) == paths
    assert np.array_equal(vectors_in(paths), whole.transform(TEXTS))
    directions = cluster.transform(whole.encoder_, files, tmp_path / "directions", space="direction")
    assert np.array_equal(vectors_in(directions), whole.transform(TEXTS, space="direction"))
    with pytest.raises(ParasphereError, match="out is not empty"):
        cluster.transform(whole, files, tmp_path / "out")


def test_ids_and_columns_are_carried(client: Client, whole: SphericalParagraphModel, tmp_path: Path) -> None:
    frame = pd.DataFrame({"body": TEXTS[:5], "name": list("abcde"), "year": [2000, 2001, 2002, 2003, 2004]})
    parts = dask.dataframe.from_pandas(frame, npartitions=2)
    paths = cluster.transform(whole, parts, tmp_path / "frame", text="body", id="name", carry=["year"])
    table = pa.concat_tables(map(pq.read_table, paths))
    assert (table["id"].to_pylist(), table["year"].to_pylist()) == (frame["name"].tolist(), frame["year"].tolist())


# ---------------------------------------------------------------------------------------------------
# Whoever dies


class Killer(WorkerPlugin):
    """Kills the first worker that begins its n-th task of a kind, as a file says; the file is removed then."""

    def __init__(self, order: Path) -> None:
        self.order, self.seen = order, 0

    def transition(self, key: str, _start: str, finish: str, **_: Any) -> None:
        with contextlib.suppress(FileNotFoundError):
            kind, number = self.order.read_text().split()
            if finish == "executing" and str(key).startswith(kind):
                self.seen += 1
                if self.seen == int(number):
                    self.order.unlink()
                    os.kill(os.getpid(), signal.SIGKILL)
            return
        self.seen = 0


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that says which worker of the cluster is killed."""
    return tmp_path_factory.mktemp("orders") / "order"


@contextlib.contextmanager
def killing(kind: str, number: int, order: Path) -> Iterator[None]:
    order.write_text(f"{kind} {number}")
    yield
    assert not order.exists(), "the work was done before a worker was killed"


@pytest.mark.parametrize(
    ("kind", "number"), [("_sizes", 2), ("_draw", 2), ("_read", 2), ("statistics", 1), ("statistics", 6)]
)
def test_a_worker_is_killed_in_a_fit(
    kind: str, number: int, client: Client, order: Path, adapted: SphericalParagraphModel
) -> None:
    with killing(kind, number, order):
        same(cluster.fit(SphericalParagraphModel(tol=1e-3), parts_of(ENGLISH, 7)), adapted)


def test_the_only_worker_is_killed(whole: SphericalParagraphModel, tmp_path: Path) -> None:
    """All that was read is gone, and the reader too."""
    with (
        dask.config.set(PATIENT),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as local,
        Client(local) as client,
    ):
        client.register_plugin(Killer(tmp_path / "order"))
        with killing("statistics", 8, tmp_path / "order"):
            same(cluster.fit(make(), parts_of(TEXTS, 3)), whole)


def test_a_worker_is_killed_while_it_writes_vectors(
    client: Client, order: Path, whole: SphericalParagraphModel, files: list[Path], tmp_path: Path
) -> None:
    with killing("_write", 2, order):
        paths = cluster.transform(whole, files, tmp_path / "out")
    assert np.array_equal(vectors_in(paths), whole.transform(TEXTS))


# ---------------------------------------------------------------------------------------------------
# Bad partitions


def test_errors_name_the_partition(
    client: Client, whole: SphericalParagraphModel, files: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "8.jsonl").write_text('{"text": "fine"}\n{"body": "lost"}\n')
    (tmp_path / "9.parquet").write_bytes(b"PAR1 and no more")
    for name, what in (("8.jsonl", "2"), ("9.parquet", "not a valid Parquet")):
        with pytest.raises(CorpusError, match=rf"{name}.*{what}"):
            cluster.fit(make(), [*files, tmp_path / name])
        with pytest.raises(CorpusError, match=rf"{name}.*{what}"):
            cluster.transform(whole, [*files, tmp_path / name], tmp_path / f"out-{name}")
    with pytest.raises(CorpusError, match=r"partition 2 of 3: document 1 .*int"):
        cluster.fit(make(), [dask.delayed(part) for part in (["fine"], [], ["fine", 7])])
    frame = dask.dataframe.from_pandas(pd.DataFrame({"body": ["fine", "fine"], "n": 0}), npartitions=2)
    with pytest.raises(CorpusError, match='no column "text"; its columns are "body"'):
        cluster.fit(make(), frame)


def test_wrong_arguments_say_what_would_be_right(client: Client, files: list[Path], tmp_path: Path) -> None:
    folder = files[0].parent
    for corpus, what in ((TEXTS, "list of delayed"), ([], "list of delayed"), (iter(files), "list of delayed"),
                         (folder, "is a folder"), (folder / "*.doc", "no file matches")):  # fmt: skip
        with pytest.raises(CorpusError, match=what):
            cluster.fit(make(), corpus)
    with pytest.raises(ParasphereError, match="is for fit, in memory"):
        cluster.fit(make(init="paper"), files)
    with pytest.raises(TypeError, match="work"):
        cluster.fit(make(), files, work=files[0])
    with pytest.raises(ValueError, match="space must be"):
        cluster.transform(make().fit(TEXTS[:50]), files, tmp_path / "out", space="space")


def test_the_page_on_clusters_runs(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    for number, part in enumerate(np.array_split(np.array(ENGLISH, object), 3)):
        write(part.tolist(), tmp_path / "texts" / f"{number}.txt")
    names = run_page(DOCS / "cluster.md", {"scheduler:8786": client.scheduler.address})
    names["client"].close()
    assert names["model"].converged_
