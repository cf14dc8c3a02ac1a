"""Random tokenizer.json files: models, normalizers, pre-tokenizers, added tokens and post-processors in any
combination, including contradictory ones. More than half of the files consist of parts that linformer reads."""
import json
import random
import unicodedata

import vocabularies

ODD = ["", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2009", "\u3000", "\u2028", "\u0085", "a\u0301", "\u00e9",
       "\u00c9", "\u0301", "e\u0301\u0323", "\u0130", "I\u0307", "\u00df", "\u1e9e", "\u03a3", "\ufb01", "\u2126",
       "\u212b", "\uac01", "\u1100\u1161\u11a8", "\u0915\u094d\u0937", "\u4e2d", "\u6771\u4eac", "\U00020000",
       "\U0001f600", "\U0001f468\u200d\U0001f469", "\u200b", "\u200d", "\ufeff", "\u00ad", "\ufffd", "\0", "\x01",
       "\x7f", "\u2581", "\u2581\u2581", "'s", "'ll", "n't", "->", "<mask>", "[MASK]", "<s>", "</s>", "[CLS]",
       "Linformer", "linformer", " Linformer ", "LINFORMER", "the", "The", " the", "THE", "theTHE", "\u0301The", "can'T", "it'\u017f", "HTML5", "\r\n\n ", "((", "//\n", " 1234567", "keeper", "12", "\u0661",
       "\u00bd", ".", "...", "_", "a", "A", "\u0120", "##a", "<0x41>", "\u00c0", "\u0344", "\u0958"]
CONTENTS = ["<mask>", "[MASK]", "<s>", "</s>", "[CLS]", "[SEP]", "<unk>", "Linformer", "linformer", "LINFORMER", "->",
            "\u00c9", "a\u0301", "\u00e9", "the", "The", " ", "  ", "\u2581", "\u2581the", "\u0120the", "##a", "\u4e2d",
            "keep", "keeper", "ee", "\u0130", "\ufb01", " a", "a ", "\u00a0", "", "new", "\u1100\u1161"]
NOTHING = ["\u0301", "\u0301\u0323", "\x01", "\u200b", "\u00ad"]  # Some normalizers remove these.


def make_text(chance):
    kind = chance.random()
    if kind < 0.4:
        return "".join(chance.choice(ODD) for _ in range(chance.randrange(9)))
    if kind < 0.8:
        words = [chance.choice(vocabularies.WORDS if chance.random() < 0.7 else ODD)
                 for _ in range(chance.randrange(7))]
        text = chance.choice([" ", " ", "", "  "]).join(words)
        return chance.choice(["", " ", "  "]) + text + chance.choice(["", " "])
    blocks = [(0x1, 0x80), (0xa0, 0x600), (0x600, 0x3100), (0xa960, 0xd7ff), (0xf900, 0xffff), (0x10000, 0x1f900)]
    text = "".join(chr(chance.randrange(*chance.choice(blocks))) for _ in range(chance.randrange(12)))
    # Unassigned characters are left out, because each library knows another version of Unicode.
    return "".join(character for character in text if unicodedata.category(character) != "Cn")


def flag(chance):
    return chance.random() < 0.5


def bert_normalizer(chance):
    return {"type": "BertNormalizer", "clean_text": chance.random() < 0.8, "handle_chinese_chars": flag(chance),
            "strip_accents": chance.choice([None, None, True, False]), "lowercase": flag(chance)}


def replacement(chance):
    pattern = chance.choice([{"String": "a"}, {"String": "  "}, {"String": "\u00e9"}, {"Regex": " {2,}"},
                             {"Regex": "the"}, {"String": "keeper"}, {"String": "\u2581"}, {"String": "aa"}])
    if chance.random() < 0.03:
        pattern = chance.choice([{"Regex": "[ae]+"}, {"String": ""}])
    return {"type": "Replace", "pattern": pattern,
            "content": chance.choice(["", " ", "\u2581", "aa", "\u00e9", "e\u0301", "\u4e2d"])}


def step(chance, charsmap):
    plain = ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents")
    return chance.choice([{"type": name} for name in plain] +
                         [{"type": "Precompiled", "precompiled_charsmap": charsmap}] * 2 +
                         [{"type": "Strip", "strip_left": flag(chance), "strip_right": flag(chance)},
                          {"type": "Prepend", "prepend": chance.choice(["\u2581", "a", " "] * 4 + [""])}] +
                         [replacement(chance) for _ in range(3)])


def sequence(list_name, parts):
    return {"type": "Sequence", list_name: parts}


def nested(chance, list_name, make, most):
    """Returns one part, no part, or several parts in a sequence, which may itself be in a sequence."""
    shape = chance.random()
    if shape < 0.25:
        return make()
    if shape < 0.3:
        return None
    parts = [make() for _ in range(chance.randrange(most + 1))]
    if chance.random() < 0.1:
        parts = [sequence(list_name, parts)]
    return sequence(list_name, parts)


def normalizer(chance, model, charsmap):
    if chance.random() < 0.05:  # These don't depend on the model.
        return chance.choice([{"type": "ByteLevel"}, bert_normalizer(chance),
                              nested(chance, "normalizers", lambda: step(chance, charsmap), 3)])
    if model == "BPE" and chance.random() < 0.5:
        forms = nested(chance, "normalizers", lambda: {"type": chance.choice(("NFC", "NFD", "NFKC", "NFKD"))}, 2)
        return chance.choice([None, sequence("normalizers", []), forms, forms])
    if model == "BPE" and chance.random() < 0.5:  # The normalizers of Gemma and Llama.
        marks = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
        return chance.choice([marks, sequence("normalizers", [{"type": "Prepend", "prepend": "\u2581"}, marks])])
    if model == "WordPiece":
        made = chance.choice([None, bert_normalizer(chance), bert_normalizer(chance), bert_normalizer(chance)])
        return sequence("normalizers", [made]) if made and chance.random() < 0.1 else made
    return nested(chance, "normalizers", lambda: step(chance, charsmap), 4)


def metaspace(chance):
    made = {"type": "Metaspace", "replacement": "\u2581"}
    made["prepend_scheme"] = chance.choice(["always", "first", "never"])
    if flag(chance):
        made["split"] = flag(chance)
    if chance.random() < 0.1:
        made["replacement"] = "_"
    if chance.random() < 0.15:
        made["add_prefix_space"] = flag(chance)
    return made


def byte_level(chance):
    return {"type": "ByteLevel", "add_prefix_space": flag(chance), "trim_offsets": flag(chance),
            "use_regex": chance.random() < 0.95}


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
ANY_CASE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
SYMBOLS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
SMALL = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
LARGE = r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
EXPRESSIONS = {
    "gpt2": GPT2,
    "cl100k": ANY_CASE + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + SYMBOLS + SPACES,
    "qwen2": ANY_CASE + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + SYMBOLS + SPACES,
    "qwen3_5": ANY_CASE + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + SPACES,
    "o200k": SMALL + ANY_CASE + "?" + LARGE + ANY_CASE + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES,
    "tekken": SMALL + LARGE + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES,
}
BEHAVIORS = ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def split(chance):
    kind = chance.random()
    if kind < 0.5:
        made = {"pattern": {"Regex": chance.choice(list(EXPRESSIONS.values()))}, "behavior": "Isolated", "invert": False}
        if chance.random() < 0.1:
            made.update(behavior="Removed", invert=True)
    else:
        made = {"pattern": {chance.choice(["String", "Regex"]): chance.choice(["e", " ", "the", "\u2581", "aa", "\n"])},
                "behavior": chance.choice(BEHAVIORS), "invert": False}
    if chance.random() < 0.03:
        made.update(behavior=chance.choice(BEHAVIORS), invert=flag(chance))
    return {"type": "Split", **made}


def splits(chance):
    """Returns pre-tokenizers that may precede ByteLevel or Metaspace."""
    options = [split(chance), split(chance), {"type": "WhitespaceSplit"},
               {"type": "Digits", "individual_digits": flag(chance)},
               {"type": "Punctuation", "behavior": chance.choice(["Isolated"] + BEHAVIORS)}]
    return [chance.choice(options) for _ in range(chance.choice([0, 1, 1, 2, 3]))]


def any_pre_tokenizer(chance):
    return chance.choice([byte_level(chance), metaspace(chance), {"type": "BertPreTokenizer"}, {"type": "Whitespace"},
                          {"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": flag(chance)},
                          {"type": "Punctuation", "behavior": "Isolated"},
                          {"type": "Split", "pattern": {"String": "e"}, "behavior": "Removed", "invert": False}])


def pre_tokenizer(chance, model, is_character_bpe):
    if chance.random() < 0.08:
        return nested(chance, "pretokenizers", lambda: any_pre_tokenizer(chance), 3)
    if model == "BPE" and not is_character_bpe and chance.random() < 0.6:
        parts = splits(chance)
        return sequence("pretokenizers", parts + [{**byte_level(chance), "use_regex": flag(chance) and not parts}])
    if model == "BPE" and is_character_bpe:
        parts = splits(chance) + [metaspace(chance) for _ in range(1) if flag(chance)]
        return sequence("pretokenizers", parts) if parts or flag(chance) else None
    if model == "Unigram" and chance.random() < 0.3:
        return sequence("pretokenizers", splits(chance) + [metaspace(chance) for _ in range(1) if flag(chance)])
    if model == "BPE":
        made = byte_level(chance)
    elif model == "WordPiece":
        made = {"type": "BertPreTokenizer"}
    else:
        parts = [part for part in ({"type": "WhitespaceSplit"}, metaspace(chance)) if chance.random() < 0.7]
        if len(parts) != 1:
            return sequence("pretokenizers", parts) if parts or flag(chance) else None
        made = parts[0]
    return sequence("pretokenizers", [made]) if chance.random() < 0.1 else made


def template(chance, names):
    known = [name for name in ("<s>", "</s>", "[CLS]", "[SEP]") if name in names]
    special = {name: {"id": name, "ids": [names[name]], "tokens": [name]} for name in known}
    if chance.random() < 0.1 and len(known) > 1:
        special[known[0]].update(ids=[names[known[0]], names[known[1]]], tokens=known[:2])

    def items(texts):
        made = [{"Sequence": {"id": name, "type_id": type_id}} for name, type_id in texts]
        for _ in range(chance.randrange(4)):
            token = {"SpecialToken": {"id": chance.choice(known), "type_id": texts[-1][1] if flag(chance) else 0}}
            made.insert(chance.randrange(len(made) + 1), token)
        return made

    second_type = chance.choice([0, 1, 1])
    second = [("B", second_type), ("A", 0)] if chance.random() < 0.1 else [("A", 0), ("B", second_type)]
    if chance.random() < 0.03:
        second = second[:1]
    return {"type": "TemplateProcessing", "single": items([("A", 1 if chance.random() < 0.03 else 0)]),
            "pair": items(second), "special_tokens": special}


def roberta(chance, fixed):
    return {"type": "RobertaProcessing", **fixed, "trim_offsets": flag(chance), "add_prefix_space": flag(chance)}


def fixed_tokens(names):
    first, last = ("<s>", "</s>") if "<s>" in names else ("[CLS]", "[SEP]")
    return {"sep": [last, names[last]], "cls": [first, names[first]]}


def one_processor(chance, names):
    fixed = fixed_tokens(names)
    return chance.choice([{"type": "BertProcessing", **fixed}, roberta(chance, fixed), roberta(chance, fixed),
                          byte_level(chance), template(chance, names), template(chance, names)])


def post_processor(chance, names):
    if chance.random() < 0.7:  # One template, sometimes with ByteLevel before or after it.
        fixed = fixed_tokens(names)
        parts = [chance.choice([{"type": "BertProcessing", **fixed}, roberta(chance, fixed), template(chance, names)])]
        if chance.random() < 0.4:
            parts.insert(chance.choice([0, 0, 1]), byte_level(chance))
        return parts[0] if len(parts) == 1 and flag(chance) else sequence("processors", parts)
    return nested(chance, "processors", lambda: one_processor(chance, names), 3)


def added_tokens(chance, names):
    tokens, contents = [], []
    following = len(names)
    for _ in range(chance.choice([0, 1, 3, 6])):
        contents.append(chance.choice(NOTHING if chance.random() < 0.12 else CONTENTS))
    for content in dict.fromkeys(contents):
        number = names.get(content)
        if number is None:
            number = following
        if content:
            following = max(following, number + 1)
        if chance.random() < 0.01:
            number += 7  # The reference ignores this id and assigns its own.
        token = {"id": number, "content": content, "single_word": chance.random() < 0.25, "lstrip": flag(chance),
                 "rstrip": chance.random() < 0.3, "normalized": flag(chance), "special": chance.random() < 0.3}
        tokens.append(token)
    return tokens


def make_document(chance, charsmap):
    make = chance.choice([vocabularies.byte_bpe, vocabularies.character_bpe, vocabularies.wordpiece,
                          vocabularies.unigram])
    model = make(chance)
    names = vocabularies.ids_of(model)
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens(chance, names),
            "normalizer": normalizer(chance, model["type"], charsmap),
            "pre_tokenizer": pre_tokenizer(chance, model["type"], make is vocabularies.character_bpe),
            "post_processor": post_processor(chance, names), "decoder": None, "model": model}


def leaves_out_bytes(document):
    """Returns whether bytes or characters are dropped because they have no token. The reference then gives the tokens
    after such a byte wrong offsets, but linformer gives the right ones (runtime/text/README.md)."""
    model = document["model"]
    missing = set(vocabularies.PRINTABLE.values()) - set(vocabularies.ids_of(model))
    of_bytes = "ByteLevel" in json.dumps(document["pre_tokenizer"])
    return model["type"] == "BPE" and not model["unk_token"] and (bool(missing) or not of_bytes)


def chance_of(seed, number):
    return random.Random(seed * 1_000_003 + number)
