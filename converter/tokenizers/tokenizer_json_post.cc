// Reads the post-processors of tokenizer.json.
#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/tokenizers/tokenizer_json.h"
#include "model/limits.h"

namespace linformer::convert {
namespace {

// Returns the id of a list such as ["</s>", 2].
int32_t id_of_pair(const JsonPart& part) {
  part.need_array();
  if (part.size() != 2) part.fail_here("must be a token and its id");
  return part.at(size_t{1}).id();
}

// Reads a template of a TemplateProcessing: its items (tokens and texts) and their token types.
void read_template(const JsonPart& list, const JsonPart& special_tokens, std::vector<int32_t>* items,
                   std::vector<uint8_t>* types) {
  list.need_array();
  // The number of tokens is limited here, because a special token may stand for many ids and may be named many times.
  const auto add = [&](int32_t item, int32_t type) {
    if (items->size() >= max_template_entries) list.fail_here("gives more than ", max_template_entries, " tokens");
    items->push_back(item);
    types->push_back(static_cast<uint8_t>(type));
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonPart item = list.at(i);
    const JsonPart special = item.at("SpecialToken");
    const JsonPart sequence = item.at("Sequence");
    const JsonPart part = special.null() ? sequence : special;
    if (part.null()) item.fail_here("must be a SpecialToken or a Sequence");
    const int32_t type = part.at("type_id").null() ? 0 : part.at("type_id").id();
    if (type > 1) part.at("type_id").fail_here("must be 0 or 1");
    const std::string name = part.at("id").text();
    if (special.null()) {
      if (name != "A" && name != "B") part.at("id").fail_here("must be A or B");
      add(name == "A" ? template_first : template_second, type);
      continue;
    }
    const JsonPart ids = special_tokens.at(name.c_str()).at("ids");
    if (ids.null()) part.at("id").fail_here("(", quote(name), ") is not among special_tokens");
    ids.need_array();
    for (size_t k = 0; k < ids.size(); ++k) add(ids.at(k).id(), type);
  }
}

void check_template(const JsonPart& list, const std::vector<int32_t>& items, bool pair) {
  int counts[2] = {0, 0};
  for (int32_t item : items) {
    if (item < 0) ++counts[-1 - item];
  }
  if (counts[0] != 1 || counts[1] != (pair ? 1 : 0)) {
    list.fail_here(pair ? "must name A once and B once" : "must name A once and B never");
  }
}

void read_template_processing(const JsonPart& part, OwnedTokenizer* tokenizer) {
  TokenizerDescription& description = tokenizer->description;
  const JsonPart special_tokens = part.at("special_tokens");
  std::vector<int32_t> single, pair;
  std::vector<uint8_t> single_types, pair_types;
  read_template(part.at("single"), special_tokens, &single, &single_types);
  read_template(part.at("pair"), special_tokens, &pair, &pair_types);
  check_template(part.at("single"), single, false);
  check_template(part.at("pair"), pair, true);
  for (uint8_t type : single_types) {
    if (type != 0) part.at("single").fail_here("has a type_id other than 0, which is not supported");
  }
  if (single.front() >= 0) description.bos = single.front();
  if (single.back() >= 0) description.eos = single.back();
  description.single_template = std::move(single);
  description.pair_template = std::move(pair);
  description.pair_types = std::move(pair_types);
}

// Applies the post-processors of a tokenizer.json in their order. In the reference, a post-processor acts on the output
// of the one before it, which a TokenizerDescription can't represent in general. So a second template, a second
// trimming of offsets, and a trimming that follows BertProcessing or RobertaProcessing are refused with an error.
class PostProcessors {
 public:
  explicit PostProcessors(OwnedTokenizer* tokenizer) : tokenizer_(*tokenizer) {}

  void read(const JsonPart& part) {
    const std::string type = part.type();
    if (type == "RobertaProcessing") {
      start_template(part, type);
      read_trimming(part, type, "");  // RobertaProcessing trims offsets before it adds its tokens.
      read_fixed_template(part, true);
    } else if (type == "BertProcessing") {
      start_template(part, type);
      read_fixed_template(part, false);
    } else if (type == "ByteLevel") {
      read_trimming(part, type, template_);
    } else if (type == "TemplateProcessing") {
      start_template(part, type);
      read_template_processing(part, &tokenizer_);
    } else {
      part.fail_here("(", quote(type),
                     ") is not supported: RobertaProcessing, BertProcessing, ByteLevel and TemplateProcessing are");
    }
  }

 private:
  void start_template(const JsonPart& part, const std::string& type) {
    if (!template_.empty()) {
      part.fail_here("(", type, ") is a second template after ", template_,
                     ", and both would apply; only one is supported: keep the one that the model was trained with");
    }
    template_ = type;
  }

  void read_fixed_template(const JsonPart& part, bool roberta) {
    TokenizerDescription& description = tokenizer_.description;
    description.bos = id_of_pair(part.at("cls"));
    description.eos = id_of_pair(part.at("sep"));
    set_templates(description.bos, description.eos, roberta, !roberta, &tokenizer_);
  }

  // `behind` is the type of the template that is applied before the trimming, or empty if there is none.
  void read_trimming(const JsonPart& part, const std::string& type, const std::string& behind) {
    const bool keeps_first = part.at("add_prefix_space").boolean(true);
    if (!part.at("trim_offsets").boolean(true)) return;
    TokenizerDescription& description = tokenizer_.description;
    if (description.trim_offsets) {
      part.fail_here("(", type, ") trims offsets a second time, which is not supported: set its trim_offsets to false");
    }
    if (behind == "RobertaProcessing" || behind == "BertProcessing") {
      // In this order the first token is the template's own. Whether the first token of the text keeps its space would
      // then depend on the text.
      part.fail_here("(", type, ") trims offsets behind ", behind, ", which is not supported: put it before that");
    }
    description.trim_offsets = true;
    // The default FirstSpace::as_added keeps the space if add_prefix_space is set. The model file has the field only if
    // the post-processor says otherwise.
    if (keeps_first != description.add_prefix_space) {
      description.first_space = keeps_first ? FirstSpace::kept : FirstSpace::trimmed;
    }
  }

  OwnedTokenizer& tokenizer_;
  std::string template_;  // The type of the post-processor that has set the template, or empty.
};

}  // namespace

void read_post_processor(const JsonPart& part, OwnedTokenizer* tokenizer) {
  if (part.null()) return;
  PostProcessors processors(tokenizer);
  if (part.type() != "Sequence") return processors.read(part);
  const JsonPart parts = part.at("processors");
  parts.need_array();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts.at(i).type() == "Sequence") parts.at(i).fail_here("is a Sequence in a Sequence");
    processors.read(parts.at(i));
  }
}

}  // namespace linformer::convert
