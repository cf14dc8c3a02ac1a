"""Trains a student to agree with its teacher, with labels, or with both.

A model without a head has the loss 1 - cosine of its vector and the teacher's. A classifier has the cross entropy with
the labels and the divergence from the teacher's distribution. The loss of the hidden states, which is the mean over the
layers of the squared error relative to the teacher's, is added to both. A loss without a target is left out.
"""
import contextlib
import dataclasses
import json
import math
import pathlib
import signal
import time

import torch
from torch.nn import functional

from linearise.errors import UserError
from linearise.files import atomic_write, write_text
from linearise.texts import Batches

CHECKPOINT = "training.pt"
LOG = "training.jsonl"


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The settings of training."""
    steps: int = 600            # The number of steps of the optimizer.
    tokens: int = 2048          # The tokens of a batch, padding included.
    accumulate: int = 1         # The number of batches whose mean gradient makes one step.
    rate: float = 5e-5          # The largest learning rate of the model's weights.
    matrix_rate: float = 1e-3   # The largest learning rate of E and F.
    warm_up: float = 0.05       # The share of the steps in which the rates rise.
    clip: float = 1.0           # The largest norm of the gradient.
    decay: float = 0.0          # The weight decay of AdamW for the model's weights.
    hidden: float = 1.0         # The factor of the hidden states' loss.
    mixed: bool = False         # Whether matrix products are computed in bf16.
    cut: bool = True            # Whether half of the texts are shortened at random.
    dropout: bool = False       # Whether the dropout of the model's config is used.
    train_words: bool = False   # Whether the token embeddings are trained, too.
    check_every: int = 100      # The number of steps between checks on held-out texts.
    patience: int = 0           # The number of checks without progress that ends training. If 0, all steps are trained.
    seed: int = 0

    def rate_at(self, step):
        """Returns the factor of the largest rate in a step. It rises linearly, and then falls as half a cosine."""
        warm = max(1, int(self.steps * self.warm_up))
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, self.steps - warm)))


def hidden_loss(student, teacher, valid):
    """Returns the mean over the layers of |student - teacher|^2 / |teacher|^2. Both norms leave out padding."""
    weights = valid[:, :, None]
    losses = []
    for got, wanted in zip(student[1:], teacher[1:]):
        got, wanted = got.float() * weights, wanted.float() * weights
        losses.append((got - wanted).square().sum() / wanted.square().sum())
    return torch.stack(losses).mean()


def answer_loss(student, teacher, labels, valid):
    """Returns the loss of the vectors or logits. `labels` has the indices of classes, [batch], or is None. `teacher`
    may be None for a student with logits."""
    if student.vector is not None:
        return (1 - (student.vector * teacher.vector).sum(1)).mean()
    logits = student.logits.float()
    loss = logits.new_zeros(())
    if labels is not None:
        loss = loss + functional.cross_entropy(logits, labels)
    if teacher is not None and teacher.logits is not None and teacher.logits.shape == logits.shape:
        wanted = functional.log_softmax(teacher.logits.float(), -1)
        distance = functional.kl_div(functional.log_softmax(logits, -1), wanted, log_target=True, reduction="none")
        distance = distance.sum(-1)
        loss = loss + (distance.mean() if distance.dim() == 1 else distance[valid].mean())
    return loss


class Stopped(Exception):
    """The user interrupted training. The checkpoint has been written."""


class Trainer:
    """Trains `student`. `teacher` is an encoder, or None if only labels are used. `folder` gets the checkpoint and the
    log. If it is None, no files are written."""

    def __init__(self, student, teacher, train, held_out, schedule, folder, device, progress=None):
        self.student, self.teacher = student.to(device), teacher
        if teacher is not None:
            teacher.to(device).eval().requires_grad_(False)
        self.train_tokens, self.held_out, self.schedule, self.device = train, held_out, schedule, device
        self.folder, self.progress = None if folder is None else pathlib.Path(folder), progress
        self.labelled = train.labels[0] is not None
        self.step, self.seconds, self.best, self.best_state, self.since_best = 0, 0.0, math.inf, None, 0
        self.log, self.stop = [], False
        for parameter in student.parameters():
            parameter.requires_grad_(True)
        if not schedule.train_words:
            student.word_embedding().requires_grad_(False)
        matrices = list(student.compressions.parameters())
        own = {id(p) for p in matrices}
        weights = [p for p in student.model.parameters() if p.requires_grad and id(p) not in own]
        groups = [{"params": weights, "lr": schedule.rate, "peak": schedule.rate}]
        if matrices:
            groups.append({"params": matrices, "lr": schedule.matrix_rate, "peak": schedule.matrix_rate,
                           "weight_decay": 0.0})
        self.optimizer = torch.optim.AdamW(groups, weight_decay=schedule.decay)
        self.batches = Batches(train, schedule.tokens, schedule.seed, cut=schedule.cut)

    def precision(self):
        return torch.autocast(self.device.type, torch.bfloat16) if self.schedule.mixed else contextlib.nullcontext()

    def loss(self, chosen, lengths=None, tokens=None):
        """Returns the loss of a batch, and the same loss without the part for the hidden states."""
        tokens = tokens or self.train_tokens
        ids, mask, types = tokens.batch(chosen, self.device, lengths)
        labels = None
        if tokens.labels[0] is not None:
            labels = torch.tensor([tokens.labels[i] for i in chosen], device=self.device)
        teacher = None
        hidden = self.teacher is not None and self.schedule.hidden > 0
        with self.precision():
            if self.teacher is not None:
                with torch.no_grad():
                    teacher = self.teacher(ids, mask, types, hidden=hidden)
            student = self.student(ids, mask, types, hidden=hidden)
        answer = answer_loss(student, teacher, labels, mask.bool())
        if not hidden:
            return answer, answer
        return answer + self.schedule.hidden * hidden_loss(student.hidden, teacher.hidden, mask), answer

    def run(self):
        """Trains until the schedule's last step, or until the held-out loss doesn't fall any more. The student then
        gets the weights of the best check."""
        self.resume()
        schedule = self.schedule
        source = self.batches.forever(self.step * schedule.accumulate)
        before = self.catch_interrupt()
        began = time.monotonic() - self.seconds
        recent = None
        try:
            while self.step < schedule.steps:
                self.student.train(schedule.dropout)
                share = schedule.rate_at(self.step)
                for group in self.optimizer.param_groups:
                    group["lr"] = group["peak"] * share
                torch.manual_seed(schedule.seed * 1_000_003 + self.step)  # Dropout gets its own seed in each step.
                total = 0.0
                for _ in range(schedule.accumulate):
                    loss, _ = self.loss(*next(source))
                    (loss / schedule.accumulate).backward()
                    total += loss.item() / schedule.accumulate
                if not math.isfinite(total):
                    raise UserError(f"the loss is {total} in step {self.step + 1}: try a lower --rate.")
                torch.nn.utils.clip_grad_norm_(self.student.parameters(), schedule.clip)
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
                self.step += 1
                self.seconds = time.monotonic() - began
                recent = total if recent is None else 0.95 * recent + 0.05 * total
                self.log.append({"step": self.step, "loss": total})
                if self.progress:
                    self.progress.update(self.step / schedule.steps, f"loss {recent:.4f}")
                if self.step % schedule.check_every == 0 or self.step == schedule.steps:
                    ends = self.check()
                    self.save()
                    if ends:
                        break
                if self.stop:
                    self.save()
                    raise Stopped
        finally:
            if before is not None:
                signal.signal(signal.SIGINT, before)
        if self.best_state is not None:
            self.student.load_state_dict(self.best_state)
        self.student.eval()
        return self

    def catch_interrupt(self):
        def stop(signum, frame):
            self.stop = True
        try:
            return signal.signal(signal.SIGINT, stop)
        except ValueError:  # Only the main thread can set a signal handler.
            return None

    @torch.no_grad()
    def held_out_loss(self):
        """Returns the mean of the answers' loss over the held-out texts."""
        self.student.eval()
        total, count = 0.0, 0
        for chosen in in_batches(self.held_out, self.schedule.tokens * 2):
            total += self.loss(chosen, tokens=self.held_out)[1].item() * len(chosen)
            count += len(chosen)
        return total / count

    def check(self):
        """Keeps the weights if they are the best so far. Returns whether training should end."""
        if len(self.held_out) == 0:
            return False
        value = self.held_out_loss()
        self.log[-1]["held_out"] = value
        if value < self.best:
            self.best, self.since_best = value, 0
            self.best_state = {name: t.detach().clone() for name, t in self.student.state_dict().items()}
        else:
            self.since_best += 1
        return 0 < self.schedule.patience <= self.since_best

    def identity(self):
        """Returns the settings in which a checkpoint must agree with this run, so that the run can continue from it."""
        return {"schedule": dataclasses.asdict(self.schedule), "texts": len(self.train_tokens),
                "tokens": int(sum(self.train_tokens.lengths())),
                "plan": [None if layer is None else layer.setting() for layer in self.student.plan]}

    def save(self):
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        state = {"identity": self.identity(), "step": self.step, "seconds": self.seconds, "best": self.best,
                 "since_best": self.since_best, "log": self.log, "student": self.student.state_dict(),
                 "best_state": self.best_state, "optimizer": self.optimizer.state_dict()}
        with atomic_write(self.folder / CHECKPOINT) as path:
            torch.save(state, path)
        write_text(self.folder / LOG, "".join(json.dumps(line) + "\n" for line in self.log))

    def resume(self):
        if self.folder is None or not (self.folder / CHECKPOINT).exists():
            return
        path = self.folder / CHECKPOINT
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
        except Exception as error:  # torch raises exceptions of many types if the file isn't a checkpoint.
            raise UserError(f"{path} can't be read ({type(error).__name__}): remove it to begin again.") from None
        if state["identity"] != self.identity():
            raise UserError(f"{path} was made with other texts or options: remove it, or give another folder with -o.")
        self.step, self.seconds, self.best = state["step"], state["seconds"], state["best"]
        self.since_best, self.log, self.best_state = state["since_best"], state["log"], state["best_state"]
        self.student.load_state_dict(state["student"])
        self.optimizer.load_state_dict(state["optimizer"])

    def forget(self):
        """Removes the checkpoint after the end of training."""
        if self.folder is not None:
            (self.folder / CHECKPOINT).unlink(missing_ok=True)


def in_batches(tokens, most):
    """Yields batches as lists of indices of texts, from short to long texts. A batch has at most `most` tokens, padding
    included, unless it has only one text."""
    order = sorted(range(len(tokens)), key=lambda i: (len(tokens.ids[i]), i))
    group = []
    for i in order:
        if group and (len(group) + 1) * len(tokens.ids[i]) > most:
            yield group
            group = []
        group.append(i)
    if group:
        yield group
