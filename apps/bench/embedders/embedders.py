#!/usr/bin/env python3
"""Times Python libraries that embed sentences. The libraries take turns within one run.

The libraries are sentence-transformers with PyTorch, ONNX Runtime and OpenVINO, fastembed, and linformer_cpp. Each is
used as its documentation recommends.

    python3 apps/bench/embedders/embedders.py --model all-MiniLM-L6-v2/ --texts sentences.txt --count 3000 --threads 2

Libraries whose packages are missing are left out. The program prints sentences per second (of the fastest turn and of
the median turn), and the cosine similarity of each library's vectors to those of the first library in the list, by
default PyTorch in f32.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from engines import ENCODERS, ENGINES, has
from models import SHAPES, pooling_of, random_model


def worker(options):
    """Embeds the sentences once to warm up, and then once for each line of standard input. Prints the seconds."""
    import numpy as np
    engine, precision = options["engine"].split()
    results, sys.stdout = sys.stdout, sys.stderr  # The libraries print to standard output, too.
    with open(options["texts"], encoding="utf-8") as file:
        texts = [line.strip() for line in file if line.strip()][:options["count"]]
    encode = ENCODERS[engine](options["model"], precision, options)
    np.save(options["out"], np.asarray(encode(texts), np.float32))
    print(json.dumps("ready"), file=results, flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        encode(texts)
        print(json.dumps(time.perf_counter() - begin), file=results, flush=True)


class EngineProcess:
    """A process that runs one library at one precision."""

    def __init__(self, name, options):
        self.name, self.times = name, []
        self.out = os.path.join(options["scratch"], name.replace(" ", "-") + ".npy")
        self._log = tempfile.TemporaryFile("w+")
        variables = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "",
                     "TOKENIZERS_PARALLELISM": "true", "OMP_NUM_THREADS": str(options["threads"]),
                     "RAYON_NUM_THREADS": str(options["threads"])}
        for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
            variables.pop(variable, None)
        given = json.dumps({**options, "engine": self.name, "out": self.out})
        self._process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker", given],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
                                         env=variables)
        self.error = None if self._read() else self._failure()

    def _read(self):
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def _failure(self):
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().strip().splitlines()
        return lines[-1] if lines else "the process ended without an error message"

    def turn(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.times.append(self._read())

    def stop(self):
        self._process.kill()
        self._process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", required=True, help="a folder of sentence-transformers")
    parser.add_argument("--shape", choices=sorted(SHAPES),
                        help="use a model of this shape with random weights, and the tokenizer of --model")
    parser.add_argument("--texts", required=True,
                        help="a file with one text per line; the last 300 calibrate OpenVINO's int8")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--json")
    arguments = parser.parse_args()
    import numpy as np
    with tempfile.TemporaryDirectory(prefix="embedders-") as scratch:
        model = arguments.model
        if arguments.shape:
            model = random_model(arguments.shape, model, os.path.join(scratch, "model"))
        pooling, width = pooling_of(model)
        options = {"model": os.path.abspath(model), "texts": os.path.abspath(arguments.texts), "count": arguments.count,
                   "threads": arguments.threads, "scratch": scratch, "pooling": pooling, "width": width}
        engines = []
        for name in arguments.engines.split(","):
            if not has(ENGINES[name]):
                print(f"{name}: left out, {' or '.join(ENGINES[name])} isn't installed", file=sys.stderr)
                continue
            engine = EngineProcess(name, options)
            if engine.error:
                print(f"{name}: {engine.error}", file=sys.stderr)
            else:
                engines.append(engine)
        for number in range(arguments.rounds):
            for engine in engines if number % 2 == 0 else reversed(engines):
                time.sleep(0.2)  # Lets busy-waiting threads of the previous library stop.
                engine.turn()
        if not engines:
            sys.exit("embedders.py: no library of the list could be run")
        rows, reference = [], None
        for engine in engines:
            engine.stop()
            vectors = np.load(engine.out)
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
            reference = vectors if reference is None else reference
            cosines = (vectors * reference).sum(axis=1)
            rows.append({"engine": engine.name, "sentences_per_second": len(vectors) / min(engine.times),
                         "median": len(vectors) / statistics.median(engine.times),
                         "mean_cosine": float(cosines.mean()), "min_cosine": float(cosines.min())})
    print(f"{'engine':20} {'best':>8} {'median':>8}  mean and least cosine to {engines[0].name}")
    for row in rows:
        print(f"{row['engine']:20} {row['sentences_per_second']:8.0f} {row['median']:8.0f}  {row['mean_cosine']:.6f} "
              f"{row['min_cosine']:.6f}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"count": arguments.count, "threads": arguments.threads, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(json.loads(sys.argv[2]))
    else:
        main()
