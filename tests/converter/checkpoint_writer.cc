#include "converter/checkpoint_writer.h"

#include <algorithm>

#include "converter/pickle_writer.h"
#include "converter/readers/crc32.h"
#include "converter/writer/narrow.h"

namespace linformer_test {

namespace {

using linformer::convert::data_type_bytes;

const char* storage_class(DataType type) {
  switch (type) {
    case DataType::f64:
      return "DoubleStorage";
    case DataType::f16:
      return "HalfStorage";
    case DataType::bf16:
      return "BFloat16Storage";
    case DataType::i64:
      return "LongStorage";
    default:
      return "FloatStorage";
  }
}

void write_settings(const HandSettings& settings, PickleWriter* pickle) {
  pickle->global("argparse", "Namespace").op(')').op('\x81').empty_dict();
  for (const auto& [name, value] : settings) {
    pickle->text(name);
    if (const auto* number = std::get_if<int64_t>(&value)) pickle->integer(*number);
    if (const auto* truth = std::get_if<bool>(&value)) pickle->boolean(*truth);
    if (const auto* text = std::get_if<std::string>(&value)) pickle->text(*text);
    pickle->set_item();
  }
  pickle->op('b');
}

std::vector<int64_t> contiguous(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
  return strides;
}

std::string object_pickle(const std::vector<HandTensor>& tensors, const HandSettings& settings, bool legacy, bool cfg) {
  PickleWriter pickle;
  pickle.empty_dict().text(cfg ? "cfg" : "args");
  if (cfg) pickle.empty_dict().text("model");
  write_settings(settings, &pickle);
  if (cfg) pickle.set_item();
  pickle.set_item().text("model").empty_dict();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const HandTensor& tensor = tensors[i];
    pickle.text(tensor.name).begin_tensor();
    pickle.storage(storage_class(tensor.type), std::to_string(i), static_cast<int64_t>(tensor.values.size()), legacy);
    pickle.end_tensor(0, tensor.shape, contiguous(tensor.shape)).set_item();
  }
  return pickle.set_item().stop();
}

std::string archive_of(const std::string& pickle, const std::vector<HandTensor>& tensors) {
  std::vector<HandZipEntry> entries{{"archive/data.pkl", pickle}};
  for (size_t i = 0; i < tensors.size(); ++i) {
    entries.push_back({"archive/data/" + std::to_string(i), tensor_bytes(tensors[i])});
  }
  entries.push_back({"archive/version", "3\n"});
  return zip_archive(entries);
}

std::string quote(const std::string& text) { return std::string("\"").append(text).append("\""); }

}  // namespace

std::string tensor_bytes(const HandTensor& tensor) {
  std::string bytes;
  for (const double value : tensor.values) {
    const float narrow = static_cast<float>(value);
    switch (tensor.type) {
      case DataType::f64:
        bytes += raw(value);
        break;
      case DataType::f16:
        bytes += raw(linformer::writer::to_f16(narrow));
        break;
      case DataType::bf16:
        bytes += raw(linformer::writer::to_bf16(narrow));
        break;
      case DataType::i64:
        bytes += raw(static_cast<int64_t>(value));
        break;
      default:
        bytes += raw(narrow);
        break;
    }
  }
  return bytes;
}

std::string zip_archive(const std::vector<HandZipEntry>& entries) {
  std::string file, directory;
  for (const HandZipEntry& entry : entries) {
    // The fields are: version needed, flags, method, time, date, checksum, sizes, length of the name, length of the
    // extra field.
    std::string facts = raw(uint16_t{20}) + raw(uint16_t{0}) + raw(uint16_t{0}) + raw(uint32_t{0}) +
                        raw(linformer::convert::crc32(as_bytes(entry.bytes)));
    for (int i = 0; i < 2; ++i) facts += raw(static_cast<uint32_t>(entry.bytes.size()));
    facts += raw(static_cast<uint16_t>(entry.name.size())) + raw(uint16_t{0});
    directory += "PK\x01\x02" + raw(uint16_t{20}) + facts + std::string(10, '\0') +
                 raw(static_cast<uint32_t>(file.size())) + entry.name;
    file += "PK\x03\x04" + facts + entry.name + entry.bytes;
  }
  const auto count = static_cast<uint16_t>(entries.size());
  return file + directory + "PK\x05\x06" + raw(uint32_t{0}) + raw(count) + raw(count) +
         raw(static_cast<uint32_t>(directory.size())) + raw(static_cast<uint32_t>(file.size())) + raw(uint16_t{0});
}

std::string torch_zip(const std::vector<HandTensor>& tensors, const HandSettings& settings) {
  return archive_of(object_pickle(tensors, settings, false, false), tensors);
}

std::string torch_zip_with_cfg(const std::vector<HandTensor>& tensors, const HandSettings& settings) {
  return archive_of(object_pickle(tensors, settings, false, true), tensors);
}

std::string torch_legacy(const std::vector<HandTensor>& tensors, const HandSettings& settings) {
  std::string file = PickleWriter().append("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19").stop();
  file += PickleWriter().integer(1001).stop();
  file += PickleWriter().empty_dict().text("little_endian").boolean(true).set_item().stop();
  file += object_pickle(tensors, settings, true, false);
  PickleWriter keys;
  keys.op(']').mark();
  for (size_t i = 0; i < tensors.size(); ++i) keys.text(std::to_string(i));
  file += keys.op('e').stop();
  for (const HandTensor& tensor : tensors)
    file += raw(static_cast<int64_t>(tensor.values.size())) + tensor_bytes(tensor);
  return file;
}

std::string safetensors_file(const std::string& header, const std::string& data) {
  return raw(static_cast<uint64_t>(header.size())) + header + data;
}

std::string safetensors(const std::vector<HandTensor>& tensors, const std::map<std::string, std::string>& metadata) {
  std::string header, data;
  for (const auto& [key, value] : metadata) {
    header.append(header.empty() ? "{\"__metadata__\":{" : ",").append(quote(key)).append(":").append(quote(value));
  }
  header.append(metadata.empty() ? "{" : "}");
  for (const HandTensor& tensor : tensors) {
    const std::string bytes = tensor_bytes(tensor);
    std::string shape;
    for (const int64_t size : tensor.shape) shape.append(shape.empty() ? "" : ",").append(std::to_string(size));
    std::string type = linformer::convert::data_type_name(tensor.type);
    std::transform(type.begin(), type.end(), type.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
    if (header.size() > 1) header.append(",");
    header.append(quote(tensor.name)).append(":{\"dtype\":").append(quote(type)).append(",\"shape\":[").append(shape);
    header.append("],\"data_offsets\":[").append(std::to_string(data.size())).append(",");
    header.append(std::to_string(data.size() + bytes.size())).append("]}");
    data += bytes;
  }
  return safetensors_file(header.append("}"), data);
}

}  // namespace linformer_test
