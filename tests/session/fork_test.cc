// Tests fork() in a process that has sessions. The child has none of the sessions' threads.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include "support/random_model.h"
#include "support/skip.h"

namespace linformer_test::fork_test {
namespace {

using namespace linformer;

using Values = std::vector<float>;

constexpr int threads = 4;
constexpr unsigned patience = 120;  // Seconds after which SIGALRM ends a child that hangs.

struct Work {
  Work() {
    RandomModel shape;
    shape.n = 96;
    model = linformer_test::random_model(shape);
    for (uint64_t t = 0; t < 3; ++t) ids.push_back(linformer_test::random_ids(t, 96, shape.vocabulary));
    texts.assign(ids.begin(), ids.end());
  }
  std::optional<Session> session(BackendKind backend) const {
    SessionOptions options;
    options.memory.max_batch = 3;
    options.cpu.threads = threads;
    options.cpu.backend = backend;
    Result<Session> created = Session::create(model, options);
    if (!created.ok()) return std::nullopt;
    return std::move(*created);
  }
  // Returns the hidden states, or no values if the run fails.
  Values run(Session& session) const {
    Output hidden = Output::hidden({});
    Values values(static_cast<size_t>(session.shape(hidden, texts)->floats()));
    hidden.values = values;
    if (!session.run(texts, hidden).ok()) values.clear();
    return values;
  }

  std::shared_ptr<const Model> model;
  std::vector<std::vector<int32_t>> ids;
  std::vector<Tokens> texts;
};

// Calls `part` in a forked child and returns its result, or 128 plus the signal that ended the child. The child runs no
// exit handlers.
template <class Part>
int in_child(const Part& part) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(patience);
    ::_exit(part());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Returns whether a forked child may call malloc(). With glibc it may. With GCC 12's address sanitizer, the child can
// wait forever for a lock of the allocator that another thread of the parent held during the fork. Threads take these
// locks while they start, and the threads of a new session may still be starting.
bool malloc_works_in_a_child() {
#if defined(__SANITIZE_ADDRESS__)
  linformer_test::skip("the address sanitizer's allocator can't be used after fork() in a process with threads");
  return false;
#else
  return true;
#endif
}

bool same(const Values& a, const Values& b) {
  return a.size() == b.size() && !a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("a child can create sessions, and run and free inherited ones") {
  if (!malloc_works_in_a_child()) return;
  const Work work;
  int backends = 0;
  for (const BackendKind backend : {BackendKind::native, BackendKind::onednn, BackendKind::openblas}) {
    CAPTURE(static_cast<int>(backend));
    std::optional<Session> session = work.session(backend);
    if (!session) continue;  // This build lacks the backend.
    ++backends;
    const Values right = work.run(*session);
    REQUIRE(!right.empty());
    CHECK(in_child([&] {
            std::optional<Session> own = work.session(backend);
            if (!own) return 1;
            return same(work.run(*own), right) ? 0 : 2;
          }) == 0);
    CHECK(in_child([&] {
            if (!same(work.run(*session), right)) return 1;
            if (!same(work.run(*session), right)) return 2;
            session.reset();  // This must not wait for threads, which the child lacks.
            std::optional<Session> own = work.session(backend);
            return own && same(work.run(*own), right) ? 0 : 3;
          }) == 0);
    // A child of a child can do the same.
    CHECK(in_child([&] {
            std::optional<Session> own = work.session(backend);
            if (!own || !same(work.run(*own), right)) return 1;
            return in_child([&] { return same(work.run(*own), right) && same(work.run(*session), right) ? 0 : 2; });
          }) == 0);
    CHECK(same(work.run(*session), right));  // The session of the parent still works.
  }
  CHECK(backends >= 1);
}

TEST_CASE("after a fork() during another thread's run, the child can create a session and run an inherited one") {
  if (!malloc_works_in_a_child()) return;
  const Work work;
  std::optional<Session> session = work.session(BackendKind::native), other = work.session(BackendKind::native);
  REQUIRE(session);
  const Values right = work.run(*session);
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::thread runner([&] {
    while (!stop) wrong += same(work.run(*session), right) ? 0 : 1;
  });
  for (int i = 0; i < 10; ++i) {
    CHECK(in_child([&] {
            std::optional<Session> own = work.session(BackendKind::native);
            if (!own || !same(work.run(*own), right)) return 1;
            return same(work.run(*other), right) ? 0 : 2;
          }) == 0);
  }
  stop = true;
  runner.join();
  CHECK(wrong == 0);
}

}  // namespace linformer_test::fork_test
