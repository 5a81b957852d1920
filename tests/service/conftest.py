from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="the service is an extra")
pytest.importorskip("uvicorn", reason="the service is an extra")

import httpx
from serving import Saved, saved, serving


@pytest.fixture(scope="session")
def what(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    return saved(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="session")
def client(what: Saved) -> Iterator[httpx.Client]:
    with serving(what.settings()) as client:
        yield client
