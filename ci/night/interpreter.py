"""interpreter.py: a Python that has NumPy and SciPy, or exit 77 and what to install."""
import importlib.util
import os
import sys

DEBIAN = "/usr/bin/python3"  # has Debian's packages whichever python3 comes first in PATH


def need_libraries():
    """Call before the first import of numpy. Goes on under Debian's Python where this one lacks a
    library; ends with exit 77 where that one lacks it too."""
    if sys.version_info < (3, 11):  # its tomllib reads ci/nightly.toml
        print(f"{os.path.basename(sys.argv[0])}: needs Python 3.11 or newer, and this is {sys.version.split()[0]}",
              file=sys.stderr)
        sys.exit(77)
    missing = [name for name in ("numpy", "scipy") if importlib.util.find_spec(name) is None]
    if not missing:
        return
    if os.path.realpath(sys.executable) != os.path.realpath(DEBIAN) and os.access(DEBIAN, os.X_OK):
        os.execv(DEBIAN, [DEBIAN, *sys.argv])
    print(f"{os.path.basename(sys.argv[0])}: Python without {' and '.join(missing)}: install python3-numpy and "
          "python3-scipy (ci/setup does)", file=sys.stderr)
    sys.exit(77)
