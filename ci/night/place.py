"""place.py: where nights are: their folders and files, the lock, the machine that they run on."""
import datetime
import errno
import fcntl
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import tables

SCHEMA = 1
GOES_ON = 20 * 3600  # seconds: an incomplete night younger than this goes on, an older one stays as it is


def now():
    return datetime.datetime.now().astimezone()


def stamp():
    return now().isoformat(timespec="seconds")


# ---- what the machine says ----

def ask(*argv, seconds=60, env=None):
    """The output of a program, with its exit code; 127 and why where it does not say anything in time."""
    try:
        return subprocess.run(argv, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=seconds, check=False, env={**os.environ, **(env or {})})
    except (OSError, subprocess.SubprocessError) as trouble:
        return subprocess.CompletedProcess(argv, 127, "", str(trouble))


def machine():
    """(class of host, driver): its GPUs, or where there are none its processor."""
    cards = [line.split(", ") for line in ask(
        "nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").stdout.splitlines()]
    names = [card[0] for card in cards if len(card) == 2]
    if names:
        return " ".join(f"{names.count(name)}x {name}" for name in dict.fromkeys(names)), cards[0][1]
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return f"{os.cpu_count()} cores {match[1].strip() if match else os.uname().machine}", ""


# ---- files ----

def write_json(path, document):
    """Whole or not at all, and on the disk when this returns."""
    tables.save(path, json.dumps(document, indent=1), sync=True)


def read_json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def hosts_of(said):
    """The hosts of what `health --json` printed; nights before version 1 keep a list alone. None: it is neither."""
    hosts = said.get("hosts") if isinstance(said, dict) else said
    return hosts if isinstance(hosts, list) else None


def tail(path):
    """The last line of a text, without the program's name."""
    try:
        lines = path.read_bytes()[-4096:].decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1][:500] if lines else ""


def lock(reports):
    """The file whose lock keeps nights of this host apart, None where another holds it."""
    file = open(reports / f".lock-{os.uname().nodename}", "a+", encoding="utf-8")  # noqa: SIM115
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        print(f"nightly: another night is running: {file.read().strip()}", file=sys.stderr)
        return None
    file.truncate(0)
    file.write(f"process {os.getpid()}, since {stamp()}\n")
    file.flush()
    return file


# ---- which night ----

def fresh(config, folder, host_class, driver):
    return {"schema": SCHEMA, "date": folder.name[:10], "host": os.uname().nodename, "host_class": host_class, "nccl": "",
            "driver": driver, "state": "incomplete", "exit": 1, "started": stamp(), "ended": "", "config": config.text,
            "runs": [{"name": run.name, "kind": run.kind, "command": "", "planned": run.launches, "fault": run.fault,
                      "expect": run.expect, "status": "not-run", "why": "", "launches": []} for run in config.runs],
            "findings": [], "comparisons": []}


def goes_on(document, config):
    """An incomplete night of this host and this configuration that is not too old."""
    if not document or document.get("schema") != SCHEMA or document["state"] == "complete":
        return False
    age = (now() - datetime.datetime.fromisoformat(document["started"])).total_seconds()
    return document["host"] == os.uname().nodename and document["config"] == config.text and age < GOES_ON


def nights(reports):
    """Folders of nights, the newest last."""
    found = [path.parent for path in reports.glob("*/night.json")]
    return sorted(found, key=lambda path: ((read_json(path / "night.json") or {}).get("started", ""), path.name))


def folder_of(config):
    """(folder, its night.json or None): the night that goes on, or a new one."""
    for folder in reversed(nights(config.reports)):
        document = read_json(folder / "night.json")
        if goes_on(document, config):
            return folder, document
    for number in range(1, 1000):
        folder = config.reports / (f"{now():%Y-%m-%d}" + (f"-{number}" if number > 1 else ""))
        try:
            folder.mkdir()
            return folder, None
        except FileExistsError:
            continue
    raise OSError(errno.EEXIST, "a thousand nights today", str(config.reports))


# ---- baselines ----

def slug(text):
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-") or "unknown"


def baseline_path(folder, host_class, library):
    return folder / f"{slug(host_class)}--{slug(library)}.json"
