"""The commands fit and transform on a cluster."""

from pathlib import Path
from typing import Any

from ..errors import ParasphereError


def fit_on_cluster(estimator: Any, corpus: Path, address: str, work: Path, columns: dict[str, Any]) -> int:
    """Fit a model on a cluster; return the number of documents that have known words."""
    from .. import dask

    with dask.connected(address) as client:
        dask.fit(estimator, _pattern(corpus), work=work, client=client, **columns)
    online = estimator.online_
    return int(online.seen if online.held is None else len(online.held))


def transform_on_cluster(
    estimator: Any, corpus: Path, address: str, out: Path, space: str, columns: dict[str, Any]
) -> dict[str, Any]:
    """Write vectors on a cluster, one Parquet file per file of the corpus; return the facts to print."""
    from .. import dask

    if out.suffix:
        raise ParasphereError(
            f"--out {out} must be a folder with --cluster, which writes one Parquet file per partition."
        )
    with dask.connected(address) as client:
        written = dask.transform(estimator, _pattern(corpus), out, space=space, client=client, **columns)
    return {"documents": written.documents, "parts": len(written.parts), "reused": written.reused, "folder": str(out)}


def _pattern(corpus: Path) -> str:
    if str(corpus) == "-":
        raise ParasphereError("standard input cannot be read by the workers of a cluster; give files.")
    return str(corpus)
