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
      {"Answers by the head's kind ('linformer inspect' shows it): single_label, the best label and its probability "
       "(softmax); multi_label, each label at --threshold or above, in a line of its own (sigmoid); score, a number "
       "(the sigmoid of the head's output, or the output as it is); regression, each output as it is.",
       "For a head that gives one label (softmax), --eval prints accuracy; precision, recall and F1 of each label; "
       "macro F1; the confusion matrix.",
       "For a head that gives several (sigmoid), the true labels are a JSON array, or names or indices with commas "
       "between, and a label is predicted at --threshold (0.5) or above. --eval prints for each label precision (share "
       "of its predictions that are right), recall (share of its records that are found), F1 (their harmonic mean) and "
       "support (its records); then the averages micro (all decisions together), macro (mean over labels), weighted "
       "(the same by support) and samples (mean over records); accuracy: records with exactly the true labels; Hamming "
       "loss: wrong decisions among records x labels. The numbers are scikit-learn's.",
       "For a head that gives a score or values, whose true numbers the field has, --eval prints mean squared and mean "
       "absolute error, Pearson's and Spearman's correlation.",
       "A true label is a label's name, in any case, LABEL_i or the index i.",
       "--zero-shot takes labels that nobody trained for: a model for natural language inference says of each whether "
       "a "
       "text entails its sentence. The probabilities are those of transformers' zero-shot-classification pipeline."}};
}

Texts encode() {
  return {{"--input", "--ids", "--vectors", "--what", "--output", "--on-long", "--threads"},
          {"linformer encode model.lnfr --input reviews.txt --what pooled -o vectors.npy",
           "linformer encode model.lnfr --ids ids.npy --what hidden -o hidden.npy",
           "echo '[0, 31, 414, 2]' | linformer encode model.lnfr --ids - --what mlm -o logits.npy",
           "linformer encode model.lnfr \"A man sleeps.\" --pair-text \"He is awake.\" -o hidden.npy",
           "linformer encode vit.lnfr --vectors patches.npy --what logits -o logits.npy",
           "linformer encode model.lnfr --ids ids.npy -o hidden.npy --profile --threads 1"},
          {"Shapes: hidden [texts, tokens, d], mlm [texts, tokens, vocabulary], pooled and embedding [texts, d], "
           "logits [texts, classes], for a head that scores each token [texts, tokens, classes], for one that compares "
           "texts two by two [texts / 2, classes]. Rows beyond a text's own tokens are zero.",
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
      {"--sparse: the weight of a token is log(1 + logit) of the largest logit that the masked-LM head gives it at any "
       "token of the text, where that is more than 0, as sentence-transformers' SpladePooling has it."}};
}

Texts fill_mask() {
  return {{"--input", "--format", "--field", "--top-k", "--json", "--table", "--threads"},
          {"linformer fill-mask model.lnfr \"The capital of France is <mask>.\"",
           "linformer fill-mask model.lnfr --input texts.jsonl --field sentence --top-k 1 --json",
           "echo \"A [MASK] and a [MASK].\" | linformer fill-mask model.lnfr -"},
          {"Scores are probabilities: the softmax over the whole vocabulary. Several masks in one text are guessed in "
           "one run of the model, each as if the others stayed masked. A text with more than 16 masks is shown once, "
           "with the best of every mask, instead of once for each candidate."}};
}

Texts tag() {
  return {{"--input", "--format", "--field", "--output", "--json", "--aggregation", "--eval", "--threads"},
          {"linformer tag ner.lnfr \"John Smith lives in Paris.\"",
           "linformer tag ner.lnfr --input news.jsonl --field body --id key --json",
           "linformer tag ner.lnfr --input news.csv --field body --keep all -o entities.csv",
           "linformer tag ner.lnfr -i reports/*.txt --whole-files --aggregation first --threshold 0.8",
           "linformer tag ner.lnfr -i test.jsonl --words --field tokens --eval ner_tags",
           "linformer tag ner.lnfr -i spans.jsonl --eval entities --json"},
          {"start and end count Unicode code points of the text as given. Tokens of the label O are no entities. An "
           "entity's score is the mean over its tokens, or words.",
           "--eval prints precision (share of the predicted entities that are true), recall (share of the true ones "
           "that are found) and F1 (their harmonic mean), of each label and as micro, macro and weighted average: an "
           "entity is right where start, end and label are. With --words these are places of words, and their labels "
           "are such as B-PER, I-PER and O, or indices of the model's labels; the numbers are seqeval's."}};
}

Texts answer() {
  return {
      {"--question", "--input", "--field", "--output", "--json", "--top-k", "--no-answer", "--threads"},
      {"linformer answer qa.lnfr --question \"Who lives in Paris?\" \"John lives in Paris.\"",
       "linformer answer qa.lnfr --input squad.jsonl --id id --json",
       "linformer answer qa.lnfr -i asked.csv --question-field q --field passage --keep all -o answered.csv",
       "linformer answer qa.lnfr --question \"When was it built?\" -i docs/*.txt --whole-files --top-k 3"},
      {"Without --question each record has its own, in the field question, and its context in the field context, as "
       "in SQuAD.",
       "start and end count Unicode code points of the context. A score is the probability of the begin times that "
       "of the end, summed over the places with the same text. Contexts are read by windows of 384 tokens, or what "
       "the model takes where that is less; --max-tokens sets another length."}};
}

Texts perplexity() {
  return {{"--input", "--field", "--limit", "--mode", "--seed", "--json", "--on-long", "--threads"},
          {"linformer perplexity model.lnfr -i valid.txt",
           "linformer perplexity model.lnfr -i valid.jsonl --field body --mode both --limit 100 --json",
           "linformer perplexity model.lnfr -i valid.txt --seed 7 --dump-masks masks.jsonl",
           "linformer perplexity lm.lnfr --ids ids.npy --mask-id 2"},
          {"Losses are means of -log(probability) in nats over the tokens that were foretold, perplexity is exp(loss). "
           "Special tokens around a text are neither masked nor counted. mlm follows BERT: of the chosen tokens 80 % "
           "become the mask, 10 % any token, 10 % stay; apps/cli/docs/perplexity.md says how to choose the same ones "
           "in Python."}};
}

Texts tokenize() {
  return {{"--tokenizer", "--input", "--format", "--field", "--no-special", "--max-tokens"},
          {"linformer tokenize model.lnfr \"A fine film.\"",
           "linformer tokenize --tokenizer roberta-base --input texts.txt --no-special",
           "linformer tokenize model.lnfr -i pairs.jsonl --max-tokens 128 --truncation only_second"},
          {"Writes a JSON line {\"ids\", \"tokens\", \"offsets\"} for each text; offsets count Unicode code points. "
           "Where records have fields, the one called pair is the second text unless --pair names another."}};
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
          {"Labels are those of the largest logit. Vectors are the model's own, or else the mean of a text's rows. "
           "Texts with more tokens than a model takes are cut."}};
}

Texts spectrum() {
  return {{"--input", "--max-tokens", "--limit", "--rank", "--share", "--error", "--json", "--csv", "--svg"},
          {"linformer spectrum roberta.lnfr -i book.txt --html spectrum.html",
           "linformer spectrum roberta.lnfr -i book.txt --error 0.5 --max-tokens 128,256,512",
           "linformer spectrum bert.lnfr -i book.txt --limit 32 --html spectrum.html --csv spectrum.csv",
           "linformer spectrum roberta.lnfr -i reviews.jsonl --apart --max-tokens 128 --share 0.95",
           "linformer spectrum roberta.lnfr -i book.txt --error 0.3 --draws 20 --seed 7 --json"},
          {"Figure 1 of the Linformer paper for any model with full attention and any text: how much of the sum of an "
           "attention matrix's singular values its largest ones hold, and which k would keep a share of it.",
           "--error E tells the k at which P V, P the attention matrix and V the values of a head, keeps the relative "
           "error E. By theorem 1, k = ceil(5 ln(n) / (E^2 - E^3)). By theorem 2, k = ceil(min(9 d ln(d), 5 ln(n)) / "
           "E^2), d the columns of V. Projected: the smallest k whose error ||P R^T R V - P V|| / ||P V||, Frobenius "
           "norms, is at most E, R being k x n with random entries N(0, 1/k). Singular: the same of P with its k "
           "largest singular values in the place of P R^T R. Both errors are means over the texts, the first over "
           "--draws too; where even k = n is not enough, tables have >n and JSON has null. "
           "apps/cli/docs/spectrum.md says more."}};
}

Texts bench() {
  return {{"--random", "--k", "--dtype", "--n", "--batch", "--threads", "--profile", "--json", "--paper"},
          {"linformer bench model.lnfr", "linformer bench --random base --k 128 --n 512,4096 --dtype f32,bf16,int8",
           "linformer bench model.lnfr --n 64,512 --batch 1,8 --threads 2 --json",
           "linformer bench --random base --k 0 --n 512 --profile",
           "linformer bench --paper --minutes 20 --csv paper.csv --svg paper.svg"},
          {"Each case runs in a process of its own, so that its peak memory is its own. The limits are measured in the "
           "same run: multiply-adds from registers for each precision, and reading memory. A quiet machine gives "
           "steady figures."}};
}

Texts rerank() {
  return {{"--query", "--queries", "--input", "--field", "--top-n", "--json", "--raw", "--on-long", "--threads"},
          {"linformer rerank reranker.lnfr --query \"What is cut?\" \"The end of a text.\" \"A knife.\"",
           "linformer rerank reranker.lnfr --query \"What is cut?\" -i passages.jsonl --top-n 10 --json",
           "linformer rerank reranker.lnfr --queries questions.txt -i passages.txt --top-n 3 -o ranking.csv"},
          {"A score is the sigmoid of the head's output, or what the model's own settings make of it, as "
           "sentence-transformers' CrossEncoder has it; --raw gives the output. With --top-n documents are read as a "
           "stream, and only the best are kept."}};
}

Texts search() {
  return {
      {"--query", "--queries", "--vectors", "--input", "--field", "--top-k", "--similarity", "--json", "--threads"},
      {"linformer search minilm.lnfr --query \"films of the sea\" -i plots.txt --top-k 5",
       "linformer search minilm.lnfr --query \"films of the sea\" --vectors plots.npy -i plots.txt --json",
       "linformer search minilm.lnfr --queries questions.jsonl --vectors passages.npy --similarity dot -o found.jsonl"},
      {"The vectors are those of 'linformer embed' with the same model and options; its file has a row for each "
       "record. Every row is looked at, so that nothing near is missed."}};
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
