#include "converter/dialects/settings.h"

#include "converter/readers/error.h"

namespace linformer::convert {

void Settings::add_source(Value values, std::string name) {
  values = unwrapped(values);
  if (values.is(ValueKind::dict) || values.is(ValueKind::object)) sources_.push_back({values, std::move(name)});
}

std::optional<Setting<Value>> Settings::find(std::string_view name) const {
  for (const Source& source : sources_) {
    const Value value = unwrapped(source.values.find(name));
    if (!value.is(ValueKind::null)) return Setting<Value>{value, source.name};
  }
  return std::nullopt;
}

std::optional<Setting<int64_t>> Settings::integer(std::string_view name) const {
  const std::optional<Setting<Value>> found = find(name);
  if (!found) return std::nullopt;
  const std::optional<int64_t> number = found->value.integer();
  if (!number)
    fail("the setting ", name, " (", found->source, ") is a ", found->value.kind_name(), ", not a whole number");
  return Setting<int64_t>{*number, found->source};
}

std::optional<Setting<bool>> Settings::flag(std::string_view name) const {
  const std::optional<Setting<Value>> found = find(name);
  if (!found) return std::nullopt;
  const std::optional<bool> truth = found->value.boolean();
  if (!truth) fail("the setting ", name, " (", found->source, ") is neither true nor false");
  return Setting<bool>{*truth, found->source};
}

std::optional<Setting<std::string>> Settings::text(std::string_view name) const {
  const std::optional<Setting<Value>> found = find(name);
  if (!found) return std::nullopt;
  if (!found->value.is(ValueKind::text)) {
    fail("the setting ", name, " (", found->source, ") is a ", found->value.kind_name(), ", not a text");
  }
  return Setting<std::string>{std::string(found->value.text()), found->source};
}

}  // namespace linformer::convert
