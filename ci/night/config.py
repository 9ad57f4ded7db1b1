"""config.py: the file that configures a night: read, checked as a whole, never changed.

Whatever is wrong is said with its place, all of it at once, before anything runs."""
import re
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

SCHEMA = 1
LEAST_LAUNCHES = 5  # compare.MIN_LAUNCHES: fewer permit no conclusion
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class ConfigError(Exception):
    """The errors of a configuration, a line each."""


@dataclass(frozen=True)
class Run:
    """A benchmark, or a program with a fault. `args` and `launcher` are words: no shell sees them."""
    name: str
    kind: str  # bench, fault
    program: str
    args: tuple = ()
    launcher: tuple = ()
    env: dict = field(default_factory=dict)
    launches: int = LEAST_LAUNCHES
    limit: float = 120
    fault: str = ""
    expect: str = ""


@dataclass(frozen=True)
class Config:
    """Times in seconds, sizes in bytes, thresholds in percent; paths are absolute. `text` is the file's."""
    reports: Path
    baselines: Path
    build: Path
    within: float
    min_free: int
    host_class: str
    page: bool
    chaos: float
    atlas: tuple
    min_effect: float
    min_vendor: float
    min_ceiling: float
    undecided: str
    launcher: tuple
    env: dict
    runs: tuple
    text: str


def spec_of(fault):
    """(name, ranks, moment, keys) of --fault's NAME[:RANKS][@OP][,key=value...], None if it is none."""
    match = re.fullmatch(r"([a-z0-9-]+)(?::(\d[\d,]*?))?(?:@(\w+))?(?:,([a-z].*))?", fault)
    if not match:
        return None
    return match[1], tuple(int(n) for n in (match[2] or "").split(",") if n), match[3] or "", match[4] or ""


# ---- one value: returned as it is used, or ValueError with what is needed ----

def text(value):
    if not isinstance(value, str):
        raise ValueError("a string is needed")
    if any(not c.isprintable() for c in value):
        raise ValueError("it holds a character that cannot be printed")
    return value


def needed(value):
    if not text(value):
        raise ValueError("it is missing")
    return value


def folder_name(value):
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_+=.,-]{0,63}", text(value)):
        raise ValueError("the name of a folder is needed: letters, digits, _+=.,-")
    return value


def fault(value):
    spec = spec_of(text(value))
    if not spec or (not spec[1] and spec[0] != "none"):
        raise ValueError("NAME:RANKS[@OP][,key=value...] is needed")
    return value


def words(value):
    """A string is split as a shell would; a list is taken as it is."""
    value = shlex.split(value) if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError("a string, or a list of strings, is needed")
    return tuple(text(word) for word in value)


def variables(value):
    if not isinstance(value, dict) or not all(re.fullmatch(r"[A-Za-z_]\w*", name, re.A) for name in value):
        raise ValueError('{ NAME = "value" } is needed')
    return {name: text(one) for name, one in value.items()}


def scaled(units, what):
    def parse(value):
        match = re.fullmatch(rf"(\d+(?:\.\d+)?)([{''.join(units)}]?)", str(value))
        if not match or isinstance(value, bool) or not float(match[1]):
            raise ValueError(f"{what} is needed")
        return float(match[1]) * units[match[2]]
    return parse


def one_of(*words):
    def parse(value):
        if value not in words:
            raise ValueError(f"{' or '.join(map(repr, words))} is needed")
        return value
    return parse


def number(low, high, kind=(int, float)):
    def parse(value):
        if not isinstance(value, kind) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"a number from {low} to {high} is needed")
        return value
    return parse


def flag(value):
    if not isinstance(value, bool):
        raise ValueError("true or false is needed")
    return value


# ---- tables: setting -> (default, what reads it) ----

duration = scaled(SECONDS, "a time such as 90s or 2m")
LAUNCHED = {"launcher": ([], words), "env": ({}, variables), "limit": ("2m", duration)}
NIGHT = {"reports": ("results/nightly", needed), "baselines": ("", text), "build": ("build", needed),
         "within": ("20m", duration), "min_free": ("64M", scaled(BYTES, "a size such as 64M")),
         "host_class": ("", text), "page": (True, flag), "chaos": (0, lambda value: value and duration(value)), "atlas": ([], words),
         "launches": (LEAST_LAUNCHES, number(LEAST_LAUNCHES, 1000, int)), **LAUNCHED}
THRESHOLDS = {"min_effect": (2, number(0.1, 1000)), "min_vendor": (0, number(0, 100)),
              "min_ceiling": (0, number(0, 100)), "undecided": ("finding", one_of("finding", "ok"))}
RUN = {"name": ("", folder_name), "program": ("", needed), "args": ([], words), **LAUNCHED}
RUNS = {"run": {**RUN, "launches": NIGHT["launches"]},
        "fault": {"fault": ("", fault), **RUN, "launches": (1, number(1, 1000, int)), "expect": ("", text)}}


def read_table(table, settings, where, wrong):
    """All settings, those that the table lacks with their defaults; what is wrong goes to `wrong`."""
    if not isinstance(table, dict):
        wrong.append(f"{where}: a table is needed")
        table = {}
    wrong += [f"{where}: {key} is no setting; allowed here: {' '.join(settings)}" for key in table.keys() - settings.keys()]
    found = {}
    for key, (default, parse) in settings.items():
        value = table.get(key, default)
        try:
            found[key] = parse(value)
        except ValueError as trouble:
            wrong.append(f"{where}: {key}: {trouble}, not {value!r}" if key in table else f"{where}: {key} is missing")
            found[key] = default
    return found


def read_run(key, table, where, night, wrong):
    """The night's settings are the defaults of a run's; variables add up."""
    table = {**({"name": re.sub(r"[:@]", "-", str(table.get("fault")))} if key == "fault" else {}), **table}
    common = ("launcher", "limit") + ("launches",) * (key == "run")
    settings = {name: (night[name] if name in common else default, parse)
                for name, (default, parse) in RUNS[key].items()}
    for name in common:  # they are values already
        if name not in table:
            settings[name] = (night[name], lambda value: value)
    found = read_table(table, settings, where, wrong)
    found["env"] = {**night["env"], **found["env"]}
    return Run(kind="bench" if key == "run" else "fault", **found)


def parse_config(source, path, top):
    """The configuration in the text `source`. Relative paths in it are of the folder `top`. Raises ConfigError."""
    try:
        document = tomllib.loads(source)
    except tomllib.TOMLDecodeError as trouble:
        raise ConfigError(f"{path}: {trouble}") from None
    if document.pop("schema", None) != SCHEMA:
        raise ConfigError(f"{path}: schema = {SCHEMA} is needed: this program reads no other")
    wrong, runs = [], []
    night = read_table(document.pop("night", {}), NIGHT, "[night]", wrong)
    limits = read_table(document.pop("thresholds", {}), THRESHOLDS, "[thresholds]", wrong)
    for key in RUNS:
        tables = document.pop(key, [])
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            wrong.append(f"{key}: tables [[{key}]] are needed")
            continue
        runs += [read_run(key, table, f"[[{key}]] {i}", night, wrong) for i, table in enumerate(tables, 1)]
    names = [run.name for run in runs]
    wrong += [f"name: {name!r} is taken twice" for name in sorted({n for n in names if names.count(n) > 1})]
    wrong += [f"{key} is no table; allowed: night thresholds run fault" for key in document]
    wrong += ["atlas: FOLDER A B is needed, a folder of ci/atlas and two libraries"] * (len(night["atlas"]) not in (0, 3))
    if not runs and not wrong:
        wrong.append("nothing to run: [[run]] or [[fault]] is needed")
    if wrong:
        raise ConfigError("\n".join(f"{path}: {line}" for line in wrong))
    reports = top / night["reports"]
    return Config(reports, top / night["baselines"] if night["baselines"] else reports / "baselines",
                  top / night["build"], night["within"], int(night["min_free"]), night["host_class"], night["page"], night["chaos"], tuple(night["atlas"]), **limits,
                  launcher=night["launcher"], env=night["env"], runs=tuple(runs), text=source)


def read(path, top):
    try:
        return parse_config(Path(path).read_text(encoding="utf-8"), path, top)
    except (OSError, UnicodeDecodeError) as trouble:
        raise ConfigError(f"{path}: {getattr(trouble, 'strerror', None) or trouble}") from None
