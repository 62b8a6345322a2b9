"""`write_report`: one self-contained HTML page about a run folder, whatever state the run is in.

It loads nothing from elsewhere, and its content policy lets only the page's own script run, whatever a run's name or
settings contain.
"""

from __future__ import annotations

import os
import shlex
from base64 import b64encode
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from holdfast.kit.errors import RunFolderError
from holdfast.runs.checkpoint import write_synced
from holdfast.views.report.configuration import configuration_section, origin_section
from holdfast.views.report.curves import curves
from holdfast.views.report.duels import duel_sections
from holdfast.views.report.history import evaluations_section, time_section, timeline_section
from holdfast.views.report.markup import Html, element, section
from holdfast.views.report.record import MEDIA, Record, read_record
from holdfast.views.report.result import heading, missing_note, result_section, tiles
from holdfast.worlds.registry import own_game

LARGEST_EMBEDDED = 8_000_000  # bytes of a video that goes into the page
REPORT = "report.html"
MATRIX = "crossplay.png"  # shown as a table of its own


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run folder and return its path."""
    page = report_html(read_record(folder))
    path, aside = folder / REPORT, folder / f".{os.getpid()}-{REPORT}"
    try:
        # JSON can hold half a surrogate pair, which UTF-8 cannot
        write_synced(aside, page.encode("utf-8", errors="backslashreplace"))
        os.replace(aside, path)
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # a disk that refuses writes may refuse this too, and the reason is told already
            aside.unlink()
    return path


def report_html(record: Record) -> str:
    game = own_game(record.config.get("world", {}).get("name"))
    body = element(
        "main",
        heading(record),
        tiles(record),
        missing_note(record),
        result_section(record),
        media_section(record),
        duel_sections(record),
        curves(record),
        time_section(record),
        timeline_section(record),
        game.report(record) if game.report is not None else Html(""),
        evaluations_section(record),
        configuration_section(record),
        origin_section(record),
    )
    script = _beside("report.js")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=content_policy(script)),
        element("title", f"{record.name}: {record.status}"),
        element("style", Html(_beside("report.css"))),
    )
    return (
        f"<!doctype html>\n{element('html', head, element('body', body, element('script', Html(script))), lang='en')}\n"
    )


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def content_policy(script: str) -> str:
    """Nothing from the network, and no script but this one."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )


def media_section(record: Record) -> Html:
    media = [path for path in record.media if path.name != MATRIX]
    if not media:
        command = element("code", f"holdfast play {shlex.quote(str(record.folder))}")
        return section("Episodes", element("p", "No video yet; make one with ", command, class_="none"))
    return section("Episodes", element("div", *(_medium(path) for path in media), class_="media"))


def _medium(path: Path) -> Html:
    size = path.stat().st_size
    if size > LARGEST_EMBEDDED:
        link = element("a", path.name, href=f"media/{quote(path.name)}")
        return element("figure", element("figcaption", link, f" ({size / 1e6:.0f} MB, beside this page)"))
    kind = MEDIA[path.suffix.lower()]
    source = f"data:{kind};base64,{b64encode(path.read_bytes()).decode()}"
    if kind.startswith("video/"):
        shown = element("video", src=source, controls=True, loop=True, muted=True, playsinline=True, preload="metadata")
    else:
        shown = element("img", src=source, alt=path.name)
    return element("figure", shown, element("figcaption", path.name))
