#include "cli/demo_session.h"

// The file goes into the program as it is; making it a C++ literal would cost a minute of compiling.
asm(".section .rodata\n"
    ".global weir_demo_session_begin\n"
    ".global weir_demo_session_end\n"
    "weir_demo_session_begin:\n"
    ".incbin \"" WEIR_DEMO_SESSION
    "\"\n"
    "weir_demo_session_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const char weir_demo_session_begin[];
extern const char weir_demo_session_end[];
}

namespace weir::cli {

std::string_view demo_session() {
  return {weir_demo_session_begin, static_cast<std::size_t>(weir_demo_session_end - weir_demo_session_begin)};
}

}  // namespace weir::cli
