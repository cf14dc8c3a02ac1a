// linformer-convert as a program: exit codes, reports, files beside the checkpoint, and outputs that stay whole.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "converter/conversion.h"
#include "converter/tiny_fairseq.h"
#include "format/temporary_folder.h"

using namespace linformer_test;
using nlohmann::json;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

struct Run {
  int status;
  std::string out, err;
};

class Workplace {
 public:
  std::string path(const std::string& name) const { return folder_.path(name); }
  Run run(const std::string& arguments) const {
    const std::string command = std::string(LINFORMER_CONVERT) + " " + arguments + " >" + streams_.path("out") + " 2>" +
                                streams_.path("err") + " </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(streams_.path("out")),
            read_file(streams_.path("err"))};
  }
  int64_t entries() const { return folder_.entries(); }

 private:
  TemporaryFolder folder_, streams_;
};

std::string with_head(int64_t classes) {
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  add_head(tensors, "sentence_classification_head", 8, 8, classes);
  return torch_zip(tensors, tiny.settings());
}

// Byte-level BPE whose ids fit a RoBERTa vocabulary: the special tokens and two letters.
void write_tokenizer(const Workplace& place, const std::string& folder, int more) {
  std::filesystem::create_directories(place.path(folder));
  json vocabulary = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"a", 4}, {"b", 5}, {"ab", 6}};
  for (int i = 0; i < more; ++i) vocabulary[std::string(static_cast<size_t>(i) + 2, 'b')] = 7 + i;
  write_file(place.path(folder + "/vocab.json"), vocabulary.dump());
  write_file(place.path(folder + "/merges.txt"), "#version: 0.2\na b\n");
}

std::vector<std::string> labels_of(const std::string& path) {
  auto model = linformer::Model::load(path.c_str());
  REQUIRE(model.ok());
  return model.value()->description().heads.at(0).labels;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("exit codes: 0 for help and success, 1 for bad input, 2 for a bad command line") {
  Workplace place;
  write_file(place.path("c.pt"), with_head(2));
  CHECK(place.run("--help").status == 0);
  CHECK(contains(place.run("--help").out, "Examples:"));
  CHECK(contains(place.run("--version").out, "linformer-convert "));
  CHECK(place.run("").status == 2);
  CHECK(place.run(place.path("c.pt")).status == 2);
  CHECK(place.run(place.path("c.pt") + " -o x.lnfr --dtype f64").status == 2);
  CHECK(place.run(place.path("c.pt") + " -o x.lnfr --unknown").status == 2);
  CHECK(place.run(place.path("absent.pt") + " -o " + place.path("x.lnfr")).status == 1);
  const Run good = place.run(place.path("c.pt") + " -o " + place.path("good.lnfr"));
  CHECK(good.status == 0);
  CHECK(good.err.empty());  // no progress bar into a file
  for (const char* part :
       {"Inferred", "Mapped", "layers[1].ffn_out.weight", "no tokenizer", "encoder_attention_heads"}) {
    CHECK(contains(good.out, part));
  }
  CHECK(place.run(place.path("c.pt") + " --quiet -o " + place.path("good.lnfr")).out.empty());
}

TEST_CASE("an error leaves neither output nor temporary file, and keeps the old output") {
  Workplace place;
  write_file(place.path("c.pt"), with_head(2));
  std::string damaged = with_head(2);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  write_file(place.path("damaged.pt"), damaged);
  const Run run = place.run(place.path("damaged.pt") + " -o " + place.path("x.lnfr"));
  CHECK(run.status == 1);
  CHECK(contains(run.err, "damaged.pt"));
  CHECK(contains(run.err, "checksum"));
  CHECK(place.entries() == 2);
  REQUIRE(place.run(place.path("c.pt") + " -o " + place.path("x.lnfr")).status == 0);
  const std::string before = read_file(place.path("x.lnfr"));
  CHECK(place.run(place.path("damaged.pt") + " -o " + place.path("x.lnfr")).status == 1);
  CHECK(read_file(place.path("x.lnfr")) == before);
  CHECK(place.entries() == 3);
  CHECK(place.run(place.path("c.pt") + " -o " + place.path("no/such/folder/x.lnfr")).status == 1);
}

TEST_CASE("inputs and other people's files are not overwritten") {
  Workplace place;
  const std::string checkpoint = with_head(2);
  write_file(place.path("c.pt"), checkpoint);
  const Run same = place.run(place.path("c.pt") + " --force -o " + place.path("./c.pt"));
  CHECK(same.status == 1);
  CHECK(contains(same.err, "is the input"));
  CHECK(read_file(place.path("c.pt")) == checkpoint);
  write_file(place.path("notes.txt"), "important");
  CHECK(place.run(place.path("c.pt") + " -o " + place.path("notes.txt")).status == 1);
  CHECK(read_file(place.path("notes.txt")) == "important");
  CHECK(place.run(place.path("c.pt") + " --force -o " + place.path("notes.txt")).status == 0);
  CHECK(place.run(place.path("c.pt") + " -o " + place.path("notes.txt")).status == 0);  // a model file by now
}

TEST_CASE("equal input gives a byte-identical file, and types are as asked") {
  Workplace place;
  write_file(place.path("c.pt"), with_head(2));
  for (const char* type : {"f32", "bf16", "f16"}) {
    const std::string options = std::string(" --quiet --dtype ") + type + " -o ";
    REQUIRE(place.run(place.path("c.pt") + options + place.path("a.lnfr")).status == 0);
    REQUIRE(place.run(place.path("c.pt") + options + place.path("b.lnfr")).status == 0);
    CHECK(read_file(place.path("a.lnfr")) == read_file(place.path("b.lnfr")));
    auto model = linformer::Model::load(place.path("a.lnfr").c_str());
    REQUIRE(model.ok());
    const linformer::ModelDescription& description = model.value()->description();
    const auto of = [&](linformer::TensorIndex index) {
      return std::string(name_of(description.tensors[static_cast<size_t>(index)].type));
    };
    CHECK(of(description.encoder.layers[0].ffn_in.weight) == type);
    CHECK(of(description.encoder.layers[0].ffn_in.bias) == "f32");
  }
}

TEST_CASE("the report as JSON, and errors too") {
  Workplace place;
  write_file(place.path("c.pt"), with_head(2));
  const Run run = place.run(place.path("c.pt") + " --json --labels no,yes -o " + place.path("x.lnfr"));
  REQUIRE(run.status == 0);
  const json report = json::parse(run.out);
  CHECK(report["dialect"] == "fairseq");
  CHECK(report["format"] == "PyTorch zip");
  CHECK(report["mapped"].size() == TinyFairseq().tensors().size() + 4);
  CHECK(report["left_out"].empty());
  CHECK(report["output_bytes"] == read_file(place.path("x.lnfr")).size());
  const Run bad = place.run(place.path("absent.pt") + " --json -o " + place.path("x.lnfr"));
  CHECK(bad.status == 1);
  CHECK(contains(json::parse(bad.out)["error"], "absent.pt does not exist"));
}

TEST_CASE("labels from the command line and from labels.txt") {
  Workplace place;
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  add_head(tensors, "sentence_classification_head", 8, 8, 2);
  add_head(tensors, "mnli", 8, 8, 3);
  add_head(tensors, "other", 8, 8, 3);
  write_file(place.path("c.pt"), torch_zip(tensors, tiny.settings()));
  const std::string out = " -o " + place.path("x.lnfr");
  CHECK(place.run(place.path("c.pt") + " --labels neg,pos --labels other=x,y,z" + out).status == 0);
  CHECK(labels_of(place.path("x.lnfr")) == Labels{"neg", "pos"});
  const std::pair<const char*, const char*> refusals[] = {{"a,b,c", "several heads"},
                                                          {"a", "fits no head"},
                                                          {"mnli=a,b", "fits no head"},
                                                          {"a,a", "twice"},
                                                          {"a,", "empty"}};
  for (const auto& refusal : refusals) {
    CAPTURE(refusal.first);
    const Run run = place.run(place.path("c.pt") + " --labels " + refusal.first + out);
    CHECK(run.status == 1);
    CHECK(contains(run.err, refusal.second));
  }
  std::filesystem::create_directories(place.path("model"));
  write_file(place.path("model/checkpoint.pt"), with_head(2));
  write_file(place.path("model/labels.txt"), "bad\r\ngood\n\n");
  CHECK(place.run(place.path("model") + out).status == 0);
  CHECK(labels_of(place.path("x.lnfr")) == Labels{"bad", "good"});
  CHECK(place.run(place.path("model/checkpoint.pt") + out).status == 0);  // a file is taken alone
  CHECK(labels_of(place.path("x.lnfr")).empty());
  write_file(place.path("model/labels.txt"), "one\ntwo\nthree\n");
  const Run unfit = place.run(place.path("model") + out);
  CHECK(unfit.status == 0);
  CHECK(contains(unfit.out, "was not used"));
  CHECK(labels_of(place.path("x.lnfr")).empty());
}

TEST_CASE("a folder brings its tokenizer and settings; the vocabulary must fit the embedding") {
  Workplace place;
  const std::string out = " -o " + place.path("x.lnfr");
  write_tokenizer(place, "model", 0);
  TinyFairseq tiny;
  write_file(place.path("model/model.safetensors"), safetensors(tiny.tensors()));
  CHECK(contains(place.run(place.path("model") + out).err, "encoder_attention_heads"));
  write_file(place.path("model/config.json"), R"({"encoder_attention_heads": 2, "activation_fn": "relu"})");
  const Run run = place.run(place.path("model") + out);
  CHECK(run.err == "");
  CHECK(run.status == 0);
  CHECK(contains(run.out, "3 rows of the embedding have no token"));
  auto model = linformer::Model::load(place.path("x.lnfr").c_str());
  REQUIRE(model.ok());
  CHECK(model.value()->description().tokenizer.kind == linformer::TokenizerKind::byte_bpe);
  CHECK(model.value()->description().encoder.layers[0].activation == linformer::Activation::relu);

  write_tokenizer(place, "large", 4);
  const Run large = place.run(place.path("model") + " --tokenizer " + place.path("large") + out);
  CHECK(large.status == 1);
  CHECK(contains(large.err, "ids up to 10 but the model's embedding has 10 rows"));
  CHECK(place.run(place.path("large") + out).status == 1);
  CHECK(contains(place.run(place.path("large") + out).err, "no checkpoint of a usual name"));
  write_file(place.path("broken.json"), R"({"encoder_attention_heads": 2,)");
  CHECK(
      contains(place.run(place.path("model") + " --config " + place.path("broken.json") + out).err, "not valid JSON"));
  write_file(place.path("nested.json"), R"({"config": {"encoder_attention_heads": 4}})");
  CHECK(place.run(place.path("model") + " --config " + place.path("nested.json") + out).status == 0);
  model = linformer::Model::load(place.path("x.lnfr").c_str());
  CHECK(model.value()->description().encoder.layers[0].attention.heads == 4);
}
