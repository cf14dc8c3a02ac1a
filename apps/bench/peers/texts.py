"""The common code of sentences and classify, in which a turn runs all texts."""
import gzip
import os
import shutil
import zlib

import numpy as np

from .common import UserError, note, print_table
from .compare import shown
from .ours import Process
from .turns import Peer, WorkerPeer


def lines_of(path):
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            yield from file
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UserError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}") from error


class OursOnTexts(Peer):
    """A process of a linformer command, timed as a whole: starting, loading, tokenizing, running and writing."""

    def __init__(self, precision, programs, checkpoint, model, command):
        super().__init__("linformer", precision)
        self.programs, self.checkpoint, self.model, self.command = programs, checkpoint, model, command
        self.version, self.array = programs.version(), model + ".npy"

    def prepare(self):
        if not os.path.exists(self.model):
            self.programs.convert(self.checkpoint, self.model, self.precision)
        # One run before the turns brings the model file into the system's file cache. The other engines load their
        # models before the turns, too.
        self.run()

    def run(self):
        if os.path.exists(self.array):
            os.remove(self.array)
        return Process([word.format(model=self.model, out=self.array) for word in self.command])

    def turn(self, seconds):
        process = self.run()
        self.times.append(process.seconds)
        self.peak = max(self.peak, process.peak_mb)

    def save(self, path):
        shutil.copy(self.array, path)


def worker_peers(options, folder, task, weights, shape, calibration, about, classifier):
    """Returns the peers of the other engines. Graphs are made from `weights`. `about` is added to a worker's spec."""
    def path(name):
        return os.path.join(folder, name)

    graph = {"kind": "graph", "weights": weights, "shape": shape._asdict(), "masked": True,
             "classifier": classifier}
    plain = {**graph, "out": path("plain.onnx"), "fused": False}
    fused = {**graph, "out": path("fused.onnx"), "fused": True}
    ir = {"kind": "openvino", "graph": plain["out"], "out": path("plain.xml")}
    narrow = {"kind": "onnxruntime int8", "graph": fused["out"], "out": path("int8.onnx")}
    calibrated = {"kind": "openvino int8", "graph": plain["out"], "out": path("int8.xml"), "calibration": calibration,
                  "calibrations": options.calibrations, "threads": options.threads}
    known = [("pytorch", "f32", None, None, []), ("pytorch", "bf16", None, None, []),
             ("onnxruntime", "f32", "plain", plain["out"], [plain]),
             ("onnxruntime", "f32", "fused", fused["out"], [fused]),
             ("onnxruntime", "int8", "fused", narrow["out"], [fused, narrow]),
             ("openvino", "f32", None, ir["out"], [plain, ir]), ("openvino", "bf16", None, ir["out"], [plain, ir]),
             ("openvino", "int8", None, calibrated["out"], [plain, calibrated])]
    made = []
    for engine, precision, kind, model, needed in known:
        if engine in options.engines and precision in options.precisions:
            spec = {"task": task, "threads": options.threads, "batch": options.batch, "graph": model, **about}
            made.append(WorkerPeer(engine, precision, spec, folder, needed, **({"graph": kind} if kind else {})))
    return made


def write_calibration(path, batches):
    """Saves the inputs for calibration. Each batch is an array of padded ids and its mask."""
    np.savez(path, **{f"{i}_{name}": value for i, (ids, mask) in enumerate(batches)
                      for name, value in (("ids", ids), ("mask", mask))})


def spread(count, batches, size):
    """Returns the indices of texts for calibration: `batches` ranges of `size` texts, evenly spread over all texts."""
    starts = [int(i * max(0, count - size) / max(1, batches - 1)) for i in range(batches)]
    return [range(start, min(count, start + size)) for start in starts]


def report(peers, count, unit, columns):
    """Prints the table of all peers. Each of `columns` is a title, a key of the figures and a format."""
    table = []
    for peer in peers:
        if peer.error:
            note(f"{peer.title} {peer.precision} could not be measured: {peer.error}")
            continue
        row = peer.row()
        table.append([peer.title, peer.precision, f"{1e3 * count / row['median_ms']:.1f}",
                      f"{1e3 * count / row['min_ms']:.1f}", f"{row['peak_mb']:.0f}",
                      *(shown(row.get(key), form) for _, key, form in columns), row.get("version") or "-"])
    print_table([("engine", "<"), ("precision", "<"), (f"{unit}/s", ">"), ("best", ">"), ("peak MB", ">"),
                 *((title, ">") for title, _, _ in columns), ("version", "<")], table)


def rows_of(peers, count):
    rows = []
    for peer in peers:
        row = peer.row()
        if not peer.error:
            row["texts_per_second"] = 1e3 * count / row["median_ms"]
        rows.append(row)
    return rows
