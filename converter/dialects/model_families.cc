#include "linformer/model_families.h"

namespace linformer::convert {

namespace {

constexpr const char *all_heads = "masked LM, sequence and token classification, question answering",
                     *transformers = "random models with each head, compared with transformers in double precision",
                     *semantics = "a reference in PyTorch in double precision, written from the published code",
                     *originals = "outputs of the original implementation in double precision";

constexpr ModelFamily families[] = {
    {"BERT", "bge, e5, mxbai, arctic-embed, all-MiniLM", "hugging-face", "bert", all_heads, transformers},
    {"RoBERTa", "multilingual-e5, bge-m3 and its reranker", "hugging-face", "roberta, xlm-roberta, camembert",
     all_heads, transformers},
    {"DistilBERT", "distilbert-base", "hugging-face", "distilbert", all_heads, transformers},
    {"MPNet", "all-mpnet-base-v2", "hugging-face", "mpnet", all_heads, transformers},
    {"ELECTRA", "electra-base, generator and discriminator", "hugging-face", "electra",
     "masked LM, replaced tokens, sequence and token classification, question answering", transformers},
    {"ALBERT", "albert-base-v2", "hugging-face", "albert", all_heads, transformers},
    {"RoFormer", "roformer_chinese_base", "hugging-face", "roformer", all_heads, transformers},
    {"jina-embeddings-v2", "small, base, and models with the code of base-code", "hugging-face", "bert",
     "masked LM, sequence and token classification, question answering",
     "rows of the encoder, compared with a reference written from text-embeddings-inference's source"},
    {"ModernBERT", "gte-modernbert and its reranker, granite-r2, Ettin", "modernbert", "modernbert", all_heads,
     transformers},
    {"NomicBERT", "nomic-embed-text v1 and v1.5", "rotary-bert", "nomic_bert",
     "masked LM, sequence and token classification", transformers},
    {"GTE", "gte-multilingual, gte-large-en-v1.5, arctic-embed-m-v2", "rotary-bert", "gte, new",
     "masked LM, sequence and token classification",
     "random models, compared with transformers; scaled rotary positions, compared with NumPy"},
    {"Static embeddings", "static-retrieval-mrl-en-v1, static-similarity-mrl-multilingual-v1", "static-embedding", "",
     "none", "random models, compared with sentence-transformers"},
    {"model2vec", "potion-base, potion-retrieval", "model2vec", "model2vec", "none",
     "random models, compared with model2vec"},
    {"Linformer of fairseq", "the paper's", "fairseq", "", "masked LM, sequence classification", originals},
    {"Linformer in Hugging Face's RoBERTa", "a community port", "fairseq-hf", "", all_heads, "hand-made checkpoints"},
    {"Jargon", "the French Linformers jargon-general-base to jargon-NACHOS-4096", "jargon", "jargon", all_heads,
     semantics},
    {"CALD", "RoBERTa made linear by distillation", "cald", "", all_heads, semantics},
    {"Linformer of transformers' pull request 10587", "never merged", "transformers-linformer", "linformer",
     "masked LM, sequence and token classification, question answering", semantics},
    {"Linformer of lucidrains", "the package linformer", "lucidrains", "", "language model", originals},
    {"Linformer of PyText", "with its decoder", "pytext", "", "sequence classification", "hand-made checkpoints"},
    {"Linformer in vit-pytorch", "the efficient ViT", "vit_linformer", "", "image classification", originals},
    {"Linformer of xformers", "MultiHeadDispatch", "xformers", "", "none", originals},
    {"Linformer of mlpen/Nystromformer", "long-range arena, BERT", "nystromformer", "",
     "masked LM, sequence classification, pairs", originals},
    {"Linformer of tatp22", "the package linformer-pytorch", "tatp22", "", "language model, encoder-decoder",
     originals},
};

}  // namespace

std::span<const ModelFamily> supported_models() { return families; }

}  // namespace linformer::convert
