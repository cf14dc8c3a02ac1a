#include "filled_masks.h"

#include <algorithm>

#include "display.h"
#include "errors.h"

namespace linformer::cli {
namespace {

class JsonFilled : public FilledWriter {
 public:
  explicit JsonFilled(Output* output) : output_(output) {}

  void write(const FilledText& text) override {
    nlohmann::ordered_json line = {{"id", text.id}};
    if (!text.error.empty()) {
      line["error"] = text.error;
    } else {
      line["filled"] = text.masks[0].candidates[0].text;
      auto& masks = line["masks"] = nlohmann::ordered_json::array();
      for (const FilledMask& mask : text.masks) {
        auto tokens = nlohmann::ordered_json::array();
        for (const Candidate& candidate : mask.candidates) {
          tokens.push_back({{"id", candidate.id},
                            {"token", candidate.token},
                            {"probability", shortest(candidate.probability)},
                            {"text", candidate.text}});
        }
        masks.push_back({{"position", mask.position}, {"tokens", std::move(tokens)}});
      }
      line["tokens"] = text.tokens;
      line["truncated"] = text.truncated();
      if (text.truncated()) line["total_tokens"] = text.total_tokens;
    }
    output_->write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }

 private:
  Output* output_;
};

// A line for each candidate: id, number of the mask, rank, token, probability, text.
class TsvFilled : public FilledWriter {
 public:
  explicit TsvFilled(Output* output) : output_(output) {}

  void write(const FilledText& text) override {
    const std::string id = excerpt(text.id_text(), uncut);
    if (!text.error.empty()) {
      output_->write(id + "\t-\t-\tERROR\t\t" + excerpt(text.error, uncut) + "\n");
      return;
    }
    for (size_t m = 0; m < text.masks.size(); ++m) {
      for (size_t i = 0; i < text.masks[m].candidates.size(); ++i) {
        const Candidate& candidate = text.masks[m].candidates[i];
        output_->write(id + "\t" + std::to_string(m + 1) + "\t" + std::to_string(i + 1) + "\t" +
                       excerpt(candidate.token, uncut) + "\t" + fixed(candidate.probability, 6) + "\t" +
                       excerpt(candidate.text, uncut) + "\n");
      }
    }
  }

 private:
  Output* output_;
};

class TableFilled : public FilledWriter {
 public:
  TableFilled(bool numbered, int width, Output* output)
      : id_width_(numbered ? 6 : 16), width_(width), output_(output) {}

  void write(const FilledText& text) override {
    if (!header_written_) write_row("id", "mask", "token", "probability", "text");
    header_written_ = true;
    std::string id = excerpt(text.id_text(), id_width_);
    if (!text.error.empty()) return write_row(id, "-", "ERROR", "", text.error);
    for (size_t m = 0; m < text.masks.size(); ++m) {
      std::string mask = std::to_string(m + 1);
      for (const Candidate& candidate : text.masks[m].candidates) {
        write_row(id, mask, candidate.token, fixed(candidate.probability, 4), candidate.text);
        id.clear();
        mask.clear();
      }
    }
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
  Output* output_;
  bool header_written_ = false;
};

void replace_all(std::string* text, const std::string& from, const std::string& to) {
  std::string replaced;
  size_t done = 0;
  for (size_t at; (at = text->find(from, done)) != std::string::npos; done = at + from.size()) {
    replaced.append(*text, done, at - done) += to;
  }
  if (done == 0) return;
  replaced.append(*text, done);
  *text = std::move(replaced);
}

}  // namespace

MaskNames::MaskNames(const TokenizerDescription& description, const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  const auto& added = description.added_tokens;
  const auto own = std::find_if(added.begin(), added.end(), [&](const auto& t) { return t.id == description.mask; });
  const int32_t id = description.mask;
  mask_ = own != added.end() ? std::string(own->content) : decode({&id, 1}, false).value_or("<mask>");
  for (const char* spelling : {"<mask>", "[MASK]"}) {
    const bool is_token = std::any_of(added.begin(), added.end(), [&](const auto& t) { return t.content == spelling; });
    if (spelling != mask_ && !is_token) others_.emplace_back(spelling);
  }
}

std::string MaskNames::with_own_mask(std::string text) const {
  for (const std::string& other : others_) replace_all(&text, other, mask_);
  return text;
}

std::optional<std::string> MaskNames::decode(std::span<const int32_t> ids, bool skip_special) {
  DecodeOptions options;
  options.skip_special_tokens = skip_special;
  if (!tokenizer_.decode(ids, options, &buffer_).ok()) return std::nullopt;
  return std::string(buffer_.view());
}

std::string MaskNames::name(int32_t id) { return decode({&id, 1}, false).value_or("#" + std::to_string(id)); }

void MaskNames::fill(FilledText* text) {
  std::vector<int32_t> ids = text->ids;
  const auto at = [&](const FilledMask& mask) -> int32_t& { return ids[static_cast<size_t>(mask.position)]; };
  for (const FilledMask& mask : text->masks) at(mask) = mask.candidates[0].id;
  for (FilledMask& mask : text->masks) {
    for (Candidate& candidate : mask.candidates) {
      at(mask) = candidate.id;
      candidate.text = decode(ids, true).value_or("");
    }
    at(mask) = mask.candidates[0].id;
  }
}

std::unique_ptr<FilledWriter> make_filled_writer(FilledStyle style, bool numbered, int width, Output* output) {
  if (style == FilledStyle::json) return std::make_unique<JsonFilled>(output);
  if (style == FilledStyle::tsv) return std::make_unique<TsvFilled>(output);
  return std::make_unique<TableFilled>(numbered, width, output);
}

}  // namespace linformer::cli
