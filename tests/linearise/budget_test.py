import pytest
import torch

from conftest import make_model, make_texts
from linearise import budget, encoder, initialise, programs, texts
from linearise.errors import UserError
from linearise.plan import parse

CPU = torch.device("cpu")


@pytest.fixture()
def setting(tmp_path, monkeypatch):
    """A small model. The programs are replaced, and report 10 ms for a text with full layers and 4 ms with changed
    ones."""
    folder = make_model(tmp_path / "teacher")
    teacher = encoder.load(folder)
    tokens = texts.tokenize(texts.Texts([(t,) for t in make_texts(8, shortest=60)], [None] * 8), teacher.tokenizer, 64)

    def make_student(plan):
        return encoder.load(folder, plan, initialise.make_compressions("pool", plan, teacher, None, CPU, 64))
    monkeypatch.setattr(programs, "convert", lambda folder, file: None)
    monkeypatch.setattr(programs, "bench", lambda file, *a: {"ms": 10.0 if "full" in file.name else 4.0})
    return parse("w4k4", 3, (2, 3), 64), teacher, make_student, tokens


@pytest.mark.parametrize("text,full", [("4ms", 0), ("5.9ms", 0), ("6ms", 1), ("0.85", 2)])
def test_as_many_layers_stay_full_as_the_time_allows(setting, text, full):
    every, teacher, make_student, tokens = setting
    plan, facts = budget.choose(text, every, teacher, make_student, tokens, CPU, 64, 1)
    assert plan.count(None) == full and (facts["full_ms"], facts["changed_ms"]) == (10.0, 4.0)
    kept = [i for i, layer in enumerate(plan) if layer is None]
    changed = [i for i, layer in enumerate(plan) if layer is not None]
    assert all(facts["damage"][i] >= facts["damage"][j] for i in kept for j in changed)


@pytest.mark.parametrize("text,words", [("3ms", "no plan"), ("10ms", "needs no change"), ("1", "needs no change")])
def test_budgets_without_a_plan(setting, text, words):
    every, teacher, make_student, tokens = setting
    with pytest.raises(UserError, match=words):
        budget.choose(text, every, teacher, make_student, tokens, CPU, 64, 1)


@pytest.mark.parametrize("text,value", [("45ms", (45.0, True)), ("0.6", (0.6, False)), ("1", (1.0, False))])
def test_budgets_are_read(text, value):
    assert budget.parse(text) == value


@pytest.mark.parametrize("text", ["", "0", "1.5", "-1ms", "45 ms", "nanms", "ms", "0ms", "1e3ms"])
def test_wrong_budgets(text):
    with pytest.raises(UserError):
        budget.parse(text)
