"""Tests that the Python code in the documents runs unchanged."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not (ROOT / "apps/python/README.md").exists():
    pytest.skip("the documents are not part of this copy of the tests", allow_module_level=True)


@pytest.mark.parametrize("document", ["README.md", "apps/python/README.md", "apps/bulk/README.md"])
def test_code_runs(made, cache, monkeypatch, tmp_path, document):
    """Small test models replace the model folders that the code names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINFORMER_CACHE", str(cache))
    for name, kind in (("all-MiniLM-L6-v2", "embedding"), ("bge-small-en-v1.5", "embedding"),
                       ("sentiment", "classifier")):
        made(kind)
        (tmp_path / name).symlink_to(made.place / kind)
    (tmp_path / "sentiment.lnfr").symlink_to(made("classifier").path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.S | re.M)
    assert blocks
    names = {}
    for block in blocks:
        for module in re.findall(r"^(?:import|from) (pyspark|ray|pandas|pyarrow|polars)", block, re.M):
            pytest.importorskip(module)
        exec(compile(block, document, "exec"), names)


def test_notebook_runs(tmp_path, monkeypatch):
    """The notebook's cells run in order. The stored outputs must equal the new ones."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("LINFORMER_CACHE", str(tmp_path))
    path = ROOT / "apps/python/tour.ipynb"
    stored = nbformat.read(path, 4)
    place = {"metadata": {"path": str(path.parent)}}
    found = nbclient.NotebookClient(nbformat.read(path, 4), resources=place).execute()
    assert any(cell.get("outputs") for cell in stored.cells)
    for old, new in zip(stored.cells, found.cells):
        if old.cell_type == "code":
            assert [text_of(output) for output in old.outputs] == [text_of(output) for output in new.outputs]


def text_of(output):
    """Returns the text of an output without hashes, and without digits that may differ between processors."""
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    return re.sub(r"-[0-9a-f]{32}", "", re.sub(r"(\d\.\d{4})\d+", r"\1", "".join(text)))
