// Tests the contract of plan() and Session: errors that name the thing, and plans whose buffers add up.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/description.h"
#include "converter/writer/write_error.h"
#include "kernels/kernels.h"
#include "support/engines.h"
#include "support/environment.h"
#include "support/random_model.h"

namespace linformer_test::interface_test {
namespace {

using namespace linformer;

bool says(const Status& status, Code code, const char* part) {
  INFO(std::string(status.message()));
  return status.code() == code && std::strstr(status.message(), part) != nullptr;
}

TEST_CASE("plan() refuses a device in a build without CUDA, as a session does") {
  const auto model = linformer_test::random_model({});
  SessionOptions options;
  options.cuda.device = 0;
  const Result<Session> session = Session::create(model, options);
  if (session.ok() || std::string(session.status().message()).find("has no CUDA") == std::string::npos) return;
  const Result<Plan> planned = plan(*model, options, Machine());
  REQUIRE(!planned.ok());
  CHECK(planned.status().code() == session.status().code());
  CHECK(std::string(planned.status().message()) == session.status().message());
}

TEST_CASE("plan refuses options that cannot work") {
  const auto model = linformer_test::random_model({});
  const auto refused = [&](auto change, const char* part) {
    SessionOptions options;
    change(options);
    const Result<Plan> result = plan(*model, options, Machine());
    REQUIRE(!result.ok());
    return says(result.status(), Code::invalid_argument, part);
  };
  CHECK(refused([](auto& o) { o.memory.max_tokens = 49; }, "max_tokens is 49: this model takes 1 to 48"));
  CHECK(refused([](auto& o) { o.memory.max_tokens = -1; }, "max_tokens is -1"));
  CHECK(refused([](auto& o) { o.memory.max_batch = 0; }, "max_batch is 0"));
  CHECK(refused([](auto& o) { o.memory.max_batch = int64_t{1} << 40; }, "max_batch"));
  CHECK(refused([](auto& o) { o.memory.max_rows = -5; }, "max_rows is -5"));
  CHECK(refused([](auto& o) { o.cpu.block_rows = 24; }, "block_rows is 24: give a multiple of 32 up to 256"));
  CHECK(refused([](auto& o) { o.cpu.block_rows = 48; }, "block_rows is 48"));
  CHECK(refused([](auto& o) { o.cpu.block_rows = 272; }, "block_rows is 272"));
  CHECK(refused([](auto& o) { o.cpu.block_rows = -32; }, "block_rows is -32"));
  CHECK(refused([](auto& o) { o.cpu.threads = 0; }, "threads is 0"));
  CHECK(refused([](auto& o) { o.cpu.threads = 100000; }, "threads is 100000"));
}

TEST_CASE("an unavailable or unknown instruction set in the environment is an error") {
  const auto model = linformer_test::random_model(RandomModel());
  const char* kept = std::getenv("LINFORMER_ISA");
  const std::string before = kept == nullptr ? "" : kept;
  const char* foreign = kernels_for(Isa::neon) == nullptr ? "neon" : "avx2";
  set_environment("LINFORMER_ISA", foreign);
  const Status unavailable = Session::create(model, {}).status();
  CHECK(unavailable.code() == Code::unsupported);
  CHECK(check_environment().ok());  // The set is known, although this machine lacks it.
  CHECK(std::string(unavailable.message()).find(foreign) != std::string::npos);
  CHECK(plan(*model, {}, Machine()).ok());  // A plan doesn't read the environment.
  CHECK(plan(*model, {}, Machine())->options.cpu.isa == Isa::automatic);
  SessionOptions scalar;
  scalar.cpu.isa = Isa::scalar;
  CHECK(Session::create(model, scalar).ok());  // The option overrides the environment.
  set_environment("LINFORMER_ISA", "AVX2");
  const Status unknown = Session::create(model, {}).status();
  CHECK(unknown.code() == Code::invalid_argument);
  CHECK(std::string(unknown.message()).find("'AVX2'") != std::string::npos);
  CHECK(check_environment().code() == Code::invalid_argument);
  CHECK(std::string(check_environment().message()).find("'AVX2'") != std::string::npos);
  set_environment("LINFORMER_ISA", "scalar");
  CHECK(Session::create(model, {})->plan().options.cpu.isa == Isa::scalar);
  set_environment("LINFORMER_ISA", "");
  CHECK(Session::create(model, {}).ok());
  set_environment("LINFORMER_ISA", kept == nullptr ? nullptr : before.c_str());
}

TEST_CASE("plan() is a pure function, and its buffers add up") {
  RandomModel shape;
  for (bool pre_norm : {false, true}) {
    shape.pre_norm = pre_norm;
    const auto model = linformer_test::random_model(shape);
    for (const auto& engine : linformer_test::engines()) {
      SessionOptions options;
      options.memory.max_batch = 3;
      options.cpu.threads = 2;
      options.cpu.backend = engine.backend;
      options.cpu.isa = engine.isa;
      const Plan first = *plan(*model, options, Machine()), second = *plan(*model, options, Machine());
      REQUIRE(first.buffer_count == second.buffer_count);
      uint64_t sum = 0;
      for (int i = 0; i < first.buffer_count; ++i) {
        CHECK(first.buffers[i].offset == sum);
        CHECK(first.buffers[i].offset % 64 == 0);
        CHECK(first.buffers[i].bytes == second.buffers[i].bytes);
        sum += first.buffers[i].bytes;
      }
      CHECK(sum == first.total_bytes);
      if (engine.backend == BackendKind::native) {
        // The documented formula with n = 48, k = 12, d = D = 32, heads = 4, head_dim = 8, ffn = 64, b = 3, T = 2. A
        // text is short if it has fewer than 2 k D / (D + heads k) = 9.6 rows. The panels of short texts are larger
        // than k D here. E^T and E of each layer have 16 columns of 32 rows each.
        const uint64_t rows = 144, block = 128, packed = 4 * 16 * 16, tables = 4 * 16 * 32;
        uint64_t scratch = 0;
        for (int i = 0; i < first.buffer_count; ++i) {
          if (std::string(first.buffers[i].name) == "scratch") scratch = first.buffers[i].bytes;
        }
        const auto up = [](uint64_t bytes) { return (bytes + 63) / 64 * 64; };
        const auto parts = [&](uint64_t floats) { return up(2 * (4 * floats + 4032)); };  // For 2 threads.
        const uint64_t expected = up(8 * 4) + 2 * up(4 * rows) + up(rows) + up(4 * tables) +
                                  (pre_norm ? 2 : 1) * (up(4 * rows * 32) + up(4 * 3 * 32)) + 4 * up(4 * 3 * packed) +
                                  parts(block * 32) + parts(block * (16 + 16)) + parts(block * 64) + scratch +
                                  2 * up(4 * 3 * 32);
        CHECK(first.total_bytes == expected);
      }
    }
  }
}

TEST_CASE("the arena has the planned size, and a full batch uses all of it") {
  const auto model = linformer_test::random_model({});
  SessionOptions options;
  options.memory.max_batch = 4;
  Result<Session> session = Session::create(model, options);
  REQUIRE(session.ok());
  std::vector<int32_t> ids = linformer_test::random_ids(1, 48, 50);
  const std::vector<Tokens> texts(4, Tokens(ids));
  std::vector<float> probabilities(4 * 3);
  REQUIRE(session->run(texts, Output::probabilities(probabilities)).ok());
  CHECK(session->used_bytes() == session->plan().total_bytes);
}

TEST_CASE("a session chooses the rows of a block for the machine, and a plan with the same rows agrees with it") {
  const auto model = linformer_test::random_model({});
  SessionOptions options;
  options.memory.max_batch = 8;
  Result<Session> session = Session::create(model, options);
  REQUIRE(session.ok());
  const Result<Plan> of_machine = plan(*model, options);
  REQUIRE(of_machine.ok());
  CHECK(session->plan().options.cpu.block_rows == of_machine->options.cpu.block_rows);
  CHECK(of_machine->total_bytes == session->plan().total_bytes);
  CHECK(plan(*model, of_machine->options)->total_bytes == session->plan().total_bytes);
  CHECK(plan(*model, options, Machine())->block_rows == 128);
}

TEST_CASE("run refuses calls that it was not planned for, and then writes nothing") {
  const auto model = linformer_test::random_model({});
  SessionOptions options;
  options.memory.max_batch = 2;
  options.memory.max_tokens = 20;
  options.memory.max_rows = 30;
  Result<Session> created = Session::create(model, options);
  REQUIRE(created.ok());
  Session& session = created.value();
  std::vector<int32_t> good(10, 7), twenty(20, 7), longer(21, 7), outside{7, 50}, negative{7, -1}, pads{1, 1};
  std::vector<float> pooled(32, 42.f), wide(64, 42.f);
  const auto run = [&](std::vector<Tokens> texts, std::vector<Output> others = {}) {
    std::vector<Output> outputs = {Output::pooled(wide)};
    outputs.insert(outputs.end(), others.begin(), others.end());
    const Status status = session.run(texts, outputs);
    for (float value : pooled) CHECK(value == 42.f);
    for (float value : wide) CHECK(value == 42.f);
    return status;
  };
  CHECK(says(run({}), Code::invalid_argument, "the batch is empty"));
  CHECK(says(run({good, good, good}), Code::too_long, "3 texts"));
  CHECK(says(run({longer}), Code::too_long, "text 0 has 21 tokens"));
  CHECK(says(run({twenty, twenty}), Code::too_long, "40 tokens"));
  CHECK(says(run({Tokens()}), Code::invalid_argument, "text 0 has no tokens"));
  CHECK(says(run({good, pads}), Code::invalid_argument, "text 1 has no tokens"));
  CHECK(says(run({outside}), Code::invalid_argument, "id 50 is outside the vocabulary of 50"));
  CHECK(says(run({negative}), Code::invalid_argument, "id -1"));
  CHECK(says(run({good}, {Output::pooled(std::span(pooled).first(31))}), Code::too_long,
             "the pooled output has room for 31 floats, but 1 x 32 are computed"));
  std::vector<float> mlm(50, 1.f);
  CHECK(says(run({good}, {Output::logits(pooled, 1)}), Code::invalid_argument, "head 1"));
  CHECK(says(run({good}, {Output::hidden(wide, 3)}), Code::invalid_argument, "hidden layer 3"));
  const MaskPosition beyond{0, 10}, within{0, 9};
  CHECK(says(run({good}, {Output::masked_lm(mlm, {&beyond, 1})}), Code::invalid_argument, "position 10 of text 0"));
  CHECK(says(run({good}, {Output::masked_lm(mlm, {})}), Code::invalid_argument, "need positions"));
  // An output without room is not computed.
  CHECK(session.run(std::vector<Tokens>{good}, Output::masked_lm({}, {&within, 1})).ok());
  CHECK(session.run(std::vector<Tokens>{good}, Output::pooled(pooled)).ok());
  CHECK(pooled[0] != 42.f);
}

TEST_CASE("a model with unsupported properties is refused with an error that names the property") {
  const auto refused = [](auto change) {
    writer::ModelBuilder builder = linformer_test::random_builder({});
    change(builder.description);
    const writer::AlignedBytes bytes = builder.serialize();
    auto model = Model::load(bytes);
    REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
    const Result<Plan> result = plan(**model, {}, Machine());
    REQUIRE(!result.ok());
    CHECK(result.status().code() == Code::unsupported);
    return std::string(result.status().message());
  };
  CHECK(refused([](ModelDescription& d) {
          Projection full;
          full.kind = ProjectionKind::none;
          d.encoder.projections.push_back(full);
          const uint32_t last = static_cast<uint32_t>(d.encoder.projections.size() - 1);
          AttentionDescription& attention = d.encoder.layers[0].attention;
          attention.key_projections = {attention.key_projections[0], last, last, last};
          attention.value_projections = {attention.value_projections[0], last, last, last};
        }).find("layer 0 uses full attention in some of its heads only") == 0);
}

TEST_CASE("a projection with span or exact_tokens is refused without a window or if keys and values differ in them") {
  const auto loaded = [](auto change) {
    linformer_test::RandomModel shape;
    shape.order = ProjectionOrder::after_linear;
    shape.span = 3;
    writer::ModelBuilder builder = linformer_test::random_builder(shape);
    for (LayerDescription& layer : builder.description.encoder.layers) layer.attention.window = 4;
    change(builder.description.encoder);
    try {  // The writer makes the same checks as a session.
      builder.serialize();
    } catch (const writer::WriteError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(loaded([](EncoderDescription&) {}) == "");
  CHECK(loaded([](EncoderDescription& e) {
          e.layers[1].attention.window = 0;
        }).find("layers[1].attention.window is 0, but a projection has a span") != std::string::npos);
  CHECK(loaded([](EncoderDescription& e) {
          e.projections[e.layers[0].attention.value_projections[0]].span = 2;
        }).find("keys and values that are compressed with different spans") != std::string::npos);
  const auto with_tokens = [&](Array<uint32_t> tokens, auto change) {
    return loaded([&](EncoderDescription& e) {
      for (Projection& projection : e.projections) {
        projection.span = 0;
        projection.exact_tokens = tokens;
      }
      change(e);
    });
  };
  CHECK(with_tokens({5, 7}, [](EncoderDescription&) {}) == "");
  CHECK(with_tokens({5, 7}, [](EncoderDescription& e) {
          e.layers[1].attention.window = 0;
        }).find("layers[1].attention.window is 0, but a projection has exact_tokens") != std::string::npos);
  CHECK(with_tokens({5, 7}, [](EncoderDescription& e) {
          e.projections[e.layers[0].attention.value_projections[0]].exact_tokens = {7, 5};
        }).find("keys and values that are compressed with different exact_tokens") != std::string::npos);
}

TEST_CASE("a position bias of compressed keys is refused without a window") {
  const auto loaded = [](uint32_t second_window) {
    linformer_test::RandomModel shape;
    shape.order = ProjectionOrder::after_linear;
    shape.position_bias = true;
    writer::ModelBuilder builder = linformer_test::random_builder(shape);
    builder.description.encoder.layers[0].attention.window = 4;
    builder.description.encoder.layers[1].attention.window = second_window;
    try {  // The writer makes the same checks as a session.
      builder.serialize();
    } catch (const writer::WriteError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(loaded(1) == "");
  CHECK(loaded(0).find("layers[1].attention.position_bias depends on distances between rows, but keys are compressed "
                       "and the layer has no window") != std::string::npos);
}

TEST_CASE("a reversible model with different widths within its layers is refused") {
  linformer_test::RandomModel shape;
  shape.residual = ResidualKind::reversible;
  shape.pre_norm = true;
  shape.attention_between = 64;
  // The writer makes the same checks as loading.
  CHECK_THROWS_WITH(linformer_test::random_builder(shape).serialize(), doctest::Contains("can't be reversible"));
}

}  // namespace

}  // namespace linformer_test::interface_test
