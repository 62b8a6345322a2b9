"""Tags and notes that people give a run, kept beside it in `notes.json`."""

from __future__ import annotations

import json
import os
from typing import Any

from holdfast.kit.errors import HoldfastError
from holdfast.views.dashboard.folder import Folder

NOTES = "notes.json"
MOST_TAGS, LONGEST_TAG, LONGEST_NOTES = 20, 60, 20_000


class NotesError(HoldfastError):
    """Notes that cannot be kept."""


def keep_notes(folder: Folder, asked: dict[str, Any]) -> dict[str, Any]:
    """Write both whole; NotesError says what is wrong with them."""
    tags, notes = asked.get("tags"), asked.get("notes")
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags) or not isinstance(notes, str):
        raise NotesError("tags are a list of texts, notes a text")
    tags = list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    if len(tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG or "\n" in tag for tag in tags):
        raise NotesError(f"at most {MOST_TAGS} tags of {LONGEST_TAG} characters each")
    if len(notes) > LONGEST_NOTES:
        raise NotesError(f"notes have at most {LONGEST_NOTES} characters")
    kept = {"tags": tags, "notes": notes}
    try:
        folder.write(NOTES, json.dumps(kept, indent=1).encode())
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        raise NotesError(f"{folder.path / NOTES} cannot be written: {reason}") from error
    return kept
