// Tests with the native backend and every kind of attention and layer that a text has the same bits alone, in any
// batch, at any number of threads, and in a smaller or larger session.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/description.h"
#include "session/variants.h"
#include "support/engines.h"
#include "support/outputs.h"

namespace linformer_test::identity_variants_test {
namespace {

using namespace linformer;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool best_only = true;  // All instruction sets would take minutes.
#else
constexpr bool best_only = false;
#endif

// One vector for each text, which has its rows, scores and embedding.
using Answers = std::vector<std::vector<float>>;

class Runner {
 public:
  Runner(const Variant& variant, std::shared_ptr<const Model> model, const Engine& engine)
      : variant_(variant), model_(std::move(model)), engine_(engine) {}

  Session session(int threads, int64_t batch, int64_t max_tokens = 0, int64_t max_encoder_states = 0) const {
    SessionOptions options = linformer_test::session_options(engine_, threads, batch);
    options.memory.max_tokens = max_tokens;
    options.memory.max_encoder_states = max_encoder_states;
    options.run.padding = variant_.masks ? Padding::keep : Padding::strip;
    Result<Session> created = Session::create(model_, options);
    REQUIRE_MESSAGE(created.ok(), std::string(created.status().message()));
    return std::move(created.value());
  }

  Answers run(Session& session, const std::vector<const RandomInput*>& inputs) const {
    std::vector<Input> views;
    for (const RandomInput* input : inputs) views.push_back(input->view());
    Answers answers(inputs.size());
    add(session, views, {Output::hidden({}), Output::logits({}), Output::hidden({}, 1), Output::embeddings({})},
        &answers);
    // This call computes only the first rows of the last layer.
    add(session, views, {Output::pooled({}, Pooling::first_token)}, &answers);
    return answers;
  }

 private:
  // Runs one call, and appends its outputs to the vector of each text.
  static void add(Session& session, const std::vector<Input>& views, const std::vector<Output>& asked,
                  Answers* answers) {
    std::vector<std::vector<float>> values(asked.size());
    std::vector<Output> outputs;
    for (size_t i = 0; i < asked.size(); ++i) {
      linformer_test::add_output(session, views, asked[i], &values[i], &outputs);
    }
    check(session.run(views, outputs));
    for (size_t i = 0; i < asked.size(); ++i) {
      int64_t next = 0;
      for (size_t t = 0; t < views.size() && !values[i].empty(); ++t) {
        const int64_t floats = session.shape(asked[i], std::span(views).subspan(t, 1))->floats();
        (*answers)[t].insert((*answers)[t].end(), values[i].begin() + next, values[i].begin() + next + floats);
        next += floats;
      }
    }
  }
  static void check(const Status& status) { REQUIRE_MESSAGE(status.ok(), std::string(status.message())); }

  const Variant& variant_;
  std::shared_ptr<const Model> model_;
  Engine engine_;
};

// Returns every kind of model in f32, bf16 and int8; under the address sanitizer, a third of the kinds in each type.
// Without sanitizers, full attention has two blocks of keys.
std::vector<Variant> variants_of_all_types() {
  std::vector<Variant> all;
  size_t types = 0;
  for (ElementType type : {ElementType::f32, ElementType::bf16, ElementType::int8}) {
    for (Variant& variant : linformer_test::sampled_variants(types++, 300, best_only ? 300 : 600)) {
      variant.shape.type = type;
      all.push_back(variant);
    }
  }
  return all;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_CASE("for every kind of model a text's bits do not depend on threads, batch or session" *
          doctest::test_suite("long")) {
  for (const Variant& variant : variants_of_all_types()) {
    const int64_t n = variant.shape.n;
    const int64_t lengths[] = {n - 1, 1, 17, 128, 129, 2, n - 43}, states[] = {130, n, 9, 128, 1, n - 44, 64};
    constexpr size_t texts = std::size(lengths), small = 2;
    CAPTURE(variant.name);
    CAPTURE(std::string(name_of(variant.shape.type)));
    const auto model = linformer_test::random_model(variant.shape);
    std::vector<RandomInput> inputs;
    for (size_t t = 0; t < texts; ++t) {
      inputs.push_back(linformer_test::random_input(t, model->description().encoder, lengths[t], states[t],
                                                    variant.masks && t % 3 != 0));
    }
    std::vector<const RandomInput*> forwards, backwards;
    for (const RandomInput& input : inputs) forwards.push_back(&input);
    backwards.assign(forwards.rbegin(), forwards.rend());
    const Isa best = linformer_test::best_isa();
    for (const Engine& engine : linformer_test::engines()) {
      if (engine.backend != BackendKind::native) continue;  // The other backends promise nothing.
      if ((best_only || variant.shape.type != ElementType::f32) && engine.isa != best) continue;
      CAPTURE(std::string(name_of(engine.isa)));
      const Runner runner(variant, model, engine);
      const bool for_largest = linformer_test::depends_on_largest_call(engine);
      Session alone = runner.session(1, for_largest ? static_cast<int64_t>(texts) : 1);
      Answers expected;
      for (const RandomInput* input : forwards) expected.push_back(runner.run(alone, {input})[0]);
      REQUIRE(std::all_of(expected[0].begin(), expected[0].end(), [](float value) { return std::isfinite(value); }));
      for (int threads : {1, 2, 4}) {
        if (engine.device >= 0 && threads > 1) continue;  // The device uses no threads of the CPU.
        CAPTURE(threads);
        Session batched = runner.session(threads, texts);
        const Answers together = runner.run(batched, forwards), turned = runner.run(batched, backwards);
        for (size_t t = 0; t < texts; ++t) {
          CAPTURE(lengths[t]);
          CHECK(same(expected[t], together[t]));
          CHECK(same(expected[t], turned[texts - 1 - t]));
        }
        // Values that the earlier, larger calls left in the arena change nothing.
        CHECK(same(expected[small], runner.run(batched, {forwards[small]})[0]));
        if (for_largest) continue;
        Session tight = runner.session(threads, 1, lengths[small] + 1, states[small]);
        CHECK(same(expected[small], runner.run(tight, {forwards[small]})[0]));
      }
    }
  }
}

// Returns a model in which the embedding of token 4 is NaN.
std::shared_ptr<const Model> poisoned_model(const Variant& variant, writer::AlignedBytes* bytes) {
  writer::ModelBuilder builder = linformer_test::random_builder(variant.shape);
  EmbeddingDescription& embedding = builder.description.encoder.embedding;
  if (embedding.tokens != absent) {
    const uint64_t vocabulary = variant.shape.vocabulary;
    const uint64_t width = builder.description.tensors[static_cast<size_t>(embedding.tokens)].shape[1];
    std::vector<float> table(vocabulary * width);
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 60.f;
    std::fill_n(table.begin() + static_cast<long>(4 * width), width, NAN);
    embedding.tokens = builder.add_floats("poisoned", {vocabulary, width}, table);  // f32, as int8 has no NaN.
  }
  *bytes = builder.serialize();
  auto loaded = Model::load(*bytes);
  REQUIRE_MESSAGE(loaded.ok(), std::string(loaded.status().message()));
  return loaded.value();
}

TEST_CASE("for every kind of model an arena full of NaN changes no bit" * doctest::test_suite("long")) {
  for (Variant variant : variants_of_all_types()) {
    CAPTURE(variant.name);
    CAPTURE(std::string(name_of(variant.shape.type)));
    variant.shape.masked_lm = false;
    writer::AlignedBytes bytes;
    const auto model = poisoned_model(variant, &bytes);
    const EncoderDescription& encoder = model->description().encoder;
    const int64_t n = variant.shape.n;
    RandomInput poison = linformer_test::random_input(1, encoder, n - 1, n, false);
    std::fill(poison.tokens.begin(), poison.tokens.end(), 4);
    std::fill(poison.vectors.begin(), poison.vectors.end(), NAN);
    std::fill(poison.encoder_states.begin(), poison.encoder_states.end(), NAN);
    for (const Engine& engine : linformer_test::engines()) {
      CAPTURE(std::string(name_of(engine.backend)));
      CAPTURE(std::string(name_of(engine.isa)));
      if (engine.isa != linformer_test::best_isa()) continue;
      const Runner runner(variant, model, engine);
      Session session = runner.session(2, 2);
      for (int64_t length : {1, 37, 130}) {
        CAPTURE(length);
        RandomInput text = linformer_test::random_input(7, encoder, length, 2 * length + 1, variant.masks);
        std::replace(text.tokens.begin(), text.tokens.end(), 4, 5);
        Session fresh = runner.session(2, 2);
        const Answers expected = runner.run(fresh, {&text});
        REQUIRE(std::all_of(expected[0].begin(), expected[0].end(), [](float value) { return std::isfinite(value); }));
        CHECK(std::isnan(runner.run(session, {&poison, &poison})[1][0]));
        CHECK(same(expected[0], runner.run(session, {&text})[0]));
      }
    }
  }
}

}  // namespace

}  // namespace linformer_test::identity_variants_test
