#include "fuzz/json_mutation.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace linformer_fuzz {
namespace {

using Json = nlohmann::ordered_json;

// Deeper JSON is altered as bytes, because the functions below recurse and would overflow the stack.
constexpr int most_depth = 100;

struct Place {
  Json* value;
  Json* parent;  // Null if `value` is the root.
};

bool collect(Json* value, Json* parent, int depth, std::vector<Place>* places, std::vector<std::string>* keys) {
  if (depth > most_depth) return false;
  places->push_back({value, parent});
  if (value->is_array()) {
    for (Json& item : *value) {
      if (!collect(&item, value, depth + 1, places, keys)) return false;
    }
  } else if (value->is_object()) {
    for (auto item = value->begin(); item != value->end(); ++item) {
      keys->push_back(item.key());
      if (!collect(&item.value(), value, depth + 1, places, keys)) return false;
    }
  }
  return true;
}

Json awkward_value(const Json& old, Random& random) {
  if (old.is_number() && !random.one_in(6)) {
    if (old.is_number_float() || random.one_in(8)) {
      static const double reals[] = {0, -1, 0.5, 1e-300, 1e300, 1e38, -0.0, 3.0000000001};
      return random.one_of(reals);
    }
    const int64_t number = old.is_number_integer() ? old.get<int64_t>() : 0;
    switch (random.below(5)) {
      case 0:
        return number == INT64_MAX ? number : number + 1;
      case 1:
        return number == INT64_MIN ? number : number - 1;
      case 2:
        return -static_cast<double>(number);
      default:
        return awkward_number(random);
    }
  }
  if (old.is_string() && !random.one_in(6)) {
    std::string text = old.get<std::string>();
    if (random.one_in(6)) {
      std::string many;
      for (size_t i = random.below(300); i > 0 && many.size() < 4096; --i) many += text;
      return many;
    }
    mutate_bytes(&text, text.size() + 16);
    return text;
  }
  switch (random.below(8)) {
    case 0:
      return nullptr;
    case 1:
      return random.one_in(2);
    case 2:
      return awkward_number(random);
    case 3:
      return "";
    case 4:
      return Json::array();
    case 5:
      return Json::object();
    case 6:
      return Json::array({old});
    default:
      return random.one_in(2) ? Json("1") : Json(0.5);
  }
}

void duplicate(Json* list, Random& random) {
  const size_t at = random.below(list->size());
  const size_t times = random.one_in(6) ? random.below(200) : 1;
  for (size_t i = 0; i < times; ++i) {
    if (list->is_array()) {
      list->push_back((*list)[at]);
    } else {
      auto item = list->begin();
      std::advance(item, static_cast<std::ptrdiff_t>(at));
      const Json value = item.value();
      (*list)[item.key() + std::to_string(i)] = value;
    }
  }
}

void rename(Json* object, const std::vector<std::string>& keys, Random& random) {
  auto item = object->begin();
  std::advance(item, static_cast<std::ptrdiff_t>(random.below(object->size())));
  const Json value = item.value();
  std::string key = item.key();
  object->erase(key);
  if (random.one_in(2)) {
    key = random.one_of(keys);
  } else {
    mutate_bytes(&key, key.size() + 4);
  }
  (*object)[key] = value;
}

void erase_one(Json* list, Random& random) {
  auto item = list->begin();
  std::advance(item, static_cast<std::ptrdiff_t>(random.below(list->size())));
  list->erase(item);
}

bool alter(Json* root, Random& random) {
  std::vector<Place> places;
  std::vector<std::string> keys;
  if (!collect(root, nullptr, 0, &places, &keys)) return false;
  const Place place = random.one_of(places);
  Json* list = place.value->is_structured() ? place.value : place.parent;
  const bool filled = list != nullptr && !list->empty();
  switch (random.below(8)) {
    case 0:
      if (filled) duplicate(list, random);
      break;
    case 1:
      if (filled) erase_one(list, random);
      break;
    case 2:
      if (filled && list->is_object()) rename(list, keys, random);
      break;
    case 3: {
      const Json copy = *random.one_of(places).value;
      *place.value = copy;
      break;
    }
    case 4:
      if (place.value->is_structured() && random.one_in(2)) {  // Copies all of the JSON below this place.
        const Json copy = *place.value;
        Json* inner = random.one_of(places).value;
        *inner = copy;
      } else if (!keys.empty()) {
        *place.value = random.one_of(keys);
      }
      break;
    default:
      *place.value = awkward_value(*place.value, random);
  }
  return true;
}

}  // namespace

std::string altered_json(const std::string& text, size_t most, Random& random) {
  if (!random.one_in(8)) {
    Json root = Json::parse(text, nullptr, false);
    if (!root.is_discarded()) {
      bool done = true;
      for (size_t i = random.below(3) + 1; done && i > 0; --i) done = alter(&root, random);
      if (done) {
        std::string changed = root.dump(-1, ' ', false, Json::error_handler_t::replace);
        if (changed.size() <= most) return changed;
      }
    }
  }
  std::string changed = text;
  mutate_bytes(&changed, most);
  return changed;
}

std::string altered_json_lines(const std::string& text, size_t most, Random& random) {
  const size_t middle = text.empty() ? 0 : random.below(text.size());
  const size_t before = text.rfind('\n', middle), begin = before == text.npos ? 0 : before + 1;
  const size_t end = std::min(text.find('\n', begin), text.size());
  const size_t rest = text.size() - (end - begin);
  if (rest > most) return text.substr(0, most);
  return text.substr(0, begin) + altered_json(text.substr(begin, end - begin), most - rest, random) + text.substr(end);
}

}  // namespace linformer_fuzz
