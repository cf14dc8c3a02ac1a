"""Times peers in turns. A peer is linformer or a worker process with another engine, in one precision."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from .common import UserError, last_line, memory, progress

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TITLES = {"pytorch": "PyTorch", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "linformer": "linformer.cpp",
          "reformer": "Reformer"}


def environment(threads):
    """Returns environment variables for a worker: no GPU, no downloads from the hub, and at most `threads` threads."""
    variables = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        variables[name] = str(threads)
    variables.update({"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error",
                      "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TOKENIZERS_PARALLELISM": "true", "PYTHONPATH": BENCH})
    return variables


class Died(Exception):
    """Raised if a worker failed. Its text is one line with the reason."""


class Worker:
    """A process of worker.py. Its log goes to a file that is read only if the process fails."""

    def __init__(self, spec, folder, *words):
        self.log = tempfile.TemporaryFile("w+")
        descriptor, path = tempfile.mkstemp(".json", dir=folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(spec, file)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "peers.worker", *words, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.log, text=True, env=environment(spec.get("threads", 1)), cwd=BENCH)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.log.seek(0)
            reason = f"ended by signal {-code}" if code < 0 else last_line(self.log.read())
            raise Died(reason + (" (out of memory?)" if code == -9 else ""))
        said = json.loads(line)
        if "error" in said:
            raise Died(said["error"])
        return said

    def ask(self, question):
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # answer() raises the reason.
        return self.answer()

    def stop(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


def prepare(spec, folder):
    """Makes a file in a separate process, so that no other process keeps the memory that this needs."""
    worker = Worker(spec, folder, "prepare")
    try:
        worker.answer()
    finally:
        worker.stop()


class Peer:
    """An engine in one precision, with its measurements so far."""

    def __init__(self, engine, precision, **about):
        self.engine, self.precision, self.about = engine, precision, about
        self.times, self.peak, self.error, self.version = [], 0.0, None, None
        self.figures = {}

    @property
    def title(self):
        return TITLES[self.engine] + (" fused" if self.about.get("graph") == "fused" else
                                      " plain" if self.about.get("graph") == "plain" else "")

    def prepare(self):
        """Makes the files that the peer loads."""

    def turn(self, seconds):
        raise NotImplementedError

    def save(self, path):
        raise NotImplementedError

    def stop(self):
        pass

    def row(self):
        """Returns the measurements for the JSON output."""
        result = {"engine": self.engine, "precision": self.precision, **self.about, **self.figures}
        if self.version:
            result["version"] = self.version
        if self.error:
            return {**result, "error": self.error}
        if self.times:
            result.update({"median_ms": 1e3 * statistics.median(self.times), "min_ms": 1e3 * min(self.times),
                           "calls": len(self.times)})
        return {**result, "peak_mb": self.peak}


class WorkerPeer(Peer):
    """A peer whose engine runs in a worker. `spec` is passed to the worker. `steps` make the files that it loads."""

    def __init__(self, engine, precision, spec, folder, steps=(), **about):
        super().__init__(engine, precision, **about)
        self.spec = {"engine": engine, "precision": precision, **spec}
        self.folder, self.steps, self.worker = folder, steps, None

    def prepare(self):
        for step in self.steps:
            if not os.path.exists(step["out"]):
                progress.say(f"{self.title} {self.precision}: making its model ...")
                prepare(step, self.folder)

    def started(self):
        if self.worker is None:
            make_room(self)
            self.worker = Worker(self.spec, self.folder)
            self.version = self.worker.answer()["version"]
            RESIDENT.append(self)
        return self.worker

    def turn(self, seconds):
        said = self.started().ask({"seconds": seconds})
        self.times += said["times"]
        self.peak = max(self.peak, said["peak_mb"])

    def save(self, path):
        self.peak = max(self.peak, self.started().ask({"save": path})["peak_mb"])

    def stop(self):
        if self in RESIDENT:
            RESIDENT.remove(self)
        if self.worker is not None:
            self.worker.stop()
            self.worker = None


# The peers whose workers have loaded a model. The one that was idle for the longest time is the first.
RESIDENT = []


def make_room(newcomer):
    """Ends idle workers if the next model might not fit into memory beside them. They load again in their next turn."""
    while RESIDENT:
        available = memory("MemAvailable")
        largest = max([4096.0] + [peer.peak for peer in [*RESIDENT, newcomer]])
        if available is None or available > 1.5 * largest * (1 << 20):
            return
        RESIDENT[0].stop()


def save_output(peer, path):
    """Saves the output of a peer that takes no turns."""
    try:
        peer.prepare()
        peer.save(path)
    except (Died, UserError) as error:
        peer.error = str(error)
    finally:
        peer.stop()


def take_turns(peers, rounds, seconds, what, outputs=None):
    """Lets the peers take turns for a number of rounds.

    Every second round goes backwards, so that a change of the machine's speed affects all peers equally. `outputs` has
    the file of each peer in which its output is saved after its first turn. A peer that fails takes no more turns, and
    its `error` is set.
    """
    def attempt(peer, act, doing):
        if peer.error:
            return
        time.sleep(0.05)  # Lets busy-waiting threads of the previous peer stop.
        progress.say(f"{what}: {doing} {peer.title} {peer.precision} ...")
        try:
            act()
        except (Died, UserError) as error:
            peer.error = str(error)
            peer.stop()

    try:
        for peer in peers:
            attempt(peer, peer.prepare, "preparing")
        for number in range(rounds):
            for peer in peers if number % 2 == 0 else reversed(peers):
                attempt(peer, lambda: peer.turn(seconds), f"round {number + 1} of {rounds},")
                if number == 0 and outputs and peer in outputs:
                    attempt(peer, lambda: peer.save(outputs[peer]), "output of")
                if peer in RESIDENT:
                    RESIDENT.remove(peer)
                    RESIDENT.append(peer)
    finally:
        for peer in peers:
            peer.stop()
        progress.clear()
