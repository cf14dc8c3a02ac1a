"""peers.py growth: measures how a layer's time grows with n, for Table 1 of the Linformer paper."""
import math
import os
import tempfile

from . import ours, turns
from . import weights as w
from .common import UserError, note, print_table, processor, progress, write_json
from .encode import SEED, Files, Ours, write_ids
from .turns import WorkerPeer

CHUNK = 64


def exponent(points):
    """Returns the slope of log(time) over log(n). It is 1 for linear growth and 2 for quadratic growth."""
    if len(points) < 2:
        return None
    xs, ys = [math.log(n) for n, _ in points], [math.log(ms) for _, ms in points]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)


def run(options):
    for n in options.n:
        if n % CHUNK:
            raise UserError(f"--n {n} is no multiple of {CHUNK}, the length of Reformer's chunks")
    if options.k > min(options.n):
        raise UserError(f"--k {options.k} is more than the shortest text of --n: lower --k, because compressing would "
                        "lengthen the text")
    if "reformer" in options.engines and not ("pytorch" in options.found and
                                              "transformers" not in options.missing):
        options.engines.remove("reformer")
        note("Reformer is left out: the environment has no PyTorch or no transformers (peers.py setup shows the "
             "reason)")
    programs = ours.Programs(options.linformer) if "linformer" in options.engines else None
    quiet = options.json == "-"
    # The vocabulary is small, because the embedding isn't a part of the comparison.
    base = dict(w.ROBERTA_BASE, layers=options.layers, vocabulary=1000, longest=max(options.n))
    kinds = [("Linformer", options.k), ("full attention", 0)] if programs else []
    peers = {}
    with tempfile.TemporaryDirectory(prefix="peers-", dir=options.scratch) as folder:
        progress.say("writing random weights ...")
        files = {}
        for name, k in kinds:
            os.mkdir(os.path.join(folder, str(k)))
            files[name] = Files(os.path.join(folder, str(k)), w.Shape(**base, k=k), SEED)
        for n in options.n:
            made = []
            if "reformer" in options.engines:
                spec = {"task": "reformer", "threads": options.threads, "n": n, "d": base["d"], "heads": base["heads"],
                        "layers": options.layers, "hashes": options.hashes, "chunk": CHUNK, "seed": SEED}
                made.append(WorkerPeer("reformer", "f32", spec, folder, kind=f"LSH, {options.hashes} hashes"))
            for name, k in kinds:
                ids = write_ids(files[name], n, 0)[0]
                made.append(Ours("f32", programs, files[name].checkpoint, files[name].settings,
                                 files[name].path("f32.lnfr"), ids, n, options.threads))
                made[-1].about["kind"] = f"{name}, k {k}" if k else name
            turns.take_turns(made, options.rounds, options.seconds, f"n {n}")
            peers[n] = made
    return report(options, base, peers, quiet)


def report(options, base, peers, quiet):
    series, rows = {}, []
    for n, made in peers.items():
        for peer in made:
            row = peer.row()
            rows.append({"n": n, **row})
            if peer.error:
                note(f"n {n}, {peer.title} {peer.about['kind']} could not be measured: {peer.error}")
                continue
            rows[-1]["layer_ms"] = row["median_ms"] / options.layers
            series.setdefault((peer.title, peer.about["kind"]), []).append((n, rows[-1]["layer_ms"]))
    fits = [{"engine": title, "kind": kind, "exponent": exponent(points),
             "exponent_of_last_step": exponent(points[-2:])} for (title, kind), points in series.items()]
    if not quiet:
        print(f"{processor()}, {options.threads} threads; f32, d {base['d']}, {base['heads']} heads, "
              f"milliseconds a layer (a model of {options.layers} layers, divided by them)\n")
        table = []
        for (title, kind), points in series.items():
            fit = next(fit for fit in fits if (fit["engine"], fit["kind"]) == (title, kind))
            times = dict(points)
            table.append([title, kind, *(f"{times[n]:.2f}" if n in times else "-" for n in peers),
                          *("-" if fit[name] is None else f"{fit[name]:.2f}"
                            for name in ("exponent", "exponent_of_last_step"))])
        print_table([("engine", "<"), ("attention", "<"), *((f"n {n}", ">") for n in peers), ("exponent", ">"),
                     ("last step", ">")], table)
        print("\nexponent: the e for which n^e fits the times best; last step: e between the two longest texts")
    if options.json:
        write_json(options.json, {
            "task": "growth", "processor": processor(), "threads": options.threads, "layers": options.layers,
            "d": base["d"], "heads": base["heads"], "rounds": options.rounds, "seconds": options.seconds,
            "fits": fits, "results": rows})
    return 0 if series else 1
