// Embedder: takes texts, and gives one vector for each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "linformer/model.h"
#include "linformer/text_input.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct EmbedderOptions {
  TextOptions texts = {};
  // How the rows of a text become one vector. If unset, the model's own way is used, including its linear layer. It
  // must be set if the model says nothing about it.
  std::optional<Pooling> pooling = {};
  // Whether each vector is divided by its length. If unset, the model's own setting is used, or false if `pooling` is
  // set.
  std::optional<bool> normalize = {};
  // The number of elements that are kept of each vector, from its beginning. If vectors are divided by their length,
  // this is done afterwards. It is for models that were trained so that the beginning of a vector is a vector by itself
  // (Matryoshka). 0: all elements are kept.
  int64_t dimensions = 0;
  // The name of the model's prompt that is put before each text (Model::prompt()). An empty name means no prompt. If
  // unset, the model's default prompt is used, if it has one. Only create() reads this string.
  std::optional<std::string_view> prompt = {};
};

// Embeds texts. An Embedder owns its tokenizer, sessions and threads, and shares the model. Not thread-safe: one call
// at a time. Movable.
//
//   auto embedder = linformer::Embedder::create(model);
//   if (!embedder.ok()) return embedder.status();
//   const std::string_view texts[] = {"A fine film.", "A long train journey."};
//   std::vector<float> vectors(2 * embedder->width());
//   linformer::Status done = embedder->embed(texts, vectors);
class Embedder {
 public:
  // Returns the errors of Session and Tokenizer. Returns invalid_argument if the model doesn't say how its texts become
  // vectors and no pooling is set; if normalize is false, but the model divides by the length after a linear layer of
  // its own; for more dimensions than its vectors have; and for a prompt that the model lacks, with a message that
  // lists the prompts that it has. Returns unsupported for an encoder-decoder without a pooling, and for a prompt whose
  // tokens the model leaves out of its vectors.
  static Result<Embedder> create(std::shared_ptr<const Model> model, const EmbedderOptions& options = {});

  // Writes vector i to vectors[i * width() + j], for any number of texts. If a text has no vector, it returns an error
  // that names the first such text. After an error, `vectors` is unspecified.
  Status embed(const TextList& texts, std::span<float> vectors, const RunControl& control = {});
  // Calls visit(context, index, report, vector) for each text, in order. The rest is as for Classifier::classify().
  using Visit = bool (*)(void* context, size_t index, const TextReport& report, std::span<const float> vector);
  Status embed(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
  // As above, with any callable object as `visit`.
  template <class Callable>
  requires std::is_invocable_r_v<bool, Callable&, size_t, const TextReport&, std::span<const float>> Status
  embed(const TextList& texts, Callable&& visit, const RunControl& control = {}) {
    using Called = std::remove_reference_t<Callable>;
    return embed(
        texts,
        [](void* context, size_t index, const TextReport& report, std::span<const float> vector) -> bool {
          return (*static_cast<Called*>(context))(index, report, vector);
        },
        const_cast<void*>(static_cast<const void*>(&visit)), control);
  }

  // Returns the number of elements of a vector: options.dimensions, or all that the model makes.
  int64_t width() const;
  // These three functions are the same as in Classifier.
  int64_t max_tokens() const;
  size_t texts_at_once() const;
  std::span<const Session> sessions() const;

  Embedder(Embedder&&) noexcept;
  Embedder& operator=(Embedder&&) noexcept;
  ~Embedder();

 private:
  struct State;
  explicit Embedder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
