"""Tests the study's pretraining: the runtime's perplexity is PyTorch's, and a run can be interrupted and repeated."""
import csv
import dataclasses
import json
import math
import random
import xml.etree.ElementTree

import numpy
import pytest
import torch

from conftest import make_texts
from linearise import encoder, train
from linearise.progress import Progress
from study import corpora, pretraining, pretraining_tables, pretraining_texts
from study.accuracy import spread_out
from study.runs import Context, Run, execute

N = 32
TINY = {"vocabulary": 300, "width": 16, "layers": 3, "heads": 2, "inner": 24, "steps": 3, "tokens": 128,
        "check_every": 2, "check_tokens": 4 * N, "held_out": 500}


def numbers(made):
    """Returns the numbers of a result that are compared, which are all except times."""
    return {name: value for name, value in made.items() if name != "speed"}


def tiny(plan="full", sharing="headwise", n=N, **changed):
    return pretraining.settings(n, plan, sharing, **{**TINY, **changed})


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with made-up corpora in the formats of the study."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("mlm/gutenberg", "sst2", "pairs"):
        (folder / name).mkdir(parents=True)
    for i, name in enumerate(("pg1.txt", "pg2.txt", corpora.HELD_OUT_BOOK)):
        parts = make_texts(30, seed=i, shortest=60, longest=90)
        (folder / "mlm" / "gutenberg" / name).write_text("\n\n".join(parts) + "\n\nToo short.\n", encoding="utf-8")
    for i, name in enumerate(("wikitext2_valid.tokens.txt", "wikitext2_raw_test.txt")):
        lines = [" " + line.replace(" river ", " <unk> ") + " " for line in make_texts(20, seed=10 + i, shortest=60)]
        (folder / "mlm" / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    chance = random.Random(1)
    for name, count in (("train", 60), ("dev", 20)):
        with (folder / "sst2" / f"{name}.tsv").open("w", encoding="utf-8", newline="") as out:
            rows = csv.writer(out, delimiter="\t")
            rows.writerow(("sentence", "label"))
            rows.writerows((text, chance.randint(0, 1)) for text in make_texts(count, seed=count, longest=30))
    for name, count in (("train", 30), ("test", 10)):
        pairs = zip(make_texts(count, seed=5, longest=12), make_texts(count, seed=6, longest=12))
        (folder / "pairs" / f"mrpc_{name}.jsonl").write_text("".join(
            json.dumps({"a": a, "b": b, "label": i % 2}) + "\n" for i, (a, b) in enumerate(pairs)), encoding="utf-8")
    return folder


@pytest.fixture
def context(data, tmp_path):
    return Context(data, tmp_path / "work", tmp_path / "results", {}, Progress(True))


def losses_in_pytorch(folder, words, chosen):
    """Returns the loss of each guessed token in float64, the ids and the shown ids. The masks are those of
    `linformer`."""
    model = encoder.load_student(folder)
    model.double()
    ids, shown, wanted = pretraining_texts.masked_windows(words, model.tokenizer, chosen["n"], 10**9, chosen)
    with torch.no_grad():
        model.attentions.begin(pretraining.Batch(shown, torch.ones_like(ids)))
        logits = model.model(input_ids=shown, attention_mask=torch.ones_like(ids)).logits
    return torch.nn.functional.cross_entropy(logits[wanted], ids[wanted], reduction="none"), ids, shown


@pytest.mark.parametrize("plan,sharing,matrices", [("full", None, 0), ("k6", "headwise", 6), ("k6", "key-value", 3),
                                                   ("k6", "layerwise", 1), ("w4k6", "key-value", 3)])
def test_the_model_file_has_the_perplexity_of_the_model(plan, sharing, matrices, context, programs, tmp_path):
    chosen = tiny(plan, sharing)
    made = pretraining.pretrain(chosen, context)
    assert made["matrices"] == matrices
    assert made["matrix_parameters"] == matrices * 6 * N
    assert [step for step, _ in made["curve"]] == [2, 3]
    folder = pretraining.work_folder(context, chosen)
    source = pretraining_texts.prepare(context, chosen["vocabulary"])
    tokenizer = encoder.load_student(folder).tokenizer
    # Words are removed until the last window is full, because the code for PyTorch leaves out an incomplete one.
    words = source.held_out["book"].split(" ")
    while len(tokenizer(" ".join(words), add_special_tokens=False)["input_ids"]) % (N - 2):
        words.pop()
    words = " ".join(words)
    file = folder.with_suffix(".lnfr")
    wanted, ids, shown = losses_in_pytorch(folder, words, chosen)
    got = pretraining.perplexity(file, words, chosen)
    assert got["tokens"] == len(wanted) > 50
    assert got["loss"] == pytest.approx(wanted.mean().item(), abs=2e-5)
    programs.run("linformer", "perplexity", file, "-i", file.with_suffix(".txt"), "--on-long", "window", "--overlap", 0,
                 "--mask-rate", chosen["mask_rate"], "--dump-masks", tmp_path / "masks.jsonl", "--quiet")
    masks = [json.loads(line) for line in (tmp_path / "masks.jsonl").read_text().splitlines()]
    assert [row["ids"] for row in masks] == ids.tolist()
    assert [row["masked"] for row in masks] == shown.tolist()


def test_one_matrix_for_all_layers_is_one_parameter(context, programs):
    chosen = tiny("k6", "layerwise")
    folder, trainer, _ = pretraining.train_model(chosen, context)
    matrices = list(trainer.student.compressions.parameters())
    assert len(matrices) == 1 and sum(parameter is matrices[0] for group in trainer.optimizer.param_groups
                                      for parameter in group["params"]) == 1
    again = encoder.load_student(folder).compressions
    assert all(torch.equal(again[i].keys, matrices[0]) for i in "012")
    start = pretraining.make_compressions(trainer.student.plan, chosen)
    assert not torch.equal(start[0].keys, matrices[0])  # Training changed the matrix.


def test_the_same_settings_give_the_same_numbers(context, programs, tmp_path):
    chosen = tiny("k6")
    made = numbers(pretraining.pretrain(chosen, context))
    other = dataclasses.replace(context, work=tmp_path / "other")
    assert numbers(pretraining.pretrain(chosen, other)) == made
    assert numbers(pretraining.pretrain(tiny("k6", seed=1), other)) != made


def test_an_interrupted_run_goes_on_to_the_same_numbers(context, programs, tmp_path, monkeypatch):
    chosen = tiny("k6", steps=5)
    whole = pretraining.pretrain(chosen, dataclasses.replace(context, work=tmp_path / "whole"))
    inner = pretraining.Pretrainer.loss
    seen = []

    def loss(self, *inputs, **options):
        seen.append(self.step)
        self.stop = self.step == 2 and len(seen) == 3
        return inner(self, *inputs, **options)
    monkeypatch.setattr(pretraining.Pretrainer, "loss", loss)
    with pytest.raises(train.Stopped):
        pretraining.pretrain(chosen, context)
    assert not pretraining.work_folder(context, chosen).exists()
    assert numbers(pretraining.pretrain(chosen, context)) == numbers(whole)
    assert seen == [0, 1, 2, 3, 4]


def test_all_models_of_one_seed_begin_alike_and_without_context(context):
    source = pretraining_texts.prepare(context, TINY["vocabulary"])
    states = []
    for plan in ("full", "k6"):
        chosen = tiny(plan, steps=0)
        _, trainer, _ = pretraining.train_model(chosen, context)
        states.append(trainer.student.model.state_dict())
        known = [pretraining_texts.without_context(words, trainer.student.tokenizer, source.stream, chosen)
                 for words in source.held_out.values()]
        assert trainer.held_out_loss() < max(row["unigram"] for row in known) + 0.5 < math.log(TINY["vocabulary"]) + 0.5
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_heads_of_full_attention_begin_at_neighbours(context):
    chosen = tiny(width=64, heads=4, steps=0, n=N)
    _, trainer, source = pretraining.train_model(chosen, context)
    found, at, offsets = [], torch.arange(4, N - 4), list(range(-4, 5))

    def watch(layer, query, key, value, scale, bias):
        weights = torch.softmax(query @ key.transpose(2, 3) * scale, 3)[0]
        for head in range(4):
            mean = [weights[head, at, at + offset].mean().item() for offset in offsets]
            found.append(offsets[mean.index(max(mean))])
    trainer.student.attentions.watch = watch
    ids = torch.from_numpy(pretraining_texts.in_windows(source.stream, N, trainer.student.tokenizer)[:1])
    with torch.no_grad():
        trainer.student(ids, torch.ones_like(ids))
    assert found == chosen["layers"] * list(pretraining.NEIGHBOURS)


def test_training_guesses_chosen_tokens_alone(context):
    chosen = tiny("k6", mask_rate=0.3)
    _, trainer, source = pretraining.train_model(chosen, context)
    asked = []
    trainer.guess = lambda shown, mask, ids, wanted: asked.append((shown, ids, wanted)) or torch.zeros(())
    torch.manual_seed(3)
    for first in range(0, 60, 20):
        trainer.loss(list(range(first, first + 20)))
    shown, ids, wanted = (torch.cat(parts) for parts in zip(*asked))
    assert torch.equal(shown[~wanted], ids[~wanted]) and not wanted[:, [0, -1]].any()
    assert wanted.float().mean().item() == pytest.approx(0.3 * (N - 2) / N, abs=0.04)
    masked, same = (shown == trainer.student.tokenizer.mask_token_id)[wanted], (shown == ids)[wanted]
    assert masked.float().mean().item() == pytest.approx(0.8, abs=0.06)
    assert same.float().mean().item() == pytest.approx(0.1, abs=0.05)
    tokens = pretraining_texts.packed(source.stream, N, trainer.student.tokenizer)
    assert set(tokens.lengths()) == {N}


def test_the_guess_without_context_is_the_best_of_its_kind():
    """The expected loss follows from the probabilities of all cases by Bayes' rule."""
    class Pieces:
        mask_token_id, pad_token_id, cls_token_id, sep_token_id = 4, 1, 0, 2

        def __len__(self):
            return 9

        def __call__(self, words, add_special_tokens):
            return {"input_ids": list(words)}
    chance = numpy.random.default_rng(0)
    share = numpy.array([0, 0, 0, 0, 0, 0.4, 0.3, 0.2, 0.1])
    stream = chance.choice(9, 30000, p=share)
    got = pretraining_texts.without_context(stream, Pieces(), stream, {"n": 102, "mask_rate": 0.5})
    entropy = -sum(p * math.log(p) for p in share if p > 0)
    joint = 0.1 * numpy.diag(share) + 0.1 * share[:, None] * numpy.full(9, 1 / 8)[None]  # [token, shown]
    joint[:, 1] = 0  # Padding is never drawn.
    with numpy.errstate(divide="ignore", invalid="ignore"):
        left = -numpy.nansum(joint * numpy.log(joint / joint.sum(0)))
    assert got["unigram"] == pytest.approx(entropy, abs=0.02)
    assert got["without_context"] == pytest.approx(0.8 * entropy + left, abs=0.03)


def test_pieces_of_the_vocabulary_and_of_the_texts(context):
    source = pretraining_texts.prepare(context, 300)
    again = pretraining_texts.train_vocabulary(pretraining_texts.training_texts(context.data), 300)
    assert again.to_str() == source.vocabulary.to_str()
    tokenizer = pretraining_texts.tokenizer(source.vocabulary)
    assert [tokenizer.convert_tokens_to_ids(name) for name in pretraining_texts.SPECIAL] == [0, 1, 2, 3, 4]
    assert source.stream.min() >= 5 and "<unk>" not in tokenizer.decode(source.stream)
    words = source.held_out["book"]
    begun = pretraining_texts.first_tokens(words, tokenizer, 100)
    assert words.startswith(begun) and 90 < len(tokenizer(begun, add_special_tokens=False)["input_ids"]) <= 100
    assert pretraining_texts.first_tokens(words, tokenizer, 10**6) == words
    assert list(spread_out(10, 4)) == [0, 2, 5, 7] and len(spread_out(3, 4)) == 3


@pytest.mark.parametrize("task,plan,sharing", [("sst2", "k6", "layerwise"), ("mrpc", "full", None)])
def test_fine_tuning_makes_a_missing_model_again(task, plan, sharing, context, programs, monkeypatch):
    chosen = {**pretraining.tuning(task, tiny(plan, sharing)), "steps": 3, "tokens": 200}
    kept = []
    run = train.Trainer.run
    monkeypatch.setattr(train.Trainer, "run", lambda trainer: (kept.append(trainer), run(trainer)))
    made = numbers(pretraining.tune(chosen, context))
    pretrainer, trainer = kept
    assert isinstance(pretrainer, pretraining.Pretrainer) and type(trainer) is train.Trainer
    assert len(list(trainer.student.compressions.parameters())) == (1 if sharing == "layerwise" else 0)
    assert made["texts"] == {"sst2": 20, "mrpc": 10}[task] and 0 <= made["accuracy"] <= 1
    assert math.isfinite(made["loss"])
    assert 0.5 <= made["most_frequent"] < 1
    assert numbers(pretraining.tune(chosen, context)) == made
    assert len(kept) == 3  # The second tune() found the pretrained model and trained only once.


def test_the_runs_and_what_they_need():
    runs = {run.name: run for run in pretraining.runs()}
    assert len(runs) == len(pretraining.runs())
    tables = pretraining_tables
    shown = {tables.run_name(name, start) for _, lines in tables.FIGURES.values() for name in lines
             for start in tables.STARTS}
    shown |= set(tables.REMARKS) | {name + f"-seed{seed}" for name in ("n512-transformer", "n512-k128-pool")
                                    for seed in tables.SEEDS}
    assert shown | {"small"} == {name for name in runs if not name.startswith("tune-")}
    tuned = {tables.run_name(name, start) for name in tables.TABLE_2 for start in tables.STARTS}
    assert set(pretraining.TUNED) <= tuned
    assert len({json.dumps(run.settings, sort_keys=True) for run in runs.values()}) == len(runs)
    for run in runs.values():
        assert all(need in runs for need in run.needs)
        if run.needs:
            assert run.settings["pretrained"] == runs[run.needs[0]].settings


def test_tables_and_pictures(context, programs):
    empty = pretraining_tables.report(context)
    assert "| Transformer | - | - | - | - | - |" in empty and pretraining_tables.pictures(context) == {}

    def run(name, chosen, compute):
        return execute(Run("paper", name, chosen, compute), context, torch.get_num_threads())
    for name, chosen in (("n512-transformer", tiny()), ("n512-transformer-seed1", tiny(seed=1)),
                         ("n512-k128", tiny("k6"))):
        run(name, chosen, pretraining.pretrain)
    made = run("tune-sst2-n512-transformer", {**pretraining.tuning("sst2", tiny()), "steps": 2, "tokens": 200},
               pretraining.tune)
    assert "seconds_a_step" in made["speed"] and "speed" not in made["measured"]
    filled = pretraining_tables.report(context)
    accuracy = f"{100 * made['measured']['accuracy']:.1f} ±"
    assert f"| Transformer (RoBERTa-base) | 93.1 | 94.1 | 90.9 | 90.9 | {accuracy}" in filled
    perplexity = context.result("paper", "n512-k128")["measured"]["perplexity"]
    assert f"| k = 128 | {6 * 6 * N:,} | {perplexity:.1f} |" in filled
    assert "have learned how frequent tokens are" in " ".join(filled.split()) and "2 seeds" in " ".join(filled.split())
    assert all(len(line) <= 120 for line in filled.splitlines() if not line.startswith("|"))
    pictures = pretraining_tables.pictures(context)
    assert set(pictures) == {"figure3a.svg", "figure3c.svg"}
    for name, picture in pictures.items():
        assert f"(pictures/{name})" in filled
        xml.etree.ElementTree.fromstring(picture)
