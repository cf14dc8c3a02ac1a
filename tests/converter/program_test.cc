// Tests linformer-convert as a program: exit codes, reports, files beside the checkpoint, and that outputs are complete
// or untouched.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/dialects/dialect.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/tiny_tatp22.h"
#include "converter/workplace.h"

namespace linformer_test::program_test {

using nlohmann::json;

TEST_CASE("the exit code is 0 for help and success, 1 for bad input and 2 for a bad command line") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  CHECK(place.run("--help").status == 0);
  CHECK(contains(place.run("--help").out, "Examples:"));
  CHECK(contains(place.run("--version").out, "linformer-convert "));
  CHECK(place.run("").status == 2);
  CHECK(place.run(place.path("c.pt")).status == 2);
  CHECK(place.run(place.path("c.pt") + " -o x.lnfr --dtype f64").status == 2);
  CHECK(place.run(place.path("c.pt") + " -o x.lnfr --unknown").status == 2);
  CHECK(place.run(place.path("absent.pt") + " -o " + place.path("x.lnfr")).status == 1);
  const Run good = place.run(place.path("c.pt") + " --verbose -o " + place.path("good.lnfr"));
  CHECK(good.status == 0);
  CHECK(good.err.empty());  // no progress bar into a file
  for (const char* part :
       {"Inferred", "Mapped", "layers[1].ffn_out.weight", "no tokenizer", "encoder_attention_heads"}) {
    CHECK(contains(good.out, part));
  }
  CHECK(place.run(place.path("c.pt") + " --quiet -o " + place.path("good.lnfr")).out.empty());
}

TEST_CASE("--dtype-for gives weights another type, and the report says how large the rounding errors are") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  const std::string command = place.path("c.pt") + " -o " + place.path("x.lnfr") + " --dtype int8 ";
  const Run run = place.run(command + "--dtype-for 'f32:*fc1*' --dtype-for 'bf16:*fc?.weight' --json");
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const auto report = nlohmann::json::parse(run.out);
  auto model = linformer::Model::load(place.path("x.lnfr").c_str());
  REQUIRE(model.ok());
  int of[4] = {};
  double worst = 0;
  for (const linformer::TensorDescription& tensor : (*model)->description().tensors) {
    const std::string name(tensor.name);
    CAPTURE(name);
    const linformer::ElementType expected =
        tensor.shape.size() == 1 || contains(name, "fc1")      ? linformer::ElementType::f32
        : contains(name, "fc2") || contains(name, "compress_") ? linformer::ElementType::bf16
                                                               : linformer::ElementType::int8;
    CHECK(tensor.type == expected);
    ++of[static_cast<int>(tensor.type)];
  }
  CHECK(of[1] == 6);
  CHECK(of[3] >= 10);
  for (const auto& weight : report["rounded"]) {
    CHECK(weight["relative_error"] > 0);
    worst = std::max(worst, weight["relative_error"].get<double>());
  }
  CHECK(report["rounded"].size() == static_cast<size_t>(of[1] + of[3]));
  CHECK(report["rounding_error"] < worst);
  CHECK(worst < 0.02);
  CHECK(report["bytes_in_f32"] > 30000);
  const Run told = place.run(command + "--force");
  CHECK(contains(told.out, ", weights in int8\n"));
  CHECK(contains(told.out, "weights changed by 0.00"));
  const Run misspelt = place.run(command + "--force --dtype-for f32:clasifier*");
  CHECK(misspelt.status == 1);
  CHECK(contains(misspelt.err, "no weight has a name like \"clasifier*\" (--dtype-for): they are called"));
  const Run late = place.run(command + "--force --dtype-for 'f32:*fc1*' --dtype-for 'bf16:*fc1*'");
  CHECK(late.status == 1);
  CHECK(contains(late.err,
                 "each weight with a name like \"*fc1*\" (--dtype-for) has its type from an earlier --dtype-for"));
}

TEST_CASE("the error for a --dtype-for that fits only a part of a weight names the weight") {
  Workplace place;
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  const std::string weight = add_spectral_head(tensors);
  write_file(place.path("c.pt"), torch_zip(tensors, tiny.settings()));
  const std::string command = place.path("c.pt") + " -o " + place.path("x.lnfr") + " --dtype int8 --dtype-for 'f32:*";
  for (const std::string part : {"_orig", "_u"}) {
    CAPTURE(part);
    const Run run = place.run(command + "_proj.weight" + part + "'");
    CHECK(run.status == 1);
    check_sentence(run.err, {weight + part + " (--dtype-for \"*_proj.weight" + part +
                                 "\") is stored as a part of another weight (divided by its spectral norm)",
                             "the weights are called " + weight + ", "});
  }
  CHECK(place.run(command + "out_proj.weight'").status == 0);
}

TEST_CASE("the error for a wrong command line is one line with the program's name, what is wrong and the next step") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  struct Case {
    std::string arguments;
    std::vector<std::string> parts;
  };
  const std::string c = place.path("c.pt"), x = " -o " + place.path("x.lnfr");
  const Case cases[] = {
      {"", {"no CHECKPOINT", "--from-lnfr"}},
      {"-o " + place.path("x.lnfr"), {"no CHECKPOINT"}},
      {c, {"no output", "-o model.lnfr"}},
      {"--from-lnfr m.lnfr", {"no output", "-o model.safetensors"}},
      {"--from-lnfr m.lnfr --labels a,b -o y.safetensors", {"--from-lnfr", "--labels"}},
      {c + x + " --dtype int4", {"--dtype takes f32, bf16, f16 or int8", "not \"int4\""}},
      {c + x + " --dtype 1", {"--dtype takes f32, bf16, f16 or int8", "not \"1\""}},
      {c + x + " --dtype-for classifier", {"--dtype-for takes TYPE:PATTERN", "not \"classifier\""}},
      {c + x + " --dtype-for f64:*", {"--dtype-for takes f32, bf16, f16 or int8", "not \"f64\""}},
      {c + x + " --dialect nope", {"no dialect \"nope\"", "fairseq, fairseq-hf, lucidrains", "tatp22"}},
      {place.path("absent.pt") + x + " --dialect nope", {"no dialect \"nope\""}},
      {c + x + " --unknown", {"there is no option --unknown;"}},
      {c + x + " --tokeniser=t", {"there is no option --tokeniser (did you mean --tokenizer?)"}},
      {c + " x.lnfr", {"'x.lnfr' was not expected: give the output with --output"}},
      {c + x + " 'more\nwords'", {"more words"}},
      {c + x + " --config", {"--config"}},
  };
  for (const Case& wrong : cases) {
    CAPTURE(wrong.arguments);
    const Run run = place.run(wrong.arguments);
    CAPTURE(run.err);
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(run.err.starts_with("linformer-convert: "));
    CHECK(run.err.ends_with("; see 'linformer-convert --help'\n"));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(!contains(run.err, "{"));
    check_sentence(run.err, wrong.parts);
    CHECK(place.entry_count() == 1);
  }
}

TEST_CASE("an error leaves neither output nor temporary file, and keeps the old output") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  std::string damaged = checkpoint_with_head(2);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  write_file(place.path("damaged.pt"), damaged);
  const Run run = place.run(place.path("damaged.pt") + " -o " + place.path("x.lnfr"));
  CHECK(run.status == 1);
  CHECK(contains(run.err, "damaged.pt"));
  CHECK(contains(run.err, "checksum"));
  CHECK(place.entry_count() == 2);
  REQUIRE(place.run(place.path("c.pt") + " -o " + place.path("x.lnfr")).status == 0);
  const std::string before = read_file(place.path("x.lnfr"));
  CHECK(place.run(place.path("damaged.pt") + " -o " + place.path("x.lnfr")).status == 1);
  CHECK(read_file(place.path("x.lnfr")) == before);
  CHECK(place.entry_count() == 3);
  CHECK(place.run(place.path("c.pt") + " -o " + place.path("no/such/folder/x.lnfr")).status == 1);
}

TEST_CASE("inputs and files that aren't model files are not overwritten") {
  Workplace place;
  const std::string checkpoint = checkpoint_with_head(2);
  write_file(place.path("c.pt"), checkpoint);
  const Run same = place.run(place.path("c.pt") + " --force -o " + place.path("./c.pt"));
  CHECK(same.status == 1);
  CHECK(contains(same.err, "is the input"));
  CHECK(read_file(place.path("c.pt")) == checkpoint);
  write_file(place.path("notes"), "important");
  CHECK(place.run(place.path("c.pt") + " -o " + place.path("notes")).status == 1);
  CHECK(read_file(place.path("notes")) == "important");
  CHECK(place.run(place.path("c.pt") + " --force -o " + place.path("notes")).status == 0);
  CHECK(place.run(place.path("c.pt") + " -o " + place.path("notes")).status == 0);  // now it is a model file
}

TEST_CASE("the error for a model's name on the Hugging Face Hub says how to download its folder") {
  Workplace place;
  const std::string out = " -o " + place.path("x.lnfr");
  for (const char* name : {"sentence-transformers/all-MiniLM-L6-v2", "bert-base-uncased"}) {
    CAPTURE(std::string(name));
    const Run run = place.run(name + out);
    CHECK(run.status == 1);
    check_sentence(run.err, {std::string(name) + " does not exist", "are not downloaded by this program",
                             std::string("hf download ") + name + " --local-dir ", "give that folder"});
  }
  for (const char* name : {"absent.pt", "./some/model", "some/where/model", "../model"}) {
    CAPTURE(std::string(name));
    CHECK(!contains(place.run(name + out).err, "Hub"));
  }
}

TEST_CASE("an output with the ending of another format is refused without --force") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  for (const char* name : {"x.safetensors", "x.pt", "x.json", "x.LNFR.gz"}) {
    CAPTURE(std::string(name));
    const Run run = place.run(place.path("c.pt") + " -o " + place.path(name));
    CHECK(run.status == 2);
    check_sentence(run.err, {std::string(name) + " would hold a model file and not ", "end its name in .lnfr"});
    CHECK(place.entry_count() == 1);
    CHECK(place.run(place.path("c.pt") + " --force -o " + place.path(name)).status == 0);
    std::filesystem::remove(place.path(name));
  }
  for (const char* name : {"x", "x.LNFR", "x.mine", "x.v2"}) {
    CHECK(place.run(place.path("c.pt") + " -o " + place.path(name)).status == 0);
  }
}

TEST_CASE("equal input gives a byte-identical file, whose types are those of --dtype") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
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

TEST_CASE("--dtype accepts the names of types in PyTorch") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  const std::pair<const char*, const char*> names[] = {
      {"fp16", "f16"}, {"float16", "f16"}, {"bfloat16", "bf16"}, {"float32", "f32"}, {"fp32", "f32"}};
  for (const auto& [name, type] : names) {
    CAPTURE(std::string(name));
    REQUIRE(place.run(place.path("c.pt") + " --dtype " + name + " -o " + place.path("a.lnfr")).status == 0);
    REQUIRE(place.run(place.path("c.pt") + " --dtype " + type + " -o " + place.path("b.lnfr")).status == 0);
    CHECK(read_file(place.path("a.lnfr")) == read_file(place.path("b.lnfr")));
  }
}

TEST_CASE("model files of other programs are refused by their format's name, with what to give instead") {
  Workplace place;
  const std::pair<std::string, const char*> files[] = {{"GGUF\x03 and more", "this is a GGUF file"},
                                                       {"\x89HDF\r\n\x1a\n and more", "this is an HDF5 file"},
                                                       {"\x08\x08\x12\x07pytorch", "this is an ONNX file"}};
  for (const auto& [bytes, says] : files) {
    write_file(place.path("model"), bytes);
    const Run run = place.run(place.path("model") + " -o " + place.path("x.lnfr"));
    CHECK(run.status == 1);
    CHECK(contains(run.err, says));
    CHECK(contains(run.err, "torch.save"));
  }
}

TEST_CASE("--json prints the report as JSON, and errors too") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
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

TEST_CASE("a folder's tokenizer and settings are read, and the vocabulary must fit the embedding") {
  Workplace place;
  const std::string out = " -o " + place.path("x.lnfr");
  write_tokenizer(place, "model", 0);
  TinyFairseq tiny;
  write_file(place.path("model/model.safetensors"), safetensors(tiny.tensors()));
  CHECK(contains(place.run(place.path("model") + out).err, "encoder_attention_heads"));
  write_file(place.path("model/config.json"), R"({"encoder_attention_heads": 2, "activation_fn": "relu"})");
  const Run run = place.run(place.path("model") + " --verbose" + out);
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

TEST_CASE("--list-models names every dialect's families and what config.json calls them") {
  Workplace place;
  const Run table = place.run("--list-models");
  CHECK(table.status == 0);
  const json list = json::parse(place.run("--list-models --json").out);
  std::set<std::string> dialects;
  for (const json& family : list) {
    CAPTURE(family.dump());
    CHECK(contains(table.out, family["name"]));
    CHECK(contains(table.out, family["heads"]));
    CHECK(contains(table.out, family["tested"]));
    dialects.insert(family["dialect"]);
    std::stringstream types(family["model_types"].get<std::string>());
    for (std::string type; std::getline(types >> std::ws, type, ',');) {
      CHECK(linformer::convert::hugging_face::is_supported_model_type(type));
    }
  }
  REQUIRE(dialects.size() == linformer::convert::dialects().size());
  for (const linformer::convert::Dialect* dialect : linformer::convert::dialects()) {
    CHECK(dialects.contains(dialect->name()));
  }
}

TEST_CASE("--list-dialects lists every dialect, and --dialect chooses one") {
  Workplace place;
  const Run table = place.run("--list-dialects");
  CHECK(table.status == 0);
  const json list = json::parse(place.run("--list-dialects --json").out);
  REQUIRE(list.size() == linformer::convert::dialects().size());
  for (const json& dialect : list) {
    CAPTURE(dialect.dump());
    CHECK(contains(table.out, dialect["name"]));
    CHECK(contains(dialect["source"], "https://github.com/"));
    CHECK(dialect["summary"].get<std::string>().size() > 20);
    CHECK(!dialect["settings"].empty());
    CHECK(dialect["tensors"].get<std::string>().size() > 10);
    CHECK(!contains(dialect["tensors"], "(not "));
    CHECK(contains(table.out, dialect["tensors"]));
    for (const json& setting : dialect["settings"]) CHECK(setting["config"].is_object());
  }
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  const std::string convert = place.path("c.pt") + " -o " + place.path("x.lnfr") + " --dialect ";
  CHECK(contains(place.run(convert + "fairseq --verbose").out, "and --dialect"));
  const Run unknown = place.run(convert + "fairsec");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.err, "fairseq, fairseq-hf, lucidrains, pytext"));
  const Run other = place.run(convert + "xformers");
  CHECK(other.status == 1);
  CHECK(contains(other.err, "attention.E.weight"));
  CHECK(contains(other.err, "not there"));
}

TEST_CASE("a model that takes vectors has no tokenizer, and --tokenizer is refused") {
  Workplace place;
  TinyTatp22 tiny;
  tiny.tokens = tiny.logits = false;
  write_file(place.path("c.pt"), torch_zip(tiny.tensors()));
  write_file(place.path("config.json"), R"({"activation": "gelu"})");
  const std::string convert =
      place.path("c.pt") + " --config " + place.path("config.json") + " -o " + place.path("x.lnfr");
  const Run plain = place.run(convert + " --verbose");
  CHECK(plain.err == "");
  CHECK(contains(plain.out, "takes vectors, so it has no tokenizer"));
  CHECK(!contains(plain.out, "token ids only"));
  write_tokenizer(place, "vocabulary", 0);
  CHECK(contains(place.run(convert + " --tokenizer " + place.path("vocabulary")).err, "leave --tokenizer out"));
}

}  // namespace linformer_test::program_test
