// Reads safetensors files. A file consists of the length of the header (u64), the header (JSON) and the data of the
// tensors without holes. The format is described in huggingface/safetensors; each of its rules is enforced.
#include <algorithm>

#include "base/checked.h"
#include "converter/readers/bytes.h"
#include "converter/readers/error.h"
#include "converter/readers/exported_keys.h"

namespace linformer::convert {

namespace {

constexpr uint64_t max_header = 100'000'000;  // In bytes: the limit of the format.

DataType data_type(std::string_view code, const std::string& shown) {
  static constexpr std::pair<std::string_view, DataType> codes[] = {
      {"F64", DataType::f64}, {"F32", DataType::f32},     {"F16", DataType::f16}, {"BF16", DataType::bf16},
      {"I64", DataType::i64}, {"I32", DataType::i32},     {"I16", DataType::i16}, {"I8", DataType::i8},
      {"U8", DataType::u8},   {"BOOL", DataType::boolean}};
  for (const auto& [name, type] : codes) {
    if (name == code) return type;
  }
  fail(shown, " has the type ", quote(code), ", which is not supported: save it as F32, F16 or BF16");
}

uint64_t count(Value value, const std::string& shown, const char* what) {
  const std::optional<int64_t> number = value.is(ValueKind::integer) ? value.integer() : std::nullopt;
  if (!number || *number < 0) fail(shown, " has a value in ", what, " that is not a whole number of at least 0");
  return static_cast<uint64_t>(*number);
}

struct Entry {
  Tensor tensor;
  DataType type;
  uint64_t begin, end;  // In bytes, from the start of the data section.
};

Entry read_entry(std::string_view name, Value fields) {
  const std::string shown = "tensor " + quote(name);
  if (!fields.is(ValueKind::dict) || fields.items().size() != 6)
    fail(shown, " must have dtype, shape and data_offsets only");
  const Value type = fields.find("dtype"), shape = fields.find("shape"), offsets = fields.find("data_offsets");
  if (!type.is(ValueKind::text)) fail(shown, " has no dtype");
  if (!shape.is(ValueKind::list)) fail(shown, " has no shape");
  if (!offsets.is(ValueKind::list) || offsets.items().size() != 2) fail(shown, " has no pair of data_offsets");
  Entry entry{};
  entry.tensor.name = name;
  entry.type = data_type(type.text(), shown);
  entry.begin = count(offsets.items()[0], shown, "data_offsets");
  entry.end = count(offsets.items()[1], shown, "data_offsets");
  uint64_t bytes = data_type_bytes(entry.type);
  for (const Value& dimension : shape.items()) {
    entry.tensor.shape.push_back(count(dimension, shown, "shape"));
    if (!checked_mul(bytes, entry.tensor.shape.back(), &bytes)) fail(shown, " has a shape too large to address");
  }
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    fail(shown, " has data_offsets [", entry.begin, ", ", entry.end, "] where its shape and dtype take ", bytes,
         " bytes");
  }
  entry.tensor.strides.resize(entry.tensor.shape.size());
  uint64_t stride = 1;
  for (size_t i = entry.tensor.shape.size(); i-- > 0;) {
    entry.tensor.strides[i] = stride;
    // If one dimension is 0, `bytes` does not limit the product of the others. The stride is then never used.
    if (!checked_mul(stride, entry.tensor.shape[i], &stride)) stride = 0;
  }
  return entry;
}

// Throws Error unless the tensors cover the data section exactly once, without holes. So a file can't hide other data.
void check_coverage(const std::vector<Entry>& entries, uint64_t data_bytes) {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(),
            [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  uint64_t covered = 0;
  for (const Entry* entry : sorted) {
    if (entry->begin != covered) {
      fail("tensor ", quote(entry->tensor.name), " begins at byte ", entry->begin, " of the data instead of byte ",
           covered, ": tensors must neither overlap nor leave holes");
    }
    covered = entry->end;
  }
  if (covered != data_bytes) {
    fail("the tensors take ", covered, " bytes but the file holds ", data_bytes,
         ": it is truncated or has data appended");
  }
}

void read_metadata(Value metadata, Checkpoint& checkpoint) {
  if (!metadata.is(ValueKind::dict)) fail("__metadata__ is not an object of texts");
  const std::vector<Value>& items = metadata.items();
  for (size_t i = 0; i < items.size(); i += 2) {
    if (!items[i + 1].is(ValueKind::text))
      fail("__metadata__ has a value for ", quote(items[i].text()), " that is not a text");
    checkpoint.budget().charge_memory(items[i].text().size() + items[i + 1].text().size());
    checkpoint.metadata.emplace_back(items[i].text(), items[i + 1].text());
  }
}

// Adds a tensor for each name that save_model() has dropped. If several names share one storage, save_model() writes
// one of them and maps the dropped names to the kept one in the metadata.
void add_aliases(Checkpoint& checkpoint) {
  const size_t stored = checkpoint.tensors.size();
  std::vector<const Tensor*> by_name;
  for (size_t i = 0; i < stored; ++i) by_name.push_back(&checkpoint.tensors[i]);
  std::sort(by_name.begin(), by_name.end(), [](const Tensor* a, const Tensor* b) { return a->name < b->name; });
  std::vector<Tensor> aliases;
  for (const auto& [dropped, kept] : checkpoint.metadata) {
    // These keys are not names of dropped tensors, even if their values happen to be names of tensors.
    if (dropped == "format" || dropped == exported_dialect_key) continue;
    const auto named = [&](const std::string& name) -> const Tensor* {
      const auto place = std::lower_bound(by_name.begin(), by_name.end(), name,
                                          [](const Tensor* a, const std::string& b) { return a->name < b; });
      return place != by_name.end() && (*place)->name == name ? *place : nullptr;
    };
    const Tensor* source = named(kept);
    if (source == nullptr || named(dropped) != nullptr) continue;
    aliases.push_back(*source);
    aliases.back().name = dropped;
    aliases.back().alias_of = kept;
  }
  for (Tensor& alias : aliases) checkpoint.add_tensor(std::move(alias));
}

// Puts the exported settings of the metadata into checkpoint.root, where dialects look for settings.
void add_settings(Checkpoint& checkpoint) {
  for (const auto& [name, text] : checkpoint.metadata) {
    if (name != exported_settings_key) continue;
    const Value settings = parse_json(checkpoint.values(), text, name + " of __metadata__");
    if (!settings.is(ValueKind::dict)) fail(name, " of __metadata__ is a ", settings.kind_name(), ", not an object");
    checkpoint.root = checkpoint.values().make(ValueKind::dict);
    checkpoint.root.node()->items = {checkpoint.values().make_text(name), settings};
  }
}

}  // namespace

void read_safetensors(std::span<const std::byte> bytes, Checkpoint& checkpoint) {
  checkpoint.format = "safetensors";
  if (bytes.size() < 8) fail("the file ends within the header's length");
  const uint64_t header_bytes = load<uint64_t>(bytes.data());
  if (header_bytes > max_header) fail("the header claims ", header_bytes, " bytes; the format allows ", max_header);
  if (!range_within(8, header_bytes, bytes.size())) {
    fail("the header claims ", header_bytes, " bytes but the file has ", bytes.size(), ": it is truncated");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes);
  if (text.empty() || text[0] != '{') fail("the header does not begin with {");
  const std::span<const std::byte> data = bytes.subspan(8 + header_bytes);

  const Value header = parse_json(checkpoint.values(), text, "the header");
  const std::vector<Value>& items = header.items();
  std::vector<Entry> entries;
  for (size_t i = 0; i < items.size(); i += 2) {
    if (items[i].text() == "__metadata__") {
      read_metadata(items[i + 1], checkpoint);
    } else {
      checkpoint.budget().charge_memory(sizeof(Entry) + sizeof(Storage));
      entries.push_back(read_entry(items[i].text(), items[i + 1]));
    }
  }
  check_coverage(entries, data.size());
  for (Entry& entry : entries) {
    entry.tensor.storage = static_cast<uint32_t>(checkpoint.storages().size());
    checkpoint.storages().push_back({"the data of " + quote(entry.tensor.name), entry.type,
                                     data.subspan(entry.begin, entry.end - entry.begin), std::nullopt});
    checkpoint.add_tensor(std::move(entry.tensor));
  }
  add_aliases(checkpoint);
  add_settings(checkpoint);
}

}  // namespace linformer::convert
