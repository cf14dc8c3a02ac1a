// Tests the CPU quota of control groups, with files in temporary folders.
#include "models/processors.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "sentiment_model.h"

namespace linformer_test::processors_test {

using linformer::cli::processors;

namespace {

// A root folder that contains /proc/self/cgroup and the files that are added.
class Root : public Folder {
 public:
  explicit Root(const std::string& groups) { add("proc/self/cgroup", groups); }
  void add(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    file(name, content);
  }
  int count() const { return processors(path("")); }
};

const int all = processors("/there/is/no/such/folder");  // the number that the affinity gives

}  // namespace

TEST_CASE("processors: without a control group, the affinity gives the number") {
  CHECK(all >= 1);
  CHECK(Root("").count() == all);
  CHECK(processors() >= 1);
  CHECK(processors() <= all);
}

TEST_CASE("processors: quotas of version 2 limit the number") {
  const Root root("0::/user/session\n");
  CHECK(root.count() == all);
  root.add("sys/fs/cgroup/user/session/cpu.max", "max 100000\n");
  CHECK(root.count() == all);
  root.add("sys/fs/cgroup/user/session/cpu.max", "100000000 100000\n");  // a thousand processors
  CHECK(root.count() == std::min(all, 1000));
  root.add("sys/fs/cgroup/user/cpu.max", "50000 100000\n");  // the parent group has half a processor
  CHECK(root.count() == 1);
  root.add("sys/fs/cgroup/user/cpu.max", "150000 100000\n");
  CHECK(root.count() == std::min(all, 2));
  root.add("sys/fs/cgroup/cpu.max", "1000 100000\n");  // the root group, which is a container's own group
  CHECK(root.count() == 1);
}

TEST_CASE("processors: if the container can't see its group, the quota of the root folder counts") {
  for (const char* group : {"0::/docker/0123\n", "0::/../outside\n", "0::/\n"}) {
    const Root root(group);
    root.add("sys/fs/cgroup/cpu.max", "80000 100000\n");
    CHECK(root.count() == 1);
  }
}

TEST_CASE("processors: quotas of version 1 limit the number") {
  for (const char* folder : {"cpu,cpuacct", "cpu"}) {
    const Root root("9:memory:/a\n4:cpu,cpuacct:/a\n0::/\n");
    const std::string group = std::string("sys/fs/cgroup/") + folder + "/a/";
    root.add(group + "cpu.cfs_period_us", "100000\n");
    root.add(group + "cpu.cfs_quota_us", "-1\n");
    CHECK(root.count() == all);
    root.add(group + "cpu.cfs_quota_us", "70000\n");
    CHECK(root.count() == 1);
    root.add(group + "cpu.cfs_quota_us", "110000\n");
    CHECK(root.count() == std::min(all, 2));
  }
  const Root other("4:cpuset:/a\n");  // a group without a CPU controller has no quota
  other.add("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  other.add("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "1000\n");
  CHECK(other.count() == all);
}

TEST_CASE("processors: malformed files are ignored") {
  for (const char* content : {"", "\n", "50000", "50000 ", " 100000", "50000 0", "-50000 100000", "50000 -1",
                              "0 100000", "5e4 100000", "half one", "50000 100000 7", "99999999999999999999 1"}) {
    CAPTURE(content);
    const Root root("0::/\n");
    root.add("sys/fs/cgroup/cpu.max", content);
    CHECK(root.count() == all);
  }
  for (const char* groups : {"no colon\n", "0:\n", "::\n", ":\n\n0::"}) {
    CAPTURE(groups);
    CHECK(Root(groups).count() == all);
  }
}

}  // namespace linformer_test::processors_test
