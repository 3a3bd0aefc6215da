"""What a command writes is taken whole, and its end is waited for up to a limit."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSYS, EPERM, ESRCH

import pytest

from omagy_supervisor.adapters.git.output import read_to_end


@contextmanager
def started(script: str) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(["/bin/sh", "-c", script], stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def test_both_streams_come_whole_however_much_is_written() -> None:
    script = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; echo end; exit 3"
    with started(script) as process:
        out, err = read_to_end(process, 60.0)
    assert (len(out), out[-4:], len(err), process.returncode) == (300004, b"end\n", 200000, 3)


@pytest.mark.parametrize("script", ["exec >&- 2>&-; exec sleep 60", "exec sleep 60", "exec cat /dev/zero"])
def test_a_command_that_does_not_end_is_not_waited_for_without_end(script: str) -> None:
    """Whether it holds its output open, has closed it, or writes and writes."""
    with started(script) as process, pytest.raises(subprocess.TimeoutExpired):
        read_to_end(process, 0.2)


@pytest.mark.parametrize("errno", [0, ENOSYS, EPERM, ESRCH])
def test_where_a_process_has_no_descriptor_its_end_is_waited_for_all_the_same(
    monkeypatch: pytest.MonkeyPatch, errno: int
) -> None:
    """The interpreter, the kernel or a container can be without it, or it may be gone by then."""

    def refuse(_: int) -> int:
        raise OSError(errno, "refused")

    if errno:
        monkeypatch.setattr("os.pidfd_open", refuse, raising=False)
    else:
        monkeypatch.delattr("os.pidfd_open", raising=False)
    with started("exec >&- 2>&-; sleep 0.1; exit 4") as process:
        assert read_to_end(process, 60.0) == (b"", b"")
    assert process.returncode == 4


def test_time_that_the_machine_slept_is_not_held_against_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock that counts sleep jumps by hours in the middle of it."""
    hours = iter(range(0, 10**9, 7200))
    boot, real = getattr(time, "CLOCK_BOOTTIME", -1), time.clock_gettime
    monkeypatch.setattr("time.clock_gettime", lambda clock: float(next(hours)) if clock == boot else real(clock))
    with started("sleep 0.1; echo end") as process:
        assert read_to_end(process, 600.0) == (b"end\n", b"")
