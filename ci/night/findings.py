"""findings.py: what a night's launches and comparisons mean: findings, and the exit code they make.

Pure functions over values; night.py brings them from files and processes."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))
import score  # noqa: E402
from cells import expectation  # noqa: E402
from config import spec_of  # noqa: E402
from launch import LIMIT_EXIT, NOT_STARTED  # noqa: E402

SEVERITIES = ("failed", "regression", "low", "warning", "info")
# Exit codes as README's table, the most serious first; a kind that is not here makes 1.
SERIOUS = (14, 11, 10, 12, 16, 15, 1, 20, 13, 17)
EXITS = {"died": 14, "error": 11, "hang": 10, "wrong-data": 12, "diverged": 16, "slow-rank": 15,
         "not-fired": 20, "slower": 13, "below": 13, "below-vendor": 13, "below-ceiling": 13, "health": 13,
         "undecided": 17, "lacks": 77}
MEASURED = (0, 13)  # exit codes of a launch whose rows count
LEFT_AFTER = 2  # launches of a run that ended abnormally, then the rest of them is left out
TO_DO = {
    "hang": "hang_diagnose on the evidence; README of faults/ lists the classes",
    "wrong-data": "take the host out of service until it is known where the data change",
    "usage": "run the command by hand: the program refuses its options",
    "failed": "see err.txt of the launch",
    "left-behind": "run the command by hand and look which of its processes stays",
    "slower": "ci/perf_compare BASELINE NIGHT says more; ci/nightly --accept when it is meant to stay",
    "undecided": "more launches, or a quieter host: ci/perf_compare BASELINE NIGHT says how many; undecided = \"ok\" lets it pass",
    "fault-missed": "the detection itself is not to be trusted until this is mended: ci/faults/matrix ONLY=FAULT",
    "atlas": "atlas/out.txt has the cells; those that are now silent are the ones to look at",
    "chaos": "chaos/summary.txt has the seeds: ci/faults/chaos OUT --seeds SEED runs one again",
    "not-fired": "the fault does not fit this run: see its --list-faults",
    "disk": "free space, then start the same command again: it goes on",
    "incomplete": "start the same command again: it goes on",
    "below": "reconcile RUN says what makes rows slow",
    "baseline": "ci/nightly --accept makes one of a night"}


def finding(severity, kind, run, text, evidence="", what_to_do=None):
    return {"severity": severity, "kind": kind, "run": run, "text": text,
            "what_to_do": TO_DO.get(kind, "") if what_to_do is None else what_to_do, "evidence": evidence}


# ---- one launch ----

def verdict_of(out):
    """The verdict line as night.json keeps it; None without one. With two the first counts."""
    try:
        line = score.verdict_line(out)
    except ValueError:
        line = score.verdict_line(out[:out.rindex("# verdict:")])
    if line is None:
        return None
    keep = ("outcome", "class", "ranks", "comm", "seq", "confidence", "side", "hosts", "detect_ms", "evidence")
    return {key: line[key] for key in keep if key in line}


def named(verdict):
    where = "" if verdict.get("seq", "-1").startswith("-") else \
        f", call {verdict['seq']} of communicator {verdict.get('comm', '?')}"
    ranks = verdict.get("ranks", "-")
    who = "nobody named" if ranks in ("-", "") else f"rank{'s' if ',' in ranks else ''} {ranks}"
    return f"{verdict.get('class', '?')}, {who}{where} ({verdict.get('confidence', '?')})"


def abnormal(launch):
    """(severity, kind, text) of a benchmark's launch; None where nothing was wrong."""
    code, verdict, why = launch["exit"], launch["verdict"], launch.get("why", "")
    outcome = verdict["outcome"] if verdict else score.outcome_of(code)
    if code == 77:
        return "info", "lacks", f"cannot run here: {why}"
    if code in (LIMIT_EXIT, 137) and not verdict:
        return "failed", "hang", "did not end within its limit and was killed; it said no verdict"
    if verdict and outcome not in ("ok", "slow"):
        kind = outcome if outcome in EXITS else "failed"
        return "failed", kind, f"{outcome}: {named(verdict)}"
    if code == 13:
        return "low", "below", "below what its options ask for (exit 13)"
    if code == 0:
        return None
    kind = outcome if outcome in EXITS or outcome == "usage" else "failed"
    what = "did not start" if code == NOT_STARTED else f"exit {code}"
    return "failed", kind, f"{what}: {why or 'it said nothing'}"


def counts(launch):
    """The rows of the launch are measurements."""
    return launch["exit"] in MEASURED and not (launch["verdict"] and launch["exit"] != 13)


def give_up(launches):
    """So often was it abnormal, or it takes so long to fail, that more of it tells nothing."""
    bad = [launch for launch in launches if abnormal(launch) and launch["exit"] != 13]
    return len(bad) >= LEFT_AFTER or any(one["exit"] in (LIMIT_EXIT, 77, 2, NOT_STARTED) for one in bad)


def signature(text):
    """A verdict without the number of its call: the same when it happens again."""
    return re.sub(r", call \d+ of", ", call of", text)


def bench_findings(run):
    """Findings of a benchmark's launches: what is the same is said once, with how often."""
    groups = {}
    for launch in run["launches"]:
        wrong = abnormal(launch)
        if wrong:
            groups.setdefault((*wrong[:2], signature(wrong[2])), []).append((wrong[2], launch))
    found, total = [], len(run["launches"])
    for (severity, kind, _), group in groups.items():
        text, launch = group[0]
        often = f", in {len(group)} of {total} launches" if total > 1 else ""
        verdict = launch["verdict"] or {}
        found.append(finding(severity, kind, run["name"], f"{run['name']}: {text}{often}",
                             verdict.get("evidence") or launch["dir"], launch.get("fix") or None))
    for launch in run["launches"]:
        if launch.get("left"):
            found.append(finding("warning", "left-behind", run["name"],
                                 f"{run['name']}: {launch['left']} processes were left and ended", launch["dir"]))
    notes = [(note, launch) for launch in run["launches"] for note in launch.get("notes", [])]
    if notes:
        often = f" (and {len(notes) - 1} more such notes)" if len(notes) > 1 else ""
        found.append(finding("warning", "torn", run["name"], f"{run['name']}: {notes[0][0]}{often}", notes[0][1]["dir"]))
    return found


# ---- one fault ----

def expected_by_hand(expect, verdict, code):
    """Against OUTCOME[:CLASS[:RANKS]] of the configuration, alternatives with "|"; "" when right."""
    said = verdict or {"outcome": score.outcome_of(code), "class": "-", "ranks": "-"}
    for key, want in zip(("outcome", "class", "ranks"), expect.split(":")):
        if want and said[key] not in want.split("|"):
            return f"{key} {said[key]} instead of {want}"
    return ""


def cell_of(run, facts):
    """The cell of the fault matrix that a run is. `facts`: collective, backend, ranks, mode, schedule and
    share_gpu, as the launch tells them."""
    fault, ranks, moment, keys = spec_of(run["fault"])
    transport = "mpi" if facts["backend"] == "mpi" else "net" if facts["share_gpu"] else "p2p"
    when = "-" if fault == "none" else moment if moment in ("init", "first") else "default"
    return {"fault": fault, "keys": keys.replace(",", " "), "collective": facts["collective"],
            "transport": transport, "when": when, "schedule": facts["schedule"], "mode": facts["mode"],
            "ranks": str(facts["ranks"]), "culprits": ",".join(map(str, ranks)), "size": "", "dtype": ""}


def fault_wrong(run, launch, facts):
    """("", what it was) when a fault ended as it must; else (kind, why)."""
    verdict, code = launch["verdict"], launch["exit"]
    said = f"{verdict['outcome']}: {named(verdict)}" if verdict else score.outcome_of(code)
    if code == 77:
        return "lacks", f"cannot run here: {launch.get('why', '')}"
    if code == 20:
        return "not-fired", "did not fire"
    if code in (2, NOT_STARTED):
        return "usage", f"did not start: {launch.get('why', '')}"
    if run["expect"]:
        why = expected_by_hand(run["expect"], verdict, code)
        return "fault-missed" * bool(why), why or said
    cell = cell_of(run, facts)
    row = expectation(cell)
    shots = facts["shots"] if cell["fault"] != "none" else {}
    if row is None:
        return "fault-missed", f"ci/faults/expected.csv has no row for {run['fault']}: give `expect`"
    if not shots and cell["fault"] != "none":
        return "not-fired", f"nothing says that it fired; it ended with {said}"
    why = score.fault_of(row, shots, cell, score.from_line(verdict, code) | facts.get("interval", {}))
    return "fault-missed" * bool(why), why and f"{why}; it said {said}" or said


def fault_findings(run):
    """Findings of a fault's launches, whose `kind` and `why` fault_wrong has said."""
    found = []
    for i, launch in enumerate(run["launches"], 1):
        if launch["wrong"]:
            severity = "info" if launch["wrong"] == "lacks" else "failed"
            often = f" (launch {i} of {len(run['launches'])})" if len(run["launches"]) > 1 else ""
            found.append(finding(severity, launch["wrong"], run["name"],
                                 f"fault {run['name']}{often}: {launch['why']}",
                                 (launch["verdict"] or {}).get("evidence") or launch["dir"]))
        if launch.get("left"):
            found.append(finding("warning", "left-behind", run["name"],
                                 f"fault {run['name']}: {launch['left']} processes were left and ended",
                                 launch["dir"]))
    return found


# ---- comparisons ----

def blame(differences):
    """The settings that changed between the baseline's launches and the night's, in words; "" where nothing did."""
    return differences and "Changed since the baseline: " + "; ".join(
        f"{d.name}: {d.base} before, {d.new} now" for d in differences)


def untold_findings(untold, changed, owners, unsure):
    """One finding a collective with points of which nothing is known. `untold`: compare.untold's; `unsure`: the severity of those
    that leave it open whether anything became slower."""
    return [finding(unsure if one["open"] else "info", "undecided", owners.get(one["row"]["collective"], one["row"]["collective"]),
                    ". ".join(filter(None, (one["text"], blame(changed(one["row"]["collective"]))))), "compare.csv")
            for one in untold]


def comparison_findings(groups, changed, range_text, owners, untold=(), unsure="low"):
    """One finding a collective that became slower, or faster, or of which that cannot be told. `groups`: compare.ranges'
    rows; `changed`: what rows.differences says of the launches of a collective, "" for all; `range_text`: compare.py's;
    `owners`: collective -> the run that measures it; `untold`, `unsure`: untold_findings'."""
    found = []
    for verdict, severity in (("slower", "regression"), ("faster", "info")):
        texts = {}
        for group in groups:
            if group[0]["verdict"] == verdict:
                texts.setdefault((group[0]["collective"], group[0]["mode"]), []).append(range_text(group))
        found += [finding(severity, verdict, owners.get(collective, collective),
                          ". ".join(filter(None, ("; ".join(said), blame(changed(collective))))), "compare.csv")
                  for (collective, _), said in texts.items()]
    found += untold_findings(untold, changed, owners, unsure)
    if groups and not any(row["ratio"] for group in groups for row in group):
        found.append(finding(unsure, "undecided", "", "nothing was compared: no point is in the baseline and in this night",
                             "compare.csv", TO_DO["baseline"]))
    if not found and blame(changed("")):
        found.append(finding("info", "changed", "", f"nothing became slower. {blame(changed(''))}"))
    for verdict, text in (("gone", "in the baseline and not measured this night"),
                          ("new", "measured and not in the baseline")):
        points = sum(len(group) for group in groups if group[0]["verdict"] == verdict)
        who = sorted({group[0]["collective"] for group in groups if group[0]["verdict"] == verdict})
        if points:
            found.append(finding("info", verdict, "", f"{points} points {text}: {', '.join(who)}", "compare.csv"))
    return found


def threshold_findings(kind, sentences, option):
    """`sentences`: what is below, in words, None where nothing can be held against the threshold."""
    if sentences is None:
        return [finding("info", "lacks", "", f"{option} is asked for, and no row has that share")]
    return [finding("low", kind, text.split()[0], text, "compare.csv") for text in sentences]


# ---- health ----

def health_findings(hosts, file, code, error):
    """Findings of build/health --json. `hosts` is the list that it printed (place.hosts_of), None: it printed none."""
    if hosts is None:
        return [] if code == 77 else [finding("warning", "health", "", f"health: exit {code}: {error}", file)]
    severities = {"note": "info", "warn": "warning", "drain": "low"}
    return [finding(severities.get(one["weight"], "warning"), "health", "",
                    f"{host['host']}: {one['part']}: {one['text']}", file, one["fix"])
            for host in hosts for one in host["findings"]]


# ---- the night ----

def exit_of(findings):
    """0, or the exit code of the most serious finding; 77 when all that was found is what is lacking."""
    codes = {EXITS.get(f["kind"], 1) for f in findings if f["severity"] in SEVERITIES[:3]}
    return next((code for code in SERIOUS if code in codes), 0)


def sorted_findings(findings):
    return sorted(findings, key=lambda f: (SEVERITIES.index(f["severity"]), f["run"]))
