// Lists the fields of the tables in origin.h. model/description_fields.h lists the fields of the other tables.
#pragma once

#include "converter/writer/origin.h"
#include "model/description_fields.h"

namespace linformer {

template <>
struct FieldsOf<writer::SourcePiece> {
  static constexpr const char* table = "SourcePiece";
  static constexpr const char* label = "source piece";
  template <class Visitor, class... Object>
  static void visit(Visitor& visitor, Object&... object) {
    visitor(Field{"tensor"}, object.tensor...);
    visitor(Field{"first_row"}, object.first_row...);
    visitor(Field{"rows"}, object.rows...);
    visitor(Field{"offset"}, object.offset...);
    visitor(Field{"strides"}, object.strides...);
  }
};

template <>
struct FieldsOf<writer::SourceTensor> {
  static constexpr const char* table = "SourceTensor";
  static constexpr const char* label = "source tensor";
  template <class Visitor, class... Object>
  static void visit(Visitor& visitor, Object&... object) {
    visitor(Field{"name"}, object.name...);
    visitor(Field{"shape"}, object.shape...);
    visitor(Field{"pieces"}, object.pieces...);
  }
};

}  // namespace linformer
