"""test_stable.py: ci/STABLE.md has the names that the code has: exit codes, the verdict line, verdict.json, metrics, variables."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("BUILD", TOP / "build")).resolve()
PAGE = (TOP / "ci/STABLE.md").read_text()


def source(path):
    return (TOP / path).read_text()


def section(title):
    return re.search(rf"^## {title}.*?$(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]


def words(text):
    """Names between backticks; a{b,c}d is two."""
    for name in re.findall(r"`([^`\s]+)`", text):
        several = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
        yield from [several[1] + part + several[3] for part in several[2].split(",")] if several else [name]


def function(path, name):
    return re.search(rf"^[a-z][^;]*?\b{name}\([^;]*?^{{.*?^}}", source(path), re.M | re.S)[0]


class Stable(unittest.TestCase):
    def test_exit_codes(self):
        numbers = dict(re.findall(r"OUTCOME_(\w+) = (\d+)", source("common/lib/base/outcome.h")))
        names = dict(re.findall(r"\{ OUTCOME_(\w+), \"([\w-]+)\" \}", source("common/lib/base/outcome.c")))
        page = re.findall(r"\| (\d+) \| `([\w-]+)` (?=\|)", section("Exit codes"))
        self.assertEqual(sorted(page), sorted((numbers[key], names[key]) for key in numbers))

    def test_verdict_line(self):
        printed = re.findall(r"(\w+)=%", function("faults/detect/answer/answer.c", "answer_print"))
        page = [word for word in words(section("The verdict line")) if re.fullmatch(r"\w+", word)]
        self.assertEqual(page, printed)

    def test_verdict_json(self):
        schema = json.loads(source("faults/detect/answer/verdict.schema.json"))
        always, may = (list(words(text)) for text in section("verdict.json").split("- Always:")[1].split("- Where"))
        self.assertEqual(always, schema["required"])
        self.assertEqual(sorted(may), sorted(set(schema["properties"]) - set(schema["required"])))
        packed = function("faults/detect/answer/report.c", "verdict_json").split("json_pack(")[1]
        self.assertEqual(sorted(re.findall(r"\"(\w+)\",", packed) + ["withdrawn"]), sorted(schema["properties"]))

    def test_metrics(self):
        """Those that a run and a job write, and the gauges of what does not happen to them."""
        told = set()
        with tempfile.TemporaryDirectory() as place:
            environment = dict(os.environ, DOUBLE_DIR=place, DOUBLE_ID="stable", LD_LIBRARY_PATH=str(BUILD / "tests/double"), HANGAR_RUNS=place)
            for command in ((BUILD / "all_reduce_perf", "--backend", "null", "--topo", "none", "-b", "8", "-e", "8", "--metrics", "a.prom"),
                    (BUILD / "hangar_run", "-q", "--wait", "--topo", "dgx-h100", "--metrics", "b.prom", BUILD / "tests/double/subject", "2", "20")):
                subprocess.run(command, cwd=place, env=environment, check=True, capture_output=True, timeout=60)
            for file in pathlib.Path(place).glob("*.prom"):
                told |= set(re.findall(r"^# TYPE (\w+) gauge$", file.read_text(), re.M))
        self.assertIn("hangar_job_update_timestamp_seconds", told)
        alerts = source("faults/watch/preload/run_alerts.c")
        told |= {"hangar_" + name for name in re.findall(r"\[ALERT_\w+\] = \{ \"(\w+)\"|prometheus_head\(out, \"(\w+)\"", alerts) for name in name if name}
        told |= {"hangar_" + name for name in re.findall(r"prometheus_head\(f, \"(\w+)\"", source("common/host/machine/health_metrics.c"))}
        table = section("Metrics").split("\n\n")[2]
        self.assertEqual({word for word in words(table) if word.startswith("hangar_")}, told)

    def test_labels(self):
        rows = {cells[4].split()[0]: set(words(cells[3])) for cells in (line.split("|") for line in section("Metrics").splitlines() if line.startswith("| 20"))}
        labels = {name: set(re.findall(r"(?:prometheus_label\(out, '.', |begin\(out, a, [^,\"]*(?:\"\w+\")?[^,\"]*, )\"(\w+)\"", function(*where)))
            for name, where in {"`hangar_meter_{bytes,samples,calls}`": ("faults/watch/pace/meter_text.c", "put_gauge"),
                "`hangar_job_info`": ("faults/watch/preload/run_alerts.c", "put_info"),
                "`hangar_{late,hang,died,failed,slow,withdrawn}_seconds`": ("faults/watch/preload/run_alerts.c", "put_series")}.items()}
        for name, found in labels.items():
            self.assertEqual(rows[name], found | {"job"})

    def test_environment(self):
        hook, read = (set(words(line)) - {"--on-verdict COMMAND"} for line in section("Environment").strip().splitlines())
        self.assertEqual(hook, set(re.findall(r"setenv\(\"(\w+)\"", source("faults/watch/preload/run_hook.c"))))
        code = "".join(path.read_text() for house in ("common", "faults") for path in (TOP / house).rglob("*.[ch]"))
        self.assertEqual([name for name in read if f'"{name}"' not in code], [])


if __name__ == "__main__":
    unittest.main()
