"""Makes the texts of pretraining: a vocabulary, texts of n tokens, and held-out texts with the masks of `linformer`."""
import dataclasses
import hashlib
import json

import numpy
import torch

from linearise.files import write_text
from linearise.texts import Tokens
from study import corpora

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


@dataclasses.dataclass
class Source:
    """The texts of all runs with one size of vocabulary."""
    vocabulary: dict       # A tokenizers.Tokenizer of byte-level pieces.
    stream: numpy.ndarray  # The tokens of all training texts, without special tokens.
    held_out: dict         # Maps names to long texts, each on one line.


def one_line(parts):
    return " ".join(" ".join(parts).split())


def training_texts(data):
    """Returns one long text for each book, and one of WikiText. The <unk> that WikiText has for rare words is
    removed."""
    made = [one_line(corpora.paragraphs(book)) for book in corpora.books(data) if book.name != corpora.HELD_OUT_BOOK]
    return made + [one_line(corpora.wikipedia(data, "wikitext2_valid.tokens.txt")).replace("<unk> ", "")]


def held_out_texts(data):
    book = next(book for book in corpora.books(data) if book.name == corpora.HELD_OUT_BOOK)
    return {"book": one_line(corpora.paragraphs(book)),
            "wikipedia": one_line(corpora.wikipedia(data, "wikitext2_raw_test.txt"))}


def prepare(context, size):
    """Returns the Source with a vocabulary of `size` pieces. The vocabulary is kept in Context.work."""
    from tokenizers import Tokenizer
    words = training_texts(context.data)
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
    path = context.work / "paper" / f"vocabulary-{size}-{digest}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, train_vocabulary(words, size).to_str())
    vocabulary = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    stream = numpy.concatenate([numpy.array(vocabulary.encode(text).ids, numpy.int32) for text in words])
    return Source(vocabulary, stream, held_out_texts(context.data))


def train_vocabulary(words, size):
    """Returns a Tokenizer of byte-level pieces. The same texts give the same pieces."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(words, trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(SPECIAL), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    return made


def tokenizer(vocabulary):
    """Returns the tokenizer of a RoBERTa with these pieces."""
    from transformers import RobertaTokenizer
    model = json.loads(vocabulary.to_str())["model"]
    return RobertaTokenizer(vocab=model["vocab"], merges=[tuple(pair) for pair in model["merges"]])


def in_windows(ids, n, tokenizer):
    """Cuts `ids` into texts and adds the special tokens at both ends of each. Returns [texts, n]. An incomplete last
    text is left out."""
    count = len(ids) // (n - 2)
    made = numpy.empty((count, n), numpy.int64)
    made[:, 0], made[:, -1] = tokenizer.cls_token_id, tokenizer.sep_token_id
    made[:, 1:-1] = ids[:count * (n - 2)].reshape(count, n - 2)
    return made


def packed(stream, n, tokenizer):
    """Returns the Tokens for training, in a random order, so that a batch has passages of several books."""
    rows = in_windows(stream, n, tokenizer)
    order = numpy.random.default_rng(n).permutation(len(rows))
    return Tokens(list(rows[order].astype(numpy.int32)), [None] * len(rows), [None] * len(rows), tokenizer.pad_token_id)


def first_tokens(words, tokenizer, most):
    """Returns the beginning of a text that ends with a whole word and has at most `most` tokens."""
    made = tokenizer(words, add_special_tokens=False, return_offsets_mapping=True)
    if len(made["input_ids"]) <= most:
        return words
    return words[:made["offset_mapping"][most][0]].rsplit(" ", 1)[0]


# The functions below choose the same masks as `linformer perplexity` (apps/cli/docs/perplexity.md).

def mix(x):
    """Computes one step of SplitMix64 for each element of an array of uint64."""
    x = x + numpy.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return x ^ x >> numpy.uint64(31)


def unit(x):
    return (x >> numpy.uint64(11)) / 2.0**53


def with_masks(ids, tokenizer, rate, seed=0):
    """Returns the texts `ids`, [texts, n], with masks, and an array that is true for the tokens to be guessed."""
    text = numpy.arange(ids.shape[0], dtype=numpy.uint64)[:, None]
    position = numpy.arange(ids.shape[1], dtype=numpy.uint64)[None, :]
    first = mix(mix(mix(numpy.array([[seed]], numpy.uint64)) ^ text) ^ position)
    second = mix(first)
    wanted = (unit(first) < rate) & (ids >= len(SPECIAL))
    drawn = (mix(second) % numpy.uint64(len(tokenizer) - 1)).astype(numpy.int64)
    drawn += drawn >= tokenizer.pad_token_id
    shown = numpy.where(unit(second) < 0.8, tokenizer.mask_token_id, numpy.where(unit(second) < 0.9, drawn, ids))
    return numpy.where(wanted, shown, ids), wanted


def masked_windows(words, tokenizer, n, most, chosen):
    """Returns the ids of texts of n tokens from the beginning of `words`, the same texts with masks, and an array that
    is true for the tokens to be guessed."""
    ids = numpy.array(tokenizer(words, add_special_tokens=False)["input_ids"])
    ids = in_windows(ids, n, tokenizer)[:most // n]
    return tuple(torch.from_numpy(array) for array in (ids, *with_masks(ids, tokenizer, chosen["mask_rate"])))


def without_context(words, tokenizer, stream, chosen):
    """Returns the mean losses of two guesses that don't use other tokens. `unigram` guesses by the frequency of tokens
    in the training texts. `without_context` also uses, in the best way, what the position itself shows, which is the
    token itself in 1 of 10 cases."""
    ids = numpy.array(tokenizer(words, add_special_tokens=False)["input_ids"])
    rows = in_windows(ids, chosen["n"], tokenizer)
    shown, wanted = with_masks(rows, tokenizer, chosen["mask_rate"])
    counts = numpy.bincount(stream, minlength=len(tokenizer)) + 1.0
    share = counts / counts.sum()
    token, seen = rows[wanted], shown[wanted]
    other = 1 / (len(tokenizer) - 1)  # The probability that a random token is a given token.
    kept = share[seen] * (1 + other) / (share[seen] + other)
    changed = share[token] * other / (share[seen] + other)
    best = numpy.where(seen == tokenizer.mask_token_id, share[token], numpy.where(seen == token, kept, changed))
    return {"unigram": round(float(-numpy.log(share[token]).mean()), 5),
            "without_context": round(float(-numpy.log(best).mean()), 5)}
