"""Makes the small unigram tokenizers and reference encodings in this folder; needs tokenizers (0.23) and
sentencepiece (0.2). With the arguments FOLDER COUNT it writes the tokenizers into FOLDER instead, each with COUNT
encodings."""

import io
import json
import os
import random
import sys

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, Regex

import make_tokenizers as small

MARK = "\u2581"
# The normalization rules with which SentencePiece is trained, as (text, replacement): spaces, a ligature, pairs of
# characters, characters that are removed, and a character with a long replacement.
RULES = [("\u00a0", " "), ("\t", " "), ("\n", " "), ("\u3000", " "), ("\ufb01", "fi"), ("e\u0301", "\u00e9"), ("\r", ""),
         ("\u00ad", ""), ("\u200d", ""), ("\u00e9\u0302", "x"), ("\u1e9b", "s\u0307"), ("\u3099", ""), ("''", "\""),
         ("\u0130", "abcdef"), ("\uac00", "\u1100\u1161")]


def train(path, **options):
    rules = "rules.tsv"  # the trained model contains this name
    with open(rules, "w", encoding="ascii") as file:
        for source, target in RULES:
            hexadecimal = [" ".join(f"{ord(c):X}" for c in text) for text in (source, target)]
            file.write("\t".join(hexadecimal) + "\n")
    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(small.CORPUS * 4), model_writer=trained, model_type="unigram",
        normalization_rule_tsv=rules, hard_vocab_limit=False, minloglevel=2, **options)
    os.remove(rules)
    with open(os.path.join(path, "spiece.model"), "wb") as file:
        file.write(trained.getvalue())
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(trained.getvalue())
    return model


def offsets_of(text, pieces):
    """Returns [begin, end] of each piece in characters. SentencePiece gives offsets in bytes. Each piece of a single
    byte gets the offsets of the whole character."""
    starts = {}
    for i, character in enumerate(text + "\0"):
        starts[sum(len(c.encode()) for c in text[:i])] = i
    spans = [[starts[piece.begin], starts[piece.end]] for piece in pieces]
    at = 0
    while at < len(pieces):
        name = pieces[at].piece
        length = 1
        if len(name) == 6 and name.startswith("<0x"):
            lead = int(name[3:5], 16)
            length = 1 if lead < 0xc0 else 2 if lead < 0xe0 else 3 if lead < 0xf0 else 4
        for i in range(at, at + length):
            spans[i] = [spans[at][0], spans[at + length - 1][1]]
        at += length
    return spans


def write_sentencepiece_cases(path, count):
    processor = sentencepiece.SentencePieceProcessor(model_file=os.path.join(path, "spiece.model"))
    chance = random.Random(13)
    lines = []
    for _ in range(count):
        text = small.make_text(chance)
        pieces = processor.encode(text, return_type="proto").pieces
        ids = [piece.id for piece in pieces]
        lines.append(json.dumps({"text": text, "ids": ids, "tokens": [piece.piece for piece in pieces],
                                 "offsets": offsets_of(text, pieces), "decoded": processor.decode(ids)},
                                separators=(",", ":")))
    small.write_lines(os.path.join(path, "cases.jsonl"), lines)


def precompiled(model):
    return normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)


def finish(tokenizer, vocabulary, prepend_scheme, normalized=True):
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=prepend_scheme)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>",
        special_tokens=[(name, vocabulary.index(name)) for name in ("<s>", "</s>")])
    tokenizer.add_special_tokens(["<s>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, normalized=normalized)])
    tokenizer.add_tokens([AddedToken("Linformer", single_word=True, normalized=False),
                          AddedToken("->", lstrip=True, rstrip=True)])
    return tokenizer


def pieces_of(model):
    return [(piece.piece, piece.score) for piece in model.pieces]


def like_t5(model):
    pieces = pieces_of(model)
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    tokenizer.normalizer = precompiled(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    return finish(tokenizer, [piece for piece, _ in pieces], "always")


def like_albert(model):
    """Makes a Unigram tokenizer like ALBERT's: many steps of normalization, U+2581 only before the first word, bytes
    for unknown characters, and scores that need double precision."""
    chance = random.Random(5)
    pieces = [(piece, score * (1 + 1e-9 * chance.random())) for piece, score in pieces_of(model)]
    pieces += [(f"<0x{byte:02X}>", -20.0 - byte / 7) for byte in range(256) if byte != 0xe6]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("the", "th\u00e8"), normalizers.Nmt(), normalizers.NFKD(),
        normalizers.StripAccents(), normalizers.Lowercase(), precompiled(model), normalizers.NFC(),
        normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), MARK)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    finish(tokenizer, [piece for piece, _ in pieces], "first")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    return tokenizer


def whole_text(model):
    """Makes a Unigram tokenizer that doesn't split a text into words. Its normalizer composes characters and puts
    U+2581 before the text."""
    pieces = pieces_of(model)
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFD(), normalizers.NFKC(), normalizers.Prepend(MARK), normalizers.Strip(left=True, right=False)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    return finish(tokenizer, [piece for piece, _ in pieces], "never", normalized=False)


def main(target, count):
    def folder(name):
        path = os.path.join(target, name)
        os.makedirs(path, exist_ok=True)
        return path

    model = train(folder("sentencepiece"), vocab_size=180, character_coverage=0.985,
                  user_defined_symbols=["<mask>", "keeper", MARK + "12"])
    write_sentencepiece_cases(folder("sentencepiece"), count)
    train(folder("sentencepiece_bytes"), vocab_size=400, byte_fallback=True, character_coverage=0.985,
          remove_extra_whitespaces=False, add_dummy_prefix=False)
    write_sentencepiece_cases(folder("sentencepiece_bytes"), count)
    small.HERE = target
    for name, make in (("unigram_json", like_t5), ("unigram_steps_json", like_albert), ("unigram_text_json", whole_text)):
        small.write_cases(make(model), name, count)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(sys.argv[1], int(sys.argv[2]))
    else:
        main(small.HERE, 120)
