#include "bench/child.h"

#include <spawn.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "input_files/lost_file.h"

extern char** environ;

namespace linformer::bench {

Measurement measure_in_child(const Case& what) {
  // The path isn't part of the JSON: it may be no UTF-8.
  std::string name = "linformer", command = "bench", option = "--case", json = nlohmann::json(what).dump(),
              path = what.model;
  char* arguments[] = {name.data(), command.data(), option.data(), json.data(), path.data(), nullptr};
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("the system refused a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  // Without /proc the child is started by the path by which this program itself was started.
  const char* programs[] = {"/proc/self/exe", reinterpret_cast<const char*>(getauxval(AT_EXECFN))};
  int failed = -1;
  for (const char* program : programs) {
    if (failed != 0 && program != nullptr) {
      failed = posix_spawn(&child, program, &actions, nullptr, arguments, environ);
    }
  }
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string answer;
  char buffer[4096];
  for (ssize_t count = 0; failed == 0 && (count = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) answer.append(buffer, static_cast<size_t>(count));
  }
  close(ends[0]);
  if (failed != 0) throw std::runtime_error("the system refused a process");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const nlohmann::json parsed = nlohmann::json::parse(answer, nullptr, false);
  if (parsed.is_object() && parsed.contains("error")) throw std::runtime_error(parsed["error"].get<std::string>());
  if (!parsed.is_object()) {
    throw std::runtime_error(WIFSIGNALED(status)
                                 ? "the measuring process was ended by signal " + std::to_string(WTERMSIG(status))
                                 : "the measuring process gave no answer");
  }
  return parsed.at("measurement").get<Measurement>();
}

namespace {

std::string text_of(const nlohmann::json& answer) {
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// The parent process reads this message as the answer of the case and reports it as the case's error.
files::FinalMessage final_message(const std::string& sentence) { return {text_of({{"error", sentence}}), ""}; }

}  // namespace

int run_case(const std::string& json, const std::string& model, const DescribeProfile& describe_profile) {
  // Whoever ends the command ends this process too.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  files::set_final_message(final_message);
  nlohmann::json answer;
  try {
    Case what = nlohmann::json::parse(json).get<Case>();
    what.model = model;
    answer["measurement"] = measure(what, describe_profile);
  } catch (const std::exception& error) {
    answer = {{"error", error.what()}};
  }
  std::fputs(text_of(answer).c_str(), stdout);
  return answer.contains("error") ? 1 : 0;
}

}  // namespace linformer::bench
