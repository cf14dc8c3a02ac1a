// Tests the export. A checkpoint becomes a model file, the model file becomes safetensors, and these become the same
// model file again, byte by byte. The values in between are compared too.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/description.h"
#include "converter/conversion.h"
#include "converter/export/base64.h"
#include "converter/export/export_model.h"
#include "converter/readers/error.h"
#include "converter/tiny_fairseq.h"
#include "converter/tiny_hugging_face.h"
#include "converter/tiny_tatp22.h"
#include "support/temporary_folder.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::export_test {

using namespace linformer;
using convert::Checkpoint;
using nlohmann::json;

namespace {

constexpr ElementType all_types[] = {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8};

struct Made {
  convert::Report report;
  writer::AlignedBytes file;
};

Made make(const std::string& checkpoint, const std::string& config, ElementType type = ElementType::f32) {
  convert::ValueStore store;
  convert::Settings settings;
  if (!config.empty()) settings.add_source(parse_json(store, config, "config"), "config");
  Checkpoint opened = Checkpoint::open(as_bytes(checkpoint), "memory");
  Made made;
  writer::ModelBuilder builder(type);
  build_model(opened, settings, &builder, &made.report, {});
  made.file = builder.serialize();
  return made;
}

std::string exported(std::span<const std::byte> file, convert::ExportReport* report = nullptr) {
  std::string bytes;
  const convert::ExportReport made = convert::export_model(file, [&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  CHECK(made.output_bytes == bytes.size());
  if (report != nullptr) *report = made;
  return bytes;
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::vector<float> values_of(const Checkpoint& checkpoint, const convert::Tensor& tensor) {
  std::vector<float> values(tensor.elements);
  checkpoint.read_f32(tensor, 0, values);
  return values;
}

// Returns how many values of the tensor are 0 in the export because no text of the model reaches them. The export's
// report says how many.
size_t unused_values(const convert::ExportReport& report, const std::string& name) {
  for (const convert::ExportReport::Row& row : report.rows) {
    if (row.tensor == name && !row.note.empty()) return std::stoul(row.note);
  }
  return 0;
}

// Checks that every tensor of `file` that the conversion kept has its name, shape and values in the export, and that
// the export has no other tensor. `divided` are the names of tensors whose values the conversion changes.
void check_values(const std::string& file, const std::string& back, const Made& made,
                  const std::set<std::string>& divided = {}) {
  const Checkpoint before = Checkpoint::open(as_bytes(file), "before"),
                   after = Checkpoint::open(as_bytes(back), "after");
  convert::ExportReport report;
  exported(made.file, &report);
  size_t left_out = 0;
  for (const convert::Tensor& tensor : before.tensors) {
    CAPTURE(tensor.name);
    if (divided.count(tensor.name) != 0) continue;
    if (is_left_out(made.report.left_out, tensor.name)) {
      ++left_out;
      CHECK(after.find(tensor.name) == nullptr);
      continue;
    }
    const convert::Tensor* found = after.find(tensor.name);
    REQUIRE(found != nullptr);
    CHECK(found->shape == tensor.shape);
    std::vector<float> expected = values_of(before, tensor);
    const std::vector<float> values = values_of(after, *found);
    REQUIRE(values.size() == expected.size());
    size_t changed = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      changed += values[i] != expected[i];
      if (values[i] == 0) expected[i] = 0;
    }
    CHECK(values == expected);
    CHECK(changed <= unused_values(report, tensor.name));
  }
  if (divided.empty()) CHECK(after.tensors.size() + left_out == before.tensors.size());
}

// Converts and exports with each type of weights, and checks that the files are the same again. Returns the safetensors
// file of f32.
std::string check_round_trip(const std::string& file, const std::string& config) {
  std::string first;
  for (const ElementType type : all_types) {
    CAPTURE(std::string(name_of(type)));
    const Made made = make(file, config, type);
    const std::string back = exported(made.file);
    CHECK(exported(made.file) == back);
    const Made again = make(back, "", type);
    CHECK(equal(made.file, again.file));
    CHECK(made.report.dialect == again.report.dialect);
    CHECK(contains(again.report.recognised_by, "its own metadata"));
    if (type == ElementType::f32) first = back;
  }
  return first;
}

// Returns the tensors of a LinformerLM of the package `linformer`. It has no padding token, so that any vocabulary
// fits.
std::vector<HandTensor> language_model(int64_t vocabulary) {
  std::vector<HandTensor> made;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    made.push_back(random_tensor(name, shape, 3));
  };
  const std::string layer = "linformer.net.layers.0.";
  add("token_emb.weight", {vocabulary, 4});
  add("pos_emb.weight", {6, 4});
  for (const char* name : {"to_q", "to_k", "to_v", "to_out"}) add(layer + "0.fn." + name + ".weight", {4, 4});
  for (const char* name : {"proj_k", "proj_v"}) add(layer + "0.fn." + name, {6, 2});
  add(layer + "0.fn.to_out.bias", {4});
  for (const char* name : {"0.norm.weight", "0.norm.bias", "1.norm.weight", "1.norm.bias"}) add(layer + name, {4});
  add_weight_bias(made, layer + "1.fn.w1", 8, 4);
  add_weight_bias(made, layer + "1.fn.w2", 4, 8);
  add_weight_bias(made, "to_logits", vocabulary, 4);
  return made;
}

}  // namespace

namespace {

int check_exports(const std::string& golden) {
  int files = 0, unknowable = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(golden)) {
    const std::string extension = entry.path().extension().string();
    if ((extension != ".pt" && extension != ".safetensors") || entry.path().stem() == "checkpoint_fullmodule") continue;
    CAPTURE(entry.path().string());
    const std::string bytes = read_file(entry.path());
    json settings = json::parse(read_file(entry.path().parent_path() / "meta.json"))["config"];
    if (settings.contains("vit")) {  // arguments of two classes
      const json vit = settings["vit"];
      settings = settings["linformer"];
      settings.update(vit);
    }
    const std::string config = settings.dump();
    if (entry.path().parent_path().string().ends_with("_no_params")) {
      CHECK(contains(conversion_error(bytes, config), "can't be known"));
      ++unknowable;
      continue;
    }
    check_values(bytes, check_round_trip(bytes, config), make(bytes, config));
    ++files;
  }
  std::printf("%d golden files converted, exported and converted again in 4 types, %d refused\n", files, unknowable);
  return files;
}

}  // namespace

TEST_CASE("every golden checkpoint is exported with its values, and converts to the same file") {
  CHECK(check_exports(golden_cases_folder()) >= 78);
}

TEST_CASE("all golden checkpoints are exported with their values" * doctest::test_suite("shared")) {
  if (const std::optional<std::string> golden = shared_path("golden")) CHECK(check_exports(*golden) >= 55);
}

TEST_CASE("small models of the other families are exported with their values too") {
  TinyFairseq tiny;
  std::vector<HandTensor> fairseq = tiny.tensors();
  add_head(fairseq, "mnli", 8, 8, 3);
  for (HandTensor& tensor : fairseq) tensor.name = "module." + tensor.name;
  const std::string wrapped = torch_zip(fairseq, tiny.settings());
  check_values(wrapped, check_round_trip(wrapped, ""), make(wrapped, ""));
  for (const TinyFamily family : {TinyFamily::bert, TinyFamily::roberta, TinyFamily::distilbert}) {
    TinyHuggingFace hugging_face;
    hugging_face.family = family;
    const std::string file = safetensors(hugging_face.tensors());
    const std::string config = hugging_face.config().dump();
    check_values(file, check_round_trip(file, config), make(file, config));
  }
  for (const std::string sharing : {"none", "headwise", "kv", "layerwise"}) {
    CAPTURE(sharing);
    TinyTatp22 tatp22;
    tatp22.sharing = sharing;
    const std::string file = torch_zip(tatp22.tensors());
    const std::string config = R"({"activation": "gelu"})";
    check_values(file, check_round_trip(file, config), make(file, config));
  }
}

TEST_CASE("every kind of tokenizer is exported, and converts to the same file") {
  const TemporaryFolder folder;
  const std::string model = folder.path("a.lnfr"), back = folder.path("b.safetensors"), again = folder.path("c.lnfr");
  const std::string checkpoint = folder.path("c.pt");
  std::ofstream(checkpoint, std::ios::binary) << torch_zip(language_model(2000));
  std::ofstream(folder.path("heads.json")) << R"({"heads": 2})";
  std::set<TokenizerKind> kinds;
  for (const auto& entry : std::filesystem::directory_iterator(test_data_path("tokenizers"))) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path().string());
    convert::ConvertOptions options;
    options.checkpoint = checkpoint;
    options.output = model;
    options.tokenizer = entry.path().string();
    options.config = folder.path("heads.json");
    convert::convert_checkpoint(options);
    kinds.insert(Model::load(model.c_str()).value()->description().tokenizer.kind);
    convert::export_checkpoint({model, back, false, {}});
    convert::ConvertOptions plain;
    plain.checkpoint = back;
    plain.output = again;
    convert::convert_checkpoint(plain);
    CHECK(read_file(model) == read_file(again));
  }
  CHECK(kinds ==
        std::set{TokenizerKind::byte_bpe, TokenizerKind::wordpiece, TokenizerKind::unigram, TokenizerKind::bpe});
}

TEST_CASE("a weight with a spectral norm is exported as the one weight that the model uses") {
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  const std::string weight = add_spectral_head(tensors);
  const std::string file = torch_zip(tensors, tiny.settings());
  const std::string back = check_round_trip(file, "");
  check_values(file, back, make(file, ""), {weight + "_orig", weight + "_u", weight + "_v"});
  CHECK(Checkpoint::open(as_bytes(back), "back").find(weight) != nullptr);
}

TEST_CASE("values of a tensor that a model never uses are exported as 0, and the report says so") {
  // In the port of fairseq to Hugging Face a projection has as many columns as there are rows of positions. No text
  // reaches the last columns.
  TinyHuggingFace tiny;
  tiny.family = TinyFamily::roberta;
  std::vector<HandTensor> tensors = tiny.tensors();
  for (int64_t layer = 0; layer < tiny.layers; ++layer) {
    for (const char* name : {"compress_k", "compress_v"}) {
      tensors.push_back(
          random_tensor("roberta.encoder.layer." + std::to_string(layer) + ".attention.self." + name + ".weight",
                        {2, tiny.positions}, 5));
    }
  }
  const std::string file = safetensors(tensors), config = tiny.config().dump();
  const Made made = make(file, config);
  CHECK(made.report.dialect == "fairseq-hf");
  convert::ExportReport report;
  const std::string bytes = exported(made.file, &report);
  const Checkpoint back = Checkpoint::open(as_bytes(bytes), "back");
  const convert::Tensor* cut = back.find("roberta.encoder.layer.0.attention.self.compress_k.weight");
  REQUIRE(cut != nullptr);
  CHECK(cut->shape == std::vector<uint64_t>{2, 9});
  const std::vector<float> values = values_of(back, *cut);
  const HandTensor& original = named(tensors, cut->name);
  for (size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i] == (i % 9 < 7 ? static_cast<float>(original.values[i]) : 0.f));
  }
  const auto noted = std::count_if(report.rows.begin(), report.rows.end(), [](const convert::ExportReport::Row& row) {
    return row.note == "4 values, which the model never uses, are 0";
  });
  CHECK(noted == 4);
  check_round_trip(file, config);
}

TEST_CASE("the matrix that all layers share is exported under its own name too") {
  TinyHuggingFace tiny;
  tiny.family = TinyFamily::roberta;
  std::vector<HandTensor> tensors = tiny.tensors();
  HandTensor matrix = random_tensor("roberta.encoder.compress_layer.weight", {2, tiny.positions}, 5);
  tensors.push_back(matrix);
  for (int64_t layer = 0; layer < tiny.layers; ++layer) {
    matrix.name = "roberta.encoder.layer." + std::to_string(layer) + ".attention.self.compress_k.weight";
    tensors.push_back(matrix);
  }
  // If the export lacked that name, the missing compress_v would be an error.
  json config = tiny.config();
  config["shared_kv_compressed"] = false;
  const std::string back = check_round_trip(safetensors(tensors), config.dump());
  CHECK(Checkpoint::open(as_bytes(back), "back").find("roberta.encoder.compress_layer.weight") != nullptr);
}

TEST_CASE("the exported file is plain safetensors in its types, order, alignment and metadata") {
  TinyFairseq tiny;
  const std::string file = torch_zip(tiny.tensors(), tiny.settings());
  const Made made = make(file, "", ElementType::bf16);
  const std::string back = exported(made.file);
  uint64_t length = 0;
  std::memcpy(&length, back.data(), sizeof length);
  CHECK(length % 8 == 0);
  const json header = json::parse(back.substr(8, length));
  CHECK(header["__metadata__"]["format"] == "pt");
  CHECK(header["__metadata__"]["linformer.dialect"] == "fairseq");
  CHECK(json::parse(header["__metadata__"]["linformer.settings"].get<std::string>())["encoder_attention_heads"] == 2);
  CHECK(!header["__metadata__"].contains("linformer.labels"));
  CHECK(!header["__metadata__"].contains("linformer.tokenizer"));
  std::set<std::string> types;
  for (const auto& item : header.items()) {
    const std::string& name = item.key();
    const json& fields = item.value();
    if (name == "__metadata__") continue;
    CAPTURE(name);
    types.insert(fields["dtype"]);
    CHECK(fields["data_offsets"][0].get<uint64_t>() % (fields["dtype"] == "F32" ? 4 : 2) == 0);
  }
  CHECK(types == std::set<std::string>{"BF16", "F32"});
}

TEST_CASE("settings that only a left-out tensor needs are kept") {
  // An example is linformer_quantize, which PyText's dialect asks for only if there is a bias.
  const auto file = [](const std::string& settings) {
    TinyFairseq tiny;
    return safetensors(tiny.tensors(), {{"linformer.settings", settings}});
  };
  const Converted made = converted(file(R"({\"encoder_attention_heads\": 2, \"of_a_tensor\": [1, \"x\"]})"));
  CHECK(json::parse(made.settings) == json{{"encoder_attention_heads", 2}, {"of_a_tensor", {1, "x"}}});
}

TEST_CASE("--config takes precedence over the settings that an exported file keeps") {
  TinyFairseq tiny;
  const std::string back = exported(make(torch_zip(tiny.tensors(), tiny.settings()), "").file);
  CHECK(converted(back).description().encoder.layers[0].attention.heads == 2);
  const Converted other = converted(back, R"({"encoder_attention_heads": 4})");
  CHECK(other.description().encoder.layers[0].attention.heads == 4);
  CHECK(json::parse(other.settings)["encoder_attention_heads"] == 4);
}

TEST_CASE("files that can't be exported and damaged metadata in exported files are refused") {
  TinyFairseq tiny;
  const Made made = make(torch_zip(tiny.tensors(), tiny.settings()), "");
  const auto refused = [](std::span<const std::byte> file) -> std::string {
    try {
      exported(file);
      return "";
    } catch (const convert::Error& error) {
      return error.what();
    }
  };
  CHECK(contains(refused(std::span<const std::byte>(made.file).first(100)), "bytes"));
  const std::pair<std::map<std::string, std::string>, const char*> texts[] = {
      {{{"linformer.settings", "{"}}, "not valid JSON"},
      {{{"linformer.settings", "[1]"}}, "not an object"},
      {{{"linformer.settings", R"({\"encoder_attention_heads\": \"two\"})"}}, "not a whole number"}};
  for (const auto& text : texts) {
    CAPTURE(std::string(text.second));
    CHECK(contains(conversion_error(safetensors(tiny.tensors(), text.first)), text.second));
  }
  // A dialect in the metadata that doesn't fit or is unknown is ignored.
  for (const char* dialect : {"xformers", "of-a-later-version", "tatp22"}) {
    CHECK(converted(safetensors(tiny.tensors(), {{"linformer.dialect", dialect}}), R"({"encoder_attention_heads": 2})")
              .report.dialect == "fairseq");
  }
}

TEST_CASE("base64: bytes of all lengths are encoded and decoded, and malformed text is refused") {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 600; ++i) {
    const std::string text = convert::to_base64(bytes);
    CHECK(text.size() == (bytes.size() + 2) / 3 * 4);
    const auto back = convert::from_base64(text);
    REQUIRE(back.has_value());
    CHECK(*back == bytes);
    bytes.push_back(static_cast<std::byte>(i * 7));
  }
  CHECK(convert::to_base64(std::as_bytes(std::span("ab", 2))) == "YWI=");
  for (const char* bad : {"YWI", "YW=I", "YWJ=", "Y===", "====", "YWI=YWI=", "YW I", "YWI-"}) {
    CAPTURE(std::string(bad));
    CHECK(!convert::from_base64(bad).has_value());
  }
}

}  // namespace linformer_test::export_test
