// The settings of a model, which a checkpoint does not show by its tensors: from --config first, then from the
// checkpoint itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converter/readers/value.h"

namespace linformer::convert {

template <class Type>
struct Setting {
  Type value;
  std::string source;  // for the report
};

// Lookups throw Error when a setting is present with the wrong type. A null counts as absent.
class Settings {
 public:
  // Later sources are asked only for what earlier ones lack. A value that is not a dict or object is ignored.
  void add_source(Value values, std::string name);
  bool empty() const { return sources_.empty(); }

  bool has(std::string_view name) const { return find(name).has_value(); }
  std::optional<Setting<int64_t>> integer(std::string_view name) const;
  std::optional<Setting<bool>> flag(std::string_view name) const;
  std::optional<Setting<std::string>> text(std::string_view name) const;

 private:
  struct Source {
    Value values;
    std::string name;
  };
  std::optional<Setting<Value>> find(std::string_view name) const;
  std::vector<Source> sources_;
};

}  // namespace linformer::convert
