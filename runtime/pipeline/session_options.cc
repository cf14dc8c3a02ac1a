#include "pipeline/session_options.h"

#include <algorithm>

#include "base/description.h"
#include "linformer/text_reader.h"

namespace LINFORMER_NAMESPACE {

SessionOptions session_options_of(const Model& model, const TextOptions& options, int min_sequences) {
  const EncoderDescription& encoder = model.description().encoder;
  SessionOptions session{options.run, options.cpu, options.cuda, {}, {}, options.profile};
  // The limits have not been checked yet, so products of them must not overflow.
  session.memory.max_tokens = options.max_tokens > 0 ? options.max_tokens : encoder.max_tokens;
  session.memory.max_batch = options.max_batch;
  if (min_sequences > 1 && session.memory.max_batch == 1) session.memory.max_batch = min_sequences;
  session.memory.max_rows = options.max_rows > 0 ? options.max_rows : TextOptions::default_rows;
  const int64_t longest = std::min<int64_t>(session.memory.max_tokens, encoder.max_tokens);
  session.memory.max_rows = std::max(session.memory.max_rows, min_sequences * longest);
  return session;
}

Status check_pad_to(const Model& model, const TextOptions& options, int64_t max_tokens) {
  const bool has_pad = model.description().encoder.pad_id >= 0;
  if (options.pad_to == 0 || (has_pad && options.pad_to > 0 && options.pad_to <= max_tokens)) return {};
  return Status::error(Code::invalid_argument, "pad_to is %lld: %s", static_cast<long long>(options.pad_to),
                       !has_pad             ? "this model has no pad token"
                       : options.pad_to < 0 ? "give 0 or more tokens"
                                            : "more tokens than a text may have");
}

Result<SessionOptions> session_options(const Model& model, const TextOptions& options) {
  const SessionOptions session = session_options_of(model, options, 1);
  LINFORMER_TRY(check_pad_to(model, options, session.memory.max_tokens - model.info().prefix_rows));
  return session;
}

}  // namespace LINFORMER_NAMESPACE
