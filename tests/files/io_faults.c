/* This library is preloaded into a program. It counts the program's calls that write, sync, rename, close or map files
 * below a folder, logs them, and makes one of them fail. It calls the kernel directly, so that nothing else changes.
 *
 *   IO_FOLDER  files below it count            IO_LOG     a line "KIND PATH" for each call, in order
 *   IO_AT      number of the call, from 1      IO_ACTION  fail, short, interrupt, truncate, replace, or a signal number
 *   IO_TARGET  the file that is truncated to no bytes or replaced by IO_OTHER: after the call if it is an mmap, or
 *              else before the call
 *   IO_ONLY    only the calls of processes with this argument count
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum action { action_none, action_fail, action_short, action_interrupt, action_lose };

static int calls;

static int has_argument(const char* argument) {
  char arguments[4096];
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t length = fd < 0 ? 0 : read(fd, arguments, sizeof arguments);
  syscall(SYS_close, fd);
  return length > 0 && memmem(arguments, (size_t)length, argument, strlen(argument) + 1) != NULL;
}

/* Truncates or replaces the file that is being read, as another process might. */
static void lose(void) {
  const char *target = getenv("IO_TARGET"), *other = getenv("IO_OTHER");
  if (target == NULL) return;
  if (strcmp(getenv("IO_ACTION"), "truncate") == 0) {
    if (truncate(target, 0) != 0) abort();
  } else if (other == NULL || syscall(SYS_renameat2, AT_FDCWD, other, AT_FDCWD, target, 0) != 0) {
    abort();
  }
}

/* Returns how this call must be changed. Raises the signal, or loses the file before a call that isn't an mmap. */
static enum action next(const char* kind, const char* path) {
  const char *folder = getenv("IO_FOLDER"), *log = getenv("IO_LOG"), *at = getenv("IO_AT"),
             *action = getenv("IO_ACTION");
  const char* only = getenv("IO_ONLY");
  if (only != NULL && !has_argument(only)) return action_none;
  if (folder == NULL || strncmp(path, folder, strlen(folder)) != 0) return action_none;
  const int number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (log != NULL) {
    char line[PATH_MAX + 32];
    const int length = snprintf(line, sizeof line, "%s %s\n", kind, path);
    const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd >= 0 && length > 0) {
      const long written = syscall(SYS_write, fd, line, (size_t)length);
      (void)written;
    }
    syscall(SYS_close, fd);
  }
  if (at == NULL || action == NULL || atoi(at) != number) return action_none;
  if (strcmp(action, "fail") == 0) return action_fail;
  if (strcmp(action, "short") == 0) return action_short;
  if (strcmp(action, "interrupt") == 0) return action_interrupt;
  if (strcmp(action, "truncate") == 0 || strcmp(action, "replace") == 0) {
    if (strcmp(kind, "mmap") == 0) return action_lose;
    lose();
    return action_none;
  }
  raise(atoi(action));
  return action_none;
}

static enum action next_of(const char* kind, int fd) {
  char link[64], path[PATH_MAX];
  const int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length < 0) return action_none;
  path[length] = '\0';
  return next(kind, path);
}

static long failed(int error) {
  errno = error;
  return -1;
}

ssize_t write(int fd, const void* bytes, size_t count) {
  switch (next_of("write", fd)) {
    case action_fail:
      return failed(ENOSPC);
    case action_interrupt:
      return failed(EINTR);
    case action_short:
      return syscall(SYS_write, fd, bytes, (count + 1) / 2);
    default:
      return syscall(SYS_write, fd, bytes, count);
  }
}

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  switch (next_of("pwrite", fd)) {
    case action_fail:
      return failed(ENOSPC);
    case action_interrupt:
      return failed(EINTR);
    case action_short:
      return syscall(SYS_pwrite64, fd, bytes, (count + 1) / 2, offset);
    default:
      return syscall(SYS_pwrite64, fd, bytes, count, offset);
  }
}

int fsync(int fd) {
  switch (next_of("fsync", fd)) {
    case action_fail:
      return (int)failed(EIO);
    case action_interrupt:
      return (int)failed(EINTR);
    default:
      return (int)syscall(SYS_fsync, fd);
  }
}

/* The descriptor is closed, whatever close() returns. */
int close(int fd) {
  const enum action action = next_of("close", fd);
  const int result = (int)syscall(SYS_close, fd);
  if (action == action_fail) return (int)failed(EIO);
  if (action == action_interrupt) return (int)failed(EINTR);
  return result;
}

int rename(const char* from, const char* to) {
  if (next("rename", to) == action_fail) return (int)failed(EIO);
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  const enum action action = fd >= 0 ? next_of("mmap", fd) : action_none;
  if (action == action_fail) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* pages = (void*)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
  if (action == action_lose) lose();
  return pages;
}
