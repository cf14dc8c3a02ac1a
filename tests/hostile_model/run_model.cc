#include <algorithm>
#include <vector>

#include "hostile_model/alteration.h"
#include "linformer/session.h"
#include "linformer/tokenizer.h"

namespace linformer_test {
namespace {

using namespace linformer;

std::string objection(const char* what, const Status& status) {
  return status.ok() || is_clear(status) ? "" : std::string(what) + " gave the error \"" + status.message() + "\"";
}

// A text through the model's own tokenizer. Its ids are ones that the embedding has.
std::string tokenize(const Model& model) {
  const Result<Tokenizer> tokenizer = Tokenizer::create(model.description().tokenizer);
  if (!tokenizer.ok()) return objection("the tokenizer", tokenizer.status());
  Encoding encoding;
  EncodeOptions options;
  options.token_strings = true;
  for (const Status& status : {tokenizer.value().encode("The inner\xff booth, 2!", options, &encoding),
                               tokenizer.value().encode("here <mask>", "there", options, &encoding)}) {
    // A tokenizer without a template for pairs or an id for unknown tokens may refuse the text.
    if (!status.ok()) continue;
    for (int32_t id : encoding.ids()) {
      if (id < 0 || static_cast<uint32_t>(id) >= model.description().encoder.vocab_size) {
        return "the tokenizer gave id " + std::to_string(id);
      }
    }
  }
  return {};
}

// Two inputs of a part of the model: tokens or vectors, and a memory where its layers read one.
struct TwoInputs {
  std::vector<int32_t> ids;
  std::vector<float> vectors, memory;
  std::vector<Input> inputs;
};

TwoInputs two_inputs(const EncoderDescription& encoder, size_t longest) {
  TwoInputs made;
  const size_t width = encoder.embedding.vectors.width;
  const bool tokens = encoder.embedding.tokens != absent;
  made.ids.resize(tokens ? longest : 0);
  // Ids from the whole vocabulary; the pad, which would be removed, is left out.
  for (size_t i = 0; i < made.ids.size(); ++i) {
    made.ids[i] = static_cast<int32_t>((7 * i + 2) % encoder.vocab_size);
    if (made.ids[i] == encoder.pad_id)
      made.ids[i] = encoder.pad_id == 0 ? 1 % static_cast<int32_t>(encoder.vocab_size) : 0;
  }
  made.vectors.assign(tokens ? 0 : longest * width, 0.25f);
  made.memory.assign(encoder.memory_width, 0.5f);
  for (const size_t length : {longest, std::max<size_t>(1, longest / 2)}) {
    Input input;
    if (tokens) input.tokens = Tokens(made.ids).first(length);
    if (!tokens) input.vectors = std::span<const float>(made.vectors).first(length * width);
    input.memory = made.memory;
    made.inputs.push_back(input);
  }
  return made;
}

// What the file may ask of a test that runs thousands: wider vectors or memories are refused by no rule.
constexpr size_t most_floats = size_t{1} << 20;

std::string run_part(const std::shared_ptr<const Model>& model, Part part) {
  const ModelDescription& description = model->description();
  const EncoderDescription& encoder = part == Part::decoder ? description.decoder : description.encoder;
  SessionOptions options;
  options.max_tokens = std::min<int64_t>(encoder.max_tokens, 9);
  options.max_batch = 2;
  options.part = part;
  Result<Session> created = Session::create(model, options);
  if (!created.ok()) return objection("the session", created.status());
  Session& session = created.value();
  const bool has_heads = (part == Part::decoder) == description.has_decoder();

  const bool has_prefix = encoder.embedding.prefix != absent || encoder.embedding.prefix_token >= 0;
  const size_t room = has_prefix && options.max_tokens > 1 ? 1 : 0;
  const size_t longest = static_cast<size_t>(options.max_tokens) - room;
  if (longest * encoder.embedding.vectors.width > most_floats || encoder.memory_width > most_floats) return {};
  const TwoInputs made = two_inputs(encoder, longest);
  const int64_t given[] = {static_cast<int64_t>(longest), std::max<int64_t>(1, static_cast<int64_t>(longest) / 2)};
  const int64_t rows = session.output_rows(given[0]) + session.output_rows(given[1]);
  std::vector<float> hidden(static_cast<size_t>(rows * session.hidden_width(-1)));
  std::vector<float> logits, probabilities, vocabulary, embeddings;
  const MaskPosition positions[] = {{0, 0}, {1, given[1] - 1}};
  Outputs outputs;
  outputs.hidden = hidden;
  if (has_heads && description.mlm.present()) {
    vocabulary.resize(2 * size_t{encoder.vocab_size});
    outputs.mlm_positions = positions;
    outputs.mlm_logits = vocabulary;
  }
  embeddings.resize(static_cast<size_t>(2 * session.embedding_width()));
  outputs.embeddings = embeddings;
  const int heads = has_heads ? static_cast<int>(description.heads.size()) : 0;
  std::string result;
  for (int head = 0; result.empty() && head < std::max(1, heads); ++head) {
    if (head < heads) {
      const ClassificationHead& facts = description.heads[static_cast<size_t>(head)];
      const size_t classes = description.tensors[static_cast<size_t>(facts.output.weight)].shape[0];
      const size_t scores = static_cast<size_t>(session.score_rows(head, 2, rows)) * classes;
      logits.assign(scores, 0);
      probabilities.assign(scores, 0);
      outputs.head = head;
      outputs.logits = logits;
      outputs.probabilities = probabilities;
    }
    result = objection("the run", session.run(made.inputs, outputs));
  }
  return result;
}

std::string encode(const std::shared_ptr<const Model>& model) {
  const std::string result = run_part(model, Part::encoder);
  return result.empty() && model->description().has_decoder() ? run_part(model, Part::decoder) : result;
}

// Sanitizers make sessions slow: there, every eighth model is run.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int run_every = 8;
#else
constexpr int run_every = 1;
#endif
int models = 0;

}  // namespace

std::string run_model(const std::shared_ptr<const Model>& model) {
  touch_everything(model);
  if (models++ % run_every != 0) return {};
  const std::string result = tokenize(*model);
  return result.empty() ? encode(model) : result;
}

const OnLoaded on_loaded = run_model;

}  // namespace linformer_test
