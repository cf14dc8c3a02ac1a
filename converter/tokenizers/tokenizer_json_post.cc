// The post-processors of tokenizer.json.
#include "base/description.h"
#include "converter/readers/error.h"
#include "converter/tokenizers/tokenizer_json.h"
#include "model/limits.h"

namespace linformer::convert {
namespace {

// ["</s>", 2]
int32_t id_of_pair(const JsonPart& part) {
  part.need_array();
  if (part.size() != 2) part.fail_here("must be a token and its id");
  return part.at(size_t{1}).id();
}

// One list of a TemplateProcessing.
void read_template(const JsonPart& list, const JsonPart& special_tokens, std::vector<int32_t>* items,
                   std::vector<uint8_t>* types) {
  list.need_array();
  // A special token may stand for many ids and be named many times.
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

}  // namespace

void read_post_processor(const JsonPart& part, OwnedTokenizer* tokenizer) {
  if (part.null()) return;
  TokenizerDescription& description = tokenizer->description;
  const std::string type = part.type();
  if (type == "Sequence") {
    const JsonPart parts = part.at("processors");
    parts.need_array();
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!parts.at(i).null() && parts.at(i).type() == "Sequence") parts.at(i).fail_here("is a Sequence in a Sequence");
      read_post_processor(parts.at(i), tokenizer);
    }
  } else if (type == "RobertaProcessing" || type == "BertProcessing") {
    description.bos = id_of_pair(part.at("cls"));
    description.eos = id_of_pair(part.at("sep"));
    const bool roberta = type == "RobertaProcessing";
    description.single_template = {description.bos, template_first, description.eos};
    description.pair_template = {description.bos, template_first, description.eos, template_second, description.eos};
    if (roberta) {
      description.pair_template.insert(description.pair_template.begin() + 2, description.eos);
      description.trim_offsets = part.at("trim_offsets").boolean(true);
    } else {
      description.pair_types = {0, 0, 0, 1, 1};
    }
  } else if (type == "ByteLevel") {
    description.trim_offsets = part.at("trim_offsets").boolean(true);
  } else if (type == "TemplateProcessing") {
    read_template_processing(part, tokenizer);
  } else {
    part.fail_here("(", quote(type),
                   ") is not supported: RobertaProcessing, BertProcessing, ByteLevel and TemplateProcessing are");
  }
}

}  // namespace linformer::convert
