"""Evaluate logstats.py: is its output right, and how much less work is it than reference.py?

The score is `CPU time of the reference / CPU time of the program` for small logs of the same kind. The two take
turns, log by log, so what slows the machine down slows both and cancels out; and of each the quarter of its
rounds that went best counts, because a disturbance only ever adds time.

What this defends against, and what not:

- Every round has a log of its own, made from a seed that is new in each evaluation and handed over only when
  the clock runs: remembering answers of earlier calls, or computing them ahead, gains nothing.
- The program runs in a process of its own, and its clock is read here, from the kernel: whatever it does to
  Python's clocks, to its modules or to stdout, it has to work out the right answer to get a score. A program
  that sleeps, or that lets another process work, is told by how often it gives its processor away: a busy machine
  takes that from others as well, but makes nobody pause. On Linux a process that it leaves tells it as well.
- A program that raises, exits, hangs, prints or floods its stdout gets `pass: false` and a reason.
- It does NOT contain a program that attacks the machine: one that edits these files, signals this process or
  eats all memory. omagy discards a candidate that touches anything but logstats.py, guard.py looks at what that
  may use, and reading what was kept is a person's job.

Where the kernel does not tell the CPU time of another process (macOS), elapsed time stands in for it, and the
time that we wait (up to about half of it) for the pauses: as honest, but noisier on a busy machine.
"""

import argparse
import contextlib
import ctypes
import itertools
import json
import os
import random
import re
import secrets
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LINES = 200
PAGES = 25
CLIENTS = 60
ROUNDS = 50
ANSWER_LIMIT_BYTES = 1_000_000
PR_SET_CHILD_SUBREAPER = 36
NOT_ITS_OWN = "the program sleeps or lets another process work: only work of its own can be measured"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class RejectedError(Exception):
    """The program did not do its work. `record` says why, in the words that go into the result."""

    def __init__(self, reason, **details):
        super().__init__(reason)
        self.record = {"reason": reason, **details}


def make_log(rng):
    """One log as bytes: half an hour of requests on some day, some pages and clients busier than others."""
    pages = [f"/{rng.choice(('shop', 'help', 'api', 'static'))}/{rng.getrandbits(24):06x}" for _ in range(PAGES)]
    clients = [f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}" for _ in range(CLIENTS)]
    day = f"{rng.randrange(1, 29):02}/{rng.choice(MONTHS)}/{rng.randrange(2015, 2030)}:{rng.randrange(24):02}"
    choices = zip(
        rng.choices(pages, range(PAGES, 0, -1), k=LINES),
        rng.choices(clients, range(CLIENTS, 0, -1), k=LINES),
        rng.choices((200, 304, 404, 500, 503), (80, 8, 6, 4, 2), k=LINES),
        strict=True,
    )
    lines = []
    for number, (page, client, status) in enumerate(choices):
        second = number * 1800 // LINES
        clock = f"{day}:{second // 60:02}:{second % 60:02} +0000"
        request = f'"GET {page}?item={rng.getrandbits(16)} HTTP/1.1" {status} {rng.getrandbits(15)}'
        line = f"{client} - - [{clock}] {request} {int(rng.expovariate(1 / 80)) + 1}"
        lines.append(line if number % 50 != 7 else line[: rng.randrange(len(line) // 2)])  # some are cut off
    return "\n".join(lines).encode()


def cpu_seconds(pid):
    """The CPU time of another process; elapsed time where the kernel does not tell."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # Linux's clock id of a process: clock_getcpuclockid(3)
    except OSError:
        return time.perf_counter()


def pauses(pid):
    """How often a process gave its processor away to wait for something; None where the kernel does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.MULTILINE)
    return int(found[1]) if found else None


def shorten(value):
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 200 else f"{text[:200]}…"


class Worker:
    """A process that summarises logs with one program."""

    def __init__(self, program):
        self.cpu_s = []
        self.elapsed_s = []
        self.pauses = []
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(HERE / "worker.py"), str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def read(self, key):
        """What the worker answers under this key. Raises RejectedError for anything else."""
        line = self.process.stdout.readline(ANSWER_LIMIT_BYTES)
        if not line:
            raise RejectedError("the program ended its process instead of giving a summary")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict) and "error" in message:
            raise RejectedError(f"the program failed: {message['error']}")
        if not isinstance(message, dict) or key not in message:
            got = shorten(line.decode(errors="replace"))
            raise RejectedError("the program wrote to stdout, where only its summary may stand", got=got)
        return message[key]

    def summarise(self, log):
        """The summary of a log; the seconds from handing over the log to holding the summary are noted."""
        self.pauses.append(pauses(self.process.pid))
        cpu_before, before = cpu_seconds(self.process.pid), time.perf_counter()
        try:
            self.process.stdin.write(b"%d\n" % len(log) + log)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended; what it said before that is in the other pipe
        summary = self.read("summary")
        self.elapsed_s.append(time.perf_counter() - before)
        self.cpu_s.append(cpu_seconds(self.process.pid) - cpu_before)
        return summary

    def usual_s(self):
        """Its CPU seconds for one log: the lower quartile."""
        return sorted(self.cpu_s)[len(self.cpu_s) // 4]

    def own_share(self):
        """How much of the time that we waited was its own work, in the least disturbed round."""
        return max(cpu / elapsed for cpu, elapsed in zip(self.cpu_s, self.elapsed_s, strict=True))

    def usual_pauses(self):
        """How often it paused from one log to the next, usually: once at most, for that log, when it works itself."""
        if None in self.pauses:
            return None
        return statistics.median(after - before for before, after in itertools.pairwise(self.pauses))

    def close(self):
        self.process.kill()
        self.process.wait()


def difference(expected, got, field=""):
    """The first field in which two summaries differ, as (name, expected, got); None when they are the same."""
    if isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys():
        inner = (difference(expected[key], got[key], f"{field}.{key}".lstrip(".")) for key in sorted(expected))
        return next((found for found in inner if found), None)
    same = json.dumps(expected, sort_keys=True) == json.dumps(got, sort_keys=True)  # tells 1, 1.0, true apart
    return None if same else (field or "summary", expected, got)


def compare(reference, program, rng):
    """One round. Raises RejectedError when the summaries differ."""
    log = make_log(rng)
    found = difference(reference.summarise(log), program.summarise(log))
    if found:
        field, expected, got = found
        reason = f"the summary differs from the reference in {field}"
        raise RejectedError(reason, field=field, expected=shorten(expected), got=shorten(got))


def measure(reference, program, rng):
    """The result of a program that gives the right summaries."""
    for _ in range(ROUNDS):
        compare(reference, program, rng)
    if leaves_work(program, reference) or not program.usual_s():
        raise RejectedError(NOT_ITS_OWN)
    return {
        "pass": True,
        "score": round(reference.usual_s() / program.usual_s(), 3),
        "reference_us": round(1e6 * reference.usual_s()),
        "program_us": round(1e6 * program.usual_s()),
    }


def leaves_work(program, reference):
    """Whether the program waits for something else than its logs."""
    paused, expected = program.usual_pauses(), reference.usual_pauses()
    if paused is None or expected is None:
        return program.own_share() < reference.own_share() / 2
    return paused > max(expected, 1)  # what works longer finds its next log already there, and waits for none


def out_of_time(_signal, _frame):
    raise RejectedError("the program did not finish in time")


def adopt_orphans():
    """Have what a program started become ours when the program ends; Linux alone can do that."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def any_orphans():
    """Whether a program left a process, living or dead."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def evaluate(seed, deadline_s):
    """The result as a dict. Raises RejectedError only when the reference itself cannot start."""
    adopt_orphans()
    reference, program = Worker(HERE / "reference.py"), Worker(HERE / "logstats.py")
    try:
        reference.read("ready")
        result = judge(reference, program, random.Random(seed), deadline_s)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        reference.close()
        program.close()
    return {"pass": False, "reason": NOT_ITS_OWN} if result["pass"] and any_orphans() else result


def judge(reference, program, rng, deadline_s):
    try:
        signal.signal(signal.SIGALRM, out_of_time)
        signal.setitimer(signal.ITIMER_REAL, deadline_s)
        program.read("ready")
        return measure(reference, program, rng)
    except RejectedError as rejected:
        return {"pass": False, **rejected.record}
    except RecursionError:
        return {"pass": False, "reason": "the summary is nested too deeply"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="repeat an evaluation's logs")
    parser.add_argument("--deadline", type=float, default=30, metavar="SECONDS")
    options = parser.parse_args()
    try:
        result = evaluate(options.seed, options.deadline)
    except RejectedError as fault:
        sys.exit(f"evaluate.py: reference.py does not work: {fault}")
    print(json.dumps({**result, "seed": options.seed}))


if __name__ == "__main__":
    main()
