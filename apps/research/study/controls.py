"""Tests whether compressed keys help beside a window and exact tokens. Students of MiniLM with different plans are all
trained in the same way."""
import functools

import numpy
import torch

from linearise import encoder, evaluate, initialise, plan, texts, train
from study import corpora
from study.runs import Run

GROUP = "controls"
# For each of these numbers, held-out texts of at least this number of tokens are also measured after a cut to it.
LENGTHS = (128, 256, 512)
LENGTH = 512
STEPS = 100
DECISIVE = ("w64", "w64k2", "w64k64")  # These plans run with all seeds. With k2 there are only the two exact tokens.
PLANS = (*DECISIVE, "w64k32", "w64k128", "5*w64k64,full", "k64", "k128", "k256")
SEEDS = 5


# The teacher's answers for the texts of earlier runs in this process. All runs have the same teacher.
teacher_answers = {}


def runs():
    made = [Run(GROUP, f"{safe(name)}-seed{seed}", settings(name, seed), compute)
            for seed in range(SEEDS) for name in PLANS if seed == 0 or name in DECISIVE]
    made += [Run(GROUP, f"start-{safe(name)}-{kind}", settings(name, 0, 0, kind), compute)
             for name in ("w64k64", "k64", "k128") for kind in initialise.KINDS]
    return made


def safe(name):
    return name.replace("*", "x").replace(",", "+")


def settings(name, seed, steps=STEPS, kind="pool", held_out=200):
    return {"model": "minilm", "plan": name, "steps": steps, "tokens": 2048, "initialise": kind, "seed": seed,
            "rate": 5e-5, "matrix_rate": 1e-3, "mixed": True, "length": LENGTH, "held_out": held_out}


@functools.lru_cache(maxsize=1)
def all_tokens(folder, data, length):
    """Returns the tokens of the mixed texts, first those for training and then those held out."""
    tokenizer = encoder.load(folder).tokenizer
    return [texts.tokenize(part, tokenizer, length) for part in corpora.mixed_texts(data)]


def tokens_of(context, folder, length, most_held_out):
    """Returns the tokens for training, and about `most_held_out` held-out texts of at least 30 tokens."""
    train_tokens, held = all_tokens(folder, context.data, length)
    held = held.part([i for i in range(len(held)) if len(held.ids[i]) >= 30])
    return train_tokens, held.part(range(0, len(held), max(1, len(held) // most_held_out)))


def compute(chosen, context):
    folder = context.models[chosen["model"]]
    teacher = encoder.load(folder)
    train_tokens, held = tokens_of(context, folder, chosen["length"], chosen["held_out"])
    exact = (teacher.tokenizer.cls_token_id, teacher.tokenizer.sep_token_id)
    layers = plan.parse(chosen["plan"], teacher.layers, exact, chosen["length"])
    torch.manual_seed(chosen["seed"])
    student = encoder.load(folder, layers, initialise.make_compressions(
        chosen["initialise"], layers, teacher, train_tokens, context.device, chosen["length"]))
    if chosen["steps"]:
        schedule = train.Schedule(steps=chosen["steps"], tokens=chosen["tokens"], rate=chosen["rate"],
                                  matrix_rate=chosen["matrix_rate"], mixed=chosen["mixed"], seed=chosen["seed"])
        train.Trainer(student, teacher, train_tokens, held.part([]), schedule, None, context.device,
                      context.progress).run()
    return measure(student, teacher, held, context)


def measure(student, teacher, held, context):
    """Returns statistics of the cosines for whole texts, and for texts that are cut to each length."""
    made = {"whole": one(student, teacher, held, context)}
    for length in LENGTHS:
        longer = [i for i in range(len(held)) if len(held.ids[i]) >= length]
        cut = held.part(longer)
        cut.ids = [cut.cut(i, length) for i in range(len(cut))]
        if len(cut):
            made[str(length)] = one(student, teacher, cut, context)
    return made


def one(student, teacher, tokens, context):
    own = numpy.stack(evaluate.answers(student, tokens, context.device))
    key = hash(tuple(part.tobytes() for part in tokens.ids))
    if key not in teacher_answers:
        teacher_answers[key] = numpy.stack(evaluate.answers(teacher, tokens, context.device))
    other = teacher_answers[key]
    cosines = (own * other).sum(1)
    made = {key: round(value, 5) for key, value in evaluate.statistics(cosines).items()}
    made["neighbours_kept"] = round(evaluate.neighbours_kept(own, other)["share"], 4)
    return made
