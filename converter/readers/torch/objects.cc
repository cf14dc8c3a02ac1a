#include "converter/readers/torch/objects.h"

#include <algorithm>
#include <unordered_map>

#include "base/checked.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

constexpr uint64_t max_storage_elements = uint64_t{1} << 48;

std::optional<DataType> storage_type(std::string_view global) {
  for (const std::string_view module : {"torch.cuda.", "torch.storage.", "torch."}) {
    if (global.starts_with(module)) {
      global.remove_prefix(module.size());
      break;
    }
  }
  static constexpr std::pair<std::string_view, DataType> types[] = {
      {"FloatStorage", DataType::f32},   {"HalfStorage", DataType::f16}, {"BFloat16Storage", DataType::bf16},
      {"DoubleStorage", DataType::f64},  {"LongStorage", DataType::i64}, {"IntStorage", DataType::i32},
      {"ShortStorage", DataType::i16},   {"CharStorage", DataType::i8},  {"ByteStorage", DataType::u8},
      {"BoolStorage", DataType::boolean}};
  for (const auto& [name, type] : types) {
    if (name == global) return type;
  }
  return std::nullopt;
}

uint64_t size_of(Value value, const char* what) {
  const std::optional<int64_t> number = value.is(ValueKind::integer) ? value.integer() : std::nullopt;
  if (!number || *number < 0) fail(what, " is not a whole number of at least 0");
  return static_cast<uint64_t>(*number);
}

std::vector<uint64_t> sizes_of(Value value, const char* what) {
  if (!value.is(ValueKind::tuple) && !value.is(ValueKind::list))
    fail(what, " is a ", value.kind_name(), ", not a tuple");
  if (value.items().size() > max_checkpoint_rank) fail(what, " has more than ", max_checkpoint_rank, " entries");
  std::vector<uint64_t> sizes;
  for (const Value& item : value.items()) sizes.push_back(size_of(item, what));
  return sizes;
}

bool has_tensors(Value dict) {
  const std::vector<Value>& items = dict.items();
  for (size_t i = 1; i < items.size(); i += 2) {
    if (items[i].is(ValueKind::tensor)) return true;
  }
  return false;
}

// Searches a pickled object for the dict of tensors. The dict is stored under one of the names that training loops use,
// or it is the object itself.
class StateDictSearch {
 public:
  explicit StateDictSearch(Budget& budget) : budget_(budget) {}

  Value find(Value value, int depth, std::string* path) {
    constexpr int deepest = 3;
    if (!value.is(ValueKind::dict)) return Value();
    const auto [searched, added] = searched_.emplace(value.node(), depth);
    if (!added && searched->second <= depth) return Value();
    searched->second = depth;
    budget_.charge_steps(value.items().size());
    for (const char* key : {"model", "state_dict", "model_state_dict", "model_state", "module"}) {
      if (depth == deepest) break;
      std::string inner_path = path->empty() ? key : *path + "." + key;
      if (const Value found = find(value.find(key), depth + 1, &inner_path)) {
        *path = inner_path;
        return found;
      }
    }
    return has_tensors(value) ? value : Value();
  }

 private:
  Budget& budget_;
  // The depth at which each dict was searched. A dict that contains itself, or that has several names, is searched
  // again only if it is found at a smaller depth.
  std::unordered_map<const Node*, int> searched_;
};

[[noreturn]] void no_state_dict(Value root) {
  if (root.is(ValueKind::object)) {
    fail("the file holds a whole pickled object of class ", quote(root.text()),
         ", which only its own Python code can read: in Python, save it as torch.save(model.state_dict(), PATH)");
  }
  std::string keys;
  for (size_t i = 0; root.is(ValueKind::dict) && i < std::min<size_t>(root.items().size(), 16); i += 2) {
    keys += (keys.empty() ? "" : ", ") + quote(root.items()[i].text());
  }
  fail("no tensors were found: the file holds a ", root.kind_name(), keys.empty() ? "" : " with " + keys,
       ", and the weights are looked for at its top and under model, state_dict, model_state_dict, model_state and "
       "module");
}

}  // namespace

Value TorchObjects::run(std::span<const std::byte> pickle, uint64_t* consumed) {
  PickleHooks hooks;
  hooks.persistent = [this](Value id) { return storage_of_persistent_id(id); };
  hooks.construct = [this](std::string_view name, Value arguments) { return construct(name, arguments); };
  PickleMachine machine(checkpoint_.values(), pickle, std::move(hooks));
  const Value value = machine.run();
  *consumed = machine.consumed();
  for (const std::string& global : machine.opaque_globals()) checkpoint_.opaque_globals.push_back(global);
  return value;
}

TorchObjects::StorageRecord* TorchObjects::find_storage(std::string_view key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &storages_[found->second];
}

// The persistent id of a storage is a tuple: ('storage', class, key, location, elements[, view]).
Value TorchObjects::storage_of_persistent_id(Value id) {
  const std::vector<Value>& parts = id.items();
  if (!id.is(ValueKind::tuple) || parts.size() < 5 || parts.size() > 6 || parts[0].text() != "storage") {
    fail("a persistent id does not name a storage");
  }
  const std::optional<DataType> type = storage_type(parts[1].text());
  if (!type) {
    fail("a storage has the class ", quote(parts[1].text()), ", which is not supported: save f32, f16 or bf16 weights");
  }
  const std::string_view key = parts[2].text();
  if (!parts[2].is(ValueKind::text) || key.empty() || key.size() > 64)
    fail("a storage has a key that is empty, too long or not a text");
  const uint64_t elements = size_of(parts[4], "a storage's number of elements");
  if (elements > max_storage_elements) fail("storage ", quote(key), " claims ", elements, " elements");

  StorageRecord* known = find_storage(key);
  if (known == nullptr) {
    by_key_.emplace(key, static_cast<uint32_t>(storages_.size()));
    checkpoint_.budget().charge_memory(sizeof(StorageRecord) + sizeof(Storage) + key.size());
    known = &storages_.emplace_back(StorageRecord{std::string(key), *type, elements, {}, std::nullopt});
  } else if (known->type != *type || known->elements != elements) {
    fail("storage ", quote(key), " is described with different types or sizes");
  }
  StorageView view{static_cast<uint32_t>(known - storages_.data()), 0, elements};
  if (parts.size() == 6 && !parts[5].is(ValueKind::null)) {
    const std::vector<Value>& metadata = parts[5].items();  // A tuple: (key, first element, elements).
    if (metadata.size() != 3) fail("storage ", quote(key), " has a damaged view");
    view.first = size_of(metadata[1], "a storage view's offset");
    view.elements = size_of(metadata[2], "a storage view's size");
    if (!range_within(view.first, view.elements, elements)) fail("storage ", quote(key), " has a view outside itself");
  }
  const Value value = checkpoint_.values().make(ValueKind::storage);
  value.node()->integer = static_cast<int64_t>(views_.size());
  checkpoint_.budget().charge_memory(sizeof view);
  views_.push_back(view);
  return value;
}

Value TorchObjects::construct(std::string_view name, Value arguments) {
  const std::vector<Value>& given = arguments.items();
  if (name == "torch._utils._rebuild_tensor_v2") return rebuild_tensor(arguments, 6, 7);
  if (name == "torch._utils._rebuild_tensor") return rebuild_tensor(arguments, 4, 4);
  if (name == "torch._utils._rebuild_parameter" || name == "torch._utils._rebuild_parameter_with_state") {
    if (given.empty() || !given[0].is(ValueKind::tensor))
      fail("a parameter is rebuilt from something that is not a tensor");
    return given[0];
  }
  if (name == "torch._tensor._rebuild_from_type_v2") {  // The arguments are (function, class, its arguments, state).
    if (given.size() != 4 || !given[0].is(ValueKind::global) || !given[2].is(ValueKind::tuple)) {
      fail("a tensor of a subclass is rebuilt from the wrong arguments");
    }
    if (given[0].text() == name) fail("a tensor of a subclass is rebuilt from itself");
    return construct(given[0].text(), given[2]);
  }
  return Value();
}

// The arguments are (storage, offset, size, stride, ...).
Value TorchObjects::rebuild_tensor(Value arguments, size_t min_arguments, size_t max_arguments) {
  const std::vector<Value>& given = arguments.items();
  if (given.size() < min_arguments || given.size() > max_arguments || !given[0].is(ValueKind::storage)) {
    fail("a tensor is rebuilt from the wrong arguments: the file is damaged");
  }
  const RebuiltTensor tensor{static_cast<uint32_t>(given[0].node()->integer), size_of(given[1], "a tensor's offset"),
                             given[2], given[3]};
  if (sizes_of(tensor.shape, "a tensor's shape").size() != sizes_of(tensor.strides, "a tensor's strides").size()) {
    fail(
        "a tensor has a number of strides that differs from its number of dimensions: the file is damaged, copy or "
        "save it again");
  }
  checkpoint_.budget().charge_memory(sizeof tensor);
  const Value value = checkpoint_.values().make(ValueKind::tensor);
  value.node()->integer = static_cast<int64_t>(tensors_.size());
  tensors_.push_back(tensor);
  return value;
}

void TorchObjects::find_and_add_state_dict(Value root) {
  checkpoint_.root = root;
  const Value dict = StateDictSearch(checkpoint_.budget()).find(root, 0, &checkpoint_.state_dict_path);
  if (!dict) no_state_dict(root);
  for (const StorageRecord& record : storages_) {
    checkpoint_.storages().push_back({"storage " + quote(record.key), record.type, record.bytes, record.crc32});
  }
  add_state_dict(dict);
}

void TorchObjects::add_state_dict(Value dict) {
  const std::vector<Value>& items = dict.items();
  ViewSet names;
  for (size_t i = 0; i < items.size(); i += 2) {
    const Value key = items[i], value = items[i + 1];
    if (!key.is(ValueKind::text)) fail("the state dict has a key that is a ", key.kind_name(), ", not a text");
    if (!names.insert(key.text()).second) fail("the state dict has ", quote(key.text()), " twice");
    if (value.is(ValueKind::object) &&
        (value.text().starts_with("torch.") || value.text().find("_rebuild") != value.text().npos)) {
      fail("tensor ", quote(key.text()), " is made by ", quote(value.text()),
           ", which is not supported: save it as an ordinary dense tensor");
    }
    if (!value.is(ValueKind::tensor)) {
      checkpoint_.not_tensors.push_back(quote(key.text()) + " (" + value.kind_name() + ")");
      continue;
    }
    checkpoint_.add_tensor(tensor_of(tensors_.at(static_cast<size_t>(value.node()->integer)), key.text()));
  }
}

Tensor TorchObjects::tensor_of(const RebuiltTensor& rebuilt, std::string_view name) const {
  Tensor tensor;
  tensor.name = name;
  tensor.shape = sizes_of(rebuilt.shape, "a tensor's shape");
  tensor.strides = sizes_of(rebuilt.strides, "a tensor's strides");
  // Shape and strides may be lists to which the pickle has added items after rebuild_tensor() compared their lengths.
  if (tensor.shape.size() != tensor.strides.size()) {
    fail("tensor ", quote(name),
         " has a number of strides that differs from its number of dimensions: the file is damaged, copy or save it "
         "again");
  }
  const StorageView& view = views_.at(rebuilt.view);
  tensor.storage = view.storage;
  tensor.offset = rebuilt.offset;
  if (view.elements == storages_[view.storage].elements) return tensor;
  // The tensor must stay inside its view. add_tensor() checks in addition that it stays inside the whole storage.
  uint64_t last = tensor.offset;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    uint64_t step = 0;
    if (tensor.shape[d] > 0 &&
        (!checked_mul(tensor.shape[d] - 1, tensor.strides[d], &step) || !checked_add(last, step, &last))) {
      last = view.elements;
    }
  }
  if (last >= view.elements) fail("tensor ", quote(tensor.name), " reaches outside its view of a storage");
  tensor.offset += view.first;
  return tensor;
}

}  // namespace linformer::convert
