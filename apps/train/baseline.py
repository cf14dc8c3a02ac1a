"""Trains a linear model on the same texts as a Linformer, for comparison: TF-IDF of words and logistic regression."""

import math
import re
from collections import Counter

import torch
from torch.nn import functional as F

WORD = re.compile(r"\w+|[^\w\s]")
MOST_TERMS = 200_000  # Only the most frequent terms are kept.
PENALTY = 1e-5  # The factor of the squared weights, which are added to the mean loss.
STEPS = 60  # The steps of L-BFGS. Further steps change the accuracy little.


def terms(text):
    """Returns the words and punctuation marks of a text and the pairs of neighbours, in lower case."""
    words = WORD.findall(text.lower())
    return words + [f"{first} {second}" for first, second in zip(words, words[1:])]


def weigh(texts, columns, idf):
    """Returns a sparse matrix with a row for each text: its TF-IDF vector, divided by the length of the vector."""
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
    """Trains on (texts, labels), and returns the mean of the accuracies on the files, each given as (texts, labels)."""
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
