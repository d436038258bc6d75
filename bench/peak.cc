// peak COMMAND...: runs it, its input and without its output, and prints the most memory it held and how long it took. From here and not
// from a script: a child's peak begins at what its parent held, and an interpreter holds more than a small program ever needs.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/meter.h"

int main(int count, char** words) {
  if (count < 2) return 2;
  const double begin = weir::bench::wall_us();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execv(words[1], words + 1);
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child || status != 0) return 1;
  weir::bench::figure("wall_ms", (weir::bench::wall_us() - begin) / 1000, "ms");
  weir::bench::figure("peak_mb", static_cast<double>(usage.ru_maxrss) / 1024, "MB");
}
