#include "converter/writer/metadata.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/description.h"
#include "converter/writer/origin_fields.h"
#include "converter/writer/write_error.h"
#include "io/container.h"
#include "model/flatbuffers_compat.h"

namespace linformer::writer {
namespace {

using flatbuffers::FlatBufferBuilder;

template <class T>
flatbuffers::uoffset_t write_table(FlatBufferBuilder& builder, const T& in, const Origin& origin);

// A visitor that writes one table. It first writes the objects that the fields refer to, and finish() writes the table.
class TableWriter {
 public:
  TableWriter(FlatBufferBuilder& builder, const Origin& origin) : builder_(builder), origin_(origin) {}

  template <class T>
  void operator()(const Field&, const T& in) {
    const flatbuffers::voffset_t at = next();
    if constexpr (std::is_same_v<T, float>) {
      slots_.push_back({at, 4, false, std::bit_cast<uint32_t>(in)});
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      slots_.push_back({at, sizeof(T), false, static_cast<uint64_t>(in)});
    } else {
      slots_.push_back({at, sizeof(flatbuffers::uoffset_t), true, write(in)});
    }
  }
  // Writes an optional field. If the model does not have it, it is left out of the table instead of being written
  // empty.
  template <class T>
  void optional(const Field& field, std::initializer_list<bool> present, const T& in) {
    if (*present.begin()) {
      (*this)(field, in);
    } else {
      next();
    }
  }
  void origin_field(const Field& field) {
    if (std::strcmp(field.name, "sources") == 0) {
      (*this)(field, origin_.tensors);
    } else {
      (*this)(field, origin_.settings);
    }
  }

  // Writes the table. The order of its fields is that of flatc's functions: wide fields come first, and fields of equal
  // width are in reverse order.
  flatbuffers::uoffset_t finish() {
    const flatbuffers::uoffset_t start = builder_.StartTable();
    for (const size_t bytes : {size_t{8}, size_t{4}, size_t{2}, size_t{1}}) {
      for (auto slot = slots_.rbegin(); slot != slots_.rend(); ++slot) {
        if (slot->bytes == bytes) add(*slot);
      }
    }
    return builder_.EndTable(start);
  }

 private:
  struct Slot {
    flatbuffers::voffset_t at;
    size_t bytes;
    bool refers;    // Whether the field refers to an object that was written before.
    uint64_t bits;  // The value, or the offset of the object.
  };

  flatbuffers::voffset_t next() { return static_cast<flatbuffers::voffset_t>(4 + 2 * count_++); }

  void add(const Slot& slot) {
    if (slot.refers) {
      builder_.AddOffset(slot.at, flatbuffers::Offset<void>(static_cast<flatbuffers::uoffset_t>(slot.bits)));
    } else if (slot.bytes == 8) {
      builder_.AddElement<uint64_t>(slot.at, slot.bits, 0);
    } else if (slot.bytes == 4) {
      builder_.AddElement<uint32_t>(slot.at, static_cast<uint32_t>(slot.bits), 0);
    } else {
      builder_.AddElement<uint8_t>(slot.at, static_cast<uint8_t>(slot.bits), 0);
    }
  }

  template <class T>
  flatbuffers::uoffset_t write(const T& in) {
    return write_table(builder_, in, origin_);
  }
  flatbuffers::uoffset_t write(const String& in) { return builder_.CreateString(in.data(), in.size()).o; }
  template <class T>
  flatbuffers::uoffset_t write(const Array<T>& in) {
    if constexpr (HasFields<T>) {
      std::vector<flatbuffers::Offset<flatbuffers::Table>> tables;
      tables.reserve(in.size());
      for (const T& item : in) tables.emplace_back(write_table(builder_, item, origin_));
      return builder_.CreateVector(tables).o;
    } else {
      return builder_.CreateVector(in.data(), in.size()).o;
    }
  }
  template <class T>
  flatbuffers::uoffset_t write(std::span<const T> in) {
    return builder_.CreateVector(in.data(), in.size()).o;
  }

  FlatBufferBuilder& builder_;
  const Origin& origin_;
  std::vector<Slot> slots_;
  unsigned count_ = 0;  // The number of fields visited so far.
};

template <class T>
flatbuffers::uoffset_t write_table(FlatBufferBuilder& builder, const T& in, const Origin& origin) {
  TableWriter writer(builder, origin);
  FieldsOf<T>::visit(writer, in);
  return writer.finish();
}

// A visitor that adds up the bytes of the arrays that may be large.
class LargeBytes : public FieldVisitor {
 public:
  uint64_t total = 0;
  template <class T>
  void operator()(const Field&, const T&) {}
  template <class T>
  void operator()(const Field&, std::span<const T> in) {
    total += in.size_bytes();
  }
  void optional(const Field&, std::initializer_list<bool>, const TokenizerRules& in) {
    FieldsOf<TokenizerRules>::visit(*this, in);
  }
};

}  // namespace

std::vector<std::byte> serialize_metadata(const ModelDescription& model, const Origin& origin) {
  // FlatBufferBuilder doubles its buffer when it is full, and fails beyond 2 GiB. Only the arrays that are counted here
  // can be large.
  LargeBytes large;
  FieldsOf<TokenizerDescription>::visit(large, model.tokenizer);
  if (large.total > max_metadata_bytes / 4) {
    throw WriteError("the tokenizer has " + std::to_string(large.total) + " bytes: the format holds at most " +
                     std::to_string(max_metadata_bytes / 4));
  }
  FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  const flatbuffers::Offset<schema::Model> root(write_table(builder, model, origin));
  schema::FinishModelBuffer(builder, root);
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {bytes, bytes + builder.GetSize()};
}

}  // namespace linformer::writer
