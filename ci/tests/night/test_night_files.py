"""test_night_files.py: files that are no tables or have no end, and places that are full: one line, which names
the file and the reason, at once; nothing half-written stays."""
# timeout: 350
import os
import shutil
import subprocess
import unittest

from case import TOP, NightCase

NAMES = "schema,collective,backend,nranks,nnodes,size_bytes,dtype,redop,root,placement,mode,time_us,busbw_gbs\n"
LARGE = 1 << 40  # bytes, of a file of holes
# What rows.csv is, and what is said of it; of the bytes, perf_compare's and the page's words.
TABLES = (
    ("bytes", lambda path: path.write_bytes(bytes(range(256)) * 64), "no column|torn lines left out"),
    ("cell", lambda path: path.write_text(f"{NAMES}1,{'x' * 131073}\n"), "no table of rows: field larger than field limit"),
    ("pipe", os.mkfifo, "no regular file"),
    ("zeros", lambda path: path.symlink_to("/dev/zero"), "no regular file"),
    ("huge", lambda path: (path.touch(), os.truncate(path, LARGE)), "larger than 256 MiB"),
)


def started(*words, **more):
    return subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          check=False, **more)


class FilesTest(NightCase):
    def drawable(self, name):
        """A launch of whose rows there is every picture."""
        folder = self.launch(name)
        head, row = (folder / "rows.csv").read_text().splitlines()
        (folder / "rows.csv").write_text(f"{head},p5_us,p95_us\n{row},9,11\n")
        return folder

    def one_line(self, done, code, *said):
        self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
        for text in said:
            self.assertIn(text, done.stderr)

    def test_tables(self):
        self.launch("base")
        for name, make, said in TABLES:
            folder = self.place / name
            folder.mkdir()
            make(folder / "rows.csv")
            with self.subTest(name):
                self.one_line(started(TOP / "ci/perf_compare", self.place / "base", folder), 2, f"{folder}/rows.csv: ",
                              said.split("|")[0])
                if name != "huge":  # the page shows what is in the first 64 MiB
                    self.one_line(started(TOP / "ci/page", folder), 2, f"page: {folder}/rows.csv: ", said.split("|")[-1])
                    self.assertEqual(os.listdir(folder), ["rows.csv"])
            if shutil.which("gnuplot") and name in ("pipe", "zeros", "huge"):
                with self.subTest(name, tool="plot"):
                    self.one_line(started(TOP / "plots/plot", folder), 1, f"plot: {folder}/rows.csv: {said}")

    def test_beside(self):
        """What stands beside good rows keeps neither page nor comparison from them, and is named."""
        folder = self.launch("run", header=None)
        names = ("rows.jsonl", "night.json", "verdict.json", "timeline.csv", "trend.csv", "health-after.json", "machine.txt")
        for name in names:
            os.mkfifo(folder / name)
        done = started(TOP / "ci/page", folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (folder / "page.html").read_text()
        self.assertEqual([name for name in names if f"{name}: no regular file" not in text], [])
        done = started(TOP / "ci/perf_compare", folder, folder)
        self.assertEqual((done.returncode, done.stderr), (17, ""))

    def test_fifo_for_a_page(self):
        """Nothing reads it: an error, and no wait."""
        folder = self.launch("run")
        os.mkfifo(folder / "page.html")
        for words in (["page", folder], ["perf_compare", "--csv", folder / "page.html", folder, folder]):
            done = started(TOP / "ci" / words[0], *words[1:])
            self.assertIn(f"{folder}/page.html: No such device or address", done.stderr)
            self.assertIn(done.returncode, (1, 2))

    def test_headers(self):
        """A first line of rows.jsonl that is JSON, but nothing a run wrote."""
        folder = self.launch("run", header=None)
        for text in ('{"type":"header","env":[1]}', '{"type":"header","ranks":7}', "[" * 100000, "7"):
            (folder / "rows.jsonl").write_text(text)
            self.assertEqual(started(TOP / "ci/perf_compare", folder, folder).stderr, "")

    def test_full_output(self):
        folder = self.launch("run")
        with open("/dev/full", "w") as full:
            for words, code in ((["page", folder], 1), (["perf_compare", folder, folder], 2),
                                (["perf_compare", "--json", "-", folder, folder], 2)):
                done = subprocess.run([TOP / "ci" / words[0], *words[1:]], stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=60, check=False)
                self.one_line(done, code, f"{words[0]}: standard output: No space left on device")
        for option in ("--csv", "--json"):
            self.one_line(started(TOP / "ci/perf_compare", option, "/dev/full", folder, folder), 2,
                          "perf_compare: /dev/full: No space left on device")
            self.one_line(started(TOP / "ci/perf_compare", option, self.place / "no/such", folder, folder), 2,
                          f"perf_compare: {self.place}/no/such: No such file or directory")

    def full(self, size, script):
        """What a shell prints and says in a mount namespace in which $1 is a disk of that size; $2 is the top folder."""
        place = self.place / "disk"
        place.mkdir(exist_ok=True)
        done = started("unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size={size} none "$1" || exit 77; {script}', "-",
                       place, TOP, self.place / "run")
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("no mount namespaces")
        return done

    def test_full_disk(self):
        self.launch("run", [{"size_bytes": 8 << i} for i in range(20)])
        done = self.full("24k", 'cp "$3"/rows.* "$1"; "$2/ci/page" "$1"; code=$?; ls "$1"; exit $code')
        self.one_line(done, 1, f"page: {self.place}/disk/page.html: No space left on device")
        self.assertEqual(sorted(done.stdout.split()), ["rows.csv", "rows.jsonl"])
        done = self.full("8k", '"$2/ci/perf_compare" --json "$1/all.json" "$3" "$3"; code=$?; ls "$1"; exit $code')
        self.one_line(done, 2, f"perf_compare: {self.place}/disk/all.json: No space left on device")
        self.assertNotIn("all.json", done.stdout)

    def test_little_room(self):
        """Room for the page, not for its pictures beside it: the page comes first."""
        folder = self.launch("run", [{"size_bytes": 8 << i} for i in range(20)])
        started(TOP / "ci/page", folder)
        size = sum(-(-path.stat().st_size // 4096) * 4 for path in folder.glob("*.*"))
        done = self.full(f"{size + 8}k", 'cp "$3"/rows.* "$1"; "$2/ci/page" "$1"; code=$?; ls "$1"; cat "$1/page.html"; exit $code')
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue("pictures are in this page alone: plots/: No space left on device" in done.stdout)

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_full_plots(self):
        """An older picture stays, none is cut, the exit code says that some lack."""
        self.drawable("run")
        done = self.full("64k", 'cp "$3/rows.csv" "$1"; echo old >"$1/latency.svg"; head -c 48k /dev/zero >"$1/fill"; '
                         '"$2/plots/plot" "$1"; code=$?; ls "$1"; cat "$1/latency.svg"; exit $code')
        self.assertEqual(done.returncode, 1)
        for name in ("busbw.svg", "latency.svg"):
            self.assertIn(f"plot: {self.place}/disk/{name}: No space left on device\n", done.stderr)
        self.assertEqual(done.stdout.split(), ["fill", "latency.svg", "rows.csv", "old"])
        done = self.full("64k", 'head -c 1M /dev/zero >"$1/fill" 2>/dev/null; TMPDIR=$1 "$2/plots/plot" "$3"; code=$?; ls "$3"; '
                         'exit $code')
        self.assertEqual((done.returncode, done.stdout.split()), (1, ["rows.csv", "rows.jsonl"]))
        self.assertIn("No space left on device\n", done.stderr)

    @unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
    def test_names(self):
        """Folders by any name: what is printed is where the picture is."""
        for name in ("a\\b", "it's", "x $(id) `id` \"y\"", "-e", "two\nlines"):
            folder = self.drawable(f"odd/{name}")
            done = started(TOP / "plots/plot", folder, env={**os.environ, "FORMATS": "svg"})
            with self.subTest(name):
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(f"# {folder}/busbw.svg\n", done.stdout)
                self.assertTrue((folder / "busbw.svg").exists())


if __name__ == "__main__":
    unittest.main()
