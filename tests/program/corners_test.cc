// Tests plan() with the extreme values of the limits, in all combinations. It must return an error, or the sizes that
// the buffers' formulas give in double precision.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "base/description.h"
#include "session/state.h"
#include "support/case_step.h"

namespace linformer_test::corners_test {
namespace {

using namespace linformer;

constexpr uint32_t most = max_dimension;

struct Corner {
  uint32_t n, d, heads, d_head, k, ffn;
  ProjectionKind kind;
  bool each_head, states;
  PositionKind positions;
  Pooling pooling;
};

// A description of a model with one layer. It has no weights, because lowering reads only shapes.
class Maker {
 public:
  explicit Maker(const Corner& corner) : c_(corner) {
    EncoderDescription& e = description_.encoder;
    e.d_model = c_.d;
    e.max_tokens = c_.n;
    e.vocab_size = most;
    e.pad_id = 0;
    e.embedding.tokens = tensor({most, c_.d}, TensorLayout::row_major);
    e.embedding.position_kind = c_.positions;
    e.embedding.positions_count_non_pad = true;
    e.embedding.position_offset = e.embedding.pad_position = most;
    if (c_.positions == PositionKind::learned) {
      e.embedding.positions = tensor({uint64_t{most} * 2, c_.d}, TensorLayout::row_major);
    }
    e.encoder_states_width = c_.states ? c_.d : 0;
    Projection p;
    p.kind = c_.kind;
    p.order = ProjectionOrder::after_linear;
    p.k = c_.kind == ProjectionKind::none ? 0 : c_.kind == ProjectionKind::linear ? c_.k : c_.n;
    if (c_.kind == ProjectionKind::linear) p.weight = tensor({p.k, c_.n}, TensorLayout::row_major);
    if (c_.kind == ProjectionKind::mean_pool) p.kernel = p.stride = 1;
    e.projections = {p};
    LayerDescription layer;
    AttentionDescription& a = layer.attention;
    const uint32_t width = c_.heads * c_.d_head;
    a.heads = a.kv_heads = c_.heads;
    a.head_dim = c_.d_head;
    a.scale = 1;
    a.key_source = c_.states ? KeySource::encoder_states : KeySource::own;
    a.query = linear(width, c_.d);
    a.key = linear(width, c_.d);
    a.value = linear(width, c_.d);
    a.output = linear(c_.d, width);
    a.key_projections = std::vector<uint32_t>(c_.each_head ? c_.heads : 1, 0);
    a.value_projections = a.key_projections;
    layer.ffn_in = linear(c_.ffn, c_.d);
    layer.ffn_out = linear(c_.d, c_.ffn);
    e.layers = {layer};
    ClassificationHead head;
    head.pooling = c_.pooling;
    head.dense = linear(most, c_.d);
    head.output = linear(max_classes, most);
    description_.heads = {head};
  }
  const ModelDescription& description() const { return description_; }

 private:
  TensorIndex tensor(std::vector<uint64_t> shape, TensorLayout layout) {
    TensorDescription t;
    t.shape = std::move(shape);
    t.layout = layout;
    description_.tensors.push_back(t);
    return static_cast<TensorIndex>(description_.tensors.size() - 1);
  }
  Linear linear(uint32_t out, uint32_t in) { return {tensor({out, in}, TensorLayout::panel16), absent}; }

  Corner c_;
  ModelDescription description_;
};

// Returns the bytes of a buffer by its formula, with the plan's terms as factors. The result is exact up to 2^53.
double bytes_of(BufferId id, const std::map<std::string, int64_t>& terms) {
  const BufferInfo& b = info(id);
  double elements = 1;
  for (Term factor : b.factors) {
    if (factor != Term::none) elements *= static_cast<double>(terms.at(info(factor).name));
  }
  if (b.other != Term::none) {
    const auto other = static_cast<double>(terms.at(info(b.other).name));
    if (other > elements) elements = other;
  }
  double bytes = elements * static_cast<double>(b.element_bytes);
  if (b.each_thread) {
    bytes = static_cast<double>(terms.at("threads")) * (bytes + static_cast<double>(terms.at("apart")));
  }
  return std::ceil(bytes / 64) * 64;
}

struct Tally {
  int planned = 0, refused = 0;
  uint64_t largest = 0;
  std::map<std::string, int> codes;
};

void check(const Corner& corner, const ModelDescription& description, const SessionOptions& options, Tally* tally) {
  const Result<LoweredModel> lowered = lower_model(description, options, Bf16Choice{true, ""});
  if (!lowered.ok()) {
    ++tally->refused;
    const Code code = lowered.status().code();
    const bool expected = code == Code::too_long || code == Code::invalid_argument;
    CHECK_MESSAGE(expected, std::string(lowered.status().message()));
    CHECK(std::string(lowered.status().message()).size() > 20);
    ++tally->codes[code == Code::too_long ? "too long" : "invalid argument"];
    return;
  }
  ++tally->planned;
  const Plan& plan = lowered->plan;
  std::map<std::string, int64_t> terms;
  for (int i = 0; i < plan.term_count; ++i) terms[plan.terms[i].name] = plan.terms[i].value;
  double total = 0;
  for (int i = 0; i < plan.buffer_count; ++i) {
    const double bytes = bytes_of(static_cast<BufferId>(i), terms);
    REQUIRE(static_cast<double>(plan.buffers[i].offset) == total);
    REQUIRE((plan.buffers[i].bytes == 0 || static_cast<double>(plan.buffers[i].bytes) == bytes));
    total += static_cast<double>(plan.buffers[i].bytes);
  }
  REQUIRE(static_cast<double>(plan.total_bytes) == total);
  REQUIRE(plan.total_bytes < uint64_t{1} << 47);
  tally->largest = std::max(tally->largest, plan.total_bytes);
  // The buffers of ids and of rows, which every call writes, hold all rows.
  const auto rows = static_cast<uint64_t>(plan.options.memory.max_rows);
  REQUIRE(plan.buffers[static_cast<int>(BufferId::ids)].bytes >= 4 * rows);
  REQUIRE(plan.buffers[static_cast<int>(BufferId::rows)].bytes >= 4 * rows * corner.d);
}

TEST_CASE("plan() returns an error or exact sizes at all combinations of the limits") {
  Tally tally;
  size_t calls = 0;
  const std::pair<uint32_t, uint32_t> head_shapes[] = {{1, 1}, {1, most}, {1024, most / 1024}};
  for (uint32_t n : {1u, 17u, most})
    for (uint32_t d : {1u, most})
      for (const auto& [heads, d_head] : head_shapes)
        for (ProjectionKind kind : {ProjectionKind::linear, ProjectionKind::mean_pool, ProjectionKind::none})
          for (uint32_t k : {1u, most})
            for (bool each_head : {false, true})
              for (bool states : {false, true})
                for (PositionKind positions : {PositionKind::none, PositionKind::sinusoidal_halves})
                  for (Pooling pooling : {Pooling::mean, Pooling::none}) {
                    if (kind != ProjectionKind::linear && k != 1) continue;
                    const Corner corner{n, d, heads, d_head, k, most, kind, each_head, states, positions, pooling};
                    const Maker maker(corner);
                    for (int64_t batch : {int64_t{1}, MemoryOptions::most_sequences})
                      for (int64_t rows : {int64_t{0}, int64_t{1024}, int64_t{INT32_MAX}})
                        for (int threads : {1, ThreadTeam::max_threads})
                          for (BackendKind backend :
                               {BackendKind::native, BackendKind::onednn, BackendKind::openblas}) {
                            if (calls++ % case_step(7) != 0) continue;
                            SessionOptions options;
                            options.memory.max_batch = batch;
                            options.memory.max_rows = rows;
                            options.cpu.threads = threads;
                            options.cpu.backend = backend;
                            check(corner, maker.description(), options, &tally);
                          }
                  }
  std::printf("%d corners: %d planned (at most %.3g bytes), %d refused", tally.planned + tally.refused, tally.planned,
              static_cast<double>(tally.largest), tally.refused);
  for (const auto& [code, count] : tally.codes) std::printf(", %s %d", code.c_str(), count);
  std::printf("\n");
  CHECK(tally.planned > 1000);
  CHECK(tally.refused > 1000);
}

// With unchecked products in int64, this plan would have buffers of 0 bytes.
TEST_CASE("sizes beyond 64 bits are refused") {
  const Corner corner{most,         1, 1, most, 1, 1, ProjectionKind::mean_pool, false, false, PositionKind::none,
                      Pooling::mean};
  SessionOptions options;
  options.memory.max_batch = 1 << 16;
  options.memory.max_rows = 1024;
  const Result<LoweredModel> lowered = lower_model(Maker(corner).description(), options, Bf16Choice{true, ""});
  REQUIRE(!lowered.ok());
  CHECK(lowered.status().code() == Code::too_long);
  CHECK(std::string(lowered.status().message()).find("lower max_tokens or max_batch") != std::string::npos);
}

// The model file permits 2^24 tokens, but the session is planned for 8, so its table must have 8 rows and not 2^24.
TEST_CASE("the table of sinusoidal positions has as many rows as the planned tokens") {
  for (const uint32_t width : {64u, 2u}) {
    Corner corner{
        most,         width, 1, width, 1, 1, ProjectionKind::mean_pool, false, false, PositionKind::sinusoidal_halves,
        Pooling::mean};
    SessionOptions options;
    options.memory.max_tokens = 8;
    const Result<LoweredModel> lowered = lower_model(Maker(corner).description(), options, Bf16Choice{true, ""});
    REQUIRE(lowered.ok());
    // In this model padding has the same position as the first token, 2^24, so it needs no additional row.
    CHECK(lowered->program.sinusoidal.rows == 8);
    CHECK(lowered->plan.buffers[static_cast<int>(BufferId::position_table)].bytes ==
          (uint64_t{8} * width * 4 + 63) / 64 * 64);
  }
}

}  // namespace

}  // namespace linformer_test::corners_test
