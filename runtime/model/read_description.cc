#include "model/read_description.h"

#include <cinttypes>
#include <cstring>
#include <type_traits>

#include "base/description.h"
#include "base/enum_names.h"
#include "io/container.h"
#include "model/description_fields.h"
#include "model/fields.h"
#include "model/flatbuffers_compat.h"

namespace LINFORMER_NAMESPACE {
namespace {

// Counts what is allocated, before it is.
class Budget {
 public:
  explicit Budget(uint64_t bytes) : left_(bytes) {}

  Status take(uint64_t count, uint64_t size_each) {
    // Both are below 2^32: counts come from flatbuffers vectors.
    if (count * size_each > left_) {
      return Status::error(Code::corrupt_file,
                           "the description needs far more memory than the file has bytes: convert the checkpoint "
                           "again");
    }
    left_ -= count * size_each;
    return {};
  }

 private:
  uint64_t left_;
};

Status no_memory() { return Status::error(Code::out_of_memory, "no memory for the model's description"); }

template <class T>
Status read_table(const flatbuffers::Table& in, Budget* budget, T* out);

// Visits the fields of one table of the file.
class TableReader {
 public:
  // `label` names the table in sentences.
  TableReader(const flatbuffers::Table& in, const char* label, Budget* budget)
      : in_(in), label_(label), budget_(*budget) {}

  const Status& status() const { return status_; }

  template <class T>
  void operator()(const Field& field, T& out) {
    const flatbuffers::voffset_t at = next();
    if constexpr (std::is_same_v<T, bool>) {
      out = in_.GetField<uint8_t>(at, out) != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      out = in_.GetField<T>(at, out);
    } else {
      if (status_.ok()) status_ = read(field, at, &out);
    }
  }
  template <class T>
  void optional(const Field& field, std::initializer_list<bool>, T& out) {
    (*this)(field, out);
  }
  void origin(const Field&) { next(); }

 private:
  // Entries of a vtable are 2 bytes, after its own size and the table's.
  flatbuffers::voffset_t next() { return static_cast<flatbuffers::voffset_t>(4 + 2 * count_++); }

  template <class T>
  const T* pointer(flatbuffers::voffset_t at) const {
    return in_.GetPointer<const T*>(at);
  }

  FieldName name(const Field& field) const { return FieldName("%s %s", label_, field.name); }

  // Not templates: each type of entry and each enumeration would have a copy.
  Status allow(const Field& field, uint64_t count, size_t size_each) {
    if (count > field.limit) {
      return bad_field(name(field), "has %" PRIu64 " entries, at most %" PRIu32 " are possible", count, field.limit);
    }
    return budget_.take(count, size_each);
  }

  Status read_enum(const Field& field, flatbuffers::voffset_t at, unsigned values, uint8_t* out) const {
    const unsigned value = in_.GetField<uint8_t>(at, *out);
    if (value >= values) {
      return Status::error(Code::unsupported,
                           "%s is %u, this build knows 0 to %u: use a newer linformer or convert the checkpoint again",
                           name(field).text(), value, values - 1);
    }
    *out = static_cast<uint8_t>(value);
    return {};
  }

  template <class T>
  Status resize(const Field& field, uint64_t count, Array<T>* out) {
    LINFORMER_TRY(allow(field, count, sizeof(T)));
    return out->try_resize(count) ? Status() : no_memory();
  }

  // Enums and tables.
  template <class T>
  Status read(const Field& field, flatbuffers::voffset_t at, T* out) {
    if constexpr (std::is_enum_v<T>) {
      auto value = static_cast<uint8_t>(*out);
      LINFORMER_TRY(read_enum(field, at, enum_count<T>, &value));
      *out = static_cast<T>(value);
      return {};
    } else {
      const auto* table = pointer<flatbuffers::Table>(at);
      return table == nullptr ? Status() : read_table(*table, &budget_, out);
    }
  }

  Status read(const Field&, flatbuffers::voffset_t at, String* out) {
    const auto* text = pointer<flatbuffers::String>(at);
    if (text == nullptr) return {};
    LINFORMER_TRY(budget_.take(uint64_t{text->size()} + 1, 1));
    return out->try_assign({text->c_str(), text->size()}) ? Status() : no_memory();
  }

  template <class T>
  Status read(const Field& field, flatbuffers::voffset_t at, Array<T>* out) {
    if constexpr (HasFields<T>) {
      const auto* tables = pointer<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>>(at);
      if (tables == nullptr) return {};
      LINFORMER_TRY(resize(field, tables->size(), out));
      for (uint32_t i = 0; i < tables->size(); ++i) {
        LINFORMER_TRY(read_table(*tables->Get(i), &budget_, &(*out)[i]));
      }
    } else {
      // A copy by bytes: the verifier checks that elements lie inside, but not that they are aligned.
      const auto* numbers = pointer<flatbuffers::Vector<T>>(at);
      if (numbers == nullptr) return {};
      LINFORMER_TRY(resize(field, numbers->size(), out));
      if (!out->empty()) std::memcpy(out->data(), numbers->Data(), out->size() * sizeof(T));
    }
    return {};
  }

  template <class T>
  Status read(const Field& field, flatbuffers::voffset_t at, std::span<const T>* out) {
    const auto* numbers = pointer<flatbuffers::Vector<T>>(at);
    if (numbers == nullptr || numbers->size() == 0) return {};  // writers don't align an empty vector
    if (reinterpret_cast<uintptr_t>(numbers->Data()) % alignof(T) != 0) {
      return bad_field(name(field), "is not aligned to %zu bytes", alignof(T));
    }
    *out = {reinterpret_cast<const T*>(numbers->Data()), numbers->size()};
    return {};
  }

  const flatbuffers::Table& in_;
  const char* label_;
  Budget& budget_;
  Status status_;
  unsigned count_ = 0;  // of the fields visited
};

// What a table says by being there.
template <class T>
void complete(T*) {}

void complete(SentenceEmbedding* out) { out->present = true; }

template <class T>
Status read_table(const flatbuffers::Table& in, Budget* budget, T* out) {
  TableReader reader(in, FieldsOf<T>::label, budget);
  FieldsOf<T>::visit(reader, *out);
  if (reader.status().ok()) complete(out);
  return reader.status();
}

}  // namespace

Status read_description(std::span<const std::byte> metadata, uint64_t file_bytes, ModelDescription* description) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(metadata.data());
  // A table and the reference to it take at least 8 bytes, so a file that needs more visits than this names tables
  // again and again to make verification slow.
  const uint64_t tables = metadata.size() / 8;
  if (metadata.size() > max_metadata_bytes ||
      !verify_metadata(bytes, metadata.size(), max_metadata_depth, static_cast<uint32_t>(tables))) {
    return Status::error(Code::corrupt_file, "the metadata's structure is damaged: copy or convert the file again");
  }
  Budget budget(file_bytes + description_allowance);
  return read_table(*flatbuffers::GetRoot<flatbuffers::Table>(bytes), &budget, description);
}

}  // namespace LINFORMER_NAMESPACE
