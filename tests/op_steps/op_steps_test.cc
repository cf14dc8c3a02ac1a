// Runs one text through a model's programs for different targets, op by op. The results of each op that two programs
// have in common are compared, and the first op that differs is named. To read the buffers after an op, the test lowers
// the program again and cuts it after that op, so the executors need no code for this test.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/description.h"
#include "program/cost.h"
#include "program/lower.h"
#include "session/state.h"
#include "session/variants.h"

namespace linformer_test::op_steps_test {
namespace {

using namespace linformer;

constexpr uint32_t longest = 60;
constexpr double tolerance = 2e-4;  // Of |ours - theirs| / (1 + |theirs|), in f32.

struct Target {
  const char* name;
  BackendKind backend;
  int device;
};
constexpr Target native{"native", BackendKind::native, -1}, device{"simulated device", BackendKind::native, 0};

// Changes a program before it runs. A test uses it to check that differences are found.
using Change = void (*)(Program* program);

// The result of one op.
struct Step {
  std::string name;  // The part of the model, the op's kind, and the buffer and columns that it writes.
  std::vector<float> values;
};

void check(const Status& status) { REQUIRE_MESSAGE(status.ok(), std::string(status.message())); }

struct FreeArena {
  void operator()(std::byte* arena) const { ::operator delete[](arena, std::align_val_t{64}); }
};

class Stepper {
 public:
  Stepper(std::shared_ptr<const Model> model, const Target& target, int64_t tokens, Change change)
      : model_(std::move(model)), target_(target), tokens_(tokens), change_(change) {
    const size_t tensors = model_->description().tensors.size();
    REQUIRE(weights_.tensors.try_resize(tensors));
    for (size_t i = 0; i < tensors; ++i) weights_.tensors[i] = model_->data(static_cast<TensorIndex>(i));
  }

  // Returns the steps of the encoder's ops whose results are rows of f32 in a buffer, from the embedding to the
  // encoder's output.
  std::vector<Step> steps() {
    const Program whole = lowered();
    std::vector<Step> steps;
    add(whole, whole.embedding, "embedding", &steps);
    for (size_t i = 0; i < whole.layers.size(); ++i) {
      add(whole, whole.layers[i].stages, "layer " + std::to_string(i), &steps);
    }
    add(whole, whole.finish, "finish", &steps);
    return steps;
  }

 private:
  Program lowered() const {
    SessionOptions options;
    options.run.compute = Compute::f32;
    options.cpu.backend = target_.backend;
    options.cpu.isa = Isa::scalar;
    options.cpu.threads = 1;
    options.cpu.block_rows = 64;
    options.cuda.device = target_.device;
    options.memory.max_batch = 1;
    options.memory.max_tokens = tokens_;
    Result<LoweredModel> made = lower_model(model_->description(), options, {false, "f32"});
    check(made.status());
    Program program = std::move(made->program);
    if (change_ != nullptr) change_(&program);
    return program;
  }

  void add(const Program& whole, const Section& section, const std::string& part, std::vector<Step>* steps) {
    for (int32_t s = section.begin; s < section.end; ++s) {
      const Stage& stage = whole.stages[static_cast<size_t>(s)];
      // Ops of heads with their own projections write to parts of a slot that their views don't describe.
      if (!applies(stage, tokens_, 0) || stage.domain == Domain::key_heads) continue;
      for (int32_t i = stage.op_begin; i < stage.op_end; ++i) {
        const Op& op = whole.ops[static_cast<size_t>(i)];
        const View& out = op.out();
        const bool is_seen = out.place == Place::rows || out.place == Place::block || out.place == Place::sequence ||
                             out.place == Place::key_rows;
        if (!is_seen || out.type != ElementType::f32) continue;
        std::string name = part + ": " + name_of(op.kind()) + " to " + info(out.buffer).name + ", columns " +
                           std::to_string(out.offset) + " to " + std::to_string(out.offset + out.cols);
        steps->push_back({std::move(name), result_of(stage, s, i)});
      }
    }
  }

  // Runs the program up to the op with index `last` and returns the rows that this op wrote. `stage` is the stage of
  // the op in the whole program, and `stage_index` is its index.
  std::vector<float> result_of(const Stage& stage, int32_t stage_index, int32_t last) {
    Program program = lowered();
    const View out = program.ops[static_cast<size_t>(last)].out();
    for (size_t s = static_cast<size_t>(stage_index); s < program.stages.size(); ++s) {
      Stage& cut = program.stages[s];
      cut.op_end = static_cast<int32_t>(s) == stage_index ? last + 1 : cut.op_begin;
    }
    SessionOptions options;
    options.cpu.backend = target_.backend;
    options.cuda.device = target_.device;
    Result<std::unique_ptr<Executor>> made =
        create_executor(std::move(program), options, *kernels_for(Isa::scalar), weights_);
    check(made.status());
    Executor& executor = **made;
    const uint64_t bytes = executor.host_bytes();
    const std::unique_ptr<std::byte[], FreeArena> arena(new (std::align_val_t{64}) std::byte[bytes]());
    check(executor.start(arena.get()));
    run(executor);
    const auto* begin = executor.memory() + executor.layout().offsets[static_cast<int>(out.buffer)];
    const int64_t rows = stage.domain == Domain::compressed_rows ? stage.compressed_row_count(tokens_)
                         : out.rows > 0                          ? out.rows
                                                                 : tokens_;
    std::vector<float> values;
    for (int64_t r = 0; r < rows; ++r) {
      const size_t old = values.size();
      values.resize(old + static_cast<size_t>(out.cols));
      std::memcpy(values.data() + old, begin + (r * out.ld + out.offset) * int64_t{sizeof(float)},
                  static_cast<size_t>(out.cols) * sizeof(float));
    }
    made->reset();  // The executor must be destroyed before the arena.
    return values;
  }

  void run(Executor& executor) {
    const std::vector<int32_t> ids =
        linformer_test::random_ids(7, tokens_, static_cast<uint32_t>(model_->info().vocabulary));
    auto* starts = executor.buffer<int32_t>(BufferId::row_starts);
    starts[0] = 0;
    starts[1] = static_cast<int32_t>(tokens_);
    auto* own_ids = executor.buffer<int32_t>(BufferId::ids);
    auto* positions = executor.buffer<int32_t>(BufferId::positions);
    auto* masks = executor.buffer<uint8_t>(BufferId::masks);
    for (int64_t r = 0; r < tokens_; ++r) {
      own_ids[r] = ids[static_cast<size_t>(r)];
      positions[r] = static_cast<int32_t>(r);
      masks[r] = 0;
    }
    Batch batch;
    batch.sequences = 1;
    batch.rows = tokens_;
    batch.row_starts = batch.output_starts = starts;
    batch.ids = own_ids;
    batch.positions = positions;
    batch.masks = masks;
    Request request;
    std::vector<float> rows(static_cast<size_t>(tokens_ * executor.program().output_width));
    const Output asked = Output::hidden(rows);  // With this output all rows of the last layer are computed.
    request.outputs = {&asked, 1};
    check(executor.run(batch, request));
  }

  std::shared_ptr<const Model> model_;
  const Target& target_;
  const int64_t tokens_;
  const Change change_;
  ExecutorWeights weights_;
};

struct Comparison {
  size_t compared = 0;
  std::string first_difference;  // The name of the op; empty if no op differs.
};

// Compares the steps that have the same name in both lists, in order, up to the first difference. A step that only one
// program has is left out, and so is one with different numbers of values.
Comparison compare(const std::vector<Step>& ours, const std::vector<Step>& theirs) {
  Comparison result;
  size_t next = 0;
  for (const Step& step : ours) {
    size_t found = next;
    while (found < theirs.size() && theirs[found].name != step.name) ++found;
    if (found == theirs.size() || theirs[found].values.size() != step.values.size()) continue;
    next = found + 1;
    ++result.compared;
    for (size_t i = 0; i < step.values.size(); ++i) {
      const double a = static_cast<double>(step.values[i]), b = static_cast<double>(theirs[found].values[i]);
      if (!(std::abs(a - b) <= tolerance * (1 + std::abs(b)))) {
        result.first_difference = step.name;
        return result;
      }
    }
  }
  return result;
}

Comparison compare(const RandomModel& shape, int64_t tokens, const Target& a, const Target& b, Change change) {
  const std::shared_ptr<const Model> model = linformer_test::random_model(shape);
  return compare(Stepper(model, a, tokens, nullptr).steps(), Stepper(model, b, tokens, change).steps());
}

// Calls visit(op) for each op of a layer.
template <class Visit>
void for_each_op(Program* program, size_t layer, Visit&& visit) {
  const Section& section = program->layers[layer].stages;
  for (int32_t s = section.begin; s < section.end; ++s) {
    const Stage& stage = program->stages[static_cast<size_t>(s)];
    for (int32_t i = stage.op_begin; i < stage.op_end; ++i) visit(program->ops[static_cast<size_t>(i)]);
  }
}

}  // namespace

TEST_CASE("the ops that the programs of CPU and device have in common give the same results") {
  size_t variants = 0;
  for (const Variant& variant : linformer_test::variants(longest)) {
    const RandomModel& shape = variant.shape;
    if (shape.vector_width > 0 || shape.encoder_states_width > 0 || shape.token_types > 0) continue;
    CAPTURE(variant.name);
    ++variants;
    for (const int64_t tokens : {int64_t{longest}, int64_t{9}}) {
      CAPTURE(tokens);
      const Comparison result = compare(shape, tokens, native, device, nullptr);
      CHECK(result.first_difference == "");
      CHECK(result.compared >= 8);
    }
  }
  CHECK(variants >= 12);
}

TEST_CASE("the first op that differs is named") {
  const RandomModel shape = linformer_test::variants(longest).front().shape;
  const auto difference = [&](Change change) {
    return compare(shape, longest, native, device, change).first_difference;
  };
  CHECK(difference([](Program* program) {
          for_each_op(program, 1, [](Op& op) {
            if (op.is<ops::Gemm>() && op.out().buffer == BufferId::query) op.as<ops::Gemm>().bias = {};
          });
        }) == "layer 1: gemm to query and context, columns 0 to 30");
  CHECK(difference([](Program* program) {
          for_each_op(program, 0, [](Op& op) {
            if (op.is<ops::Norm>()) op.as<ops::Norm>().epsilon = 1;
          });
        }) == "layer 0: norm to rows, columns 0 to 30");
}

}  // namespace linformer_test::op_steps_test
