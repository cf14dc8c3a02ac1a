#include "converter/dialects/settings.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/readers/error.h"

namespace linformer::convert {

void Settings::add_source(Value values, std::string name) {
  values = unwrapped(values);
  if (values.is(ValueKind::dict) || values.is(ValueKind::object)) sources_.push_back({values, std::move(name)});
}

void Settings::add_kept(Value values, std::string name) {
  const std::vector<Value>& items = values.items();
  for (size_t i = 0; values.is(ValueKind::dict) && i + 1 < items.size(); i += 2) {
    (*used_)[std::string(items[i].text())] = items[i + 1];
  }
  add_source(values, std::move(name));
}

std::optional<Setting<Value>> Settings::find(std::string_view name) const {
  for (const Source& source : sources_) {
    const Value value = unwrapped(source.values.find(name));
    if (value.is(ValueKind::null)) continue;
    (*used_)[std::string(name)] = value;
    return Setting<Value>{value, source.name};
  }
  return std::nullopt;
}

namespace {

nlohmann::json plain(Value value, int depth) {
  value = unwrapped(value);
  switch (value.kind()) {
    case ValueKind::boolean:
      return *value.boolean();
    case ValueKind::integer:
      return *value.integer();
    case ValueKind::real:
      return std::isfinite(*value.real()) ? nlohmann::json(*value.real()) : nlohmann::json();
    case ValueKind::text:
      return std::string(value.text());
    case ValueKind::list:
    case ValueKind::tuple: {
      nlohmann::json list = nlohmann::json::array();
      for (size_t i = 0; i < value.items().size() && depth > 0; ++i) list.push_back(plain(value.items()[i], depth - 1));
      return list;
    }
    case ValueKind::dict: {
      nlohmann::json object = nlohmann::json::object();
      const std::vector<Value>& items = value.items();
      for (size_t i = 0; i + 1 < items.size() && depth > 0; i += 2) {
        if (items[i].is(ValueKind::text)) object[std::string(items[i].text())] = plain(items[i + 1], depth - 1);
      }
      return object;
    }
    default:
      return nullptr;
  }
}

}  // namespace

std::string Settings::used() const {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : *used_) {
    // What JSON can't say is left out: a null would be a setting that is absent.
    nlohmann::json json = plain(value, 8);
    if (!json.is_null()) object[name] = std::move(json);
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
