"""Small random models of tokenizer.json: BPE of bytes and of characters, WordPiece and Unigram over the same few
words."""
import unicodedata

WORDS = ["the", "keeper", "keep", "of", "river", "ing", "Linformer", "don't", "it's", "12", "2024", "caf\u00e9",
         "nai\u0308ve", "STRASSE", "stra\u00dfe", "\u0130stanbul", "\u6771\u4eac", "\u4e2d", "\ud55c\uad6d",
         "\u0641\u064a", "\U0001f600", "\ufb01n", "\u2581", "a\u0301", "...", "->", "'s", "\u0915\u094d\u0937",
         "\u00bd"]


def printable_bytes():
    """Returns the printable character that byte-level BPE writes for each byte."""
    visible = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    characters, stand_in = {}, 0x100
    for byte in range(256):
        characters[byte] = chr(byte if byte in visible else stand_in)
        stand_in += byte not in visible
    return characters


PRINTABLE = printable_bytes()


def substring(chance, word):
    begin = chance.randrange(len(word))
    return word[begin:begin + 1 + chance.randrange(4)]


def numbered(chance, tokens):
    """Returns a dict from tokens to ids, in the order of the tokens or in a random one, sometimes with gaps."""
    tokens = list(dict.fromkeys(tokens))
    if chance.random() < 0.3:
        chance.shuffle(tokens)
    step = 2 if chance.random() < 0.03 else 1
    return {token: i * step for i, token in enumerate(tokens)}


def some(chance, options, share):
    return {name: chance.choice(values) for name, values in options.items() if chance.random() < share}


def byte_bpe(chance):
    symbols = [PRINTABLE[byte] for byte in range(256)]
    words = [[PRINTABLE[byte] for byte in (chance.choice(["", " "]) + chance.choice(WORDS)).encode()]
             for _ in range(60)]
    if chance.random() < 0.2:
        symbols = sorted({symbol for word in words for symbol in word})
    return bpe(chance, symbols, words)


def character_bpe(chance):
    """Makes a BPE like Gemma's and Llama's: characters, with byte fallback for characters without a token."""
    words = [list(chance.choice(["", "\u2581", "\u2581\u2581", " "]) + chance.choice(WORDS)) for _ in range(60)]
    symbols = sorted({symbol for word in words for symbol in word if chance.random() < 0.95})
    if chance.random() < 0.3:
        # These words make merges with a mark that isn't at their beginning.
        words += [["a", "\u2581", "b"], ["\u2581", "t", "h", "e", "\u2581"]]
    fallback = chance.random() < 0.6
    if fallback:
        symbols += [f"<0x{byte:02X}>" for byte in range(256 if chance.random() < 0.95 else 255)]
    model = bpe(chance, symbols, words)
    model.update(byte_fallback=fallback, fuse_unk=chance.random() < 0.5)
    return model


def bpe(chance, symbols, words):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    merges = []
    for _ in range(chance.randrange(150)):
        word = chance.choice(words)
        if len(word) < 2:
            continue
        at = chance.randrange(len(word) - 1)
        pair = (word[at], word[at + 1])
        merges.append(pair)
        for other in words:
            i = 0
            while i + 1 < len(other):
                if (other[i], other[i + 1]) == pair:
                    other[i:i + 2] = ["".join(pair)]
                i += 1
    merges = list(dict.fromkeys(merges))
    known = set(symbols)
    kept = []
    for pair in merges:  # In the order in which the merges create tokens.
        if pair[0] in known and pair[1] in known:
            kept.append(pair)
            known.add("".join(pair))
    merges = kept
    vocabulary = numbered(chance, special + symbols + ["".join(pair) for pair in merges] + ["<mask>"])
    model = {"type": "BPE", "dropout": None, "unk_token": chance.choice([None, "<unk>"]),
             "continuing_subword_prefix": chance.choice([None, ""]), "end_of_word_suffix": chance.choice([None, ""]),
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocabulary,
             "merges": []}
    # The reference requires that all merges of a file are written in the same form.
    form = chance.choice([list, " ".join]) if not any(" " in token for pair in merges for token in pair) else list
    model["merges"] = [form(pair) for pair in merges]
    if chance.random() < 0.3:
        model["ignore_merges"] = True
        vocabulary.update(words_as_tokens(chance, words, vocabulary))
    model.update(some(chance, {"fuse_unk": [True], "byte_fallback": [True], "ignore_merges": [True],
                               "unk_token": ["no such token"], "end_of_word_suffix": ["</w>"],
                               "continuing_subword_prefix": ["##"], "dropout": [0.0, 0.5]}, 0.02))
    return model


def words_as_tokens(chance, words, vocabulary):
    """Returns whole words that no merges create, with ids."""
    following = max(vocabulary.values()) + 1
    chosen = dict.fromkeys("".join(chance.choice(words)) for _ in range(12))
    return {token: following + i for i, token in enumerate(token for token in chosen if token not in vocabulary)}


def wordpiece(chance):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    prefix = chance.choice(["##", "##", "##", "@", ""])
    tokens = []
    for word in WORDS:
        plain = "".join(c for c in unicodedata.normalize("NFD", word.lower()) if unicodedata.category(c) != "Mn")
        for form in (word, plain):
            for character in form:
                tokens += [text for text in (character, prefix + character) if chance.random() < 0.8]
            for _ in range(3):
                piece = substring(chance, form)
                tokens.append(piece if form.startswith(piece) else prefix + piece)
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": prefix,
             "max_input_chars_per_word": chance.choice([100, 100, 5, 1]), "vocab": numbered(chance, special + tokens)}
    model.update(some(chance, {"unk_token": ["[CLS]", "no such token"], "max_input_chars_per_word": [0]}, 0.03))
    return model


def unigram(chance):
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    fallback = chance.random() < 0.3
    tokens = []
    for word in WORDS:
        tokens += [character for character in word if chance.random() < 0.85]
        for _ in range(4):
            piece = substring(chance, chance.choice(["", "\u2581"]) + word)
            tokens.append(piece)
    tokens += ["\u2581", "\u2581the", "\u2581a"] + ([" "] if chance.random() < 0.2 else [])
    chance.shuffle(tokens)
    if fallback:
        tokens += [f"<0x{byte:02X}>" for byte in range(256) if chance.random() < 0.999]
    tokens = list(dict.fromkeys(special + tokens))
    digits = chance.choice([0, 1, 3, 12])
    pieces = [[token, 0.0 if token in special else round(-chance.random() * 12, digits)] for token in tokens]
    return {"type": "Unigram", "unk_id": chance.choice([3, 3, 3, 3, 3, 3, 3, 3, 0, None]), "byte_fallback": fallback,
            "vocab": pieces}


def ids_of(model):
    """Returns a dict from the tokens of a model to their ids."""
    if isinstance(model["vocab"], dict):
        return model["vocab"]
    return {token: i for i, (token, _) in enumerate(model["vocab"])}
