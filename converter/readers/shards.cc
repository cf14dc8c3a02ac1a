#include "converter/readers/shards.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unordered_map>

#include "converter/readers/error.h"
#include "converter/readers/found_file.h"

namespace linformer::convert {

namespace {

namespace fs = std::filesystem;

constexpr uintmax_t max_index_bytes = 16u << 20;
constexpr size_t max_shards = 1024;  // The largest public models have about 200.

struct Index {
  std::vector<std::string> shards;                        // File names, in the order of their first tensors.
  std::unordered_map<std::string_view, size_t> shard_of;  // Maps the name of a tensor to an index into `shards`.
};

// Throws Error unless the name is a plain file name, because shards must lie in the folder of the index. A symbolic
// link in that folder may lead to any place, as in the caches of model hubs.
void check_shard_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.size() > 255 || name.find('\0') != name.npos) {
    fail("the index names the file ", quote(name), ", which is not a file name");
  }
  if (name.find('/') != name.npos) fail("the index names the file ", quote(name), ", outside of its folder");
}

Index read_index(const std::string& path, ValueStore& store) {
  std::error_code error;
  if (fs::file_size(path, error) > max_index_bytes) fail("the index has more than ", max_index_bytes, " bytes");
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Value map = parse_json(store, text, "the index").find("weight_map");
  if (!map.is(ValueKind::dict)) {
    fail("this JSON file has no weight_map, so it is no index of shards: give the checkpoint, or its folder");
  }
  Index index;
  std::unordered_map<std::string_view, size_t> numbers;
  const std::vector<Value>& items = map.items();
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const std::string_view shard = items[i + 1].text();
    if (!items[i + 1].is(ValueKind::text)) {
      fail("the index has a ", items[i + 1].kind_name(), " for the tensor ", quote(items[i].text()), ", not a file");
    }
    const auto [place, added] = numbers.emplace(shard, index.shards.size());
    if (added) {
      check_shard_name(shard);
      if (index.shards.size() == max_shards) fail("the index names more than ", max_shards, " files");
      index.shards.emplace_back(shard);
    }
    index.shard_of.emplace(items[i].text(), place->second);
  }
  if (index.shards.empty()) fail("the index names no tensors");
  return index;
}

void check_tensors(const Checkpoint& shard, size_t number, const Index& index) {
  for (const Tensor& tensor : shard.tensors) {
    const auto found = index.shard_of.find(tensor.name);
    const std::string shown = "the tensor " + quote(tensor.name);
    if (found == index.shard_of.end()) {
      // The index need not name an alias, because it names the tensor that holds the values.
      if (tensor.alias_of.empty()) fail(shown, " is in ", quote(index.shards[number]), " but not in the index");
    } else if (found->second != number) {
      fail(shown, " is in ", quote(index.shards[number]), ", but the index puts it into ",
           quote(index.shards[found->second]), ": the files belong to different checkpoints");
    }
  }
}

Checkpoint read_shards(const std::string& path, const Control& control) {
  Checkpoint checkpoint;
  checkpoint.budget().limit_memory(control.max_memory);
  checkpoint.name = path;
  checkpoint.files = {path};
  const Index index = read_index(path, checkpoint.values());
  const fs::path folder = fs::path(path).parent_path();
  for (size_t i = 0; i < index.shards.size(); ++i) {
    const fs::path file = folder / index.shards[i];
    if (!finds_file(file)) {
      fail("the index names the file ", quote(index.shards[i]), ", which is not beside it: download or copy it too");
    }
    Checkpoint shard = Checkpoint::open_single(file.string(), control);
    check_tensors(shard, i, index);
    if (i == 0) checkpoint.format = shard.format + " in " + std::to_string(index.shards.size()) + " files";
    if (i == 0) checkpoint.state_dict_path = shard.state_dict_path;
    checkpoint.add_shard(std::move(shard));
  }
  std::unordered_map<std::string_view, bool> there;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!there.emplace(tensor.name, true).second) fail("the tensor ", quote(tensor.name), " lies in two files");
  }
  for (const auto& [tensor, number] : index.shard_of) {
    if (there.contains(tensor)) continue;
    fail("the index puts the tensor ", quote(tensor), " into ", quote(index.shards[number]), ", where it is not");
  }
  return checkpoint;
}

}  // namespace

bool is_shard_index(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;  // Opening a FIFO could block for ever.
  std::array<char, 9> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  const size_t first = std::string_view(start.data(), static_cast<size_t>(file.gcount())).find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || start[first] != '{') return false;
  // A safetensors file may begin with '{' if the length of its header happens to contain that byte.
  uint64_t header = 0;
  std::memcpy(&header, start.data(), sizeof header);
  return start[8] != '{' || header > fs::file_size(path, error);
}

void refuse_single_shard(const std::string& path) {
  // The name of a shard has the form STEM-00001-of-00003.safetensors or STEM-00001-of-00003.bin.
  constexpr std::string_view digits = "0123456789", of = "-of-";
  constexpr size_t count = 5, tail = 1 + count + of.size() + count;
  const fs::path file = path;
  const std::string stem = file.stem().string(), ending = file.extension().string();
  if ((ending != ".safetensors" && ending != ".bin") || stem.size() <= tail || stem.size() > 255) return;
  const std::string_view number = std::string_view(stem).substr(stem.size() - tail);
  const std::string_view total = number.substr(number.size() - count);
  if (number[0] != '-' || number.substr(1 + count, of.size()) != of) return;
  if ((std::string(number.substr(1, count)) += total).find_first_not_of(digits) != std::string::npos) return;
  const int files = std::stoi(std::string(total));
  if (files < 2) return;
  const std::string index = stem.substr(0, stem.size() - tail) + ending + ".index.json";
  std::error_code error;
  if (fs::exists(file.parent_path() / index, error)) {
    fail(path, " is one of ", files, " files: give the folder, or its index ", index);
  }
  fail(path, " is one of ", files, " files, and their index ", index,
       " is not beside it: copy or download it too, and give the folder");
}

Checkpoint open_shards(const std::string& path, const Control& control) {
  try {
    return read_shards(path, control);
  } catch (const Error& error) {
    const std::string sentence = error.what();
    throw Error(sentence.starts_with(path) ? sentence : path + ": " + sentence);
  }
}

}  // namespace linformer::convert
