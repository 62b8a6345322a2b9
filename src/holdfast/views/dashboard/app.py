"""The addresses of the dashboard: pages, their data, live news, and the three things that can be asked for by POST.

A run is named by its place below the root and looked up in the index, a picture by its plain name in the media folder:
no text of a request is made into a path that leads elsewhere.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from holdfast.kit.errors import HoldfastError, UnknownName
from holdfast.views.dashboard import details, study, wording
from holdfast.views.dashboard.answers import Answer, answering, doing, wanted_of
from holdfast.views.dashboard.compare import (
    MOST_RUNS,
    differences,
    groups_of,
    importance,
    lineage,
    options_of_entry,
)
from holdfast.views.dashboard.curves import curves_of, packed
from holdfast.views.dashboard.films import Films
from holdfast.views.dashboard.filters import fits, read_filter, spelled_out, value_of
from holdfast.views.dashboard.guard import Door, Guard
from holdfast.views.dashboard.index import Entry, RunIndex
from holdfast.views.dashboard.live import MOST_PAGES, Hub, LiveResponse
from holdfast.views.dashboard.media import medium
from holdfast.views.dashboard.notes import keep_notes
from holdfast.views.dashboard.overlay import group_curves, run_curves
from holdfast.views.dashboard.run_data import Shelf
from holdfast.views.dashboard.sections import sections_page
from holdfast.views.dashboard.static_files import HERE, PlotlyScript, own_files, plotly_path

PAGES = ("/", "/run", "/compare", "/study")
FRESH_S = 0.2  # an index looked at this recently is not looked at again
BINARY = "application/octet-stream"
FRAME_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"


class Dashboard:
    """What the addresses share."""

    def __init__(self, index: RunIndex, door: Door) -> None:
        self.index, self.door = index, door
        self.shelf, self.films = Shelf(), Films()
        self.hub = Hub(index, self.films)
        self.static = own_files()
        self.plotly = PlotlyScript(plotly_path())
        self.page = (HERE / "index.html").read_text(encoding="utf-8").replace("{plotly}", self.plotly.tag)

    def app(self) -> Guard:
        routes = [
            *(Route(path, self.show_page) for path in PAGES),
            Route("/static/{name}", self.show_static),
            Route("/plotly.js", self.show_plotly),
            Route("/media", self.show_medium),
            Route("/api/live", self.show_news),
            Route("/api/run/sections", self.show_sections),
            *(Route(f"/api/{name}", answering(call)) for name, call in self._questions().items()),
            *(Route(f"/api/{name}", doing(call), methods=["POST"]) for name, call in self._requests().items()),
        ]
        return Guard(Starlette(routes=routes, lifespan=self._lifespan), self.door)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        first = asyncio.create_task(asyncio.to_thread(self._begin))
        looking = asyncio.create_task(self.hub.keep_looking())
        yield
        looking.cancel()
        self.films.close()
        await asyncio.gather(first, looking, return_exceptions=True)

    def _begin(self) -> None:
        """The table first, then what the first page of a run will need."""
        self.index.refresh()
        for world in {entry.row["world"] for entry in self._entries()}:
            wording.meanings_of_options(world)

    def _questions(self) -> dict[str, Callable[[Request], Any]]:
        return {
            "runs": self.runs,
            "match": self.match,
            "options": self.options,
            "metrics": self.metrics,
            "run": self.run,
            "run/gate": self.gate,
            "run/curves": self.curves,
            "compare": self.compare,
            "compare/curves": self.compare_curves,
            "studies": self.studies,
            "study": self.study,
        }

    def _requests(self) -> dict[str, Callable[[Answer], Any]]:
        return {"what-if": self.what_if, "film": self.film, "notes": self.notes}

    # --- pages and files ---------------------------------------------------------------------------------------------

    async def show_page(self, request: Request) -> Response:
        return HTMLResponse(self.page, headers={"cache-control": "no-store"})

    async def show_static(self, request: Request) -> Response:
        found = self.static.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("no such file\n", 404)
        headers = {"etag": f'"{found.tag}"', "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(found.content, media_type=found.kind, headers=headers)

    async def show_plotly(self, request: Request) -> Response:
        """Its address changes with its content, so a browser may keep it."""
        headers = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
        if not self.door.is_local and "gzip" in request.headers.get("accept-encoding", ""):
            content = await run_in_threadpool(lambda: self.plotly.packed)
            headers["content-encoding"] = "gzip"
        else:
            content = await run_in_threadpool(lambda: self.plotly.plain)
        return Response(content, media_type="text/javascript; charset=utf-8", headers=headers)

    async def show_medium(self, request: Request) -> Response:
        try:
            folder = self._entry(request.query_params.get("run", "")).folder
        except UnknownName as error:
            return PlainTextResponse(f"{error}\n", 404)
        wanted = request.query_params.get("name", ""), request.headers.get("range", "")
        return await run_in_threadpool(medium, folder, *wanted)

    async def show_sections(self, request: Request) -> Response:
        """Text from a run as markup that the report has made: shown in a frame that runs nothing."""
        try:
            entry = self._entry(request.query_params.get("id", ""))
        except UnknownName as error:
            return PlainTextResponse(f"{error}\n", 404)
        text = await run_in_threadpool(sections_page, entry.folder)
        return HTMLResponse(text, headers={"content-security-policy": FRAME_POLICY, "cache-control": "no-store"})

    async def show_news(self, request: Request) -> Any:
        since = request.headers.get("last-event-id") or request.query_params.get("since", "")
        boot, _, version = since.partition("-")
        known = int(version) if boot == self.hub.boot and version.isdecimal() else 0
        page = self.hub.enter(known, request.query_params.get("run", ""))
        if page is None:
            return PlainTextResponse(f"{MOST_PAGES} pages are open already; close some\n", 503)
        return LiveResponse(self.hub, page)

    # --- questions ---------------------------------------------------------------------------------------------------

    def runs(self, request: Request) -> Response:
        """All rows, as they are kept."""
        self.index.refresh(least_s=FRESH_S)
        since = self._since()
        rows = ",".join(entry.text for entry in self.index.changed_since(0))
        facts = {"since": since, "root": str(next(iter(self.index.roots.values()))),
                 "there": self.index.is_there, "local": self.door.is_local}  # fmt: skip
        return Response(f'{json.dumps(facts)[:-1]},"runs":[{rows}]}}', media_type="application/json")

    def match(self, request: Request) -> Answer:
        """Which runs fit a filter; on demand their groups, and values of options as further columns."""
        known = self._option_names()
        terms = read_filter(request.query_params.get("q", ""), known)
        found = [entry for entry in self._entries() if fits(terms, entry.row, entry.facts)]
        answer: Answer = {"ids": [entry.id for entry in found]}
        if "by" in request.query_params:
            by = request.query_params["by"].strip()
            answer["groups"] = groups_of(found, spelled_out(by, known) if by else "")
        columns = [spelled_out(name, known) for name in request.query_params.getlist("column")[:20]]
        answer["columns"] = {
            name: [value_of(name, entry.row, entry.facts) for entry in found] for name in dict.fromkeys(columns)
        }
        return answer

    def options(self, request: Request) -> Answer:
        """Options by name with how many values they have among the runs, those that differ first."""
        values: dict[str, set[str]] = {}
        for entry in self._entries():
            for name, value in options_of_entry(entry).items():
                values.setdefault(name, set()).add(wording.as_text(value))
        ordered = sorted(values.items(), key=lambda item: (len(item[1]) == 1, item[0]))
        return {"options": [{"name": name, "values": len(found)} for name, found in ordered[:1000]]}

    def metrics(self, request: Request) -> Answer:
        return {"metrics": wording.meanings_of_metrics()}

    def run(self, request: Request) -> Answer:
        since, entry = self._since(), self._entry(request.query_params.get("id", ""))
        with self.shelf.taken(entry.id, entry.folder) as data:
            told = details.details_of(data)
        settings, compared = wording.settings_of(entry.facts)
        folder = entry.folder
        return {
            **told,
            "since": since,
            "row": {**entry.row, "notes": entry.facts.get("notes", "")},
            "settings": [{**one._asdict(), "differs": one.differs} for one in settings],
            "compared": compared,
            "origin": details.origin_of(folder),
            "media": details.media_of(folder),
            "checkpoints": details.checkpoints_of(folder),
            "gated": folder.stamp("gate_debug.jsonl") is not None,
            "report": folder.stamp("report.html") is not None,
            "film": self.films.job.to_json() if self.films.job else None,
            "place": str(folder.path),
        }

    def gate(self, request: Request) -> Answer:
        entry = self._entry(request.query_params.get("id", ""))
        answer: Answer = {"decisions": details.decisions_of(entry.folder), "sliders": [], "problem": ""}
        try:
            from holdfast.views.dashboard.what_if import sliders_of

            answer["sliders"] = sliders_of(entry.folder, entry.facts.get("config", {}))
        except HoldfastError as error:
            answer["problem"] = str(error)
        return answer

    def curves(self, request: Request) -> Response:
        entry = self._entry(request.query_params.get("id", ""))
        wanted = wanted_of(request)
        with self.shelf.taken(entry.id, entry.folder) as data:
            found = curves_of(data, wanted)
            content = packed(found, {"axis": wanted.axis, "rows": data.columns["metrics"].rows})
        return Response(content, media_type=BINARY)

    def compare(self, request: Request) -> Answer:
        since, entries = self._since(), self._chosen(request)
        with self.shelf.taken(entries[0].id, entries[0].folder) as data:
            data.look("metrics")
            names = [name for name in data.columns["metrics"].names if name != "iteration"]
        return {
            "since": since,
            "runs": [entry.row for entry in entries],
            "groups": groups_of(entries, self._by(request)),
            "differences": differences(entries),
            "importance": importance(entries),
            "lineage": lineage(entries),
            "metrics": names,
        }

    def compare_curves(self, request: Request) -> Response:
        entries, wanted = self._chosen(request), wanted_of(request)
        if not wanted.names:
            raise UnknownName("which metric? add name=evaluation.score")
        if request.query_params.get("fold") == "1":
            groups = groups_of(entries, self._by(request))
            members = {entry.id: entry for entry in entries}
            curves = group_curves(
                self.shelf, [(group["key"], [members[name] for name in group["runs"]]) for group in groups], wanted
            )
        else:
            curves = run_curves(self.shelf, entries, wanted)
        return Response(packed(curves, {"axis": wanted.axis}), media_type=BINARY)

    def studies(self, request: Request) -> Answer:
        self._entries()
        return {"studies": [study.headline(name, folder) for name, folder in sorted(self.index.studies().items())]}

    def study(self, request: Request) -> Answer:
        since, entries = self._since(), self._entries()
        name = request.query_params.get("id", "")
        folder = self.index.studies().get(name)
        if folder is None:
            raise UnknownName(f"no study {name[:200]!r} below the root")
        return {**study.study_page(name, folder, {entry.id: entry for entry in entries}), "since": since}

    # --- by POST -----------------------------------------------------------------------------------------------------

    def what_if(self, asked: Answer) -> Answer:
        from holdfast.views.dashboard.what_if import replayed

        entry, changes = self._entry(asked.get("run")), asked.get("changes")
        if not isinstance(changes, dict):
            raise HoldfastError("changes are a table of options and numbers")
        return replayed(entry.folder, entry.facts.get("config", {}), changes)

    def film(self, asked: Answer) -> Answer:
        entry = self._entry(asked.get("run"))
        return self.films.begin(entry.id, entry.folder, entry.row["world"], asked).to_json()

    def notes(self, asked: Answer) -> Answer:
        entry = self._entry(asked.get("run"))
        kept = keep_notes(entry.folder, asked)
        self.index.refresh(watched=frozenset([entry.id]))
        return kept

    # --- what requests name ------------------------------------------------------------------------------------------

    def _since(self) -> str:
        """From when on a page that has this answer wants to be told what changed."""
        return f"{self.hub.boot}-{self.index.version}"

    def _entries(self) -> list[Entry]:
        self.index.refresh(least_s=FRESH_S)
        return [entry for entry in list(self.index.entries.values()) if entry.row]

    def _entry(self, name: object) -> Entry:
        entry = self.index.get(name) if isinstance(name, str) else None
        if entry is None or not entry.row:
            self.index.refresh(least_s=FRESH_S)
            entry = self.index.get(name) if isinstance(name, str) else None
        if entry is None or not entry.row:
            raise UnknownName(f"no run {str(name)[:200]!r} below the root")
        return entry

    def _chosen(self, request: Request) -> list[Entry]:
        names = list(dict.fromkeys(request.query_params.getlist("run")))
        if not names or len(names) > MOST_RUNS:
            raise UnknownName(f"choose from 1 to {MOST_RUNS} runs with run=NAME")
        return [self._entry(name) for name in names]

    def _option_names(self) -> list[str]:
        return list(dict.fromkeys(name for entry in self._entries() for name in options_of_entry(entry)))

    def _by(self, request: Request) -> str:
        by = request.query_params.get("by", "")
        return spelled_out(by, self._option_names()) if by else ""
