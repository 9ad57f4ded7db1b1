"""junit.py: a night as JUnit XML, which GitLab, Jenkins and GitHub's reporters show: a case per run, and
per compared point."""
import re
import xml.etree.ElementTree as xml

from tables import save

# Characters that XML 1.0 cannot hold.
HOSTILE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
BAD = ("failed", "regression", "low")


def clean(text):
    return HOSTILE.sub("?", str(text))


def case(suite, where, name, seconds=0.0):
    return xml.SubElement(suite, "testcase", classname=clean(where), name=clean(name), time=f"{seconds:.3f}")


def say(element, tag, kind, text):
    child = xml.SubElement(element, tag, message=clean(text.split("\n", 1)[0]))
    if tag == "failure":
        child.set("type", kind)
    child.text = clean(text)


def run_case(suite, run, findings):
    element = case(suite, f"night.{run['kind']}", run["name"], sum(one["seconds"] for one in run["launches"]))
    mine = [f for f in findings if f["run"] == run["name"] and f["severity"] in BAD]
    for finding in mine:
        say(element, "failure", finding["kind"], f"{finding['text']}\n{finding['what_to_do']}\n{finding['evidence']}")
    if run["status"] == "not-run" and not mine:
        say(element, "skipped", "", run["why"] or "not run")


def point_case(suite, row):
    name = " ".join(str(row[key]) for key in ("bytes", "mode", "placement", "variant") if row.get(key))
    element = case(suite, f"night.{row['collective']}", name)
    if row["verdict"] == "slower":
        say(element, "failure", "slower", row["text"])
    elif row["verdict"] in ("cannot-tell", "new", "gone"):
        say(element, "skipped", "", row["text"])


def write(path, night):
    """Writes the night, a dict as night.json has it. Findings that belong to no run are cases of their own."""
    root = xml.Element("testsuites", name="hangar nightly")
    suites = {name: xml.SubElement(root, "testsuite", name=name, timestamp=clean(night["started"])[:19],
                                   hostname=clean(night["host"]))
              for name in ("bench", "fault", "comparison", "night")}
    names = {run["name"] for run in night["runs"]}
    for run in night["runs"]:
        run_case(suites[run["kind"]], run, night["findings"])
    for row in night["comparisons"]:
        point_case(suites["comparison"], row)
    state = case(suites["night"], "night", "state")
    if night["state"] != "complete":
        say(state, "failure", "incomplete", "the night is incomplete")
    for finding in night["findings"]:
        if finding["run"] not in names and finding["kind"] not in ("slower", "incomplete") and finding["severity"] in BAD:
            say(case(suites["night"], "night", finding["kind"]), "failure", finding["kind"], finding["text"])
    for suite in suites.values():
        for attribute, tag in (("tests", "testcase"), ("failures", "testcase[failure]"), ("skipped", "testcase[skipped]")):
            suite.set(attribute, str(len(suite.findall(tag))))
    xml.indent(root)
    save(path, xml.tostring(root, encoding="utf-8", xml_declaration=True))
