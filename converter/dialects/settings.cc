#include "converter/dialects/settings.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "converter/dialects/known_settings.h"
#include "converter/dialects/nearest_name.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

// The highest number of names that are checked for misspellings. A usual config.json has about a hundred names.
constexpr size_t most_compared = 1000;

bool holds_settings(Value values) { return values.is(ValueKind::dict) || values.is(ValueKind::object); }

}  // namespace

void Settings::add(Source source) {
  source.values = without_config_wrappers(source.values);
  if (holds_settings(source.values)) sources_.push_back(std::move(source));
}

void Settings::add_source(Value values, std::string name) { add({values, std::move(name), Origin::checkpoint, {}}); }

void Settings::add_found_file(Value values, std::string name) { add({values, std::move(name), Origin::found, {}}); }

void Settings::add_user_settings(Value values, const std::string& name, const std::vector<std::string>& groups) {
  Source top{values, name, Origin::given, {}};
  std::vector<Source> below;
  for (const std::string& group : groups) {
    const Value inner = without_config_wrappers(values).find(group);
    if (!holds_settings(without_config_wrappers(inner))) continue;
    top.groups.push_back(group);
    below.push_back({inner, name + ", " + group, Origin::given, {}});
  }
  add(std::move(top));
  for (Source& source : below) add(std::move(source));
}

void Settings::add_exported_settings(Value values, std::string name) {
  const std::vector<Value>& items = values.items();
  for (size_t i = 0; values.is(ValueKind::dict) && i + 1 < items.size(); i += 2) {
    lookups_->used[std::string(items[i].text())] = items[i + 1];
  }
  add_source(values, std::move(name));
}

bool Settings::is_null(std::string_view name) const {
  lookups_->asked.emplace(name);
  for (const Source& source : sources_) {
    const Value value = source.values.find(name);
    if (!value) continue;
    const bool null = without_config_wrappers(value).is(ValueKind::null);
    if (null) lookups_->used[std::string(name)] = value;
    return null;
  }
  return false;
}

std::optional<Setting<Value>> Settings::find(std::string_view name) const {
  lookups_->asked.emplace(name);
  for (const Source& source : sources_) {
    const Value value = without_config_wrappers(source.values.find(name));
    if (value.is(ValueKind::null)) continue;
    lookups_->used[std::string(name)] = value;
    return Setting<Value>{value, source.name};
  }
  return std::nullopt;
}

namespace {

// Returns about how many bytes of a file the values stand for. A value that is shared, as values in a pickle may be, is
// counted once.
uint64_t bytes_of(const std::map<std::string, Value, std::less<>>& values) {
  uint64_t bytes = 0;
  std::vector<Value> rest;
  std::unordered_set<const Node*> seen;
  for (const auto& [name, value] : values) {
    bytes += name.size();
    rest.push_back(value);
  }
  while (!rest.empty()) {
    const Value value = without_config_wrappers(rest.back());
    rest.pop_back();
    if (!value || !seen.insert(value.node()).second) continue;
    bytes += 1 + value.text().size() + value.items().size();
    rest.insert(rest.end(), value.items().begin(), value.items().end());
  }
  return bytes;
}

// Returns the value as JSON. JSON can't share values: a value that is used in several places is repeated. So `budget`
// limits the size of the JSON in proportion to the bytes of the values.
nlohmann::json plain(Value value, int depth, Budget* budget) {
  if (depth > max_depth) fail("it nests deeper than ", max_depth, " levels, or holds itself");
  value = without_config_wrappers(value);
  constexpr uint64_t node = 64;  // The estimated bytes of a JSON value and of its place in a list or object.
  budget->charge_steps(1);
  budget->charge_memory(node + value.text().size());
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
      for (const Value& item : value.items()) list.push_back(plain(item, depth + 1, budget));
      return list;
    }
    case ValueKind::dict: {
      nlohmann::json object = nlohmann::json::object();
      const std::vector<Value>& items = value.items();
      for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (!items[i].is(ValueKind::text)) continue;
        budget->charge_memory(node + items[i].text().size());
        object[std::string(items[i].text())] = plain(items[i + 1], depth + 1, budget);
      }
      return object;
    }
    default:
      return nullptr;
  }
}

}  // namespace

std::string Settings::used_as_json() const {
  Budget budget;
  budget.raise_limits(bytes_of(lookups_->used));
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : lookups_->used) {
    // A value that JSON can't represent has become null and is left out. A setting that was null itself is kept.
    try {
      nlohmann::json json = plain(value, 0, &budget);
      if (!json.is_null() || value.is(ValueKind::null)) object[name] = std::move(json);
    } catch (const Error& error) {
      fail("the setting ", quote(name), ": ", error.what());
    }
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Returns those of `names` that are in no source whose origin is `least` or follows it in Origin.
std::set<std::string, std::less<>> Settings::names_not_given(std::set<std::string, std::less<>> names,
                                                             Origin least) const {
  for (const Source& source : sources_) {
    if (source.origin < least) continue;
    const std::vector<Value>& items = source.values.items();
    for (size_t i = 0; i + 1 < items.size(); i += 2) names.erase(std::string(items[i].text()));
  }
  return names;
}

// Calls take(name, source) for each setting that nothing looked up, in the sources whose origin is `least` or follows
// it in Origin.
template <class Take>
void Settings::for_each_not_looked_up(Origin least, const Take& take) const {
  for (const Source& source : sources_) {
    if (source.origin < least) continue;
    const std::vector<Value>& items = source.values.items();
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const std::string name(items[i].text());
      const bool group = std::find(source.groups.begin(), source.groups.end(), name) != source.groups.end();
      if (!group && !lookups_->asked.contains(name)) take(name, source);
    }
  }
}

std::vector<UnusedSetting> Settings::unused() const {
  std::vector<UnusedSetting> unused;
  const std::set<std::string, std::less<>> possible = names_not_given(lookups_->asked, Origin::given);
  for_each_not_looked_up(Origin::given, [&](const std::string& name, const Source& source) {
    const bool compare = unused.size() < most_compared;
    unused.push_back({name, source.name, compare ? nearest_name(name, possible) : ""});
  });
  std::stable_partition(unused.begin(), unused.end(),
                        [](const UnusedSetting& setting) { return !setting.did_you_mean.empty(); });
  return unused;
}

std::string Settings::misspelling_hint() const {
  constexpr size_t most = 3;
  // `asked_of_user` keeps names that a config.json has, because the user may have meant to replace such a setting and
  // misspelt its name.
  const std::set<std::string, std::less<>> asked = names_not_given(lookups_->asked, Origin::found),
                                           asked_of_user = names_not_given(lookups_->asked, Origin::given),
                                           known = names_not_given(known_settings(), Origin::given);
  std::string sentence;
  size_t count = 0, compared = 0;
  for_each_not_looked_up(Origin::found, [&](const std::string& name, const Source& source) {
    if (++compared > most_compared) return;
    std::string meant = nearest_name(name, source.origin == Origin::given ? asked_of_user : asked);
    // Only names that the user gave are compared with all known ones. A config.json that was found may belong to
    // another implementation, whose names merely resemble them.
    const bool any = source.origin == Origin::given && !known_settings().contains(name);
    if (meant.empty() && any) meant = nearest_name(name, known);
    if (meant.empty() || ++count > most) return;
    sentence += (count == 1 ? "" : ", ") + quote(name) + " in " + source.name + " (did you mean " + meant + "?)";
  });
  if (count == 0) return {};
  if (count > most) sentence += " and " + std::to_string(count - most) + " more";
  return (count == 1 ? "unknown setting " : "unknown settings ") + sentence;
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
