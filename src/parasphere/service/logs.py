"""Logs as JSON, one object per line, on standard error: what programs that collect logs read."""

import logging
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
            line["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


CONFIG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonLines}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
    "loggers": {
        name: {"handlers": ["stderr"], "level": "INFO", "propagate": False} for name in (LOGGER.name, "uvicorn")
    },
}
