#include "input/bytes/gunzip.h"

#include <cstring>
#include <new>

#include "command_line/errors.h"

namespace linformer::cli {

Gunzip::Gunzip(std::string name, std::string_view start, Read read) : name_(std::move(name)), read_(std::move(read)) {
  constexpr int gzip_alone = 16;  // If this is added to the window's bits, zlib accepts only gzip data.
  if (::inflateInit2(&stream_, MAX_WBITS + gzip_alone) != Z_OK) throw std::bad_alloc();
  std::memcpy(input_.data(), start.data(), start.size());
  stream_.next_in = input_.data();
  stream_.avail_in = static_cast<uInt>(start.size());
}

Gunzip::~Gunzip() { ::inflateEnd(&stream_); }

bool Gunzip::refill() {
  stream_.next_in = input_.data();
  stream_.avail_in = static_cast<uInt>(read_(reinterpret_cast<char*>(input_.data()), input_.size()));
  return stream_.avail_in > 0;
}

// Begins the next member. Returns false at the end of the data. Zero bytes after a member are skipped, because files
// from tapes are padded with them.
bool Gunzip::begin_member() {
  for (;;) {
    if (stream_.avail_in == 0 && !refill()) return false;
    if (*stream_.next_in != 0 || !any_member_) break;
    padded_ = true;
    ++stream_.next_in;
    --stream_.avail_in;
  }
  if (padded_ || *stream_.next_in != 0x1F) {
    throw DataError(name_ + ": other bytes follow the gzip data; the file is damaged");
  }
  ::inflateReset(&stream_);
  return in_member_ = any_member_ = true;
}

size_t Gunzip::read(char* destination, size_t count) {
  stream_.next_out = reinterpret_cast<unsigned char*>(destination);
  stream_.avail_out = static_cast<uInt>(count);
  while (stream_.avail_out == count) {
    if (!damage_.empty()) throw DataError(damage_);
    if (!in_member_ && !begin_member()) return 0;
    if (stream_.avail_in == 0 && !refill()) {
      throw DataError(name_ + ": the gzip data is cut short; copy or compress it again");
    }
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code == Z_STREAM_END) in_member_ = false;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      damage_ = name_ + ": the gzip data is damaged (" + (stream_.msg ? stream_.msg : "unknown format") +
                "); copy or compress it again";
    }
  }
  return count - stream_.avail_out;
}

}  // namespace linformer::cli
