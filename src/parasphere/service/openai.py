"""The interface that OpenAI's clients speak: ``/v1/embeddings`` and ``/v1/models``."""

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter
from pybase64 import b64encode_as_string
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from .bodies import PROBLEMS, described, read, texts_of
from .call import Call, Json
from .engine import Rows
from .problems import ProblemError
from .routes import compute

router = APIRouter(prefix="/v1")
Tokens = Annotated[list[int], Field(min_length=1)]


class EmbeddingsBody(BaseModel):
    """Texts to be turned into vectors. Fields that are not listed are ignored, as clients send some of their own."""

    model_config = ConfigDict(extra="ignore", strict=True)

    input: Annotated[
        str | Annotated[list[str], Field(min_length=1)] | Tokens | Annotated[list[Tokens], Field(min_length=1)],
        Field(description="A text or a list of texts. Lists of token ids are refused: they are those of other models."),
    ] = Field(examples=["Fit a line to data."])
    model: str = Field("", description="Any name; the server has one model.")
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, description="If it is given, it must be the dimension of the model.")
    user: str | None = Field(None, description="Ignored.")


class Embedding(BaseModel):
    """The vector of a text: numbers, or the bytes of float32 numbers (little-endian) in base64."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class Usage(BaseModel):
    """The number of words that were sent, separated by blanks."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(BaseModel):
    """The vectors of texts."""

    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: Usage


class ModelAnswer(BaseModel):
    """A model."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelsAnswer(BaseModel):
    """The models of the server: one."""

    object: Literal["list"]
    data: list[ModelAnswer]


@router.post(
    "/embeddings", response_model=EmbeddingsAnswer, responses=PROBLEMS, openapi_extra=described(EmbeddingsBody)
)
async def embeddings(call: Call) -> Response:
    """Turn texts into unit vectors."""
    worker = call.worker
    body = read(call, EmbeddingsBody)
    texts = texts_of(call, _texts(body.input), worker.settings, "input")
    if body.dimensions not in (None, worker.engine.dim):
        raise ProblemError(
            422, f"the model has {worker.engine.dim} dimensions, and cannot give {body.dimensions}.", "dimensions"
        )
    vectors = await compute(call, worker.engine.vectors, texts)
    rows: list[Any] | Rows = vectors
    if body.encoding_format == "base64":
        rows = [b64encode_as_string(row) for row in vectors.astype("<f4", copy=False)]
    words = _count_words(texts)
    return Json({
        "object": "list",
        "data": [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)],
        "model": worker.settings.name,
        "usage": {"prompt_tokens": words, "total_tokens": words},
    })  # fmt: skip


@router.get("/models", response_model=ModelsAnswer)
async def models(call: Call) -> Response:
    """List the model of this server."""
    name = call.worker.settings.name
    model = {"id": name, "object": "model", "created": 0, "owned_by": "parasphere"}
    return Json({"object": "list", "data": [model]})


def _count_words(texts: list[str]) -> int:
    """Return the number of words of texts, as ASCII white space divides them."""
    if len(texts) == 1:  # for which arrays would take longer
        return len(texts[0].encode(errors="replace").split())
    letters = np.frombuffer((" " + " ".join(texts)).encode(errors="replace"), np.uint8) > ord(" ")
    return int(np.count_nonzero(letters[1:] & ~letters[:-1]))


def _texts(given: Any) -> str | list[str]:
    if isinstance(given, str) or isinstance(given[0], str):
        texts: str | list[str] = given
        return texts
    raise ProblemError(
        422,
        "'input' must be a text or a list of texts, not token ids, which are those of another model's tokenizer "
        "(LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False) sends texts).",
        "input",
    )
