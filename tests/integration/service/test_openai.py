"""The real client of OpenAI, unchanged but for its address."""

import asyncio
import base64
from collections.abc import Iterator

import httpx
import numpy as np
import pytest
from serving import TEXTS, Saved, serving

openai = pytest.importorskip("openai", reason="the client of OpenAI is not installed")


@pytest.fixture(scope="module")
def key_client(served: Saved) -> Iterator[httpx.Client]:
    with serving(served.settings(api_key="secret")) as client:
        yield client


@pytest.fixture
def speaker(key_client: httpx.Client) -> "Iterator[openai.OpenAI]":
    with openai.OpenAI(base_url=f"{key_client.base_url}/v1", api_key="secret", max_retries=0) as speaker:
        yield speaker


def test_embeddings(speaker: "openai.OpenAI", served: Saved) -> None:
    answer = speaker.embeddings.create(model="text-embedding-3-small", input=TEXTS[:3])
    vectors = np.array([row.embedding for row in answer.data], np.float32)
    np.testing.assert_array_equal(vectors, served.model.transform(TEXTS[:3]))
    assert [row.index for row in answer.data] == [0, 1, 2]
    assert answer.model == "model"
    assert answer.usage.prompt_tokens == sum(len(text.split()) for text in TEXTS[:3])


@pytest.mark.parametrize(
    "texts", [["a boat"], ["", " \n"], [" a\tboat \r\n on  the lake ", "", "é ŵ", "\u4e2d\u6587 b"]]
)
def test_words_are_counted_as_white_space_divides_them(speaker: "openai.OpenAI", texts: list[str]) -> None:
    answer = speaker.embeddings.create(model="any", input=texts)
    assert answer.usage.total_tokens == sum(len(text.split()) for text in texts)


def test_both_encodings_are_the_same_numbers(speaker: "openai.OpenAI", served: Saved) -> None:
    numbers, bytes_ = (
        speaker.embeddings.create(model="any", input="a boat", encoding_format=kind, dimensions=128).data[0].embedding
        for kind in ("float", "base64")
    )
    expected = served.model.transform(["a boat"])[0]
    np.testing.assert_array_equal(np.array(numbers, np.float32), expected)
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(bytes_), "<f4"), expected)


def test_many_at_once(key_client: httpx.Client, served: Saved) -> None:
    async def ask() -> list[list[float]]:
        url = f"{key_client.base_url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="secret", max_retries=0) as speaker:
            answers = [speaker.embeddings.create(model="any", input=text) for text in TEXTS[:50]]
            return [answer.data[0].embedding for answer in await asyncio.gather(*answers)]

    np.testing.assert_array_equal(np.array(asyncio.run(ask()), np.float32), served.model.transform(TEXTS[:50]))


def test_models(speaker: "openai.OpenAI") -> None:
    assert [model.id for model in speaker.models.list()] == ["model"]


def test_errors_are_those_that_the_client_knows(key_client: httpx.Client, speaker: "openai.OpenAI") -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="check_embedding_ctx_length=False") as refused:
        speaker.embeddings.create(model="any", input=[[1, 2], [3]])
    assert refused.value.param == "input"
    with pytest.raises(openai.UnprocessableEntityError, match="a list of at least one text"):
        speaker.embeddings.create(model="any", input=[])
    with pytest.raises(openai.UnprocessableEntityError, match="128 dimensions, not 64"):
        speaker.embeddings.create(model="any", input="a boat", dimensions=64)
    url = f"{key_client.base_url}/v1"
    with (
        openai.OpenAI(base_url=url, api_key="wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError, match="Authorization: Bearer KEY"),
    ):
        stranger.embeddings.create(model="any", input="a boat")


def test_the_key_guards_all_but_probes_and_pages(key_client: httpx.Client) -> None:
    for path in ("/health", "/ready", "/openapi.json"):
        assert key_client.get(path).status_code == 200
    for path in ("/metrics", "/topics", "/v1/models"):
        assert key_client.get(path).status_code == 401
        for scheme in ("Bearer", "bearer", "BEARER "):  # which is case-insensitive
            assert key_client.get(path, headers={"Authorization": f"{scheme} secret"}).status_code == 200
    for sent in ("secret", "Basic secret", "bearer", "Bearersecret", "bearer SECRET"):
        assert key_client.get("/metrics", headers={"Authorization": sent}).status_code == 401
    assert "HTTPBearer" in key_client.get("/openapi.json").json()["components"]["securitySchemes"]
    refused = key_client.post("/search", content=b"{", headers={"Authorization": "Bearer secre"})
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
