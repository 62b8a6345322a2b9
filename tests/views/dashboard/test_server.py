"""The server over a real socket: what it answers, whom it refuses, and what bad input cannot do to it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlencode

import psutil
import pytest

from holdfast.views.dashboard.curves import unpacked
from holdfast.views.dashboard.guard import Door, check_host, same_secret
from holdfast.views.dashboard.guard import Refused as RefusedByGuard
from tests.conftest import Command
from tests.views.dashboard.conftest import Served
from tests.views.dashboard.made_runs import description, go_on, make_run

HOSTILE = "<script>alert('1')</script> \"'&..%2F"
Serve = Callable[..., Served]


def test_runs_pages_and_curves(serve: Serve, tmp_path: Path) -> None:
    for name in ("a", HOSTILE.replace("/", "")):
        make_run(tmp_path / "runs" / name, rows=30)
    served = serve("--root", tmp_path / "runs")
    rows = served.get("/api/runs")["runs"]
    assert {row["id"] for row in rows} == {"a", HOSTILE.replace("/", "")}
    for row in rows:
        found = served.get(f"/api/run?id={quote(row['id'])}")
        assert found["row"]["status"] == "finished" and found["rows"] == 30
        head, curves = unpacked(served.ask(f"/api/run/curves?id={quote(row['id'])}&x=time")[2])
        assert head["axis"] == "time" and len(curves["episode.return"][0]) == 30
    status, headers, page = served.ask("/run?id=a")
    assert status == 200 and b'<script src="/static/theme.js">' in page
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy and "unsafe-eval" not in policy and "default-src 'none'" in policy
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
    assert served.ask("/plotly.js")[2].find(b"plotly") > 0
    assert served.stop() == 0


def test_news_come_in_time_and_say_only_what_changed(serve: Serve, tmp_path: Path) -> None:
    for number in range(30):
        make_run(tmp_path / f"old{number}", rows=12, facts=FACTS)
    make_run(tmp_path / "live", rows=12, live=True, planned=100)
    served = serve("--root", tmp_path)
    since = served.get("/api/runs")["since"]
    with socket.create_connection(("127.0.0.1", served.port), 10) as page:
        page.sendall(f"GET /api/live?since={since} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        received = b""
        while b"event: root" not in received:
            received += page.recv(65536)
        time.sleep(1.0)
        begun = time.monotonic()
        go_on(tmp_path / "live", 13)
        while b'"iteration": 13.0' not in received:
            received += page.recv(65536)
        assert time.monotonic() - begun < 2.0  # 0.2 s when the machine is free
        assert b"old3" not in received
        assert served.stop() == 0 and "Traceback" not in served.said and "ERROR" not in served.said


FACTS = description()


def test_nothing_outside_the_root_is_reached(serve: Serve, tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a", rows=5)
    (tmp_path / "secret.png").write_text("secret")
    (tmp_path / "runs" / "a" / "media").mkdir()
    (tmp_path / "runs" / "a" / "media" / "ok.png").write_bytes(b"\x89PNG")
    (tmp_path / "runs" / "a" / "media" / "link.png").symlink_to(tmp_path / "secret.png")
    os.mkfifo(tmp_path / "runs" / "a" / "media" / "pipe.png")
    served = serve("--root", tmp_path / "runs")
    assert served.ask("/media?run=a&name=ok.png")[2] == b"\x89PNG"
    names = ("link.png", "pipe.png", "../../../secret.png", "/etc/passwd", "..", "run.json", "../run.json", "ok.png\0")
    for name in names:
        status, _, body = served.ask(f"/media?{urlencode({'run': 'a', 'name': name})}")
        assert status == 404 and b"secret" not in body, name
    above = ["/../../etc/passwd", "/static/../app.py", "/static/..%2f..%2fapp.py", "//etc/passwd", "/%2e%2e/etc/passwd"]
    odd = ["/api/run?id=../runs/a", "/api/run?id=/etc", "/api/run?id=..", "/static/%00", "/api/study?id=../.."]
    for path in (*above, *odd):
        status, _, body = served.ask(path)
        assert status in (400, 404) and b"root:" not in body, path


def test_half_written_and_hostile_run_folders(serve: Serve, tmp_path: Path) -> None:
    """Every question about them gets an answer."""
    root = tmp_path / "runs"
    folder = make_run(root / "half", rows=5)
    (folder / "run.json").write_text('{"config": {"world": {"name": "os:system"}, "run": {}, "learner": 5}}')
    (folder / "metrics.jsonl").write_text('{"iteration": 1}\n{"iteration": "x", "episode.a": [1]}\n\x00\xff\n{"itera')
    (folder / "evals" / "yardsticks.json").write_text('{"policies": {"a": {"summary": {"mean": NaN}}, "b": 7}}')
    (folder / "gate_debug.jsonl").write_text('{"criteria": [7], "level": 3}\nnull\n')
    (folder / "events.jsonl").write_text('{"event": {"a": 1}}\n{"event": "gate", "decision": 5}\n[1]\nx\n')
    (folder / "notes.json").write_text('{"tags": 7, "notes": {"a": 1}}')
    (folder / "resources.jsonl").write_text('{"time": 7}\n')
    piped = make_run(root / "piped", rows=5)
    for name in ("gate_debug.jsonl", "notes.json", "evals/final.json", "timing.jsonl"):
        (piped / name).unlink(missing_ok=True)
        os.mkfifo(piped / name)
    served = serve("--root", root)
    assert len(served.get("/api/runs")["runs"]) == 2
    for name in ("half", "piped"):
        found = served.get(f"/api/run?id={name}")
        assert found["row"]["id"] == name
        assert served.get(f"/api/run/gate?id={name}")["problem"]
        assert served.ask(f"/api/run/curves?id={name}")[0] == 200
        assert served.ask(f"/api/run/sections?id={name}")[0] == 200
    assert any("cannot be read" in words for words in served.get("/api/run?id=half")["damage"])
    compared = served.get("/api/compare?run=half&run=piped")
    assert [row["id"] for row in compared["runs"]] == ["half", "piped"]
    status, told = served.post("/api/film", {"run": "half"})
    assert status == 400 and "checkpoint" in told["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/run?id=none", "/api/run/curves?id=a&x=sideways", "/api/run/curves?id=a&points=1e99", "/api/compare",
        "/api/run/curves?id=a&from=nan", "/api/match?q=lerner.lr%3E1", "/api/match?by=nothing",
        "/api/run/curves?id=a&smooth=-1", "/api/study?id=none", "/api/compare/curves?run=a",
    ],
)  # fmt: skip
def test_questions_that_make_no_sense_are_answered_with_a_sentence(shared: Served, path: str) -> None:
    status, _, body = shared.ask(path)
    assert status in (400, 404) and len(json.loads(body)["error"]) > 10


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    root = tmp_path_factory.mktemp("runs")
    make_run(root / "a", rows=12, facts=FACTS)
    served = Served("--root", str(root))
    yield served
    served.stop()


# --- who may ask -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "local", "open_"),
    [
        ("127.0.0.1:8321", True, True), ("localhost", True, True), ("[::1]:8321", True, True),
        ("10.1.2.3:8321", False, True), ("evil.example", False, False), ("127.0.0.1.evil.example", False, False),
        ("localhost.evil.example", False, False),
        ("", False, False), (f"{socket.gethostname()}:8321", False, True),
    ],
)  # fmt: skip
def test_hosts(host: str, local: bool, open_: bool) -> None:
    """`local`: let in on loopback; `open_`: let in when bound to all addresses with a token."""
    for door, fits in ((Door("127.0.0.1", 8321), local), (Door("0.0.0.0", 8321, "secret"), open_)):
        try:
            check_host({"host": [host]}, door)
            let_in = True
        except RefusedByGuard:
            let_in = False
        assert let_in == fits, (host, door)


def test_dns_rebinding_is_refused(shared: Served) -> None:
    for path in ("/", "/api/runs", "/plotly.js", "/api/live"):
        assert shared.ask(path, host="evil.example:80")[0] == 421
    assert shared.ask("/", host="127.0.0.1:1")[0] == 200


def test_writes_from_elsewhere_are_refused(shared: Served) -> None:
    body = json.dumps({"run": "a", "tags": ["x"], "notes": ""}).encode()
    good = {"x_holdfast": "1", "host": f"127.0.0.1:{shared.port}"}
    for path in ("/api/notes", "/api/film", "/api/what-if"):
        assert shared.ask(path, "POST", body)[0] == 403
        assert shared.ask(path, "POST", body, **good, origin="http://evil.example")[0] == 403
        assert shared.ask(path, "POST", body, **good, origin="null")[0] == 403
        assert shared.ask(path, "POST", body, **good, sec_fetch_site="cross-site")[0] == 403
        assert shared.ask(path, "POST", b"x" * 70_000, **good)[0] == 413
        assert shared.ask(path, "POST", b"[]", **good)[0] == 400
        assert shared.ask(path, "PUT", body, **good)[0] == 405
        assert shared.ask(path, "GET")[0] in (404, 405)
    assert shared.get("/api/runs")["runs"][0]["tags"] == []
    status, _, _ = shared.ask("/api/notes", "POST", body, **good, origin=f"http://127.0.0.1:{shared.port}")
    assert status == 200


def test_a_token_is_asked_for(serve: Serve, tmp_path: Path) -> None:
    make_run(tmp_path / "a", rows=5)
    served = serve("--root", tmp_path, "--token", "auto")
    assert len(served.token) >= 30
    for path in ("/", "/api/runs", "/static/app.js", "/api/live", "/media?run=a&name=x.png"):
        assert served.ask(path)[0] == 401
        assert served.ask(f"{path}{'&' if '?' in path else '?'}token=wrong")[0] == 401
    status, headers, _ = served.ask(f"/run?id=a&token={served.token}")
    assert status == 303 and headers["location"] == "/run?id=a"
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and served.token not in cookie
    assert served.ask("/api/runs", cookie=cookie.partition(";")[0])[0] == 200
    assert served.ask("/api/runs", cookie=cookie.partition("=")[0] + "=wrong")[0] == 401
    assert served.ask("/api/runs", authorization=f"Bearer {served.token}")[0] == 200
    status, headers, _ = served.ask(f"//evil.example/%0d%0aX:y?token={served.token}")
    assert status == 303 and headers["location"].startswith("/evil.example/") and headers["x"] is None
    assert served.stop() == 0 and served.said.count(served.token) == 1


def test_secrets_are_compared_whole() -> None:
    assert same_secret("abc", "abc") and not same_secret("ab", "abc") and not same_secret("", "abc")


# --- starting it -----------------------------------------------------------------------------------------------------


def test_what_keeps_it_from_starting_is_a_sentence(holdfast: Command, tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a", rows=5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for words, told in (
            (("--port", port), f"port {port} of 127.0.0.1 is in use"),
            (("--root", "nowhere"), "no folder nowhere/"),
            (("--root", "runs/a"), "is a run"),
            (("--host", "0.0.0.0"), "--token auto"),
            (("--token", "short"), "at least 12"),
            (("--port", "99999"), "must be from 0"),
        ):
            done = holdfast("dashboard", *words, timeout=60)
            assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_missing_extra_is_named_with_its_install_line(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    blocks = [f"import sys; sys.modules[{name!r}] = None\n" for name in ("uvicorn", "starlette")]
    blocks.append(
        "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n: None if n == 'plotly' else f(n)\n"
    )
    for block in blocks:
        code = block + "from holdfast.cli.command import main; main(['dashboard', '--port', '0'])"
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "pip install 'holdfast[dashboard]'" in done.stderr, done.stderr


def test_it_starts_without_loading_what_trains(tmp_path: Path) -> None:
    code = (
        "import sys; from holdfast.views.dashboard import app, launch; "
        "print([n for n in ('torch', 'numba', 'plotly', 'matplotlib') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


# --- many and strange readers ----------------------------------------------------------------------------------------


def test_two_hundred_pages_at_once(serve: Serve, tmp_path: Path) -> None:
    for number in range(5):
        make_run(tmp_path / f"r{number}", rows=12, facts=FACTS)
    served = serve("--root", tmp_path)
    request = b"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    pages = [socket.create_connection(("127.0.0.1", served.port), 20) for _ in range(200)]
    try:
        for page in pages:
            page.sendall(request)
        for page in pages:
            assert b"200 OK" in page.recv(4096)
        with ThreadPoolExecutor(20) as asking:
            found = list(asking.map(lambda _: served.ask("/api/runs")[0], range(200)))
        assert found == [200] * 200
        many = [socket.create_connection(("127.0.0.1", served.port), 20) for _ in range(80)]
        for page in many:
            page.sendall(request)
        assert any(b"503" in page.recv(100) for page in many)
        for page in many:
            page.close()
    finally:
        for page in pages:
            page.close()
    assert served.get("/api/runs")["there"]


def test_a_page_that_never_reads_costs_no_memory(serve: Serve, tmp_path: Path) -> None:
    facts = description()
    for number in range(150):
        make_run(tmp_path / f"{number:03d}-{'x' * 150}", rows=12, facts=facts)
    served = serve("--root", tmp_path)
    served.get("/api/runs")
    stuck = socket.socket()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.connect(("127.0.0.1", served.port))
    stuck.sendall(b"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    time.sleep(1)
    before = psutil.Process(served.process.pid).memory_info().rss
    for round_ in range(12):
        for folder in list(tmp_path.iterdir())[:100]:
            (folder / "notes.json").write_text(json.dumps({"tags": [], "notes": f"{round_} " + "y" * 5000}))
        served.ask("/api/runs")
        time.sleep(0.25)
    assert psutil.Process(served.process.pid).memory_info().rss - before < 30e6
    stuck.close()
    assert served.ask("/api/runs")[0] == 200


def test_a_root_that_vanishes_is_told_and_comes_back(serve: Serve, tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "a", rows=5)
    served = serve("--root", tmp_path / "runs")
    assert served.get("/api/runs")["there"]
    shutil.move(tmp_path / "runs", tmp_path / "away")
    found = served.wait("/api/runs", lambda answer: not answer["there"], 5)
    assert found["runs"][0]["id"] == "a"
    assert served.ask("/api/run?id=a")[0] == 200
    shutil.move(tmp_path / "away", tmp_path / "runs")
    served.wait("/api/runs", lambda answer: answer["there"], 5)


# --- what can be asked for -------------------------------------------------------------------------------------------


def test_notes_are_kept_and_found(serve: Serve, tmp_path: Path) -> None:
    make_run(tmp_path / "a", rows=5)
    served = serve("--root", tmp_path)
    status, _ = served.post("/api/notes", {"run": "a", "tags": [" good ", "good", ""], "notes": "<b>it</b> works"})
    assert status == 200
    assert json.loads((tmp_path / "a" / "notes.json").read_text()) == {"tags": ["good"], "notes": "<b>it</b> works"}
    assert served.get("/api/match?q=tag=good")["ids"] == ["a"]
    for wrong in ({"tags": "x", "notes": ""}, {"tags": ["x" * 99], "notes": ""}, {"tags": [], "notes": "x" * 30_000}):
        assert served.post("/api/notes", {"run": "a", **wrong})[0] == 400
    assert served.post("/api/notes", {"run": "../a", "tags": [], "notes": ""})[0] == 404


def test_what_if_replays_the_recorded_evaluations(serve: Serve, fish_run: Path) -> None:
    served = serve("--root", fish_run.parent)
    name = fish_run.name
    gate = served.get(f"/api/run/gate?id={name}")
    assert gate["problem"] == "" and len(gate["decisions"]) == 4
    sliders = {one["name"]: one for one in gate["sliders"]}
    assert sliders["success_early_death"]["low"] <= 0.0 < sliders["success_early_death"]["high"]
    status, same = served.post("/api/what-if", {"run": name, "changes": {}})
    assert status == 200 and all(row["same"] for row in same["rows"]) and same["parts_at"] is None
    none = dict.fromkeys(("success_p10", "success_min_final", "failure_p10", "failure_min_final"), 0)
    all_ = ("success_early_death", "success_avoidable_step_one_ratio")
    easy = {**none, **dict.fromkeys((*all_, "success_early_death_window", "success_p10_window"), 1)}
    status, other = served.post("/api/what-if", {"run": name, "changes": easy})
    assert status == 200 and other["rows"][-1]["after"] == 2 and not other["rows"][0]["same"]
    assert "--gate.success_early_death 1" in other["command"]
    for wrong in ({"success_early_death": "x"}, {"no_such_option": 1}, {"success_early_death": 7}, {"enabled": 1}):
        status, told = served.post("/api/what-if", {"run": name, "changes": wrong})
        assert status == 400 and told["error"]


def test_films_one_at_a_time_and_only_of_worlds_that_import_nothing_foreign(serve: Serve, tmp_path: Path) -> None:
    from tests.conftest import finished_run

    run, _ = finished_run(tmp_path / "runs", **{"run.name": "real"})
    shutil.copytree(run.folder, tmp_path / "runs" / "foreign")
    told = json.loads((run.folder / "run.json").read_text())
    told["config"]["world"]["name"] = "evil_module:World"
    (tmp_path / "runs" / "foreign" / "run.json").write_text(json.dumps(told))
    shutil.copytree(run.folder, tmp_path / "runs" / "linked")
    (tmp_path / "outside").mkdir()
    (tmp_path / "runs" / "linked" / "media").symlink_to(tmp_path / "outside")
    served = serve("--root", tmp_path / "runs")
    status, answer = served.post("/api/film", {"run": "foreign"})
    assert status == 400 and "holdfast play" in answer["error"]
    assert served.post("/api/film", {"run": "linked"})[0] == 400
    for wrong in ({"checkpoint": "../x"}, {"episode": -1}, {"episode": True}, {"sampled": "yes"}):
        assert served.post("/api/film", {"run": "real", **wrong})[0] == 400
    status, job = served.post("/api/film", {"run": "real", "sampled": True})
    assert status == 200 and job["state"] == "running"
    status, answer = served.post("/api/film", {"run": "real"})
    assert status == 400 and "one at a time" in answer["error"]
    done = served.wait("/api/run?id=real", lambda found: found["film"]["state"] != "running", 60)
    assert done["film"]["state"] == "done", done["film"]
    assert [one["name"] for one in done["media"]] == [job["name"]]
    status, headers, body = served.ask(f"/media?run=real&name={job['name']}", range="bytes=0-99")
    assert status == 206 and len(body) == 100 and headers["content-type"] == "video/mp4"
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_film_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.views.dashboard import films
    from holdfast.views.dashboard.folder import Folder

    sleeper = [
        sys.executable,
        "-c",
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(99)'])",
    ]
    monkeypatch.setattr(films, "command_of", lambda *given: (sleeper, "x.mp4"))
    made = films.Films(limit_s=0.7)
    job = made.begin("a", Folder(tmp_path), "template", {})
    process = psutil.Process(made._process.pid)  # type: ignore[union-attr]
    time.sleep(0.4)
    children = process.children(recursive=True)
    assert children
    deadline = time.monotonic() + 10
    while job.state == "running" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.state == "failed" and "stopped after" in job.told
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive


def test_sections_of_a_game_come_from_the_report(serve: Serve, fish_run: Path) -> None:
    before = sorted(path.name for path in fish_run.iterdir())
    served = serve("--root", fish_run.parent)
    status, headers, page = served.ask(f"/api/run/sections?id={fish_run.name}")
    assert status == 200 and b"<h2>Schools</h2>" in page and b"<script" not in page
    assert "script" not in headers["content-security-policy"]
    assert sorted(path.name for path in fish_run.iterdir()) == before  # nothing was written
