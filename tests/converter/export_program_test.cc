// Tests `linformer-convert --from-lnfr` as a program: what is exported, what is refused, and that exported files
// convert without options.
#include <doctest/doctest.h>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/readers/error.h"
#include "converter/tiny_hugging_face.h"
#include "converter/workplace.h"

namespace linformer_test::export_program_test {

using nlohmann::json;

namespace {

std::vector<HandTensor> with_dense(std::vector<HandTensor> tensors) {
  add_weight_bias(tensors, "sentence_dense.linear", 4, 8);
  return tensors;
}

}  // namespace

TEST_CASE("--from-lnfr: a model with tokenizer and labels is exported, and converts again without options") {
  Workplace place;
  write_tokenizer(place, "vocabulary", 0);
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  const std::string flags = " --quiet --tokenizer " + place.path("vocabulary") + " --labels 'no,so so' ";
  for (const std::string type : {"f32", "bf16", "f16"}) {
    CAPTURE(type);
    const std::string dtype = " --quiet --dtype " + type;
    REQUIRE(place.run(place.path("c.pt") + flags + dtype + " -o " + place.path("a.lnfr")).status == 0);
    const Run back =
        place.run("--from-lnfr " + place.path("a.lnfr") + " --verbose --force -o " + place.path("b.safetensors"));
    CHECK(back.err == "");
    REQUIRE(back.status == 0);
    for (const char* part : {"dialect fairseq", "Kept", "linformer.tokenizer", "encoder.layers.1.fc2.weight"}) {
      CHECK(contains(back.out, part));
    }
    REQUIRE(place.run(place.path("b.safetensors") + dtype + " -o " + place.path("c.lnfr")).status == 0);
    CHECK(read_file(place.path("a.lnfr")) == read_file(place.path("c.lnfr")));
  }
  CHECK(labels_of(place.path("c.lnfr")) == Labels{"no", "so so"});
  // Options take precedence over what the file contains.
  REQUIRE(place.run(place.path("b.safetensors") + " --labels x,y -o " + place.path("d.lnfr")).status == 0);
  CHECK(labels_of(place.path("d.lnfr")) == Labels{"x", "y"});
  write_tokenizer(place, "large", 4);
  const Run large = place.run(place.path("b.safetensors") + " --tokenizer " + place.path("large") + " -o x.lnfr");
  CHECK(contains(large.err, "ids up to 10 but the model's embedding has 10 rows"));
}

TEST_CASE("--from-lnfr: a folder of sentence-transformers is exported as one file") {
  Workplace place;
  TinyHuggingFace tiny;
  tiny.prefixed = false;
  for (const char* folder : {"model/1_Pooling", "model/2_Dense"})
    std::filesystem::create_directories(place.path(folder));
  write_file(place.path("model/config.json"), tiny.config().dump());
  write_file(place.path("model/model.safetensors"), safetensors(tiny.tensors()));
  json modules = json::array();
  for (const auto& [path, type] : {std::pair("", "Transformer"), {"1_Pooling", "Pooling"}, {"2_Dense", "Dense"}}) {
    modules.push_back({{"path", path}, {"type", std::string("sentence_transformers.models.") + type}});
  }
  write_file(place.path("model/modules.json"), modules.dump());
  write_file(place.path("model/1_Pooling/config.json"), R"({"pooling_mode_mean_tokens": true})");
  write_file(place.path("model/2_Dense/config.json"), R"({"activation_function": "torch.nn.modules.activation.Tanh"})");
  std::vector<HandTensor> dense;
  add_weight_bias(dense, "linear", 4, 8);
  write_file(place.path("model/2_Dense/model.safetensors"), safetensors(dense));
  const Run first = place.run(place.path("model") + " -o " + place.path("a.lnfr"));
  CHECK(first.err == "");
  REQUIRE(first.status == 0);
  REQUIRE(place.run("--from-lnfr " + place.path("a.lnfr") + " -o " + place.path("b.safetensors")).status == 0);
  const Run second = place.run(place.path("b.safetensors") + " --verbose -o " + place.path("c.lnfr"));
  CHECK(second.err == "");
  CHECK(contains(second.out, "sentence_dense.linear.weight"));
  json settings = tiny.config();
  settings["sentence_pooling"] = "mean";
  CHECK(contains(conversion_error(safetensors(with_dense(tiny.tensors())), settings.dump()),
                 "{\"sentence_dense_activation\": \"Tanh\"}"));
  CHECK(read_file(place.path("a.lnfr")) == read_file(place.path("c.lnfr")));
}

TEST_CASE("--from-lnfr: the report is printed as JSON, and conflicting arguments are refused") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  REQUIRE(place.run(place.path("c.pt") + " --quiet -o " + place.path("a.lnfr")).status == 0);
  const std::string model = "--from-lnfr " + place.path("a.lnfr"), out = " -o " + place.path("b.safetensors");
  const Run good = place.run(model + " --json" + out);
  REQUIRE(good.status == 0);
  const json report = json::parse(good.out);
  CHECK(report["dialect"] == "fairseq");
  CHECK(report["tensors"].size() == TinyFairseq().tensors().size() + 4);
  CHECK(report["output_bytes"] == read_file(place.path("b.safetensors")).size());
  const std::string before = read_file(place.path("b.safetensors"));
  CHECK(place.run(model + out).status == 0);  // a safetensors file is replaced
  CHECK(read_file(place.path("b.safetensors")) == before);
  CHECK(place.run(model + " --force -o " + place.path("a.lnfr")).status == 1);
  const Run other = place.run(model + " -o " + place.path("c.pt"));
  CHECK(other.status == 2);
  check_sentence(other.err, {"c.pt would hold safetensors and not a PyTorch file", ".safetensors", "--force"});
  write_file(place.path("notes"), "important");
  const Run notes = place.run(model + " -o " + place.path("notes"));
  CHECK(notes.status == 1);
  CHECK(contains(notes.err, "no safetensors file"));
  CHECK(read_file(place.path("notes")) == "important");
  std::filesystem::remove(place.path("notes"));
  CHECK(place.run("--from-lnfr " + place.path("c.pt") + out).status == 1);
  const Run absent = place.run("--from-lnfr " + place.path("no.lnfr") + " --json" + out);
  CHECK(absent.status == 1);
  CHECK(contains(json::parse(absent.out)["error"], "no.lnfr"));
  std::string damaged = read_file(place.path("a.lnfr"));
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write_file(place.path("damaged.lnfr"), damaged);
  CHECK(place.run("--from-lnfr " + place.path("damaged.lnfr") + out).status == 1);
  CHECK(read_file(place.path("b.safetensors")) == before);
  CHECK(place.entry_count() == 4);  // no temporary file
  CHECK(place.run(model).status == 2);
  for (const char* flag : {"c.pt", "--labels a,b", "--dtype f16", "--tokenizer x", "--config x", "--dialect fairseq"}) {
    CAPTURE(std::string(flag));
    CHECK(place.run(model + out + " " + flag).status == 2);
  }
}

TEST_CASE("a damaged tokenizer in an exported file is an error, not a crash") {
  Workplace place;
  write_tokenizer(place, "vocabulary", 0);
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  REQUIRE(
      place.run(place.path("c.pt") + " --quiet --tokenizer " + place.path("vocabulary") + " -o " + place.path("a.lnfr"))
          .status == 0);
  REQUIRE(place.run("--quiet --from-lnfr " + place.path("a.lnfr") + " -o " + place.path("b.safetensors")).status == 0);
  const std::string file = read_file(place.path("b.safetensors"));
  const size_t begin = file.find("linformer.tokenizer") + 22, end = file.find('"', begin);
  REQUIRE(end > begin + 100);
  int errors = 0, converted = 0;
  for (size_t at = begin; at < end; ++at) {
    std::string damaged = file;
    damaged[at] = damaged[at] == 'A' ? '/' : 'A';
    if (damaged == file) continue;
    write_file(place.path("damaged.safetensors"), damaged);
    linformer::convert::ConvertOptions options;
    options.checkpoint = place.path("damaged.safetensors");
    options.output = place.path("x.lnfr");
    try {
      linformer::convert::convert_checkpoint(options);
      ++converted;
      CHECK(linformer::Model::load(options.output.c_str()).ok());
    } catch (const linformer::convert::Error& error) {
      ++errors;
      if (error.code() != linformer::Code::unsupported) CHECK(contains(error.what(), "tokenizer"));
    }
  }
  std::printf("damaged tokenizers in exported files: %d errors, %d converted\n", errors, converted);
  CHECK(errors > 100);
}

}  // namespace linformer_test::export_program_test
