"""What a supervisor is asked to do. Travels from the command line to the supervisor's own process."""

import msgspec
from msgspec import Struct

from omagy_autoresearch.plan import Overrides, RunPlan


class Fresh(Struct, frozen=True, tag=True):
    plan: RunPlan

    @property
    def repo_root(self) -> str:
        return self.plan.repo_root

    @property
    def run_id(self) -> str:
        return self.plan.run_id


class Resume(Struct, frozen=True, tag=True):
    repo_root: str
    run_id: str
    overrides: Overrides
    save_leftovers: bool = False


Request = Fresh | Resume


class Reply(Struct, frozen=True):
    """How a start went: ``error`` is empty when the run is under way."""

    error: str = ""
    hint: str = ""
    exit_status: int = 0


def encode_request(request: Request) -> str:
    return msgspec.json.encode(request).decode()


def decode_request(text: str) -> Request:
    return msgspec.json.decode(text, type=Request)
