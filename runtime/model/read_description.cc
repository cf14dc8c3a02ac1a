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

// The memory budget and the error that all tables of one file share. The functions that read return false after an
// error. They don't return a Status, which contains its message, because this would add 5 KB of code.
class Reading {
 public:
  explicit Reading(uint64_t bytes) : left_(bytes) {}

  const Status& status() const { return status_; }

  bool fail(const Status& status) {
    status_ = status;
    return false;
  }
  bool no_memory() { return fail(Status::error(Code::out_of_memory, "no memory for the model's description")); }

  // Subtracts memory from the budget before it is allocated.
  bool spend_budget(uint64_t count, uint64_t size_each) {
    // Both factors are below 2^32, since counts come from flatbuffers vectors. So the product doesn't overflow.
    if (count * size_each > left_) {
      return fail(Status::error(Code::corrupt_file,
                                "the description needs far more memory than the file has bytes: convert the checkpoint "
                                "again"));
    }
    left_ -= count * size_each;
    return true;
  }

 private:
  uint64_t left_;
  Status status_;
};

template <class T>
bool read_table(const flatbuffers::Table& in, Reading* reading, T* out);

// Visits the fields of one table of the file.
class TableReader {
 public:
  // `label` names the table in errors.
  TableReader(const flatbuffers::Table& in, const char* label, Reading* reading)
      : in_(in), label_(label), reading_(*reading) {}

  bool ok() const { return ok_; }

  template <class T>
  void operator()(const Field& field, T& out) {
    const flatbuffers::voffset_t at = next();
    if constexpr (std::is_same_v<T, bool>) {
      out = in_.GetField<uint8_t>(at, out) != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      out = in_.GetField<T>(at, out);
    } else {
      ok_ = ok_ && read(field, at, &out);
    }
  }
  template <class T>
  void optional(const Field& field, std::initializer_list<bool>, T& out) {
    (*this)(field, out);
  }
  void origin_field(const Field&) { next(); }

 private:
  // Returns the place of the next field in the vtable. Its entries have 2 bytes and come after the sizes of the vtable
  // and of the table, which also have 2 bytes each.
  flatbuffers::voffset_t next() { return static_cast<flatbuffers::voffset_t>(4 + 2 * count_++); }

  template <class T>
  const T* pointer(flatbuffers::voffset_t at) const {
    return in_.GetPointer<const T*>(at);
  }

  FieldName name(const Field& field) const { return FieldName("%s %s", label_, field.name); }

  // check_entry_count(), read_enum() and misaligned() are no templates, since each type of entry and each enumeration
  // would need a copy of their code.
  bool check_entry_count(const Field& field, uint64_t count, size_t size_each) {
    if (count > field.limit) {
      return reading_.fail(
          bad_field(name(field), "has %" PRIu64 " entries, at most %" PRIu32 " are possible", count, field.limit));
    }
    return reading_.spend_budget(count, size_each);
  }

  bool read_enum(const Field& field, flatbuffers::voffset_t at, unsigned values, uint8_t* out) {
    const unsigned value = in_.GetField<uint8_t>(at, *out);
    if (value >= values) {
      return reading_.fail(Status::error(
          Code::unsupported,
          "%s is %u, this build knows 0 to %u: use a newer linformer or convert the checkpoint again",
          name(field).text(), value, values - 1));
    }
    *out = static_cast<uint8_t>(value);
    return true;
  }

  bool misaligned(const Field& field, size_t alignment) {
    return reading_.fail(bad_field(name(field), "is not aligned to %zu bytes", alignment));
  }

  template <class T>
  bool resize(const Field& field, uint64_t count, Array<T>* out) {
    return check_entry_count(field, count, sizeof(T)) && (out->try_resize(count) || reading_.no_memory());
  }

  // Reads an enumerator or a table.
  template <class T>
  bool read(const Field& field, flatbuffers::voffset_t at, T* out) {
    if constexpr (std::is_enum_v<T>) {
      auto value = static_cast<uint8_t>(*out);
      if (!read_enum(field, at, enum_count<T>, &value)) return false;
      *out = static_cast<T>(value);
      return true;
    } else {
      const auto* table = pointer<flatbuffers::Table>(at);
      return table == nullptr || read_table(*table, &reading_, out);
    }
  }

  bool read(const Field&, flatbuffers::voffset_t at, String* out) {
    const auto* text = pointer<flatbuffers::String>(at);
    if (text == nullptr) return true;
    return reading_.spend_budget(uint64_t{text->size()} + 1, 1) &&
           (out->try_assign({text->c_str(), text->size()}) || reading_.no_memory());
  }

  template <class T>
  bool read(const Field& field, flatbuffers::voffset_t at, Array<T>* out) {
    if constexpr (HasFields<T>) {
      const auto* tables = pointer<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>>(at);
      if (tables == nullptr) return true;
      if (!resize(field, tables->size(), out)) return false;
      for (uint32_t i = 0; i < tables->size(); ++i) {
        if (!read_table(*tables->Get(i), &reading_, &(*out)[i])) return false;
      }
    } else {
      // Copies bytes, because the verifier checks that the elements lie inside the buffer, but not their alignment.
      const auto* numbers = pointer<flatbuffers::Vector<T>>(at);
      if (numbers == nullptr) return true;
      if (!resize(field, numbers->size(), out)) return false;
      if (!out->empty()) std::memcpy(out->data(), numbers->Data(), out->size() * sizeof(T));
    }
    return true;
  }

  template <class T>
  bool read(const Field& field, flatbuffers::voffset_t at, std::span<const T>* out) {
    const auto* numbers = pointer<flatbuffers::Vector<T>>(at);
    if (numbers == nullptr || numbers->size() == 0) return true;  // Writers don't align an empty vector.
    if (reinterpret_cast<uintptr_t>(numbers->Data()) % alignof(T) != 0) return misaligned(field, alignof(T));
    *out = {reinterpret_cast<const T*>(numbers->Data()), numbers->size()};
    return true;
  }

  const flatbuffers::Table& in_;
  const char* label_;
  Reading& reading_;
  bool ok_ = true;
  unsigned count_ = 0;  // The number of fields visited.
};

// Called when a table of the file has been read. Sets the member, if there is one, that says that the table is present.
template <class T>
void mark_present(T*) {}

void mark_present(SentenceEmbedding* out) { out->present = true; }

template <class T>
bool read_table(const flatbuffers::Table& in, Reading* reading, T* out) {
  TableReader reader(in, FieldsOf<T>::label, reading);
  FieldsOf<T>::visit(reader, *out);
  if (reader.ok()) mark_present(out);
  return reader.ok();
}

}  // namespace

Status read_description(std::span<const std::byte> metadata, uint64_t file_bytes, ModelDescription* description) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(metadata.data());
  // A table and the reference to it take at least 8 bytes. So if a file has more tables to visit than this, it refers
  // to the same tables again and again to make verification slow.
  const uint64_t tables = metadata.size() / 8;
  if (metadata.size() > max_metadata_bytes ||
      !verify_metadata(bytes, metadata.size(), max_metadata_depth, static_cast<uint32_t>(tables))) {
    return Status::error(Code::corrupt_file, "the metadata's structure is damaged: copy or convert the file again");
  }
  Reading reading(file_bytes + description_allowance);
  read_table(*flatbuffers::GetRoot<flatbuffers::Table>(bytes), &reading, description);
  return reading.status();
}

}  // namespace LINFORMER_NAMESPACE
