"""peers.py encode: times one text in an encoder of RoBERTa-base's size."""
import os
import statistics
import tempfile

import numpy as np

from . import ours, turns
from . import weights as w
from .common import note, print_table, processor, progress, write_json
from .compare import compare_all, shown
from .turns import Peer, WorkerPeer

SEED = 20200608
PRECISIONS = {"pytorch": ("f32", "bf16"), "onnxruntime": ("f32", "int8"), "openvino": ("f32", "bf16", "int8"),
              "linformer": ("f32", "bf16", "int8")}


class Ours(Peer):
    """Runs `linformer bench` in a new process for each turn, and records the median and the least time of its calls."""

    def __init__(self, precision, programs, checkpoint, settings, model, ids, n, threads):
        super().__init__("linformer", precision)
        self.programs, self.checkpoint, self.settings = programs, checkpoint, settings
        self.model, self.ids, self.n, self.threads, self.limits = model, ids, n, threads, []
        self.version, self.least = programs.version(), []

    def prepare(self):
        if not os.path.exists(self.model):
            self.programs.convert(self.checkpoint, self.model, self.precision, self.settings)

    def turn(self, seconds):
        result, limits = self.programs.bench(self.model, self.n, self.threads, seconds)
        self.times.append(result["median_ms"] / 1e3)
        self.least.append(result["min_ms"])
        self.peak = max(self.peak, result["peak_bytes"] / (1 << 20))
        if "compute" in result:
            self.figures["compute"] = result["compute"]
        if limits:
            self.limits.append(limits)

    def save(self, path):
        self.programs.encode(self.model, self.ids, path, self.threads)

    def row(self):
        row = super().row()
        if self.least and not self.error:
            row["min_ms"], row["turns"] = min(self.least), row.pop("calls")
        return row


class Files:
    """The files of a comparison: the weights, and for each length the models that the engines load."""

    def __init__(self, folder, shape, seed):
        self.folder, self.shape = folder, shape
        types = 1 if shape.k == 0 else 0
        weights = w.random_weights(shape, types, seed)
        self.weights = os.path.join(folder, "weights.safetensors")
        w.save(self.weights, weights)
        self.checkpoint, self.settings = w.save_checkpoint(os.path.join(folder, "checkpoint"), weights, shape)

    @property
    def vocabulary(self):
        return self.shape.vocabulary

    def task(self, n):
        """Returns the part of a worker's spec that PyTorch needs."""
        return {"task": "encode", "weights": self.weights, "shape": self.shape._asdict(), "n": n}

    def graph(self, n, fused, out):
        """Returns the spec of the step that makes an ONNX graph."""
        return {"kind": "graph", "weights": self.weights, "shape": self.shape._asdict(), "n": n, "fused": fused,
                "out": out}

    def path(self, *parts):
        return os.path.join(self.folder, *map(str, parts))


def write_ids(files, n, calibrations):
    """Writes random ids for the text and for calibration. There is no padding, so that all rows are computed."""
    chance = np.random.default_rng([SEED, n])
    made = [chance.integers(4, files.vocabulary, (1, n), dtype=np.int64) for _ in range(1 + calibrations)]
    ids, calibration = files.path("ids.npy"), files.path("calibration.npz")
    np.save(ids, made[0])
    np.savez(calibration, **{f"{i}_ids": one for i, one in enumerate(made[1:])})
    return ids, calibration


def peers_of(options, files, programs, n, ids, calibration):
    plain, fused, ir = files.path("plain.onnx"), files.path("fused.onnx"), files.path("plain.xml")
    steps = {
        "plain": files.graph(n, False, plain),
        "fused": files.graph(n, True, fused),
        "openvino": {"kind": "openvino", "graph": plain, "out": ir}}
    made = []
    for engine in options.engines:
        for precision in options.precisions:
            if precision not in PRECISIONS[engine]:
                continue
            if engine == "linformer":
                made.append(Ours(precision, programs, files.checkpoint, files.settings,
                                 files.path(f"{precision}.lnfr"), ids, n, options.threads))
                continue
            spec = {"threads": options.threads, "ids": ids, **files.task(n)}
            needed = []
            if engine == "onnxruntime":
                spec["graph"], needed = fused, [steps["fused"]]
                if precision == "int8":
                    spec["graph"] = files.path("int8.onnx")
                    needed = needed + [{"kind": "onnxruntime int8", "graph": fused, "out": spec["graph"]}]
            elif engine == "openvino":
                spec["graph"], needed = ir, [steps["plain"], steps["openvino"]]
                if precision == "int8":
                    spec["graph"] = files.path("int8.xml")
                    needed = [steps["plain"], {"kind": "openvino int8", "graph": plain, "out": spec["graph"],
                                               "calibration": calibration, "calibrations": options.calibrations,
                                               "threads": options.threads}]
            made.append(WorkerPeer(engine, precision, spec, files.folder, needed))
    return made


def measure(options, files, programs, n):
    ids, calibration = write_ids(files, n, options.calibrations)
    peers = peers_of(options, files, programs, n, ids, calibration)
    outputs = {peer: files.path(f"output-{i}.npy") for i, peer in enumerate(peers)}
    reference = next((p for p in peers if (p.engine, p.precision) == ("pytorch", "f32")), None)
    if reference is None and "pytorch" in options.found:
        # This peer isn't timed. The outputs of the others are compared with its output.
        spec = {"threads": options.threads, "ids": ids, **files.task(n)}
        reference = WorkerPeer("pytorch", "f32", spec, files.folder)
        outputs[reference] = files.path("output-reference.npy")
        progress.say(f"n {n}: output of PyTorch f32 ...")
        turns.save_output(reference, outputs[reference])
    turns.take_turns(peers, options.rounds, options.seconds, f"n {n}", outputs)
    if reference is not None:
        compare_all(peers, outputs, reference)
    for name in os.listdir(files.folder):  # The next length needs new graphs. Models of linformer are for all lengths.
        if name.startswith(("plain", "fused", "int8.onnx", "int8.xml", "int8.bin", "output")):
            os.remove(files.path(name))
    return peers


def limits_of(peers):
    """Returns the median of each limit over all runs of linformer bench."""
    found = [limits for peer in peers for limits in getattr(peer, "limits", [])]
    numbers = {}
    for limits in found:
        for name, value in limits.items():
            if isinstance(value, (int, float)):
                numbers.setdefault(name, []).append(value)
    return {name: statistics.median(values) for name, values in sorted(numbers.items())}


def run(options):
    programs = ours.Programs(options.linformer) if "linformer" in options.engines else None
    shape = w.Shape(**w.ROBERTA_BASE, k=options.k, longest=max(options.n))
    rows, every = [], []
    kind = f"Linformer, k {options.k}" if options.k else "full attention"
    quiet = options.json == "-"
    with tempfile.TemporaryDirectory(prefix="peers-", dir=options.scratch) as folder:
        progress.say("writing random weights ...")
        files = Files(folder, shape, SEED)
        if not quiet:
            print(f"{processor()}, {options.threads} threads; {kind}, {shape.layers} layers, d {shape.d}, one text")
        for n in options.n:
            peers = measure(options, files, programs, n)
            every += peers
            rows += [{"n": n, "k": options.k, **peer.row()} for peer in peers]
            if not quiet:
                print_rows(n, peers)
    limits = limits_of(every)
    if limits and not quiet:
        print("\nlimits of the machine: " + ", ".join(f"{name} {value:.0f}" for name, value in limits.items()))
    if options.json:
        write_json(options.json, {
            "task": "encode", "processor": processor(), "threads": options.threads, "seed": SEED,
            "shape": shape._asdict(), "rounds": options.rounds, "seconds": options.seconds, "limits": limits,
            "results": rows})
    return 0 if any("error" not in row for row in rows) else 1


def print_rows(n, peers):
    table = []
    for peer in peers:
        row = peer.row()
        if peer.error:
            note(f"n {n}, {peer.title} {peer.precision} could not be measured: {peer.error}")
            continue
        table.append([peer.title, peer.precision, f"{row['median_ms']:.2f}", f"{row['min_ms']:.2f}",
                      f"{row['peak_mb']:.0f}", shown(row.get("max_relative_difference"), ".1e"),
                      shown(row.get("mean_cosine"), ".6f"), row.get("version") or "-"])
    print(f"\nn = {n}")
    print_table([("engine", "<"), ("precision", "<"), ("median ms", ">"), ("least ms", ">"), ("peak MB", ">"),
                 ("difference", ">"), ("cosine", ">"), ("version", "<")], table)
