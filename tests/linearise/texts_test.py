import gzip
import json

import numpy
import pytest

from conftest import make_model, make_texts, write_lines
from linearise.errors import UserError
from linearise.texts import Batches, Texts, class_names, read_texts, split, tokenize


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    import transformers
    folder = make_model(tmp_path_factory.mktemp("model"))
    return transformers.AutoTokenizer.from_pretrained(folder)


def test_files_of_each_kind(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo words\n")
    assert read_texts([tmp_path / "a.txt"]).texts == [("one",), ("two words",)]
    (tmp_path / "b.csv").write_text('sentence,stars\n"good, ""fine""\nand long",5\nbad,1\n')
    made = read_texts([tmp_path / "b.csv"], label="stars")
    assert made.texts == [('good, "fine"\nand long',), ("bad",)] and made.labels == ["5", "1"]
    (tmp_path / "c.tsv").write_text('first\tsecond\tl\na "b\tc\tx\n')
    assert read_texts([tmp_path / "c.tsv"], ["first", "second"], "l").texts == [('a "b', "c")]
    with gzip.open(tmp_path / "d.jsonl.gz", "wt") as out:
        out.write(json.dumps({"text": "é"}) + "\n" + json.dumps({"text": "f"}) + "\n")
    assert read_texts([tmp_path / "d.jsonl.gz", tmp_path / "a.txt"], most=3).texts == [("é",), ("f",), ("one",)]


@pytest.mark.parametrize("name,content,words", [
    ("a.pdf", b"x", "no known ending"), ("a.jsonl", b"{\n", "record 1"), ("a.jsonl", b'[1]\n', "not a JSON object"),
    ("a.jsonl", b'{"body": "x"}\n', "name one of body"), ("a.jsonl", b'{"text": 3}\n', "is not a text"),
    ("a.txt", b"\xff\xfe\n", "can't be read"), ("a.txt", b"\n", "no texts"), ("a.csv", b'text\n"x\n', "can't be read"),
    ("a.txt.gz", b"no gzip", "can't be read")])
def test_bad_files_are_refused_in_one_sentence(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=words) as error:
        read_texts([tmp_path / name])
    assert "\n" not in str(error.value)


def test_missing_files_fields_and_labels(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        read_texts([tmp_path / "nothing.txt"])
    path = write_lines(tmp_path / "a.jsonl", ["x"])
    with pytest.raises(UserError, match="no field 'body'"):
        read_texts([path], ["body"])
    with pytest.raises(UserError, match="has no label"):
        read_texts([path], label="stars")


def test_a_split_depends_on_the_texts_alone():
    words = [(f"text {i}",) for i in range(400)] + [("text 7",)] * 5
    train, held = split(Texts(words, [None] * len(words)), 0.1, 30, 3)
    assert len(held) == 30 and len(train) >= 330
    assert not set(train.texts) & set(held.texts)
    _, same = split(Texts(words[::-1], [None] * len(words)), 0.1, 30, 3)
    assert sorted(same.texts) == sorted(held.texts)
    assert set(split(Texts(words, [None] * len(words)), 0.1, 30, 4)[1].texts) != set(held.texts)


def test_classes_are_in_order():
    assert class_names(Texts([], ["10", "9", "10"])) == ["9", "10"]
    assert class_names(Texts([], ["b", "a"])) == ["a", "b"]
    with pytest.raises(UserError, match="1 different"):
        class_names(Texts([], ["a", "a"]))


def test_tokens_pairs_and_cuts(tokenizer):
    made = tokenize(Texts([("a river", "the sea runs"), ("a", "b")], ["x", "y"]), tokenizer, 64, ["x", "y"])
    ids, mask, types = made.batch([0, 1], "cpu")
    assert ids.shape == (2, 8) and mask.sum(1).tolist() == [8, 5]
    assert types[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert made.labels == [0, 1]
    one = tokenize(Texts([("a river runs",)], [None]), tokenizer, 64)
    assert one.cut(0, 4).tolist() == one.ids[0][:3].tolist() + [3]
    assert made.cut(0, 4).tolist() == made.ids[0].tolist()
    assert len(tokenize(Texts([("a " * 500,)], [None]), tokenizer, 20).ids[0]) == 20
    with pytest.raises(UserError, match="not one of the model's classes"):
        tokenize(Texts([("a",)], ["z"]), tokenizer, 64, ["x", "y"])


def test_batches_are_bounded_complete_and_the_same_each_time(tokenizer):
    tokens = tokenize(Texts([(t,) for t in make_texts(300)], [None] * 300), tokenizer, 64)
    batches = Batches(tokens, 512, seed=5, shortest=8)
    first = batches.epoch(0)
    assert sorted(i for chosen, _ in first for i in chosen) == list(range(300))
    assert max(len(chosen) * max(lengths) for chosen, lengths in first) <= 512
    assert first == Batches(tokens, 512, seed=5, shortest=8).epoch(0)
    assert first != batches.epoch(1) and first != Batches(tokens, 512, seed=6, shortest=8).epoch(0)
    lengths = numpy.array(tokens.lengths())
    cut = sum(n < lengths[i] for chosen, part in first for i, n in zip(chosen, part))
    assert 60 < cut < 200
    whole = Batches(tokens, 512, seed=5, cut=False).epoch(0)
    assert all(n == lengths[i] for chosen, part in whole for i, n in zip(chosen, part))
    source, rest = batches.forever(), batches.forever(len(first) + 2)
    for _ in range(len(first) + 2):
        next(source)
    assert next(source) == next(rest)
