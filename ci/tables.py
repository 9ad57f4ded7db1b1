"""tables.py: what scripts of ci/ share: rows as CSV and as text, files read within bounds and written whole or not
at all, errors as one line."""
import contextlib
import csv
import errno
import io
import os
import stat
import sys
from pathlib import Path


MOST = 256 << 20  # bytes of a file that is read whole


def read_file(path, most=None):
    """The bytes of a regular file: of a pipe or a device there may be no end. The first `most` of them and one more;
    without it a file of more than MOST is an error. Raises OSError, which names the file."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        is_what = os.fstat(fd)
        if not stat.S_ISREG(is_what.st_mode):
            raise OSError(errno.EINVAL, "no regular file", str(path))
        if not most and is_what.st_size > MOST:
            raise OSError(errno.EFBIG, f"larger than {MOST >> 20} MiB", str(path))
        try:
            return file.read((most or MOST) + 1)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error


def cells_of(text):
    """The lines of CSV, as lists of cells. Raises ValueError for what is no table."""
    try:
        return list(csv.reader(io.StringIO(text.replace("\0", "?"), newline="")))
    except csv.Error as error:
        raise ValueError(f"no table of rows: {error}") from error


def at_once(path, flags):
    """Opens a file for writing; a FIFO that no process reads is an error, and no wait."""
    fd = os.open(path, flags | os.O_NONBLOCK, 0o666)
    os.set_blocking(fd, True)
    return fd


def save(path, data, sync=False):
    """Writes a file, text or bytes: whole, or what was there stays. `sync`: it is on the disk then. Raises OSError,
    which names the file."""
    path = Path(path)
    to = path.with_name(path.name + ".partial") if path.is_file() or not path.exists() else path  # /dev/stdout
    try:
        with open(to, "wb", opener=at_once) as file:
            file.write(data if isinstance(data, bytes) else data.encode(errors="replace"))
            if sync:
                file.flush()
                os.fsync(file.fileno())
        if to != path:
            os.replace(to, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            if to != path:
                to.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error


def csv_text(header, lines):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue()


def write_csv(path, header, lines):
    save(path, csv_text(header, lines))


def table(header, lines):
    cells = [[str(c) for c in line] for line in [header] + lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in cells)


def run(name, main, failed=1, left=1):
    """The exit code of main(), or `failed` after an error of a file, which is one line: which file, and why; `left`
    where a reader of standard output has seen enough."""
    try:
        code = main()
        sys.stdout.flush()
        return code
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            left = failed
            print(f"{name}: {error.filename or 'standard output'}: {error.strerror or error}", file=sys.stderr)
        with contextlib.suppress(OSError):  # nothing more is written at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return left
