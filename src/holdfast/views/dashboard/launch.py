"""`holdfast dashboard`: check what can go wrong before anything is served, then serve until interrupted."""

from __future__ import annotations

import argparse
import errno
import secrets
import socket
import sys
import webbrowser
from pathlib import Path
from typing import Any

from holdfast.kit.errors import ConfigError, HoldfastError, MissingPackage, RunFolderError
from holdfast.views.dashboard.guard import Door, is_loopback
from holdfast.views.dashboard.static_files import INSTALL

SHORTEST_TOKEN = 12
LAST_WAIT_S = 1  # for answers under way when it is interrupted


class PortInUse(HoldfastError):
    """Another program answers there."""


def dashboard(arguments: argparse.Namespace) -> int:
    """Serve the runs below a root; the status is 0 after an interruption."""
    door = door_of(arguments)
    roots = roots_of(arguments.root)
    listening = bound(door)
    door = door._replace(port=listening.getsockname()[1])
    uvicorn, made = loaded(door, roots)
    address = address_of(door.host, door.port)
    print(f"dashboard: {address}/  ({', '.join(str(root) for root in roots.values())}; Ctrl-C ends it)", flush=True)
    if door.token:
        print(f"with its token: {address}/?token={door.token}", flush=True)
    if arguments.open:
        webbrowser.open(f"{address}/?token={door.token}" if door.token else address)
    config = uvicorn.Config(
        made.app(), log_level="warning", access_log=False, server_header=False, ws="none",
        timeout_graceful_shutdown=LAST_WAIT_S, timeout_keep_alive=30,
    )  # fmt: skip
    try:
        _server(uvicorn, config, made).run(sockets=[listening])
    except KeyboardInterrupt:
        print("dashboard: stopped", file=sys.stderr)
    return 0


def _server(uvicorn: Any, config: Any, made: Any) -> Any:
    """A server that lets open pages go before it waits for them."""

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            made.hub.close()
            await super().shutdown(sockets)

    return Server(config)


def door_of(arguments: argparse.Namespace) -> Door:
    """Who may come in, as asked for on the command line."""
    problems = []
    if not 0 <= arguments.port <= 65535:
        problems.append(f"--port {arguments.port}: must be from 0 to 65535")
    token = arguments.token or ""
    if token == "auto":
        token = secrets.token_urlsafe(24)
    elif arguments.token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or " " in token):
        problems.append(f"--token: at least {SHORTEST_TOKEN} plain characters, or auto for a good one")
    if not token and not is_loopback(arguments.host):
        problems.append(f"--host {arguments.host}: others could read and steer; add --token auto")
    if problems:
        raise ConfigError(problems)
    return Door(arguments.host, arguments.port, token)


def roots_of(root: str) -> dict[str, Path]:
    """The folder of runs, and the folder of studies beside it."""
    folder = Path(root)
    if not folder.is_dir():
        raise RunFolderError(f"no folder {root}/ with runs; --root names it, and holdfast train makes it")
    if (folder / "run.json").is_file():
        raise RunFolderError(f"{root} is a run; --root names the folder that holds runs: {folder.resolve().parent}")
    beside = folder.resolve().parent / "studies"
    has_own = beside == folder.resolve() or (folder / "studies").exists()
    return {"": folder, "studies": beside} if beside.is_dir() and not has_own else {"": folder}


def loaded(door: Door, roots: dict[str, Path]) -> tuple[Any, Any]:
    """The server and what it serves; MissingPackage if the extra is not installed."""
    try:
        import uvicorn

        from holdfast.views.dashboard.app import Dashboard
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio", "h11"):
            raise
        raise MissingPackage(f"the dashboard needs {error.name}, which is not installed: {INSTALL}") from error
    from holdfast.views.dashboard.index import RunIndex

    return uvicorn, Dashboard(RunIndex(roots), door)


def bound(door: Door) -> socket.socket:
    """A socket that listens, so that a port in use is known before anything is said."""
    try:
        family, kind, number, _, place = socket.getaddrinfo(door.host, door.port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, number)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(
                f"port {door.port} of {door.host} is in use: choose another with --port, or --port 0 for a free one"
            ) from error
        raise ConfigError([f"--host {door.host} --port {door.port}: {error.strerror or error}"]) from error
    listening.listen(512)
    listening.setblocking(False)
    return listening


def address_of(host: str, port: int) -> str:
    shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
