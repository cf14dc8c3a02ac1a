#include "commands/program/help_texts.h"

#include <string_view>
#include <utility>

namespace linformer::cli {
namespace {

using help::Texts;

Texts program() {
  return {{},
          {"linformer convert checkpoint_best.pt -o model.lnfr --tokenizer vocabulary/",
           "linformer classify model.lnfr \"A lovely, moving film.\"",
           "linformer classify model.lnfr --input reviews.csv --field review --json",
           "linformer inspect model.lnfr --memory 1024"},
          {}};
}

Texts classify() {
  return {
      {"--input", "--format", "--field", "--output", "--keep", "--json", "--top-k", "--eval", "--threads"},
      {"linformer classify reviews.lnfr \"A fine film.\" \"A waste of time.\"",
       "linformer classify reviews.lnfr --input reviews.csv --field review --keep all -o labelled.csv",
       "linformer classify reviews.lnfr --input reviews.csv --field review --id key --json",
       "tail -f log.txt | linformer classify reviews.lnfr -",
       "linformer classify reviews.lnfr --input test.jsonl --eval label",
       "linformer classify tags.lnfr --input test.csv --eval tags --label-separator ';' --threshold 0.3",
       "linformer classify pairs.lnfr --input pairs.tsv --field premise --pair hypothesis --top-k 3",
       "linformer classify qa.lnfr --input qa.jsonl --field question --pair context --on-long window --truncation "
       "only_second",
       "linformer classify pairs.lnfr \"A man sleeps.\" --pair-text \"Nobody is awake.\"",
       "linformer classify many.lnfr --input texts.txt --head topic,tone --json",
       "linformer classify reranker.lnfr --input candidates.jsonl --field query --pair passage --json",
       "linformer classify similarity.lnfr --input sts.tsv --field a --pair b --eval score",
       "linformer classify vit.lnfr --vectors patches.npy",
       "linformer classify nli.lnfr --zero-shot \"cars,food,music\" --hypothesis \"It is about {}.\" -i letters.txt",
       "linformer classify reviews.lnfr --input reviews.txt --profile >labels.tsv"},
      {"The answer depends on the kind of the head, which 'linformer inspect' shows. single_label: the best label and "
       "its probability (softmax). multi_label: each label whose probability (sigmoid) is at least --threshold, in a "
       "line of its own. score: a number, either the sigmoid of the head's output or the output itself. regression: "
       "each output itself.",
       "For a head that gives one label (softmax), --eval prints the accuracy, the precision, recall and F1 of each "
       "label, the macro F1 and the confusion matrix.",
       "For a head that gives several labels (sigmoid), the true labels are a JSON array, or names or indices "
       "separated by commas, and a label is predicted if its probability is at least --threshold (0.5). --eval prints "
       "for each label the precision (share of its predictions that are right), the recall (share of its records that "
       "are found), F1 (their harmonic mean) and the support (number of its records). It also prints the averages "
       "micro (all decisions together), macro (mean over labels), weighted (mean over labels, weighted by support) and "
       "samples (mean over records), the accuracy (share of records with exactly the true labels) and the Hamming loss "
       "(share of wrong decisions, one for each record and label). The numbers are those of scikit-learn.",
       "For a head that gives a score or values, the field has the true numbers, and --eval prints the mean squared "
       "error, the mean absolute error, and Pearson's and Spearman's correlation.",
       "A true label is given by its name, in upper or lower case, by LABEL_i or by the index i.",
       "--zero-shot takes labels that the model was not trained for: a model for natural language inference says for "
       "each label whether a text entails the label's sentence. The probabilities are those of transformers' "
       "zero-shot-classification pipeline."}};
}

Texts encode() {
  return {{"--input", "--ids", "--vectors", "--what", "--output", "--on-long", "--threads"},
          {"linformer encode model.lnfr --input reviews.txt --what pooled -o vectors.npy",
           "linformer encode model.lnfr --ids ids.npy --what hidden -o hidden.npy",
           "echo '[0, 31, 414, 2]' | linformer encode model.lnfr --ids - --what mlm -o logits.npy",
           "linformer encode model.lnfr \"A man sleeps.\" --pair-text \"He is awake.\" -o hidden.npy",
           "linformer encode vit.lnfr --vectors patches.npy --what logits -o logits.npy",
           "linformer encode model.lnfr --ids ids.npy -o hidden.npy --profile --threads 1"},
          {"Shapes: hidden [texts, tokens, d]; mlm [texts, tokens, vocabulary]; pooled and embedding [texts, d]; "
           "logits [texts, classes], for a head that scores each token [texts, tokens, classes], and for a head that "
           "compares two texts [texts / 2, classes]. Rows after the last token of a text are zero.",
           "Numbers that are not finite are written unchanged; each record that has one is reported, and the exit code "
           "is 1."}};
}

Texts embed() {
  return {
      {"--input", "--format", "--field", "--output", "--json", "--pooling", "--normalize", "--on-long", "--threads"},
      {"linformer embed model.lnfr --input sentences.txt -o vectors.npy",
       "linformer embed model.lnfr \"A fine film.\" --json",
       "linformer embed model.lnfr --input docs.csv --field body --keep key,title -o vectors.jsonl",
       "linformer embed encoder.lnfr --input sentences.txt --pooling mean --normalize -o vectors.npy",
       "linformer embed model.lnfr --input sentences.txt --dimensions 256 -o vectors.npy",
       "linformer embed e5.lnfr --input queries.txt --prompt query -o vectors.npy",
       "linformer embed splade.lnfr \"A fine film.\" --sparse",
       "linformer embed model.lnfr --input sentences.txt -o vectors.npy --profile 2>profile.txt"},
      {"With --sparse, the masked-LM head gives every token of the vocabulary a logit at each token of the text. The "
       "weight of a token is log(1 + logit) of its largest logit. Tokens whose largest logit is not more than 0 are "
       "left out. The weights are those of sentence-transformers' SpladePooling."}};
}

Texts fill_mask() {
  return {{"--input", "--format", "--field", "--top-k", "--json", "--table", "--threads"},
          {"linformer fill-mask model.lnfr \"The capital of France is <mask>.\"",
           "linformer fill-mask model.lnfr --input texts.jsonl --field sentence --top-k 1 --json",
           "echo \"A [MASK] and a [MASK].\" | linformer fill-mask model.lnfr -"},
          {"Scores are probabilities: the softmax over the whole vocabulary. Several masks in one text are predicted "
           "in one run of the model, each as if the other masks stayed masked. A text with more than 16 masks is shown "
           "once, with the best token in every mask, instead of once for each candidate."}};
}

Texts tag() {
  return {{"--input", "--format", "--field", "--output", "--json", "--aggregation", "--eval", "--threads"},
          {"linformer tag ner.lnfr \"John Smith lives in Paris.\"",
           "linformer tag ner.lnfr --input news.jsonl --field body --id key --json",
           "linformer tag ner.lnfr --input news.csv --field body --keep all -o entities.csv",
           "linformer tag ner.lnfr -i reports/*.txt --whole-files --aggregation first --threshold 0.8",
           "linformer tag ner.lnfr -i test.jsonl --words --field tokens --eval ner_tags",
           "linformer tag ner.lnfr -i spans.jsonl --eval entities --json"},
          {"start and end are offsets in the given text, in Unicode code points. Tokens with the label O belong to no "
           "entity. The score of an entity is the mean over its tokens or words.",
           "--eval prints the precision (share of the predicted entities that are true), the recall (share of the true "
           "entities that are found) and F1 (their harmonic mean) of each label and as micro, macro and weighted "
           "average. An entity is right if its start, end and label are right. With --words, start and end are indices "
           "of words, and the words have labels such as B-PER, I-PER and O, or indices of the model's labels; the "
           "numbers are then those of seqeval."}};
}

Texts answer() {
  return {
      {"--question", "--input", "--field", "--output", "--json", "--top-k", "--no-answer", "--threads"},
      {"linformer answer qa.lnfr --question \"Who lives in Paris?\" \"John lives in Paris.\"",
       "linformer answer qa.lnfr --input squad.jsonl --id id --json",
       "linformer answer qa.lnfr -i asked.csv --question-field q --field passage --keep all -o answered.csv",
       "linformer answer qa.lnfr --question \"When was it built?\" -i docs/*.txt --whole-files --top-k 3"},
      {"Without --question, each record has its own question, in the field question, and its context in the field "
       "context, as in SQuAD.",
       "start and end are offsets in the context, in Unicode code points. The score of an answer is the probability of "
       "its begin times the probability of its end, summed over the places with the same text. Contexts are read in "
       "windows of 384 tokens, or of the model's limit if that is less; --max-tokens sets another length."}};
}

Texts perplexity() {
  return {{"--input", "--field", "--limit", "--mode", "--seed", "--json", "--on-long", "--threads"},
          {"linformer perplexity model.lnfr -i valid.txt",
           "linformer perplexity model.lnfr -i valid.jsonl --field body --mode both --limit 100 --json",
           "linformer perplexity model.lnfr -i valid.txt --seed 7 --dump-masks masks.jsonl",
           "linformer perplexity lm.lnfr --ids ids.npy --mask-id 2"},
          {"The loss is the mean of -log(probability) in nats over the predicted tokens, and the perplexity is "
           "exp(loss). Special tokens around a text are neither masked nor counted. mlm follows BERT: of the chosen "
           "tokens, 80 % become the mask, 10 % become a random token and 10 % stay; apps/cli/docs/perplexity.md says "
           "how to choose the same tokens in Python."}};
}

Texts tokenize() {
  return {{"--tokenizer", "--input", "--format", "--field", "--no-special", "--max-tokens"},
          {"linformer tokenize model.lnfr \"A fine film.\"",
           "linformer tokenize --tokenizer roberta-base --input texts.txt --no-special",
           "linformer tokenize model.lnfr -i pairs.jsonl --max-tokens 128 --truncation only_second"},
          {"Writes a JSON line {\"ids\", \"tokens\", \"offsets\"} for each text; offsets are in Unicode code points. "
           "If a record has a field called pair, it is the second text; --pair names another field."}};
}

Texts inspect() {
  return {{"--json", "--tensors", "--verify", "--memory", "--plan", "--threads", "--batch"},
          {"linformer inspect model.lnfr", "linformer inspect model.lnfr --memory 4096 --batch 1 --threads 2",
           "linformer inspect model.lnfr --plan", "linformer inspect model.lnfr --plan 128 --json | jq .plan.flop",
           "linformer inspect model.lnfr --verify --json"},
          {}};
}

Texts compare() {
  return {{"--input", "--format", "--field", "--reference", "--head", "--eval", "--json", "--threads"},
          {"linformer compare model.lnfr model-int8.lnfr --input reviews.txt",
           "linformer compare model.lnfr model-bf16.lnfr --input test.jsonl --field text --eval label",
           "linformer compare model.lnfr --input sentences.txt --reference original.npy --compute f32 --json"},
          {"The label of a text is the label with the largest logit. The vector of a text is the vector that the model "
           "itself defines, or the mean of the text's rows if it defines none. Texts with more tokens than a model "
           "takes are cut."}};
}

Texts spectrum() {
  return {{"--input", "--max-tokens", "--limit", "--rank", "--share", "--error", "--json", "--csv", "--svg"},
          {"linformer spectrum roberta.lnfr -i book.txt --html spectrum.html",
           "linformer spectrum roberta.lnfr -i book.txt --error 0.5 --max-tokens 128,256,512",
           "linformer spectrum bert.lnfr -i book.txt --limit 32 --html spectrum.html --csv spectrum.csv",
           "linformer spectrum roberta.lnfr -i reviews.jsonl --apart --max-tokens 128 --share 0.95",
           "linformer spectrum roberta.lnfr -i book.txt --error 0.3 --draws 20 --seed 7 --json"},
          {"Computes figure 1 of the Linformer paper for any model with full attention and any text: the share of the "
           "largest singular values of an attention matrix in the sum of all its singular values, and the k that would "
           "keep a given share.",
           "--error E prints the k at which an approximation of P V has the relative error E, where P is the attention "
           "matrix and V the values of a head. Theorem 1: k = ceil(5 ln(n) / (E^2 - E^3)). Theorem 2: k = ceil(min(9 d "
           "ln(d), 5 ln(n)) / E^2), where d is the number of columns of V. Projected: the smallest k for which the "
           "error ||P R^T R V - P V|| / ||P V|| (Frobenius norms) is at most E, where R is k x n with random entries "
           "N(0, 1/k). Singular: the smallest k for which P with only its k largest singular values has such an error. "
           "Both errors are means over the texts, and the error of random projections also over --draws. If even k = n "
           "is not enough, tables have >n and JSON has null. apps/cli/docs/spectrum.md says more."}};
}

Texts bench() {
  return {{"--random", "--k", "--dtype", "--n", "--batch", "--threads", "--profile", "--json", "--paper"},
          {"linformer bench model.lnfr", "linformer bench --random base --k 128 --n 512,4096 --dtype f32,bf16,int8",
           "linformer bench model.lnfr --n 64,512 --batch 1,8 --threads 2 --json",
           "linformer bench --random base --k 0 --n 512 --profile",
           "linformer bench --paper --minutes 20 --csv paper.csv --svg paper.svg"},
          {"Each case runs in a process of its own, so that the peak memory of each case can be measured. The "
           "machine's limits are measured in the same run: multiply-adds on registers for each precision, and reads of "
           "memory. Figures are steady only if nothing else runs on the machine."}};
}

Texts rerank() {
  return {{"--query", "--queries", "--input", "--field", "--top-n", "--json", "--raw", "--on-long", "--threads"},
          {"linformer rerank reranker.lnfr --query \"What is cut?\" \"The end of a text.\" \"A knife.\"",
           "linformer rerank reranker.lnfr --query \"What is cut?\" -i passages.jsonl --top-n 10 --json",
           "linformer rerank reranker.lnfr --queries questions.txt -i passages.txt --top-n 3 -o ranking.csv"},
          {"A score is the sigmoid of the head's output, or the result of the activation that the model's settings "
           "name, as in sentence-transformers' CrossEncoder; --raw gives the output itself. With --top-n, documents "
           "are read as a stream and only the best are kept in memory."}};
}

Texts search() {
  return {
      {"--query", "--queries", "--vectors", "--input", "--field", "--top-k", "--similarity", "--json", "--threads"},
      {"linformer search minilm.lnfr --query \"films of the sea\" -i plots.txt --top-k 5",
       "linformer search minilm.lnfr --query \"films of the sea\" --vectors plots.npy -i plots.txt --json",
       "linformer search minilm.lnfr --queries questions.jsonl --vectors passages.npy --similarity dot -o found.jsonl"},
      {"The vectors are those that 'linformer embed' writes with the same model and options, a row for each record. "
       "The search is exact: a query is compared with every row."}};
}

}  // namespace

Texts help_texts(const std::string& command) {
  static constexpr std::pair<std::string_view, Texts (*)()> texts[] = {
      {"", program},          {"classify", classify},     {"encode", encode},
      {"embed", embed},       {"fill-mask", fill_mask},   {"tag", tag},
      {"answer", answer},     {"rerank", rerank},         {"search", search},
      {"tokenize", tokenize}, {"perplexity", perplexity}, {"inspect", inspect},
      {"compare", compare},   {"spectrum", spectrum},     {"bench", bench}};
  for (const auto& [name, make] : texts) {
    if (name == command) return make();
  }
  return {};
}

}  // namespace linformer::cli
