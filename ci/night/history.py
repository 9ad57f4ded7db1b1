"""history.py: nights of several hosts in one SQLite file: what was measured, found, and on what.

Hosts may share the file over a network: so no WAL, whose shared memory stays on a host, but the
rollback journal, and a lock file beside it that a writer holds. A night is written whole or not at
all, and again when it is written a second time."""
import fcntl
import math
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

from tables import write_csv

SCHEMA = 1
BUSY = 60  # seconds that a writer waits for others
TREND = ("date", "host", "host_class", "nccl", "driver", "collective", "bytes", "mode", "placement", "busbw",
         "low", "high", "launches", "variant", "night", "exit")
TABLES = """
CREATE TABLE night (id INTEGER PRIMARY KEY, host TEXT NOT NULL, name TEXT NOT NULL, date TEXT NOT NULL,
    host_class TEXT NOT NULL, nccl TEXT NOT NULL, driver TEXT NOT NULL, state TEXT NOT NULL,
    exit INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, UNIQUE (host, name));
CREATE TABLE point (night INTEGER NOT NULL REFERENCES night ON DELETE CASCADE, collective TEXT NOT NULL,
    bytes INTEGER NOT NULL, mode TEXT NOT NULL, placement TEXT NOT NULL, variant TEXT NOT NULL,
    busbw REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, launches INTEGER NOT NULL);
CREATE TABLE finding (night INTEGER NOT NULL REFERENCES night ON DELETE CASCADE, severity TEXT NOT NULL,
    kind TEXT NOT NULL, run TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX point_night ON point (night);
"""


class HistoryError(Exception):
    """The file cannot be used; the text says why."""


@contextmanager
def opened(path):
    """The history, locked against other writers; made where there is none. Raises HistoryError, OSError."""
    with open(f"{path}.lock", "a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with closing(sqlite3.connect(path, timeout=BUSY, isolation_level=None)) as db:
                db.execute("PRAGMA foreign_keys = ON")
                db.execute("PRAGMA synchronous = FULL")
                db.execute("BEGIN IMMEDIATE")
                version = db.execute("PRAGMA user_version").fetchone()[0]
                if version == 0 and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                    for statement in TABLES.split(";"):
                        db.execute(statement)
                    db.execute(f"PRAGMA user_version = {SCHEMA}")
                elif version != SCHEMA:
                    raise HistoryError(f"{path}: a history of schema {version}; this program writes schema "
                                       f"{SCHEMA}: move it away, and a new one begins")
                yield db
                db.execute("COMMIT")
        except sqlite3.Error as trouble:
            raise HistoryError(f"{path}: {trouble}") from None


def summed(busbw):
    """(median, lowest, highest, launches) of one point: of five launches the outermost two hold the median
    in 94 of 100 cases."""
    values = [value for value in busbw if not math.isnan(value)]
    return (median(values), min(values), max(values), len(values)) if values else None


def add(path, name, night, points):
    """Notes the night `name`, a dict as night.json has it. `points`: Point -> bus bandwidths, one per launch."""
    keys = ("host", "date", "host_class", "nccl", "driver", "state", "exit", "started", "ended")
    with opened(path) as db:
        db.execute("DELETE FROM night WHERE host = ? AND name = ?", (night["host"], name))
        made = db.execute(f"INSERT INTO night (name, {', '.join(keys)}) VALUES (?{', ?' * len(keys)})",
                          (name, *(night[key] for key in keys))).lastrowid
        db.executemany("INSERT INTO point VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       [(made, p.collective, p.bytes, p.mode, p.placement, p.variant, *sums)
                        for p, busbw in points.items() if (sums := summed(busbw))])
        db.executemany("INSERT INTO finding VALUES (?, ?, ?, ?, ?)",
                       [(made, f["severity"], f["kind"], f["run"], f["text"]) for f in night["findings"]])


def write_trend(path, to, host_class):
    """All nights of a class of hosts, the oldest first, as a CSV file."""
    with opened(path) as db:
        rows = db.execute(
            "SELECT date, host, host_class, nccl, driver, collective, bytes, mode, placement, busbw, low, high, "
            "launches, variant, name, exit FROM night JOIN point ON point.night = night.id WHERE host_class = ? "
            "ORDER BY started, name, collective, mode, variant, placement, bytes", (host_class,)).fetchall()
    write_csv(Path(to), TREND, rows)
