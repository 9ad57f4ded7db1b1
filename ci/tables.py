"""tables.py: rows as CSV and as text, for the scripts of ci/ that sum up runs."""
import csv


def write_csv(path, header, lines):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def table(header, lines):
    cells = [[str(c) for c in line] for line in [header] + lines]
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in cells)
