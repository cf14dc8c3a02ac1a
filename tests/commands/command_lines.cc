#include "commands/command_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/description.h"
#include "bench/measure.h"
#include "cli/arrays.h"

namespace linformer_test {
namespace {

using namespace linformer;
using nlohmann::json;

constexpr const char* long_text = "good film the plot good film the plot good film of the plot, ing good lot.";

class Lines {
 public:
  Lines(const Model& model, const std::string& path, const std::string& other, const Folder& folder)
      : model_(model), description_(model.description()), path_(path), other_(other), folder_(folder) {
    write_inputs();
  }

  std::vector<CommandLine> all() {
    inspect();
    classify();
    evaluate();
    embed();
    fill_mask();
    tag();
    answer();
    rerank();
    search();
    perplexity();
    encode();
    tokenize();
    compare();
    spectrum();
    bench();
    return std::move(lines_);
  }

 private:
  using Words = std::vector<std::string>;

  CommandLine& add(const std::string& command, Words words, StdoutFormat answers = StdoutFormat::text) {
    words.insert(words.begin(), {command, path_});
    CommandLine line;
    line.arguments = std::move(words);
    line.answers = answers;
    lines_.push_back(std::move(line));
    return lines_.back();
  }
  // Adds the command line without --json and with it.
  void add_both(const std::string& command, Words words, StdoutFormat answers) {
    add(command, words);
    words.push_back("--json");
    add(command, words, answers);
  }
  void add_array(const std::string& command, Words words) {
    words.insert(words.end(), {"-o", folder_.path("out.npy")});
    add(command, std::move(words)).array = folder_.path("out.npy");
  }

  const EncoderDescription& encoder() const { return description_.encoder; }
  std::string longest() const { return std::to_string(encoder().max_tokens); }
  std::string file(const char* name) const { return folder_.path(name); }

  // Returns the true answer of a record for this head, as --eval reads it. One label is unknown to the model on
  // purpose.
  json truth_of(const ClassificationHead& head, uint64_t record) const {
    const uint64_t outputs = description_.tensors[static_cast<size_t>(head.output.weight)].shape[0];
    const json label = head.labels.empty() ? json(record % outputs) : json(std::string(head.labels[record % outputs]));
    switch (head.kind) {
      case HeadKind::single_label:
        return record == 2 ? json("no such label") : label;
      case HeadKind::multi_label:
        return record == 0 ? json::array() : json::array({label});
      default:
        return outputs == 1 ? json(0.5) : json(std::vector<double>(outputs, 0.25));
    }
  }

  void write_inputs() {
    folder_.file("texts.txt",
                 std::string("good film\n\n") + long_text + "\nthe [MASK] <mask> plot\n\xc3\xa9\xff caf\n");
    json first = {{"text", "good film"}, {"pair", "the plot"}, {"id", "a"}, {"label", "0"}};
    json second = {{"text", long_text}, {"pair", long_text}, {"id", 7}, {"label", "1"}};
    json third = {{"text", "[MASK] of"}, {"pair", ""}, {"id", 8.5}, {"label", ""}};
    if (!description_.heads.empty()) {
      uint64_t record = 0;
      for (json* line : {&first, &second, &third}) (*line)["label"] = truth_of(description_.heads[0], record++);
    }
    folder_.file("records.jsonl", first.dump() + "\n" + second.dump() + "\n" + third.dump() + "\n{\"text\": 3}\n");
    folder_.file("records.csv", "id,text,pair,label\n1,good film,plot,0\n2,\"the, plot\",of,1\n3,short\n");
    folder_.file("entities.jsonl",
                 R"({"text": "good film", "spans": [{"start": 0, "end": 4, "label": "A"}], "words": ["good", "film"],)"
                 R"( "tags": ["B-A", 0]})"
                 "\n"
                 R"({"text": "", "spans": [], "words": [], "tags": []})"
                 "\n"
                 R"({"text": "a", "spans": [{"start": 1, "end": 1}], "words": ["a", 1], "tags": "A"})"
                 "\n");
    folder_.file("ids.jsonl", ids_line(1) + ids_line(encoder().max_tokens) + ids_line(3));
    folder_.file("far.jsonl", "[1000000000]\n");
    folder_.file("ids.npy", npy_of_ids({{0, last_id(), 0}, {last_id(), 0, 0}}));
    const auto width = std::max<int64_t>(1, encoder().embedding.vectors.width);
    const int64_t count = std::min<int64_t>(3, encoder().max_tokens);
    std::vector<float> values(static_cast<size_t>(2 * count * width));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) / 8.f - 0.25f;
    folder_.file("vectors.npy", npy_of_floats<float>({2, count, width}, values));
    const std::vector<double> half(values.begin(), values.begin() + count * width);
    folder_.file("one.npy", npy_of_floats<double>({count, width}, half));
    const int64_t numbers = encoder().d_model;
    folder_.file("reference.npy",
                 npy_of_floats<float>({4, numbers}, std::vector<float>(static_cast<size_t>(4 * numbers), 0.5f)));
  }

  int64_t last_id() const { return std::max<int64_t>(1, encoder().vocab_size) - 1; }
  std::string ids_line(uint32_t count) const {
    std::vector<int64_t> ids;
    for (uint32_t i = 0; i < std::min(count, 600u); ++i) ids.push_back((last_id() + i) % (last_id() + 1));
    return json(ids).dump() + "\n";
  }

  void inspect() {
    add_both("inspect", {}, StdoutFormat::json_object);
    add_both("inspect", {"--tensors", "--verify"}, StdoutFormat::json_object);
    add_both("inspect", {"--memory", longest()}, StdoutFormat::json_object);
    add_both("inspect", {"--memory", "1", "--batch", "7", "--threads", "3"}, StdoutFormat::json_object);
    add_both("inspect", {"--plan"}, StdoutFormat::json_object);
    add_both("inspect", {"--plan", "1"}, StdoutFormat::json_object);
    add_both("inspect", {"--plan", longest(), "--isa", "scalar"}, StdoutFormat::json_object);
    add("inspect", {"--plan", "1", "--backend", "onednn"});
    add("inspect", {"--plan", "1", "--compute", "f32", "--padding", "keep"});
    add("inspect", {"--memory", "1", "--pad-to", "1", "--json"}, StdoutFormat::json_object);
    add("inspect", {"--memory", std::to_string(uint64_t{encoder().max_tokens} + 1)});
  }

  void classify() {
    const std::string texts = file("texts.txt"), records = file("records.jsonl");
    add_both("classify", {"good film", "the plot"}, StdoutFormat::json_lines);
    add("classify", {"good film", "", "--table"});
    add_both("classify", {"--all-heads", "-i", texts}, StdoutFormat::json_lines);
    add("classify", {"--all-heads", "-i", texts, "--table", "--compute", "f32"});
    for (size_t i = 0; i < std::min<size_t>(description_.heads.size(), 4); ++i) {
      const std::string name = description_.heads[i].name;
      add("classify", {"--head", name, "-i", records, "--id", "id", "--pair", "pair", "--json"},
          StdoutFormat::json_lines);
      add("classify", {"--head", std::to_string(i), "-i", records, "--pair", "pair", "--table"});
    }
    add("classify", {"--top-k", "2", "-i", texts, "--side", "tail", "--literal-special"});
    add_both("classify", {"--threshold", "0.4", "-i", texts, "--batch", "2", "--threads", "2"},
             StdoutFormat::json_lines);
    for (const char* which : {"longest_first", "only_first", "only_second"}) {
      add("classify", {"-i", records, "--pair", "pair", "--on-long", "window", "--truncation", which, "--json"},
          StdoutFormat::json_lines);
    }
    add_both("classify", {"-i", texts, "--on-long", "window", "--overlap", "0", "--max-tokens", "1"},
             StdoutFormat::json_lines);
    add("classify", {"-i", texts, "--on-long", "error", "--fail-fast"});
    add("classify", {"--logits", folder_.path("out.npy"), "-i", records}).array = folder_.path("out.npy");
    add("classify", {"--vectors", file("vectors.npy"), "--json", "--profile"}, StdoutFormat::json_lines).profile_json =
        true;
    add("classify", {"--vectors", file("one.npy"), "--all-heads", "--table"});
    add("classify", {"-", "--padding", "keep", "--pad-to", longest(), "--isa", "scalar"}).input = "good\nfilm";
    add("classify", {"-", "--format", "jsonl", "--backend", "onednn", "--json"}, StdoutFormat::json_lines).input =
        "[{\"text\": \"a\"}, {\"text\": \"b\"}]";
    add("classify", {"good", "--pair-text", "film", "--backend", "openblas"});
    add("classify", {"-i", file("records.csv"), "--pair", "pair", "--profile"});
    add("classify", {"-i", records, file("records.csv"), "--keep", "text", "--limit", "6", "--output-format", "csv"});
    add("classify", {"-i", records, "--keep", "all", "--json"}, StdoutFormat::json_lines);
    add("classify", {"-i", texts, records, "--whole-files", "--json", "--quiet"}, StdoutFormat::json_lines);
    add("classify", {"-", "--format", "fasttext", "--output-format", "tsv"}).input = "__label__a good\n__label__\n";
  }

  void evaluate() {
    const std::string records = file("records.jsonl");
    add_both("classify", {"-i", records, "--eval", "label"}, StdoutFormat::json_lines);
    add_both("classify", {"-i", records, "--eval", "label", "--records", "--threshold", "0.3", "--pair", "pair"},
             StdoutFormat::json_lines);
    add("classify", {"-i", file("records.csv"), "--eval", "label", "--label-separator", ";"});
  }

  void embed() {
    const std::string texts = file("texts.txt"), records = file("records.jsonl");
    add_array("embed", {"-i", texts});
    add("embed", {"good film", "", "--json"}, StdoutFormat::json_lines);
    for (const char* pooling : {"first", "last", "mean", "weighted-mean", "max"}) {
      add("embed", {"-i", texts, "--pooling", pooling, "--json"}, StdoutFormat::json_lines);
    }
    add_array("embed", {"-i", texts, "--pooling", "mean", "--normalize"});
    add_array("embed", {"-i", texts, "--no-normalize"});
    add("embed", {"-i", records, "--pair", "pair", "--id", "id", "--on-long", "window", "--pooling", "max", "--json"},
        StdoutFormat::json_lines);
    add("embed", {"good", "--json", "--profile", "--pooling", "mean"}, StdoutFormat::json_lines).profile_json = true;
    add("embed", {"-i", texts, "--pooling", "first", "-o", "-", "--batch", "1"});
    add("embed", {"-i", file("records.csv"), "--pooling", "mean", "--keep", "all", "--output-format", "csv"});
    add("embed", {"-i", texts, "--pooling", "mean", "--dimensions", "2", "--json"}, StdoutFormat::json_lines);
    add("embed", {"-i", records, "--pair", "pair", "--id", "id", "--sparse", "--batch", "2"}, StdoutFormat::json_lines);
  }

  void fill_mask() {
    const std::string texts = file("texts.txt");
    std::string many;
    for (int i = 0; i < 20; ++i) many += "[MASK] ";
    add_both("fill-mask", {"the [MASK] plot", "good", ""}, StdoutFormat::json_lines);
    add("fill-mask", {"the <mask> plot", "--table", "--top-k", "3"});
    add_both("fill-mask", {many, "--top-k", "100000"}, StdoutFormat::json_lines);
    add("fill-mask", {"-i", texts, "--on-long", "error", "--batch", "2"});
    add("fill-mask", {"-i", file("records.jsonl"), "--pair", "pair", "--json", "--padding", "keep"},
        StdoutFormat::json_lines);
    add("fill-mask", {"-i", texts, "--side", "tail", "--literal-special"});
    add("fill-mask", {"-i", file("records.csv"), "--keep", "text", "--limit", "6", "--output-format", "csv"});
    add("fill-mask", {"[MASK]", "--pad-to", longest(), "--padding", "keep"});
  }

  void tag() {
    const std::string texts = file("texts.txt"), records = file("records.jsonl");
    add_both("tag", {"good film", "", long_text}, StdoutFormat::json_lines);
    add("tag", {"-i", texts, "--table", "--threshold", "0.3"});
    for (const char* aggregation : {"none", "first", "average", "max"}) {
      add("tag", {"-i", texts, "--aggregation", aggregation, "--max-tokens", "3", "--overlap", "0", "--json"},
          StdoutFormat::json_lines);
    }
    add("tag", {"-i", records, "--id", "id", "--keep", "text", "--output-format", "csv", "--on-long", "truncate"});
    add("tag", {"-i", texts, "--head", "1", "--on-long", "error", "--side", "tail", "--literal-special"});
    add("tag", {"good", "--json", "--profile"}, StdoutFormat::json_lines).profile_json = true;
    add_both("tag", {"-i", file("entities.jsonl"), "--eval", "spans"}, StdoutFormat::json_object);
    add_both("tag", {"-i", file("entities.jsonl"), "--words", "--field", "words", "--eval", "tags"},
             StdoutFormat::json_object);
    add("tag", {"good", "--padding", "keep", "--pad-to", longest()});
  }

  void answer() {
    const std::string records = file("records.jsonl");
    add_both("answer", {"--question", "the plot", "good film", "", long_text}, StdoutFormat::json_lines);
    add("answer", {"--question", "the", "-i", file("texts.txt"), "--table", "--top-k", "4"});
    add_both("answer", {"--question-field", "pair", "--field", "text", "-i", records, "--no-answer", "--id", "id"},
             StdoutFormat::json_lines);
    add("answer", {"--question-field", "pair", "--field", "text", "-i", records, "--keep", "text", "--output-format",
                   "tsv", "--max-tokens", "8", "--overlap", "1"});
    add("answer", {"--question", long_text, "film", "--json"}, StdoutFormat::json_lines);
    add("answer", {"--question", "a", "-i", file("texts.txt"), "--on-long", "truncate", "--max-answer-tokens", "1"});
    add("answer", {"--question", "a", "good", "--head", "0", "--json", "--profile"}, StdoutFormat::json_lines)
        .profile_json = true;
    add_both("answer", {"--question", "a", "--field", "text", "-i", records, "--eval", "label"},
             StdoutFormat::json_object);
  }

  void rerank() {
    const std::string texts = file("texts.txt"), records = file("records.jsonl");
    add_both("rerank", {"--query", "the plot", "good film", "", long_text}, StdoutFormat::json_lines);
    add("rerank", {"--queries", texts, "-i", records, "--id", "id", "--top-n", "2", "--raw", "--json"},
        StdoutFormat::json_lines);
    add("rerank", {"--query", "good", "-i", records, "--keep", "all", "--on-long", "window", "--output-format", "csv"});
    add("rerank", {"--query", long_text, "-i", texts, "--on-long", "error", "--head", "0"});
    add("classify", {"-i", texts, "--zero-shot", "good,the plot", "--json"}, StdoutFormat::json_lines);
    add("classify", {"good film", "--zero-shot", "a", "--zero-shot", "b, c", "--hypothesis", "{}", "--multi-label"});
  }

  void search() {
    const std::string texts = file("texts.txt"), records = file("records.jsonl");
    add_both("search", {"--query", "the plot", "--pooling", "mean", "good film", "", long_text},
             StdoutFormat::json_lines);
    add("search", {"--query", "good", "-i", texts, "--top-k", "2", "--similarity", "dot", "--json"},
        StdoutFormat::json_lines);
    add("search",
        {"--queries", texts, "-i", records, "--id", "id", "--pooling", "max", "--keep", "text", "--batch", "1"});
    add("search", {"--query", "good", "--pooling", "first", "--vectors", file("reference.npy"), "--json"},
        StdoutFormat::json_lines);
    add("search", {"--query", "good", "--pooling", "first", "--vectors", file("reference.npy"), "-i", records});
  }

  void perplexity() {
    const std::string texts = file("texts.txt"), ids = file("ids.jsonl");
    add_both("perplexity", {"-i", texts}, StdoutFormat::json_object);
    add_both("perplexity", {"-i", texts, "--mode", "both", "--limit", "2", "--mask-rate", "1"},
             StdoutFormat::json_object);
    add("perplexity", {"-i", texts, "--mode", "pseudo", "--limit", "3", "--on-long", "window", "--overlap", "1"});
    add("perplexity", {"-i", texts, "--dump-masks", folder_.path("masks.jsonl"), "--seed", "9", "--mask-rate", "0"});
    add_both("perplexity", {"--ids", ids, "--mask-id", "0"}, StdoutFormat::json_object);
    add("perplexity", {"--ids", file("ids.npy"), "--mask-id", std::to_string(last_id()), "--mode", "both", "--padding",
                       "keep", "--pad-to", "1"});
    add("perplexity", {"-i", file("records.jsonl"), "--pair", "pair", "--truncation", "only_second", "--json"},
        StdoutFormat::json_object);
  }

  void encode() {
    const std::string ids = file("ids.jsonl");
    Words what = {"hidden", "hidden:0", "hidden:" + std::to_string(encoder().layers.size()), "pooled", "embedding",
                  "logits", "mlm"};
    for (size_t i = 0; i < std::min<size_t>(description_.heads.size(), 4); ++i) {
      what.push_back("logits:" + std::string(description_.heads[i].name));
      what.push_back("pooled:" + std::to_string(i));
    }
    for (const std::string& each : what) {
      add_array("encode", {"--ids", ids, "--what", each});
      add_array("encode", {"--vectors", file("vectors.npy"), "--what", each, "--batch", "1"});
    }
    add_array("encode", {"--ids", file("ids.npy"), "--padding", "keep"});
    add_array("encode", {"--ids", file("far.jsonl")});
    add_array("encode", {"--ids", ids, "--pad-to", longest(), "--what", "hidden", "--isa", "scalar"});
    add_array("encode", {"good film", "--pair-text", "plot", "--what", "logits"});
    add_array("encode", {"-i", file("texts.txt"), "--what", "pooled", "--on-long", "error", "--compute", "f32"});
    add_array("encode", {"-i", file("texts.txt"), "--what", "mlm", "--profile", "--threads", "2"});
    add("encode", {"--vectors", file("one.npy"), "-o", "-"});
  }

  void tokenize() {
    const std::string lines = "{\"text\": \"good film\"}\n{\"text\": \"the plot\", \"pair\": \"of\"}\n{\"text\": 1}\n";
    add("tokenize", {"--format", "jsonl"}, StdoutFormat::json_lines).input = lines;
    add("tokenize", {"-", "--format", "jsonl", "--max-tokens", "3"}, StdoutFormat::json_lines).input = lines;
    add("tokenize", {"-i", file("texts.txt"), "--max-tokens", "1"}, StdoutFormat::json_lines);
    add("tokenize", {long_text, "[MASK]", "--side", "tail", "--literal-special"}, StdoutFormat::json_lines);
  }

  void compare() {
    const std::string texts = file("texts.txt"), records = file("records.jsonl");
    add_both("compare", {path_, "-i", texts}, StdoutFormat::json_object);
    add_both("compare", {other_, "-i", texts, "--max-tokens", "1"}, StdoutFormat::json_object);
    add("compare", {path_, "-i", records, "--eval", "label", "--pair", "pair", "--json"}, StdoutFormat::json_object);
    add_both("compare", {"--reference", file("reference.npy"), "-i", records}, StdoutFormat::json_object);
    add("compare", {path_, "-i", texts, "--head", "1"});
  }

  void spectrum() {
    const std::string texts = file("texts.txt"), ids = file("ids.jsonl");
    add_both("spectrum", {"-i", texts}, StdoutFormat::json_object);
    add_both("spectrum", {"--ids", ids, "--limit", "2"}, StdoutFormat::json_object);
    add("spectrum", {"--ids", ids, "--max-tokens", "2", "--apart", "--csv", "-", "--rank", "1"});
    add("spectrum",
        {"--ids", ids, "--svg", folder_.path("out.svg"), "--html", "-", "--share", "0.5", "--threads", "2"});
    add_both("spectrum", {"-i", texts, "--error", "0.5", "--draws", "2", "--seed", "3"}, StdoutFormat::json_object);
    add("spectrum", {"--ids", ids, "--error", "0.9", "--max-tokens", "2,3", "--csv", folder_.path("out.csv"), "--html",
                     folder_.path("out.html"), "--svg", "-"});
  }

  // `bench` measures the machine, and then each case in a process that it starts with --case. Only the command line of
  // such a process is added here, because it takes less time.
  void bench() {
    for (const int64_t batch : {1, 3}) {
      linformer::bench::Case measured;
      measured.seconds = 0;
      measured.warm_ups = measured.least_calls = 1;
      measured.batch = batch;
      measured.tokens = std::min<int64_t>(batch, encoder().max_tokens);
      measured.profile = batch > 1;
      add("bench", {"--case", json(measured).dump()}, StdoutFormat::json_object).error_is_answer = true;
    }
  }

  const Model& model_;
  const ModelDescription& description_;
  std::string path_, other_;
  const Folder& folder_;
  std::vector<CommandLine> lines_;
};

}  // namespace

std::vector<CommandLine> command_lines(const Model& model, const std::string& path, const std::string& other,
                                       const Folder& folder) {
  return Lines(model, path, other, folder).all();
}

}  // namespace linformer_test
