"""Answers to requests that cannot be served, in the one shape that OpenAI's clients read too."""

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, Field, ValidationError
from starlette.responses import Response

# What the status of an answer is called in it.
_KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 405: "invalid_request_error",
    408: "timeout_error", 413: "too_large_error", 415: "invalid_request_error", 422: "invalid_request_error",
    429: "rate_limit_error", 500: "server_error", 503: "overloaded_error",
}  # fmt: skip


class ProblemError(Exception):
    """A request that cannot be served.

    Parameters
    ----------
    status : int
        Status of the answer.
    message : str
        What was given, and what would be right.
    param : str, default=None
        The field of the body that is wrong.
    headers : mapping, default=None
        Further headers of the answer.
    """

    def __init__(
        self, status: int, message: str, param: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.headers = status, param, headers


class ProblemDetail(BaseModel):
    """What went wrong."""

    message: str = Field(description="What was given, and what would be right.")
    type: str = Field(description="The kind of problem.")
    param: str | None = Field(description="The field of the body that is wrong, if one is.")
    code: int = Field(description="The status of the answer.")


class ProblemAnswer(BaseModel):
    """The answer to a request that cannot be served."""

    error: ProblemDetail


def answer(problem: ProblemError) -> Response:
    """Return the answer that tells a client of a problem."""
    error = {
        "message": str(problem), "type": _KINDS.get(problem.status, "invalid_request_error"), "param": problem.param,
        "code": problem.status,
    }  # fmt: skip
    content = orjson.dumps({"error": error})
    return Response(content, problem.status, dict(problem.headers or {}), "application/json")


def of_validation(error: ValidationError) -> ProblemError:
    """Return the problem of a body that does not fit its schema; what was given is not repeated."""
    found: list[Any] = error.errors(include_url=False, include_context=False, include_input=False)
    first = max(found, key=lambda one: len(one["loc"]))  # of a field that may be this or that, what came closest
    if first["type"] == "json_invalid":
        return ProblemError(400, f"the body must be JSON in UTF-8: {first['msg']}.")
    # A field, and places in its lists; the rest are names of types.
    places = [str(part) for i, part in enumerate(first["loc"]) if not i or isinstance(part, int)]
    where = f"'{'.'.join(places)}'" if places else "the body"
    return ProblemError(422, f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}.", places[0] if places else None)
