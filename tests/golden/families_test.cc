// Converts every golden case except fairseq's from each of its file formats, runs it on each backend and instruction
// set, and compares the outputs with the original implementations' float64 outputs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/description.h"
#include "golden/convert.h"
#include "golden/family_case.h"
#include "support/engines.h"
#include "support/outputs.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace linformer_test::families_test {
namespace {

using namespace linformer;

// Absolute tolerances. The float32 outputs of the original implementations differ from their float64 outputs by up to a
// third of these.
constexpr double vocabulary_tolerance = 1e-4, hidden_tolerance = 5e-5, class_tolerance = 1e-5;

// Returns the tolerance of |ours - theirs| / |theirs| of an array if the weights are in low precision. It is large,
// because the golden models have widths around 32 and rounding errors hardly average out. `linformer compare` measures
// the loss of trained models.
double relative_tolerance(ElementType type) {
  return type == ElementType::int8 ? 0.15 : type == ElementType::f16 ? 0.02 : 0.08;
}

struct Worst {
  double vocabulary = 0, hidden = 0, classes = 0;
  int values = 0;
};

class Comparison {
 public:
  Comparison(std::shared_ptr<const Model> model, ElementType type, const FamilyCase& c, const Engine& engine,
             int threads, Worst* worst)
      : model_(std::move(model)), type_(type), case_(c), engine_(engine), threads_(threads), worst_(*worst) {}

  void run(const std::string& name) {
    run_ = name;
    const ModelDescription& description = model_->description();
    if (description.has_decoder()) return encoder_decoder();
    const bool pairs = case_.arrays.contains(name + ".tokens0");
    const FamilyInputs inputs = linformer_test::read_inputs(case_, name, pairs ? "tokens0" : "tokens",
                                                            linformer_test::max_text_tokens(description.encoder));
    Session session = create(inputs, Part::encoder);
    for (const char* key : {"features", "out"}) compare_hidden(session, inputs, -1, key);
    if (pairs) compare_pair_features(session, inputs);
    // In tatp22's models, attention and feed-forward are two separate layers.
    const int step = case_.family == "tatp22" ? 2 : 1;
    for (int layer = 0; layer <= static_cast<int>(description.encoder.layers.size()); ++layer) {
      compare_hidden(session, inputs, layer, "hidden." + std::to_string(layer * step));
    }
    const bool classifies = !description.heads.empty();
    if (classifies) compare_classes(session, inputs);
    compare_vocabulary(session, inputs, classifies ? "mlm_logits" : "logits");
  }

 private:
  Session create(const FamilyInputs& inputs, Part part) const {
    SessionOptions options;
    options.cpu.backend = engine_.backend;
    options.cpu.isa = engine_.isa;
    options.cuda.device = engine_.device;
    options.run.padding = Padding::keep;
    options.cpu.threads = threads_;
    options.memory.max_batch = static_cast<int64_t>(inputs.inputs.size());
    options.run.part = part;
    Result<Session> session = Session::create(model_, options);
    REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
    return std::move(session.value());
  }

  const NpyArray* expected(const std::string& key) const {
    const auto found = case_.arrays.find(run_ + "." + key + ".f64");
    return found == case_.arrays.end() ? nullptr : &found->second;
  }

  static void execute(Session& session, const FamilyInputs& inputs, const Output& output) {
    const Status status = session.run(inputs.inputs, output);
    REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
#if defined(LINFORMER_CUDA_SIMULATED)
    // The bits must be the same if the simulated device runs its threads in reverse order.
    const std::vector<float> forwards(output.values.begin(), output.values.end());
    cuda::Simulated::backwards = true;
    const Status again = session.run(inputs.inputs, output);
    cuda::Simulated::backwards = false;
    REQUIRE_MESSAGE(again.ok(), std::string(again.message()));
    CHECK(std::memcmp(forwards.data(), output.values.data(), output.values.size_bytes()) == 0);
#endif
  }

  // Returns the number of rows in the hidden states of the text with index `text`.
  static int64_t rows_of(const Session& session, const FamilyInputs& inputs, size_t text) {
    return session.shape(Output::hidden({}), std::span(inputs.inputs).subspan(text, 1))->rows;
  }

  void record(const std::string& key, const std::vector<float>& ours, const std::vector<double>& theirs,
              double tolerance, double* slot) {
    INFO(case_.family << "/" << case_.name << " " << run_ << "." << key << " on " << label_of(engine_));
    REQUIRE(ours.size() == theirs.size());
    ++worst_.values;
    double largest = 0;
    if (type_ != ElementType::f32) {
      double squares = 0, all = 0;
      for (size_t i = 0; i < ours.size(); ++i) {
        squares += (static_cast<double>(ours[i]) - theirs[i]) * (static_cast<double>(ours[i]) - theirs[i]);
        all += theirs[i] * theirs[i];
      }
      const double relative = std::sqrt(squares / std::max(all, 1e-30));
      CHECK(relative <= relative_tolerance(type_));
      *slot = std::max(*slot, relative);
      return;
    }
    for (size_t i = 0; i < ours.size(); ++i) {
      const double difference = std::abs(static_cast<double>(ours[i]) - theirs[i]);
      if (!(difference <= largest)) largest = difference;  // The condition is also true for NaN.
    }
    CHECK(largest <= tolerance);
    *slot = std::max(*slot, largest);
  }

  // Returns the first `shown` of the `rows` rows of each text, or all rows if `shown` is 0.
  static std::vector<float> cut(const std::vector<float>& values, size_t texts, int64_t rows, int64_t shown) {
    if (shown == 0 || shown == rows) return values;
    const size_t width = values.size() / texts / static_cast<size_t>(rows);
    std::vector<float> kept;
    for (size_t t = 0; t < texts; ++t) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(t * static_cast<size_t>(rows) * width);
      kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(static_cast<size_t>(shown) * width));
    }
    return kept;
  }

  std::vector<float> hidden_of(Session& session, const FamilyInputs& inputs, int layer) const {
    std::vector<float> hidden = linformer_test::nan_buffer_for(session, inputs.inputs, Output::hidden({}, layer));
    execute(session, inputs, Output::hidden(hidden, layer));
    return hidden;
  }

  void compare_hidden(Session& session, const FamilyInputs& inputs, int layer, const std::string& key) {
    const NpyArray* theirs = expected(key);
    if (theirs == nullptr) return;
    std::vector<float> ours = hidden_of(session, inputs, layer);
    if (layer < 0) ours = cut(ours, inputs.inputs.size(), rows_of(session, inputs, 0), inputs.shown);
    record(key, ours, theirs->values<double>(), hidden_tolerance, &worst_.hidden);
  }

  void compare_pair_features(Session& session, const FamilyInputs& inputs) {
    const std::vector<float> both = hidden_of(session, inputs, -1);
    const size_t texts = inputs.inputs.size(), each = both.size() / texts;
    for (size_t side = 0; side < 2; ++side) {
      const std::string key = "features" + std::to_string(side);
      std::vector<float> ours;
      for (size_t t = side; t < texts; t += 2) {
        const auto begin = both.begin() + static_cast<std::ptrdiff_t>(t * each);
        ours.insert(ours.end(), begin, begin + static_cast<std::ptrdiff_t>(each));
      }
      REQUIRE(expected(key) != nullptr);
      record(key, ours, expected(key)->values<double>(), hidden_tolerance, &worst_.hidden);
    }
  }

  void compare_classes(Session& session, const FamilyInputs& inputs) {
    const NpyArray* theirs = expected("logits");
    REQUIRE(theirs != nullptr);
    std::vector<float> logits(static_cast<size_t>(theirs->size()), NAN);
    execute(session, inputs, Output::logits(logits));
    record("logits", logits, theirs->values<double>(), class_tolerance, &worst_.classes);
    const NpyArray* probabilities = expected("probabilities");
    if (probabilities == nullptr) return;
    execute(session, inputs, Output::probabilities(logits));
    record("probabilities", logits, probabilities->values<double>(), class_tolerance, &worst_.classes);
  }

  void compare_vocabulary(Session& session, const FamilyInputs& inputs, const std::string& key) {
    const NpyArray* theirs = expected(key);
    if (theirs == nullptr) return;
    const size_t vocabulary = static_cast<size_t>(theirs->shape.back());
    std::vector<MaskPosition> positions;
    for (size_t t = 0; t < inputs.inputs.size(); ++t) {
      const int64_t rows = inputs.shown > 0 ? inputs.shown : rows_of(session, inputs, t);
      for (int64_t i = 0; i < rows; ++i) positions.push_back({static_cast<int64_t>(t), i});
    }
    std::vector<float> logits(positions.size() * vocabulary, NAN);
    execute(session, inputs, Output::masked_lm(logits, positions));
    record(key, logits, theirs->values<double>(), vocabulary_tolerance, &worst_.vocabulary);
  }

  void encoder_decoder() {
    const FamilyInputs encoder_inputs =
        linformer_test::read_inputs(case_, run_, "enc_tokens", model_->description().encoder.max_tokens);
    Session encoder = create(encoder_inputs, Part::encoder);
    const std::vector<float> states = hidden_of(encoder, encoder_inputs, -1);
    FamilyInputs inputs =
        linformer_test::read_inputs(case_, run_, "dec_tokens", model_->description().decoder.max_tokens);
    for (size_t t = 0; t < inputs.inputs.size(); ++t) {
      const size_t each = states.size() / inputs.inputs.size();
      inputs.inputs[t].encoder_states = std::span<const float>(states).subspan(t * each, each);
    }
    Session decoder = create(inputs, Part::decoder);
    compare_vocabulary(decoder, inputs, "out");
  }

  std::shared_ptr<const Model> model_;
  const ElementType type_;
  const FamilyCase& case_;
  const Engine engine_;
  const int threads_;
  Worst& worst_;
  std::string run_;
};

struct Conversion {
  int status = 0;
  std::string said;
};

Conversion convert(const std::string& checkpoint, const std::string& config, const std::string& output,
                   ElementType type = ElementType::f32) {
  const std::string said = output + ".said";
  Conversion conversion;
  conversion.status =
      linformer_test::run_converter(in_quotes(checkpoint) + " -o " + in_quotes(output) + " --force --quiet --dtype " +
                                        name_of(type) + " --config " + in_quotes(config),
                                    said);
  conversion.said = linformer_test::read_file(said);
  std::filesystem::remove(said);
  return conversion;
}

struct Totals {
  int files = 0, refused = 0;
  std::map<std::string, Worst> table;  // The key is "FAMILY|ENGINE".
};

// Converts the checkpoint to a low-precision type, computes in that type, and compares the outputs.
void check_low_precision(const FamilyCase& c, const std::string& checkpoint, const std::string& model_path,
                         ElementType type, Totals* totals) {
  // The model in f32 is still loaded, and Windows refuses to replace a mapped file, so each type has its own file.
  const std::string narrow_path = model_path + "." + name_of(type);
  const Conversion conversion = convert(checkpoint, model_path + ".json", narrow_path, type);
  CHECK_MESSAGE(conversion.status == 0, conversion.said);
  auto model = Model::load(narrow_path.c_str());
  REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
  for (const Engine& engine : linformer_test::engines()) {
    if (engine.backend != BackendKind::native) continue;
    Worst& worst = totals->table[c.family + "|" + name_of(type) + " " + label_of(engine)];
    for (const std::string& run : c.runs) Comparison(*model, type, c, engine, 2, &worst).run(run);
  }
}

void check_case(const std::filesystem::path& folder, Totals* totals) {
  const FamilyCase c = linformer_test::read_case(folder);
  const linformer_test::TemporaryFolder work;
  const std::string model_path = work.path("model.lnfr");
  std::ofstream(model_path + ".json") << c.config;
  bool narrowed = false;
  for (const char* name :
       {"checkpoint.pt", "checkpoint_legacy.pt", "checkpoint.safetensors", "checkpoint_fullmodule.pt"}) {
    if (!std::filesystem::exists(folder / name)) continue;
    CAPTURE((folder / name).string());
    const Conversion conversion = convert((folder / name).string(), model_path + ".json", model_path);
    CAPTURE(conversion.said);
    if (c.name.find("no_params") != std::string::npos) {
      // The file doesn't have the projection, so the model can't be run.
      CHECK(conversion.status == 1);
      CHECK(!conversion.said.empty());
      CHECK(!std::filesystem::exists(model_path));
      ++totals->refused;
      continue;
    }
    CHECK(conversion.status == 0);
    if (conversion.status != 0) continue;
    ++totals->files;
    auto model = Model::load(model_path.c_str());
    CHECK_MESSAGE(model.ok(), std::string(model.status().message()));
    if (!model.ok()) continue;
    for (const Engine& engine : linformer_test::engines()) {
      Worst& worst = totals->table[c.family + "|" + label_of(engine)];
      for (const std::string& run : c.runs) {
        for (int threads : {1, 2}) Comparison(*model, ElementType::f32, c, engine, threads, &worst).run(run);
      }
    }
    if (std::exchange(narrowed, true)) continue;  // Low precision is tested with one file of each case.
    for (ElementType type : {ElementType::bf16, ElementType::int8}) {
      check_low_precision(c, (folder / name).string(), model_path, type, totals);
    }
#if defined(LINFORMER_TEST_DEVICE)  // The CPU widens f16 to f32 and is tested in f32.
    check_low_precision(c, (folder / name).string(), model_path, ElementType::f16, totals);
#endif
  }
}

// Compares every case of these families in the folder `golden`.
Totals check_cases(const std::filesystem::path& golden, std::initializer_list<const char*> families) {
  Totals totals;
  for (const char* family : families) {
    std::vector<std::filesystem::path> folders;
    for (const auto& entry : std::filesystem::directory_iterator(golden / family)) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    for (const std::filesystem::path& folder : folders) check_case(folder, &totals);
  }
  std::printf("largest absolute error against float64 (bf16, f16, int8: relative), %d checkpoint files; %d refused\n",
              totals.files, totals.refused);
  std::printf("%-22s %-24s %12s %12s %12s %8s\n", "family", "engine", "vocabulary", "hidden", "classes", "arrays");
  for (const auto& [key, worst] : totals.table) {
    const size_t bar = key.find('|');
    std::printf("%-22s %-24s %12.2e %12.2e %12.2e %8d\n", key.substr(0, bar).c_str(), key.substr(bar + 1).c_str(),
                worst.vocabulary, worst.hidden, worst.classes, worst.values);
  }
  return totals;
}

const auto families = {"lucidrains", "nystromformer", "tatp22", "vit_pytorch_linformer", "xformers"};

TEST_CASE("the golden cases of the repository equal the original implementations") {
  const Totals totals = check_cases(linformer_test::golden_cases_folder(), families);
  CHECK(totals.files == 32);
  CHECK(totals.refused == 2);
}

TEST_CASE("all golden cases of every family equal the original implementations" * doctest::test_suite("shared")) {
  const auto golden = linformer_test::shared_path("golden");
  if (!golden) return;
  const Totals totals = check_cases(*golden, families);
  CHECK(totals.files >= 40);
  CHECK(totals.refused >= 4);
}

// tests/reference/newer_linformers.py makes these cases.
TEST_CASE("later Linformers, and classifiers built around a package's encoder, equal the original implementations") {
  const Totals totals = check_cases(linformer_test::golden_cases_folder(),
                                    {"cald", "jargon", "transformers-linformer", "own_classifier"});
  CHECK(totals.files == 8);
  CHECK(totals.refused == 0);
}

// tests/reference/heads.py, encoders.py and jina.py make these cases.
TEST_CASE("encoders with full attention and their heads equal the original implementations") {
  const Totals totals =
      check_cases(linformer_test::golden_cases_folder(), {"hugging-face", "modernbert", "rotary-bert"});
  CHECK(totals.files == 34);
  CHECK(totals.refused == 0);
}

// tests/linearise/goldens.py makes these cases.
TEST_CASE("students that apps/research/linearise makes of encoders with full attention equal PyTorch") {
  const Totals totals = check_cases(linformer_test::golden_cases_folder(), {"linearised"});
  CHECK(totals.files == 11);
  CHECK(totals.refused == 0);
}

}  // namespace

}  // namespace linformer_test::families_test
