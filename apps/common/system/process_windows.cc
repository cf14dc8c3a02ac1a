#include <fcntl.h>
#include <io.h>
#include <windows.h>
//
#include <shellapi.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "files/wide_path.h"
#include "system/descriptors.h"
#include "system/process.h"
#include "system/windows_arguments.h"

namespace linformer::system {
namespace {

void show_escapes(int descriptor) {
  const HANDLE handle = reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor));
  DWORD mode = 0;
  if (::GetConsoleMode(handle, &mode) != 0) ::SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

bool start(const wchar_t* program, std::wstring line, PROCESS_INFORMATION* child) {
  STARTUPINFOW setup{};
  setup.cb = sizeof setup;
  return ::CreateProcessW(program, line.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &setup, child) != 0;
}

}  // namespace

void append_quoted_argument(const std::wstring& argument, std::wstring* line) {
  if (!line->empty()) *line += L' ';
  *line += L'"';
  size_t backslashes = 0;
  for (const wchar_t unit : argument) {
    // A backslash is an escape only in front of a quote, so the backslashes before a quote are doubled.
    if (unit == L'"') line->append(backslashes + 1, L'\\');
    backslashes = unit == L'\\' ? backslashes + 1 : 0;
    *line += unit;
  }
  line->append(backslashes, L'\\');
  *line += L'"';
}

std::string own_program_path() {
  std::wstring path(size_t{1} << 15, L'\0');
  const DWORD length = ::GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size()));
  path.resize(length < path.size() ? length : 0);
  return files::narrow(path);
}

void prepare_process(int* argument_count, char*** arguments) {
  for (const int descriptor : {standard_input, standard_output, standard_error}) ::_setmode(descriptor, _O_BINARY);
  ::SetConsoleOutputCP(CP_UTF8);
  show_escapes(standard_output);
  show_escapes(standard_error);
  int count = 0;
  wchar_t** const given = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  if (given == nullptr) return;  // main() keeps the C library's arguments.
  static std::vector<std::string> texts;
  static std::vector<char*> pointers;
  for (int i = 0; i < count; ++i) texts.push_back(files::narrow(given[i]));
  ::LocalFree(given);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  *argument_count = count;
  *arguments = pointers.data();
}

// Does nothing, because the C library reserves the standard descriptors in each process.
void open_missing_standard_streams() {}

// These two functions do nothing, because Windows has no SIGPIPE and no SIGXFSZ.
void ignore_closed_pipes() {}
void ignore_file_size_signal() {}

std::string become_program(char** arguments) {
  std::wstring line;
  for (char** argument = arguments; *argument != nullptr; ++argument)
    append_quoted_argument(files::wide(*argument), &line);
  const std::wstring name = files::wide(arguments[0]) + L".exe", own = files::wide(own_program_path());
  const std::wstring folder = own.substr(0, own.find_last_of(L"\\/") + 1);
  wchar_t found[1 << 12];
  PROCESS_INFORMATION child{};
  bool started = !folder.empty() && start((folder + name).c_str(), line, &child);
  // Only the PATH is searched. By default Windows also searches the current folder, which may hold a malicious program.
  wchar_t path[1 << 15];
  const DWORD length = ::GetEnvironmentVariableW(L"PATH", path, std::size(path));
  if (!started && length > 0 && length < std::size(path)) {
    const DWORD units = ::SearchPathW(path, name.c_str(), nullptr, std::size(found), found, nullptr);
    started = units > 0 && units < std::size(found) && start(found, line, &child);
  }
  if (!started) {
    files::set_errno_from_last_error();
    return std::strerror(errno);
  }
  ::CloseHandle(child.hThread);
  ::WaitForSingleObject(child.hProcess, INFINITE);
  DWORD code = 1;
  ::GetExitCodeProcess(child.hProcess, &code);
  ::ExitProcess(code);
}

}  // namespace linformer::system
