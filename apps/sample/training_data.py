#!/usr/bin/env python3
"""Makes the files with which the sample is trained and measured, from the files of IMDB and SST-2.

    python3 training_data.py --imdb train.jsonl.gz --sst2 FOLDER --out data
    python3 training_data.py --answers answers.jsonl --out data

FOLDER has SST-2's train.tsv, dev.tsv and test.tsv (`sentence`, `label`). The first command writes these files of JSON
lines with the fields `text` and `label` (0 negative, 1 positive):

  reviews.jsonl          nine tenths of the reviews
  unlabelled.jsonl       sentences of these reviews of up to 40 words, each with the label of its review
  composed.jsonl         composed verdicts of a few words (verdicts.py)
  valid_composed.jsonl   composed verdicts for validation
  ends.jsonl             short first and last sentences of the reviews in reviews.jsonl, with the label of the review
  sentences.jsonl        SST-2's training phrases, each as it is and with normal spacing, capitals and punctuation
  negations.jsonl        the phrases of sentences.jsonl that negate something in a few words
  valid_reviews.jsonl    the other reviews
  valid_sentences.jsonl  SST-2's dev sentences as they are
  test_sentences.jsonl   SST-2's test sentences as they are
  test_written.jsonl     SST-2's test sentences with normal spacing, capitals and punctuation

The second command reads the answers of `linformer classify --json` for unlabelled.jsonl. It writes labelled.jsonl: the
sentences for which the teacher (teacher.py) was sure of the class, with that class.

No training file has a text of short_sentences.tsv, because the test uses these.
"""

import argparse
import gzip
import json
import os
import random
import re

import numpy

from verdicts import verdicts

VALID_SHARE = 0.1
SPLIT_SEED = 1
# First and last sentences with more words are left out, because they often tell a story and give no verdict.
MOST_END_WORDS = 12
MOST_SENTENCE_WORDS = 40
COMPOSED = 16_000
VALID_COMPOSED = 500
SURE = 0.95
NEGATION = re.compile(r"\b(not|never|no|nothing|neither|nor|without|hardly|cannot)\b|n't\b", re.IGNORECASE)
# Phrases with more words are left out, because the negated word rarely decides their label.
MOST_NEGATION_WORDS = 7
# SST-2 is in lower case, with spaces around punctuation and inside contractions. These replacements remove the spaces.
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


def sentences(text):
    parts = re.split(r"(?<=[.!?])\s+", re.sub(r"<br />", " ", text).strip())
    return [part for part in (part.strip() for part in parts) if 1 < len(part.split()) <= MOST_SENTENCE_WORDS]


def plain(text):
    """Returns the letters of a text in lower case. Texts count as equal if their letters are equal."""
    return re.sub(r"[^a-z]", "", text.lower())


def held_out():
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "short_sentences.tsv"), encoding="utf-8") as file:
        return {plain(line.split("\t")[0]) for line in file}


HELD_OUT = held_out()


def negates(text):
    return len(text.split()) <= MOST_NEGATION_WORDS and NEGATION.search(text) is not None


def write_from_sources(args):
    with gzip.open(args.imdb, "rt", encoding="utf-8") as file:
        records = [(r["text"], r["label"]) for r in map(json.loads, file)]
    reviews, valid_reviews = split_reviews(records)
    phrases, dev, test = (read_sst2(args.sst2, name) for name in ("train", "dev", "test"))
    # Training phrases that are also sentences of dev or test are removed. There is one.
    measured = {text for text, _ in dev + test}
    phrases = [(text, label) for text, label in phrases if text not in measured]
    # The punctuation at the end is random, so that it doesn't show the class.
    source = random.Random(SPLIT_SEED)
    written = [(as_written(text, source.choice((".", ".", "!", ""))), label) for text, label in phrases]

    composed = for_training(verdicts(random.Random(SPLIT_SEED), COMPOSED + VALID_COMPOSED))
    unlabelled = dict.fromkeys((sentence, label) for text, label in reviews for sentence in sentences(text))

    write(args.out, {
        "reviews": reviews,
        "ends": for_training((end, label) for text, label in reviews for end in ends(text)),
        "sentences": for_training(phrases + written),
        "negations": for_training((text, label) for text, label in phrases + written if negates(text)),
        "composed": composed[VALID_COMPOSED:],
        "valid_composed": composed[:VALID_COMPOSED],
        "unlabelled": for_training(unlabelled),
        "valid_reviews": valid_reviews,
        "valid_sentences": dev,
        "test_sentences": test,
        "test_written": [(as_written(text, ""), label) for text, label in test]})


def write_sure_answers(args):
    """Writes the sentences for which the teacher is sure of the class."""
    with open(args.answers, encoding="utf-8") as file:
        answers = [json.loads(line) for line in file]
    with open(os.path.join(args.out, "unlabelled.jsonl"), encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    sure = [(text, int(answer["label"] == "positive"))
            for text, answer in zip(texts, answers, strict=True) if answer["probability"] >= SURE]
    write(args.out, {"labelled": sure})


def for_training(rows):
    return [(text, label) for text, label in rows if plain(text) not in HELD_OUT]


def write(folder, files):
    os.makedirs(folder, exist_ok=True)
    for name, rows in files.items():
        with open(os.path.join(folder, name + ".jsonl"), "w", encoding="utf-8") as file:
            for text, label in rows:
                file.write(json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n")
        print(f"{name}: {len(rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, metavar in (("imdb", "FILE"), ("sst2", "FOLDER"), ("answers", "FILE")):
        parser.add_argument("--" + name, metavar=metavar)
    parser.add_argument("--out", required=True, metavar="DIR")
    args = parser.parse_args()
    if args.answers:
        write_sure_answers(args)
    elif args.imdb and args.sst2:
        write_from_sources(args)
    else:
        parser.error("give --imdb and --sst2, or --answers")


if __name__ == "__main__":
    main()
