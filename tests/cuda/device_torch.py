"""Times PyTorch, eager and compiled, and linformer on a GPU with the same weights.

    python3 tests/cuda/device_torch.py --linformer BUILD_FOLDER [--json FILE] [--seconds S] ...

PyTorch computes attention by scaled_dot_product_attention. Each call reads the ids of a batch from the host and returns
the mean of each text's rows, as `linformer bench` does. The most valuable cases run first, and no case begins after
--seconds. The file of --json is written again after each case. The ratio is compiled PyTorch's time over linformer's.
The exit status is 77 if PyTorch or another package is missing.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "apps", "bench"))
try:
    import numpy as np
    import safetensors
    import torch
except ImportError as error:
    print(f"skipped: Python's package {error.name} is not here")
    sys.exit(77)
from peers import ours
from peers import weights as w
from peers.common import UserError, run
from peers.torch_encoder import Encoder

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
SEED = 20200608


def numbers(text):
    return [int(word) for word in text.split(",")]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--linformer", required=True, help="the build folder")
    parser.add_argument("--json", help="a file for all figures")
    parser.add_argument("--seconds", type=float, default=240, help="no case begins later than this (240)")
    parser.add_argument("--case-seconds", type=float, default=0.5, help="how long the calls of a case are timed (0.5)")
    parser.add_argument("--n", type=numbers, default=[4096, 512, 16384, 65536])
    parser.add_argument("--batch", type=numbers, default=[32, 1])
    parser.add_argument("--k", type=int, default=128)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--precisions", default="f16,bf16,f32")
    parser.add_argument("--device", default="cuda", help="the device of PyTorch and of linformer: cuda or cpu")
    return parser.parse_args()


class Case:
    """One precision, length and batch in PyTorch."""

    def __init__(self, given, files, precision, n, batch):
        chance = np.random.default_rng([SEED, n])
        ids = chance.integers(4, files.shape.vocabulary, (batch, n), dtype=np.int64)
        self.ids, self.device = torch.from_numpy(ids), given.device
        torch._dynamo.reset()  # Without this PyTorch stops compiling after some shapes.
        self.model = Encoder(files.weights, files.shape._asdict(), n).to(given.device, DTYPES[precision]).eval()

    @torch.inference_mode()
    def rows(self):
        return self.model(self.ids.to(self.device))

    @torch.inference_mode()
    def call(self):
        return self.rows().float().mean(1).cpu()

    def compile(self):
        for layer in self.model.layers:  # The layers are alike, so PyTorch compiles only one.
            layer.compile(dynamic=False)

    def milliseconds(self, seconds):
        for _ in range(2):
            self.call()
        times, end = [], time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            begin = time.perf_counter()
            self.call()  # Its .cpu() waits for the GPU.
            times.append((time.perf_counter() - begin) * 1e3)
        return statistics.median(times)


class Files:
    """The weights as PyTorch and linformer read them."""

    def __init__(self, given, folder):
        self.shape = w.Shape(**{**w.ROBERTA_BASE, "layers": given.layers}, k=given.k, longest=max(given.n))
        weights = w.random_weights(self.shape, 0, SEED)
        self.folder, self.weights = folder, os.path.join(folder, "weights.safetensors")
        w.save(self.weights, weights)
        checkpoint, settings = w.save_checkpoint(os.path.join(folder, "checkpoint"), weights, self.shape)
        programs = ours.Programs(given.linformer)
        self.linformer, self.given = programs.linformer, given
        for precision in given.precisions.split(","):
            programs.convert(checkpoint, self.model(precision), precision, settings)

    def model(self, precision):
        return os.path.join(self.folder, precision + ".lnfr")

    def bench(self, precision, n, batch):
        said = json.loads(run([self.linformer, "bench", self.model(precision), "--n", n, "--batch", batch, "--seconds",
                               self.given.case_seconds, "--device", self.given.device, "--json"], "linformer bench"))
        result = said["results"][0]
        if "error" in result:
            raise UserError(result["error"])
        return result

    def rows(self, precision, ids):
        path, out = os.path.join(self.folder, "ids.npy"), os.path.join(self.folder, "rows.npy")
        np.save(path, ids)
        run([self.linformer, "encode", self.model(precision), "--ids", path, "--what", "hidden", "-o", out, "--device",
             self.given.device], "linformer encode")
        return np.load(out).reshape(-1, self.shape.d)


def difference(a, b):
    """Returns the largest difference between `a` and `b`, divided by the largest magnitude in `b`."""
    return float(np.abs(a - b).max() / np.abs(b).max())


def attempt(row, name, work):
    """Sets row[name], or row[name + "_error"] if `work` raises, so that the other cases still run."""
    try:
        row[name] = work()
    except (RuntimeError, UserError, MemoryError) as error:
        row[name + "_error"] = str(error).strip().splitlines()[0][:200]


def measure(given, files, precision, n, batch):
    row = {"precision": precision, "n": n, "batch": batch, "k": given.k}
    attempt(row, "linformer_ms", lambda: files.bench(precision, n, batch)["median_ms"])
    try:
        case = Case(given, files, precision, n, batch)
        attempt(row, "eager_ms", lambda: case.milliseconds(given.case_seconds))
        if batch == 1 and "eager_ms" in row:
            rows = case.rows()[0].float().cpu().numpy()
            attempt(row, "difference", lambda: difference(files.rows(precision, case.ids.numpy()), rows))
        case.compile()
        attempt(row, "compiled_ms", lambda: case.milliseconds(given.case_seconds))
    except RuntimeError as error:
        row["error"] = str(error).strip().splitlines()[0][:200]
    return row


def text_of(row):
    def figure(name, form):
        return format(row[name], form) if name in row else "-"

    if {"compiled_ms", "linformer_ms"} <= set(row):
        row["compiled_over_linformer"] = row["compiled_ms"] / row["linformer_ms"]
    cells = [f"{row['precision']:<5}{row['n']:>7}{row['batch']:>6}"]
    cells += [figure(name, ".3f").rjust(10) for name in ("linformer_ms", "eager_ms", "compiled_ms")]
    cells += [figure("compiled_over_linformer", ".2f").rjust(8), figure("difference", ".1e").rjust(10)]
    return "  ".join(cells + [f"{name}: {value}" for name, value in row.items() if name.endswith("error")])


def main():
    given, begin = options(), time.monotonic()
    if given.device == "cuda" and not torch.cuda.is_available():
        print("skipped: this PyTorch sees no GPU")
        return 77
    results, left = [], 0
    with tempfile.TemporaryDirectory(prefix="device-torch-") as folder:
        files = Files(given, folder)
        print(f"PyTorch {torch.__version__}; a Linformer of RoBERTa-base's size, {given.layers} layers, k {given.k}; "
              "ms of a call")
        print("type       n batch   linformer       eager    compiled     ratio  difference", flush=True)
        for n in given.n:
            for batch in given.batch:
                for precision in given.precisions.split(","):
                    if time.monotonic() - begin > given.seconds:
                        left += 1
                        continue
                    results.append(measure(given, files, precision, n, batch))
                    print(text_of(results[-1]), flush=True)
                    if given.json:
                        with open(given.json, "w", encoding="utf-8") as file:
                            json.dump({"torch": torch.__version__, "results": results}, file, indent=2)
    if left:
        print(f"{left} cases did not begin, because the time was over")
    return 0 if any("linformer_ms" in row and "eager_ms" in row for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
