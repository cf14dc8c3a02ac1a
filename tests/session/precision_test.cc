// Tests in which types a session computes, depending on its options, the file and the processor, and how the plan
// explains them.
#include <doctest/doctest.h>

#include <string>

#include "base/description.h"
#include "kernels/kernels.h"
#include "session/state.h"
#include "session/variant_answers.h"
#include "support/engines.h"

namespace linformer_test::precision_test {
namespace {

using namespace linformer;

constexpr ElementType f32 = ElementType::f32, bf16 = ElementType::bf16, f16 = ElementType::f16,
                      int8 = ElementType::int8;

struct Row {
  ElementType weights;
  Compute compute;
  AttentionCompute attention;
  bool faster;  // Whether bf16 is faster than f32 on the machine.
  ElementType expected, expected_attention;
  const char* sentence;
};

constexpr Compute automatic = Compute::automatic;
constexpr AttentionCompute as_compute = AttentionCompute::automatic;

const Row rows[] = {
    {f32, automatic, as_compute, true, f32, f32,
     "Weights in f32 are multiplied in f32, and attention is computed in f32: the file has them in f32."},
    {f32, Compute::bf16, as_compute, true, f32, f32,
     "Weights in f32 are multiplied in f32, and attention is computed in f32: the file has them in f32."},
    {f32, automatic, AttentionCompute::bf16, false, f32, bf16,
     "Weights in f32 are multiplied in f32 (the file has them in f32), and attention is computed in bf16 (the options "
     "ask for it)."},
    {f16, automatic, as_compute, true, f32, f32,
     "Weights in f16 are multiplied in f32, and attention is computed in f32: f16 is always widened."},
    {bf16, automatic, as_compute, true, bf16, bf16,
     "Weights in bf16 are multiplied in bf16, and attention is computed in bf16: the machine's reason."},
    {bf16, automatic, as_compute, false, f32, f32,
     "Weights in bf16 are multiplied in f32, and attention is computed in f32: the machine's reason."},
    {bf16, Compute::bf16, as_compute, false, bf16, bf16,
     "Weights in bf16 are multiplied in bf16, and attention is computed in bf16: the options ask for bf16."},
    {bf16, Compute::no_bf16, as_compute, true, f32, f32,
     "Weights in bf16 are multiplied in f32, and attention is computed in f32: the options ask for no bf16."},
    {bf16, Compute::f32, as_compute, true, f32, f32,
     "Weights in bf16 are multiplied in f32, and attention is computed in f32: the options ask for f32."},
    {bf16, automatic, AttentionCompute::f32, true, bf16, f32,
     "Weights in bf16 are multiplied in bf16 (the machine's reason), and attention is computed in f32 (the options ask "
     "for it)."},
    {bf16, Compute::f32, AttentionCompute::bf16, false, f32, bf16,
     "Weights in bf16 are multiplied in f32 (the options ask for f32), and attention is computed in bf16 (the options "
     "ask for it)."},
    {int8, automatic, as_compute, true, int8, bf16,
     "Weights in int8 are multiplied in int8 (every CPU can multiply int8 without conversion), and attention is "
     "computed in bf16 (the machine's reason)."},
    {int8, automatic, as_compute, false, int8, f32,
     "Weights in int8 are multiplied in int8 (every CPU can multiply int8 without conversion), and attention is "
     "computed in f32 (the machine's reason)."},
    {int8, Compute::bf16, as_compute, false, int8, bf16,
     "Weights in int8 are multiplied in int8 (every CPU can multiply int8 without conversion), and attention is "
     "computed in bf16 (the options ask for bf16)."},
    {int8, automatic, AttentionCompute::f32, true, int8, f32,
     "Weights in int8 are multiplied in int8 (every CPU can multiply int8 without conversion), and attention is "
     "computed in f32 (the options ask for it)."},
    {int8, automatic, AttentionCompute::bf16, false, int8, bf16,
     "Weights in int8 are multiplied in int8 (every CPU can multiply int8 without conversion), and attention is "
     "computed in bf16 (the options ask for it)."},
    {int8, Compute::f32, as_compute, true, f32, f32,
     "Weights in int8 are multiplied in f32, and attention is computed in f32: the options ask for f32."},
    {int8, Compute::f32, AttentionCompute::bf16, false, f32, bf16,
     "Weights in int8 are multiplied in f32 (the options ask for f32), and attention is computed in bf16 (the options "
     "ask for it)."},
};

TEST_CASE("the types of a computation follow from the file, the options and the processor, and are explained") {
  for (const Row& row : rows) {
    RandomModel shape;
    shape.type = row.weights;
    const auto model = linformer_test::random_model(shape);
    SessionOptions options;
    options.run.compute = row.compute;
    options.run.attention_compute = row.attention;
    const Bf16Choice machine{row.faster, "the machine's reason"};
    const Result<LoweredModel> lowered = lower_model(model->description(), options, machine);
    REQUIRE(lowered.ok());
    const Plan& plan = lowered->plan;
    CHECK(std::string(plan.precision) == row.sentence);
    CHECK(plan.weights == row.weights);
    CHECK(plan.compute == row.expected);
    CHECK(plan.attention_compute == row.expected_attention);
    for (const Op& op : lowered->program.ops) {
      if (const auto* attend = op.get<ops::Attend>()) CHECK(attend->compute == row.expected_attention);
    }
    // Other backends compute in f32 on every machine.
    options.cpu.backend = BackendKind::openblas;
    const Result<LoweredModel> other = lower_model(model->description(), options, machine);
    if (row.compute == Compute::bf16 || row.attention == AttentionCompute::bf16) {
      REQUIRE(!other.ok());
      CHECK(other.status().code() == Code::invalid_argument);
      CHECK(std::string(other.status().message()).find("only the native backend") != std::string::npos);
    } else {
      REQUIRE(other.ok());
      CHECK(other->plan.compute == f32);
      CHECK(other->plan.attention_compute == f32);
    }
  }
}

TEST_CASE("the longest explanation of the precision fits its buffer, and unknown option values are refused") {
  RandomModel shape;
  shape.type = int8;
  const auto model = linformer_test::random_model(shape);
  const Bf16Choice machine{true, "AMX multiplies bf16 many times as fast as f32 is multiplied without it"};
  const Result<LoweredModel> lowered = lower_model(model->description(), {}, machine);
  REQUIRE(lowered.ok());
  CHECK(std::string(lowered->plan.precision).ends_with("without it)."));
  const auto refused = [&](auto change, const char* part) {
    SessionOptions options;
    change(options);
    for (const Status& status : {plan(*model, options, Machine()).status(), plan(*model, options).status(),
                                 Session::create(model, options).status()}) {
      INFO(std::string(status.message()));
      CHECK(status.code() == Code::invalid_argument);
      CHECK(std::string(status.message()).find(part) != std::string::npos);
    }
  };
  refused([](auto& o) { o.run.compute = static_cast<Compute>(4); }, "there is no compute number 4");
  refused([](auto& o) { o.run.attention_compute = static_cast<AttentionCompute>(3); }, "no attention_compute number 3");
  SessionOptions device;
  device.cuda.device = 0;
  device.run.attention_compute = AttentionCompute::f32;
  CHECK(lower_model(model->description(), device, machine).status().code() == Code::invalid_argument);
}

TEST_CASE("plan() equals the plan of a session, and is refused if the machine lacks the kernels") {
  for (const ElementType type : {f32, bf16, f16, int8}) {
    RandomModel shape;
    shape.type = type;
    const auto model = linformer_test::random_model(shape);
    for (const Isa isa : {Isa::automatic, Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
      for (const Compute compute : {automatic, Compute::no_bf16, Compute::f32, Compute::bf16}) {
        for (const AttentionCompute attention : {as_compute, AttentionCompute::f32, AttentionCompute::bf16}) {
          SessionOptions options;
          options.cpu.isa = isa;
          options.run.compute = compute;
          options.run.attention_compute = attention;
          const Result<Plan> planned = plan(*model, options);
          const Result<Session> session = Session::create(model, options);
          const Kernels* kernels = kernels_for(isa);
          if (kernels == nullptr) {
            CHECK(session.status().code() == Code::unsupported);
            CHECK(planned.ok());
            continue;
          }
          const bool asks = compute == Compute::bf16 || attention == AttentionCompute::bf16;
          if (asks && kernels->gemm_bf16 == nullptr) {
            CHECK(session.status().code() == Code::unsupported);
            CHECK(std::string(session.status().message()).find("leave compute") != std::string::npos);
            CHECK(std::string(planned.status().message()) == session.status().message());
            continue;
          }
          REQUIRE_MESSAGE(session.ok(), std::string(session.status().message()));
          REQUIRE(planned.ok());
          const Plan& plan = session->plan();
          CHECK(std::string(planned->precision) == plan.precision);
          CHECK(planned->total_bytes == plan.total_bytes);
          CHECK(planned->compute == plan.compute);
          CHECK(planned->attention_compute == plan.attention_compute);
          CHECK(planned->options.run.compute == plan.options.run.compute);
          CHECK(planned->options.cpu.isa == plan.options.cpu.isa);
          CHECK(planned->options.cpu.block_rows == plan.options.cpu.block_rows);
          // With the options that the session chose, plan() gives the same plan on every machine.
          const Result<Plan> again = linformer::plan(*model, plan.options, linformer::Machine());
          REQUIRE(again.ok());
          CHECK(again->total_bytes == plan.total_bytes);
          CHECK(again->compute == plan.compute);
          CHECK(again->attention_compute == plan.attention_compute);
        }
      }
    }
  }
}

TEST_CASE("for every kind of model the automatic type gives the bits of the chosen type, and every type is near f32") {
  size_t types = 0;
  for (const ElementType type : {f32, bf16, int8}) {
    for (Variant variant : linformer_test::sampled_variants(types++, 45)) {
      variant.shape.type = type;
      CAPTURE(variant.name);
      CAPTURE(std::string(name_of(type)));
      const auto model = linformer_test::random_model(variant.shape);
      const std::vector<RandomInput> texts = linformer_test::random_texts(*model, variant, {44, 3, 20});
      for (const linformer_test::Engine& engine : linformer_test::engines()) {
        if (engine.backend != BackendKind::native || engine.device >= 0) continue;
        CAPTURE(linformer_test::label_of(engine));
        const Kernels& kernels = *kernels_for(engine.isa);
        SessionOptions options;
        options.cpu.isa = engine.isa;
        const auto chosen = run(model, variant, options, texts);
        options.run.compute = kernels.bf16.faster ? Compute::bf16 : Compute::no_bf16;
        const auto forced = run(model, variant, options, texts);
        for (size_t i = 0; i < chosen.all().size(); ++i) CHECK(*chosen.all()[i] == *forced.all()[i]);
        if (kernels.gemm_bf16 == nullptr) continue;
        // Each choice of the types of weights and attention gives results near those in f32.
        options.run.compute = Compute::f32;
        const auto wide = run(model, variant, options, texts);
        for (const Compute compute : {Compute::bf16, Compute::no_bf16, Compute::f32}) {
          for (const AttentionCompute attention : {AttentionCompute::f32, AttentionCompute::bf16}) {
            options.run.compute = compute;
            options.run.attention_compute = attention;
            const auto other = run(model, variant, options, texts);
            const bool rounds = type == int8 ? compute != Compute::f32 : type == bf16 && compute == Compute::bf16;
            for (size_t i = 0; i < other.all().size(); ++i) {
              const double x = linformer_test::max_relative_difference(*wide.all()[i], *other.all()[i]);
              if (!rounds && attention == AttentionCompute::f32) {
                CHECK(x == 0);
              } else {
                CHECK(x <= (type == int8 ? 0.12 : 0.05));
              }
            }
          }
        }
        options.run.attention_compute = AttentionCompute::automatic;
      }
    }
  }
}

}  // namespace

}  // namespace linformer_test::precision_test
