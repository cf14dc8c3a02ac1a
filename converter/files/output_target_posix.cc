#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "converter/files/output_target.h"
#include "converter/files/write_error.h"

namespace linformer::files {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // The limit of the Linux kernel.

[[noreturn]] void refuse(const std::string& path, const std::string& reason, int error = 0) {
  throw WriteError("cannot write " + path + ": " + reason, error);
}

fs::path folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

std::string resolved(const fs::path& folder) {
  char* text = ::realpath(folder.c_str(), nullptr);
  std::string path = text == nullptr ? "" : text;
  std::free(text);
  return path;
}

enum class DescriptorLink { none, own, foreign };

// Returns whether a symbolic link stands for an open descriptor, and whether that descriptor belongs to this process or
// to a foreign one. /dev/stdout, /dev/fd/1 and /proc/self/fd/1 lead to such links. The path that the link seems to
// point to must not be replaced. Sets `number` if the descriptor belongs to this process.
DescriptorLink descriptor_link(const fs::path& link, int* number) {
  const std::string folder = resolved(folder_of(link));
  if (!folder.starts_with("/proc/") || !folder.ends_with("/fd")) return DescriptorLink::none;
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/";
  const std::string name = link.filename().string();
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), *number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  return folder.starts_with(own) && is_number ? DescriptorLink::own : DescriptorLink::foreign;
}

std::string link_text(const fs::path& link, const std::string& path) {
  std::string text(PATH_MAX, '\0');
  const ssize_t length = ::readlink(link.c_str(), text.data(), text.size());
  if (length < 0) refuse(path, std::generic_category().message(errno), errno);
  text.resize(static_cast<size_t>(length));
  return text;
}

}  // namespace

OutputTarget output_target(const std::string& path) {
  if (path == "-") return {OutputTarget::Kind::descriptor, "standard output", STDOUT_FILENO};
  fs::path place = path;
  struct stat facts {};
  for (int links = 0;; ++links) {
    if (::lstat(place.c_str(), &facts) != 0) {
      if (errno != ENOENT) refuse(path, std::generic_category().message(errno), errno);
      break;
    }
    if (!S_ISLNK(facts.st_mode)) break;
    if (links == most_links) refuse(path, std::generic_category().message(ELOOP), ELOOP);
    int number = -1;
    const DescriptorLink kind = descriptor_link(place, &number);
    if (kind == DescriptorLink::own) return {OutputTarget::Kind::descriptor, path, number};
    if (kind == DescriptorLink::foreign) return {OutputTarget::Kind::stream, place.string(), -1};
    const fs::path next = link_text(place, path);
    place = next.is_absolute() ? next : folder_of(place) / next;
  }
  const std::string name = place.filename().string();
  if (name.empty() || name == "." || name == "..") refuse(path, "give a file's path");
  if (::stat(place.c_str(), &facts) != 0 || S_ISREG(facts.st_mode)) {
    return {OutputTarget::Kind::file, place.string(), -1};
  }
  if (S_ISCHR(facts.st_mode) || S_ISFIFO(facts.st_mode)) return {OutputTarget::Kind::stream, place.string(), -1};
  refuse(path, S_ISDIR(facts.st_mode)   ? "it is a folder: give a file in it"
               : S_ISBLK(facts.st_mode) ? "it is a block device: give a file"
                                        : "it exists and is not a regular file");
}

}  // namespace linformer::files
