"""A report in a real browser: its charts are there, its script runs without errors, and nothing is too wide."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import imageio.v3 as imageio
import pytest

from holdfast.views.report import write_report
from tests.conftest import finished_run
from tests.views.test_report import hostile

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--enable-logging=stderr", "--virtual-time-budget=2000"),
)

# moves the pointer over every chart, then tells the parent page by how much it is too wide
MEASURE = """<script>addEventListener("load", () => {
  for (const plot of document.querySelectorAll(".plot")) {
    const box = plot.getBoundingClientRect();
    plot.dispatchEvent(new PointerEvent("pointermove", {clientX: box.right - 1, clientY: box.top + 1}));
  }
  const tips = [...document.querySelectorAll(".tip")].map((tip) => tip.textContent);
  const page = document.documentElement;
  parent.postMessage(["found", page.scrollWidth - page.clientWidth, tips.length, tips[0]].join("|"), "*");
})</script></body>"""
FRAME = """<pre></pre><iframe src="inner.html" style="width:360px;height:4000px;border:0"></iframe>
<script>addEventListener("message", (event) => document.querySelector("pre").append(event.data))</script>"""


def browse(page: Path, profile: Path, *words: str) -> tuple[str, str]:
    """What the browser prints, and its log."""
    called = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *words, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return called.stdout, called.stderr


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_report_in_a_browser(tmp_path: Path) -> None:
    run, _ = finished_run(tmp_path / "runs")
    page = write_report(hostile(run.folder))
    picture = tmp_path / "picture.png"
    dom, log = browse(page, tmp_path / "profile", "--dump-dom")
    assert "CONSOLE" not in log, log
    assert len(re.findall(r'<figure class="chart', dom)) >= 12
    assert "alert('name')" in re.findall(r"<h1>.*?</h1>", dom)[0].replace("&#x27;", "'")
    _, log = browse(page, tmp_path / "profile", f"--screenshot={picture}", "--window-size=1100,2000")
    assert "CONSOLE" not in log, log
    shot = imageio.imread(picture)
    assert shot.shape[:2] == (2000, 1100)
    assert len({tuple(pixel) for pixel in shot[::7, ::7, :3].reshape(-1, 3)}) > 20  # more than an empty page

    bare = re.sub(r"<meta http-equiv[^>]*>", "", page.read_text())  # whose policy forbids the probe
    (tmp_path / "inner.html").write_text(bare.replace("</body>", MEASURE))
    (tmp_path / "outer.html").write_text(FRAME)
    dom, log = browse(tmp_path / "outer.html", tmp_path / "profile", "--dump-dom")
    assert "CONSOLE" not in log, log
    too_wide, tips, first = re.findall(r"<pre>found\|(\d+)\|(\d+)\|(.*?)</pre>", dom)[0]
    assert (int(too_wide), int(tips)) == (0, len(re.findall(r'class="plot"', bare)))
    assert first.startswith("iteration 4learned ")
