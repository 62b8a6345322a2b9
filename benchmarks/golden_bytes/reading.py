"""What a run leaves behind, as one JSON value: hashes of arrays, and every number that the seed decides.

Reads run folders by itself, so that it reads those of any commit. Wall-clock times, memory, paths, versions and lengths
of files are left out by name: `VARIES` lists them all.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

VARIES = frozenset(
    ("time", "created", "elapsed_s", "seconds", "agent_steps_per_s", "peak_memory_mb", "memory_mb", "phases", "wall_s")
    + ("cpu_s", "run_id", "id", "root", "command", "git", "software", "holdfast", "parent", "streams", "folder")
)  # keys whose values differ between two runs of one tree, between two places or between two versions
CLOCKS = ("timing", "heartbeat", "resources", "workers")  # streams of times, memory and processes
LONG = 16  # numbers; longer lists are kept as a hash
SPLIT = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "I64": np.int64, "I32": np.int32, "U8": np.uint8}


def read_run(folder: Path) -> dict[str, Any]:
    """Everything about a finished run that the same seed gives again."""
    arrays, documents = read_arrays(folder / "checkpoints")
    return {
        "arrays": arrays,
        "metrics": [lean(row) for row in read_lines(folder / "metrics.jsonl")],
        "events": [lean(event) for event in read_lines(folder / "events.jsonl")],
        "evals": {path.stem: lean(json.loads(path.read_text())) for path in sorted((folder / "evals").glob("*.json"))},
        "facts": {**documents, **read_facts(folder)},
        "streams": read_streams(folder),
        "files": read_files(folder),
    }


def read_streams(folder: Path) -> dict[str, Any]:
    """All other streams of JSON lines."""
    others = sorted(path for path in folder.glob("*.jsonl") if path.stem not in (*CLOCKS, "metrics", "events"))
    return {path.stem: [lean(row) for row in read_lines(path)] for path in others}


def read_files(folder: Path) -> dict[str, Any]:
    """Decks and films, array by array."""
    paths = sorted(path for path in folder.glob("*/*.npz"))
    return {path.relative_to(folder).as_posix(): npz_facts(path) for path in paths}


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def read_arrays(checkpoints: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last checkpoint's arrays as hashes, and those that hold JSON text as what they say."""
    name = (checkpoints / "latest").read_text().strip() if (checkpoints / "latest").is_file() else ""
    arrays, documents = {}, {}
    for path in sorted((checkpoints / name).glob("*.safetensors")) if name else []:
        for key, (kind, shape, content) in tensors(path.read_bytes()).items():
            found = as_json(content) if kind == "U8" else None
            if found is None:
                arrays[key] = array_facts(kind, shape, content)
            else:
                documents[key] = lean(found)
    return arrays, documents


def tensors(content: bytes) -> dict[str, tuple[str, list[int], bytes]]:
    """Type, shape and bytes of each tensor of a safetensors file."""
    length = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + length]), content[8 + length :]
    header.pop("__metadata__", None)
    return {
        name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])]) for name, entry in header.items()
    }


def array_facts(kind: str, shape: list[int], content: bytes) -> dict[str, Any]:
    facts: dict[str, Any] = {"dtype": kind, "shape": shape, "sha256": hashlib.sha256(content).hexdigest()}
    if kind.startswith("F") and kind in SPLIT and content:
        values = np.frombuffer(content, SPLIT[kind]).astype(np.float64)
        with np.errstate(all="ignore"):
            facts["mean"] = repr(float(values.mean()))  # only told beside a difference, never compared
    return facts


def as_json(content: bytes) -> Any:
    """The value if these bytes are the text of a JSON object."""
    if not content.startswith(b"{"):
        return None
    try:
        return json.loads(content)
    except ValueError:
        return None


def read_facts(folder: Path) -> dict[str, Any]:
    """Counts, results and what the last checkpoint says about itself and the curriculum."""
    pointer = folder / "checkpoints/latest"
    last = folder / "checkpoints" / (pointer.read_text().strip() if pointer.is_file() else "none")
    places = [path for path in sorted(folder.glob("*.json")) if path.name != "run.json"]
    places += [path for path in (last / "state.json", last / "meta.json") if path.is_file()]
    facts = {path.stem: lean(json.loads(path.read_text())) for path in places}
    for name in ("identity", "learner", "model"):  # whose run it is, and options, which the kind `presets` compares
        facts.get("meta", {}).pop(name, None)
    return facts


def npz_facts(path: Path) -> dict[str, Any]:
    """Hashes of arrays, and what the manifest of a deck says."""
    found: dict[str, Any] = {}
    with np.load(path, allow_pickle=False) as kept:
        for name in kept.files:
            value = kept[name]
            content = value if isinstance(value, bytes) else np.ascontiguousarray(value).tobytes()
            said = as_json(content)
            found[name] = hashlib.sha256(content).hexdigest() if said is None else lean(said)
    return found


def lean(value: Any) -> Any:
    """Without what varies between two runs of the same tree; long lists as hashes."""
    if isinstance(value, dict):
        return {key: lean(item) for key, item in value.items() if key not in VARIES}
    if isinstance(value, list):
        if len(value) > LONG and all(isinstance(item, int | float | bool | None) for item in value):
            return {"length": len(value), "sha256": hashlib.sha256(json.dumps(value).encode()).hexdigest()}
        return [lean(item) for item in value]
    return value
