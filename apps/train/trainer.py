"""The training loop and evaluation."""

import copy
import math
import time
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from batches import evaluation_batches, pad_batch
from config import UserError
from progress import Progress


@dataclass
class Schedule:
    epochs: int
    lr: float
    warmup: float
    weight_decay: float
    label_smoothing: float
    clip_norm: float
    average: float
    patience: int
    batch_tokens: int
    log_interval: int
    quiet: bool
    verbose: bool


class AveragedWeights:
    """A running average of the model's weights, which evaluates better than the weights of the last step."""

    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval()
        self.updates = 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        # At first the decay is small, so that the average forgets the random first weights quickly.
        decay = min(self.decay, self.updates / (self.updates + 10.0))
        for slow, fast in zip(self.model.parameters(), model.parameters()):
            slow.lerp_(fast, 1.0 - decay)


@torch.no_grad()
def logits_of(model, sequences, batch_tokens, quiet=True):
    """Returns float32 logits in the order of the sequences. Shows progress on a terminal unless `quiet` is set."""
    model.eval()
    logits = torch.empty(len(sequences), model.config.classes)
    progress = Progress(len(sequences), "texts", len(sequences) + 1, quiet)
    done = 0
    for batch in evaluation_batches(sequences, batch_tokens):
        logits[batch] = model(pad_batch([sequences[i] for i in batch]))
        done += len(batch)
        progress.step(done, "evaluating")
    progress.clear()
    return logits


def measure(logits, classes):
    target = torch.tensor(classes)
    correct = int((logits.argmax(dim=1) == target).sum())
    return {"accuracy": correct / len(classes), "correct": correct, "records": len(classes),
            "loss": float(F.cross_entropy(logits, target))}


def measure_files(model, files, batch_tokens, quiet):
    """Returns the means of accuracy and loss over the files. Each file counts the same."""
    results = [measure(logits_of(model, sequences, batch_tokens, quiet), classes) for sequences, classes in files]
    means = {name: sum(r[name] for r in results) / len(results) for name in ("accuracy", "loss")}
    return {**means, "accuracies": [r["accuracy"] for r in results]}


def make_optimizer(model, schedule):
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": schedule.weight_decay},
         {"params": others, "weight_decay": 0.0}],
        lr=schedule.lr, betas=(0.9, 0.98), eps=1e-6)


def rate(schedule, fraction):
    """Returns the learning rate. It rises linearly during the warmup, and then falls to zero as a cosine."""
    if fraction < schedule.warmup:
        return schedule.lr * fraction / schedule.warmup
    rest = (fraction - schedule.warmup) / max(1e-9, 1.0 - schedule.warmup)
    return schedule.lr * 0.5 * (1.0 + math.cos(math.pi * min(1.0, rest)))


def train(model, batches, valid_files, schedule, save_best):
    """Trains, calls save_best(model, result) at each improvement, and returns the best result.

    `valid_files` has (sequences, classes) of each file.
    """
    optimizer = make_optimizer(model, schedule)
    averaged = AveragedWeights(model, schedule.average) if schedule.average else None
    started = time.monotonic()
    best, updates = None, 0
    for epoch in range(1, schedule.epochs + 1):
        epoch_batches = batches.epoch()
        progress = Progress(len(epoch_batches), "steps", schedule.log_interval, schedule.quiet)
        loss_sum, seen = 0.0, 0
        model.train()
        for done, (sequences, classes) in enumerate(epoch_batches, 1):
            fraction = (epoch - 1 + done / len(epoch_batches)) / schedule.epochs
            for group in optimizer.param_groups:
                group["lr"] = rate(schedule, fraction)
            loss = F.cross_entropy(model(pad_batch(sequences)), classes,
                                   label_smoothing=schedule.label_smoothing)
            if not math.isfinite(loss.item()):
                raise UserError(f"the loss became {loss.item()} in epoch {epoch}: lower --lr")
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), schedule.clip_norm)
            optimizer.step()
            if averaged:
                averaged.update(model)
            loss_sum += loss.item() * len(sequences)
            seen += len(sequences)
            progress.step(done, f"epoch {epoch}/{schedule.epochs}", f", loss {loss_sum / seen:.4f}")
        updates += len(epoch_batches)
        candidate = averaged.model if averaged else model
        progress.clear()
        result = measure_files(candidate, valid_files, schedule.batch_tokens, schedule.quiet)
        result.update(epoch=epoch, updates=updates, seconds=round(time.monotonic() - started, 1))
        improved = best is None or (result["accuracy"], -result["loss"]) > (best["accuracy"], -best["loss"])
        each = ", ".join(f"{accuracy:.4f}" for accuracy in result["accuracies"])
        progress.line(
            f"epoch {epoch}: training loss {loss_sum / seen:.4f}, validation loss {result['loss']:.4f}, "
            f"accuracy {result['accuracy']:.4f}" + (f" (mean of {each})" if len(valid_files) > 1 else "") +
            f", {result['seconds']:.0f} s" + (" (best)" if improved else ""))
        if schedule.verbose:
            progress.line(f"epoch {epoch}: {seen} texts in {len(epoch_batches)} steps, {updates} steps in all, "
                          f"learning rate at the end {optimizer.param_groups[0]['lr']:.2e}")
        if improved:
            best = result
            save_best(candidate, result)
        elif epoch - best["epoch"] >= schedule.patience:
            progress.line(f"no improvement in {schedule.patience} epochs: stopping")
            break
    return best
