"""The outer shape of a full deck: a ZIP of NumPy arrays and one JSON manifest, which `numpy.load` can open too.

A file from anywhere may be read: no pickles, and no array is allocated before its size was compared with the bytes that
are really there. The same content gives the same bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from holdfast.curriculum.deck_errors import DeckError
from holdfast.kit.disk import replace_file

MANIFEST = "manifest.json"
LARGEST_BYTES = 1 << 31  # of all arrays together
LARGEST_MANIFEST = 1 << 24
LONGEST_HEADER = 10_000
EPOCH = (1980, 1, 1, 0, 0, 0)


class Archive(NamedTuple):
    """What is in a file."""

    manifest: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write_archive(path: Path, archive: Archive) -> None:
    """In one move: an older file of that name is replaced whole."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as folder:
        listed = {**archive.manifest, "arrays": sorted(archive.arrays)}
        _add(folder, MANIFEST, json.dumps(listed, indent=1).encode())
        for name, array in archive.arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            _add(folder, f"{name}.npy", member.getvalue())
    replace_file(path, content.getvalue())


def _add(folder: zipfile.ZipFile, name: str, content: bytes) -> None:
    folder.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)


def read_archive(path: Path) -> Archive:
    """DeckError naming the file and the part of it that is wrong."""
    part = "the list of its parts"
    try:
        with zipfile.ZipFile(path) as folder:
            _check_sizes(path, folder.infolist())
            part = MANIFEST
            manifest = _read_manifest(path, folder)
            arrays = {}
            for member in folder.infolist():
                if member.filename != MANIFEST:
                    part = member.filename
                    arrays[part.removesuffix(".npy")] = _read_array(path, folder, member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DeckError(f"deck {path} is damaged: {part}: {error}") from error
    _check_names(path, manifest, set(arrays))
    return Archive(manifest, arrays)


def _check_names(path: Path, manifest: dict[str, Any], found: set[str]) -> None:
    """A damaged list of parts can hide one of them; the manifest knows them all."""
    listed = manifest.get("arrays")
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise DeckError(f"deck {path}: {MANIFEST}: arrays is missing or no list of names")
    if found != set(listed):
        wrong = ", ".join(sorted(found ^ set(listed)))
        raise DeckError(f"deck {path} is damaged: {MANIFEST} and the arrays do not agree about {wrong}")


def _check_sizes(path: Path, members: list[zipfile.ZipInfo]) -> None:
    names = [member.filename for member in members]
    if MANIFEST not in names:
        raise DeckError(f"deck {path} has no {MANIFEST}: it is some other ZIP file")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DeckError(f"deck {path} has several parts named {', '.join(repeated)}")
    strangers = [name for name in names if name != MANIFEST and not name.endswith(".npy")]
    if strangers:
        raise DeckError(f"deck {path} has a part that is no array: {', '.join(strangers)}")
    total = sum(member.file_size for member in members)
    if total > LARGEST_BYTES:
        raise DeckError(f"deck {path} would need {total} bytes, more than {LARGEST_BYTES}: it is refused unread")


def _read_manifest(path: Path, folder: zipfile.ZipFile) -> dict[str, Any]:
    size = folder.getinfo(MANIFEST).file_size
    if size > LARGEST_MANIFEST:
        raise DeckError(f"deck {path}: {MANIFEST} has {size} bytes, more than {LARGEST_MANIFEST}")
    try:
        found = json.loads(folder.read(MANIFEST))
    except ValueError as error:
        raise DeckError(f"deck {path} is damaged: {MANIFEST} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise DeckError(f"deck {path} is damaged: {MANIFEST} is not a JSON object")
    return found


def _read_array(path: Path, folder: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    try:
        with folder.open(member) as file:
            _check_header(file, member.file_size)
        with folder.open(member) as file:
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
            return array
    except (ValueError, OverflowError, SyntaxError) as error:
        raise DeckError(f"deck {path} is damaged: {member.filename}: {error}") from error


def _check_header(file: IO[bytes], size: int) -> None:
    """ValueError unless the header promises exactly the bytes that follow it, of plain numbers."""
    version = np.lib.format.read_magic(file)
    readers: Mapping[tuple[int, int], Any] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"array format {version} is unknown")
    shape, _, dtype = readers[version](file, max_header_size=LONGEST_HEADER)
    if dtype.hasobject or dtype.kind not in "biuf":
        raise ValueError(f"{dtype} is no plain number; pickled objects are never read")
    if any(length < 0 for length in shape):
        raise ValueError(f"shape {shape} is negative")
    count = 1
    for length in shape:
        count *= length  # Python's own whole numbers: these cannot overflow
    if count * dtype.itemsize != size - file.tell():
        raise ValueError(f"shape {shape} of {dtype} does not fit the {size - file.tell()} bytes that follow")
