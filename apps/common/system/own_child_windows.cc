#include <windows.h>

#include <stdexcept>
#include <system_error>

#include "files/wide_path.h"
#include "system/own_child.h"
#include "system/process.h"
#include "system/windows_arguments.h"

namespace linformer::system {
namespace {

// An owner of a handle, which closes it in its destructor.
struct Handle {
  HANDLE value = nullptr;
  ~Handle() { close(); }
  void close() {
    if (value != nullptr) ::CloseHandle(value);
    value = nullptr;
  }
};

// Creates a job object. The processes that are assigned to it end when this process ends, even if it crashes.
HANDLE make_job() {
  const HANDLE job = ::CreateJobObjectW(nullptr, nullptr);
  if (job == nullptr) return nullptr;
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
  ::SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
  return job;
}

}  // namespace

ChildOutput output_of_own_child(const std::vector<std::string>& arguments) {
  const std::wstring program = files::wide(own_program_path());
  std::wstring line;
  append_quoted_argument(program, &line);
  for (const std::string& argument : arguments) append_quoted_argument(files::wide(argument), &line);
  Handle reader, writer, job{make_job()};
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  if (::CreatePipe(&reader.value, &writer.value, &inherited, 0) == 0 ||
      ::SetHandleInformation(reader.value, HANDLE_FLAG_INHERIT, 0) == 0) {
    throw std::runtime_error("the system could not create a pipe to a child process");
  }
  STARTUPINFOW setup{};
  setup.cb = sizeof setup;
  setup.dwFlags = STARTF_USESTDHANDLES;
  setup.hStdInput = ::GetStdHandle(STD_INPUT_HANDLE);
  setup.hStdOutput = writer.value;
  setup.hStdError = ::GetStdHandle(STD_ERROR_HANDLE);
  PROCESS_INFORMATION child{};
  if (::CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, TRUE, CREATE_SUSPENDED, nullptr, nullptr, &setup,
                       &child) == 0) {
    throw std::runtime_error("the system could not start this program as a child process: " +
                             std::system_category().message(static_cast<int>(::GetLastError())));
  }
  const Handle process{child.hProcess}, thread{child.hThread};
  if (job.value != nullptr) ::AssignProcessToJobObject(job.value, process.value);
  ::ResumeThread(thread.value);
  writer.close();  // With this end closed, reading ends when the child closes its copy.
  ChildOutput output;
  char buffer[4096];
  for (DWORD count = 0; ::ReadFile(reader.value, buffer, sizeof buffer, &count, nullptr) != 0 && count > 0;) {
    output.text.append(buffer, count);
  }
  ::WaitForSingleObject(process.value, INFINITE);
  return output;
}

// Does nothing, because the parent has assigned this process to a job that ends with the parent.
void end_with_parent() {}

}  // namespace linformer::system
