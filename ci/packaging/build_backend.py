"""build_backend.py: `pip install ./ci/packaging`: pip's hook (PEP 517) around `make wheel`, which compiles only what is not built yet."""
import glob
import os
import shutil
import subprocess

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    subprocess.run(["make", "-s", "-C", TOP, "wheel"], check=True)
    newest = max(glob.glob(os.path.join(TOP, "build-package", "packages", "*.whl")), key=os.path.getmtime)
    return os.path.basename(shutil.copy(newest, wheel_directory))
