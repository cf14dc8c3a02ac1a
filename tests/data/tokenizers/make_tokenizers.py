"""Makes the small tokenizers and reference encodings in this folder; needs Hugging Face's tokenizers (0.23)."""

import json
import os
import random
import unicodedata

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

HERE = os.path.dirname(os.path.abspath(__file__))
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
CL100K = (CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTION +
         r"?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTION +
         r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
CORPUS = """the little boat was slow and the river was wide
we waited for the ferry until the rain had stopped
a reader who waits for the end will be rewarded twice
it's a long film, and it doesn't need to be
she said that she'd seen better plays, they'd said they hadn't
the acting is warm, the music is warmer, the ending is the warmest
nobody knows why the lighthouse keeper wrote 1024 letters in 128 days
he counted 12 boats, 7 nets and 3 barrels on the 21st of May
what a waste of a good story, what a waste of an evening
the weather was bad; the food was worse; the company was wonderful
don't read the last page first, we're told, but we've all done it
I'll never understand how they're able to sing and row
learning to read slowly is learning to read well
an unhappy painter paints an unhappy painting of happy painters
the keeper's daughter keeps the keeper's keys
walking, talking, waiting and writing: that is all that they do
this was the best and the worst of the week's reading
the streets of the old town run down to the harbour
na\u00efve caf\u00e9 owners \u00fcber alles? no: a na\u00efve caf\u00e9 owner is not alone
\u0391\u03b8\u03ae\u03bd\u03b1 and \u041c\u043e\u0441\u043a\u0432\u0430 and \u6771\u4eac are far from the river
""".splitlines()
ODD = ["<mask>", "[MASK]", " ", "  ", "\n", "\t", "\u3000", "'s", "'LL", "'ll", "''", "\u00e9", "e\u0301", "\u4e2d",
       "\u6587\u5b57", "\U0001f600", "\uac00", "<s>", "</s>", "[CLS]", "the river", "THE", "#x", "<unk>", "\u00c0\u00c9",
       "\u0130", "\u0344", "\u1e9b\u0323", "\ufb01", "\u00df", "\u03a3", "\0", "\u00ad", "\u200d", "\u0302\u0323",
       "\u302e", "keeper", "12", "\u0661\u0662", "\u00a0", "\r\n", "_", "-", "->", "linformer", "Linformer",
       "linformers", "LinFormer", "\ufffd", "\U000e0001", "\U0001fae0", "a\u0300\u0316b", "wait"]


def write_json(path, value):
    with open(os.path.join(HERE, path), "w", encoding="ascii") as file:
        json.dump(value, file, separators=(",", ":"))
        file.write("\n")


def write_lines(path, lines):
    os.makedirs(os.path.dirname(os.path.join(HERE, path)), exist_ok=True)
    with open(os.path.join(HERE, path), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def byte_bpe():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=420, min_frequency=2, show_progress=False, special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    model = json.loads(tokenizer.to_str())["model"]
    vocabulary = model["vocab"]
    vocabulary["<mask>"] = len(vocabulary)
    merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]
    merge_lines = ["#version: 0.2"] + [" ".join(merge) for merge in merges]

    write_lines("bpe/merges.txt", merge_lines)
    write_json("bpe/vocab.json", vocabulary)

    # fairseq's files: encoder.json with GPT-2's ids, without special tokens, and dict.txt, which gives different ids to
    # all tokens except five, which it leaves out.
    names = [name for name in vocabulary if name not in SPECIAL + ["<mask>"]]
    names.sort(key=vocabulary.get)
    write_lines("fairseq/vocab.bpe", merge_lines)
    write_json("fairseq/encoder.json", {name: i for i, name in enumerate(names)})
    order = list(range(len(names)))
    random.Random(7).shuffle(order)
    write_lines("fairseq/dict.txt", [f"{i} {100000 - n}" for n, i in enumerate(order[:-5])] +
                [f"madeupword{i:04d} 0" for i in range(4)])

    full = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    full.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    full.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True,
                                                       add_prefix_space=True)
    full.decoder = decoders.ByteLevel()
    full.add_special_tokens(SPECIAL + [AddedToken("<mask>", lstrip=True, normalized=True)])
    full.add_tokens([AddedToken("Linformer", single_word=True, normalized=False),
                     AddedToken("->", lstrip=True, rstrip=True)])
    return full


def normal_byte_bpe():
    """Makes a byte-level BPE like ModernBERT's: texts are normalized to NFC first, and the special tokens have BERT's
    names and occur only in added_tokens, not in the vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=400, min_frequency=2, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken("  ", normalized=False), AddedToken("\u1e9b\u0323", normalized=True),
                          AddedToken("->", lstrip=True, rstrip=True)])
    tokenizer.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "[PAD]", AddedToken("[MASK]", lstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")])
    return tokenizer


def split_byte_bpe(pattern, ignore_merges, first):
    """Makes a byte-level BPE like Llama 3's and GPT-4o's: a regular expression splits texts, and with ignore_merges a
    word that is in the vocabulary becomes one token, even if no merges create it."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*first, split, byte_level])
    tokenizer.train_from_iterator(CORPUS + [line.title() for line in CORPUS], trainers.BpeTrainer(
        vocab_size=420, min_frequency=2, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    document = json.loads(tokenizer.to_str())
    vocabulary = document["model"]["vocab"]
    for word in ("\u0120river", "\u0120lighthouse", "1024", "->", "\u0120\u00c3\u00bcber"):
        vocabulary.setdefault(word, len(vocabulary))
    document["model"]["ignore_merges"] = ignore_merges
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True)])
    tokenizer.add_tokens([AddedToken("Linformer", single_word=True), AddedToken("->", lstrip=True, rstrip=True)])
    template = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer


def character_bpe(normalizer, pre_tokenizer, decoder):
    """Makes a BPE of characters like Gemma's and Llama's: U+2581 replaces spaces, and a character without a token
    becomes tokens of its bytes."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<pad>", "</s>", "<s>", "<unk>", "<mask>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    trained.train_from_iterator(CORPUS[:-1] + ["\u2581\u2581 a"] * 3, trainers.BpeTrainer(
        vocab_size=480, min_frequency=2, show_progress=False, special_tokens=special))
    model = json.loads(trained.to_str())["model"]
    tokenizer = Tokenizer(models.BPE(vocab=model["vocab"], merges=[tuple(merge) for merge in model["merges"]],
                                     unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens(["<pad>", "</s>", "<s>", "<unk>", AddedToken("<mask>", lstrip=True)])
    tokenizer.add_tokens([AddedToken("Linformer", single_word=True), AddedToken("->", normalized=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")])
    return tokenizer


def like_gemma():
    return character_bpe(normalizers.Replace(" ", "\u2581"), pre_tokenizers.Split(" ", "merged_with_previous"),
                         decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]))


def like_llama():
    return character_bpe(normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]), None,
                         decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                            decoders.Strip(" ", 1, 0)]))


def wordpiece():
    def with_normalizer(model):
        tokenizer = Tokenizer(model)
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return tokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained = with_normalizer(models.WordPiece(unk_token="[UNK]"))
    trained.train_from_iterator(CORPUS, trainers.WordPieceTrainer(
        vocab_size=300, min_frequency=1, show_progress=False, special_tokens=special))
    vocabulary = trained.get_vocab()
    write_lines("wordpiece/vocab.txt", sorted(vocabulary, key=vocabulary.get))

    full = with_normalizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]", max_input_chars_per_word=20))
    full.decoder = decoders.WordPiece(cleanup=True)
    full.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")])
    full.add_special_tokens(special)
    full.add_tokens([AddedToken("LinFormer", single_word=True, normalized=True),
                     AddedToken("->", rstrip=True, normalized=False)])
    return full


def make_text(chance):
    kind = chance.random()
    if kind < 0.35:
        return "".join(chance.choice(ODD) for _ in range(chance.randrange(9)))
    if kind < 0.8:
        words = chance.choice(CORPUS).split(" ")
        first = chance.randrange(len(words))
        words = [word if chance.random() < 0.8 else chance.choice(ODD) for word in words[first:first + 6]]
        return chance.choice(["", " ", "  "]) + " ".join(words) + chance.choice(["", " ", "\n"])
    blocks = [(0x20, 0x7f), (0xa0, 0x600), (0x600, 0x3000), (0x10000, 0x1f000)]
    text = "".join(chr(chance.randrange(*chance.choice(blocks))) for _ in range(chance.randrange(14)))
    return "".join(c for c in text if unicodedata.category(c) != "Cn")  # later versions of Unicode may assign these


def write_cases(tokenizer, folder, count):
    chance = random.Random(11)
    os.makedirs(os.path.join(HERE, folder), exist_ok=True)
    write_json(folder + "/tokenizer.json", json.loads(tokenizer.to_str()))
    lines = []
    for _ in range(count):
        first, second = make_text(chance), make_text(chance) if chance.random() < 0.3 else None
        case = {"a": first, "b": second, "special": chance.random() < 0.6}
        tokenizer.no_truncation()
        if second is None and chance.random() < 0.3:
            case.update(max_length=chance.choice([3, 5, 8]), direction=chance.choice(["left", "right"]))
            tokenizer.enable_truncation(case["max_length"], direction=case["direction"])
        encoding = tokenizer.encode(first, second, add_special_tokens=case["special"])
        case.update(ids=encoding.ids, tokens=encoding.tokens, offsets=encoding.offsets, type_ids=encoding.type_ids,
                    special_tokens_mask=encoding.special_tokens_mask,
                    decoded=tokenizer.decode(encoding.ids, skip_special_tokens=True))
        lines.append(json.dumps(case, separators=(",", ":")))
    write_lines(folder + "/cases.jsonl", lines)


if __name__ == "__main__":
    write_cases(byte_bpe(), "bpe_json", 220)
    write_cases(wordpiece(), "wordpiece_json", 220)
    write_cases(normal_byte_bpe(), "bpe_nfc_json", 120)
    write_cases(split_byte_bpe(CL100K, True, []), "bpe_cl100k_json", 100)
    write_cases(split_byte_bpe(O200K, False, [pre_tokenizers.Digits(individual_digits=True)]), "bpe_o200k_json", 100)
    write_cases(like_gemma(), "bpe_gemma_json", 120)
    write_cases(like_llama(), "bpe_llama_json", 100)
