import dataclasses
import json
import math

import numpy
import pytest
import torch

from conftest import make_model, make_texts
from linearise import encoder, evaluate, initialise, texts
from linearise.errors import UserError
from linearise.plan import parse
from linearise.train import Schedule, Stopped, Trainer, answer_loss, hidden_loss

CPU = torch.device("cpu")
SCHEDULE = Schedule(steps=8, tokens=400, check_every=4, matrix_rate=0.003, rate=0.001)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("model") / "m", spread=0.2)


def make_tokens(folder, count=60, seed=3):
    teacher = encoder.load(folder)
    words = make_texts(count, seed=seed, shortest=20)
    return texts.tokenize(texts.Texts([(t,) for t in words], [None] * count), teacher.tokenizer, 64)


def make_trainer(folder, schedule, work=None, initial="pool", plan="w4k6"):
    teacher = encoder.load(folder)
    tokens = make_tokens(folder)
    layers = parse(plan, 3, (2, 3), 64)
    made = initialise.make_compressions(initial, layers, teacher, tokens, CPU, 64)
    student = encoder.load(folder, layers, made)
    return Trainer(student, teacher, tokens, make_tokens(folder, 12, 8), schedule, work, CPU)


def state_of(trainer):
    return {name: tensor.clone() for name, tensor in trainer.student.state_dict().items()}


def same(a, b):
    return all(torch.equal(a[name], b[name]) for name in a)


def test_training_brings_the_student_nearer(folder):
    trainer = make_trainer(folder, dataclasses.replace(SCHEDULE, steps=60, check_every=10))
    before = trainer.held_out_loss()
    words = trainer.student.word_embedding().clone()
    trainer.run()
    assert trainer.held_out_loss() < 0.7 * before
    assert trainer.best == pytest.approx(trainer.held_out_loss(), rel=1e-4)
    assert torch.equal(words, trainer.student.word_embedding())
    assert [row["step"] for row in trainer.log] == list(range(1, 61))


def test_one_seed_gives_one_result_and_another_gives_another(folder):
    first, second = (state_of(make_trainer(folder, SCHEDULE).run()) for _ in range(2))
    assert same(first, second)
    assert not same(first, state_of(make_trainer(folder, dataclasses.replace(SCHEDULE, seed=1)).run()))


@pytest.mark.parametrize("dropout", [False, True])
def test_an_interrupted_run_goes_on_to_the_same_numbers(folder, tmp_path, dropout):
    schedule = dataclasses.replace(SCHEDULE, dropout=dropout, accumulate=2)
    whole = make_trainer(folder, schedule)
    whole.run()
    cut = make_trainer(folder, schedule, tmp_path)
    inner = cut.loss

    def loss(*inputs, **options):
        if cut.step == 5:
            cut.stop = True
        return inner(*inputs, **options)
    cut.loss = loss
    with pytest.raises(Stopped):
        cut.run()
    rest = make_trainer(folder, schedule, tmp_path)
    rest.run()
    assert same(state_of(whole), state_of(rest))
    assert [row["loss"] for row in whole.log] == [row["loss"] for row in rest.log]
    log = (tmp_path / "training.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in log] == list(range(1, 9))
    rest.forget()
    assert not (tmp_path / "training.pt").exists()


def test_a_checkpoint_of_another_run_is_refused(folder, tmp_path):
    make_trainer(folder, SCHEDULE, tmp_path).run()
    with pytest.raises(UserError, match="other texts or options"):
        make_trainer(folder, dataclasses.replace(SCHEDULE, rate=0.01), tmp_path).run()
    (tmp_path / "training.pt").write_bytes(b"x")
    with pytest.raises(UserError, match="can't be read"):
        make_trainer(folder, SCHEDULE, tmp_path).run()


def test_training_ends_when_nothing_gets_better(folder):
    trainer = make_trainer(folder, dataclasses.replace(SCHEDULE, steps=1000, rate=1e-8, matrix_rate=1e-8, patience=2,
                                                       check_every=1))
    values = iter([0.5, 0.4, 0.45, 0.6, 0.1])
    trainer.held_out_loss = lambda: next(values)
    trainer.run()
    assert trainer.step == 4 and trainer.best == 0.4


def test_a_loss_that_is_no_number_ends_training(folder):
    trainer = make_trainer(folder, SCHEDULE)
    trainer.loss = lambda *a, **k: (torch.tensor(math.nan, requires_grad=True), None)
    with pytest.raises(UserError, match="lower --rate"):
        trainer.run()


def test_the_rate_rises_and_falls():
    schedule = Schedule(steps=100, warm_up=0.1)
    rates = [schedule.rate_at(i) for i in range(100)]
    assert rates[0] == 0.1 and rates[9] == 1 and rates[10] == 1 and rates[99] < 0.001
    assert all(a >= b for a, b in zip(rates[10:], rates[11:]))


def test_losses_by_hand():
    one, other = torch.tensor([[[1.0, 0.0], [9.0, 9.0]]]), torch.tensor([[[0.0, 2.0], [5.0, 5.0]]])
    assert hidden_loss([None, one], [None, other], torch.tensor([[1, 0]])).item() == pytest.approx(5 / 4)
    student = encoder.Output([], logits=torch.tensor([[1.0, 0.0]]))
    teacher = encoder.Output([], logits=torch.tensor([[0.0, 0.0]]))
    entropy = math.log(1 + math.exp(-1))
    assert answer_loss(student, None, torch.tensor([0]), None).item() == pytest.approx(entropy)
    divergence = -math.log(2) - 0.5 * (-entropy + -entropy - 1)
    assert answer_loss(student, teacher, torch.tensor([0]), None).item() == pytest.approx(entropy + divergence)


@pytest.mark.parametrize("kind", initialise.KINDS)
def test_each_initialisation_is_nearer_than_noise(folder, kind):
    trainer = make_trainer(folder, SCHEDULE, initial=kind, plan="w4k12")
    loss = trainer.held_out_loss()
    for compression in trainer.student.compressions.values():
        torch.nn.init.normal_(compression.keys)
    assert loss < trainer.held_out_loss()


def test_fitting_lowers_the_error_that_it_fits(folder):
    def first_layer(kind):
        trainer = make_trainer(folder, SCHEDULE, initial=kind, plan="k12,full,full")
        tokens = trainer.train_tokens
        with torch.no_grad():
            costs = evaluate.layer_costs(trainer.student, trainer.teacher, tokens, CPU)
        return costs["layers"][0]["hidden_error"]
    assert first_layer("fit") < first_layer("pool")


def test_neighbours_and_shares_by_hand():
    vectors = numpy.eye(4)[[0, 0, 1, 1]] + 0.01 * numpy.arange(16).reshape(4, 4)
    assert evaluate.neighbours_kept(vectors, vectors)["share"] == 1
    assert evaluate.share([1, 0, 1, 1]) == {"value": 0.75, "error": math.sqrt(0.75 * 0.25 / 4), "texts": 4}
    made = evaluate.compare_logits([numpy.array(v) for v in ([1, 0], [0, 1], [0, 1])],
                                   [numpy.array(v) for v in ([1, 0], [1, 0], [0, 1])], [0, 1, 0], [5, 40, 70])
    wanted = {"accuracy": 2 / 3, "teacher_accuracy": 1 / 3, "agreement": 2 / 3, "difference": 1 / 3}
    assert {name: made[name]["value"] for name in wanted} == pytest.approx(wanted)
    assert [row["texts"] for row in made["by_length"]] == [1, 1, 1]
