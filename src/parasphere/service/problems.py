"""Answers to requests that cannot be served, in the form that OpenAI's clients read."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

# The name of each status in answers.
_KINDS = {
    401: "authentication_error", 404: "not_found_error", 408: "timeout_error", 413: "too_large_error",
    429: "rate_limit_error", 500: "server_error", 503: "overloaded_error",
}  # fmt: skip


class ProblemError(HTTPException):
    """A request that cannot be served: what was sent, what would be right, and the wrong field of the body."""

    def __init__(
        self, status: int, message: str, param: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, headers)
        self.param = param


def answer(problem: HTTPException) -> Response:
    """Return an error response."""
    status, param = problem.status_code, getattr(problem, "param", None)
    kind = _KINDS.get(status, "invalid_request_error")
    error = {"message": problem.detail, "type": kind, "param": param, "code": status}
    return JSONResponse({"error": error}, status, problem.headers)


async def on_problem(request: Request, error: Any) -> Response:
    """Answer a request that was refused, by an endpoint or by the router."""
    if error.status_code in (404, 405) and not isinstance(error, ProblemError):
        endpoint = f"{request.method[:20]} {request.url.path[:200]}"
        error.detail = f"there is no {endpoint!r} here; /openapi.json lists the endpoints."
    return answer(error)


def of_validation(error: ValidationError) -> ProblemError:
    """Return the problem of a body that does not fit its schema, without quoting the body."""
    found: list[Any] = error.errors(include_url=False, include_context=False, include_input=False)
    first = max(found, key=lambda one: len(one["loc"]))  # of a union, the branch that came closest
    # A field, and positions in its lists; the rest are names of types.
    places = [str(part) for i, part in enumerate(first["loc"]) if not i or isinstance(part, int)]
    where = f"'{'.'.join(places)}'" if places else "the body"
    return ProblemError(422, f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}.", places[0] if places else None)
