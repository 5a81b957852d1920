"""The bodies of requests and of answers; FastAPI makes the OpenAPI pages of them."""

# ruff: noqa: UP013

from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

# Lists are read up to their first error; otherwise a body could cause millions of them.
Words = Annotated[list[str], Field(min_length=1, fail_fast=True)]
Texts = Annotated[str | Words, Field(description="A text, or a list of texts.")]
_EXAMPLE = ["Fit a line to data.", "Least squares regression."]


class Body(BaseModel):
    """A body without unknown fields and with fields of the right types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EmbedBody(Body):
    """Texts to be turned into vectors."""

    texts: Texts = Field(examples=[_EXAMPLE])
    space: Literal["default", "direction"] = Field("default", description="As fitted, or posterior directions.")
    certainty: bool = Field(False, description="Also return information and concentration.")


class SimilarBody(Body):
    """Queries, and where to search for them."""

    queries: Texts = Field(examples=[["least squares"]])
    k: int = Field(10, ge=1, le=1000, description="Number of matches per query.")
    weight: float | None = Field(None, ge=0, le=1, description="Weight of words; null: that of the index.")
    among: Words | None = Field(None, description="Texts to rank instead of the documents of the server's index.")
    where: dict[str, Any] | None = Field(
        None,
        description='Conditions on columns of the index: a value, a list of values, or a pair such as [">=", 2020].',
        examples=[None],
    )


class ExplainBody(Body):
    """A text, or two to be compared."""

    text: str = Field(examples=_EXAMPLE[:1])
    other: str | None = Field(None, description="A second text; the similarity of both is explained by their words.")


class TopicsBody(Body):
    """Texts whose topics are to be found."""

    texts: Texts = Field(examples=[_EXAMPLE])
    k: int = Field(3, ge=1, le=100, description="Number of likely topics per text.")


class EmbeddingsBody(Body):
    """Texts to be turned into vectors, as OpenAI's clients send them; fields that are not listed are ignored."""

    model_config = ConfigDict(extra="ignore")

    input: Texts = Field(examples=["Fit a line to data."])
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, description="If present, it must be the dimension of the model.")

    @field_validator("input", mode="before")
    @classmethod
    def _refuse_tokens(cls, sent: Any) -> Any:
        if isinstance(sent, list) and isinstance(next(iter(sent), None), int | list):
            raise PydanticCustomError(
                "tokens",
                "must be a text or a list of texts, not token ids, which are those of another model's tokenizer "
                "(LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False) sends texts)",
            )
        return sent


# Answers are written by orjson as they are; their vectors are lists of numbers.
Certainty = TypedDict("Certainty", {"information": float, "concentration": float, "known_words": float})
Vectors = list[list[float]]
EmbedAnswer = TypedDict(
    "EmbedAnswer", {"model": str, "dim": int, "vectors": Vectors, "certainty": NotRequired[list[Certainty]]}
)
MatchAnswer = TypedDict(
    "MatchAnswer",
    {
        "position": int, "similarity": float, "id": str | int | None, "text": str | None, "score": float,
        "words": list[str], "columns": dict[str, Any] | None,
    },
)  # fmt: skip
SimilarAnswer = TypedDict("SimilarAnswer", {"matches": list[list[MatchAnswer]]})
WordShare = TypedDict("WordShare", {"word": str, "share": float})
ExplainAnswer = TypedDict(
    "ExplainAnswer",
    {
        "words": list[WordShare],
        # Of one text.
        "prior": NotRequired[float], "unknown": NotRequired[list[str]], "concentration": NotRequired[float],
        # Of two.
        "similarity": NotRequired[float], "other_words": NotRequired[list[WordShare]], "common": NotRequired[float],
        "other_common": NotRequired[float],
    },
)  # fmt: skip
TopicAnswer = TypedDict("TopicAnswer", {"topic": int, "name": str, "size": int, "words": list[str], "texts": list[str]})
TopicsAnswer = TypedDict("TopicsAnswer", {"topics": list[TopicAnswer]})
LikelyTopic = TypedDict("LikelyTopic", {"topic": int, "name": str, "probability": float})
TextTopics = TypedDict("TextTopics", {"topic": int | None, "likely": list[LikelyTopic]})
TextTopicsAnswer = TypedDict("TextTopicsAnswer", {"texts": list[TextTopics]})
Embedding = TypedDict("Embedding", {"object": Literal["embedding"], "index": int, "embedding": list[float] | str})
Usage = TypedDict("Usage", {"prompt_tokens": int, "total_tokens": int})
EmbeddingsAnswer = TypedDict(
    "EmbeddingsAnswer", {"object": Literal["list"], "data": list[Embedding], "model": str, "usage": Usage}
)
ModelAnswer = TypedDict("ModelAnswer", {"id": str, "object": Literal["model"], "created": int, "owned_by": str})
ModelsAnswer = TypedDict("ModelsAnswer", {"object": Literal["list"], "data": list[ModelAnswer]})
HealthAnswer = TypedDict("HealthAnswer", {"status": str, "model": str})
ReadyAnswer = TypedDict(
    "ReadyAnswer", {"status": str, "model": str, "dim": int, "documents": int | None, "topics": int | None}
)
Problem = TypedDict("Problem", {"message": str, "type": str, "param": str | None, "code": int})
ProblemAnswer = TypedDict("ProblemAnswer", {"error": Problem})
