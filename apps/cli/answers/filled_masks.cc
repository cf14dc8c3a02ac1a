#include "answers/filled_masks.h"

#include <algorithm>

#include "answers/columns.h"
#include "command_line/display.h"
#include "command_line/errors.h"

namespace linformer::cli {
namespace {

class JsonFilled : public FilledWriter {
 public:
  JsonFilled(MaskNames* names, OutputStream* output) : names_(names), output_(output) {}

  void write(FilledText* text) override {
    nlohmann::ordered_json line = {{"id", text->id}};
    if (!text->error.empty()) {
      line["error"] = text->error;
      return output_->write(json_line(text->own, line));
    }
    line["filled"] = names_->fill(text);
    line["masks"] = nlohmann::ordered_json::array();
    line["tokens"] = text->tokens;
    line["truncated"] = text->truncated();
    if (text->truncated()) line["total_tokens"] = text->total_tokens;
    // JSON values of all candidates would take too much memory, so each candidate is written on its own, between the
    // brackets of an empty list. That list is the last "[]" of the line, since only numbers and booleans follow it.
    const std::string empty = json_line(text->own, line);
    const size_t inside = empty.rfind("[]") + 1;
    output_->write(std::string_view(empty).substr(0, inside));
    const char* before_mask = "";
    for (const FilledMask& mask : text->masks) {
      output_->write(before_mask);
      output_->write("{\"position\":" + std::to_string(mask.position) + ",\"tokens\":[");
      before_mask = ",";
      const char* before = "";
      for (const MaskCandidate& candidate : mask.candidates) {
        output_->write(before);
        output_->write(json_text(token(candidate, mask, text)));
        before = ",";
      }
      output_->write("]}");
    }
    output_->write(std::string_view(empty).substr(inside));
  }

 private:
  nlohmann::ordered_json token(const MaskCandidate& candidate, const FilledMask& mask, FilledText* text) {
    nlohmann::ordered_json token = {{"id", candidate.id},
                                    {"token", names_->token_name(candidate.id)},
                                    {"probability", double_of_shortest_text(candidate.probability)}};
    if (text->shows_text_per_candidate()) token["text"] = names_->text_with_candidate(candidate, mask, text);
    return token;
  }

  MaskNames* names_;
  OutputStream* output_;
};

// Calls `show` for each candidate of each mask. Each candidate comes with the text in which it fills its mask. If the
// text has many masks, only the first candidate comes with a text: the one in which every mask has its best candidate.
template <class Show>
void for_each_candidate(MaskNames* names, FilledText* text, Show show) {
  std::string shown = names->fill(text);
  for (size_t m = 0; m < text->masks.size(); ++m) {
    const FilledMask& mask = text->masks[m];
    for (size_t i = 0; i < mask.candidates.size(); ++i) {
      if (text->shows_text_per_candidate()) shown = names->text_with_candidate(mask.candidates[i], mask, text);
      show(m, i, mask.candidates[i], shown);
      shown.clear();
    }
  }
}

// Writes a line for each candidate, with the columns id, number of the mask, rank, token, probability and text.
class TsvFilled : public FilledWriter {
 public:
  TsvFilled(MaskNames* names, OutputStream* output) : names_(names), output_(output) {}

  void write(FilledText* text) override {
    constexpr int repeated_columns = 256;  // An id that is repeated for many masks is cut to this width.
    const std::string id = excerpt(text->id_text(), text->shows_text_per_candidate() ? uncut : repeated_columns);
    if (!text->error.empty()) {
      output_->write(id + "\t-\t-\tERROR\t\t" + excerpt(text->error, uncut) + "\n");
      return;
    }
    for_each_candidate(names_, text, [&](size_t m, size_t i, const MaskCandidate& candidate, const std::string& shown) {
      output_->write(id + "\t" + std::to_string(m + 1) + "\t" + std::to_string(i + 1) + "\t" +
                     excerpt(names_->token_name(candidate.id), uncut) + "\t" + fixed(candidate.probability, 6) + "\t" +
                     excerpt(shown, uncut) + "\n");
    });
  }

 private:
  MaskNames* names_;
  OutputStream* output_;
};

class ColumnFilled : public FilledWriter {
 public:
  ColumnFilled(bool csv, MaskNames* names, OutputStream* output)
      : writer_(csv, {"id", "mask", "rank", "token", "probability", "text", "error"}, output), names_(names) {}

  void write(FilledText* text) override {
    const std::string id = text->id_text();
    if (!text->error.empty()) return writer_.write(text->own, {id, "", "", "", "", "", text->error});
    for_each_candidate(names_, text, [&](size_t m, size_t i, const MaskCandidate& candidate, const std::string& shown) {
      writer_.write(text->own, {id, std::to_string(m + 1), std::to_string(i + 1), names_->token_name(candidate.id),
                                fixed(candidate.probability, 6), shown, ""});
      // If a text has many masks, only its first row has the fields that --keep repeats, because only that row has the
      // text.
      if (!text->shows_text_per_candidate()) text->own.values.clear();
    });
  }
  void finish() override { writer_.finish(); }

 private:
  ColumnWriter writer_;
  MaskNames* names_;
};

class TableFilled : public FilledWriter {
 public:
  TableFilled(bool numbered, int width, MaskNames* names, OutputStream* output)
      : id_width_(id_column_width(numbered, width)), width_(width), names_(names), output_(output) {}

  void write(FilledText* text) override {
    if (!header_written_) write_row("id", "mask", "token", "probability", "text");
    header_written_ = true;
    const std::string id = excerpt_of_end(text->id_text(), id_width_);
    if (!text->error.empty()) return write_row(id, "-", "ERROR", "", text->error);
    for_each_candidate(names_, text, [&](size_t m, size_t i, const MaskCandidate& candidate, const std::string& shown) {
      write_row(m == 0 && i == 0 ? id : "", i == 0 ? std::to_string(m + 1) : "", names_->token_name(candidate.id),
                fixed(candidate.probability, 4), shown);
    });
  }

 private:
  void write_row(const std::string& id, const std::string& mask, const std::string& token,
                 const std::string& probability, const std::string& text) {
    constexpr int mask_width = 4, token_width = 20, probability_width = 11;
    std::string line = padded(id, id_width_) + "  " + padded(mask, mask_width, true) + "  " +
                       padded(excerpt(token, token_width), token_width) + "  " +
                       padded(probability, probability_width, true) + "  ";
    line += excerpt(text, std::max(20, width_ - display_width(line)));
    line.erase(line.find_last_not_of(' ') + 1);
    output_->write(line + "\n");
  }

  int id_width_, width_;
  MaskNames* names_;
  OutputStream* output_;
  bool header_written_ = false;
};

std::string with_replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  size_t start = 0;
  for (size_t at; (at = text.find(from, start)) != std::string_view::npos; start = at + from.size()) {
    result.append(text, start, at - start).append(to);
  }
  return result.append(text, start);
}

}  // namespace

MaskNames::MaskNames(std::string_view mask, const Tokenizer& tokenizer) : tokenizer_(tokenizer), mask_(mask) {
  for (const char* spelling : {"<mask>", "[MASK]"}) {
    if (spelling != mask_ && !is_token(spelling)) others_.emplace_back(spelling);
  }
}

// Returns whether the tokenizer encodes `spelling` as a single token that is decoded to `spelling` again.
bool MaskNames::is_token(const std::string& spelling) {
  EncodeOptions options;
  options.add_special_tokens = false;
  Encoding encoding;
  check(tokenizer_.encode(spelling, options, &encoding));
  return encoding.ids().size() == 1 && decode(encoding.ids(), false) == spelling;
}

std::string MaskNames::normalize_mask_spelling(std::string text) const {
  for (const std::string& other : others_) text = with_replaced(text, other, mask_);
  return text;
}

std::optional<std::string> MaskNames::decode(std::span<const int32_t> ids, bool skip_special) {
  DecodeOptions options;
  options.skip_special_tokens = skip_special;
  if (!tokenizer_.decode(ids, options, &buffer_).ok()) return std::nullopt;
  return std::string(buffer_.view());
}

std::string MaskNames::token_name(int32_t id) { return decode({&id, 1}, false).value_or("#" + std::to_string(id)); }

std::string MaskNames::fill(FilledText* text) {
  for (const FilledMask& mask : text->masks) {
    text->ids[static_cast<size_t>(mask.position)] = mask.candidates[0].id;
  }
  return decode(text->ids, true).value_or("");
}

std::string MaskNames::text_with_candidate(const MaskCandidate& candidate, const FilledMask& mask, FilledText* text) {
  int32_t& id = text->ids[static_cast<size_t>(mask.position)];
  id = candidate.id;
  std::string result = decode(text->ids, true).value_or("");
  id = mask.candidates[0].id;
  return result;
}

std::unique_ptr<FilledWriter> make_filled_writer(OutputFormat format, bool numbered, int width, MaskNames* names,
                                                 OutputStream* output) {
  if (format == OutputFormat::jsonl) return std::make_unique<JsonFilled>(names, output);
  if (format == OutputFormat::lines) return std::make_unique<TsvFilled>(names, output);
  if (format == OutputFormat::csv || format == OutputFormat::tsv) {
    return std::make_unique<ColumnFilled>(format == OutputFormat::csv, names, output);
  }
  return std::make_unique<TableFilled>(numbered, width, names, output);
}

}  // namespace linformer::cli
