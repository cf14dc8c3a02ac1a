"""peers.py models: times one text in a model of transformers with random weights."""
import json
import os
import tempfile

from . import encode, ours, turns
from .common import UserError, note, processor, progress, write_json

# For each model: the name of its class in transformers, settings other than the defaults, arguments for loading it, and
# the number of positions that are not for tokens.
MODELS = {"modernbert": ("ModernBert", {}, {}, 0),
          "mpnet": ("MPNet", {}, {"add_pooling_layer": False}, 2)}


def write_model(spec):
    """Writes a model with save_pretrained. A worker runs this function."""
    import torch
    import transformers
    name, settings, arguments, kept = MODELS[spec["model"]]
    config = getattr(transformers, name + "Config")(**settings)
    config.max_position_embeddings = max(config.max_position_embeddings, spec["longest"] + kept)
    torch.manual_seed(encode.SEED)
    getattr(transformers, name + "Model")(config, **arguments).save_pretrained(os.path.dirname(spec["out"]))


class Files:
    """The folder of a model, and for each length the graphs that the engines load. Has the methods of encode.Files."""

    def __init__(self, folder, model, longest):
        self.folder, self.model = folder, model
        self.checkpoint, self.settings = os.path.join(folder, "checkpoint"), None
        turns.prepare({"kind": "model", "model": model, "longest": longest,
                       "out": os.path.join(self.checkpoint, "model.safetensors")}, folder)
        with open(os.path.join(self.checkpoint, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        # Random ids are below this number. Special tokens have the lowest or the highest ids. Pads must not occur,
        # because engines treat pads without a mask differently.
        special = [self.config.get(name + "_token_id") for name in ("pad", "bos", "eos", "cls", "sep")]
        self.vocabulary = min([self.config["vocab_size"]] + [one for one in special if one is not None and one > 3])

    def task(self, n):
        return {"task": "model", "folder": self.checkpoint, "arguments": MODELS[self.model][2]}

    def graph(self, n, fused, out):
        return {"kind": "model graph", "folder": self.checkpoint, "n": n, "fused": fused, "out": out}

    def path(self, *parts):
        return os.path.join(self.folder, *map(str, parts))


def run(options):
    if "transformers" in options.missing or "pytorch" not in options.found:
        raise UserError("transformers and PyTorch make the models, and the environment doesn't have them (peers.py "
                        "setup shows the reason)")
    programs = ours.Programs(options.linformer) if "linformer" in options.engines else None
    rows, every = [], []
    quiet = options.json == "-"
    for model in options.models:
        with tempfile.TemporaryDirectory(prefix="peers-", dir=options.scratch) as folder:
            progress.say(f"{model}: writing random weights ...")
            try:
                files = Files(folder, model, max(options.n))
            except turns.Died as error:
                note(f"{model} could not be made: {error}")
                continue
            if not quiet:
                config = files.config
                print(f"{processor()}, {options.threads} threads; {model}, {config['num_hidden_layers']} layers, "
                      f"d {config['hidden_size']}, one text")
            for n in options.n:
                peers = encode.measure(options, files, programs, n)
                every += peers
                rows += [{"model": model, "n": n, **peer.row()} for peer in peers]
                if not quiet:
                    encode.print_rows(n, peers)
    limits = encode.limits_of(every)
    if limits and not quiet:
        print("\nlimits of the machine: " + ", ".join(f"{name} {value:.0f}" for name, value in limits.items()))
    if options.json:
        write_json(options.json, {
            "task": "models", "processor": processor(), "threads": options.threads, "seed": encode.SEED,
            "rounds": options.rounds, "seconds": options.seconds, "limits": limits, "results": rows})
    return 0 if any("error" not in row for row in rows) else 1
