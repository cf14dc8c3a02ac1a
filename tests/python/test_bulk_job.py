"""Runs over Parquet files: what they write, how they go on, and what they refuse."""
import json
import shlex

import numpy as np
import pytest

import linformer_cpp as lin

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from linformer_cpp.bulk import job as jobs  # noqa: E402
from linformer_cpp.bulk import work  # noqa: E402

TEXTS = ["the old sailor sings in Oslo .", "no", None, "a long train runs .", "was the city good ?"]


@pytest.fixture
def data(tmp_path):
    place = tmp_path / "in"
    for number, rows in enumerate((700, 1, 0, 250)):
        part = place / f"year={2020 + number}"
        part.mkdir(parents=True)
        table = pa.table({"id": [f"{number}-{row}" for row in range(rows)],
                          "text": pa.array([TEXTS[row % 5] for row in range(rows)], pa.string())})
        pq.write_table(table, part / "part.parquet", row_group_size=100)
    return place


def prepared(made, data, output, more=""):
    line = f"--model {made('embedding').path} --task embed --input {data} --output {output} --unit-rows 130 {more}"
    return jobs.prepare(jobs.parser("", "").parse_args(shlex.split(line)))


def compute(job, units=None):
    return [work.compute(unit, job.settings, job.model, 1, job.output) for unit in units or job.units]


def rows_of(folder):
    table = pq.read_table(folder, partitioning=None)
    return {row["id"]: row for row in table.to_pylist()}


def test_every_row_has_its_result(made, data, tmp_path):
    job = prepared(made, data, tmp_path / "out")
    assert len(job.units) == 6 + 1 + 2 and job.rows == 951
    reports = compute(job)
    summary = jobs.finish(job, 1.0)
    assert summary["rows"] == 951 and summary["bad"] == 190 == sum(report.bad for report in reports)
    assert json.loads((tmp_path / "out/_SUCCESS").read_text()) == summary
    assert not (tmp_path / "out/_temporary").exists()
    found = rows_of(tmp_path / "out")
    assert len(found) == 951
    vectors = dict(zip(filter(None, TEXTS), lin.Embedder(made("embedding")).encode([t for t in TEXTS if t])))
    for row in found.values():
        assert row["year"] == {"0": "2020", "1": "2021", "3": "2023"}[row["id"][0]]
        if row["text"] is None:
            assert row["embedding"] is None and row["error"] == "the text is null"
        else:
            np.testing.assert_array_equal(np.array(row["embedding"], np.float32), vectors[row["text"]])


def test_a_run_goes_on(made, data, tmp_path):
    whole = prepared(made, data, tmp_path / "whole")
    compute(whole)
    out = tmp_path / "out"
    first = prepared(made, data, out)
    compute(first, first.units[:4])
    (out / "_temporary/left.parquet.0").write_bytes(b"of a worker that was killed")
    with pytest.raises(FileNotFoundError):
        jobs.finish(first, 1.0)
    assert not (out / "_SUCCESS").exists()
    second = prepared(made, data, out)
    assert second.done == 4 and len(second.units) == 5
    compute(second)
    assert compute(second)[0].seconds == 0  # computed again, the file is left alone
    assert jobs.finish(second, 1.0)["rows"] == 951
    for file in out.glob("*.parquet"):
        assert file.read_bytes() == (tmp_path / "whole" / file.name).read_bytes()
    pq.write_table(pa.table({"id": ["new"], "text": ["good"]}), data / "new.parquet")
    third = prepared(made, data, out)
    assert [unit.rows for unit in third.units] == [1]


def test_what_a_run_refuses(made, data, tmp_path):
    out = tmp_path / "out"
    compute(prepared(made, data, out))
    with pytest.raises(ValueError, match="other settings"):
        prepared(made, data, out, "--normalize")
    with pytest.raises(ValueError, match="--head"):
        prepared(made, data, tmp_path / "other", "--head x")
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        prepared(made, data / "missing", tmp_path / "other")
    pq.write_table(pa.table({"id": ["0"], "text": ["good"]}), data / "year=2020/part.parquet")
    with pytest.raises(ValueError, match="has changed"):
        prepared(made, data, out)


def test_a_file_that_changes_during_a_run(made, data, tmp_path):
    job = prepared(made, data, tmp_path / "out")
    pq.write_table(pa.table({"id": ["0"], "text": ["good"]}), data / "year=2023/part.parquet")
    changed = [unit for unit in job.units if "year=2023" in unit.source.path]
    with pytest.raises(ValueError, match="changed since"):
        compute(job, changed[:1])
    assert not list((tmp_path / "out").glob("*.parquet")) and not list((tmp_path / "out/_temporary").iterdir())


def test_another_model_on_a_worker(made, data, tmp_path):
    job = prepared(made, data, tmp_path / "out")
    with pytest.raises(ValueError, match="other content"):
        work.compute(job.units[0], job.settings, made("classifier").path, 1, job.output)


def test_a_model_that_is_sent(made, monkeypatch, tmp_path):
    monkeypatch.setattr(work.tempfile, "gettempdir", lambda: str(tmp_path))
    content = open(made("embedding").path, "rb").read()
    path = work.received(lambda: content, "name")
    assert work.received(lambda: pytest.fail("it is there already"), "name") == path
    assert lin.Model(path).width == 32


def test_delta(made, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    table = pa.table({"id": ["a", "b", "c"], "text": ["no", "good", "bad"], "year": [2020, 2020, 2021]})
    deltalake.write_deltalake(tmp_path / "in", table, partition_by=["year"])
    job = prepared(made, tmp_path / "in", tmp_path / "out")
    compute(job)
    assert jobs.finish(job, 1.0)["rows"] == 3
    assert {name: row["year"] for name, row in rows_of(tmp_path / "out").items()} == {"a": 2020, "b": 2020, "c": 2021}


def test_iceberg(made, tmp_path):
    pytest.importorskip("pyiceberg")
    from pyiceberg.catalog.sql import SqlCatalog
    catalog = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    catalog.create_namespace("test")
    table = pa.table({"id": ["a", "b"], "text": ["no", "good"]})
    made_table = catalog.create_table("test.texts", table.schema)
    made_table.append(table)
    job = prepared(made, made_table.location().removeprefix("file://"), tmp_path / "out")
    compute(job)
    assert jobs.finish(job, 1.0)["rows"] == 2
