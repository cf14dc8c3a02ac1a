#include "linformer/text_reader.h"

#include <algorithm>
#include <new>

#include "base/array.h"
#include "base/description.h"
#include "base/shared.h"

namespace LINFORMER_NAMESPACE {
namespace {

long long printed(int64_t number) { return static_cast<long long>(number); }

Status no_memory_to_read() { return Status::error(Code::out_of_memory, "no memory to read texts"); }

// The data that readers with the same options share (TextReader::another()).
struct ReadRules {
  explicit ReadRules(Tokenizer made) : tokenizer(std::move(made)) {}

  Tokenizer tokenizer;
  EncodeOptions encode;
  OnLong on_long = OnLong::truncate;
  int64_t overlap = -1;
  int64_t max_tokens = 0;  // The longest sequence, without the row that the model may put before it.
  uint32_t vocabulary = 0;
  int32_t stripped_id = -1;  // The id of the pads that the session strips. -1 if it strips none.
  bool apart = false;        // The two texts of an input are separate sequences.
  bool short_last_window = false;
  bool allows_empty_texts = false;  // The model has no layers (static embeddings), so a text may have no tokens.
  int64_t most_characters = 0;      // A text without a pair is cut after this many characters. 0: no limit.
  String prompt;                    // The characters that are put before each text.

  // Returns the number of tokens that the template adds to a text or a pair.
  int64_t template_tokens(bool pair) const { return encode.add_special_tokens ? tokenizer.template_tokens(pair) : 0; }
  // Returns whether the session would strip all of `ids`.
  bool strips_all(std::span<const int32_t> ids) const {
    return std::all_of(ids.begin(), ids.end(), [this](int32_t id) { return id == stripped_id; });
  }
};

// Returns the longest sequence of a session with these options, without the row that the model may put before it.
Result<int64_t> longest_text(const Model& model, const TextOptions& options) {
  SessionOptions session;
  session.run.part = options.run.part;
  session.memory.max_tokens = options.max_tokens;
  const Result<Plan> planned = plan(model, session, Machine());
  if (!planned.ok()) return planned.status();
  const ModelDescription& description = model.description();
  const bool decodes = options.run.part == Part::decoder;
  const EmbeddingDescription& embedding = (decodes ? description.decoder : description.encoder).embedding;
  const bool has_prefix = embedding.prefix != absent || embedding.prefix_token >= 0;
  return planned->options.memory.max_tokens - (has_prefix ? 1 : 0);
}

}  // namespace

struct TextReader::State {
  explicit State(std::shared_ptr<const ReadRules> shared) : rules(std::move(shared)) {}

  Status encode(std::string_view text, const std::optional<std::string_view>& pair, Encoding* to, TextReport* report);
  Status read_texts(const TextInput& given, TextReport* report);
  Status check_ids(std::span<const int32_t> ids) const;
  Status add_prompt();
  std::string_view beginning(std::string_view text) const;
  Status plan_windows(BeyondLimit* beyond);
  Status encode_window(const EncodeOptions& options, int64_t first) {
    const Tokenizer& tokenizer = rules->tokenizer;
    return input.pair ? tokenizer.encode_window(input.text, *input.pair, options, first, &encoding)
                      : tokenizer.encode_window(input.text, options, first, &encoding);
  }

  std::shared_ptr<const ReadRules> rules;
  Encoding encoding, second;
  TextInput input;
  Array<char> prompted;  // The prompt, followed by the text.
  // The members below describe the text that was read last. `good` says that it was read without an error.
  bool good = false, has_first_window = false;
  // The number of windows, the most tokens of the text in a window, the distance between the starts of two windows, and
  // the start of the last window.
  int64_t windows = 1, length = 0, step = 0, last = 0;
  // Returns the index of the text's first token in window i.
  int64_t first_of(int64_t i) const { return std::min(i * step, last); }
  // Returns the end of the tokens that are taken from window i. Tokens from this index on are taken from window i + 1,
  // because they are farther from its ends.
  int64_t end_of_nearest(int64_t i) const { return (first_of(i) + length - 1 + first_of(i + 1)) / 2 + 1; }
  // The text of a pair that is read in windows (0 or 1). The other text is whole in each window.
  size_t moving = 0;
};

TextReader::TextReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextReader::TextReader(TextReader&&) noexcept = default;
TextReader& TextReader::operator=(TextReader&&) noexcept = default;
TextReader::~TextReader() = default;

Result<TextReader> TextReader::create(std::shared_ptr<const Model> model, const TextReaderOptions& options) {
  Result<Tokenizer> tokenizer = Tokenizer::create(model);
  if (!tokenizer.ok()) return tokenizer.status();
  return create(std::move(model), std::move(*tokenizer), options);
}

Result<TextReader> TextReader::create(std::shared_ptr<const Model> model, Tokenizer tokenizer,
                                      const TextReaderOptions& options) {
  const TextOptions& texts = options.texts;
  if (texts.on_long > OnLong::error) {
    return Status::error(Code::invalid_argument, "there is no on_long number %d", static_cast<int>(texts.on_long));
  }
  std::unique_ptr<ReadRules> rules(new (std::nothrow) ReadRules(std::move(tokenizer)));
  if (!rules) return no_memory_to_read();
  RunOptions run = texts.run;
  if (options.session != nullptr) {
    const SessionOptions& planned = options.session->plan().options;
    rules->max_tokens = planned.memory.max_tokens - options.session->output_rows(0);
    run = planned.run;
  } else {
    const Result<int64_t> longest = longest_text(*model, texts);
    if (!longest.ok()) return longest.status();
    rules->max_tokens = *longest;
  }
  rules->encode.add_special_tokens = texts.add_special_tokens;
  rules->encode.match_special_tokens = texts.match_special_tokens;
  rules->encode.truncation = texts.truncation;
  rules->encode.keep = texts.keep;
  rules->on_long = texts.on_long;
  rules->overlap = texts.overlap;
  const ModelDescription& description = model->description();
  const EncoderDescription& encoder = run.part == Part::decoder ? description.decoder : description.encoder;
  rules->vocabulary = encoder.vocab_size;
  rules->stripped_id = run.padding == Padding::strip ? encoder.pad_id : -1;
  rules->apart = options.apart;
  rules->short_last_window = options.short_last_window;
  rules->allows_empty_texts = encoder.layers.empty();
  const bool cuts = texts.on_long == OnLong::truncate && texts.keep == Keep::head;
  if (cuts) rules->most_characters = rules->max_tokens * int64_t{description.embedding.characters_per_token};
  if (!rules->prompt.try_assign(options.prompt)) return no_memory_to_read();
  const int64_t room = rules->max_tokens - rules->template_tokens(false);
  if (room < 1) {
    return Status::error(Code::invalid_argument, "max_tokens of %lld leaves no room for a text: raise it",
                         printed(rules->max_tokens));
  }
  if (rules->overlap >= room) {
    return Status::error(Code::invalid_argument, "overlap %lld is not less than a window's %lld tokens: lower it",
                         printed(rules->overlap), printed(room));
  }
  std::shared_ptr<const ReadRules> shared = try_share(std::move(rules));
  std::unique_ptr<State> state(shared ? new (std::nothrow) State(std::move(shared)) : nullptr);
  if (!state) return no_memory_to_read();
  return TextReader(std::move(state));
}

Result<TextReader> TextReader::another() const {
  std::unique_ptr<State> state(new (std::nothrow) State(state_->rules));
  if (!state) return no_memory_to_read();
  return TextReader(std::move(state));
}

int64_t TextReader::max_tokens() const { return state_->rules->max_tokens; }
const Tokenizer& TextReader::tokenizer() const { return state_->rules->tokenizer; }

int64_t TextReader::sequences() const { return !state_->good ? 0 : state_->rules->apart ? 2 : state_->windows; }

Status TextReader::read(const TextInput& input, TextReport* report) {
  *report = TextReport();
  report->status = state_->read_texts(input, report);
  state_->good = report->status.ok();
  return report->status;
}

Status TextReader::State::read_texts(const TextInput& given, TextReport* report) {
  input = given;
  windows = 1;
  has_first_window = false;
  if (!rules->prompt.empty()) LINFORMER_TRY(add_prompt());
  if (!rules->apart) {
    LINFORMER_TRY(encode(input.text, input.pair, &encoding, report));
  } else if (!input.pair) {
    return Status::error(Code::invalid_argument, "this head compares two texts: give the second one");
  } else {
    LINFORMER_TRY(encode(input.text, std::nullopt, &encoding, report));
    LINFORMER_TRY(encode(*input.pair, std::nullopt, &second, report));
  }
  report->windows = windows;
  return {};
}

// Puts the prompt before the text, or before the first text of a pair.
Status TextReader::State::add_prompt() {
  prompted.clear();
  const std::string_view prompt = rules->prompt;
  if (!prompted.try_append(prompt.data(), prompt.size()) ||
      !prompted.try_append(input.text.data(), input.text.size())) {
    return no_memory_to_read();
  }
  input.text = {prompted.data(), prompted.size()};
  return {};
}

// Returns the part of `text` that is tokenized: all of it, or its first most_characters characters if there is a limit.
std::string_view TextReader::State::beginning(std::string_view text) const {
  if (rules->most_characters == 0 || text.size() <= static_cast<size_t>(rules->most_characters)) return text;
  int64_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (begins && characters++ == rules->most_characters) return text.substr(0, i);
  }
  return text;
}

Status TextReader::State::encode(std::string_view text, const std::optional<std::string_view>& pair, Encoding* to,
                                 TextReport* report) {
  EncodeOptions options = rules->encode;
  options.max_length = rules->max_tokens;
  if (rules->on_long != OnLong::truncate) {
    options.truncation = Truncation::none;
  } else if (!pair) {
    options.truncation = Truncation::longest_first;
  }
  const Tokenizer& tokenizer = rules->tokenizer;
  LINFORMER_TRY(pair ? tokenizer.encode(text, *pair, options, to) : tokenizer.encode(text, options, to));
  int64_t total = to->total_tokens();
  if (const std::string_view read = beginning(text); read.size() < text.size() && !pair) {
    LINFORMER_TRY(tokenizer.encode(read, options, to));
    // The cut part may have as many tokens as the whole text if it ends inside a word. The total must still be larger,
    // so that the report says that the text was cut.
    total = std::max(total, static_cast<int64_t>(to->ids().size()) + 1);
  }
  const int64_t tokens = static_cast<int64_t>(to->ids().size());
  report->tokens += tokens;
  report->total_tokens += total;
  LINFORMER_TRY(check_ids(to->ids()));
  if (tokens <= rules->max_tokens) return {};
  if (rules->on_long == OnLong::window && !rules->apart) return plan_windows(&report->beyond);
  report->beyond = {TextLimit::tokens, to == &second ? 1 : 0, tokens, 0, rules->max_tokens, false};
  return Status::error(Code::too_long, "the text has %lld tokens and at most %lld are read%s", printed(tokens),
                       printed(rules->max_tokens),
                       rules->apart ? ": a head that compares two texts can't read windows" : "");
}

// Plans the windows of a text that is too long. `encoding` has all tokens of the text.
Status TextReader::State::plan_windows(BeyondLimit* beyond) {
  std::array<int64_t, 2> lengths{};
  for (const int8_t text : encoding.sequence_ids()) {
    if (text >= 0) ++lengths[static_cast<size_t>(text)];
  }
  const Truncation truncation = rules->encode.truncation;
  const bool longer = truncation == Truncation::longest_first;
  moving = input.pair && (longer ? lengths[1] >= lengths[0] : truncation == Truncation::only_second) ? 1 : 0;
  const int64_t beside = lengths[1 - moving];
  const int64_t room = rules->max_tokens - rules->template_tokens(input.pair.has_value()) - beside;
  const char* names[] = {"first", "second"};
  const bool other_fits = room + beside > lengths[moving];
  const int fixed = 1 - static_cast<int>(moving);
  if (room < 1) {
    *beyond = {TextLimit::room, fixed, beside, room, rules->max_tokens, other_fits};
    return Status::error(Code::too_long,
                         "the %s text has %lld tokens, which leave no room for the %s in a window of %lld%s",
                         names[1 - moving], printed(beside), names[moving], printed(rules->max_tokens),
                         other_fits ? ": choose the other text with the option truncation" : "");
  }
  const int64_t overlap = rules->overlap < 0 ? room / 4 : rules->overlap;
  if (overlap >= room) {
    *beyond = {TextLimit::overlap, fixed, beside, room, rules->max_tokens, other_fits};
    return Status::error(Code::too_long,
                         "the %s text has %lld tokens, which leave %lld for the %s in a window of %lld: lower the "
                         "overlap to less than that",
                         names[1 - moving], printed(beside), printed(room), names[moving], printed(rules->max_tokens));
  }
  // A window of pads only would be empty after the session has stripped them, and the session would return an error.
  int64_t run = 0, longest = 0;
  for (const int32_t id : encoding.ids()) {
    run = id == rules->stripped_id ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  if (longest >= rules->max_tokens) {
    return Status::error(Code::invalid_argument,
                         "the text has %lld pads in a row, and a window reads at most %lld tokens: remove them",
                         printed(longest), printed(rules->max_tokens));
  }
  step = room - overlap;
  length = room;
  last = lengths[moving] - room;
  windows = (last + step - 1) / step + 1;
  // By default the last window starts earlier, so that it is full and ends at the end of the text. A short window would
  // give a few tokens the weight of a whole window when the values are averaged.
  if (rules->short_last_window) last = (windows - 1) * step;
  return {};
}

// Returns an error if a session would return one for `ids`.
Status TextReader::State::check_ids(std::span<const int32_t> ids) const {
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= rules->vocabulary) {
      return Status::error(Code::corrupt_file,
                           "the tokenizer gives id %d, which the model's vocabulary of %u lacks: convert the model "
                           "with its own tokenizer",
                           id, rules->vocabulary);
    }
  }
  const bool read = rules->allows_empty_texts || !rules->strips_all(ids);
  return !read ? Status::error(Code::invalid_argument, "the text has no tokens") : Status();
}

Result<TextSequence> TextReader::sequence(int64_t i) {
  State& s = *state_;
  if (i < 0 || i >= sequences()) {
    return Status::error(Code::invalid_argument, "there is no sequence %lld: the text has %lld", printed(i),
                         printed(sequences()));
  }
  const ReadRules& rules = *s.rules;
  const Encoding* shown = rules.apart && i == 1 ? &s.second : &s.encoding;
  std::array<int64_t, 2> starts{}, nearest = {0, INT64_MAX};
  if (s.windows > 1) {
    EncodeOptions options = rules.encode;
    options.max_length = rules.max_tokens;
    options.truncation = s.moving == 0 ? Truncation::only_first : Truncation::only_second;
    const int64_t first = starts[s.moving] = s.first_of(i);
    if (i > 0) nearest[0] = s.end_of_nearest(i - 1);
    if (i + 1 < s.windows) nearest[1] = s.end_of_nearest(i);
    // Encoding the first window tokenizes the text, and the later windows use these tokens.
    if (first > 0 && !s.has_first_window) LINFORMER_TRY(s.encode_window(options, 0));
    LINFORMER_TRY(s.encode_window(options, first));
    s.has_first_window = true;
  }
  return TextSequence{shown->ids(), shown->type_ids(), shown->sequence_ids(), shown->offsets(), starts, nearest};
}

}  // namespace LINFORMER_NAMESPACE
