"""Measures how a student's answers differ from its teacher's, on texts that neither was trained with."""
import math

import numpy
import torch

from linearise.train import in_batches

NEIGHBOURS = 10
EDGES = (1, 33, 65, 129, 257, 513, 1025, 2049, 4097, 1 << 30)  # The lengths at which rows of the report begin.
BATCH = 8192  # The number of tokens of a batch, padding included.


@torch.no_grad()
def answers(encoder, tokens, device, progress=None):
    """Returns a list with the vector or the logits of each text, in float32."""
    made, done = [None] * len(tokens), 0
    for chosen in in_batches(tokens, BATCH):
        output = encoder(*tokens.batch(chosen, device), hidden=False)
        rows = (output.vector if output.vector is not None else output.logits).float().cpu().numpy()
        for i, row in zip(chosen, rows):
            made[i] = row
        done += len(chosen)
        if progress:
            progress(done / len(tokens))
    return made


def statistics(values):
    values = numpy.asarray(values, numpy.float64)
    return {"texts": len(values), "mean": float(values.mean()), "p5": float(numpy.percentile(values, 5)),
            "least": float(values.min())}


def by_length(values, lengths):
    """Returns a row of statistics for each range of lengths that has texts."""
    rows = []
    for first, end in zip(EDGES, EDGES[1:]):
        part = [v for v, n in zip(values, lengths) if first <= n < end]
        if part:
            longest = max(n for n in lengths if first <= n < end)
            rows.append({"from": first, "to": min(end - 1, longest), **statistics(part)})
    return rows


def compare_vectors(student, teacher, lengths):
    """Compares vectors of length 1, [texts, width]. Returns their cosines, and which share of each text's nearest texts
    stay the same."""
    student, teacher = numpy.stack(student), numpy.stack(teacher)
    cosines = (student * teacher).sum(1)
    return {"kind": "vectors", "cosine": statistics(cosines), "by_length": by_length(cosines, lengths),
            "neighbours_kept": neighbours_kept(student, teacher)}


def neighbours_kept(student, teacher):
    count = min(NEIGHBOURS, len(student) - 1)
    if count < 1:
        return None
    def nearest(vectors):
        scores = vectors @ vectors.T
        numpy.fill_diagonal(scores, -numpy.inf)
        return numpy.argsort(-scores, axis=1, kind="stable")[:, :count]
    same = [len(set(a) & set(b)) / count for a, b in zip(nearest(student), nearest(teacher))]
    return {"of": count, "share": float(numpy.mean(same))}


def share(values):
    """Returns a share with the standard error of its estimate."""
    mean = float(numpy.mean(values))
    return {"value": mean, "error": math.sqrt(mean * (1 - mean) / len(values)), "texts": len(values)}


def compare_logits(student, teacher, labels, lengths):
    """Compares the classes of a student with its teacher's and with the labels. `teacher` or `labels` may be None."""
    chosen = numpy.array([row.argmax() for row in student])
    made = {"kind": "classes"}
    if teacher is not None:
        other = numpy.array([row.argmax() for row in teacher])
        made["agreement"] = share(chosen == other)
        made["by_length"] = by_length(chosen == other, lengths)
    if labels is not None:
        made["accuracy"] = share(chosen == numpy.array(labels))
        if teacher is not None:
            made["teacher_accuracy"] = share(other == numpy.array(labels))
            difference = (chosen == labels).astype(float) - (other == labels).astype(float)
            made["difference"] = {"value": float(difference.mean()),
                                  "error": float(difference.std() / math.sqrt(len(difference)))}
    return made


def compare_rows(student, teacher, lengths):
    """Compares heads that answer for each token. Returns the share of tokens for which both choose the same class."""
    same = [float((a[:n].argmax(1) == b[:n].argmax(1)).mean()) for a, b, n in zip(student, teacher, lengths)]
    return {"kind": "tokens", "agreement": share(same), "by_length": by_length(same, lengths)}


def compare(student, teacher, tokens, device, progress=None):
    """Compares two encoders on texts. `teacher` is an Encoder, a Windows object around an Encoder, or None."""
    half = (lambda done: progress(done / 2)) if progress else None
    rest = (lambda done: progress(0.5 + done / 2)) if progress else None
    own = answers(student, tokens, device, half)
    other = None if teacher is None else answers(teacher, tokens, device, rest)
    lengths = tokens.lengths()
    if student.classifies:
        labels = tokens.labels if tokens.labels[0] is not None else None
        return compare_logits(own, other, labels, lengths)
    if student.tags:
        return compare_rows(own, other, lengths)
    return compare_vectors(own, other, lengths)


@torch.no_grad()
def layer_costs(student, teacher, tokens, device, most=96):
    """Returns the distance of the student's answers to the teacher's, and a row for each layer. A row has the error of
    the layer's hidden states, |student - teacher| / |teacher|. For a changed layer it also has the amount by which the
    distance would fall if the layer's attention were full again."""
    tokens = tokens.part(range(0, len(tokens), max(1, len(tokens) // most)))
    errors = numpy.zeros(student.layers)
    norms = numpy.zeros(student.layers)

    def distance():
        total = 0.0
        for chosen in in_batches(tokens, BATCH):
            batch = tokens.batch(chosen, device)
            own, other = student(*batch, hidden=False), teacher(*batch, hidden=False)
            if own.vector is not None:
                total += float((1 - (own.vector * other.vector).sum(1)).sum())
            else:
                difference = torch.log_softmax(own.logits.float(), -1) - torch.log_softmax(other.logits.float(), -1)
                total += float(difference.square().mean(-1).sum())
        return total / len(tokens)

    for chosen in in_batches(tokens, BATCH):
        ids, mask, types = tokens.batch(chosen, device)
        own, other = student(ids, mask, types), teacher(ids, mask, types)
        for i in range(student.layers):
            a, b = own.hidden[i + 1] * mask[:, :, None], other.hidden[i + 1] * mask[:, :, None]
            errors[i] += float((a - b).square().sum())
            norms[i] += float(b.square().sum())
    whole = distance()
    rows = []
    for i, layer in enumerate(student.plan):
        row = {"layer": i, "attention": "full" if layer is None else layer.kind(),
               "hidden_error": math.sqrt(errors[i] / norms[i])}
        if layer is not None:
            student.attentions.plan = [None if j == i else p for j, p in enumerate(student.plan)]
            row["gain_if_full"] = whole - distance()
            student.attentions.plan = student.plan
        rows.append(row)
    return {"distance": whole, "layers": rows}
