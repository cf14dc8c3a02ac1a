"""Reads labelled text files: JSON lines, CSV, TSV and fastText's lines, each also gzipped."""

import csv
import gzip
import json
import re
import sys
import zlib
from collections import namedtuple

from config import UserError

Record = namedtuple("Record", "text pair label")


def read_records(path, text_field, pair_field, label_field):
    """Returns all records of a file in their order. A label is the string in the file."""
    name = str(path)
    stem = name[:-3] if name.endswith(".gz") else name
    rows = {"jsonl": json_rows, "json": json_rows, "csv": table_rows, "tsv": table_rows, "txt": fasttext_rows}.get(
        stem.rsplit(".", 1)[-1].lower())
    if rows is None:
        raise UserError(f"{name}: unknown kind of file (give a .jsonl, .csv, .tsv or fastText .txt file, or its .gz)")
    records = []
    try:
        opener = gzip.open if name.endswith(".gz") else open
        # utf-8-sig removes the byte order mark that spreadsheets write. It is not a part of the first field.
        with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
            for line_number, row in rows(name, stem, lines):
                where = f"{name}:{line_number}"
                records.append(Record(
                    text=string_field(where, row, text_field),
                    pair=string_field(where, row, pair_field) if pair_field else None,
                    label=label_text(where, row, label_field)))
    except OSError as error:
        raise UserError(f"{name}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise UserError(f"{name}: damaged gzip file ({error})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not UTF-8 text ({error.reason})") from error
    if not records:
        raise UserError(f"{name}: no records")
    return records


def json_rows(name, _stem, lines):
    for line_number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{name}:{line_number}: not JSON ({error})") from error
        if not isinstance(row, dict):
            raise UserError(f"{name}:{line_number}: not a JSON object")
        yield line_number, row


def table_rows(name, stem, lines):
    csv.field_size_limit(sys.maxsize)
    if stem.lower().endswith(".tsv"):
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, strict=True)
    try:
        header = next(reader, None)
        if header is None:
            return
        for fields in reader:
            if not fields:
                continue
            if len(fields) != len(header):
                raise UserError(f"{name}:{reader.line_num}: {len(fields)} fields, "
                                f"the first line names {len(header)}")
            yield reader.line_num, dict(zip(header, fields))
    except csv.Error as error:
        raise UserError(f"{name}:{reader.line_num}: {error}") from error


def fasttext_rows(name, _stem, lines):
    """Yields the rows of a file for fastText, with lines "__label__NAME text". The fields are called label and text."""
    for line_number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        label, _, text = line.strip().partition(" ")
        if not label.startswith("__label__") or label == "__label__":
            raise UserError(f"{name}:{line_number}: no label: a line of a .txt file is \"__label__NAME text\"")
        if text.startswith("__label__"):
            raise UserError(f"{name}:{line_number}: several labels: give each text one label")
        yield line_number, {"label": label[len("__label__"):], "text": text.strip()}


def string_field(where, row, field):
    value = require(where, row, field)
    if not isinstance(value, str):
        raise UserError(f"{where}: field '{field}' is not a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"{where}: field '{field}' has a lone surrogate, which UTF-8 can't encode") from error
    return value


def label_text(where, row, field):
    value = require(where, row, field)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise UserError(f"{where}: field '{field}' is neither a string nor a whole number")
    text = str(value).strip()
    if not text or len(text.splitlines()) > 1:
        raise UserError(f"{where}: label is empty or has several lines")
    return text


def require(where, row, field):
    if field not in row:
        known = ", ".join(list(row)[:8]) or "none"
        raise UserError(f"{where}: no field '{field}' (fields: {known})")
    return row[field]


def label_order(records):
    """Returns the different labels. Numbers are ordered by value, other labels by alphabet."""
    found = {record.label for record in records}
    if all(re.fullmatch("-?[0-9]+", label) for label in found):
        return sorted(found, key=int)
    return sorted(found)


def label_ids(records, labels, path):
    """Returns the class of each record. A label is the name of a class in the model, or the number of a class."""
    numbers = {str(index): index for index in range(len(labels))}
    numbers.update({label: index for index, label in enumerate(labels)})
    ids = []
    for index, record in enumerate(records, 1):
        if record.label not in numbers:
            raise UserError(f"{path}: record {index} has label '{record.label}', "
                            f"the model knows {', '.join(labels[:8])}")
        ids.append(numbers[record.label])
    return ids
