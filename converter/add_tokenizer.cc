#include "converter/add_tokenizer.h"

#include <algorithm>
#include <iterator>

#include "base/enum_names.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"
#include "text/tokenizer_factory.h"

namespace linformer::convert {

namespace {

int64_t largest_id(const TokenizerDescription& tokenizer) {
  int64_t largest = tokenizer.token_ids.empty() ? static_cast<int64_t>(tokenizer.token_offsets.size()) - 2 : -1;
  for (const int32_t id : tokenizer.token_ids) largest = std::max<int64_t>(largest, id);
  for (const AddedToken& token : tokenizer.added_tokens) largest = std::max<int64_t>(largest, token.id);
  return largest;
}

}  // namespace

void add_tokenizer(TokenizerDescription tokenizer, const std::string& source, const std::vector<std::string>& notes,
                   ModelDescription* description, Report* report) {
  const EncoderDescription& encoder = description->encoder;
  if (encoder.embedding.tokens == absent)
    fail("the model takes vectors, not tokens: leave ", placeholder(Option::tokenizer), " out");
  // A tokenizer that the runtime can't load is refused here, so that no model file is written with it.
  if (const Status status = TokenizerFactory::create(tokenizer).status(); !status.ok())
    fail(source, ": ", status.message());
  const int64_t ids = largest_id(tokenizer) + 1;
  if (ids > encoder.vocab_size) {
    fail("the tokenizer has ids up to ", ids - 1, " but the model's embedding has ", encoder.vocab_size,
         " rows: this is the vocabulary of another model");
  }
  if (tokenizer.pad >= 0 && encoder.pad_id >= 0 && tokenizer.pad != encoder.pad_id) {
    fail("the tokenizer's pad token has id ", tokenizer.pad, ", the model's ", encoder.pad_id,
         ": this is the vocabulary of another model, or fairseq's dict.txt is missing beside it");
  }
  static constexpr const char* kinds[] = {"none", "byte-level BPE", "WordPiece", "unigram", "BPE"};
  static_assert(std::size(kinds) == enum_count<TokenizerKind>);
  report->add_fact(
      "tokenizer", kinds[static_cast<size_t>(tokenizer.kind)],
      std::to_string(tokenizer.token_offsets.size() - 1) + " tokens, ids up to " + std::to_string(ids - 1));
  if (ids < encoder.vocab_size) {
    report->notes.push_back(std::to_string(encoder.vocab_size - ids) +
                            " rows of the embedding have no token (fairseq pads its dictionaries).");
  }
  for (const std::string& note : notes) report->notes.push_back(note);
  description->tokenizer = std::move(tokenizer);
  const TensorIndex token_types = encoder.embedding.token_types;
  if (token_types == absent || description->tensors[static_cast<size_t>(token_types)].shape[0] > 1) return;
  // Some models of RoBERTa's kind, which have a single token type, come with a tokenizer of BERT's kind, which gives
  // the second text of a pair another type. These models are run without token types.
  if (!description->tokenizer.pair_types.empty()) {
    report->notes.push_back("The tokenizer gives the second text another token type, but the model has only one.");
    description->tokenizer.pair_types.clear();
  }
}

}  // namespace linformer::convert
