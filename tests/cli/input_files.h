// Makes gzip files and beginnings of zip archives in memory.
#pragma once

#include <zlib.h>

#include <string>
#include <vector>

namespace linformer_test {

// Returns `content` as one gzip member.
inline std::string gzipped(const std::string& content, int level = 6) {
  z_stream stream{};
  constexpr int with_gzip_header = MAX_WBITS + 16;
  if (::deflateInit2(&stream, level, Z_DEFLATED, with_gzip_header, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string result(::deflateBound(&stream, static_cast<uLong>(content.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  ::deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  ::deflateEnd(&stream);
  return result;
}

// Returns the beginning of a zip archive: the headers of empty, stored entries with these names.
inline std::string zip_headers(const std::vector<std::string>& names) {
  std::string archive;
  for (const std::string& name : names) {
    archive += std::string("PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 26);
    archive += static_cast<char>(name.size());
    archive += std::string(3, '\0') + name;
  }
  return archive;
}

}  // namespace linformer_test
