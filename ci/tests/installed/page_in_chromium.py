"""page_in_chromium.py: what e2e_page.sh looks at, by Selenium, on the page of a made-up night.

usage: page_in_chromium.py [SHOTS]     SHOTS: a folder for the screenshots, else they are thrown away
"""
import base64
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import night_sample  # noqa: E402

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

SHOTS = Path(sys.argv[1]) if len(sys.argv) > 1 else None
LOAD_MOST = 2.0  # seconds, the fastest of LOADS: other work on the host only adds
LOADS = 5
SIZE_MOST = 5 << 20
CELLS = "return [...document.querySelectorAll('#compared tbody tr:not([hidden])')].map(r => r.cells[%d].%s)"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="page-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.night = night_sample.make(Path(cls.folder.name) / "night")
        made = subprocess.run([HERE.parents[1] / "page", cls.night], capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        cls.file = cls.night / "page.html"
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000",
                     f"--user-data-dir={cls.folder.name}/profile"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        cls.browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.get_log("performance")  # of the tab that it opens with
        cls.seconds = min(cls.load() for _ in range(LOADS))
        cls.log = cls.browser.get_log("browser")
        cls.asked = [asked["request"]["url"] for line in cls.browser.get_log("performance")
                     if (asked := json.loads(line["message"])["message"]["params"]).get("documentURL") == cls.file.as_uri()
                     and "request" in asked]

    @classmethod
    def load(cls):
        """Seconds from the navigation to the end of the load event."""
        cls.browser.get(cls.file.as_uri())
        return cls.browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000

    def js(self, script, *args):
        return self.browser.execute_script(script, *args)

    def column(self, name, what="textContent"):
        heads = self.js("return [...document.querySelectorAll('#compared th')].map(h => h.textContent)")
        return self.js(CELLS % (heads.index(name), what))

    def press(self, name):
        self.js("[...document.querySelectorAll('#compared th button')].find(b => b.textContent === arguments[0]).click()", name)

    def shot(self, name, **metrics):
        """A picture of the whole page, or of what fits a phone."""
        if metrics:
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        data = self.browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
        if SHOTS:
            SHOTS.mkdir(parents=True, exist_ok=True)
            (SHOTS / f"{name}.png").write_bytes(base64.b64decode(data))

    def test_loads_fast_and_small(self):
        self.assertLess(self.file.stat().st_size, SIZE_MOST)
        self.assertLess(self.seconds, LOAD_MOST)
        self.assertEqual(self.js("return document.querySelectorAll('#points-table tbody tr').length"), 660)
        print(f"{self.seconds:.2f} s, {self.file.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
        self.shot("desktop")

    def test_console_is_quiet_and_nothing_is_fetched(self):
        self.assertEqual(self.log, [])
        self.assertEqual({url for url in self.asked if not url.startswith("data:image/svg+xml;")}, {self.file.as_uri()})

    def test_every_picture(self):
        sizes = self.js("return Promise.all([...document.images].map(i => i.decode().then(() => [i.alt, i.naturalWidth])))")
        self.assertEqual(len(sizes), 27)  # slower, sheet, predicted, trend, timeline, two a collective
        self.assertEqual([s for s in sizes if s[1] < 1], [])
        self.assertEqual(self.js("return document.querySelectorAll('#compared svg.bar').length"), 660)

    def test_sorts(self):
        self.press("now us")
        times = [float(v) for v in self.column("now us")]
        self.assertEqual(times, sorted(times))
        self.press("now us")
        self.assertEqual([float(v) for v in self.column("now us")], times[::-1])
        self.press("size")  # by bytes, not by text
        sizes = [int(v) for v in self.column("size", "dataset.v")]
        self.assertEqual(sizes, sorted(sizes))
        self.press("collective")
        self.assertEqual(self.column("collective"), sorted(self.column("collective")))
        self.assertEqual(self.js("return document.querySelectorAll('#compared th[aria-sort=ascending]').length"), 1)
        heads = self.js("return [...document.querySelectorAll('#compared th')].map(h => h.textContent)")
        self.assertNotIn("vendor %", heads)  # nothing but empty cells

    def test_filters(self):
        tools = self.browser.find_element(By.CSS_SELECTOR, "#changed .tools-line")
        words = tools.find_element(By.TAG_NAME, "input")
        verdict = Select(tools.find_element(By.CSS_SELECTOR, "select"))
        verdict.select_by_value("slower")
        self.assertEqual(set(self.column("collective")), {"alltoall"})
        slower = len(self.column("size"))
        words.send_keys("IN-PLACE 512 mib")
        self.assertEqual(self.column("placement"), ["in-place"])
        self.assertEqual(tools.find_element(By.CSS_SELECTOR, "[role=status]").text, "1 of 660 rows")
        words.clear()
        words.send_keys("nothing has this")
        self.assertEqual(self.column("size"), [])
        words.clear()
        words.send_keys(" ")
        self.assertEqual((slower, len(self.column("size"))), (18, 18))
        verdict.select_by_value("")
        self.assertEqual(len(self.column("size")), 660)

    def test_hostile_text_stays_text(self):
        self.assertEqual(self.js("return [document.scripts.length, typeof fail]"), [1, "undefined"])
        self.assertEqual(self.js("return document.querySelectorAll('img[src=x], [onerror]').length"), 0)
        links = self.js("return [...document.querySelectorAll('a')].map(a => a.href)")
        self.assertEqual([a for a in links if not a.startswith("file:")], [])
        self.assertIn(night_sample.HOSTILE, self.js("return document.body.textContent"))
        dead = [a for a in self.js("return [...document.querySelectorAll('a')].map(a => decodeURIComponent(a.pathname))")
                if not Path(a).exists()]
        self.assertEqual(dead, [])

    def test_dark(self):
        def paper():
            return self.js("return getComputedStyle(document.documentElement).backgroundColor")
        light = paper()
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.assertNotEqual(paper(), light)
        self.shot("dark")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def test_phone(self):
        self.shot("phone", width=390, height=844, deviceScaleFactor=2, mobile=True)
        self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), 390)
        for name in ("changed", "pictures", "topology"):
            self.js("document.getElementById(arguments[0]).scrollIntoView()", name)
            self.shot(f"phone-{name}", width=390, height=844, deviceScaleFactor=2, mobile=True)
        self.js("scrollTo(0, 0)")
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_print(self):
        printed = base64.b64decode(self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"])
        self.assertEqual(printed[:5], b"%PDF-")
        self.assertGreater(printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page "), 10)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        for name in ("findings", "changed", "pictures"):
            self.js("document.getElementById(arguments[0]).scrollIntoView()", name)
            self.shot(f"print-{name}")
        self.assertEqual(self.js("return getComputedStyle(document.querySelector('nav')).display"), "none")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
