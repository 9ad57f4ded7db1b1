#!/usr/bin/env python3
"""test_halving.py: bad members of simulated groups are found, in few rounds; and the end of a pre-flight that ci/halves reads."""
import argparse
import importlib.machinery
import importlib.util
import math
import os
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
CI = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CI / "night"), str(CI)]
import launch  # noqa: E402
from halving import Halving  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("halves", str(CI / "halves"))
halves = importlib.util.module_from_spec(importlib.util.spec_from_loader("halves", LOADER))
LOADER.exec_module(halves)


def play(n, is_bad):
    trial = Halving(n)
    more = True
    while more:
        members = [one for group in trial.groups for one in group]
        assert len(set(members)) == len(members), "launches of a round share a host"
        more = trial.answer([is_bad(set(group)) for group in trial.groups])
    return trial


class Launched(unittest.TestCase):
    def test_refused(self):
        """Before anything is launched: an end that cannot be written would cost the whole pre-flight."""
        with tempfile.TemporaryDirectory() as place:
            for name, text in (("mpirun", "#!/bin/sh\ntouch begun\n"), ("hosts", "a\nb\n"), ("empty", "# none\n")):
                Path(place, name).write_text(text)
            Path(place, "mpirun").chmod(0o755)
            for words, why in ((["--hostfile", "gone"], "gone: No such file"), (["--hostfile", "empty"], "empty: names no host"),
                               (["--local", "2"], "--local is of the hosts"), (["--hostfile", "hosts", "--local", "-1"], "--local is of the hosts"),
                               (["--hostfile", "hosts", "--junit", "no/x"], "no/x: cannot be written"),
                               (["--hostfile", "hosts", "--hostfile-out", "."], ".: cannot be written")):
                done = subprocess.run([CI / "halves", *words], cwd=place, env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}, text=True, capture_output=True)
                self.assertEqual((done.returncode, why in done.stderr, Path(place, "begun").exists()), (2, True, False), done.stderr)

    def test_end(self):
        """Of a launch that does not end nothing is left, though its child does not hear its end; one that ends has its code."""
        for script, code in (("trap '' TERM; sleep 60 & sleep 60", None), ("exit 13", 13)):
            mark = f"halves-{os.getpid()}-x."
            job = subprocess.Popen(["sh", "-c", script], env={**os.environ, halves.MARK: mark})
            job.mark = mark
            self.assertEqual(halves.Launches.end(job, Path("never"), 0, 1), code)
            self.assertEqual(launch.marked(mark), [])

    def test_stays(self):
        """mpirun stays after the lines are saved: their code is the launch's, without a wait for its limit."""
        found = '{"version": 1, "hosts": [{"host": "b", "findings": [{"group": "meeting", "weight": "%s", "part": "x", "text": "y", "fix": "z"}]}]}'
        args = argparse.Namespace(local=1, slots={}, gpus=False, backend="mpi", size=None, junit=None, hostfile_out=None)
        for weight, code in (("note", 0), ("warn", 13), ("hung", 10), ("drain", 11)):
            with tempfile.TemporaryDirectory() as place, mock.patch.dict(os.environ, PATH=f"{place}:{os.environ['PATH']}"), \
                    mock.patch.object(halves, "LAST_SECONDS", 0.2):
                Path(place, "mpirun").write_text(f"""#!/bin/sh
while [ "$1" != --save ]; do shift; done
echo '{found % weight}' >"$2"
exec sleep 60
""")
                Path(place, "mpirun").chmod(0o755)
                begun = time.monotonic()
                self.assertEqual(halves.search(args, ["a", "b"]), (code, []))
                self.assertLess(time.monotonic() - begun, 30)

    def test_mpirun_hangs(self):
        """Hosts are started one by one by the agent, and their lines are the answer."""
        found = '{"version": 1, "hosts": [{"host": "several hosts", "drain": false, "reading": {"parts": {}}, "findings": [{"group": "path-mtu", "weight": "drain", "part": "a>b", "text": "lost", "fix": "mend"}]}]}'
        args = argparse.Namespace(local=1, slots={}, gpus=False, backend="mpi", size=None, junit=None, hostfile="h", hostfile_out=None)
        with tempfile.TemporaryDirectory() as place, mock.patch.object(halves, "MEET_SECONDS", 0.5), \
                mock.patch.dict(os.environ, PATH=f"{place}:{os.environ['PATH']}", OMPI_MCA_plm_rsh_agent=f"{place}/agent"):
            for name, text in (("mpirun", "exec sleep 60"), ("agent", f"case $2 in *--hosts\ a,b*--save*) set -- $2; while [ $1 != --save ]; do shift; done; echo '{found}' >$2;; esac")):
                Path(place, name).write_text(f"#!/bin/sh\n{text}\n")
                Path(place, name).chmod(0o755)
            args.hostfile_out = f"{place}/good"
            with mock.patch("builtins.print") as said:
                self.assertEqual(halves.search(args, ["a", "b"]), (11, []))
            self.assertEqual(said.call_args_list[0].args[0], "ERROR several hosts: a>b: lost. Do: mend")
            self.assertEqual(Path(place, "good").read_text(), "")

    def test_told_to_end(self):
        """Told to end in its first launch, halves ends that, and leaves no folder."""
        with tempfile.TemporaryDirectory() as place:
            for name, text in (("mpirun", "#!/bin/sh\ntrap '' TERM\ntouch begun\nsleep 60 & sleep 60\n"), ("hosts", "a\nb\n")):
                Path(place, name).write_text(text)
            Path(place, "mpirun").chmod(0o755)
            job = subprocess.Popen([CI / "halves", "--hostfile", "hosts"], cwd=place, env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "TMPDIR": place})
            while not Path(place, "begun").exists():
                time.sleep(0.02)
            job.terminate()
            self.assertEqual(job.wait(20), 143)
            self.assertEqual(launch.marked(f"halves-{job.pid}-"), [])
            self.assertEqual(list(Path(place).glob("hangar-halves-*")), [])


class Simulated(unittest.TestCase):
    def test_one_and_two_bad(self):
        """Each one and each two of 8, 16 and 64, bad alone or in company only, within log2 N rounds."""
        for n in (8, 16, 64):
            for first in range(n):
                for second in range(first, n):
                    for least in (1, 2):
                        bad = {first, second}
                        trial = play(n, lambda group: bool(group & bad) and len(group) >= least)
                        self.assertEqual(trial.bad, bad)
                        self.assertLessEqual(trial.rounds, math.log2(n))

    def test_pair(self):
        """Two that are bad together alone: no member is blamed."""
        for first in range(8):
            for second in range(first + 1, 8):
                trial = play(8, lambda group: {first, second} <= group)
                self.assertEqual(trial.bad, set())
                self.assertTrue(len(trial.sides) == 1 or second - first < 3)

    def test_few(self):
        """Two or three have no good company: alone, or nothing is said."""
        for n in (1, 2, 3):
            self.assertEqual(play(n, lambda group: 0 in group).bad, {0})
            self.assertEqual(play(n, lambda group: 0 in group and len(group) > 1).bad, set())

    def test_never_again(self):
        trial = play(16, lambda group: False)
        self.assertEqual((trial.bad, len(trial.sides)), (set(), 1))


def host(name, *findings, address="1.2.3.4"):
    return {"host": name, "drain": any(f[1] in ("drain", "hung") for f in findings) and " " not in name,
            "findings": [dict(zip(("group", "weight", "part", "text", "fix"), f)) for f in findings],
            "checks": {"calls": "FAIL" if findings else "PASS", "loss": "SKIP: none"},
            "reading": {"parts": {"job": {"states": {"address": address}}}}}


class Read(unittest.TestCase):
    def test_unnamed(self):
        """Halves are tried where calls have a line that names no host alone."""
        hang, slow = ("calls", "hung", "calls", "x", "y"), ("busbw", "warn", "a", "x", "y")
        for found, outcome in (([host("all hosts")], None), ([host("all hosts", hang)], "hang"), ([host("all hosts", slow)], "are slow"),
                               ([host("all hosts", hang), host("n1", hang)], None), ([host("n1", ("tcp", "drain", "a", "x", "y"))], None)):
            self.assertEqual(halves.unnamed(found), outcome)

    def test_good(self):
        """Hosts are given by name, address or name in Slurm; the good ones are written as they were given."""
        found = [host("n1", address="10.0.0.1"), host("n2", ("tcp", "drain", "a", "x", "y"), address="10.0.0.2"), host("n3")]
        self.assertEqual(halves.good(["10.0.0.1", "10.0.0.2", "n3"], found, {"n3"}), ["10.0.0.1"])
        found[1]["reading"]["parts"]["job"]["states"]["node"] = "gpu2"
        self.assertEqual(halves.good(["gpu1", "gpu2"], found, set()), ["gpu1"])
        hung = ("calls", "hung", "a", "x", "y")
        for shared, weight, bad, left in (("n1 or n2", "drain", set(), ["n3"]), ("all hosts", "hung", set(), []), ("hosts that are missing", "drain", set(), []),
                                          ("all hosts", "hung", {"n2"}, ["n1", "n3"]), ("all hosts", "warn", set(), ["n1", "n2", "n3"])):
            found = [host("n1"), host("n2"), host("n3"), host(shared, (hung[0], weight, *hung[2:]))]
            self.assertEqual(halves.good(["n1", "n2", "n3"], found, bad), left, shared)

    def test_ranks(self):
        """A host has the ranks that its line says, as for mpirun, unless an option says it of all."""
        with tempfile.TemporaryDirectory() as place:
            Path(place, "hosts").write_text("# mine\nn1 slots=2\n\nn2\nn3  max_slots=9 slots=4\nn4 slots=0\nn5 slots=x\n")
            for local, ranks in ((0, [2, 1, 4, 1, 1]), (3, [3] * 5)):
                args = argparse.Namespace(hostfile=Path(place, "hosts"), local=local)
                names = halves.read_names(args)
                self.assertEqual([halves.Launches(args, place).ranks(name) for name in names], ranks)

    def test_junit(self):
        with tempfile.TemporaryDirectory() as place:
            halves.write_junit(Path(place, "j.xml"), [host("n<1", ("calls", "hung", "a>b", '"x"', "do & see"))], ["n2"], "hang")
            cases = {one.get("name"): one for one in xml.parse(Path(place, "j.xml")).getroot()}
        self.assertEqual(cases["calls"].find("failure").get("message"), 'a>b: "x"')
        self.assertEqual(cases["calls"].find("failure").text, "do & see")
        self.assertIsNotNone(cases["loss"].find("skipped"))
        self.assertEqual((cases["company"].get("classname"), cases["company"].find("failure").get("message")), ("n2", "calls hang where it takes part, and end well without it"))


if __name__ == "__main__":
    unittest.main()
