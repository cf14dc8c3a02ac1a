#include "models/processors.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

namespace linformer::cli {
namespace {

// Returns `text` as a number, or nullopt if all of it is not one number.
std::optional<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// Returns how many processors a quota of `quota` microseconds in each `period` amounts to. Returns nullopt if there is
// no quota ("max" or -1) or a value is not a number.
std::optional<double> processors_of_quota(std::string_view quota, std::string_view period) {
  const std::optional<int64_t> used = number_of(quota), of = number_of(period);
  if (!used || !of || *used <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*of);
}

// Reads the quota of a group of cgroups version 2. The file cpu.max has it as "QUOTA PERIOD", such as "200000 100000".
std::optional<double> quota_v2(const std::string& folder) {
  const std::string line = first_line(folder + "/cpu.max");
  const size_t space = line.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return processors_of_quota(std::string_view(line).substr(0, space), std::string_view(line).substr(space + 1));
}

// Reads the quota of a group of cgroups version 1, which has a file for each of the two numbers.
std::optional<double> quota_v1(const std::string& folder) {
  return processors_of_quota(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us"));
}

// Returns the smallest quota of `group` and the groups above it. `group` is a path as in /proc/self/cgroup. In a
// container it may be a path of the host that doesn't exist below `mount`; the quota in the root of `mount` then
// counts.
template <class Quota>
std::optional<double> smallest(const std::string& mount, std::string group, Quota quota_of) {
  if (group.find("..") != std::string::npos) group.clear();  // The path leads out of the container's own groups.
  std::optional<double> least;
  for (;;) {
    while (group.ends_with('/')) group.pop_back();
    const std::optional<double> quota = quota_of(mount + group);
    if (quota) least = std::min(*quota, least.value_or(*quota));
    if (group.empty()) return least;
    group.resize(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

bool has_controller(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == name) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// Returns the quota of the group in a line of /proc/self/cgroup: "4:cpu,cpuacct:/user" or, in version 2, "0::/user".
std::optional<double> quota_of_line(const std::string& line, const std::string& groups) {
  const size_t first = line.find(':'), second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
  if (controllers.empty()) return smallest(groups, group, quota_v2);
  if (!has_controller(controllers, "cpu")) return std::nullopt;
  const std::optional<double> quota = smallest(groups + "/" + controllers, group, quota_v1);
  return quota ? quota : smallest(groups + "/cpu", group, quota_v1);
}

int processors_in_affinity_mask() {
#if defined(__linux__)
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(CPU_COUNT(&allowed), 1);
#endif
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

}  // namespace

int processors(const std::string& root) {
  double count = processors_in_affinity_mask();
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::optional<double> quota = quota_of_line(line, root + "/sys/fs/cgroup");
    if (quota) count = std::min(count, std::ceil(*quota));
  }
  return std::max(static_cast<int>(count), 1);
}

}  // namespace linformer::cli
