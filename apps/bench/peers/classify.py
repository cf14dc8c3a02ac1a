"""peers.py classify: times a classifier that apps/train made in every engine, and compares the labels and logits."""
import json
import os
import sys
import tempfile

import numpy as np

from . import ours, texts, turns
from . import weights as w
from .common import UserError, note, processor, progress, write_json
from .turns import BENCH

# The largest allowed difference between a logit of linformer's f32 and PyTorch's.
MOST_DIFFERENCE = 1e-4


def read_records(options):
    """Returns the texts and the labels of the records. The label is None if a record has none."""
    found = []
    for number, line in enumerate(texts.lines_of(options.texts), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            text, label = record[options.text_field], record.get(options.label_field)
        except (ValueError, KeyError, TypeError, AttributeError):
            text = None
        if not isinstance(text, str):
            raise UserError(f"{options.texts}: line {number} is no record with a text in its field "
                            f"{options.text_field!r}")
        found.append((text, label))
        if len(found) == options.count:
            break
    if not found:
        raise UserError(f"{options.texts} has no records")
    return [text for text, _ in found], [label for _, label in found]


def indices(labels, names):
    """Returns the labels as indices. Labels may be names or numbers. Returns None if a label is missing or unknown."""
    known = {**{str(i): i for i in range(len(names))}, **{name: i for i, name in enumerate(names)}}
    made = [known.get(str(label)) for label in labels]
    return None if None in made else np.array(made)


def read_checkpoint(folder):
    """Returns the shape and the weights of a checkpoint, which the code of apps/train reads with PyTorch."""
    sys.path.insert(0, os.path.join(os.path.dirname(BENCH), "train"))
    import checkpoint
    import config
    try:
        model, settings, _ = checkpoint.load(folder)
    except config.UserError as error:
        raise UserError(str(error)) from error
    shape = w.Shape(settings.layers, settings.d_model, settings.heads, settings.ffn, settings.vocab_size, settings.k,
                    settings.max_tokens, 1e-5, 2, 1)
    compressions = model.compressions()
    if len(compressions) != 1:
        raise UserError(f"{folder}: it has {len(compressions)} projections; only one for all layers, keys and values "
                        "can be compared (train.py --sharing layer_kv)")
    return shape, w.from_fairseq(model.state_dict(), shape)


def calibrate(path, folder, lines, longest, options):
    from . import framing
    ordered = sorted(lines, key=len)
    tokenizer = framing.tokenizer(folder)
    batches = []
    for chosen in texts.spread(len(ordered), options.calibrations, options.batch):
        encoded = tokenizer.encode_batch([ordered[i] for i in chosen], add_special_tokens=False)
        batches.append(framing.batch([one.ids for one in encoded], longest))
    texts.write_calibration(path, batches)


def run(options):
    programs = ours.Programs(options.linformer) if "linformer" in options.engines else None
    lines, truth = read_records(options)
    try:
        with open(os.path.join(options.checkpoint, "labels.txt"), encoding="utf-8") as file:
            names = file.read().splitlines()
    except OSError as error:
        raise UserError(f"{options.checkpoint} has no labels.txt: give --checkpoint the folder that train.py --out "
                        "wrote") from error
    truth = indices(truth, names)
    if "pytorch" not in options.found or "tokenizers" in options.missing:
        note("linformer is measured alone: the environment doesn't have PyTorch and tokenizers, which read the "
             "checkpoint")
        options.engines = [engine for engine in options.engines if engine == "linformer"]
    quiet = options.json == "-"
    with tempfile.TemporaryDirectory(prefix="peers-", dir=options.scratch) as folder:
        def path(name):
            return os.path.join(folder, name)

        peers = []
        if options.engines != ["linformer"]:
            progress.say("reading the checkpoint ...")
            shape, weights = read_checkpoint(options.checkpoint)
            w.save(path("weights.safetensors"), weights)
            calibrate(path("calibration.npz"), options.checkpoint, lines, shape.longest, options)
            about = {"texts": path("texts.json"), "folder": os.path.abspath(options.checkpoint),
                     "longest": shape.longest}
            peers = texts.worker_peers(options, folder, "classify", path("weights.safetensors"), shape,
                                       path("calibration.npz"), about, classifier=True)
            # The plain graph isn't measured here. `sentences` compares it with the fused one.
            peers = [peer for peer in peers if peer.about.get("graph") != "plain"]
        with open(path("texts.json"), "w", encoding="utf-8") as file:
            json.dump(lines, file)
        with open(path("texts.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": line}) + "\n" for line in lines)
        for precision in options.precisions if programs else ():
            command = [programs.linformer, "classify", "{model}", "--input", path("texts.jsonl"), "--logits", "{out}",
                       "--threads", str(options.threads)]
            peers.append(texts.OursOnTexts(precision, programs, options.checkpoint, path(f"{precision}.lnfr"), command))
        outputs = {peer: path(f"output-{i}.npy") for i, peer in enumerate(peers)}
        turns.take_turns(peers, options.rounds, 0, f"{len(lines)} reviews", outputs)
        reference = next((p for p in peers if (p.engine, p.precision) == ("pytorch", "f32")), None)
        agree = compare(peers, outputs, reference, truth)
    if not quiet:
        print(f"{processor()}, {options.threads} threads; {len(lines):,} reviews; other engines in batches of "
              f"{options.batch}, linformer as a whole process\n")
        texts.report(peers, len(lines), "reviews", [
            ("accuracy", "accuracy", ".4f"), ("other labels", "other_labels", "d"),
            ("logit differs", "largest_logit_difference", ".1e")])
        if agree is False:
            note("linformer's f32 answers differ from PyTorch's")
    if options.json:
        write_json(options.json, {
            "task": "classify", "processor": processor(), "threads": options.threads, "reviews": len(lines),
            "batch": options.batch, "rounds": options.rounds, "linformer_f32_agrees": agree,
            "results": texts.rows_of(peers, len(lines))})
    return 0 if agree is not False and any(not peer.error for peer in peers) else 1


def compare(peers, outputs, reference, truth):
    """Adds the accuracy and the differences from PyTorch's logits to the figures of each peer.

    Returns whether linformer's f32 gives PyTorch's answers, or None if one of them wasn't measured.
    """
    wanted = None if reference is None or reference.error else np.load(outputs[reference])
    agree = None
    for peer in peers:
        if peer.error:
            continue
        logits = np.load(outputs[peer])
        if truth is not None:
            peer.figures["accuracy"] = float((logits.argmax(1) == truth).mean())
        if wanted is None:
            continue
        other, difference = int((logits.argmax(1) != wanted.argmax(1)).sum()), float(np.abs(logits - wanted).max())
        peer.figures.update({"other_labels": other, "largest_logit_difference": difference})
        if (peer.engine, peer.precision) == ("linformer", "f32"):
            agree = other == 0 and difference <= MOST_DIFFERENCE
    return agree
