#include "pipeline/reader.h"

#include <algorithm>

#include "base/description.h"

namespace LINFORMER_NAMESPACE {
namespace {

long long printed(int64_t number) { return static_cast<long long>(number); }

}  // namespace

Result<ReadRules> ReadRules::of(const Model& model, const Tokenizer& tokenizer, const Session& session,
                                const TextOptions& options) {
  const EncoderDescription& encoder = model.description().encoder;
  const SessionOptions& planned = session.plan().options;
  ReadRules rules;
  rules.tokenizer = &tokenizer;
  rules.encode.add_special_tokens = options.add_special_tokens;
  rules.encode.match_special_tokens = options.match_special_tokens;
  rules.encode.truncation = options.truncation;
  rules.encode.keep = options.keep;
  rules.on_long = options.on_long;
  rules.overlap = options.overlap;
  rules.max_tokens = planned.memory.max_tokens - session.output_rows(0);
  rules.vocabulary = encoder.vocab_size;
  rules.stripped_id = planned.run.padding == Padding::strip ? encoder.pad_id : -1;
  const int64_t max_tokens = rules.max_tokens, overlap = rules.overlap;
  const int64_t room = max_tokens - rules.template_tokens(false);
  if (room < 1) {
    return Status::error(Code::invalid_argument, "max_tokens of %lld leaves no room for a text: raise it",
                         printed(max_tokens));
  }
  if (overlap >= room) {
    return Status::error(Code::invalid_argument, "overlap %lld is not less than a window's %lld tokens: lower it",
                         printed(overlap), printed(room));
  }
  return rules;
}

Status TextReader::read(const TextInput& input, TextReport* report) {
  input_ = input;
  windows_ = 1;
  if (rules_.apart && !input.pair) {
    return Status::error(Code::invalid_argument, "this head compares two texts: give the second one");
  }
  if (!rules_.apart) {
    LINFORMER_TRY(encode(input.text, input.pair, &encoding_, report));
  } else {
    LINFORMER_TRY(encode(input.text, std::nullopt, &encoding_, report));
    LINFORMER_TRY(encode(*input.pair, std::nullopt, &second_, report));
  }
  report->windows = windows_;
  return {};
}

Status TextReader::encode(std::string_view text, const std::optional<std::string_view>& pair, Encoding* encoding,
                          TextReport* report) {
  EncodeOptions options = rules_.encode;
  options.max_length = rules_.max_tokens;
  if (rules_.on_long != OnLong::truncate) {
    options.truncation = Truncation::none;
  } else if (!pair) {
    options.truncation = Truncation::longest_first;
  }
  const Tokenizer& tokenizer = *rules_.tokenizer;
  LINFORMER_TRY(pair ? tokenizer.encode(text, *pair, options, encoding) : tokenizer.encode(text, options, encoding));
  const int64_t tokens = static_cast<int64_t>(encoding->ids().size());
  report->tokens += tokens;
  report->total_tokens += encoding->total_tokens();
  LINFORMER_TRY(check_ids(encoding->ids()));
  if (tokens <= rules_.max_tokens) return {};
  if (rules_.on_long == OnLong::window && !rules_.apart) return plan_windows(&report->beyond);
  report->beyond = {TextLimit::tokens, encoding == &second_ ? 1 : 0, tokens, 0, rules_.max_tokens, false};
  return Status::error(Code::too_long, "the text has %lld tokens and at most %lld are read%s", printed(tokens),
                       printed(rules_.max_tokens),
                       rules_.apart ? ": a head that compares two texts reads each whole" : "");
}

// Which parts of the text the windows show; encoding_ has all of its tokens.
Status TextReader::plan_windows(BeyondLimit* beyond) {
  std::array<int64_t, 2> lengths{};
  for (const int8_t text : encoding_.sequence_ids()) {
    if (text >= 0) ++lengths[static_cast<size_t>(text)];
  }
  const Truncation truncation = rules_.encode.truncation;
  const bool longer = truncation == Truncation::longest_first;
  moving_ = input_.pair && (longer ? lengths[1] >= lengths[0] : truncation == Truncation::only_second) ? 1 : 0;
  const int64_t beside = lengths[1 - moving_];
  const int64_t room = rules_.max_tokens - rules_.template_tokens(input_.pair.has_value()) - beside;
  const char* names[] = {"first", "second"};
  const bool other_fits = room + beside > lengths[moving_];
  const int fixed = 1 - static_cast<int>(moving_);
  if (room < 1) {
    *beyond = {TextLimit::room, fixed, beside, room, rules_.max_tokens, other_fits};
    return Status::error(Code::too_long,
                         "the %s text has %lld tokens, which leave no room for the %s in a window of %lld%s",
                         names[1 - moving_], printed(beside), names[moving_], printed(rules_.max_tokens),
                         other_fits ? ": choose the other text with the truncation" : "");
  }
  const int64_t overlap = rules_.overlap < 0 ? room / 4 : rules_.overlap;
  if (overlap >= room) {
    *beyond = {TextLimit::overlap, fixed, beside, room, rules_.max_tokens, other_fits};
    return Status::error(Code::too_long,
                         "the %s text has %lld tokens, which leave %lld for the %s in a window of %lld: lower the "
                         "overlap to less than that",
                         names[1 - moving_], printed(beside), printed(room), names[moving_],
                         printed(rules_.max_tokens));
  }
  // A session refuses a window in which nothing is left.
  int64_t run = 0, longest = 0;
  for (const int32_t id : encoding_.ids()) {
    run = id == rules_.stripped_id ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  if (longest >= rules_.max_tokens) {
    return Status::error(Code::invalid_argument,
                         "the text has %lld pads in a row, more than a window reads: remove them", printed(longest));
  }
  // The last window begins where it reaches the end: a short one would weigh a few words like a whole window.
  step_ = room - overlap;
  last_ = lengths[moving_] - room;
  windows_ = (last_ + step_ - 1) / step_ + 1;
  return {};
}

// Why the session would refuse `ids`.
Status TextReader::check_ids(std::span<const int32_t> ids) const {
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= rules_.vocabulary) {
      return Status::error(Code::corrupt_file,
                           "the tokenizer gives id %d, which the model's vocabulary of %u lacks: convert the model "
                           "with its own tokenizer",
                           id, rules_.vocabulary);
    }
  }
  return rules_.strips_all(ids) ? Status::error(Code::invalid_argument, "the text has no tokens") : Status();
}

Result<TextSequence> TextReader::sequence(int64_t i) {
  const Encoding* shown = rules_.apart && i == 1 ? &second_ : &encoding_;
  std::array<int64_t, 2> starts{};
  if (windows_ > 1) {
    EncodeOptions options = rules_.encode;
    options.max_length = rules_.max_tokens;
    options.truncation = moving_ == 0 ? Truncation::only_first : Truncation::only_second;
    const int64_t first = starts[moving_] = std::min(i * step_, last_);
    const Tokenizer& tokenizer = *rules_.tokenizer;
    LINFORMER_TRY(input_.pair ? tokenizer.encode_window(input_.text, *input_.pair, options, first, &encoding_)
                              : tokenizer.encode_window(input_.text, options, first, &encoding_));
  }
  return TextSequence{shown->ids(), shown->type_ids(), shown->sequence_ids(), starts};
}

}  // namespace LINFORMER_NAMESPACE
