"""Tests runs over Parquet files: what they write, how they resume, and what they refuse."""
import datetime
import json
import os
import pathlib
import shlex
import subprocess
import sys

import numpy as np
import pytest

import linformer_cpp as lin

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from linformer_cpp.bulk import job as jobs  # noqa: E402
from linformer_cpp.bulk import options, reading, sources, tables, work  # noqa: E402

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
    return jobs.prepare(options.parser("", "").parse_args(shlex.split(line)))


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


def test_a_run_resumes(made, data, tmp_path):
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
    assert compute(second)[0].seconds == 0  # A second call doesn't change the file.
    assert jobs.finish(second, 1.0)["rows"] == 951
    for file in out.glob("*.parquet"):
        assert file.read_bytes() == (tmp_path / "whole" / file.name).read_bytes()
    pq.write_table(pa.table({"id": ["new"], "text": ["good"]}), data / "new.parquet")
    third = prepared(made, data, out)
    assert [unit.rows for unit in third.units] == [1]
    assert not (out / "_SUCCESS").exists()


def test_what_a_run_refuses(made, data, tmp_path):
    out = tmp_path / "out"
    compute(prepared(made, data, out))
    with pytest.raises(ValueError, match="other settings"):
        prepared(made, data, out, "--normalize")
    with pytest.raises(ValueError, match="--head"):
        prepared(made, data, tmp_path / "other", "--head x")
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        prepared(made, data / "missing", tmp_path / "other")
    with pytest.raises(lin.LinformerError, match="nosuch"):  # This is an error of the run, and not of each row.
        prepared(made, data, tmp_path / "other", "--prompt nosuch")
    with pytest.raises(ValueError, match="has no column 'body'; its columns are id, text, year"):
        prepared(made, data, tmp_path / "other", "--field body")
    with pytest.raises(ValueError, match="reads one text"):
        prepared(made, data, tmp_path / "other", "--pair id")
    with pytest.raises(ValueError, match="type int64, and not texts"):
        pq.write_table(pa.table({"text": [1]}), tmp_path / "numbers.parquet")
        prepared(made, tmp_path / "numbers.parquet", tmp_path / "other")
    with pytest.raises(ValueError, match="contains files of the input"):
        prepared(made, data, data)
    assert not (tmp_path / "other").exists() and not (data / "_linformer.json").exists()
    changed = data / "year=2020/part.parquet"
    os.utime(changed, ns=(0, 0))  # This looks like another file of the same size that was written at another time.
    with pytest.raises(ValueError, match="has been changed"):
        prepared(made, data, out)


def test_results_inside_the_input(made, data):
    """The folder of the results may be in the input's folder if readers skip its name."""
    with pytest.raises(ValueError, match="below the input"):
        prepared(made, data, data / "out")
    compute(prepared(made, data, data / "_out"))
    assert prepared(made, data, data / "_out").units == []


def test_a_file_that_changes_during_a_run(made, data, tmp_path):
    job = prepared(made, data, tmp_path / "out")
    pq.write_table(pa.table({"id": ["0"], "text": ["good"]}), data / "year=2023/part.parquet")
    changed = [unit for unit in job.units if "year=2023" in unit.source.path]
    with pytest.raises(work.UnitError, match="changed since"):
        compute(job, changed[:1])
    assert not list((tmp_path / "out").glob("*.parquet")) and not list((tmp_path / "out/_temporary").iterdir())


def test_another_model_on_a_worker(made, data, tmp_path):
    job = prepared(made, data, tmp_path / "out")
    with pytest.raises(work.UnitError, match="differs from the one"):
        work.compute(job.units[0], job.settings, made("classifier").path, 1, job.output)


def test_a_model_that_is_sent(made, monkeypatch, tmp_path):
    monkeypatch.setattr(work.tempfile, "gettempdir", lambda: str(tmp_path))
    content = open(made("embedding").path, "rb").read()
    path = work.save_received_model(lambda: content, "name")
    assert work.save_received_model(lambda: pytest.fail("it is there already"), "name") == path
    assert lin.Model(path).width == 32


def test_names_of_files(made, tmp_path):
    for name in ("_hidden", "文" * 80):
        file = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"text": ["good"]}), file)
        job = prepared(made, file, tmp_path / f"out{len(name)}")
        compute(job)
        assert jobs.finish(job, 1.0)["rows"] == 1
        assert pq.read_table(tmp_path / f"out{len(name)}").num_rows == 1  # Readers don't skip the file.


def test_columns_of_folders(tmp_path):
    for folder in ("at=2024-01-01 10%3A30", "at=__HIVE_DEFAULT_PARTITION__", "_at=1", "_hidden"):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table({"text": ["good"]}), tmp_path / folder / "part.parquet")
    found = [{name: value.as_py() for name, value in source.constants.items()}
             for source in sources.sources(str(tmp_path))]
    assert found == [{"_at": "1"}, {"at": "2024-01-01 10:30"}, {"at": None}]


def test_timestamps_of_spark(tmp_path):
    """Spark writes INT96, and tables use the year 9999 for "no end". Nanoseconds can't represent this year."""
    end = datetime.datetime(9999, 12, 31)
    pq.write_table(pa.table({"text": ["good"], "end": pa.array([end], pa.timestamp("us"))}), tmp_path / "a.parquet",
                   use_deprecated_int96_timestamps=True)
    (source,) = sources.sources(str(tmp_path))
    (batch,) = reading.batches(source, 0, 1, 10)
    assert batch.column("end").to_pylist() == [end]
    assert reading.footer_of(source) == (1, batch.schema)


def test_large_rows_are_read_in_small_batches(tmp_path):
    pq.write_table(pa.table({"text": ["x" * 1_000_000] * 100}), tmp_path / "a.parquet", use_dictionary=False)
    (source,) = sources.sources(str(tmp_path))
    rows = [batch.num_rows for batch in reading.batches(source, 0, 100, 1024)]
    assert sum(rows) == 100 and max(rows) < 40


def test_empty_row_groups(tmp_path):
    with pq.ParquetWriter(tmp_path / "a.parquet", pa.schema([("text", pa.string())])) as writer:
        for texts in (["a", "b"], [], ["c"]):
            writer.write_table(pa.table({"text": pa.array(texts, pa.string())}))
    (source,) = sources.sources(str(tmp_path))
    found = [text for batch in reading.batches(source, 1, 2, 10) for text in batch.column("text").to_pylist()]
    assert found == ["b", "c"]


def test_delta(made, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    table = pa.table({"id": ["a", "b", "c"], "text": ["no", "good", "bad"], "year": [2020, 2020, 2021]})
    deltalake.write_deltalake(tmp_path / "in", table, partition_by=["year"])
    job = prepared(made, tmp_path / "in", tmp_path / "out")
    compute(job)
    assert jobs.finish(job, 1.0)["rows"] == 3
    assert {name: row["year"] for name, row in rows_of(tmp_path / "out").items()} == {"a": 2020, "b": 2020, "c": 2021}


def test_delta_partitions_and_added_columns(made, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    first = pa.table({"id": ["a"], "text": ["no"], "kind": ["x y:z"]})
    second = pa.table({"id": ["b"], "text": ["good"], "kind": pa.array([None], pa.string()), "more": [1]})
    deltalake.write_deltalake(tmp_path / "in", first, partition_by=["kind"])
    deltalake.write_deltalake(tmp_path / "in", second, mode="append", schema_mode="merge")
    job = prepared(made, tmp_path / "in", tmp_path / "out")
    compute(job)
    assert jobs.finish(job, 1.0)["rows"] == 2
    found = rows_of(tmp_path / "out")
    assert (found["a"]["kind"], found["a"]["more"]) == ("x y:z", None)
    assert (found["b"]["kind"], found["b"]["more"]) == (None, 1)


def test_delta_with_renamed_columns_is_refused(made, tmp_path):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(tmp_path / "in", pa.table({"id": ["a"], "text": ["no"]}))
    log = tmp_path / "in/_delta_log/00000000000000000000.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            line["metaData"]["configuration"]["delta.columnMapping.mode"] = "name"
    log.write_text("\n".join(json.dumps(line) for line in lines))
    with pytest.raises(ValueError, match="columnMapping"):
        prepared(made, tmp_path / "in", tmp_path / "out")


def test_iceberg(made, tmp_path):
    pytest.importorskip("pyiceberg")
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.types import StringType
    catalog = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    catalog.create_namespace("test")
    table = pa.table({"id": ["a", "b"], "text": ["no", "good"]})
    iceberg_table = catalog.create_table("test.texts", table.schema)
    iceberg_table.append(table)
    with iceberg_table.update_schema() as update:
        update.rename_column("text", "body")
    with iceberg_table.update_schema() as update:
        update.add_column("text", StringType())  # Old files have an older column of this name with another id.
    iceberg_table.append(pa.table({"id": ["c"], "body": ["bad"], "text": ["other"]}))
    location = iceberg_table.location().removeprefix("file://")
    job = prepared(made, location, tmp_path / "out", "--field body")
    compute(job)
    assert jobs.finish(job, 1.0)["rows"] == 3
    found = {name: (row["body"], row["text"], row["error"]) for name, row in rows_of(tmp_path / "out").items()}
    assert found == {"a": ("no", None, None), "b": ("good", None, None), "c": ("bad", "other", None)}


def test_the_newest_metadata_of_iceberg(tmp_path):
    (tmp_path / "metadata").mkdir()
    for number in (2, 9, 10):
        (tmp_path / f"metadata/v{number}.metadata.json").touch()
    assert tables.newest_metadata(str(tmp_path)).endswith("/v10.metadata.json")
    (tmp_path / "metadata/version-hint.text").write_text("9")
    assert tables.newest_metadata(str(tmp_path)).endswith("/v9.metadata.json")
    (tmp_path / "metadata/version-hint.text").unlink()
    (tmp_path / "metadata/00010-of-a-failed-commit.metadata.json").touch()
    with pytest.raises(ValueError, match="the one that the catalog names"):
        tables.newest_metadata(str(tmp_path))


@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="estimate.py reads /proc")
def test_estimates(made, data):
    script = pathlib.Path(__file__).resolve().parents[2] / "apps/bulk/estimate.py"
    if not script.exists():
        pytest.skip("apps/bulk is not part of this copy of the tests")
    line = [sys.executable, script, "--model", made("embedding").path, "--task", "embed", "--input", data, "--rows",
            "1000000", "--nodes", "10", "--cores", "4", "--unit-rows", "500", "--sample", "100"]
    said = json.loads(subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout)
    assert said["rows"] == 1_000_000 and said["sample_rows"] == 100
    assert said["output_files"] == 2000 and said["relative_time_sorted_by_length"] > 0
    assert said["rows_per_second"] == pytest.approx(40 * said["rows_per_second_and_core"], rel=0.01)
    assert said["output_bytes_per_row"] > 10 and len(said["relative_time_by_length_group"]) == 4
    assert said["node_memory_megabytes"] > 3 * said["worker_memory_megabytes"] > 30
