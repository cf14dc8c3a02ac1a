#include "commands/flags/vector_flags.h"

#include <CLI/CLI.hpp>

#include "command_line/errors.h"
#include "models/model_file.h"
#include "models/text_queue.h"

namespace linformer::cli {

void VectorFlags::add_to(CLI::App* command) {
  command
      ->add_option("--pooling", pooling,
                   "first, last, mean, weighted-mean (later rows count more) or max of a text's rows; default: the "
                   "model's own pooling, and its linear if it has one")
      ->type_name("HOW")
      ->check(CLI::IsMember({"first", "last", "mean", "weighted-mean", "max"}))
      ->group("Vectors");
  command->add_flag("--normalize", normalize, "Divide each vector by its length, whatever the model's settings")
      ->group("Vectors");
  command
      ->add_flag("--no-normalize", no_normalize, "Don't divide vectors by their length, whatever the model's settings")
      ->group("Vectors");
  command
      ->add_option("--dimensions", dimensions,
                   "Keep only the first N numbers of each vector, before it is divided by its length; for models that "
                   "were trained for that")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}))
      ->group("Vectors");
  command
      ->add_option("--prompt", prompt,
                   "Name of the model's prompt to put before each text ('linformer inspect' lists them); '' means "
                   "none; default: the model's default prompt")
      ->type_name("NAME")
      ->group("Vectors");
}

void VectorFlags::check() const {
  if (normalize && no_normalize) throw UsageError("--normalize and --no-normalize exclude each other");
}

EmbedderOptions VectorFlags::options_for(const Model& model) const {
  EmbedderOptions options;
  if (!pooling.empty()) {
    options.pooling = pooling == "first"           ? Pooling::first_token
                      : pooling == "last"          ? Pooling::last_token
                      : pooling == "weighted-mean" ? Pooling::weighted_mean
                      : pooling == "max"           ? Pooling::max
                                                   : Pooling::mean;
  }
  if (normalize || no_normalize) options.normalize = normalize;
  options.dimensions = dimensions;
  if (prompt) options.prompt = *prompt;
  const SentenceEmbeddingInfo embedding = model.sentence_embedding();
  if (!options.pooling && !embedding.present) {
    throw UsageError(
        "this model doesn't say how its texts become vectors; choose with --pooling first, last, mean, weighted-mean "
        "or max");
  }
  if (!options.pooling && no_normalize && embedding.normalize && embedding.linear_width > 0) {
    throw UsageError("--no-normalize: this model divides by the length after its own linear; leave the option out");
  }
  return options;
}

Embedder VectorFlags::make_embedder(const std::shared_ptr<const Model>& model, const std::string& path,
                                    const RunFlags& run, const TokenFlags& tokens, const LongFlags* longer) const {
  require_tokenizer(*model, path);
  EmbedderOptions options = options_for(*model);
  options.texts = text_options(run, tokens, longer);
  if (!options.pooling && model->info().has_decoder) {
    throw DataError(path + ": this model's vectors come from its decoder, which only the library runs");
  }
  Result<Embedder> made = Embedder::create(model, options);
  if (!made.ok()) throw_creation_error(made.status());
  return std::move(made.value());
}

}  // namespace linformer::cli
