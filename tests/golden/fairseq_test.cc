// Converts every fairseq golden case from each of its file formats, runs it on each backend and instruction set of this
// machine, and compares the outputs with the original implementation's float64 outputs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/description.h"
#include "golden/convert.h"
#include "linformer/session.h"
#include "support/engines.h"
#include "support/npz.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace linformer_test::fairseq_test {
namespace {

using namespace linformer;
using Arrays = std::map<std::string, NpyArray>;

// Absolute tolerances. The float32 outputs of the original implementation differ from its float64 outputs by up to a
// third of these.
constexpr double mlm_tolerance = 1e-4, hidden_tolerance = 5e-5, class_tolerance = 1e-5;

struct Worst {
  double mlm = 0, hidden = 0, classes = 0;
  int values = 0;
};

double largest_difference(const std::vector<float>& ours, const std::vector<double>& theirs) {
  REQUIRE(ours.size() == theirs.size());
  double worst = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double difference = std::abs(ours[i] - theirs[i]);
    if (!(difference <= worst)) worst = difference;  // The condition is also true for NaN.
  }
  return worst;
}

struct RunInputs {
  std::vector<int32_t> ids;
  int64_t texts = 0, length = 0;
  std::vector<Tokens> tokens() const {
    std::vector<Tokens> spans;
    for (int64_t t = 0; t < texts; ++t) spans.push_back({ids.data() + t * length, static_cast<size_t>(length)});
    return spans;
  }
};

RunInputs inputs_of(const NpyArray& array) {
  RunInputs inputs;
  for (int64_t id : array.values<int64_t>()) inputs.ids.push_back(static_cast<int32_t>(id));
  inputs.texts = array.shape.at(0);
  inputs.length = array.shape.at(1);
  return inputs;
}

void compare_run(const std::shared_ptr<const Model>& model, const Engine& engine, Padding padding, int threads,
                 const std::string& run, const Arrays& arrays, Worst* worst) {
  const ModelDescription& description = model->description();
  const RunInputs inputs = inputs_of(arrays.at(run + ".tokens"));
  SessionOptions options;
  options.cpu.backend = engine.backend;
  options.cpu.isa = engine.isa;
  options.cuda.device = engine.device;
  options.run.padding = padding;
  options.cpu.threads = threads;
  options.memory.max_batch = inputs.texts;
  Result<Session> session = Session::create(model, options);
  REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
  const std::vector<Tokens> tokens = inputs.tokens();
  const size_t rows = inputs.ids.size(), d = description.encoder.d_model;
  const auto execute = [&](const Output& output) {
    const Status status = session->run(tokens, output);
    REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  };
  const auto record = [&](const std::string& key, double difference, double tolerance, double* slot) {
    INFO(run << "." << key << " on " << name_of(engine.backend) << " " << name_of(engine.isa));
    CHECK(difference <= tolerance);
    *slot = std::max(*slot, difference);
    ++worst->values;
  };

  for (int layer = -1; layer <= static_cast<int>(description.encoder.layers.size()); ++layer) {
    const std::string key = layer < 0 ? "features" : "hidden." + std::to_string(layer);
    const auto expected = arrays.find(run + "." + key + ".f64");
    if (expected == arrays.end()) continue;
    std::vector<float> hidden(rows * d, NAN);
    execute(Output::hidden(hidden, layer));
    record(key, largest_difference(hidden, expected->second.values<double>()), hidden_tolerance, &worst->hidden);
  }
  if (const auto expected = arrays.find(run + ".mlm_logits.f64"); expected != arrays.end()) {
    std::vector<MaskPosition> positions;
    for (int64_t t = 0; t < inputs.texts; ++t) {
      for (int64_t i = 0; i < inputs.length; ++i) positions.push_back({t, i});
    }
    std::vector<float> logits(rows * description.encoder.vocab_size, NAN);
    execute(Output::masked_lm(logits, positions));
    record("mlm_logits", largest_difference(logits, expected->second.values<double>()), mlm_tolerance, &worst->mlm);
  }
  for (size_t head = 0; head < description.heads.size(); ++head) {
    const std::string key = "cls." + description.heads[head].name;
    const auto expected = arrays.find(run + "." + key + ".f64");
    REQUIRE_MESSAGE(expected != arrays.end(), key);
    std::vector<float> logits(static_cast<size_t>(expected->second.size()), NAN);
    execute(Output::logits(logits, static_cast<int>(head)));
    record(key, largest_difference(logits, expected->second.values<double>()), class_tolerance, &worst->classes);
  }
}

// Compares all cases in this folder. Returns the number of checkpoint files.
int check_cases(const std::string& folder) {
  std::map<std::string, Worst> table;
  std::vector<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  const linformer_test::TemporaryFolder work;
  const std::string model_path = work.path("model.lnfr");
  int files = 0;
  for (const auto& directory : cases) {
    const Arrays arrays = linformer_test::read_npz((directory / "io.npz").string());
    for (const char* name : {"checkpoint.pt", "checkpoint_legacy.pt", "checkpoint.safetensors"}) {
      if (!std::filesystem::exists(directory / name)) continue;
      CAPTURE((directory / name).string());
      std::string arguments = in_quotes((directory / name).string()) + " -o " + in_quotes(model_path) + " --quiet";
      // A safetensors file has no configuration, so the number of heads is given as a user would give it.
      const std::string config = model_path + ".json";
      if (std::string(name) == "checkpoint.safetensors") {
        std::FILE* file = std::fopen(config.c_str(), "w");
        REQUIRE(file != nullptr);
        std::fputs("{\"encoder_attention_heads\": 4}\n", file);
        std::fclose(file);
        arguments += " --config " + in_quotes(config);
      }
      REQUIRE(linformer_test::run_converter(arguments, work.path("errors")) == 0);
      std::filesystem::remove(config);
      ++files;
      auto model = Model::load(model_path.c_str());
      REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
      for (const Engine& engine : linformer_test::engines()) {
        Worst& worst = table[std::string(name_of(engine.backend)) + " " + name_of(engine.isa)];
        for (const auto& [key, array] : arrays) {
          const size_t dot = key.find(".tokens");
          if (dot == std::string::npos) continue;
          const std::string run = key.substr(0, dot);
          const bool padded = run.find("pad") != std::string::npos;
          compare_run(*model, engine, Padding::keep, 1, run, arrays, &worst);
          if (!padded) compare_run(*model, engine, Padding::strip, 2, run, arrays, &worst);
        }
      }
    }
  }
  std::printf("largest absolute error against float64, %d checkpoint files\n", files);
  std::printf("%-18s %12s %12s %12s %8s\n", "engine", "mlm logits", "hidden", "classes", "arrays");
  for (const auto& [engine, worst] : table) {
    std::printf("%-18s %12.2e %12.2e %12.2e %8d\n", engine.c_str(), worst.mlm, worst.hidden, worst.classes,
                worst.values);
  }
  return files;
}

TEST_CASE("the fairseq golden cases of the repository equal the original implementation") {
  CHECK(check_cases(linformer_test::golden_cases_folder() + "/fairseq") == 5);
}

TEST_CASE("all fairseq golden cases equal the original implementation" * doctest::test_suite("shared")) {
  if (const auto folder = linformer_test::shared_path("golden/fairseq")) CHECK(check_cases(*folder) >= 15);
}

}  // namespace

}  // namespace linformer_test::fairseq_test
