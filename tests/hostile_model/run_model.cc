#include <algorithm>
#include <vector>

#include "base/description.h"
#include "hostile_model/alteration.h"
#include "linformer/session.h"
#include "linformer/tokenizer.h"
#include "support/outputs.h"
#include "text/tokenizer_factory.h"

namespace linformer_test {
namespace {

using namespace linformer;

std::string objection(const char* what, const Status& status) {
  return status.ok() || is_clear_error(status) ? ""
                                               : std::string(what) + " gave the error \"" + status.message() + "\"";
}

// Encodes texts with the model's own tokenizer. Ids must be in the encoder's vocabulary. Returns what is wrong, or "".
std::string tokenize(const Model& model) {
  const Result<Tokenizer> tokenizer = TokenizerFactory::create(model.description().tokenizer);
  if (!tokenizer.ok()) return objection("the tokenizer", tokenizer.status());
  Encoding encoding;
  EncodeOptions options;
  options.token_strings = true;
  for (const bool pair : {false, true}) {
    const Status status = pair ? tokenizer.value().encode("here <mask>", "there", options, &encoding)
                               : tokenizer.value().encode("The inner\xff booth, 2!", options, &encoding);
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

// Two inputs of a part of the model: tokens or vectors, and encoder states if its layers read them.
struct TwoInputs {
  std::vector<int32_t> ids;
  std::vector<float> vectors, encoder_states;
  std::vector<Input> inputs;
};

TwoInputs two_inputs(const EncoderDescription& encoder, size_t longest) {
  TwoInputs made;
  const size_t width = encoder.embedding.vectors.width;
  const bool tokens = encoder.embedding.tokens != absent;
  made.ids.resize(tokens ? longest : 0);
  // The ids come from the whole vocabulary, without the pad, which would be removed.
  for (size_t i = 0; i < made.ids.size(); ++i) {
    made.ids[i] = static_cast<int32_t>((7 * i + 2) % encoder.vocab_size);
    if (made.ids[i] == encoder.pad_id)
      made.ids[i] = encoder.pad_id == 0 ? 1 % static_cast<int32_t>(encoder.vocab_size) : 0;
  }
  made.vectors.assign(tokens ? 0 : longest * width, 0.25f);
  made.encoder_states.assign(encoder.encoder_states_width, 0.5f);
  for (const size_t length : {longest, std::max<size_t>(1, longest / 2)}) {
    Input input;
    if (tokens) input.tokens = Tokens(made.ids).first(length);
    if (!tokens) input.vectors = std::span<const float>(made.vectors).first(length * width);
    input.encoder_states = made.encoder_states;
    made.inputs.push_back(input);
  }
  return made;
}

// The most floats that the vectors of a text or a row of encoder states may have, because the test runs thousands of
// models. No rule of the format refuses wider ones.
constexpr size_t most_floats = size_t{1} << 20;

std::string run_part(const std::shared_ptr<const Model>& model, Part part) {
  const ModelDescription& description = model->description();
  const EncoderDescription& encoder = part == Part::decoder ? description.decoder : description.encoder;
  SessionOptions options;
  options.memory.max_tokens = std::min<int64_t>(encoder.max_tokens, 9);
  options.memory.max_batch = 2;
  options.run.part = part;
  Result<Session> created = Session::create(model, options);
  if (!created.ok()) return objection("the session", created.status());
  Session& session = created.value();
  const bool has_prefix = encoder.embedding.prefix != absent || encoder.embedding.prefix_token >= 0;
  const size_t room = has_prefix && options.memory.max_tokens > 1 ? 1 : 0;
  const size_t longest = static_cast<size_t>(options.memory.max_tokens) - room;
  if (longest * encoder.embedding.vectors.width > most_floats || encoder.encoder_states_width > most_floats) return {};
  const TwoInputs made = two_inputs(encoder, longest);
  const int64_t given[] = {static_cast<int64_t>(longest), std::max<int64_t>(1, static_cast<int64_t>(longest) / 2)};
  const MaskPosition positions[] = {{0, 0}, {1, given[1] - 1}};
  std::vector<Output> asked = {Output::hidden({}), Output::embeddings({}), Output::masked_lm({}, positions)};
  for (int head = 0; head < static_cast<int>(description.heads.size()); ++head) {
    asked.push_back(Output::logits({}, head));
    asked.push_back(Output::probabilities({}, head));
  }
  std::vector<std::vector<float>> values(asked.size());
  std::vector<Output> outputs;
  for (size_t i = 0; i < asked.size(); ++i) add_output(session, made.inputs, asked[i], &values[i], &outputs);
  // There may be more outputs than a call takes, because the file decides how many heads there are.
  for (size_t i = 0; i < outputs.size(); i += Outputs::most) {
    const std::span<const Output> some = std::span(outputs).subspan(i, std::min(Outputs::most, outputs.size() - i));
    const std::string result = objection("the run", session.run(made.inputs, some));
    if (!result.empty()) return result;
  }
  return {};
}

std::string encode(const std::shared_ptr<const Model>& model) {
  const std::string result = run_part(model, Part::encoder);
  return result.empty() && model->description().has_decoder() ? run_part(model, Part::decoder) : result;
}

// Sanitizers make sessions slow, so that with them only every eighth model runs.
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
