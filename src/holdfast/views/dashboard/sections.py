"""What only some games have to tell (opponents, levels, decks, stages): the report's own sections, made in a process of
their own, which may load all that they need and is given up on after a while.

The answer is a page without scripts for a frame. `python -m holdfast.views.dashboard.sections FOLDER` prints it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from holdfast.views.dashboard.folder import Folder

LIMIT_S = 30.0
NONE = "<!doctype html><title>no sections</title>"


def sections_page(folder: Folder) -> str:
    """The page, or one that says why there is none."""
    if (strange := strange_things(folder)) is not None:
        return _told(f"not shown: {strange} is a link or no file")
    words = [sys.executable, "-m", __name__, str(folder.path)]
    try:
        done = subprocess.run(words, capture_output=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return _told(f"not shown: it took more than {LIMIT_S:g} s")
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return _told(f"not shown: {lines[-1] if lines else 'the process ended early'}")
    return done.stdout.decode("utf-8", "replace")


def strange_things(folder: Folder) -> str | None:
    """The report reads a run that its user chose; one that holds links or pipes is left alone here."""
    for inside in ("", "evals", "media"):
        try:
            with os.scandir(folder.path / inside) as found:
                for item in found:
                    if not (item.is_file(follow_symlinks=False) or item.is_dir(follow_symlinks=False)):
                        return f"{inside}/{item.name}".lstrip("/")
        except OSError:
            continue
    return None


def _told(words: str) -> str:
    from holdfast.views.report.markup import element, joined

    return f"<!doctype html>{joined(element('p', words))}"


def page_of(folder: Path) -> str:
    """The sections of a run in the report's own words and looks; short when there are none."""
    from holdfast.views.report.duels import duel_sections
    from holdfast.views.report.markup import Html, element, joined
    from holdfast.views.report.record import read_record
    from holdfast.worlds.registry import own_game

    record = read_record(folder)
    game = own_game(record.config.get("world", {}).get("name"))
    own = game.report_tables or game.report
    body = joined(duel_sections(record), own(record) if own is not None else Html(""))
    if not body:
        return NONE
    style = (Path(__file__).parent.parent / "report" / "report.css").read_text(encoding="utf-8")
    extra = "main{max-width:none;padding:0}section:first-child{margin-top:0}body{background:transparent}"
    head = element("head", element("meta", charset="utf-8"), element("style", Html(style + extra)))
    return f"<!doctype html>\n{element('html', head, element('body', element('main', body)), lang='en')}\n"


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    print(page_of(Path(sys.argv[1])))
