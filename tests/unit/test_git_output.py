"""What a command writes is taken whole, and its end is waited for up to a limit."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

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


def test_where_a_process_has_no_descriptor_its_end_is_waited_for_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("os.pidfd_open", raising=False)
    with started("exec >&- 2>&-; sleep 0.1; exit 4") as process:
        assert read_to_end(process, 60.0) == (b"", b"")
    assert process.returncode == 4
