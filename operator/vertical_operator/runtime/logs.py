"""Logs as JSON, one line per thing that happened; quiet at INFO while nothing changes."""

import datetime
import json
import logging
import sys
from typing import Any, TextIO

OWN = "vertical_operator"
LOUD_AT_INFO = ("kopf", "aiohttp.access", "kubernetes", "asyncio")
"""Libraries that say something per event or request: only their warnings are wanted."""


class JsonFormatter(logging.Formatter):
    """`time`, `level`, `logger`, `message`, then the fields that the call passed with `extra={"fields": {...}}`."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": time, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def configure_logs(level: str, *, stream: TextIO | None = None) -> None:
    """Send everything to one stream (standard error by default) as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in LOUD_AT_INFO:
        logging.getLogger(name).setLevel(level if level == "DEBUG" else "WARNING")
