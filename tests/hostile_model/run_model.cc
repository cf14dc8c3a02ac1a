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

std::string encode(const std::shared_ptr<const Model>& model) {
  const ModelDescription& description = model->description();
  const EncoderDescription& encoder = description.encoder;
  SessionOptions options;
  options.max_tokens = std::min<int64_t>(encoder.max_tokens, 9);
  options.max_batch = 2;
  Result<Session> session = Session::create(model, options);
  if (!session.ok()) return objection("the session", session.status());

  const int64_t long_text = options.max_tokens, short_text = std::max<int64_t>(1, long_text / 2);
  std::vector<int32_t> ids(static_cast<size_t>(long_text));
  // Ids from the whole vocabulary; the pad, which would be removed, is left out.
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>((7 * i + 2) % encoder.vocab_size);
    if (ids[i] == encoder.pad_id) ids[i] = encoder.pad_id == 0 ? 1 % static_cast<int32_t>(encoder.vocab_size) : 0;
  }
  const Tokens texts[] = {ids, Tokens(ids).first(static_cast<size_t>(short_text))};
  std::vector<float> hidden(static_cast<size_t>(long_text + short_text) * encoder.d_model);
  std::vector<float> logits, probabilities, vocabulary;
  const MaskPosition positions[] = {{0, 0}, {1, short_text - 1}};
  Outputs outputs;
  outputs.hidden = hidden;
  if (description.mlm.present()) {
    vocabulary.resize(2 * size_t{encoder.vocab_size});
    outputs.mlm_positions = positions;
    outputs.mlm_logits = vocabulary;
  }
  std::string result;
  for (int head = 0; result.empty() && head < std::max<int>(1, static_cast<int>(description.heads.size())); ++head) {
    if (!description.heads.empty()) {
      const ClassificationHead& facts = description.heads[static_cast<size_t>(head)];
      const size_t classes = description.tensors[static_cast<size_t>(facts.output.weight)].shape[0];
      const size_t rows = facts.pooling == Pooling::none ? static_cast<size_t>(long_text + short_text) : 2;
      logits.assign(rows * classes, 0);
      probabilities.assign(rows * classes, 0);
      outputs.head = head;
      outputs.logits = logits;
      outputs.probabilities = probabilities;
    }
    result = objection("the run", session->run(texts, outputs));
  }
  return result;
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
