"""The dashboard in a real Chromium: what is promised to a user, seen as a user sees it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.views.dashboard.conftest import Served
from tests.views.dashboard.made_runs import append, go_on, make_run, sweep, write_lines

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")

FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")
QUIET = ("--disable-background-networking", "--disable-component-update")
HOSTILE = "<img src=x onerror=globalThis.hacked=1> '\"&amp; ..%2F"
WAIT_MS = 20_000
AUDIT = Path(__file__).with_name("audit.js").read_text().partition("\n")[2]

Serve = Callable[..., Served]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *QUIET])
        yield browser
        browser.close()


class Tab:
    """One page, whose console and requests must stay clean."""

    def __init__(self, browser: Any, width: int = 1300, theme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT_MS)
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(f"error {error}"))
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.wrong.append(said.text))
        self.page.on("request", lambda asked: "127.0.0.1" in asked.url or asked.url.startswith(("data:", "blob:"))
                     or self.wrong.append(f"asked {asked.url}"))  # fmt: skip

    def open(self, served: Served, path: str) -> Any:
        self.page.goto(served.address + path)
        return self.page


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    found = Tab(chromium)
    yield found
    wrong = found.wrong
    found.context.close()
    assert wrong == []


def test_the_table_and_a_run_change_by_themselves(serve: Serve, tab: Tab, tmp_path: Path) -> None:
    make_run(tmp_path / "done", rows=20)
    make_run(tmp_path / "live", rows=20, live=True, planned=80)
    served = serve("--root", tmp_path)
    page = tab.open(served, "/")
    live = page.locator('tr[data-id="live"]')
    live.locator(".figure", has_text="25 %").wait_for()
    page.locator(".live.on").wait_for()
    for iteration in range(21, 41):
        go_on(tmp_path / "live", iteration)
    live.locator(".figure", has_text="50 %").wait_for()
    make_run(tmp_path / "new", rows=5)
    page.locator('tr[data-id="new"]').wait_for()
    append(tmp_path / "live" / "events.jsonl", {"event": "interrupted", "signal": 2, "iteration": 40})
    live.locator(".status.interrupted").wait_for()
    live.locator("a").click()  # without a reload, to the page of the run
    page.locator("h1", has_text="live").wait_for()
    page.locator('[data-curve="episode.return"] [data-drawn]').wait_for()
    page.locator("#timeline td", has_text="SIGINT").wait_for()
    go_on(tmp_path / "live", 60)
    page.locator(".facts b", has_text="60 of 80").wait_for()
    newest = "() => document.querySelector('[data-curve=\"episode.return\"] .plot').data[0].x.at(-1) === 60"
    page.wait_for_function(newest)


def test_zooming_brings_the_raw_rows(serve: Serve, tab: Tab, tmp_path: Path) -> None:
    make_run(tmp_path / "long", rows=6000, every=500)
    page = tab.open(serve("--root", tmp_path), "/run?id=long&curves=episode.return")
    drawn = "() => document.querySelector('[data-curve=\"episode.return\"] .plot')?.data?.[0].x.length"
    page.wait_for_function(f"() => (({drawn})() ?? 0) > 100")
    assert page.evaluate(drawn) <= 500
    page.locator('[data-curve="episode.return"] .plot').scroll_into_view_if_needed()
    box = page.locator('[data-curve="episode.return"] .plot').bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y, steps=5)
    page.mouse.up()
    page.wait_for_url("**zoom=**")
    page.wait_for_function("""() => {
      const x = document.querySelector('[data-curve="episode.return"] .plot').data[0].x;
      return x.length > 30 && x[1] - x[0] === 1 && x.at(-1) - x[0] === x.length - 1;
    }""")
    page.keyboard.press("0")
    page.wait_for_function(f"() => ({drawn})() > 300")


def test_filter_group_select_and_compare_by_keyboard(serve: Serve, tab: Tab, tmp_path: Path) -> None:
    list(sweep(tmp_path, seeds=2))
    page = tab.open(serve("--root", tmp_path), "/")
    page.locator("tr[data-id]").nth(11).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("learner.lr>2e-3 b1024")
    page.locator(".counts", has_text="4 of 12").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.locator("tr.group").nth(1).wait_for()
    assert page.locator("tr.group").count() == 2
    page.keyboard.press("g")
    page.locator("tr.group").first.wait_for(state="detached")
    page.locator("tr[data-id]").nth(3).wait_for()
    for key in ("j", "x", "j", "x", "j", "x"):
        page.keyboard.press(key)
    page.locator("#compare", has_text="Compare 3").wait_for()
    page.keyboard.press("c")
    page.locator("h1", has_text="Compare 3 runs").wait_for()
    page.locator("[data-metric][data-drawn]").wait_for()


def test_a_compare_link_shows_the_same_again(serve: Serve, tab: Tab, chromium: Any, tmp_path: Path) -> None:
    names = [path.name for path in sweep(tmp_path, seeds=3)]
    served = serve("--root", tmp_path)
    page = tab.open(served, "/compare?" + "&".join(f"run={name}" for name in names))
    page.locator("[data-metric][data-drawn]").wait_for()
    page.locator("#fold").check()
    page.select_option("#add-metric", "episode.return")
    page.locator('[data-metric="episode.return"][data-drawn]').wait_for()
    page.select_option('[aria-label="Horizontal axis"]', "agent_steps")
    page.locator(".legend button").first.click()
    page.locator('.legend button[aria-pressed="false"]').wait_for()
    page.select_option("#scatter-over", "learner.minibatch")
    other = Tab(chromium)
    again = other.open(served, page.url.removeprefix(served.address))
    seen = """async () => {
      const plot = document.querySelector('[data-metric="episode.return"]');
      const lines = plot?.data?.map((one) => [one.name, one.x.length, one.y.at?.(-1)]);
      const controls = [...document.querySelectorAll('main select, main input')];
      const state = controls.map((one) => one.type === 'checkbox' ? one.checked : one.value);
      return JSON.stringify([lines, state, document.querySelectorAll('.legend button[aria-pressed="false"]').length]);
    }"""
    again.locator('[data-metric="episode.return"][data-drawn]').wait_for()
    deadline = time.monotonic() + 10
    while page.evaluate(seen) != again.evaluate(seen):
        assert time.monotonic() < deadline, (page.evaluate(seen), again.evaluate(seen))
        time.sleep(0.2)
    lines = json.loads(page.evaluate(seen))[0]
    assert len(lines) == 3 * 5  # a line and its interval for each group but the hidden one
    assert other.wrong == []
    other.context.close()


def test_what_if_changes_the_decisions_at_once(serve: Serve, tab: Tab, fish_run: Path) -> None:
    page = tab.open(serve("--root", fish_run.parent), f"/run?id={fish_run.name}")
    words = page.locator("#what-if-words")
    words.wait_for()
    assert "Move a slider" in words.inner_text()
    for name in ("success_early_death_window", "success_p10_window"):
        page.locator(f'[data-option="{name}"]').fill("1")
    for option in ("success_early_death", "success_avoidable_step_one_ratio"):
        slider = page.locator(f'[data-option="{option}"]')
        slider.fill(slider.get_attribute("max"))
    for option in ("success_p10", "success_min_final", "failure_p10", "failure_min_final"):
        slider = page.locator(f'[data-option="{option}"]')
        slider.fill(slider.get_attribute("min"))
    page.locator("#what-if-words", has_text="They part at iteration").wait_for()
    page.locator("#what-if td", has_text="advance, level 1").first.wait_for()
    shared_link = page.url
    page.goto(shared_link)  # the address keeps the thresholds
    page.locator("#what-if-words", has_text="They part at iteration").wait_for()
    page.locator("#gate details summary").first.click()
    page.locator("#gate details[open] td", has_text="early_death").first.wait_for()
    page.locator("#timeline td", has_text="The gate ").first.wait_for()
    game = page.locator("#game")
    game.scroll_into_view_if_needed()
    page.frame_locator("#game iframe").locator("h2", has_text="Schools").wait_for(timeout=60_000)


def test_a_film_on_demand_appears(serve: Serve, tab: Tab, tmp_path: Path) -> None:
    from tests.conftest import finished_run

    run, _ = finished_run(tmp_path, **{"run.name": "filmed"})
    page = tab.open(serve("--root", tmp_path), "/run?id=filmed")
    page.locator("#film").click()
    page.locator("#film-told", has_text="Filming").wait_for()
    page.locator("figure[data-medium] video").wait_for(timeout=60_000)
    page.wait_for_function("() => document.querySelector('figure video').videoWidth > 0")
    assert len(list((run.folder / "media").glob("film-*.mp4"))) == 1
    page.locator("#tags").fill("good, <b>bold</b>")
    page.locator("#notes button", has_text="Keep").click()
    page.locator(".head .tag", has_text="<b>bold</b>").wait_for()


def test_a_hostile_name_is_text_everywhere(serve: Serve, tab: Tab, tmp_path: Path) -> None:
    names = [HOSTILE.replace("/", ""), "</script><script>globalThis.hacked=2</script>".replace("/", "∕"),
             "javascript:globalThis.hacked=3", "<a href='javascript:hacked=4'>b</a>".replace("/", "∕")]  # fmt: skip
    for number, name in enumerate(names):
        folder = make_run(tmp_path / name, rows=30, seed=number, **{"learner.epochs": str(number + 2)})
        told = json.loads((folder / "run.json").read_text())
        told["preset"] = told["config"]["world"]["name"] = told["git"] = HOSTILE
        told["command"] = [HOSTILE, HOSTILE]
        (folder / "run.json").write_text(json.dumps(told))
        write_lines(
            folder / "metrics.jsonl",
            [{"iteration": i, HOSTILE: i * 1.0, "evaluation.score": 1.0 / i} for i in range(1, 9)],
        )
        append(folder / "events.jsonl", {"event": HOSTILE, "name": HOSTILE, "iteration": 3})
        append(folder / "events.jsonl", {"event": "hint", "name": HOSTILE, "text": HOSTILE, "iteration": 3})
        append(folder / "gate_debug.jsonl", {"event": HOSTILE, "because": HOSTILE, "level": {"before": 0, "after": 1}})
        (folder / "notes.json").write_text(json.dumps({"tags": [HOSTILE], "notes": HOSTILE}))
    served = serve("--root", tmp_path)
    page = tab.open(served, "/")
    page.locator("tr[data-id]").nth(3).wait_for()
    assert sorted(page.locator("tr[data-id] .name a").all_inner_texts()) == sorted(names)
    page.locator(".name a").filter(has_text="onerror").click()
    page.locator("h1", has_text="onerror").wait_for()
    page.locator("[data-curve] [data-drawn]").first.wait_for()
    page.locator("#timeline td", has_text="onerror").first.wait_for()
    page.goto(served.address + "/")
    page.locator('thead input[type="checkbox"]').check()
    page.keyboard.press("c")
    plot = page.locator("[data-metric][data-drawn]")
    plot.wait_for()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".hoverlayer .hovertext").first.wait_for()
    page.locator("#scatter").scroll_into_view_if_needed()
    page.locator("#scatter[data-drawn]").wait_for()
    assert page.evaluate("() => globalThis.hacked") is None
    assert page.evaluate("() => document.querySelectorAll('img[src=x], main script, a[href^=javascript]').length") == 0


def test_a_study_shows_its_queue_failures_and_best(serve: Serve, tab: Tab, tmp_path: Path) -> None:
    study = tmp_path / "studies" / "rates"
    (study / "runs").mkdir(parents=True)
    (tmp_path / "runs").mkdir()
    (study / "study.toml").write_text('goal = "max:return"\n')
    rows: list[dict[str, Any]] = [
        {
            "trial": i,
            "options": {"learner.lr": 10.0**-i},
            "seed": i,
            "state": "done",
            "score": 0.5 + 0.1 * i,
            "run": f"runs/{i}",
        }
        for i in range(1, 4)
    ]
    rows.append({"trial": 4, "state": "failed", "reason": "NonFinite", "traceback": "traces/4.txt", "options": {}})
    rows.append({"trial": 5, "state": "waiting", "options": {"learner.lr": 1e-5}})
    for i in range(1, 4):
        make_run(study / "runs" / str(i), rows=10, score=0.5 + 0.1 * i)
    (study / "traces").mkdir()
    (study / "traces" / "4.txt").write_text("Traceback …\nNonFinite: <b>nan</b>")
    write_lines(study / "trials.jsonl", rows)
    page = tab.open(serve("--root", tmp_path / "runs"), "/study")
    page.locator("a", has_text="studies/rates").click()
    page.locator(".head .soft", has_text="3 done, 1 failed, 1 waiting").wait_for()
    assert "0.8" in page.locator(".tiles").inner_text()
    page.locator("#failures summary").click()
    page.locator("#failures pre", has_text="NonFinite: <b>nan</b>").wait_for()
    append(study / "trials.jsonl", {"trial": 5, "state": "running"})
    page.locator(".head .soft", has_text="1 running").wait_for()
    page.locator("#trials a", has_text="3").first.click()
    page.locator("h1", has_text="studies/rates/runs/3").wait_for()


def test_a_root_that_vanishes_is_said(serve: Serve, tab: Tab, tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a", rows=5)
    page = tab.open(serve("--root", tmp_path / "runs"), "/")
    page.locator('tr[data-id="a"]').wait_for()
    page.locator(".live.on").wait_for()
    (tmp_path / "runs").rename(tmp_path / "away")
    page.locator("#gone", has_text="is not there any more").wait_for()
    assert page.locator('tr[data-id="a"]').count() == 1
    (tmp_path / "away").rename(tmp_path / "runs")
    page.locator("#gone").wait_for(state="hidden")


@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (3840, "light")])
def test_nothing_is_too_wide_and_everything_is_named(
    serve: Serve, chromium: Any, tmp_path: Path, width: int, theme: str
) -> None:
    """No page scrolls sideways; every control has a name, texts contrast with what is behind them, ids are unique."""
    make_run(tmp_path / ("long-" * 12), rows=30, live=True, planned=50)
    make_run(tmp_path / "b", rows=30, **{"learner.epochs": "3"})
    served = serve("--root", tmp_path)
    tab = Tab(chromium, width, theme)
    for path in ("/", "/run?id=b", "/compare?run=b&run=" + "long-" * 12, "/study"):
        page = tab.open(served, path)
        page.locator("main > *").first.wait_for()
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, path
        assert json.loads(page.evaluate(AUDIT)) == [], path
    assert tab.wrong == []
    tab.context.close()
