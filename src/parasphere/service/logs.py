"""Logs as JSON, one object per line, on standard error: what programs that collect logs read."""

import contextlib
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

import orjson

LOGGER = logging.getLogger("parasphere.service")


class JsonLines(logging.Formatter):
    """Formats a record as a line of JSON; its ``fields`` are those of the call's ``extra``.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "request", "levelname": "INFO", "fields": {"status": 200}, "created": 0})
    >>> JsonLines().format(record)
    '{"time":"1970-01-01T00:00:00.000+00:00","level":"info","event":"request","status":200}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without its end."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return orjson.dumps(line, default=str).decode()


def log_request(level: str, **fields: Any) -> None:
    """Log a request that was answered; not by a logger, which takes longer than the rest of a short request."""
    line = orjson.dumps(
        {"time": datetime.now(UTC), "level": level, "event": "request", **fields}, option=orjson.OPT_APPEND_NEWLINE
    )
    with contextlib.suppress(OSError, ValueError):  # nobody reads the log any more, which is no reason to stop
        sys.stderr.write(line.decode())


def log_failure(event: str, error: BaseException, **fields: Any) -> None:
    """Log an error that should not have happened, with its traceback."""
    LOGGER.error(event, exc_info=error, extra={"fields": fields})


CONFIG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonLines}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
    "loggers": {
        name: {"handlers": ["stderr"], "level": level, "propagate": False}
        for name, level in (("parasphere.service", "INFO"), ("uvicorn", "INFO"), ("uvicorn.access", "CRITICAL"))
    },
}
