#!/usr/bin/env python3
"""Makes the files that the sample is trained and measured with, from IMDB's and SST-2's own.

    python3 training_data.py --imdb train.jsonl.gz --sst2 FOLDER --out data

FOLDER has SST-2's train.tsv, dev.tsv and test.tsv (`sentence`, `label`). Written as JSON lines, fields
`text` and `label` (0 negative, 1 positive):

  reviews.jsonl          nine tenths of the reviews
  ends.jsonl             the short first and last sentences of these reviews, with the review's label
  sentences.jsonl        SST-2's training phrases, each as it is and as people write it
  negations.jsonl        those of them that negate something in a few words
  valid_reviews.jsonl    the other reviews
  valid_sentences.jsonl  SST-2's dev sentences as they are
  test_sentences.jsonl   SST-2's test sentences as they are
  test_written.jsonl     the same as people write them
"""

import argparse
import gzip
import json
import os
import random
import re

import numpy

VALID_SHARE = 0.1
SPLIT_SEED = 1
# Longer first and last sentences often tell a story instead of a verdict.
MOST_END_WORDS = 12
NEGATION = re.compile(r"\b(not|never|no|nothing|neither|nor|without|hardly|cannot)\b|n't\b", re.IGNORECASE)
# In longer phrases the negated word rarely decides.
MOST_NEGATION_WORDS = 7
# SST-2 is lower case, with spaces around punctuation and inside contractions.
SPACING = (
    (r"-lrb-\s*", "("), (r"\s*-rrb-", ")"), (r"\s+(n't|'(?:s|re|ve|ll|d|m))\b", r"\1"), (r"``\s*", '"'),
    (r"\s*''", '"'), (r"\s+([,.;:!?%)])", r"\1"), (r"([($])\s+", r"\1"), (r"\bi\b(?!\.)", "I"))


def as_written(phrase, ending):
    text = phrase.strip()
    for pattern, replacement in SPACING:
        text = re.sub(pattern, replacement, text)
    text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?,;:-" else text + ending


def read_sst2(folder, name):
    with open(os.path.join(folder, name + ".tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    return [(text.strip(), int(label)) for text, label in rows]


def split_reviews(records):
    held = round(len(records) * VALID_SHARE)
    chosen = set(numpy.random.RandomState(SPLIT_SEED).permutation(len(records))[:held].tolist())
    return ([r for i, r in enumerate(records) if i not in chosen],
            [r for i, r in enumerate(records) if i in chosen])


def ends(text):
    sentences = re.split(r"(?<=[.!?])\s+", re.sub(r"<br />", " ", text).strip())
    if len(sentences) < 3:
        return []
    return [s for s in (sentences[0], sentences[-1]) if len(s.split()) <= MOST_END_WORDS]


def negates(text):
    return len(text.split()) <= MOST_NEGATION_WORDS and NEGATION.search(text) is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, metavar in (("imdb", "FILE"), ("sst2", "FOLDER"), ("out", "DIR")):
        parser.add_argument("--" + name, required=True, metavar=metavar)
    args = parser.parse_args()

    with gzip.open(args.imdb, "rt", encoding="utf-8") as file:
        records = [(r["text"], r["label"]) for r in map(json.loads, file)]
    reviews, valid_reviews = split_reviews(records)
    phrases, dev, test = (read_sst2(args.sst2, name) for name in ("train", "dev", "test"))
    # One training phrase is also a sentence of dev or test.
    measured = {text for text, _ in dev + test}
    phrases = [(text, label) for text, label in phrases if text not in measured]
    # The ending says nothing about the class.
    source = random.Random(SPLIT_SEED)
    written = [(as_written(text, source.choice((".", ".", "!", ""))), label) for text, label in phrases]

    os.makedirs(args.out, exist_ok=True)
    for name, rows in (
            ("reviews", reviews),
            ("ends", [(end, label) for text, label in reviews for end in ends(text)]),
            ("sentences", phrases + written),
            ("negations", [(text, label) for text, label in phrases + written if negates(text)]),
            ("valid_reviews", valid_reviews),
            ("valid_sentences", dev),
            ("test_sentences", test),
            ("test_written", [(as_written(text, ""), label) for text, label in test])):
        with open(os.path.join(args.out, name + ".jsonl"), "w", encoding="utf-8") as file:
            for text, label in rows:
                file.write(json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n")
        print(f"{name}: {len(rows)}")


if __name__ == "__main__":
    main()
