"""Asks a fetching pod how far it is, at most every ten seconds: it has no API token to tell, and reading logs needs a wide right."""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp

from vertical_engines.contract.fetch import PROGRESS_LIMIT, PROGRESS_PORT
from vertical_operator.core.builds import PROGRESS_SECONDS
from vertical_operator.runtime.keys import Key

ASK_SECONDS = 2.0
"""A network policy may swallow the question: a worker must not wait for long."""

Ask = Callable[[str], Awaitable[str]]


async def ask(address: str, *, port: int = PROGRESS_PORT) -> str:
    """The newest line of a pod by its IP address; empty when it does not tell. Never raises: progress is a courtesy."""
    host = f"[{address}]" if ":" in address else address
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ASK_SECONDS), trust_env=False) as session,
            session.get(f"http://{host}:{port}/", allow_redirects=False) as answer,
        ):
            content = await answer.content.read(PROGRESS_LIMIT) if answer.status == 200 else b""
    except (aiohttp.ClientError, TimeoutError, OSError, asyncio.IncompleteReadError):
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in content.decode(errors="replace")).split())


class BuildProgress:
    """Remembers the last line for as long as it may be shown, so that a flood of events brings no flood of questions or writes."""

    def __init__(self, *, clock: Callable[[], float], ask: Ask = ask) -> None:
        self._clock, self._ask = clock, ask
        self._lines: dict[Key, tuple[float, str]] = {}

    async def line(self, key: Key, address: str | None) -> str:
        """The progress of an object's build; `address` None: there is nothing to ask, and what was known is forgotten."""
        if address is None:
            self._lines.pop(key, None)
            return ""
        asked, known = self._lines.get(key, (-PROGRESS_SECONDS, ""))
        if self._clock() - asked >= PROGRESS_SECONDS:
            known = await self._ask(address)
            self._lines[key] = (self._clock(), known)
        return known
