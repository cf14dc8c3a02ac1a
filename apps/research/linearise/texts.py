"""Reads texts with or without labels from files, turns them into token ids, and makes batches of them."""
import bisect
import csv
import gzip
import hashlib
import io
import json
import pathlib

import numpy
import torch

from linearise.errors import UserError

MOST_FIELD = 1 << 24  # The most characters of a field of a table.


def read_records(path):
    """Yields the records of a .txt, .jsonl, .csv or .tsv file as dicts. The file may be compressed (.gz). Each line of
    a .txt file is a record with the field `text`."""
    path = pathlib.Path(path)
    kind = path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
    if kind not in (".txt", ".jsonl", ".csv", ".tsv"):
        raise UserError(f"{path} has no known ending: give a .txt, .jsonl, .csv or .tsv file, or one of these with "
                        ".gz.")
    number = 0
    try:
        with io.TextIOWrapper(gzip.open(path) if path.suffix == ".gz" else open(path, "rb"), encoding="utf-8",
                              newline="") as lines:
            if kind in (".csv", ".tsv"):
                csv.field_size_limit(MOST_FIELD)
                quoting = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if kind == ".tsv" else {}
                for number, record in enumerate(csv.DictReader(lines, strict=True, **quoting), 1):
                    yield record
                return
            for number, line in enumerate(lines):
                line = line.rstrip("\r\n")
                if not line.strip():
                    continue
                yield {"text": line} if kind == ".txt" else json.loads(line)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist.") from None
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, json.JSONDecodeError) as error:
        raise UserError(f"{path}, record {number + 1}, can't be read: {error}.") from None


def choose_fields(record, fields, path):
    """Returns the names of the fields that have the texts: `fields` if it isn't empty, and otherwise the first usual
    name that the record has."""
    if not isinstance(record, dict):
        raise UserError(f"{path} has a record that is not a JSON object.")
    if fields:
        missing = [name for name in fields if name not in record]
        if missing:
            raise UserError(f"{path} has no field {missing[0]!r}; its fields are {', '.join(map(str, record))}.")
        return list(fields)
    for names in (["text"], ["sentence"], ["review"], ["content"]):
        if names[0] in record:
            return names
    raise UserError(f"{path} has no field 'text': name one of {', '.join(map(str, record))} with --field.")


class Texts:
    """Texts before tokenization. `texts` has a tuple of one text, or of the two texts of a pair, for each record.
    `labels` has a label or None for each."""

    def __init__(self, texts, labels):
        self.texts, self.labels = texts, labels

    def __len__(self):
        return len(self.texts)

    def part(self, chosen):
        return Texts([self.texts[i] for i in chosen], [self.labels[i] for i in chosen])


def read_texts(paths, fields=(), label=None, most=None):
    texts, labels = [], []
    for path in paths:
        names = None
        for record in read_records(path):
            names = names or choose_fields(record, fields, path)
            values = [record.get(name) for name in names]
            if any(not isinstance(value, str) for value in values):
                raise UserError(f"{path}, record {len(texts) + 1}: the field {names[0]!r} is not a text.")
            if label is not None and record.get(label) in (None, ""):
                raise UserError(f"{path}, record {len(texts) + 1}, has no label in the field {label!r} of --labels.")
            texts.append(tuple(values))
            labels.append(None if label is None else str(record[label]))
            if most and len(texts) >= most:
                return Texts(texts, labels)
    if not texts:
        raise UserError(f"there are no texts in {', '.join(map(str, paths))}.")
    return Texts(texts, labels)


def split(texts, share, most, seed):
    """Returns the training texts and at most `most` held-out texts. A hash of a text decides to which part it goes, so
    equal texts are always in the same part. Adding texts moves other texts only if `most` are held out."""
    def place(words):
        digest = hashlib.blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=8, key=b"%d" % seed)
        return int.from_bytes(digest.digest(), "big") / 2**64
    places = [place(words) for words in texts.texts]
    held = sorted((p, i) for i, p in enumerate(places) if p < share)[:most]
    limit = held[-1][0] if held else 0
    return (texts.part([i for i, p in enumerate(places) if p > limit or not held]),
            texts.part(sorted(i for p, i in held)))


class Tokens:
    """Texts as token ids. `ids` has an array of whole numbers for each text. `second` has the position at which the
    second text of a pair begins, or None for a single text. `pad` is the id of the padding."""

    def __init__(self, ids, second, labels, pad):
        self.ids, self.second, self.labels, self.pad = ids, second, labels, pad

    def __len__(self):
        return len(self.ids)

    def lengths(self):
        return [len(ids) for ids in self.ids]

    def part(self, chosen):
        return Tokens([self.ids[i] for i in chosen], [self.second[i] for i in chosen],
                      [self.labels[i] for i in chosen], self.pad)

    def cut(self, i, length):
        """Returns the ids of a text shortened to `length` tokens, of which the last is the text's own last token. Pairs
        aren't shortened."""
        ids = self.ids[i]
        if self.second[i] is not None or len(ids) <= length:
            return ids
        return numpy.concatenate([ids[:length - 1], ids[-1:]])

    def batch(self, chosen, device, lengths=None):
        """Returns ids, mask and type ids of these texts, padded at their ends. If `lengths` is given, the texts are
        shortened to these lengths."""
        rows = [self.ids[i] if lengths is None else self.cut(i, lengths[j]) for j, i in enumerate(chosen)]
        n = max(len(row) for row in rows)
        ids = numpy.full((len(rows), n), self.pad, numpy.int64)
        mask = numpy.zeros((len(rows), n), numpy.int64)
        types = numpy.zeros((len(rows), n), numpy.int64)
        for j, (row, i) in enumerate(zip(rows, chosen)):
            ids[j, :len(row)] = row
            mask[j, :len(row)] = 1
            if self.second[i] is not None:
                types[j, self.second[i]:len(row)] = 1
        return tuple(torch.from_numpy(array).to(device) for array in (ids, mask, types))


def tokenize(texts, tokenizer, length, classes=None, progress=None):
    """Returns the Tokens of texts, each truncated to `length` tokens. `classes` are the names of the labels in the
    order of the logits."""
    ids, second, labels = [], [], []
    index = {name: i for i, name in enumerate(classes or ())}
    for first in range(0, len(texts), 256):
        part = texts.texts[first:first + 256]
        pair = len(part[0]) == 2
        made = tokenizer([t[0] for t in part], [t[1] for t in part] if pair else None, truncation=True,
                         max_length=length, return_token_type_ids=pair)
        for row in range(len(part)):
            ids.append(numpy.array(made["input_ids"][row], numpy.int32))
            types = made["token_type_ids"][row] if pair else []
            second.append(bisect.bisect_left(types, 1) if pair else None)
        if progress:
            progress(len(ids) / len(texts))
    for label in texts.labels:
        if label is not None and classes and label not in index:
            raise UserError(f"the label {label!r} is not one of the model's classes {', '.join(classes)}.")
        labels.append(index.get(label))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    return Tokens(ids, second, labels, pad)


def class_names(texts):
    """Returns the distinct labels in alphabetical order, or in the order of their values if all are whole numbers."""
    names = sorted(set(texts.labels))
    if all(name.lstrip("-").isdigit() for name in names):
        names.sort(key=int)
    if not 2 <= len(names) <= 1000:
        raise UserError(f"there are {len(names)} different labels, but only 2 to 1,000 are possible.")
    return names


class Batches:
    """The batches of training. A batch has texts of similar length, and at most `most` tokens, padding included, unless
    it has only one text.

    If `cut` is set, half of the texts are shortened to a random length of at least `shortest` tokens, whose logarithm
    is uniformly distributed. A Linformer must be trained with texts of every length that it will be used for. The seed
    and the index of an epoch determine its batches.
    """

    def __init__(self, tokens, most, seed, shortest=32, cut=True, most_texts=64):
        self.tokens, self.most, self.seed = tokens, most, seed
        self.shortest, self.cut, self.most_texts = shortest, cut, most_texts

    def epoch(self, number):
        """Returns a list of batches. A batch is a list of indices of texts and a list of their lengths."""
        chance = numpy.random.default_rng([self.seed, number])
        lengths = numpy.array(self.tokens.lengths())
        if self.cut:
            shorter = numpy.exp(chance.uniform(numpy.log(self.shortest), numpy.log(numpy.maximum(lengths,
                                                                                                 self.shortest))))
            lengths = numpy.where(chance.random(len(lengths)) < 0.5, numpy.minimum(shorter.astype(int), lengths),
                                  lengths)
        order = chance.permutation(len(lengths))
        made = []
        for first in range(0, len(order), 1024):
            part = sorted(order[first:first + 1024], key=lambda i: (lengths[i], i))
            group = []
            for i in part:
                if group and ((len(group) + 1) * lengths[i] > self.most or len(group) == self.most_texts):
                    made.append(group)
                    group = []
                group.append(int(i))
            made.append(group)
        return [(made[i], [int(lengths[j]) for j in made[i]]) for i in chance.permutation(len(made))]

    def forever(self, skip=0):
        """Yields the batches of all epochs without end, and leaves out the first `skip` batches."""
        number = 0
        while True:
            batches = self.epoch(number)
            if skip < len(batches):
                yield from batches[skip:]
            skip = max(0, skip - len(batches))
            number += 1
