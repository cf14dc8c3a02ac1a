"""Repeats experiments of the paper at small scale: encoders are pretrained to guess masked tokens, and then fine-tuned.

Figure 3 of the paper compares a Transformer with Linformers by validation perplexity, and table 2 by accuracy after
fine-tuning. This module repeats both with a RoBERTa of a few layers, on books and Wikipedia, in runs of minutes.
"""
import hashlib
import json
import math
import os
import pathlib
import shutil
import tempfile

import numpy
import torch
from torch.nn import functional

from linearise import encoder, initialise, plan, programs, texts, train
from linearise.attention import Batch, Compression
from study import corpora, pretraining_texts
from study.accuracy import accuracy, spread_out
from study.pretraining_tables import pictures, report  # noqa: F401: the group's tables and pictures
from study.runs import Run

GROUP = "paper"
# For each Linformer of figure 3: n, k, the end of the run's name, and how E and F are shared. The runs of the parts
# (a), (c), (b) and (d) follow each other. A run that several parts have is listed once.
LINFORMERS = ((512, 32, "", "headwise"), (512, 64, "", "headwise"), (512, 128, "", "headwise"),
              (512, 256, "", "headwise"), (512, 128, "-keyvalue", "key-value"), (512, 128, "-layerwise", "layerwise"),
              (1024, 64, "", "headwise"), (1024, 128, "", "headwise"), (1024, 256, "", "headwise"),
              (2048, 64, "", "headwise"), (4096, 64, "", "headwise"))
TUNED = ("n512-transformer", "n512-k128", "n512-k128-pool", "n512-k128-keyvalue-pool", "n512-k128-layerwise-pool",
         "n512-k256-pool")
# E and F that begin as means are mostly 0. Adam changes all their elements by similar amounts, so their rate is low.
POOL = {"initialise": "pool", "matrix_rate": 1e-4}
TASKS = ("sst2", "imdb", "mrpc")
NEIGHBOURS = (-1, 1, -2, 2)  # Before training, each head of full attention attends to one of these distances.
WAVES = (6, 8192)  # The shortest and the longest wavelength of the sines in the table of positions, in positions.
SHARPNESS = 2.5  # The factor of queries and keys before training. A larger one gives neighbours more attention.
EXACT = (0, 2)  # The ids of the first and the last token of each text, which are the exact tokens beside a window.


def settings(n, attention="full", sharing="headwise", **changed):
    """Returns the settings of a pretraining run.

    vocabulary: the number of pieces of the vocabulary.
    spread: the standard deviation of the first weights.
    start: which first weights aren't random: `frequencies` (start_near_frequencies) or `frequencies and neighbours`
        (start_at_neighbours, too).
    initialise: the first values of E and F, which are `random` as in the authors' program, or `pool` for means of
        neighbouring positions.
    tokens: the number of tokens of a step.
    check_tokens, held_out: the number of tokens of each held-out text for the curve and for the final perplexity.
    """
    chosen = {"n": n, "plan": attention, "sharing": sharing, "initialise": "random", "vocabulary": 320, "width": 128,
              "layers": 2, "heads": 4, "inner": 512, "spread": 0.05, "start": "frequencies and neighbours",
              "steps": 800, "tokens": 4096, "rate": 1e-3, "matrix_rate": 1e-3, "warm_up": 0.05, "decay": 0.01,
              "mask_rate": 0.2, "check_every": 80, "check_tokens": 16384, "held_out": 65536, "seed": 0}
    unknown = set(changed) - set(chosen)
    assert not unknown, unknown
    chosen.update(changed)
    if attention == "full":
        del chosen["sharing"], chosen["initialise"], chosen["matrix_rate"]
    return chosen


def pretraining():
    """Returns a dict from names to settings of the runs of figure 3 and of the table of remarks."""
    made = {"n512-transformer": settings(512), "n1024-transformer": settings(1024)}
    for n, k, name, sharing in LINFORMERS:
        made[f"n{n}-k{k}{name}"] = settings(n, f"k{k}", sharing)
        made[f"n{n}-k{k}{name}-pool"] = settings(n, f"k{k}", sharing, **POOL)
    made["n512-w16k64"] = settings(512, "w16k64", **POOL)
    made["n512-transformer-frequencies"] = settings(512, start="frequencies")
    for seed in (1, 2):
        made[f"n512-transformer-seed{seed}"] = settings(512, seed=seed)
        made[f"n512-k128-pool-seed{seed}"] = settings(512, "k128", **POOL, seed=seed)
    made["small"] = settings(128, "k32", **POOL, steps=60, check_every=20, held_out=16384)
    return made


def tuning(task, pretrained):
    """Returns the settings of a fine-tuning run.

    pretrained: the settings of the model that is fine-tuned.
    length: the most tokens of a text.
    test: the most texts of the test part that are classified.
    """
    return {"task": task, "pretrained": pretrained, "steps": {"sst2": 1500, "imdb": 600, "mrpc": 500}[task],
            "tokens": {"sst2": 2048, "imdb": 4096, "mrpc": 4096}[task], "length": 512, "rate": 5e-4,
            "matrix_rate": POOL["matrix_rate"], "decay": 0.01, "test": 2000, "seed": 0}


def runs():
    models = pretraining()
    made = [Run(GROUP, name, chosen, pretrain) for name, chosen in models.items()]
    for task in TASKS:
        made += [Run(GROUP, f"tune-{task}-{name}", tuning(task, models[name]), tune, (name,)) for name in TUNED]
        # This run shows what fine-tuning reaches without pretraining.
        made.append(Run(GROUP, f"tune-{task}-unpretrained", tuning(task, settings(512, steps=0)), tune))
    return made


# Models.

def work_folder(context, chosen):
    """Returns the folder of a model. Its name has a hash of all settings."""
    digest = hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:12]
    return context.work / GROUP / f"n{chosen['n']}-{chosen['plan']}-{digest}"


@torch.no_grad()
def start_near_frequencies(model, stream):
    """Sets the first weights so that the model guesses by the frequency of tokens and by the token that the position
    shows. Without this, training first learns the frequencies with hidden states that are equal at all positions, and
    takes long to get beyond that."""
    counts = torch.bincount(torch.from_numpy(stream).long(), minlength=model.config.vocab_size) + 1.0
    model.lm_head.bias.copy_((counts / counts.sum()).log())
    model.lm_head.dense.weight += torch.eye(model.config.hidden_size)
    for layer in model.roberta.encoder.layer:
        layer.attention.output.dense.weight.zero_()
        layer.output.dense.weight.zero_()


@torch.no_grad()
def start_at_neighbours(model, n):
    """Sets the first weights so that each head of full attention attends to one neighbour. The first columns of the
    embeddings have sines and cosines of the position and are 0 for words, and queries and keys use only these
    columns."""
    config, embeddings = model.config, model.roberta.embeddings
    size = config.hidden_size // config.num_attention_heads
    steps = torch.linspace(math.log(WAVES[0]), math.log(WAVES[1]), size // 2)
    speeds = 2 * math.pi / steps.exp()
    embeddings.word_embeddings.weight[:, :size] = 0
    angles = torch.arange(n)[:, None] * speeds
    table = embeddings.position_embeddings.weight.zero_()
    table[-n:, :size] = torch.cat([angles.sin(), angles.cos()], 1) * 2 * config.initializer_range
    for layer in model.roberta.encoder.layer:
        query, key = layer.attention.self.query.weight.zero_(), layer.attention.self.key.weight.zero_()
        for head in range(config.num_attention_heads):
            rows = slice(head * size, (head + 1) * size)
            turn = NEIGHBOURS[head % len(NEIGHBOURS)] * speeds
            cosine, sine = turn.cos().diag(), turn.sin().diag()
            query[rows, :size] = SHARPNESS * torch.eye(size)
            key[rows, :size] = SHARPNESS * torch.cat([torch.cat([cosine, -sine], 1), torch.cat([sine, cosine], 1)])


def make_base(folder, source, chosen):
    """Writes an untrained Transformer and its tokenizer."""
    from transformers import RobertaConfig, RobertaForMaskedLM
    tokenizer = pretraining_texts.tokenizer(source.vocabulary)
    config = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=chosen["width"], num_hidden_layers=chosen["layers"],
        num_attention_heads=chosen["heads"], intermediate_size=chosen["inner"], type_vocab_size=1,
        max_position_embeddings=chosen["n"] + tokenizer.pad_token_id + 1, initializer_range=chosen["spread"],
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, bos_token_id=tokenizer.bos_token_id,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id)
    torch.manual_seed(chosen["seed"])
    model = RobertaForMaskedLM(config)
    start_near_frequencies(model, source.stream)
    if chosen["start"] == "frequencies and neighbours":
        start_at_neighbours(model, chosen["n"])
    model.save_pretrained(folder)
    tokenizer.model_max_length = chosen["n"]
    tokenizer.save_pretrained(folder)


def make_compressions(layers, chosen):
    """Returns a dict from the index of a layer to a Compression with the first values of E and F. With layerwise
    sharing, all layers have the same Compression."""
    torch.manual_seed(chosen["seed"] + 1)
    made = {}
    for i, layer in enumerate(layers):
        if layer is None or layer.k == 0:
            continue
        if made and chosen["sharing"] == "layerwise":
            made[i] = made[0]
            continue
        sides = [first_values(layer, chosen) for _ in range(2 if chosen["sharing"] == "headwise" else 1)]
        made[i] = Compression(layer, *sides)
    return made


def first_values(layer, chosen):
    if chosen["initialise"] == "pool":
        return initialise.pools(layer, chosen["n"])
    matrix = torch.empty(layer.k, chosen["n"])
    return torch.nn.init.xavier_uniform_(matrix, gain=1 / math.sqrt(2))


def make_model(base, chosen):
    layers = plan.parse(chosen["plan"], chosen["layers"], EXACT, chosen["n"])
    return encoder.load(base, layers, make_compressions(layers, chosen))


# Pretraining.

class Pretrainer(train.Trainer):
    """Trains a model to guess masked tokens. The masks of a step depend only on the seed and the index of the step."""

    def __init__(self, model, tokens, checks, chosen, folder, context):
        self.checks, self.mask_rate = checks, chosen["mask_rate"]
        self.special = len(pretraining_texts.SPECIAL)
        self.vocabulary = model.config.vocab_size
        schedule = train.Schedule(
            steps=chosen["steps"], tokens=chosen["tokens"], rate=chosen["rate"], warm_up=chosen["warm_up"],
            matrix_rate=chosen.get("matrix_rate", chosen["rate"]), decay=chosen["decay"], cut=False, train_words=True,
            check_every=chosen["check_every"], seed=chosen["seed"])
        super().__init__(model, None, tokens, tokens.part([]), schedule, folder, context.device, context.progress)

    def loss(self, chosen, lengths=None, tokens=None):
        ids, mask, _ = self.train_tokens.batch(chosen, self.device)
        drawn = torch.rand(ids.shape)  # Trainer.run() has set the seed of this step.
        others = torch.randint(self.special, self.vocabulary, ids.shape)
        wanted = (drawn < self.mask_rate) & (ids >= self.special)
        shown = torch.where(wanted & (drawn < 0.8 * self.mask_rate), self.student.tokenizer.mask_token_id, ids)
        shown = torch.where(wanted & (drawn >= 0.9 * self.mask_rate), others, shown)
        loss = self.guess(shown, mask, ids, wanted)
        return loss, loss

    def guess(self, shown, mask, ids, wanted, reduction="mean"):
        """Returns the cross entropy of the tokens at the wanted positions. The head is computed only there."""
        self.student.attentions.begin(Batch(shown, mask))
        states = self.student.inner(input_ids=shown, attention_mask=mask).last_hidden_state
        return functional.cross_entropy(self.student.model.lm_head(states[wanted]), ids[wanted], reduction=reduction)

    @torch.no_grad()
    def held_out_loss(self):
        """Returns the mean loss over the masked tokens of the checks, which are the same at each call."""
        self.student.eval()
        total, count = 0.0, 0
        for ids, shown, wanted in self.checks:
            rows = max(1, 2 * self.schedule.tokens // ids.shape[1])
            for first in range(0, len(ids), rows):
                part = slice(first, first + rows)
                total += self.guess(shown[part], torch.ones_like(ids[part]), ids[part], wanted[part], "sum").item()
                count += int(wanted[part].sum())
        return total / count

    def check(self):
        """Logs the held-out loss. Doesn't keep the best weights, because the model gets those of the last step."""
        self.log[-1]["held_out"] = self.held_out_loss()
        return False

    def curve(self):
        return [[row["step"], round(row["held_out"], 5)] for row in self.log if "held_out" in row]


def train_model(chosen, context):
    """Pretrains a model. Returns its folder, its Pretrainer and the Source. An interrupted run continues from its
    checkpoint."""
    folder = work_folder(context, chosen)
    shutil.rmtree(folder, ignore_errors=True)
    source = pretraining_texts.prepare(context, chosen["vocabulary"])
    base = folder.with_suffix(".base")
    make_base(base, source, chosen)
    model = make_model(base, chosen)
    checks = [pretraining_texts.masked_windows(words, model.tokenizer, chosen["n"], chosen["check_tokens"], chosen)
              for words in source.held_out.values()]
    tokens = pretraining_texts.packed(source.stream, chosen["n"], model.tokenizer)
    trainer = Pretrainer(model, tokens, checks, chosen, folder.with_suffix(".training"), context)
    trainer.run()
    saved = folder.with_suffix(".part")
    shutil.rmtree(saved, ignore_errors=True)
    model.save(saved, chosen["n"])
    os.replace(saved, folder)
    for path in (base, trainer.folder):
        shutil.rmtree(path, ignore_errors=True)
    return folder, trainer, source


def pretrained_folder(chosen, context):
    """Returns the folder of a pretrained model. If the folder is missing, the model is trained again."""
    folder = work_folder(context, chosen)
    return folder if folder.exists() else train_model(chosen, context)[0]


def pretrain(chosen, context):
    folder, trainer, source = train_model(chosen, context)
    file = folder.with_suffix(".lnfr")
    programs.convert(folder, file)
    model = trainer.student
    distinct = {id(parameter): parameter for parameter in model.compressions.parameters()}
    made = {"curve": trainer.curve(), "held_out": {},
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "matrices": len(distinct), "matrix_parameters": sum(p.numel() for p in distinct.values())}
    for name, words in source.held_out.items():
        words = pretraining_texts.first_tokens(words, model.tokenizer, chosen["held_out"])
        made["held_out"][name] = {
            **perplexity(file, words, chosen),
            **pretraining_texts.without_context(words, model.tokenizer, source.stream, chosen)}
    rows = made["held_out"].values()
    count = sum(row["tokens"] for row in rows)
    for key in ("loss", "unigram", "without_context"):
        made[key] = round(sum(row[key] * row["tokens"] for row in rows) / count, 5)
    made["perplexity"] = round(math.exp(made["loss"]), 3)
    return {**made, "speed": {"seconds_a_step": round(trainer.seconds / max(1, chosen["steps"]), 4)}}


def perplexity(file, words, chosen):
    """Returns the results of `linformer perplexity` for a long text, which is read in windows without overlap."""
    path = file.with_suffix(".txt")
    path.write_text(words + "\n", encoding="utf-8")
    made = json.loads(programs.run(
        "linformer", "perplexity", file, "-i", path, "--on-long", "window", "--overlap", 0, "--seed", 0, "--mask-rate",
        chosen["mask_rate"], "--threads", torch.get_num_threads(), "--json", "--quiet"))["mlm"]
    return {"tokens": made["tokens"], "loss": round(made["loss"], 5), "accuracy": round(made["accuracy"], 5)}


# Fine-tuning.

def tune(chosen, context):
    """Fine-tunes a pretrained model with labels, and measures the accuracy of its model file."""
    before = chosen["pretrained"]
    pretrained = encoder.load_student(pretrained_folder(before, context))
    examples = corpora.task(context.data, chosen["task"], "train")
    classes = texts.class_names(examples)
    compressions = {int(i): part for i, part in pretrained.compressions.items()}
    if before.get("sharing") == "layerwise":
        compressions = {i: compressions[0] for i in compressions}  # The file has a copy of the matrix for each layer.
    model = encoder.load(pretrained.files.folder, pretrained.plan, compressions, classes=classes, seed=chosen["seed"])
    tokens = texts.tokenize(examples, model.tokenizer, min(chosen["length"], before["n"]), classes)
    schedule = train.Schedule(steps=chosen["steps"], tokens=chosen["tokens"], rate=chosen["rate"], cut=False,
                              matrix_rate=chosen["matrix_rate"], decay=chosen["decay"], train_words=True,
                              check_every=chosen["steps"], seed=chosen["seed"])
    trainer = train.Trainer(model, None, tokens, tokens.part([]), schedule, None, context.device, context.progress)
    trainer.run()
    test = corpora.task(context.data, chosen["task"], "test")
    test = test.part(spread_out(len(test), chosen["test"]))
    with tempfile.TemporaryDirectory(dir=pretrained.files.folder.parent) as work:
        work = pathlib.Path(work)
        model.save(work / "model", before["n"])
        programs.convert(work / "model", work / "model.lnfr")
        made = accuracy(work / "model.lnfr", test, work)
    made["loss"] = round(float(numpy.mean([row["loss"] for row in trainer.log[-50:]])), 5)
    made["most_frequent"] = round(max(map(test.labels.count, set(test.labels))) / len(test), 5)
    return {**made, "speed": {"seconds_a_step": round(trainer.seconds / chosen["steps"], 4)}}
