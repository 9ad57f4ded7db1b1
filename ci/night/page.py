"""page.py: a folder of runs as one HTML file that needs nothing else: no network, no framework.

Verdicts and findings come first, then what changed, points, pictures, topology, environment, files.
All text of files goes through `esc`; a policy in the page lets its own script run and no other."""
import base64
import errno
import hashlib
import math
import os
import subprocess
import tempfile
from html import escape
from pathlib import Path
from urllib.parse import quote

import page_data as source
import rows
import tables

HERE = Path(__file__).resolve().parent
PLOT = HERE.parents[1] / "plots" / "plot"
PICTURES_MOST = 3_500_000  # bytes of pictures in a page; what does not fit stays a link
FILES_MOST = 1000
RANKS_DRAWN = 128
SLOWER_DRAWN = 9  # of the points that became slower, evenly chosen
HEALTH_MOST = 3000
SEVERITIES = ("failed", "regression", "low", "warning", "info")
VERDICTS = ("slower", "faster", "cannot-tell", "gone", "new", "same")
WIDE_PERCENT = 100  # of a point's times: a finding
LOW_PERCENT = 80  # of the prediction: a point below that is pointed at
LARGE = 1 << 20   # bytes, from which bandwidth and not latency is what a point shows


def esc(value):
    return escape("" if value is None else str(value))


def num(value, form=None):
    """A number for people, "" for what is none; without a form four digits, never fewer than it has before the point,
    and no power of ten."""
    value = rows.number(value)
    if math.isnan(value) or math.isinf(value):
        return ""
    size = abs(value)
    return (form or ("{:.0f}" if size >= 1000 else "{:.6f}" if 0 < size < 1e-4 else "{:.4g}")).format(value)


def size_text(value):
    value = rows.number(value)
    return "" if math.isnan(value) else rows.human(value) if value >= 1 else f"{value:g} B"


def plural(number, name, several=None):
    return f"{number} {name if number == 1 else several or name + 's'}"


# ---- parts of HTML ----

def link(data, name, text=None):
    """A link to a file or folder that is there, relative to the page; else its name alone."""
    name = str(name or "")
    for base in (data.path, Path()) if name else ():
        if source.there(base / name):
            to = os.path.relpath(base / name, data.path)
            return f'<a href="./{quote(os.fsencode(to))}">{esc(text or name)}</a>'
    return esc(text or name)


def fold(title, inside, is_open=False):
    return f"<details{' open' if is_open else ''}><summary>{title}</summary>{inside}</details>" if inside else ""


def section(name, title, inside):
    return f'<section id="{name}"><h2>{title}</h2>\n{inside}</section>\n' if inside else ""


def shown_of(cell):
    return cell[0] if isinstance(cell, tuple) else cell


def lift(columns, lines):
    """The columns and lines without the columns that are empty or say the same in all rows, which are said once."""
    keep, said = [], []
    for i, column in enumerate(columns):
        values = {shown_of(line[i]) for line in lines}
        if len(values) > 1 or (values != {""} and (len(lines) == 1 or column[1] == "t" or "<svg" in min(values))):
            keep.append(i)
        elif values != {""}:
            said.append(f"{esc(column[0])} {min(values)}".strip())
    said = f"<p class=quiet>All rows: {', '.join(said)}</p>" if said else ""
    return [columns[i] for i in keep], [[line[i] for i in keep] for line in lines], said


def table(name, columns, lines):
    """`columns`: (title, what, explanation): "n" a number, "c" text to choose from, "t" other text; the explanation, "" where the
    title is one, stands below the table. A cell is HTML, or (HTML, value to sort by)."""
    if not lines:
        return ""
    meant = [column for i, column in enumerate(columns) if any(shown_of(line[i]) != "" for line in lines)]
    columns, lines, said = lift(columns, lines)
    head = "".join(f'<th scope="col" data-kind="{column[1]}"' + (f' title="{esc(column[2])}"' if column[2:] and column[2] else "")
                   + f">{esc(column[0])}</th>" for column in columns)
    body = []
    for line in lines:
        cells = []
        for column, cell in zip(columns, line):
            shown, value = shown_of(cell), cell[1] if isinstance(cell, tuple) else None
            mark = "" if value is None else f' data-v="{esc(value)}"'
            cells.append(f"<td class={column[1]}{mark}>{shown}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (f'{said}<div class="wide{" long" if len(lines) > 100 else ""}"><table id="{name}" class="tools"><thead><tr>{head}</tr></thead>\n<tbody>'
            + "\n".join(body) + "</tbody></table></div>\n" + legend(meant))


def legend(columns):
    """What the heads of columns mean."""
    said = "".join(f"<dt>{esc(column[0])}</dt><dd>{esc(column[2])}</dd>" for column in columns if column[2:] and column[2])
    return fold("What the columns mean", f"<dl class=now>{said}</dl>") if said else ""


def pairs(lines):
    """A plain table of names and values, without those that are empty."""
    lines = list(lines)
    return ('<div class="wide"><table class="pairs"><tbody>' + "".join(
        f"<tr><th scope=row>{esc(name)}</th><td>{esc(value)}</td></tr>" for name, value in lines if value)
        + "</tbody></table></div>") if any(value for _, value in lines) else ""


def badge(kind, text=None):
    known = kind if kind in (*SEVERITIES, *VERDICTS, "ok", "not-run", "finding") else "info"
    return f'<span class="badge {known}">{esc(text or kind)}</span>'


# ---- verdicts and findings ----

def findings_of(data, points):
    """Those of the night; of other folders what their files say."""
    if data.night:
        return source.listed(data.night, "findings")
    found = []
    for run in data.runs:
        name = run.path.name
        if run.header and run.end is None:
            found.append({"severity": "failed", "kind": "no end", "run": name, "text": f"{name} did not end by itself: "
                          "its last line is missing. " + (
                              "The verdict is above." if any(run.path in (one.path, *one.path.parents)
                                                            for one in data.evidence)
                              else "A verdict is in the evidence of the run, results/runs/."),
                          "evidence": run.path})
        elif run.end and run.end.get("outcome") != "ok":
            said = run.end.get("error")
            why = said.get("text") if isinstance(said, dict) else ""
            found.append({"severity": "failed", "kind": run.end.get("outcome"), "run": name, "text": why,
                          "evidence": run.path})
        found += [{"severity": "warning", "kind": "health", "run": name, "text": text[8:], "evidence": run.path}
                  for text in run.comments if text.startswith("health: ")]
    wrong = [p for p in points if p["wrong"] > 0]
    if wrong:
        found.append({"severity": "failed", "kind": "wrong-data", "text": f"{len(wrong)} of {len(points)} points have "
                      f"wrong data, first {wrong[0]['collective']} {size_text(wrong[0]['size_bytes'])}"})
    wide = [p for p in points if p["spread"] > WIDE_PERCENT]
    if wide:
        most = max(wide, key=lambda p: p["spread"])
        found.append({"severity": "warning", "kind": "spread", "text": f"{len(wide)} of {len(points)} points spread by more than "
                      f"{WIDE_PERCENT} %, the most {most['collective']} {size_text(most['size_bytes'])}: {most['spread']:.0f} %. "
                      "Their times say little", "what_to_do": "look for other programs there (health), and for ranks that come late"})
    large = [p for p in points if rows.number(p["size_bytes"]) >= LARGE and p["of_predicted_percent"] > 0]
    low = [p for p in large if p["of_predicted_percent"] < LOW_PERCENT]
    if low:
        least = min(low, key=lambda p: p["of_predicted_percent"])
        found.append({"severity": "warning", "kind": "below prediction", "text": f"{len(low)} of {len(large)} points from "
                      f"1 MiB reach less than {LOW_PERCENT} % of what was predicted, the least {least['collective']} "
                      f"{size_text(least['size_bytes'])} {least['placement']}: {least['of_predicted_percent']:.0f} %",
                      "what_to_do": "reconcile DIR says why rows are slow, or what could not be seen"})
    return found


def finding_html(data, one):
    evidence = f"<p>Evidence: {link(data, one['evidence'])}</p>" if one.get("evidence") else ""
    to_do = f"<p>What to do: {esc(one['what_to_do'])}</p>" if one.get("what_to_do") else ""
    run = f" <span class=quiet>{esc(one['run'])}</span>" if one.get("run") else ""
    severity = str(one.get("severity"))
    kind = severity if severity in SEVERITIES else "info"
    return (f'<article class="card {kind}"><h3>{badge(kind)} {esc(one.get("kind"))}{run}</h3>'
            f"<p>{esc(one.get('text'))}</p>{to_do}{evidence}</article>")


def as_expected(data, one):
    """The evidence is of a night's fault that ended as it must."""
    for run in source.listed(data.night, "runs"):
        places = [data.path / str(launch.get("dir")) for launch in source.listed(run, "launches")]
        if any(one.path.is_relative_to(place) for place in places):
            return run.get("kind") == "fault" and run.get("status") == "ok"
    return False


def line_of(verdict):
    """The line for scripts that the run ended with."""
    ms = rows.number(verdict.get("detect_ms"))
    known = {**verdict, "seq": verdict.get("seq_low"), "detect_ms": "0" if math.isnan(ms) else f"{ms:.0f}"}
    if not rows.number(known["seq"]) >= 0:  # the line may name another call than these
        known["comm"] = known["seq"] = None
    return "# verdict: " + " ".join(f"{name}={known.get(name)}" for name in (
        "outcome", "class", "ranks", "comm", "seq", "confidence", "detect_ms", "side")
        if known.get(name) not in (None, ""))


HAPPENED = {"hang": "The job hangs", "died": "A rank died", "error": "A rank reported an error", "wrong-data": "Data are wrong",
            "diverged": "Ranks made different calls, and nothing failed yet", "slow-rank": "A rank is slow"}


def at_once_html(one):
    """What a reader needs at three in the morning: what happened, who, what to do, how to have it again, how never again."""
    verdict = one.verdict
    names, seq = str(verdict.get("ranks") or "-"), rows.number(verdict.get("hang_seq"))
    where = f" in call {seq:.0f} of communicator {verdict.get('comm')}" if seq > 0 else ""
    happened = HAPPENED.get(str(verdict.get("outcome")), "")
    sure = {"proved": "proved: it can be no other", "majority": "by majority: look at the others, too"}.get(
        str(verdict.get("confidence")), "not sure")
    on = f" on {verdict['culprit_hosts']}" if verdict.get("culprit_hosts") else ""
    who = f"no rank is named{on}" if names == "-" else f"{'ranks' if ',' in names else 'rank'} {names}{on} ({sure})"
    cause, gone = str(verdict.get("cause") or ""), str(verdict.get("withdrawn") or "")
    if verdict.get("field") and verdict.get("theirs") and verdict.get("confidence") != "inconclusive":
        cause += f" {verdict['field']}: {verdict['theirs']} there, {verdict.get('majority')} elsewhere."
    said = (("Since then", gone[:1].upper() + gone[1:]),
            ("What happened", f"{happened}{where}. {cause}" if happened else cause),
            ("Who", who), ("What to do now", verdict.get("fix")), ("To have it again", one.command or verdict.get("command")),
            ("Never again", verdict.get("prevention")))
    return "<dl class=now>" + "".join(
        f"<dt>{name}</dt><dd>{f'<code>{esc(text)}</code>' if name == 'To have it again' else esc(text)}</dd>"
        for name, text in said if text) + "</dl>"


def evidence_html(data, one, pictures):
    verdict, kind = one.verdict, "ok" if as_expected(data, one) else "warning" if one.verdict.get("withdrawn") else "failed"
    lines = "".join(f"<li>{esc(line)}</li>" for line in source.texts(verdict, "lines"))
    short = "".join(f"<li{' class=bad' if line.startswith('culprit') else ''}>{esc(line.strip())}</li>"
                    for line in source.texts(verdict, "summary"))
    lines = f"<ul>{short}</ul>" + fold("In sentences", f"<ul>{lines}</ul>") if short else f"<ul>{lines}</ul>"
    picture = pictures.html(f"timeline-{data.evidence.index(one)}", f"Timeline of {one.path.name}")
    where = os.path.relpath(one.path, data.path)
    culprits = str(verdict.get("ranks"))
    culprits = "no rank named" if culprits in ("-", "None") else ("ranks " if "," in culprits else "rank ") + culprits
    names = ("postmortem.md", "verdict.json", "timeline.json", "rank-0.stack.txt")
    links = ", ".join(link(data, f"{where}/{name}", name) for name in names if (one.path / name).exists())
    when = f", named after {num(verdict.get('detect_ms'), '{:.0f}')} ms" if num(verdict.get("detect_ms")) else ""
    why = {"ok": " <span class=quiet>a fault, named as it must be</span>", "warning": " <span class=quiet>withdrawn</span>"}.get(kind, "")
    return (f'<article class="card {kind}"><h3>{badge(kind, verdict.get("outcome"))} {esc(verdict.get("class"))}, '
            f"<span class=bad>{esc(culprits)}</span> ({esc(verdict.get('confidence'))}{when}){why}</h3>"
            f"{at_once_html(one)}<pre class=line>{esc(line_of(verdict))}</pre>"
            f"<p class=quiet>{esc(', '.join(str(verdict[k]) for k in ('command', 'hosts', 'when') if verdict.get(k)))}</p>"
            f"{lines}{picture}<p>{link(data, where, 'evidence' if where == '.' else where)}: {links}</p>"
            + fold("Post-mortem", f"<pre>{esc(one.postmortem)}</pre>" if one.postmortem else "") + "</article>")


def verdict_section(data, points, pictures):
    found = findings_of(data, points)
    cards = "".join(finding_html(data, one) for severity in (*SEVERITIES, None) for one in found
                    if one.get("severity") == severity or (severity is None and one.get("severity") not in SEVERITIES))
    told = "".join(evidence_html(data, one, pictures) for one in data.evidence if not as_expected(data, one))
    good = "".join(evidence_html(data, one, pictures) for one in data.evidence if as_expected(data, one))
    nothing = "" if cards or told else f"<p>{badge('ok')} Nothing was found.</p>"
    return section("findings", "Verdicts and findings", nothing + (cards + told if data.night else told + cards)
                   + fold("Faults that were named as they must be", good))


# ---- what changed ----

def interval_svg(row, widest):
    """The interval of a ratio as a bar around 1; the band is the effect that does not matter."""
    low, high, ratio, least = (rows.number(row.get(k)) for k in ("low", "high", "ratio", "min_effect"))
    if math.isnan(ratio):
        return ""

    def x(value):
        return 50 + 48 * max(-1.0, min(1.0, (value - 1) / widest))
    low, high = (ratio if math.isnan(v) else v for v in (low, high))
    band = 0 if math.isnan(least) else least
    return (f'<svg class="bar" viewBox="0 0 100 10" role="img" aria-label="{ratio:.3f}"><rect class="band" '
            f'x="{x(1 - band):.1f}" width="{x(1 + band) - x(1 - band):.1f}" height="10"/><path d="M50 0V10"/>'
            f'<path class="range" d="M{x(low):.1f} 5H{max(x(high), x(low) + .5):.1f}"/>'
            f'<circle cx="{x(ratio):.1f}" cy="5" r="2.5"/></svg>')


COMPARED = (("verdict", "c", "slower, faster, same, or cannot-tell; gone and new: measured in one of the two alone"), ("collective", "c", ""),
            ("size", "n", "bytes, as nccl-tests counts them"), ("placement", "c", "in-place: the result takes the place of the data sent"),
            ("in words", "t", ""), ("ratio", "n", "of times: above 1 is slower"),
            ("interval", "n", "95 % interval of the ratio (bootstrap); grey: what does not matter"),
            ("before us", "n", "of a call, the median over launches of the baseline"), ("now us", "n", "the same of this night"),
            ("launches", "c", "before / now"), ("ceiling %", "n", "bus bandwidth, of what the links could carry at best"),
            ("ceiling moved", "n", "percent since the baseline"), ("vendor %", "n", "of what the vendor says of the links"),
            ("vendor moved", "n", "percent since the baseline"), ("mode", "c", "how calls are timed"), ("of what", "c", "type, operator, settings"))


def compared_line(row, widest):
    verdict = str(row.get("verdict"))
    order = VERDICTS.index(verdict) if verdict in VERDICTS else len(VERDICTS)
    return [(badge(verdict), order), esc(row.get("collective")), (size_text(row.get("bytes")), row.get("bytes")),
            esc(row.get("placement")), esc(row.get("text")), num(row.get("ratio"), "{:.4f}"),
            (interval_svg(row, widest), row.get("ratio")), num(row.get("base_median")), num(row.get("new_median")),
            f"{esc(row.get('base_launches'))} / {esc(row.get('new_launches'))}",
            num(row.get("ceiling_percent"), "{:.1f}"), num(row.get("ceiling_moved"), "{:+.1f}"),
            num(row.get("vendor_percent"), "{:.1f}"), num(row.get("vendor_moved"), "{:+.1f}"), esc(row.get("mode")),
            esc(row.get("variant"))]


def changed_section(data):
    compared = source.listed(data.night, "comparisons")
    if not compared:
        return ""
    ends = [rows.number(row.get(k)) for row in compared for k in ("low", "high", "ratio")]
    widest = min(1.0, max((abs(v - 1) for v in ends if not math.isnan(v)), default=0.1) or 0.1)
    counts = {v: sum(row.get("verdict") == v for row in compared) for v in VERDICTS}
    chips = " ".join(badge(v, f"{n} {v}") for v, n in counts.items() if n)
    order = {v: i for i, v in enumerate(VERDICTS)}
    compared.sort(key=lambda row: order.get(str(row.get("verdict")), len(VERDICTS)))
    return section("changed", "What changed", f"<p>{chips} &nbsp; against the baseline</p>" + table(
        "compared", COMPARED, [compared_line(row, widest) for row in compared]))


# ---- runs and points ----

def runs_section(data):
    lines = []
    for run in source.listed(data.night, "runs"):
        launches = source.listed(run, "launches")
        places = " ".join(link(data, launch.get("dir"), i) for i, launch in enumerate(launches, 1))
        seconds = sum(v for launch in launches if (v := rows.number(launch.get("seconds"))) > 0)
        ends = sorted({str(launch.get("exit")) for launch in launches})
        lines.append([badge(str(run.get("status"))), esc(run.get("name")), esc(run.get("kind")), esc(run.get("why")),
                      places, ", ".join(map(esc, ends)), num(seconds, "{:.0f}"), f"<code>{esc(run.get('command'))}</code>"])
    columns = (("status", "c", "ok, failed, or not-run: there was no time, or something is missing here"), ("run", "t", "its name in nightly.toml"),
               ("kind", "c", "benchmark, or a fault that must be named"), ("why", "t", "of what is not ok"),
               ("launches", "t", "a link each to its folder"), ("exit", "c", "exit codes of the launches"),
               ("seconds", "n", "of all launches together"), ("command", "t", ""))
    return section("runs", "Runs", table("runs-table", columns, lines))


MEASURED = (("collective", "c", ""), ("size", "n", "bytes, as nccl-tests counts them"),
            ("placement", "c", "in-place: the result takes the place of the data sent"), ("time us", "n", "of a call, the median over launches"),
            ("bus GB/s", "n", "bus bandwidth: what a link of a ring carries, nccl-tests' busbw"),
            ("of predicted %", "n", "speed reached, of the predicted"), ("of ceiling %", "n", "busbw of what the links could carry at best"),
            ("spread %", "n", "of the launches' times; of one launch 5th to 95th percentile of its samples"),
            ("predicted us", "n", "of the model, for this machine"), ("wrong", "n", "wrong elements; N/A: the data were not checked"),
            ("mode", "c", "stream: calls one behind the other; graph: replayed; isolated: one at a time"), ("ranks", "c", "and the backend"),
            ("type", "c", "of elements, and the operator"), ("used", "c", "algorithm, protocol, channels"), ("launches", "n", "that measured it"))


def point_line(p):
    low = p["of_predicted_percent"] < LOW_PERCENT and rows.number(p["size_bytes"]) >= LARGE
    share = num(p["of_predicted_percent"], "{:.1f}")
    kind = " ".join(esc(p[c]) for c in ("dtype", "redop") if p[c] != "none") + (
        f" root {esc(p['root'])}" if p["root"] not in ("-1", "0") else "")
    return [esc(p["collective"]), (size_text(p["size_bytes"]), esc(p["size_bytes"])), esc(p["placement"]),
            num(p["time_us"]), num(p["busbw_gbs"]), f"<b class=bad>{share}</b>" if low else share,
            num(p["of_ceiling_percent"], "{:.1f}"), num(p["spread"], "{:.1f}"), num(p["predicted_us"]),
            "N/A" if math.isnan(p["wrong"]) else num(p["wrong"]), esc(p["mode"]),
            f"{esc(p['nranks'])} {esc(p['backend'])}", kind, esc(p["used"]), str(p["launches"])]


# ---- pictures ----

class Pictures:
    """Pictures by name, as SVG text. Pictures are kept in the folder's plots/ where that can be written."""

    def __init__(self, data, points):
        self.svg, self.left, self.data = {}, [], data
        self.notes = data.notes
        try:
            with tempfile.TemporaryDirectory(prefix="page-") as place:
                self.draw(Path(place), points)
        except OSError as error:
            self.notes.append(f"no pictures: {error.strerror}")
        self.keep()

    def draw(self, place, points):
        data, folders = self.data, {}
        if points:
            write(place / "all" / "rows.csv", [*source.POINT, *source.SHOWN],
                  [[plain(p[c]) for c in (*source.POINT, *source.SHOWN)] for p in points])
            folders["all"] = ""
        if len(times := source.detections(data)) > 1:
            write(place / "all" / "detection.csv", ["fault", "outcome", "detect_ms"], [list(map(plain, t)) for t in times])
            folders["all"] = ""
        if data.trend:
            self.trend(place / "all")
        if (place / "all").exists():
            folders["all"] = ""
        for i, one in enumerate(data.evidence):
            text = source.text_of(one.timeline, self.notes, 64 << 20) if one.timeline else ""
            if text:
                (place / str(i)).mkdir()
                tables.save(place / str(i) / "timeline.csv", text)
                folders[str(i)] = f"-{i}"
        for i, one in enumerate(data.meters):
            (place / f"meter{i}").mkdir()
            folders[f"meter{i}"] = f"-{i}"
            for name in ("meter.csv", "trace.json"):
                if (one / name).exists():
                    tables.save(place / f"meter{i}" / name, source.text_of(one / name, self.notes, 64 << 20))
        for name, suffix in folders.items():
            self.run(place / name)
            for path in sorted((place / name).glob("*.svg")):
                self.svg[path.stem + suffix] = path.read_text(encoding="utf-8", errors="replace")

    def trend(self, place):
        """The history, and of it apart the points that became slower."""
        try:
            lines = tables.cells_of(source.text_of(self.data.trend, self.notes, 64 << 20))
        except ValueError as error:
            self.notes.append(f"{self.data.trend}: {error}")
            return
        lines = [[plain(cell, ",") for cell in line] for line in lines] or [[]]
        head, whole = lines[0], [line for line in lines[1:] if len(line) == len(lines[0])]
        names = ("collective", "bytes", "mode", "placement", "variant")
        at = [head.index(name) if name in head else None for name in names]
        slower = [tuple(plain(row.get(name) or "", ",") if i is not None else "" for i, name in zip(at, names))
                  for row in source.listed(self.data.night, "comparisons") if row.get("verdict") == "slower"]
        asked = set(slower[::-(-len(slower) // SLOWER_DRAWN) or 1])
        write(place / "trend.csv", head, whole)
        drawn = [line for line in whole if tuple("" if i is None else line[i] for i in at) in asked]
        if drawn:
            write(place / "slower.csv", head, drawn)

    def run(self, place):
        try:
            done = subprocess.run([PLOT, place], env={**os.environ, "FORMATS": "svg"}, text=True, errors="replace",
                                  capture_output=True, stdin=subprocess.DEVNULL, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            self.notes.append("pictures are missing: they took more than 300 s")
            return
        if done.returncode:
            self.notes.append("pictures are missing: " + "; ".join(done.stderr.replace(f"{place}/", "").splitlines()[-3:]))

    def keep(self):
        try:
            room, need = os.statvfs(self.data.path), 3 * sum(map(len, self.svg.values()))
            if room.f_bavail * room.f_frsize < need:  # the page itself comes first
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            for name, text in self.svg.items():
                (self.data.path / "plots").mkdir(exist_ok=True)
                tables.save(self.data.path / "plots" / f"{name}.svg", text)
        except OSError as error:
            self.notes.append(f"pictures are in this page alone: plots/: {error.strerror}")

    def html(self, name, title):
        """The picture, "" where there is none; a link when the page is full."""
        text = self.svg.pop(name, None)
        if text is None:
            return ""
        code = base64.b64encode(text.encode()).decode()
        self.left.append(len(code))
        if sum(self.left) > PICTURES_MOST:
            self.left.pop()
            return f"<p>{link(self.data, f'plots/{name}.svg', title)} (not in this page, which would become too large)</p>"
        return f'<figure><img alt="{esc(title)}" src="data:image/svg+xml;base64,{code}"><figcaption>{esc(title)}</figcaption></figure>'


def plain(value, also=""):
    """A cell for a plot: no text of a file reaches gnuplot's strings unchanged. `also`: more characters that may stay."""
    if isinstance(value, float):
        return f"{value:.9g}"
    return "".join(c if c.isalnum() or c in " ._+-" + also else "_" for c in str(value))[:80]


def write(path, head, lines):
    path.parent.mkdir(exist_ok=True)
    tables.write_csv(path, head, lines)


PICTURES = (("slower", "Over nights: points that are slower now"), ("sheet", "All collectives: bus bandwidth over size"), ("predicted", "Measured against predicted"),
            ("trend", "Over nights: bus bandwidth, control limits, changes of host, NCCL and driver"),
            ("scaling", "Over ranks"), ("detection", "Time to the verdict"))


def pictures_section(data, pictures):
    main = "".join(pictures.html(name, title) for name, title in PICTURES)
    for i, one in enumerate(data.meters):
        main += pictures.html(f"waiting-{i}", f"Time in calls, and waiting for others: {one.name}")
        main += pictures.html(f"arrivals-{i}", f"How late ranks came: {one.name}")
    names = [name for name in sorted(pictures.svg) if name.startswith(("busbw", "latency"))]
    single = "".join(pictures.html(name, name.replace("-", " ", 1)) for name in names)
    return section("pictures", "Pictures", single + main if len(names) <= 4 else main + fold("Each collective", single))


# ---- topology and environment ----

def topology_svg(ranks):
    """A box a host, a cell a rank with its device's number."""
    hosts = {}
    for rank in ranks:
        hosts.setdefault(str(rank.get("host")), []).append(rank)
    parts, y = [], 0
    for host, mine in hosts.items():
        deep = -(-len(mine) // 8)
        parts.append(f'<rect class="host" x="1" y="{y + 1}" width="482" height="{deep * 44 + 28}" rx="6"/>'
                     f'<text x="12" y="{y + 19}">{esc(host)}</text>')
        for i, rank in enumerate(mine):
            x, top = 8 + 59 * (i % 8), y + 26 + 44 * (i // 8)
            device = rank.get("device_index")
            below = f"GPU {device}" if isinstance(device, int) and device >= 0 else "host"
            parts.append(f'<rect class="rank" x="{x}" y="{top}" width="54" height="38" rx="4"/><text x="{x + 27}" '
                         f'y="{top + 17}" class="mid">{esc(rank.get("rank"))}</text><text x="{x + 27}" y="{top + 31}" '
                         f'class="mid small">{esc(below)}</text>')
        y += deep * 44 + 38
    return f'<svg class="topology" viewBox="0 0 484 {y}" role="img" aria-label="ranks on hosts">{"".join(parts)}</svg>'


def topology_section(data):
    headers = [run.header for run in data.runs if run.header]
    if not headers:
        return ""
    header = max(headers, key=lambda h: len(source.listed(h, "ranks")))
    ranks = source.listed(header, "ranks")
    columns = (("rank", "n", ""), ("host", "c", ""), ("device", "c", "GPU or processor"), ("number", "n", "of the GPU on its host"),
               ("bus", "t", "PCI address"), ("memory", "n", "of the device"), ("library", "c", "NCCL's or MPI's version"))
    lines = [[esc(r.get("rank")), esc(r.get("host")), esc(r.get("device")), esc(r.get("device_index")), esc(r.get("bus_id")),
              (size_text(r.get("device_memory_bytes")), r.get("device_memory_bytes")), esc(r.get("library"))] for r in ranks]
    said = dict.fromkeys(text for run in data.runs for text in run.comments if text.startswith(("Prediction", "topology")))
    drawn = topology_svg(ranks) if ranks and len(ranks) <= RANKS_DRAWN else ""
    return section("topology", "Topology", drawn + "".join(f"<p>{esc(text)}</p>" for text in list(said)[:5])
                   + fold(plural(len(ranks), "rank"), table("ranks", columns, lines)))


def health_section(data):
    """Readings that differ before and after come first; a reading that was not made is absent, not 0."""
    lines = []
    for (host, part, name), values in data.health.items():
        before, after = (values.get(when) for when in ("before", "after"))
        moved = None not in (before, after) and before != after
        shown = ["<span class=quiet>absent</span>" if v is None else esc(v) for v in (before, after)]
        lines.append([esc(host), esc(part), esc(name), *shown, ("moved" if moved else "", 0 if moved else 1)])
    lines.sort(key=lambda line: line[-1][1])
    columns = (("host", "c", ""), ("part", "c", "GPU, network port, ..."), ("what", "t", "the counter or setting"), ("before", "n", "the runs"),
               ("after", "n", "the runs; absent: was not read"), ("", "c", ""))
    more = f"<p>and {len(lines) - HEALTH_MOST} more</p>" if len(lines) > HEALTH_MOST else ""
    return section("health", "Health before and after", table("health-table", columns, lines[:HEALTH_MOST]) + more)


def environment_section(data):
    known = [rows.Launch(str(run.path), run.facts) for run in data.runs if run.facts and not run.fault]
    names = dict.fromkeys(name for launch in known for name in launch.facts if name != "started")
    facts = [(name, rows.fact_text(known, name)) for name in names]
    night = [(name, data.night.get(name)) for name in ("host", "host_class", "nccl", "driver", "started", "ended")]
    options = [(name, value) for name, value in facts if name.startswith("option ")]
    commands = dict.fromkeys(" ".join(source.texts(run.header, "command")) for run in data.runs if run.header)
    said = dict.fromkeys(text for run in data.runs for text in run.comments)
    texts = dict(data.texts)
    return section("environment", "Environment", pairs((dict(night) | dict(f for f in facts if f not in options)).items())
                   + fold("Options", pairs(options)) + fold("Commands", pre(commands)) + fold("What the runs said", pre(said))
                   + "".join(fold(esc(name), pre([text])) for name, text in texts.items()))


def pre(lines):
    lines = list(lines)
    more = f"\n... and {len(lines) - 300} more" if len(lines) > 300 else ""
    return f"<pre>{esc(chr(10).join(lines[:300]) + more)}</pre>" if lines else ""


def files_section(data):
    shown = [name for name in data.files if name != "page.html"]
    items = "".join(f"<li>{link(data, name)}</li>" for name in shown[:FILES_MOST])
    more = f"<p>and {len(shown) - FILES_MOST} more</p>" if len(shown) > FILES_MOST else ""
    notes = "".join(f"<li>{esc(note)}</li>" for note in dict.fromkeys(data.notes))
    return section("notes", "What could not be read or drawn", f"<ul>{notes}</ul>" if notes else "") + section(
        "files", "Files", fold(plural(len(shown), "file"), f'<ul class="files">{items}</ul>{more}'))


# ---- the page ----

def title_of(data):
    if data.night:
        name, date = data.path.resolve().name, str(data.night.get("date"))
        return f"Night {name if name.startswith(date) else date}, {data.night.get('host')}"
    names = dict.fromkeys(str(run.header.get("program")) for run in data.runs if run.header)
    return f"{', '.join(list(names)[:4])}{' ...' if len(names) > 4 else ''} {data.path.resolve().name}".strip()


def summary(data, points, found):
    """A line of badges: state, severities, how much there is."""
    night, parts = data.night, []
    if night.get("state") not in (None, "complete"):
        parts.append(badge("failed", f"the night is {night.get('state')}"))
    if night:
        parts.append(badge("ok" if night.get("exit") == 0 else "failed", f"exit {night.get('exit')}"))
    counts = {s: sum(f.get("severity") == s for f in found) for s in SEVERITIES}
    parts += [badge(s, f"{n} {s}") for s, n in counts.items() if n] or [badge("ok", "nothing found")] * (not data.evidence)
    expected = sum(as_expected(data, one) for one in data.evidence)
    if len(data.evidence) > expected:
        parts.append(badge("failed", plural(len(data.evidence) - expected, "verdict")))
    if expected:
        parts.append(badge("ok", plural(expected, "fault") + " named"))
    amounts = [text for text, n in ((plural(len(data.runs), "launch", "launches"), len(data.runs)), (plural(len(points), "point"), len(points)))
               if n or night]  # evidence of a hang alone has none
    amounts += [str(night[k]) for k in ("host_class", "nccl", "driver", "started") if night.get(k)]
    return f"<p>{' '.join(parts)}</p><p class=quiet>{esc(', '.join(amounts))}</p>"


def render(data):
    """The page as text."""
    points = source.points_of(data.runs)
    pictures = Pictures(data, points)
    title, script = title_of(data), (HERE / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    sections = (verdict_section(data, points, pictures), changed_section(data), runs_section(data),
                section("points", "Points", table("points-table", MEASURED, [point_line(p) for p in points])),
                pictures_section(data, pictures), health_section(data), topology_section(data),
                environment_section(data), files_section(data))
    names = [(part.split('"', 2)[1], part.split("<h2>", 1)[1].split("</h2>")[0]) for part in sections if part]
    menu = "".join(f'<a href="#{name}">{name_of}</a>' for name, name_of in names)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline';
 script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'">
<meta name="color-scheme" content="light dark"><title>{esc(title)}</title>
<style>{(HERE / "page.css").read_text(encoding="utf-8")}</style></head>
<body><header><h1>{esc(title)}</h1>{summary(data, points, findings_of(data, points))}<nav>{menu}</nav></header>
<main>{''.join(sections)}</main>
<script>{script}</script></body></html>
"""


def write_page(path, to=None):
    """Writes the page of a folder beside its data, or into the file `to`; returns where it is."""
    data = source.gather(path)
    to = Path(to or data.path / "page.html")
    tables.save(to, render(data))
    return to
