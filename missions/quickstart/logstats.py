"""Summarise the access log of a web shop: this is the program that the mission makes faster.

One line of the log; the last number is how many milliseconds the request took:

    10.3.0.17 - - [12/Mar/2025:06:25:01 +0000] "GET /basket?item=81 HTTP/1.1" 200 5120 37
"""

import math
import re
from datetime import datetime

LINE = (
    r"(?P<client>\S+) - (?P<user>\S+) \[(?P<time>[^\]]+)\] "
    r'"(?P<method>[A-Z]+) (?P<target>\S+) HTTP/1\.[01]" '
    r"(?P<status>\d{3}) (?P<bytes>\d+) (?P<ms>\d+)"
)
TOP_CLIENTS = 10


def parse(line):
    """Take one line apart; None when it is not a whole line of the log."""
    match = re.fullmatch(LINE, line)
    if match is None:
        return None
    entry = match.groupdict()
    entry["path"] = entry["target"].split("?")[0]
    entry["minute"] = datetime.strptime(entry["time"], "%d/%b/%Y:%H:%M:%S %z").strftime("%Y-%m-%dT%H:%M")
    entry["status"] = int(entry["status"])
    entry["bytes"] = int(entry["bytes"])
    entry["ms"] = int(entry["ms"])
    return entry


def p95(values):
    """The value that 95 % of the values do not exceed (nearest rank)."""
    return sorted(values)[math.ceil(len(values) * 95 / 100) - 1]


def summarise_path(entries, path):
    """Requests, bytes and slowness of one path."""
    mine = [entry for entry in entries if entry["path"] == path]
    return {
        "requests": len(mine),
        "bytes": sum(entry["bytes"] for entry in mine),
        "p95_ms": p95([entry["ms"] for entry in mine]),
    }


def top_clients(entries):
    """The busiest clients, each with its requests; equally busy ones in the order of their addresses."""
    clients = {entry["client"] for entry in entries}
    counts = [(client, sum(entry["client"] == client for entry in entries)) for client in clients]
    return sorted(counts, key=lambda count: (-count[1], count[0]))[:TOP_CLIENTS]


def errors_per_minute(entries):
    """Answers with status 500 and above, for each minute that has any."""
    errors = [entry["minute"] for entry in entries if entry["status"] >= 500]
    return {minute: errors.count(minute) for minute in errors}


def summarise(lines):
    """The summary of a log, given as a list of lines without their line ends."""
    parsed = [parse(line) for line in lines]
    entries = [entry for entry in parsed if entry is not None]
    paths = {entry["path"] for entry in entries}
    return {
        "requests": len(entries),
        "malformed": len(parsed) - len(entries),
        "paths": {path: summarise_path(entries, path) for path in paths},
        "top_clients": top_clients(entries),
        "errors_per_minute": errors_per_minute(entries),
    }
