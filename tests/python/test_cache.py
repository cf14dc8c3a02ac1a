"""Tests the conversion and its cache."""
import multiprocessing
import shutil

import numpy as np
import pytest

import linformer_cpp as lin
import models


def test_a_checkpoint_is_converted_once(made, cache, tmp_path):
    made("classifier")
    first = lin.load(made.place / "classifier", cache_dir=cache)
    assert lin.load(made.place / "classifier", cache_dir=cache).path == first.path
    copy = tmp_path / "classifier"
    shutil.copytree(made.place / "classifier", copy)
    assert lin.load(copy, cache_dir=cache).path == first.path  # The cache depends on the content, not on the path.
    narrow = lin.load(copy, dtype="int8", cache_dir=cache)
    assert narrow.path != first.path and narrow.file_bytes < first.file_bytes
    settings = copy / "config.json"
    settings.write_text(settings.read_text().replace('"fair"', '"middling"'))
    changed = lin.load(copy, cache_dir=cache)
    assert changed.path != first.path and changed.heads[0].labels == ["bad", "middling", "good"]


def converted(arguments):
    return lin.load(arguments[0], cache_dir=arguments[1]).path


def test_processes_convert_at_once(tmp_path):
    folder = models.classifier(tmp_path / "classifier")
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        paths = pool.map(converted, [(folder, tmp_path / "cache")] * 8)
    assert len(set(paths)) == 1
    assert sorted(path.suffix for path in (tmp_path / "cache").iterdir()) == [".json", ".lnfr"]


def test_a_state_dict(tmp_path):
    tensors = models.encoder(1, "")
    folder = models.embedding(tmp_path / "folder")
    report = lin.convert(dict(tensors), tmp_path / "state.lnfr", config=models.config("BertModel"), tokenizer=folder)
    assert report["dialect"]
    text = "the sailor sings ."
    np.testing.assert_array_equal(lin.Embedder(tmp_path / "state.lnfr", pooling="mean").encode(text),
                                  lin.Embedder(lin.load(folder, cache_dir=tmp_path)).encode(text))


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        lin.load(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(lin.ConversionError):
        lin.load(tmp_path / "empty", cache_dir=tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*.lnfr"))
    (tmp_path / "broken.lnfr").write_bytes(b"no model")
    with pytest.raises(lin.CorruptFile):
        lin.load(tmp_path / "broken.lnfr")
    with pytest.raises(ValueError, match="dtype"):
        lin.convert(tmp_path, tmp_path / "x.lnfr", dtype="f64")
    with pytest.raises(TypeError, match="state dict"):
        lin.convert(3, tmp_path / "x.lnfr")
