// Compares every output of random models of every kind, on every backend and instruction set, with a double-precision
// encoder in NumPy that shares no code with the runtime (linformer_reference.py).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/description.h"
#include "base/enum_names.h"
#include "reference/random_case.h"
#include "reference/unusual_shape.h"
#include "support/engines.h"
#include "support/npz.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

namespace linformer_test::reference_test {
namespace {

using namespace linformer;

using Arrays = std::map<std::string, linformer_test::NpyArray>;

// The tolerances of |ours - theirs| / (1 + |theirs|). Unusual models may lack norms, and then sums of numbers near 100
// cancel.
constexpr double tolerance = 5e-5, unusual_tolerance = 1e-4;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int models = 40, least_of_each_kind = 5, unusual_models = 35, least_unusual = 2;
#else
constexpr int models = 400, least_of_each_kind = 100, unusual_models = 140, least_unusual = 10;
#endif

std::string file_of(const TemporaryFolder& folder, int index) {
  char name[16];
  std::snprintf(name, sizeof name, "%04d", index);
  return folder.path(name);
}

// Compares each output of one case on one engine with the expected output.
class Comparison {
 public:
  Comparison(const RandomCase& c, const Engine& engine, int threads, const Arrays& expected, double most)
      : case_(c), views_(c.views()), arrays_(expected), most_(most) {
    SessionOptions options = c.options;
    options.cpu.backend = engine.backend;
    options.run.compute = Compute::f32;  // The reference also uses the file's weights unrounded.
    options.cpu.isa = engine.isa;
    options.cuda.device = engine.device;
    options.cpu.threads = threads;
    Result<Session> session = Session::create(c.model, options);
    REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
    session_ = std::make_unique<Session>(std::move(session.value()));
  }

  // Computes all outputs, and returns the largest scaled difference.
  double worst() {
    std::vector<Output> outputs;
    for (int layer = -1; layer <= static_cast<int>(case_.encoder().layers.size()); ++layer) {
      outputs.push_back(Output::hidden(output_buffer("hidden." + std::to_string(layer)), layer));
      constexpr Pooling poolings[] = {Pooling::first_token, Pooling::mean,       Pooling::mean_over_max_tokens,
                                      Pooling::max,         Pooling::last_token, Pooling::weighted_mean};
      const Pooling pooling = poolings[(static_cast<size_t>(layer + 6) + case_.inputs.size()) % std::size(poolings)];
      const std::string name = std::string("pooled.") + enum_name(pooling);
      if (layer >= 0 && !results_.contains(name)) outputs.push_back(Output::pooled(output_buffer(name), pooling));
    }
    if (case_.has_heads()) {
      const ModelDescription& description = case_.model->description();
      for (size_t head = 0; head < description.heads.size(); ++head) {
        const std::string index = std::to_string(head);
        outputs.push_back(Output::logits(output_buffer("logits." + index), static_cast<int>(head)));
        outputs.push_back(Output::probabilities(output_buffer("probabilities." + index), static_cast<int>(head)));
      }
      if (description.embedding.present) outputs.push_back(Output::embeddings(output_buffer("embeddings")));
      if (description.mlm.present()) outputs.push_back(Output::masked_lm(output_buffer("mlm"), case_.mlm_positions));
    }
    run(outputs);
    return worst_;
  }

 private:
  std::span<float> output_buffer(const std::string& name) {
    INFO(name);
    const auto array = arrays_.find(name);
    REQUIRE(array != arrays_.end());
    std::vector<float>& values = results_[name];
    values.assign(static_cast<size_t>(array->second.size()), NAN);
    return values;
  }

  void run(std::span<const Output> outputs) {
    const Status status = session_->run(views_, outputs);
    REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
    for (const auto& result : results_) {
      const std::string& name = result.first;
      const std::vector<float>& ours = result.second;
      const std::vector<double> theirs = arrays_.at(name).values<double>();
      double largest = 0;
      for (size_t i = 0; i < theirs.size(); ++i) {
        const double error = std::abs(static_cast<double>(ours[i]) - theirs[i]) / (1 + std::abs(theirs[i]));
        if (!(error <= largest)) largest = error;
      }
      CHECK_MESSAGE(largest < most_, name, " differs by ", largest);
      if (!(largest <= worst_)) worst_ = largest;
    }
    results_.clear();
  }

  const RandomCase& case_;
  std::vector<Input> views_;
  const Arrays& arrays_;
  std::unique_ptr<Session> session_;
  std::map<std::string, std::vector<float>> results_;
  const double most_;  // The tolerance.
  double worst_ = 0;
};

// Returns whether single precision can be within the tolerance. Numbers that grow from layer to layer exceed it: if
// sums of numbers near 1e3 cancel, the rest has an error near 1e-4.
bool is_moderate(const Arrays& expected) {
  for (const auto& [name, array] : expected) {
    for (const double value : array.values<double>()) {
      if (!(std::abs(value) < 1e2)) return false;
    }
  }
  return true;
}

struct Row {
  int models = 0;
  std::map<std::string, double> worst;  // The key is the engine.
};

void print(const std::map<std::string, Row>& table, const std::vector<std::string>& engines) {
  std::printf("largest scaled difference%10s", "models");
  for (const std::string& engine : engines) std::printf(" %16s", engine.c_str());
  std::printf("\n");
  for (const auto& [name, row] : table) {
    std::printf("%-29s %5d", name.c_str(), row.models);
    for (const std::string& engine : engines) {
      const auto worst = row.worst.find(engine);
      worst == row.worst.end() ? std::printf(" %16s", "-") : std::printf(" %16.2g", worst->second);
    }
    std::printf("\n");
  }
}

// Returns all cases. Unusual cases that a session on this device refuses as unsupported are left out.
std::vector<RandomCase> random_cases(int device) {
  std::vector<RandomCase> cases;
  for (uint64_t index = 0; index < models; ++index) cases.push_back(linformer_test::random_case(index));
  for (uint64_t index = 0; index < unusual_models; ++index) {
    RandomCase c = linformer_test::unusual_case(index);
    SessionOptions options = c.options;
    options.cuda.device = device;
    const Result<Session> session = Session::create(c.model, options);
    if (!session.ok() && session.status().code() == Code::unsupported) continue;
    cases.push_back(std::move(c));
  }
  return cases;
}

TEST_CASE("random models of every kind agree with double precision") {
  const std::string python = "'" LINFORMER_PYTHON "'";
  if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) != 0) {
    linformer_test::skip("python3 with numpy is not here");
    return;
  }
  const TemporaryFolder folder;
  const std::vector<Engine> engines = linformer_test::engines();
  const std::vector<RandomCase> cases = random_cases(engines.empty() ? -1 : engines.front().device);
  const int count = static_cast<int>(cases.size());
  for (int index = 0; index < count; ++index) cases[static_cast<size_t>(index)].write(file_of(folder, index));
  const std::string command = python + " '" LINFORMER_REFERENCE_SCRIPT "' '" + folder.path() + "'";
  REQUIRE(std::system(command.c_str()) == 0);

  std::vector<std::string> names;
  for (const Engine& e : engines) names.push_back(linformer_test::label_of(e));
  std::map<std::string, Row> table;
  for (int index = 0; index < count; ++index) {
    const RandomCase& c = cases[static_cast<size_t>(index)];
    const Arrays expected = linformer_test::read_npz(file_of(folder, index) + ".npz");
    if (index >= models && !is_moderate(expected)) continue;
    std::vector<Row*> rows = {&table["all"]};
    for (const std::string& feature : c.features) rows.push_back(&table[feature]);
    for (Row* row : rows) ++row->models;
    std::map<BackendKind, int> sets, seen;
    for (const Engine& engine : engines) ++sets[engine.backend];
    for (size_t e = 0; e < engines.size(); ++e) {
      // Creating sessions of the other backends takes most of the time, so each model uses only one instruction set
      // there.
      const BackendKind backend = engines[e].backend;
      if (backend != BackendKind::native && seen[backend]++ % sets[backend] != index % sets[backend]) continue;
      CAPTURE(index);
      CAPTURE(names[e]);
      const double most_difference = index < models ? tolerance : unusual_tolerance;
      const double worst = Comparison(c, engines[e], 1 + index % 3, expected, most_difference).worst();
      for (Row* row : rows) {
        double& most = row->worst[names[e]];
        if (!(worst <= most)) most = worst;
      }
    }
  }
  print(table, names);
  for (const char* kind : {"mean_pool", "max_pool", "convolution", "linear by head, nonuniform k", "full attention"}) {
    CAPTURE(std::string(kind));
    CHECK(table[kind].models >= least_of_each_kind);
  }
  CHECK(table["bias beside compressed keys"].models >= least_unusual);
  for (uint64_t kind = 0; kind < linformer_test::unusual_kinds; ++kind) {
    const std::string name = std::string("unusual, ") + name_of(static_cast<linformer_test::Unusual>(kind));
    CAPTURE(name);
    CHECK(table[name].models >= least_unusual);
  }
}

}  // namespace

}  // namespace linformer_test::reference_test
