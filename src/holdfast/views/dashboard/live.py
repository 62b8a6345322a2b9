"""Telling open pages what changed, as server-sent events. Files are only looked at while a page is open.

Each page remembers the number of the last change it was told, so one that is slow is told everything at once later, and
nothing has to be kept for it meanwhile. One that never reads is let go.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from holdfast.views.dashboard.films import Films
from holdfast.views.dashboard.guard import Message, Receive, Scope, Send
from holdfast.views.dashboard.index import RunIndex
from holdfast.views.dashboard.run_data import stamps_of

ROUND_S = 0.2
QUIET_S = 15.0  # after which a page is told that we are still here
STUCK_S = 30.0  # that a page may take to accept a message
MOST_PAGES = 256


@dataclass(eq=False)
class Page:
    """One open page and what it knows."""

    version: int
    run: str = ""  # that it shows; empty: the table
    stamps: Any = None
    is_there: bool | None = None
    film: str = ""
    told_s: float = 0.0
    wake: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Hub:
    """Looks at the files for all open pages together."""

    index: RunIndex
    films: Films
    boot: str = field(default_factory=lambda: secrets.token_hex(4))
    pages: set[Page] = field(default_factory=set)
    stamps: dict[str, Any] = field(default_factory=dict)
    is_closing: bool = False
    _someone: asyncio.Event = field(default_factory=asyncio.Event)

    def close(self) -> None:
        """Let every page go, so that the server can end."""
        self.is_closing = True
        for page in self.pages:
            page.wake.set()

    def enter(self, version: int, run: str) -> Page | None:
        """A new page; None when there are too many."""
        if len(self.pages) >= MOST_PAGES:
            return None
        page = Page(version, run)
        self.pages.add(page)
        self._someone.set()
        return page

    def leave(self, page: Page) -> None:
        self.pages.discard(page)
        if not self.pages:
            self._someone.clear()

    async def keep_looking(self) -> None:
        while True:
            await self._someone.wait()
            await asyncio.to_thread(self._look, frozenset(page.run for page in self.pages if page.run))
            now = time.monotonic()
            for page in self.pages:
                if now - page.told_s >= QUIET_S or self._has_news(page):
                    page.wake.set()
            await asyncio.sleep(ROUND_S)

    def _look(self, watched: frozenset[str]) -> None:
        self.index.refresh(watched=watched)
        entries = {name: self.index.get(name) for name in watched}
        self.stamps = {name: stamps_of(entry.folder) for name, entry in entries.items() if entry is not None}

    def _has_news(self, page: Page) -> bool:
        return (
            self.index.version > page.version
            or self.index.is_there != page.is_there
            or self.stamps.get(page.run) != page.stamps
            or self._film() != page.film
        )

    def _film(self) -> str:
        return f"{self.films.job.name} {self.films.job.state}" if self.films.job else ""

    def news(self, page: Page) -> str:
        """All that the page does not know yet."""
        news: dict[str, str] = {}
        version = self.index.version
        if version > page.version:
            changed = ",".join(entry.text for entry in self.index.changed_since(page.version))
            removed = json.dumps(self.index.removed_since(page.version))
            news["runs"] = f'{{"version":{version},"runs":[{changed}],"removed":{removed}}}'
        if self.index.is_there != page.is_there:
            news["root"] = json.dumps(self.index.is_there)
        stamps = self.stamps.get(page.run)
        if stamps != page.stamps and page.stamps is not None:
            news["run"] = json.dumps(page.run)
        if self.films.job and self._film() != page.film:
            news["film"] = json.dumps(self.films.job.to_json())
        page.version, page.is_there, page.stamps, page.film = version, self.index.is_there, stamps, self._film()
        page.told_s = time.monotonic()
        told = f"id: {self.boot}-{version}\n"
        return "".join(f"{told}event: {kind}\ndata: {text}\n\n" for kind, text in news.items())


class LiveResponse:
    """An endless answer that stops when the page has gone or does not read."""

    def __init__(self, hub: Hub, page: Page) -> None:
        self.hub, self.page = hub, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_gone(receive))
        gone.add_done_callback(lambda _: self.page.wake.set())
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            text = "retry: 1000\n\n" + self.hub.news(self.page)
            while not (gone.done() or self.hub.is_closing):
                body: Message = {"type": "http.response.body", "body": text.encode(), "more_body": True}
                async with asyncio.timeout(STUCK_S):
                    await send(body)
                await self.page.wake.wait()
                self.page.wake.clear()
                text = self.hub.news(self.page) or ": still here\n\n"
            await send({"type": "http.response.body", "body": b""})
        except TimeoutError:
            return
        finally:
            gone.cancel()
            self.hub.leave(self.page)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
