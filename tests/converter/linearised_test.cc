// Tests encoders that apps/research/linearise linearised: what the setting `linformer` and the tensors
// linformer.layers.I.* become, and the export.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/linearised_encoder.h"
#include "converter/tiny_fairseq.h"
#include "converter/workplace.h"
#include "linformer/session.h"
#include "support/files.h"
#include "support/outputs.h"
#include "support/shared_data.h"

namespace linformer_test::linearised_test {

using namespace linformer;
using nlohmann::json;
using Encoder = LinearisedEncoder;

namespace {

const AttentionDescription& attention_of(const Converted& made, size_t layer) {
  return made.description().encoder.layers[layer].attention;
}

const Projection& projection(const Converted& made, const Array<uint32_t>& list) {
  REQUIRE(list.size() == 1);
  return made.description().encoder.projections[list[0]];
}

// Returns the rows that the encoder gives for the tokens.
std::vector<float> rows_of(const Converted& made, const std::vector<int32_t>& tokens) {
  SessionOptions options;
  options.cpu.threads = 1;
  Result<Session> session = Session::create(made.model, options);
  REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
  const Input inputs[] = {{.tokens = tokens}};
  std::vector<float> rows = nan_buffer_for(*session, inputs, Output::hidden({}));
  const Status status = session->run(inputs, Output::hidden(rows));
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  return rows;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN counts as largest
  }
  return largest;
}

}  // namespace

TEST_CASE("each layer of a linearised encoder attends as the setting says") {
  const Encoder encoder = Encoder::with_every_kind();
  const Converted made = encoder.convert();
  REQUIRE(made.description().encoder.layers.size() == 4);
  CHECK(made.report.dialect == "hugging-face");
  CHECK(projection(made, attention_of(made, 0).key_projections).kind == ProjectionKind::none);
  CHECK(attention_of(made, 0).window == 0);
  CHECK(attention_of(made, 0).row_mask == RowMask::excluded);

  // Layer 1 has no matrix of its own for values, so that E = F.
  const AttentionDescription& pure = attention_of(made, 1);
  CHECK(pure.window == 0);
  CHECK(pure.row_mask == RowMask::none);
  CHECK(pure.value_projections == pure.key_projections);
  check_values(made, projection(made, pure.key_projections).weight, encoder.tensors[encoder.tensors.size() - 3]);

  const AttentionDescription& both = attention_of(made, 2);
  CHECK(both.window == 2);
  CHECK(both.row_mask == RowMask::none);
  CHECK(both.value_projections != both.key_projections);
  const Projection& keys = projection(made, both.key_projections);
  check_values(made, keys.weight, encoder.tensors[encoder.tensors.size() - 2]);
  check_values(made, projection(made, both.value_projections).weight, encoder.tensors.back());
  for (const auto* list : {&both.key_projections, &both.value_projections, &pure.key_projections}) {
    const Projection& e = projection(made, *list);
    CHECK(e.kind == ProjectionKind::linear);
    CHECK(e.order == ProjectionOrder::after_linear);
    CHECK(e.k == 3);
    CHECK(e.bias == absent);
    CHECK(e.length_scale == LengthScale::none);
    const bool has_exact_rows = list != &pure.key_projections;
    CHECK(e.span == (has_exact_rows ? 8u : 0u));
    CHECK(e.exact_tokens == (has_exact_rows ? Array<uint32_t>{1, 5} : Array<uint32_t>{}));
  }

  const AttentionDescription& window = attention_of(made, 3);
  CHECK(window.window == 1);
  CHECK(window.row_mask == RowMask::excluded);
  CHECK(projection(made, window.key_projections).kind == ProjectionKind::none);
  CHECK(made.description().encoder.projections.size() == 4);

  CHECK(fact(made.report, "attention") == "linearised in 3 of 4 layers, else full");
  CHECK(fact(made.report, "compressed length (k)") == "3");
  CHECK(fact(made.report, "linearised window") == "1 to 2 tokens on each side");
  CHECK(fact(made.report, "projections") == "3 distinct for 4 uses");
  CHECK(std::count_if(made.report.mapped.begin(), made.report.mapped.end(), [](const auto& mapping) {
          return mapping.role == "layers[2].attention.value_projection" &&
                 mapping.tensor == "linformer.layers.2.values" && mapping.shape == "[3, 9] f32";
        }) == 1);
  CHECK(json::parse(made.settings)["linformer"] == encoder.config["linformer"]);
}

TEST_CASE("the teacher's tensors are converted in the same way as without the setting") {
  Encoder teacher = Encoder::tiny();
  const Converted before = teacher.convert(), after = Encoder::with_every_kind().convert();
  const Array<TensorDescription>&old = before.description().tensors, &tensors = after.description().tensors;
  REQUIRE(tensors.size() == old.size() + 3);
  for (size_t i = 0; i < old.size(); ++i) {
    CHECK(tensors[i].name == old[i].name);
    CHECK(tensors[i].checksum == old[i].checksum);
  }
  // A setting that changes no layer changes only the settings in the file.
  teacher.linearise(json::array({nullptr, nullptr, nullptr, nullptr}), 9);
  const Converted same = teacher.convert();
  CHECK(same.description().encoder.projections.size() == 1);
  CHECK(fact(same.report, "attention") == "full");
}

TEST_CASE("a matrix that several layers share is stored once, and layers that differ have different projections") {
  Encoder encoder = Encoder::tiny();
  const json both = {{"k", 2}, {"window", 1}}, spanning = {{"k", 2}, {"window", 1}, {"span", 4}};
  encoder.linearise({both, both, spanning, {{"k", 2}, {"window", 0}}}, 9);
  const HandTensor shared = named(encoder.tensors, matrix_name(0, "keys"));
  for (size_t i = 0; i < 4; ++i) {
    for (const char* side : {"keys", "values"}) {
      const std::string name = matrix_name(i, side);
      const auto found = std::find_if(encoder.tensors.begin(), encoder.tensors.end(),
                                      [&](const HandTensor& tensor) { return tensor.name == name; });
      if (found != encoder.tensors.end()) found->values = shared.values;
    }
  }
  const Converted made = encoder.convert();
  // No layer has full attention, so that there is no projection for it.
  REQUIRE(made.description().encoder.projections.size() == 2);
  CHECK(made.description().encoder.projections[0].weight == made.description().encoder.projections[1].weight);
  CHECK(made.description().encoder.projections[1].span == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(attention_of(made, i).key_projections == Array<uint32_t>{i == 2 ? 1u : 0u});
    CHECK(attention_of(made, i).value_projections == attention_of(made, i).key_projections);
  }
  CHECK(fact(made.report, "attention") == "linearised in all 4 layers");
  CHECK(fact(made.report, "projections") == "2 distinct for 8 uses");
}

TEST_CASE("a matrix that was saved once under both names compresses keys and values") {
  // save_model of safetensors drops the second name of a tensor and keeps it in the metadata.
  Encoder encoder = Encoder::tiny(TinyFamily::bert, 2);
  encoder.linearise({nullptr, {{"k", 2}, {"window", 1}}}, 9);
  const Converted made = converted(safetensors(encoder.tensors, {{matrix_name(1, "values"), matrix_name(1, "keys")}}),
                                   encoder.config.dump());
  CHECK(attention_of(made, 1).value_projections == attention_of(made, 1).key_projections);
  check_values(made, projection(made, attention_of(made, 1).key_projections).weight, encoder.tensors.back());
  const auto mapped = std::find_if(made.report.mapped.begin(), made.report.mapped.end(),
                                   [](const auto& mapping) { return mapping.tensor == matrix_name(1, "values"); });
  REQUIRE(mapped != made.report.mapped.end());
  CHECK(mapped->role == "layers[1].attention.value_projection");
}

TEST_CASE("a matrix has a column for each position of the longest text, or more") {
  // RoBERTa has 9 rows of positions, of which texts use 7.
  const json layers = {{{"k", 2}, {"window", 1}}, nullptr};
  for (const int64_t columns : {7, 9}) {
    Encoder encoder = Encoder::tiny(TinyFamily::roberta, 2);
    encoder.linearise(layers, columns);
    const Converted made = encoder.convert();
    CHECK(made.description().encoder.max_tokens == 7);
    const Projection& keys = projection(made, attention_of(made, 0).key_projections);
    const HandTensor& matrix = named(encoder.tensors, matrix_name(0, "keys"));
    const std::vector<float> values = made.values(keys.weight);
    REQUIRE(values.size() == 2 * 7);
    for (size_t i = 0; i < values.size(); ++i) {
      CHECK(values[i] == static_cast<float>(matrix.values[i / 7 * static_cast<size_t>(columns) + i % 7]));
    }
  }
  Encoder encoder = Encoder::tiny(TinyFamily::roberta, 2);
  encoder.linearise(layers, 6);
  check_sentence(encoder.error(), {"linformer.layers.0.keys", "[2, 6] f32", "texts of up to 7 tokens",
                                   "config '{\"max_seq_length\": 6}'"});
  encoder.config["max_seq_length"] = 6;
  CHECK(encoder.convert().description().encoder.max_tokens == 6);
}

TEST_CASE("with E = 1 and a text of N tokens, a linearised layer gives what the teacher gives") {
  const std::vector<int32_t> tokens = {2, 5, 7, 3, 9, 4, 10, 6, 8};
  const std::vector<float> expected = rows_of(Encoder::tiny(TinyFamily::bert, 2).convert(), tokens);
  for (const json& entry : {json{{"k", 9}, {"window", 0}}, json{{"k", 0}, {"window", 8}}}) {
    CAPTURE(entry.dump());
    Encoder encoder = Encoder::tiny(TinyFamily::bert, 2);
    encoder.linearise({entry, entry}, 9);
    for (HandTensor& tensor : encoder.tensors) {
      if (!tensor.name.starts_with("linformer.")) continue;
      for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] = i / 9 == i % 9 ? 1 : 0;
    }
    CHECK(largest_difference(rows_of(encoder.convert(), tokens), expected) < 1e-5);
  }
  Encoder narrow = Encoder::tiny(TinyFamily::bert, 2);
  narrow.linearise({{{"k", 0}, {"window", 1}}, nullptr}, 9);
  CHECK(largest_difference(rows_of(narrow.convert(), tokens), expected) > 1e-3);
}

namespace {

// A folder with a checkpoint, and the files to which it is converted and exported.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(place_.path("model")); }
  std::string path(const std::string& name = "") const { return place_.path("model/" + name); }
  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write_file(path(name), bytes);
  }
  std::string convert(const std::string& checkpoint, ElementType type = ElementType::f32) const {
    convert::ConvertOptions options;
    options.checkpoint = checkpoint;
    options.output = place_.path("out.lnfr");
    options.weight_type = type;
    convert::convert_checkpoint(options);
    return read_file(options.output);
  }
  // Converts the folder, and checks that the model file is exported and converted to the same file again. Returns the
  // bytes of the model file.
  std::string round_trip(ElementType type) const {
    const std::string first = convert(path(), type), back = place_.path("back.safetensors");
    convert::export_checkpoint({place_.path("out.lnfr"), back, false, {}});
    CHECK(convert(back, type) == first);
    return first;
  }
  Converted load() const {
    Converted made;
    auto loaded = Model::load(place_.path("out.lnfr").c_str());
    REQUIRE_MESSAGE(loaded.ok(), std::string(loaded.status().message()));
    made.model = loaded.value();
    return made;
  }
  std::vector<HandTensor> exported() const { return tensors_of(place_.path("back.safetensors")); }

 private:
  Workplace place_;
};

}  // namespace

TEST_CASE("every family of encoders can be linearised, converted and exported") {
  for (const LinearisedTeacher& teacher : linearised_teachers()) {
    CAPTURE(std::string(teacher.name));
    Encoder encoder = Encoder::golden(teacher.name);
    const EncoderDescription description = encoder.convert().description().encoder;
    json layers = json::array();
    for (size_t i = 0; i < description.layers.size(); ++i) {
      const bool pure = i % 2 == 1;
      layers.push_back({{"k", pure && teacher.has_bias ? 0 : 2}, {"window", pure && !teacher.has_bias ? 0 : 2}});
      if (!pure) layers.back().update({{"exact_tokens", {4}}, {"span", description.max_tokens}});
      if (teacher.has_windows && (i == 1 || i == 2)) layers.back() = nullptr;
    }
    encoder.linearise(layers, description.max_tokens);
    const Folder folder;
    folder.write("config.json", encoder.config.dump());
    folder.write("model.safetensors", encoder.bytes());
    for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::int8}) {
      CAPTURE(std::string(name_of(type)));
      folder.round_trip(type);
    }
    folder.round_trip(ElementType::f32);
    const Converted made = folder.load();
    const std::vector<float> rows = rows_of(made, {2, 5, 4, 7, 3, 9, 6});
    CHECK(std::all_of(rows.begin(), rows.end(), [](float value) { return std::isfinite(value); }));
    for (size_t i = 0; i < layers.size(); ++i) {
      const AttentionDescription &attention = attention_of(made, i), &before = description.layers[i].attention;
      CHECK(attention.rotary_base == before.rotary_base);
      CHECK((attention.position_bias != absent) == teacher.has_bias);
      if (layers[i].is_null()) {
        CHECK(attention.window == before.window);
        continue;
      }
      CHECK(attention.window == layers[i]["window"].get<uint32_t>());
      CHECK(projection(made, attention.key_projections).k == layers[i]["k"].get<uint32_t>());
    }
    const std::vector<HandTensor> back = folder.exported();
    for (const HandTensor& tensor : encoder.tensors) {
      if (!tensor.name.starts_with("linformer.")) continue;
      const auto found =
          std::find_if(back.begin(), back.end(), [&](const HandTensor& other) { return other.name == tensor.name; });
      REQUIRE(found != back.end());
      CHECK(found->shape == tensor.shape);
      CHECK(found->values == tensor.values);
    }
  }
}

TEST_CASE(
    "folders of sentence-transformers, checkpoints in several files and prefixes are read as without the setting") {
  const Encoder encoder = Encoder::with_every_kind();
  const Folder folder;
  folder.write("config.json", encoder.config.dump());
  folder.write("model.safetensors", encoder.bytes());
  const std::string whole = folder.round_trip(ElementType::f32);

  const Folder sharded;
  sharded.write("config.json", encoder.config.dump());
  json map = json::object();
  std::vector<HandTensor> parts[2];
  for (size_t i = 0; i < encoder.tensors.size(); ++i) {
    parts[i % 2].push_back(encoder.tensors[i]);
    map[encoder.tensors[i].name] = "part" + std::to_string(i % 2) + ".safetensors";
  }
  for (size_t i = 0; i < 2; ++i) sharded.write("part" + std::to_string(i) + ".safetensors", safetensors(parts[i]));
  sharded.write("model.safetensors.index.json", json{{"weight_map", map}}.dump());
  CHECK(sharded.round_trip(ElementType::f32) == whole);

  folder.write("sentence_bert_config.json", R"({"max_seq_length": 8})");
  folder.write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  folder.write("2_Dense/config.json", R"({"activation_function": "torch.nn.modules.linear.Identity"})");
  std::vector<HandTensor> dense;
  add_weight_bias(dense, "linear", 4, 8);
  folder.write("2_Dense/model.safetensors", safetensors(dense));
  json modules = json::array();
  for (const auto& [path, type] : {std::pair("", "Transformer"), std::pair("1_Pooling", "Pooling"),
                                   std::pair("2_Dense", "Dense"), std::pair("3_Normalize", "Normalize")}) {
    modules.push_back({{"path", path}, {"type", std::string("sentence_transformers.models.") + type}});
  }
  folder.write("modules.json", modules.dump());
  folder.round_trip(ElementType::f32);
  const Converted made = folder.load();
  CHECK(made.description().embedding.dense.present());
  CHECK(made.description().encoder.max_tokens == 8);
  CHECK(attention_of(made, 2).window == 2);
  CHECK(projection(made, attention_of(made, 2).key_projections).k == 3);

  // Here the names of tensors begin with a prefix of a training program, and in the second case another model is beside
  // this one.
  for (const bool beside : {false, true}) {
    CAPTURE(beside);
    Encoder student = Encoder::with_every_kind();
    for (HandTensor& tensor : student.tensors) {
      if (!tensor.name.starts_with("linformer.")) tensor.name = "student." + tensor.name;
    }
    if (beside) student.tensors.insert(student.tensors.begin(), random_tensor("loss.scale", {3}, 1));
    const Converted other = student.convert();
    CHECK(is_left_out(other.report.left_out, "loss.scale") == beside);
    const Projection& keys = projection(other, attention_of(other, 2).key_projections);
    check_values(other, keys.weight, named(student.tensors, matrix_name(2, "keys")));
  }
}

}  // namespace linformer_test::linearised_test
