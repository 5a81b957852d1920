"""A real cluster of processes: the bits of one machine, whoever dies."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parasphere import CorpusError, JointVectors, SphericalParagraphModel, StoreError, WordVectors, datasets, storage

pytest.importorskip("distributed", reason="the extra dask")

import dask
import dask.bag
import dask.dataframe
import psutil
from distributed import Client, LocalCluster, wait
from test_docs import DOCS, run_page

import parasphere.dask as cluster
from parasphere.dask.outcomes import Outcome, total_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

RNG = np.random.default_rng(8)
WORDS = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(120)]
TOPICS = RNG.normal(size=(4, 8)) + 1.5 * RNG.normal(size=8)  # EM needs few iterations where texts have topics
ROWS = np.repeat(TOPICS, 30, axis=0) + RNG.normal(size=(120, 8))
VECTORS = WordVectors.from_arrays(WORDS, ROWS).with_weights(0.5 + RNG.random(120))
TEXTS = [" ".join(RNG.choice(WORDS[30 * (i % 4) :][:30], size)) for i, size in enumerate(RNG.integers(0, 30, 1300))]


def make(**options: Any) -> SphericalParagraphModel:
    return SphericalParagraphModel(VECTORS, **({"adapt": False, "tol": 1e-4} | options))


@pytest.fixture(scope="module")
def whole() -> SphericalParagraphModel:
    return make().fit(TEXTS)


@pytest.fixture
def client(two_workers: Client) -> Client:
    return two_workers


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Seven files of four kinds that hold the texts in order."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.array(TEXTS, object), 7)):
        texts, name = part.tolist(), folder / f"{number}"
        if number % 4 == 0:
            name.with_suffix(".txt").write_text("\n".join(texts) + "\n")
        elif number % 4 == 1:
            name.with_suffix(".jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
        elif number % 4 == 2:
            pd.DataFrame({"text": texts}).to_csv(name.with_suffix(".csv"), index=False, lineterminator="\n")
        else:
            pq.write_table(pa.table({"text": texts}), name.with_suffix(".parquet"))
    return folder


def same(one: SphericalParagraphModel, other: SphericalParagraphModel) -> None:
    assert np.array_equal(one.mean_direction_, other.mean_direction_)
    assert np.array_equal(one.evidence_, other.evidence_)
    assert (one.concentration_, one.word_cosine_) == (other.concentration_, other.word_cosine_)
    assert np.array_equal(one.encoder_.scatter.within, other.encoder_.scatter.within)
    if other.online_.seen:  # it holds fewer documents than that, which a cluster has summed
        assert (one.online_.seen, one.online_.agreement, one.online_.pairs) == (
            other.online_.seen, other.online_.agreement, other.online_.pairs,
        )  # fmt: skip


def vectors_in(folder: Path) -> np.ndarray:
    parts = [pq.read_table(path)["vector"].combine_chunks() for path in sorted(folder.glob("*.parquet"))]
    return np.concatenate([part.flatten().to_numpy().reshape(len(part), -1) for part in parts])


# ---------------------------------------------------------------------------------------------------
# The same result


def test_files_bags_and_columns_give_the_bits_of_one_machine(
    client: Client, whole: SphericalParagraphModel, files: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    same(cluster.fit(make(), files / "*", work=work), whole)
    same(cluster.fit(make(), dask.bag.from_sequence(TEXTS, npartitions=3), work=work, client=client), whole)
    frame = dask.dataframe.from_pandas(pd.DataFrame({"body": TEXTS, "n": 0}), npartitions=2)
    same(cluster.fit(make(), frame, work=work, text="body"), whole)
    same(cluster.fit(make(), frame["body"], work=work), whole)
    assert not list(work.glob("sums-*"))  # nothing is left but the reader


def test_a_partition_without_known_words(client: Client, whole: SphericalParagraphModel, tmp_path: Path) -> None:
    bag = dask.bag.from_delayed([dask.delayed(part) for part in (TEXTS[:600], ["unknown", ""], TEXTS[600:])])
    same(cluster.fit(make(), bag, work=tmp_path / "work"), whole)


def test_few_documents_and_the_method_of_the_paper(client: Client, tmp_path: Path) -> None:
    options = {"kappa_method": "banerjee", "prior_strength": 0.0}
    few = TEXTS[:300]
    alone, together = make(**options).fit(few), make(**options)
    cluster.fit(together, dask.bag.from_sequence(few, npartitions=4), work=tmp_path / "work")
    same(together, alone)
    later = [model.partial_fit(TEXTS[300:]).concentration_ for model in (together, alone)]
    assert later[0] == pytest.approx(later[1], rel=0.1)  # one goes on from sums, the other from the documents


def test_vectors_in_files(client: Client, whole: SphericalParagraphModel, files: Path, tmp_path: Path) -> None:
    expected = whole.transform(TEXTS)
    written = cluster.transform(whole, files / "*", tmp_path / "out")
    assert (written.documents, len(written.parts), written.reused) == (len(TEXTS), 7, 0)
    assert np.array_equal(vectors_in(tmp_path / "out"), expected)
    stamps = [path.stat().st_mtime_ns for path in written.parts]
    written.parts[2].unlink()
    again = cluster.transform(whole, files / "*", tmp_path / "out")
    assert (again.documents, again.parts, again.reused) == (len(TEXTS), written.parts, 6)
    assert [path.stat().st_mtime_ns for path in again.parts][3:] == stamps[3:]
    assert np.array_equal(vectors_in(tmp_path / "out"), expected)
    with pytest.raises(StoreError, match="another model, corpus or options"):
        cluster.transform(whole, files / "*", tmp_path / "out", space="direction")


def test_shards_find_what_one_index_finds(
    client: Client, whole: SphericalParagraphModel, files: Path, tmp_path: Path
) -> None:
    one, shards = whole.index(TEXTS), cluster.index(whole, files / "*", tmp_path / "index")
    assert len(shards) == len(TEXTS)
    queries = TEXTS[20:24]
    for few, best in zip(shards.search(queries, 5, weight=0), one.search(queries, 5, weight=0), strict=True):
        assert [(match.text, match.similarity, match.position) for match in few] == [
            (match.text, match.similarity, match.position) for match in best
        ]
    assert shards.search(TEXTS[700], 1)[0].text == TEXTS[700]
    assert shards.search("nothing", weight=0) == []


def test_texts_are_drawn(client: Client, files: Path, tmp_path: Path) -> None:
    drawn = cluster.sample_texts(files / "*", 50, seed=1)
    assert drawn == cluster.sample_texts(files / "*", 50, seed=1) != cluster.sample_texts(files / "*", 50, seed=2)
    assert len(drawn) == 50
    assert not Counter(drawn) - Counter(TEXTS)  # without replacement
    learner = JointVectors(dim=8, start=None, epochs=1)
    model = cluster.fit(SphericalParagraphModel(learner, tol=1e-3), files / "*", work=tmp_path / "work", sample=400)
    assert model.vectors_.dim == 8


def test_a_cluster_does_not_adapt_the_default_vectors(client: Client, tmp_path: Path) -> None:
    texts = [" ".join(text.split()) for text in datasets.load("docstrings").texts[:250]]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    model = cluster.fit(SphericalParagraphModel(tol=1e-2), tmp_path / "texts.txt", work=tmp_path / "work")
    alone = SphericalParagraphModel(adapt=False, tol=1e-2).fit(texts)
    assert model.vectors_.name == "english-128"
    assert np.array_equal(model.transform(texts), alone.transform(texts))


# ---------------------------------------------------------------------------------------------------
# Whoever dies


def spawned() -> set[int]:
    """Return the processes of workers below this one."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any("spawn_main" in word for word in child.cmdline()):
                found.add(child.pid)
    return found


class Murderer(threading.Thread):
    """Kills a worker as soon as something has happened, and then the one that is starting in its place.

    A nanny may give up on a worker that is killed while it starts. Whoever runs a cluster then starts another, which is
    done here too: without any worker the work would wait forever.
    """

    def __init__(self, client: Client, when: Callable[[], bool]) -> None:
        super().__init__()
        self.client, self.when, self.others = client, when, spawned()
        self.victim = next(iter(client.run(os.getpid).values()))
        self.killed: list[int] = []
        self.late = threading.Event()

    def run(self) -> None:
        while not self.when() and not self.late.is_set():
            time.sleep(0.002)
        if self.late.is_set():
            return
        self.kill(self.victim)
        begun = scaled = time.monotonic()
        while (len(self.killed) < 2 and time.monotonic() < begun + 30) or not self.late.is_set():
            time.sleep(0.01)
            for pid in spawned() - self.others if len(self.killed) < 2 else ():
                self.kill(pid)
            if time.monotonic() > scaled + 2:
                self.client.cluster.scale(2)
                scaled = time.monotonic()

    def kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.killed.append(pid)


def while_murdering(client: Client, when: Callable[[], bool], work: Callable[[], Any]) -> Any:
    murderer = Murderer(client, when)
    murderer.start()
    try:
        return work()
    finally:
        murderer.late.set()
        murderer.join()
        assert len(murderer.killed) >= 2, "the work was done before a worker was killed"


def slow(text: str) -> list[str]:
    """Split a text as the vectors' words are, taking a while for it."""
    time.sleep(0.0008)
    return text.split()


def test_a_worker_is_killed_while_it_reads_and_the_next_one_too(client: Client, files: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    model = while_murdering(
        client,
        lambda: any(work.glob("sums-*/partition-*/parasphere.json")),
        lambda: cluster.fit(make(tokenizer=slow), files / "*", work=work, client=client),
    )
    same(model, make(tokenizer=str.split).fit(TEXTS))


def test_a_worker_is_killed_in_an_iteration(client: Client, files: Path, tmp_path: Path) -> None:
    work, options = tmp_path / "work", {"tol": 0.0, "max_iter": 8, "prior_strength": 1.0}
    with pytest.warns(UserWarning, match="max_iter"):
        alone = make(**options).fit(TEXTS)
    with pytest.warns(UserWarning, match="max_iter"):
        model = while_murdering(
            client,
            lambda: any(work.glob("sums-*/em-*/parasphere.json")),
            lambda: cluster.fit(make(**options), files / "*", work=work, client=client),
        )
    same(model, alone)


def test_a_worker_is_killed_while_it_writes_vectors(client: Client, files: Path, tmp_path: Path) -> None:
    model = make(tokenizer=slow).fit(TEXTS[:50])
    written = while_murdering(
        client,
        lambda: any((tmp_path / "out").glob("part-*.parquet")),
        lambda: cluster.transform(model, files / "*", tmp_path / "out", client=client),
    )
    assert (written.documents, len(written.parts)) == (len(TEXTS), 7)
    assert np.array_equal(vectors_in(tmp_path / "out"), model.transform(TEXTS))


def outcome_of(number: int) -> Outcome:
    return Outcome(number, {number: number})


def test_all_workers_are_lost_and_others_come() -> None:
    """Tasks whose input was on a worker that is gone are computed by others, whichever come."""
    # A cluster of its own: one whose workers were killed does not always end those that replaced them.
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as own, Client(own) as client:
        held = client.map(int, range(10), pure=False)
        wait(held)
        own.scale(0)
        deadline = time.monotonic() + 60
        while client.nthreads():
            assert time.monotonic() < deadline, "the worker did not end"
            time.sleep(0.05)
        threading.Timer(1.0, own.scale, [1]).start()
        total = total_of(client, (client.submit(outcome_of, one, pure=False) for one in held))
    assert (total.total, total.facts) == (sum(range(10)), {number: number for number in range(10)})


CLIENT = """
import sys
from pathlib import Path
import parasphere.dask as cluster
from distributed import Client
from parasphere import SphericalParagraphModel, WordVectors
address, vectors, texts, work, out = sys.argv[1:]
with Client(address) as client:
    model = SphericalParagraphModel(WordVectors.load(vectors), tol=0.0, max_iter=15)
    cluster.fit(model, texts, work=work, client=client)
    model.save(out)
"""


def test_the_client_is_killed_and_goes_on(client: Client, files: Path, tmp_path: Path) -> None:
    VECTORS.save(tmp_path / "vectors")
    work, out = tmp_path / "work", tmp_path / "model"
    address = client.scheduler.address
    command = [sys.executable, "-W", "ignore", "-c", CLIENT, address, tmp_path / "vectors", f"{files}/*", work, out]
    first = subprocess.Popen(list(map(str, command)))
    trace = work / "never"
    while first.poll() is None:
        trace = next(iter(work.glob("sums-*/em-*/parasphere.json")), trace)
        if trace.exists() and steps(trace) >= 3:
            break
        time.sleep(0.002)
    first.kill()
    first.wait()
    assert not out.exists(), "it was done before it was killed"
    reached, read = steps(trace), {path: path.stat().st_mtime_ns for path in work.glob("sums-*/partition-*/*")}
    model = SphericalParagraphModel(VECTORS, adapt=False, tol=0.0, max_iter=15)
    with pytest.warns(UserWarning, match="max_iter"):
        cluster.fit(model, f"{files}/*", work=work, client=client, keep=True)
    with pytest.warns(UserWarning, match="max_iter"):
        same(model, SphericalParagraphModel(VECTORS, adapt=False, tol=0.0, max_iter=15).fit(TEXTS))
    assert reached >= 3
    assert read == {path: path.stat().st_mtime_ns for path in read}  # no text was read again


def test_one_fit_uses_a_folder_at_a_time(client: Client, files: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    with storage.only_one(work, "as another fit does"), pytest.raises(StoreError, match=r"another fit is using .*work"):
        cluster.fit(make(), files / "*", work=work, client=client)
    cluster.fit(make(), files / "*", work=work, client=client)


def steps(manifest: Path) -> int:
    """Return the number of iterations in a checkpoint of EM."""
    with contextlib.suppress(ValueError, OSError):
        arrays, meta = storage.load(manifest.parent, "em-state")
        return len(storage.unpacked(meta["facts"]["state"], arrays, "state").trace)
    return 0


# ---------------------------------------------------------------------------------------------------
# Bad partitions


def test_bad_partitions_are_named_or_skipped(client: Client, files: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["fine", None]}), files / "7.parquet")
    (files / "8.jsonl").write_text('{"text": "fine"}\n{"body": "lost"}\n')
    (files / "9.parquet").write_bytes(b"PAR1 and no more")
    for name, what in (("7.parquet", "document 1 .*null"), ("8.jsonl", "2"), ("9.parquet", "not a valid Parquet")):
        with pytest.raises(CorpusError, match=rf"{name}.*{what}"):
            cluster.fit(make(), files / name, work=tmp_path / "work")
        with pytest.raises(CorpusError, match=rf"{name}.*{what}"):
            cluster.transform(make().fit(TEXTS[:50]), files / name, tmp_path / "none")
    with pytest.warns(cluster.SkippedPartitionsWarning, match="3 of 10 partitions") as caught:
        model = cluster.fit(make(), files / "*", work=tmp_path / "work", errors="skip")
    (skipped,) = [each.message.skipped for each in caught if hasattr(each.message, "skipped")]
    assert sorted(Path(name).name for name in skipped) == ["7.parquet", "8.jsonl", "9.parquet"]
    same(model, make().fit(TEXTS))
    with pytest.warns(cluster.SkippedPartitionsWarning, match="3 of 10 partitions"):
        written = cluster.transform(model, files / "*", tmp_path / "out", errors="skip")
    assert (written.documents, len(written.parts), len(written.skipped)) == (len(TEXTS), 7, 3)

    frame = dask.dataframe.from_pandas(pd.DataFrame({"body": ["fine", "fine", None]}, dtype=object), npartitions=3)
    with pytest.raises(CorpusError, match=r"partition 2 of 3: document 0 .*"):
        cluster.fit(make(), frame, work=tmp_path / "work", text="body")
    with pytest.raises(CorpusError, match='no column "text"; its columns are "body"'):
        cluster.fit(make(), frame, work=tmp_path / "work")


def test_wrong_arguments_say_what_would_be_right(client: Client, files: Path, tmp_path: Path) -> None:
    for corpus, what in ((TEXTS, "pattern of files"), (files, "is a folder"), (files / "*.doc", "no file matches")):
        with pytest.raises(CorpusError, match=what):
            cluster.fit(make(), corpus, work=tmp_path / "work")
    with pytest.raises(ValueError, match="'raise' or 'skip'"):
        cluster.fit(make(), files / "*", work=tmp_path / "work", errors="ignore")
    with pytest.raises(ValueError, match="is for fit, in memory"):
        cluster.fit(make(init="paper"), files / "*", work=tmp_path / "work")
    (tmp_path / "bad.parquet").write_bytes(b"")
    with pytest.raises(CorpusError, match="none of the 1 partitions"):
        cluster.fit(make(), tmp_path / "bad.parquet", work=tmp_path / "work", errors="skip")


def test_the_page_on_clusters_runs(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [" ".join(text.split()) for text in datasets.load("docstrings").texts]
    (tmp_path / "texts").mkdir()
    for number, part in enumerate(np.array_split(np.array(texts, object), 3)):
        (tmp_path / "texts" / f"{number}.txt").write_text("\n".join(part) + "\n")
    names = run_page(DOCS / "cluster.md", {"scheduler:8786": client.scheduler.address})
    names["client"].close()
    assert capsys.readouterr().out.startswith(f"{len(texts)} [")
    assert names["model"].converged_
