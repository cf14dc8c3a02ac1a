"""A linear model on the same texts, to compare a Linformer with: TF-IDF of words and logistic regression."""

import math
import re
from collections import Counter

import torch
from torch.nn import functional as F

WORD = re.compile(r"\w+|[^\w\s]")
MOST_TERMS = 200_000  # the most frequent ones
PENALTY = 1e-5  # on squared weights, beside the mean loss of a record
STEPS = 60  # of L-BFGS, after which accuracy changes little


def terms(text):
    """Words, punctuation marks and pairs of neighbours, in lower case."""
    words = WORD.findall(text.lower())
    return words + [f"{first} {second}" for first, second in zip(words, words[1:])]


def weigh(texts, columns, idf):
    """TF-IDF of each text, divided by its length, as a sparse matrix with a row for each text."""
    rows, indices, values = [], [], []
    for row, text in enumerate(texts):
        counts = Counter(columns[term] for term in terms(text) if term in columns)
        weights = {column: (1 + math.log(count)) * idf[column] for column, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        for column, weight in weights.items():
            rows.append(row)
            indices.append(column)
            values.append(weight / length)
    positions = torch.tensor([rows, indices], dtype=torch.long)
    return torch.sparse_coo_tensor(positions, torch.tensor(values), (len(texts), len(columns))).coalesce()


def linear_accuracy(training, validation_files, classes):
    """Trains on (texts, labels), and returns the mean over the files' (texts, labels) of the share of right answers."""
    texts, labels = training
    frequency = Counter(term for text in texts for term in set(terms(text)))
    kept = frequency.most_common(MOST_TERMS)
    columns = {term: i for i, (term, _) in enumerate(kept)}
    idf = [1 + math.log((1 + len(texts)) / (1 + count)) for _, count in kept]
    features, target = weigh(texts, columns, idf), torch.tensor(labels)
    weight = torch.zeros(len(columns), classes, requires_grad=True)
    bias = torch.zeros(classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=STEPS, history_size=10,
                                  line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(torch.sparse.mm(features, weight) + bias, target) + PENALTY * weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    accuracies = []
    for texts, labels in validation_files:
        with torch.no_grad():
            answers = (torch.sparse.mm(weigh(texts, columns, idf), weight) + bias).argmax(dim=1)
        accuracies.append(float((answers == torch.tensor(labels)).float().mean()))
    return sum(accuracies) / len(accuracies)
