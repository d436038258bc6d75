# The headers of the standard library and of the test framework are parsed once, and not in each of a thousand compilations. A
# precompiled header serves only files that are compiled with the same flags: so there is one for layers and one for their tests.
set(WEIR_STANDARD_HEADERS
  <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <cstdint> <cstring> <deque> <functional> <list> <map>
  <memory> <mutex> <optional> <set> <span> <string> <string_view> <thread> <utility> <variant> <vector>)
set(WEIR_TEST_FLAGS -O0 -U_FORTIFY_SOURCE $<$<BOOL:${WEIR_SANITIZE}>:-fno-sanitize=undefined,fuzzer-no-link>)

# An object library whose only file is empty: it owns the precompiled header.
function(weir_precompiled name)
  cmake_parse_arguments(OF "" "" "HEADERS;FLAGS;LIBS" ${ARGN})
  set(empty ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  if(NOT EXISTS ${empty})
    file(WRITE ${empty} "")
  endif()
  add_library(${name} OBJECT ${empty})
  target_link_libraries(${name} PRIVATE weir_flags ${OF_LIBS})
  target_compile_options(${name} PRIVATE ${OF_FLAGS})
  target_precompile_headers(${name} PRIVATE ${OF_HEADERS})
endfunction()

weir_precompiled(weir_standard HEADERS ${WEIR_STANDARD_HEADERS})
if(WEIR_TESTS)
  find_package(GTest REQUIRED)
  find_library(WEIR_RAPIDCHECK rapidcheck REQUIRED)
  weir_precompiled(weir_test_framework HEADERS ${WEIR_STANDARD_HEADERS} <gtest/gtest.h> <gmock/gmock.h> <rapidcheck.h> <rapidcheck/gtest.h>
    FLAGS ${WEIR_TEST_FLAGS} LIBS GTest::gtest GTest::gmock)
endif()
