// Loads the files of a tokenizer, encodes a text in several ways and decodes the ids.
//
// The parts of an input are the tokenizer's files, except for the part "text", which is the text. It is encoded as a
// whole, and as a pair of its first line and the rest.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/tokenizers/tokenizer_files.h"
#include "fuzz/cost.h"
#include "fuzz/folder_mutation.h"
#include "fuzz/json_mutation.h"
#include "linformer/tokenizer.h"
#include "text/tokenizer_factory.h"

using namespace linformer;
using namespace linformer_fuzz;

namespace {

constexpr const char* text_part = "text";

// The multiples are those of converter/readers/budget.h for structure, because all bytes of these files are structure.
// The bounds of time allow for the cost of the sanitizers.
constexpr Bounds files_bounds = {"load tokenizer files", {10e3, 100e6}, {128, 1.5 * (1 << 20)}, {}};
constexpr Bounds create_bounds = {"create a tokenizer", {5e3, 50e6}, {64, 256 << 10}, {}};
// This bound is per byte of the text. A normalizer may make a text 64 times as long, a unigram tokenizer reads up to
// 1,024 bytes after each byte, and the cache of words takes 512 KiB.
constexpr Bounds encode_bounds = {"encode", {50e3, 100e6}, {4096, 1 << 20}, {1024, 4 << 10}};
// This bound is per byte of max_decoded_bytes().
constexpr Bounds decode_bounds = {"decode", {5e3, 50e6}, {16, 256 << 10}, {4, 1 << 10}};

const InputFolder& folder() {
  static const InputFolder made;
  return made;
}

std::optional<convert::OwnedTokenizer> load(uint64_t bytes) {
  std::optional<convert::OwnedTokenizer> tokenizer;
  run_within_bounds(files_bounds, bytes, [&]() -> uint64_t {
    try {
      tokenizer = convert::load_tokenizer(folder().path("in"));
    } catch (const convert::Error& error) {
      if (std::strlen(error.what()) < 20)
        report_violation("the error message is too short to be a sentence: %s", error.what());
    } catch (const std::exception& error) {
      report_violation("reading the tokenizer threw an exception that is not a convert::Error: %s", error.what());
    }
    return 0;
  });
  return tokenizer;
}

// Returns an upper limit of the bytes that the ids are decoded to: for each id the length of the longest token plus 4.
uint64_t max_decoded_bytes(const TokenizerDescription& description, std::span<const int32_t> ids) {
  uint64_t longest = 0, bytes = 0;
  for (size_t i = 0; i + 1 < description.token_offsets.size(); ++i) {
    longest = std::max<uint64_t>(longest, description.token_offsets[i + 1] - description.token_offsets[i]);
  }
  for (const AddedToken& token : description.added_tokens) longest = std::max<uint64_t>(longest, token.content.size());
  for (size_t i = 0; i < ids.size(); ++i) bytes += longest + 4;
  return bytes;
}

void decode(const Tokenizer& tokenizer, const TokenizerDescription& description, std::span<const int32_t> ids) {
  run_within_bounds(decode_bounds, max_decoded_bytes(description, ids), [&]() -> uint64_t {
    TextBuffer text;
    const Status status = tokenizer.decode(ids, {}, &text);
    return status.ok() ? text.view().size() : 0;
  });
}

// Returns the bytes of an encoding's lists. The tokens' strings aren't counted, because a file may make them of any
// length.
uint64_t output_bytes(const Encoding& encoding) {
  return encoding.ids().size() * (sizeof(int32_t) + sizeof(Offset) + 3);
}

// Checks that all lists of the encoding have one length, that it has at most `most` tokens (if `most` isn't 0), that
// each offset lies in its text and that no id is negative.
void check(const Encoding& encoding, size_t text, size_t pair, int64_t most) {
  const size_t count = encoding.ids().size();
  if (encoding.offsets().size() != count || encoding.special_mask().size() != count ||
      encoding.type_ids().size() != count || encoding.sequence_ids().size() != count) {
    report_violation("the lists of an encoding differ in length");
  }
  if (most > 0 && count > static_cast<size_t>(most))
    report_violation("the encoding has %zu tokens, more than the maximum of %lld", count, (long long)most);
  for (size_t i = 0; i < count; ++i) {
    const Offset offset = encoding.offsets()[i];
    const size_t end = encoding.sequence_ids()[i] == 1 ? pair : text;
    if (offset.begin > offset.end || offset.end > end)
      report_violation("the encoding has an offset outside of the text");
    if (encoding.ids()[i] < 0) report_violation("the encoding has the negative id %d", encoding.ids()[i]);
  }
}

void encode(const Tokenizer& tokenizer, const TokenizerDescription& description, const std::string& all) {
  const size_t line = std::min(all.find('\n'), all.size());
  const std::string first = all.substr(0, line), second = line < all.size() ? all.substr(line + 1) : "";
  constexpr uint64_t template_bytes = 64;  // The largest number of special tokens that a template adds.
  EncodeOptions whole, cut, plain;
  whole.token_strings = true;
  cut.max_length = 8;
  plain.match_special_tokens = plain.add_special_tokens = false;
  plain.keep = Keep::tail;
  plain.max_length = 5;
  for (const EncodeOptions& options : {whole, cut, plain}) {
    for (const bool pair : {false, true}) {
      Encoding encoding;
      Status status;
      const std::string& text = pair ? first : all;
      run_within_bounds(encode_bounds, all.size() + template_bytes, [&]() -> uint64_t {
        encoding = Encoding();
        status = pair ? tokenizer.encode(text, second, options, &encoding) : tokenizer.encode(text, options, &encoding);
        return status.ok() ? output_bytes(encoding) : 0;
      });
      if (!status.ok() && std::strlen(status.message()) < 15)
        report_violation("encode: the error message is too short to be a sentence");
      if (!status.ok()) continue;
      check(encoding, text.size(), second.size(), options.max_length);
      decode(tokenizer, description, encoding.ids());
    }
  }
  Encoding windows;
  int64_t at = 0;
  for (int i = 0; i < 3 && tokenizer.encode_window(all, cut, at, &windows).ok() && !windows.ids().empty(); ++i) {
    check(windows, all.size(), 0, cut.max_length);
    at += 3;
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  start_accounting();
  folder();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Parts parts = split({data, size});
  folder().clear();
  uint64_t bytes = 0;
  for (const FolderPart& part : parts) {
    if (part.name == text_part) continue;
    folder().write({{"in/" + part.name, part.content}});
    bytes += part.content.size();
  }
  const std::optional<convert::OwnedTokenizer> files = load(bytes);
  if (!files) return 0;
  const TokenizerDescription description = files->view();
  std::optional<Tokenizer> tokenizer;
  run_within_bounds(create_bounds, bytes, [&]() -> uint64_t {
    Result<Tokenizer> created = TokenizerFactory::create(description);
    if (created.ok()) tokenizer.emplace(std::move(*created));
    return 0;
  });
  if (!tokenizer) return 0;
  const std::string* text = find(parts, text_part);
  encode(*tokenizer, description, text == nullptr ? "A film, a <mask>!\nGood." : *text);
  return 0;
}

namespace {

// Repeats, removes, swaps or alters lines of a vocabulary or of merges.
std::string altered_lines(const std::string& text, size_t most, Random& random) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string& line = random.one_of(lines);
  switch (random.below(6)) {
    case 0:
      std::swap(line, random.one_of(lines));
      break;
    case 1:
      line = random.one_of(lines);
      break;
    case 2:
      line += random.one_of(lines);
      break;
    case 3:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(random.below(lines.size())), line);
      break;
    case 4:
      line.clear();
      break;
    default:
      mutate_bytes(&line, line.size() + 16);
  }
  std::string changed;
  for (const std::string& one : lines) changed += (changed.empty() ? "" : "\n") + one;
  return changed.substr(0, most);
}

std::string altered_text(const std::string& text, size_t most, Random& random) {
  std::string changed = text;
  if (random.one_in(6) && !text.empty()) {  // Repeats a piece many times.
    const size_t begin = random.below(text.size());
    const std::string piece = text.substr(begin, random.below(12) + 1);
    for (size_t i = random.below(400); i > 0 && changed.size() + piece.size() < most; --i) changed.insert(begin, piece);
    return changed;
  }
  mutate_bytes(&changed, most);
  return changed;
}

}  // namespace

std::string linformer_fuzz::altered_part(const FolderPart& part, size_t room, Random& random) {
  if (part.name.ends_with(".json")) return altered_json(part.content, room, random);
  if (part.name == text_part || part.name.ends_with(".model") || random.one_in(4)) {
    return altered_text(part.content, room, random);
  }
  return altered_lines(part.content, room, random);
}
