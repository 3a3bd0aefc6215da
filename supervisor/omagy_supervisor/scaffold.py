"""Writes a mission folder: whole or not at all, and never over another one (contract section 9)."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.mission_draft import MissionDraft, mission_files
from omagy_supervisor.adapters.missions import read_mission
from omagy_supervisor.files import cannot_write, make_folder, remove, write_atomic


def scaffold(root: Path, draft: MissionDraft) -> Path:
    """Write ``draft`` into its folder below the repository ``root``; returns the folder.

    Raises ContractError when something stands there already, or when the draft is no mission that could be run.
    """
    folder = root / draft.place
    if os.path.lexists(folder):
        raise ContractError(
            f"{draft.place} exists already, and a mission is never overwritten",
            "choose another name (--slug) or place (--dir)",
        )
    if not folder.parent.resolve().is_relative_to(root.resolve()):
        raise ContractError(f"{draft.place} leads out of the repository {root}", "choose another place (--dir)")
    make_folder(folder.parent)
    aside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.omagy-tmp")
    try:
        make_folder(aside)
        for name, text in mission_files(draft).items():
            write_atomic(aside / name, text.encode(), durable=True)
        read_mission(aside, draft.place)
        aside.rename(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        with suppress(OSError):
            remove(aside)
    return folder
