"""The bodies of requests and answers; FastAPI makes the OpenAPI pages of them."""

from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .call import Call
from .problems import ProblemAnswer, ProblemError, of_validation
from .settings import Settings

Texts = Annotated[str | Annotated[list[str], Field(min_length=1)], Field(description="A text, or a list of texts.")]
_EXAMPLE = ["Fit a line to data.", "Least squares regression."]


class Body(BaseModel):
    """A body whose fields are all known, and of the right types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class EmbedBody(Body):
    """Texts to be turned into vectors."""

    texts: Texts = Field(examples=[_EXAMPLE])
    space: Literal["default", "direction"] = Field(
        "default", description="The vectors of the model's fit, or the posterior directions of the paper."
    )
    certainty: bool = Field(False, description="Also say how much each text says.")


class Certainty(BaseModel):
    """How much a text says."""

    information: float = Field(description="In nats; 0 for a text without words that count.")
    concentration: float = Field(description="Concentration of the posterior: how certain its direction is.")
    known_words: float = Field(description="Number of known words; their total weight if words are weighted.")


class EmbedAnswer(BaseModel):
    """The vectors of texts."""

    model: str
    dim: int
    vectors: list[list[float]] = Field(description="Unit vectors, one per text; 0 for a text without words that count.")
    certainty: list[Certainty] | None = None


class SimilarBody(Body):
    """Queries, and what to look for them in."""

    queries: Texts = Field(examples=[["least squares"]])
    k: int = Field(10, ge=1, le=1000, description="Number of matches per query.")
    weight: float | None = Field(
        None, ge=0, le=1, description="Weight of words in the index, 0 to 1; found by the index if it is null."
    )
    among: list[str] | None = Field(
        None, min_length=1, description="Texts to rank instead of the documents of the server's index."
    )


class MatchAnswer(BaseModel):
    """A match of a query."""

    position: int
    similarity: float = Field(description="Cosine of the two texts: 1 for the same, about 0 for unrelated ones.")
    id: str | None
    text: str | None
    score: float = Field(description="What matches are ranked by: similarity and shared words together.")


class SimilarAnswer(BaseModel):
    """The matches of each query, best first."""

    matches: list[list[MatchAnswer]]


class ExplainBody(Body):
    """A text, or two to be compared."""

    text: str = Field(examples=_EXAMPLE[:1])
    other: str | None = Field(None, description="A second text: the parts of words in their similarity are explained.")


class WordShare(BaseModel):
    """A word and its share."""

    word: str
    share: float


class ExplainAnswer(BaseModel):
    """The shares of words: in the direction of a text, or in the similarity of two."""

    words: list[WordShare]
    prior: float | None = Field(None, description="Share of the corpus in the direction.")
    unknown: list[str] | None = Field(None, description="Words without a vector.")
    concentration: float | None = None
    similarity: float | None = None
    other_words: list[WordShare] | None = None
    common: float | None = Field(None, description="What all texts have in common, which is subtracted.")
    other_common: float | None = None


class TopicAnswer(BaseModel):
    """A topic."""

    topic: int
    size: int
    words: list[str]
    texts: list[str] = Field(description="Its most typical texts.")


class TopicsAnswer(BaseModel):
    """All topics, the largest first."""

    topics: list[TopicAnswer]


class TopicsBody(Body):
    """Texts whose topics are asked for."""

    texts: Texts = Field(examples=[_EXAMPLE])
    k: int = Field(3, ge=1, le=100, description="Number of likely topics per text.")


class LikelyTopic(BaseModel):
    """A topic and its probability."""

    topic: int
    name: str
    probability: float


class TextTopics(BaseModel):
    """The topics of a text."""

    topic: int | None = Field(description="The topic; null for a text that belongs to none.")
    likely: list[LikelyTopic]


class TextTopicsAnswer(BaseModel):
    """The topics of texts."""

    texts: list[TextTopics]


class StateAnswer(BaseModel):
    """The state of a worker."""

    status: str
    model: str
    dim: int | None = None
    documents: int | None = Field(None, description="Number of documents of the index.")
    topics: int | None = None


Read = TypeVar("Read", bound=BaseModel)


def read(call: Call, kind: type[Read]) -> Read:
    """Read the body of a request; raise a :class:`ProblemError` that says what is wrong with it."""
    media = call.fields.get(b"content-type", b"").decode("latin-1").split(";")[0].strip().lower()
    if media != "application/json":
        raise ProblemError(415, f"the body must be JSON, with 'Content-Type: application/json', not {media[:80]!r}.")
    try:
        try:
            content = orjson.loads(call.content)  # several times as fast as pydantic, which says better what is wrong
        except orjson.JSONDecodeError:
            return kind.model_validate_json(call.content)
        return kind.model_validate(content)
    except ValidationError as error:
        raise of_validation(error) from None


def texts_of(call: Call, given: str | list[str], settings: Settings, param: str) -> list[str]:
    """Return a field of texts as a list, if it is within the limits; count them for the log."""
    texts = [given] if isinstance(given, str) else given
    call.scope["texts"] += len(texts)
    if len(texts) > settings.max_texts:
        raise ProblemError(413, f"{param!r} has {len(texts):,} texts; at most {settings.max_texts:,} are taken.", param)
    longest = max(map(len, texts))
    if longest > settings.max_length:
        raise ProblemError(
            413, f"a text of {param!r} has {longest:,} characters; at most {settings.max_length:,} are taken.", param
        )
    return texts


def described(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a body that :func:`read` reads, for the OpenAPI pages."""
    schema = kind.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_WRONG = {
    400: "The body is not JSON.", 401: "The API key is missing or wrong.",
    404: "The server was started without what this needs.", 408: "The body did not arrive in time.",
    413: "The body, the number of texts or a text is too large.", 415: "The body is not declared as JSON.",
    422: "A field is missing or wrong.", 429: "Too many requests wait; try again in a second.",
    503: "The request took too long, or the server is stopping.",
}  # fmt: skip
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemAnswer, "description": why} for status, why in _WRONG.items()
}
