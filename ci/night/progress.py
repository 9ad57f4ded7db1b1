"""progress.py: what a night says while it runs, and how long it will still take."""
import shutil
import time
from statistics import median


def clock_text(seconds):
    seconds = int(seconds)
    hours = f"{seconds // 3600}:{seconds // 60 % 60:02}" if seconds >= 3600 else str(seconds // 60)
    return f"{hours}:{seconds % 60:02}"


class Progress:
    """A line that changes on a terminal, plain lines in a log; plain lines always in the night's log."""

    def __init__(self, stream):
        self.stream, self.terminal, self.log, self.open = stream, stream.isatty(), None, False

    def line(self, text):
        text = f"{time.strftime('%H:%M:%S')} {text}"
        self.stream.write(("\r\033[K" if self.open else "") + text + "\n")
        self.stream.flush()
        self.open = False
        try:
            if self.log:
                with open(self.log, "a", encoding="utf-8", errors="replace") as file:
                    file.write(text + "\n")
        except OSError:
            pass  # what counts is in night.json

    def update(self, text):
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r\033[K" + text[:width])
            self.stream.flush()
            self.open = True


def seconds_left(todo, seen):
    """Expected seconds of `todo`, names of runs, from seconds seen so far: name -> list; None at the start."""
    means = {name: median(values) for name, values in seen.items() if values}
    if not means:
        return None
    other = sum(means.values()) / len(means)
    return sum(means.get(name, other) for name in todo)
