#include "fuzz/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/description.h"
#include "converter/writer/metadata.h"
#include "hostile_model/metadata_fields.h"
#include "io/container.h"
#include "linformer/model.h"
#include "model/flatbuffers_compat.h"

namespace linformer_fuzz {
namespace {

using namespace linformer;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns a model file with these metadata and tensors and a valid header; empty if the header can't be made.
std::string assembled(std::string_view metadata, std::string_view tensors) {
  const Result<Header> header = make_header(std::as_bytes(std::span(metadata)), tensors.size());
  if (!header.ok()) return {};
  std::string file(reinterpret_cast<const char*>(&*header), sizeof(Header));
  file += metadata;
  file.resize(header->tensor_offset);
  file += tensors;
  return file;
}

std::span<const uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

struct Sections {
  std::string metadata, tensors;
};

bool looks_like_model(std::span<const uint8_t> bytes) {
  return bytes.size() > header_bytes && std::memcmp(bytes.data(), container_magic.data(), 5) == 0;
}

Sections sections_of(std::span<const uint8_t> bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto rest = bytes.subspan(sizeof header);
  const size_t metadata = static_cast<size_t>(std::clamp<uint64_t>(header.metadata_bytes, 1, rest.size()));
  const size_t begin = (header_bytes + metadata + segment_alignment - 1) / segment_alignment * segment_alignment;
  const auto tensors = bytes.subspan(std::min(begin, bytes.size()));
  const auto text = [](std::span<const uint8_t> part) {
    return std::string(reinterpret_cast<const char*>(part.data()), part.size());
  };
  return {text(rest.first(metadata)), text(tensors)};
}

template <class Number>
Number load(const char* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

template <class Number>
void store(Number number, char* to) {
  std::memcpy(to, &number, sizeof number);
}

float awkward_float(Random& random) {
  static constexpr float values[] = {0,
                                     -0.f,
                                     1,
                                     -1,
                                     1e-30f,
                                     1e30f,
                                     3.4e38f,
                                     std::numeric_limits<float>::infinity(),
                                     std::numeric_limits<float>::quiet_NaN(),
                                     1e-42f};
  return random.one_in(3) ? static_cast<float>(random.next() % 2001) / 100 - 10 : random.one_of(values);
}

// Adds 1 to a number of the metadata or subtracts 1, or replaces it by an awkward number or by another number of the
// metadata. Returns false if the metadata can't be read or has no numbers.
bool alter_number(std::string* metadata, Random& random) {
  // metadata_fields() requires valid FlatBuffers metadata in aligned memory.
  std::vector<uint64_t> aligned((metadata->size() + 7) / 8);
  std::memcpy(aligned.data(), metadata->data(), metadata->size());
  const auto* base = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier verifier(base, metadata->size(), 64, 1 << 20);
  if (metadata->size() < 16 || !schema::VerifyModelBuffer(verifier)) return false;
  const std::vector<linformer_test::MetadataField> fields =
      linformer_test::metadata_fields(std::as_bytes(std::span(aligned)).first(metadata->size()));
  if (fields.empty()) return false;
  const linformer_test::MetadataField& field = random.one_of(fields);
  char* at = metadata->data() + field.offset;
  if (field.floating && field.bytes == 4) {
    store(awkward_float(random), at);
    return true;
  }
  uint64_t number = 0;
  std::memcpy(&number, at, field.bytes);
  const linformer_test::MetadataField& other = random.one_of(fields);
  switch (random.below(4)) {
    case 0:
      number += random.one_in(2) ? 1 : ~uint64_t{0};
      break;
    case 1:
      if (other.bytes == field.bytes) std::memcpy(&number, metadata->data() + other.offset, field.bytes);
      break;
    default:
      number = awkward_number(random);
  }
  std::memcpy(at, &number, field.bytes);
  return true;
}

template <class List>
void alter_list(List* list, Random& random) {
  if (list->empty()) return;
  const size_t at = random.below(list->size());
  switch (random.below(3)) {
    case 0: {
      auto copy = (*list)[at];
      const size_t times = random.one_in(8) ? 100 : 1;
      for (size_t i = 0; i < times; ++i) list->push_back(copy);
      break;
    }
    case 1:
      std::swap((*list)[at], (*list)[list->size() - 1]);
      list->pop_back();
      break;
    default:
      (*list)[at] = (*list)[random.below(list->size())];
  }
}

// Repeats, removes or replaces an element of one of the description's lists: layers, heads, tokens and so on.
void alter_description(ModelDescription* model, Random& random) {
  EncoderDescription& encoder = model->has_decoder() && random.one_in(3) ? model->decoder : model->encoder;
  TokenizerDescription& tokenizer = model->tokenizer;
  switch (random.below(13)) {
    case 0:
      return alter_list(&encoder.layers, random);
    case 1:
      return alter_list(&encoder.projections, random);
    case 2:
      return alter_list(&model->heads, random);
    case 3:
      return alter_list(&model->tensors, random);
    case 4:
      return alter_list(&tokenizer.added_tokens, random);
    case 5:
      return alter_list(&tokenizer.single_template, random);
    case 6:
      return alter_list(&tokenizer.pair_template, random);
    case 7:
      if (!encoder.layers.empty()) alter_list(&random.one_of(encoder.layers).attention.key_projections, random);
      return;
    case 8:
      if (!encoder.layers.empty()) alter_list(&random.one_of(encoder.layers).attention.value_projections, random);
      return;
    case 9:
      if (!model->heads.empty()) alter_list(&random.one_of(model->heads).labels, random);
      return;
    case 10:
      if (encoder.layers.size() > 1) random.one_of(encoder.layers).attention = random.one_of(encoder.layers).attention;
      return;
    case 11:
      if (!model->tensors.empty()) alter_list(&random.one_of(model->tensors).shape, random);
      return;
    default:
      if (model->has_decoder()) std::swap(model->encoder, model->decoder);
  }
}

std::string altered_metadata(const std::string& file, const Sections& sections, Random& random) {
  const writer::AlignedBytes bytes = repair_model_file(as_bytes(file));
  const auto model = Model::load(bytes, {Verify::never});
  if (!model.ok()) return sections.metadata;
  ModelDescription description = (*model)->description();
  for (size_t i = random.below(3) + 1; i > 0; --i) alter_description(&description, random);
  return text_of(writer::serialize_metadata(description));
}

void alter_weights(std::string* tensors, Random& random) {
  if (tensors->size() < 4) return;
  const size_t at = random.below(tensors->size() / 4) * 4;
  store(random.one_in(4) ? load<float>(tensors->data() + random.below(tensors->size() / 4) * 4) : awkward_float(random),
        tensors->data() + at);
}

// Alters the sections of `file` in one of several ways.
void alter_sections(const std::string& file, Sections* sections, size_t most, Random& random) {
  switch (random.below(16)) {
    case 0:
    case 1: {
      const size_t size = sections->metadata.size();
      mutate_bytes(&sections->metadata, size);
      sections->metadata.resize(size);
      return;
    }
    case 2:
      return alter_weights(&sections->tensors, random);
    case 3:
      return mutate_bytes(&sections->tensors, most);
    case 4:
    case 5:
    case 6:
    case 7:
      sections->metadata = altered_metadata(file, *sections, random);
      return;
    default:
      for (size_t i = random.below(3) + 1; i > 0; --i) {
        if (!alter_number(&sections->metadata, random)) return;
      }
  }
}

bool loads(const std::string& file) { return Model::load(repair_model_file(as_bytes(file)), {Verify::never}).ok(); }

}  // namespace

writer::AlignedBytes repair_model_file(std::span<const uint8_t> bytes) {
  std::string whole;
  if (looks_like_model(bytes)) {
    const Sections sections = sections_of(bytes);
    whole = assembled(sections.metadata, sections.tensors);
  }
  const auto source = whole.empty() ? std::as_bytes(bytes) : std::as_bytes(std::span<const char>(whole));
  writer::AlignedBytes file(source.size());
  if (!source.empty()) std::memcpy(file.data(), source.data(), source.size());
  return file;
}

std::string altered_model(std::span<const uint8_t> bytes, size_t most, Random& random) {
  const std::string file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string changed = file;
  if (!looks_like_model(bytes) || random.one_in(20)) {  // Alters all bytes, the header included.
    mutate_bytes(&changed, most);
    return changed;
  }
  // Model::load() refuses nearly every altered file, and a refused file tests nothing else. So several alterations are
  // tried until one of them loads, except in a quarter of the calls.
  const int attempts = random.one_in(4) ? 1 : 8;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Sections sections = sections_of(bytes);
    alter_sections(file, &sections, most, random);
    changed = assembled(sections.metadata, sections.tensors);
    if (changed.size() > most) continue;
    if (attempts == 1 || loads(changed)) break;
  }
  return changed.size() <= most ? changed : std::string();
}

std::string crossed_models(std::span<const uint8_t> first, std::span<const uint8_t> second, Random& random) {
  if (!looks_like_model(first) || !looks_like_model(second)) return {};
  const Sections one = sections_of(first), other = sections_of(second);
  const writer::AlignedBytes file = repair_model_file(first),
                             others = repair_model_file(second);  // The descriptions point into them.
  const auto model = Model::load(file, {Verify::never}), donor = Model::load(others, {Verify::never});
  if (!model.ok() || !donor.ok()) return assembled(one.metadata, other.tensors);
  ModelDescription description = (*model)->description();
  const ModelDescription& given = (*donor)->description();
  switch (random.below(3)) {
    case 0:
      description.tokenizer = given.tokenizer;
      break;
    case 1:
      description.encoder.embedding = given.encoder.embedding;
      break;
    default:
      description.encoder.projections = given.encoder.projections;
  }
  return assembled(text_of(writer::serialize_metadata(description)), one.tensors);
}

}  // namespace linformer_fuzz
