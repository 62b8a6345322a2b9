"""Who may ask: the Host header against DNS rebinding, the token, the origin of writes, and what a page may load.

Plain ASGI, outside everything else, so that no answer leaves without its headers and no request goes round it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Plotly styles its elements through a <style> element that it makes, hence 'unsafe-inline' for styles. Scripts come
# from this server alone, and nothing can be sent anywhere else.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "media-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
OWN_HEADER = "x-holdfast"  # which a foreign page cannot set without being asked about first
MOST_BODY = 65_536


class Door(NamedTuple):
    """What the server was told about who may come in."""

    host: str  # that it is bound to
    port: int
    token: str = ""  # empty: none is asked for

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)

    @property
    def cookie(self) -> str:
        return f"holdfast_{self.port}"


class Refused(Exception):
    """A request that is not let in, with the answer it gets."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class Guard:
    """Lets requests through to the application that come from where they may."""

    def __init__(self, app: App, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} is spoken here")
        try:
            headers = _headers(scope)
            check_host(headers, self.door)
            cookie = self._check_token(scope, headers)
            check_write(scope["method"], headers)
        except Refused as refused:
            await _answer(send, refused.status, refused.text)
            return
        if cookie:
            await _answer(send, 303, "", {"location": without_token(scope), "set-cookie": cookie})
            return
        await self.app(scope, receive, _with_headers(send))

    def _check_token(self, scope: Scope, headers: dict[str, list[str]]) -> str:
        """The cookie to set, when the token came in the address; empty when it is known already or not asked for."""
        if not self.door.token:
            return ""
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
        if given is not None and scope["method"] == "GET":
            if not same_secret(given, self.door.token):
                raise Refused(401, "this token is wrong; the address that was printed at the start has the right one")
            return f"{self.door.cookie}={digest(self.door.token)}; Path=/; HttpOnly; SameSite=Strict"
        bearer = "".join(headers.get("authorization", [])).removeprefix("Bearer ")
        if same_secret(bearer, self.door.token):
            return ""
        if same_secret(_cookie(headers, self.door.cookie), digest(self.door.token)):
            return ""
        raise Refused(401, "a token is needed: open the address that was printed when the dashboard was started")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(headers: dict[str, list[str]], door: Door) -> None:
    """A page of another site can only reach us under a name of its own: names other than this machine's are refused."""
    found = headers.get("host", [])
    if len(found) != 1:
        raise Refused(400, "exactly one Host header is needed")
    name = host_name(found[0])
    if is_loopback(name) or (not door.is_local and (_is_address(name) or name in _own_names(door))):
        return
    raise Refused(421, "this Host is not served here; use an IP address, localhost or this machine's name")


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _own_names(door: Door) -> tuple[str, ...]:
    return (door.host.lower(), socket.gethostname().lower())


def check_write(method: str, headers: dict[str, list[str]]) -> None:
    """Writes come from our own pages only, never from a form or script of another site."""
    if method in ("GET", "HEAD"):
        return
    if method != "POST":
        raise Refused(405, f"{method} is not answered here")
    if headers.get(OWN_HEADER) != ["1"]:
        raise Refused(403, f"a write needs the header {OWN_HEADER}: 1")
    host = headers["host"][0]
    origins = headers.get("origin", [])
    if any(origin.partition("://")[2] != host for origin in origins):
        raise Refused(403, "a write from a page of another site")
    if headers.get("sec-fetch-site", ["same-origin"]) != ["same-origin"]:
        raise Refused(403, "a write from a page of another site")
    length = "".join(headers.get("content-length", []))
    if not length.isdecimal() or int(length) > MOST_BODY:
        raise Refused(413, f"a write has a length of at most {MOST_BODY} bytes")


def same_secret(given: str, wanted: str) -> bool:
    """Compared in a time that does not depend on where they differ, nor on their lengths."""
    return hmac.compare_digest(_hashed(given), _hashed(wanted))


def digest(token: str) -> str:
    """What the cookie holds, so that the token itself is not stored in a browser."""
    return hashlib.sha256(f"holdfast cookie {token}".encode()).hexdigest()


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", errors="surrogateescape")).digest()


def without_token(scope: Scope) -> str:
    kept = [(name, value) for name, value in parse_qsl(scope["query_string"].decode("latin-1")) if name != "token"]
    path = "/" + quote(str(scope["path"]).lstrip("/"))  # two slashes would name another host
    return f"{path}?{urlencode(kept)}" if kept else path


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _cookie(headers: dict[str, list[str]], name: str) -> str:
    try:
        jar = SimpleCookie("; ".join(headers.get("cookie", [])))
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", [])}
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    kind = {"content-type": "text/plain; charset=utf-8", "cache-control": "no-store"}
    told = {**HEADERS, **kind, **(headers or {})}
    pairs = [(name.encode(), value.encode("latin-1", errors="replace")) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": text.encode() + b"\n"})
