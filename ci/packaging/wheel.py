"""wheel.py: packs an installed tree as a wheel, of which `hangar` and `python -m hangar` are the programs. Used by ci/packaging/package.

usage: wheel.py TREE OUT.whl VERSION TAG SUMMARY      time of all files: SOURCE_DATE_EPOCH
"""
import base64
import hashlib
import os
import sys
import time
import zipfile

MAIN = '''"""hangar: `python -m hangar run train.py` watches a program of this Python; else as the program hangar."""
import os
import sys


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["run"]:
        script = next((i for i in range(1, len(arguments)) if not arguments[i].startswith("-")), 0)
        if script and arguments[script].endswith(".py"):
            arguments.insert(script, sys.executable)
    else:
        os.environ.setdefault("VIRTUAL_ENV", sys.prefix)  # where pip's NCCL is looked for
        os.environ.setdefault("HANGAR_PYTHON", sys.executable)  # which has the torch of `hangar schedule`
    home = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hangar")
    os.execv(home, [home, *arguments])


if __name__ == "__main__":
    main()
'''


def main():
    tree, out, version, tag, summary = sys.argv[1:]
    when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    info = f"hangar-{version}.dist-info"
    files = {"hangar/__init__.py": b"", "hangar/__main__.py": MAIN.encode(),
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: hangar\nVersion: {version}\nSummary: {summary}\n".encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: hangar\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
             f"{info}/entry_points.txt": b"[console_scripts]\nhangar = hangar.__main__:main\n"}
    runs = set()
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):  # a wheel has none; libexec/hangar/build is for scripts by hand
                continue
            with open(path, "rb") as file:
                to = "hangar/" + os.path.relpath(path, tree)
                files[to] = file.read()
            if os.access(path, os.X_OK):
                runs.add(to)
    sums = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
            for name, data in sorted(files.items())]
    files[f"{info}/RECORD"] = "".join([*sums, f"{info}/RECORD,,\n"]).encode()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100755 if name in runs else 0o100644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)


main()
