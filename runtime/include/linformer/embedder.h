// Embedder: strings in, one vector each out.
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
  // How a text's rows become one vector. Without it as the model says, its own linear included; a model that doesn't
  // say needs one.
  std::optional<Pooling> pooling = {};
  // Divide each vector by its length. Without it as the model says where it says how, else not.
  std::optional<bool> normalize = {};
  // Numbers of a vector that are kept, the first ones, before it is divided by its length: for models that were trained
  // so that a vector's beginning is a vector by itself (Matryoshka). 0: all.
  int64_t dimensions = 0;
  // What is put before each text: one of the model's prompts, by its name (Model::prompt()), or none where the name is
  // empty. Without it the model's default, where it has one. Used by create() alone.
  std::optional<std::string_view> prompt = {};
};

// Owns its tokenizer, sessions and threads; shares the model. Not thread-safe: one call at a time. Movable.
class Embedder {
 public:
  // Errors: those of Session and Tokenizer, and invalid_argument where the model doesn't say how its texts become
  // vectors, or can't leave their lengths as they are, for more dimensions than its vectors have, and for a prompt that
  // it doesn't have; the sentence then lists those that it has. unsupported for a prompt whose tokens the model leaves
  // out of its vectors.
  static Result<Embedder> create(std::shared_ptr<const Model> model, const EmbedderOptions& options = {});

  // vectors[i * width() + j] for any number of texts. The first text without a vector is the error, which names it;
  // `vectors` is then unspecified, as after an error of the call itself.
  Status embed(const TextList& texts, std::span<float> vectors, const RunControl& control = {});
  // visit(context, index, report, vector) for each text, in order, on this thread: as Classifier::classify().
  using Visit = bool (*)(void* context, size_t index, const TextReport& report, std::span<const float> vector);
  Status embed(const TextList& texts, Visit visit, void* context, const RunControl& control = {});
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

  // Numbers of a vector: options.dimensions, or all that the model makes.
  int64_t width() const;
  // As Classifier's.
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
