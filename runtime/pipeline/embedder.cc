#include "linformer/embedder.h"

#include <cmath>
#include <new>

#include "base/array.h"
#include "base/description.h"
#include "linformer/text_runner.h"
#include "pipeline/prompts.h"
#include "pipeline/rows.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Vectors are never divided by less than this, as in torch.nn.functional.normalize.
constexpr double least_length = 1e-12;

void divide_by_length(std::span<float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  const float length = static_cast<float>(std::max(std::sqrt(squares), least_length));
  for (float& value : values) value /= length;
}

}  // namespace

struct Embedder::State {
  explicit State(TextRunner made) : runner(std::move(made)) {}

  TextRunner runner;
  bool normalize = false;      // The final vectors are divided by their length.
  bool is_normalized = false;  // The vectors of the model have length 1.
  size_t width = 0;            // The number of floats of a vector that are kept.
  bool cut = false;            // The vectors of the model have more than `width` floats.
  Array<float> vector;         // A buffer for the result of cut_and_normalize().

  // Cuts and normalizes a vector of the runner. The result is valid until the next call.
  std::span<const float> cut_and_normalize(const TextReport& report, std::span<const float> values) {
    if (values.empty()) return values;
    values = values.first(width);
    // A normalized vector must be divided again if it is a mean of several windows or was cut.
    if (!normalize || (is_normalized && report.windows == 1 && !cut)) return values;
    std::copy(values.begin(), values.end(), vector.begin());
    divide_by_length({vector.data(), vector.size()});
    return vector.span();
  }
};

Embedder::Embedder(std::unique_ptr<State> state) : state_(std::move(state)) {}
Embedder::Embedder(Embedder&&) noexcept = default;
Embedder& Embedder::operator=(Embedder&&) noexcept = default;
Embedder::~Embedder() = default;

Result<Embedder> Embedder::create(std::shared_ptr<const Model> model, const EmbedderOptions& options) {
  const Status no_memory = Status::error(Code::out_of_memory, "no memory for an embedder");
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  const SentenceEmbedding& embedding = model->description().embedding;
  Output output = Output::embeddings({});
  bool normalize = false, is_normalized = false;
  if (options.pooling) {
    output = Output::pooled({}, options.pooling);
    normalize = options.normalize.value_or(false);
  } else if (model->description().has_decoder()) {
    return Status::error(Code::unsupported,
                         "this model's vectors come from its decoder: choose a pooling, or run sessions of both parts");
  } else if (!embedding.present) {
    return Status::error(Code::invalid_argument,
                         "this model doesn't say how its texts become vectors: choose a pooling");
  } else {
    normalize = options.normalize.value_or(embedding.normalize);
    is_normalized = embedding.normalize;
    if (embedding.normalize && !normalize) {
      if (embedding.dense.present()) {
        return Status::error(
            Code::invalid_argument,
            "this model normalizes its vectors after a linear layer of its own: leave normalize unset");
      }
      output = Output::pooled({}, embedding.pooling);
      is_normalized = false;
    }
  }
  const Result<std::string_view> prompt = find_prompt(embedding, options.prompt);
  if (!prompt.ok()) return prompt.status();
  Result<TextRunner> runner = PromptedRunner::create(std::move(model), output, options.texts, *prompt);
  if (!runner.ok()) return runner.status();
  std::unique_ptr<State> state(new (std::nothrow) State(std::move(*runner)));
  if (!state) return no_memory;
  state->normalize = normalize;
  state->is_normalized = is_normalized;
  const int64_t columns = state->runner.columns(0);
  if (options.dimensions < 0 || options.dimensions > columns) {
    return Status::error(Code::invalid_argument, "dimensions is %lld: this model's vectors have %lld numbers",
                         static_cast<long long>(options.dimensions), static_cast<long long>(columns));
  }
  state->cut = options.dimensions > 0 && options.dimensions < columns;
  state->width = static_cast<size_t>(state->cut ? options.dimensions : columns);
  if (!state->vector.try_resize(state->width)) return no_memory;
  return Embedder(std::move(state));
}

Status Embedder::embed(const TextList& texts, std::span<float> vectors, const RunControl& control) {
  const auto row = [&](const TextReport& report, std::span<const float> values) {
    return state_->cut_and_normalize(report, values);
  };
  return run_to_rows(state_->runner, texts, vectors, static_cast<size_t>(width()), "floats", row, control);
}

Status Embedder::embed(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  return state_->runner.run(
      texts,
      [&](size_t index, const TextReport& report, std::span<const float> values) {
        return visit(context, index, report, state_->cut_and_normalize(report, values));
      },
      control);
}

int64_t Embedder::width() const { return static_cast<int64_t>(state_->width); }
int64_t Embedder::max_tokens() const { return state_->runner.max_tokens(); }
size_t Embedder::texts_at_once() const { return state_->runner.texts_at_once(); }
std::span<const Session> Embedder::sessions() const { return state_->runner.sessions(); }

}  // namespace LINFORMER_NAMESPACE
