"""case.py: what tests of ci/night share: import it first. Folders of launches, and a program run."""
import contextlib
import csv
import importlib.machinery
import importlib.util
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "ci/night"), str(TOP / "ci")]
import interpreter  # noqa: E402

interpreter.need_libraries()
import rows  # noqa: E402

HEADER = {"type": "header", "schema": 1, "hangar_version": "0.1.0", "hosts": ["h1"], "nranks": 2, "options": {"check": 1},
          "started": "2026-11-22T20:00:00+0000", "mpi_library": "Open MPI v4.1.4", "env": {"NCCL_DEBUG": "WARN"},
          "ranks": [{"rank": r, "host": "h1", "library": "NCCL 2.28.9", "device": "NVIDIA H200",
                     "runtime": "CUDA runtime 13.0, driver 13.0"} for r in (0, 1)]}
ROW = {"schema": 1, "collective": "all_reduce", "backend": "nccl", "nranks": 2, "nnodes": 1, "size_bytes": 1 << 20,
       "count": 1 << 18, "dtype": "float", "redop": "sum", "root": -1, "placement": "out-of-place", "mode": "stream",
       "time_us": 10.0, "busbw_gbs": 300.0, "of_ceiling_percent": 75.0, "of_predicted_percent": 98.0,
       "rank_spread_percent": "",
       "used_algo": "Ring", "used_proto": "Simple", "used_channels": 24, "timestamp": ""}


class NightCase(unittest.TestCase):
    """A test with a folder of its own, `self.place`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="night-")
        self.addCleanup(folder.cleanup)
        self.place = Path(folder.name)

    def launch(self, name, rows_of=({},), outcome="ok", header=HEADER):
        """A launch's folder under place: each row is ROW with changes; `header` None: no rows.jsonl."""
        folder = self.place / name
        folder.mkdir(parents=True)
        with open(folder / "rows.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, ROW, lineterminator="\n")
            writer.writeheader()
            writer.writerows({**ROW, **changes} for changes in rows_of)
        if header:
            (folder / "rows.jsonl").write_text("".join(
                json.dumps(line) + "\n" for line in (header, {"type": "end", "outcome": outcome})))
        return folder

    def module(self, name):
        """A program of ci/ that is Python, loaded."""
        loader = importlib.machinery.SourceFileLoader(name, str(TOP / "ci" / name))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
        loader.exec_module(module)
        return module

    def program(self, name, *arguments):
        """(exit code, standard output, standard error) of such a program, run in here."""
        module = self.module(name)
        out, err, kept = io.StringIO(), io.StringIO(), sys.argv
        sys.argv = [name, *map(str, arguments)]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = module.main()
        except SystemExit as end:  # usage
            code = end.code
        finally:
            sys.argv = kept
        return code, out.getvalue(), err.getvalue()
