"""The journal: what is acknowledged is read back, what is torn is cut, what is damaged is never passed over."""

import json
import os
import zlib
from pathlib import Path

import pytest

from omagy_autoresearch.candidate import CandidateStatus
from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.events import Applied, Record
from omagy_autoresearch.sessions import EndingKind, Usage
from omagy_supervisor.adapters.journal import FileJournal, decode_line, encode_line, read_journal
from unit.histories import START, History, broken, plan


def _history() -> History:
    """One record at least of every kind that a run writes."""
    history = History(plan(mission_text="naïve\n\u2028\x1b\0 text")).measured().kept().candidate(broken())
    history.session(kind=EndingKind.UNREACHABLE, usage=Usage(1, 2, 3, 4))
    return history


@pytest.fixture
def path(tmp_path: Path) -> Path:
    journal = FileJournal(tmp_path / "journal.jsonl", 0)
    for record in _history().records:
        journal.append(record)
    journal.close()
    return tmp_path / "journal.jsonl"


def test_what_was_appended_is_read_back(path: Path) -> None:
    """Every record survives, and all of the file is whole."""
    records, whole = read_journal(path)
    assert records == _history().records
    assert whole == path.stat().st_size


def test_each_record_is_one_line_with_its_checksum(path: Path) -> None:
    """A line is eight hexadecimal digits, a blank and JSON: people and other programs can read it."""
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert len(lines) == len(_history().records)
    for line in lines:
        assert int(line[:8], 16) == zlib.crc32(line[9:])
        assert {"at", "elapsed_s", "event"} == set(json.loads(line[9:]))


def test_a_tail_torn_at_any_byte_is_cut_to_the_last_whole_record(tmp_path: Path) -> None:
    """Wherever a write was cut off, everything before it is read and nothing of it is believed."""
    records = _history().records[-3:]
    lines = [encode_line(record) for record in records]
    path = tmp_path / "j"
    for kept in range(len(lines[-1])):
        path.write_bytes(b"".join(lines[:-1]) + lines[-1][:kept])
        found, whole = read_journal(path)
        assert found == records[:-1]
        assert whole == len(b"".join(lines[:-1]))


def test_a_tail_that_holds_anything_is_cut(path: Path) -> None:
    """After a power cut the last block can hold zeros or somebody else's bytes."""
    sound = path.read_bytes()
    for tail in (b"\0" * 512, b"\xff" * 9, b"\n", b"deadbeef {}", b"deadbeef {}\n", b"0x00beef {}\n", b"        x\n"):
        path.write_bytes(sound + tail)
        assert read_journal(path) == (_history().records, len(sound))


def test_a_flipped_bit_anywhere_before_the_last_line_is_an_error(tmp_path: Path) -> None:
    """No record in the middle is skipped or misread: the error names the file and the line."""
    records = _history().records[:4]
    lines = [encode_line(record) for record in records]
    path = tmp_path / "j"
    begin, length = len(lines[0]), len(lines[1])
    for position in range(begin, begin + length):
        data = bytearray(b"".join(lines))
        data[position] ^= 1 << (position % 8)
        path.write_bytes(data)
        try:
            found, whole = read_journal(path)
        except StorageError as error:
            assert f"{path}:" in error.message  # noqa: PT017 - either outcome is right
            assert "is damaged" in error.message  # noqa: PT017
        else:
            assert (found, whole) == (records, len(data)), "only a digit of the checksum may differ in its case"


def test_a_line_that_was_taken_out_of_its_place_is_read_but_does_not_fold(path: Path) -> None:
    """Lines are whole each for itself; that they follow one another is checked when they are folded."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + lines[2:]))
    assert len(read_journal(path)[0]) == len(lines) - 1


@pytest.mark.parametrize("data", [b'{"at":"2026-01-31T12:00:00Z"}', b"[]", b"\xff", b"[" * 5000, b"{}"])
def test_a_record_that_nobody_knows_is_an_error(tmp_path: Path, data: bytes) -> None:
    """A sound checksum does not make sense of a record from another program or a newer omagy."""
    path = tmp_path / "j"
    line = b"%08x %s\n" % (zlib.crc32(data), data)
    path.write_bytes(line + encode_line(_history().records[0]))
    with pytest.raises(StorageError, match=":1 is damaged"):
        read_journal(path)


@pytest.mark.parametrize(
    "line", [b"", b" ", b"0 x", b"xxxxxxxx {}", b"00000000", b"\xff\xff\xff\xff\xff\xff\xff\xff x"]
)
def test_a_line_without_a_checksum_is_refused(line: bytes) -> None:
    """Whatever stands in a line, the answer is a ValueError."""
    with pytest.raises(ValueError, match=r"checksum|invalid literal|codec|truncated"):
        decode_line(line)


def test_opening_cuts_what_is_not_whole_and_goes_on_behind_it(path: Path) -> None:
    """A torn tail is gone before the next record is written."""
    sound = path.read_bytes()
    path.write_bytes(sound + b"torn")
    records, whole = read_journal(path)
    journal = FileJournal(path, whole)
    assert path.read_bytes() == sound
    extra = Record(START, 1.0, Applied())
    journal.append(extra)
    journal.close()
    assert read_journal(path) == ([*records, extra], len(sound) + len(encode_line(extra)))


def test_every_record_is_durable_before_append_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synchronised after each write, not at the end."""
    synced: list[int] = []
    real = os.fsync

    def watched(fd: int) -> None:
        synced.append(os.fstat(fd).st_size)
        real(fd)

    monkeypatch.setattr(os, "fsync", watched)
    journal = FileJournal(path, path.stat().st_size)
    for _ in range(3):
        journal.append(Record(START, 1.0, Applied()))
        assert synced[-1] == path.stat().st_size
    journal.close()
    assert len(synced) == 4


def test_after_a_failed_write_nothing_more_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A descriptor that failed once is not believed again: the next start reads the file anew."""
    journal = FileJournal(path, path.stat().st_size)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", _full)
        with pytest.raises(StorageError, match="No space left") as caught:
            journal.append(Record(START, 1.0, Applied()))
        assert caught.value.recoverable
        assert caught.value.hint == "free some space, then resume"
    size = path.stat().st_size
    with pytest.raises(StorageError, match="closed after a failed write"):
        journal.append(Record(START, 1.0, Applied()))
    assert path.stat().st_size == size
    journal.close()


def _full(_fd: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_link_in_the_journals_place_is_not_followed(tmp_path: Path) -> None:
    """The journal is never written through a link."""
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "journal.jsonl").symlink_to(target)
    with pytest.raises(StorageError, match="cannot be written"):
        FileJournal(tmp_path / "journal.jsonl", 0)
    assert target.read_text() == "precious"


@pytest.mark.parametrize("make", [lambda _path: None, Path.mkdir])
def test_a_journal_that_cannot_be_read_is_an_error(tmp_path: Path, make: object) -> None:
    """A missing journal, and a folder in its place, are told by name."""
    path = tmp_path / "journal.jsonl"
    assert callable(make)
    make(path)
    with pytest.raises(StorageError, match=r"journal.jsonl cannot be read: "):
        read_journal(path)


def test_a_session_with_everything_in_it_survives_the_journal(tmp_path: Path) -> None:
    """Times, usage, notes, leftovers and questions are read back as they were."""
    history = History().measured()
    history.session(
        history.left(CandidateStatus.ABORT, dirty_files=("a\nb", "é"), leftovers_ref="refs/x", question_id="q"),
        kind=EndingKind.USAGE_LIMIT,
        resets_at=START,
        usage=Usage(1, 2, 3, 4),
        detail="é\u2028",
    ).decided()
    for record in history.records:
        assert decode_line(encode_line(record).removesuffix(b"\n")) == record


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    """A second one would cut it to what it had read of it."""
    path = tmp_path / "m-1/journal.jsonl"
    path.parent.mkdir()
    first = FileJournal(path, 0)
    path.write_bytes(b"written meanwhile")
    with pytest.raises(StorageError, match="is open in another supervisor") as caught:
        FileJournal(path, 0)
    assert caught.value.hint == "stop that first: omagy autoresearch stop m-1"
    assert path.read_bytes() == b"written meanwhile"
    first.close()
    FileJournal(path, 3).close()
    assert path.read_bytes() == b"wri"
