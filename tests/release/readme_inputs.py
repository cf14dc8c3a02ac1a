#!/usr/bin/env python3
"""Writes the tables that the README's commands read into a folder: docs.csv, reviews.csv and new.csv.

The reviews are composed verdicts (apps/sample/verdicts.py). They are enough for a minute of training, but don't measure
quality.
"""
import csv
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "apps/sample"))
from verdicts import verdicts  # noqa: E402


def write(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = verdicts(random.Random(7), 1200)
    labels = ("negative", "positive")
    write(folder / "docs.csv", ["id", "body"], [(number, text) for number, (text, _) in enumerate(rows[:50])])
    write(folder / "reviews.csv", ["text", "label"], [(text, labels[label]) for text, label in rows[100:]])
    write(folder / "new.csv", ["text"], [(text,) for text, _ in rows[50:100]])


if __name__ == "__main__":
    main()
