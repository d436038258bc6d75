# Flags of our own code. Warnings are errors on the compiler the project pins (g++ 12).
add_library(weir_flags INTERFACE)
target_compile_options(weir_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror
  # g++ 12 warns of std::string's own bodies where they come out of a precompiled header, and is wrong.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers -Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-field-initializers -Wno-missing-designated-field-initializers -Wno-unknown-warning-option
  # libstdc++ 12's std::stable_sort calls what libstdc++ itself calls deprecated.
  -Wno-deprecated-declarations>)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")

# Everywhere alike: a precompiled header serves no file for which it says something else.
add_compile_options(-pthread)
# So that the compiler cache can tell what a precompiled header holds.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")

# Hardening (S19); the sanitizers bring their own.
if(NOT WEIR_SANITIZE AND NOT WEIR_TSAN)
  add_compile_options(-fstack-protector-strong -fPIE $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
  add_link_options(-pie -Wl,-z,relro,-z,now)
endif()
if(WEIR_SANITIZE)
  # clang's, for the tests and the fuzz targets alike: fuzzer-no-link only adds what guides a fuzzer.
  add_compile_options(-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined,fuzzer-no-link)
endif()
if(WEIR_TSAN)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE)
  # Paths below the project are cached as relative ones: a clone elsewhere finds what this one compiled.
  # What a precompiled header needs to be cached: it is compared by its content, and not by when its headers were made.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${WEIR_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()
find_program(WEIR_MOLD mold)
if(WEIR_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
