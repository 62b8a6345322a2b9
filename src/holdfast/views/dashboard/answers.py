"""From a request to an answer: its parameters read, the work done in a thread, mistakes told in a sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from holdfast.kit.errors import HoldfastError, UnknownName
from holdfast.views.dashboard.curves import AXES, FEWEST_POINTS, MOST_POINTS, WIDEST, Wanted
from holdfast.views.dashboard.filters import FilterError

Answer = dict[str, Any]


def wanted_of(request: Request) -> Wanted:
    """Which curves a request asks for; FilterError names what is wrong."""
    asked = request.query_params
    axis = asked.get("x", "iteration")
    if axis not in AXES:
        raise FilterError(f"x={axis[:40]!r}: must be one of {', '.join(AXES)}")
    points = int(_number(asked.get("points", "600"), FEWEST_POINTS, MOST_POINTS))
    smooth = int(_number(asked.get("smooth", "1"), 1, WIDEST))
    begin = _number(asked.get("from", "-inf"), -math.inf, math.inf)
    end = _number(asked.get("to", "inf"), -math.inf, math.inf)
    return Wanted(axis, tuple(asked.getlist("name")), points, smooth, begin, end)


def _number(text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        raise FilterError(f"{text[:40]!r} is not a number") from None
    if not low <= value <= high:  # also refuses NaN
        raise FilterError(f"{text[:40]} is not between {low:g} and {high:g}")
    return value


def answering(call: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """A question answered in a thread; mistakes of whoever asks come back as a sentence."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(_answer, lambda: call(request))

    return endpoint


def doing(call: Callable[[Answer], Any]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        body = await request.body()
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            return as_json({"error": "a JSON object is expected"}, 400)
        return await run_in_threadpool(_answer, lambda: call(asked))

    return endpoint


def _answer(make: Callable[[], Any]) -> Response:
    try:
        found = make()
    except UnknownName as error:
        return as_json({"error": str(error)}, 404)
    except HoldfastError as error:
        return as_json({"error": str(error)}, 400)
    except OSError as error:
        return as_json({"error": f"the disk refused: {error.strerror or error}"}, 500)
    return found if isinstance(found, Response) else as_json(found)


def as_json(content: Any, status: int = 200) -> Response:
    text = json.dumps(content, allow_nan=False)
    return Response(text, status, {"cache-control": "no-store"}, "application/json")
