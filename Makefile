# Two commands are enough: `make run` and `make test`. Both do all set-up themselves.
.DEFAULT_GOAL := help
.PHONY: run test build asan bench fuzz soak check docs format clean help

CMAKE := cmake -G Ninja -S .
SECONDS_PER_TARGET ?= 60

run: build ## set up, build, and take the guided tour (weir demo)
	@build/release/bin/weir demo

test: setup-test release asan ## set up, build, and run every test
	@ctest --test-dir build/release --output-on-failure --no-tests=error -j 2

build: ## set up and build build/release/bin/weir
	@tools/setup build
	@$(CMAKE) -B build/release -DCMAKE_BUILD_TYPE=Release -DWEIR_TESTS=$(if $(wildcard build/release/.with-tests),ON,OFF) >build/cmake.log || { cat build/cmake.log; exit 1; }
	@cmake --build build/release --target weir_program

.PHONY: setup-test release
setup-test:
	@tools/setup test

release: setup-test
	@$(CMAKE) -B build/release -DCMAKE_BUILD_TYPE=Release -DWEIR_TESTS=ON >build/cmake.log || { cat build/cmake.log; exit 1; }
	@touch build/release/.with-tests
	@cmake --build build/release

asan: setup-test ## build the unit tests and fuzz targets with AddressSanitizer and UndefinedBehaviorSanitizer
	@$(CMAKE) -B build/asan -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DWEIR_SANITIZE=ON >build/cmake.log || { cat build/cmake.log; exit 1; }
	@cmake --build build/asan

fuzz: asan ## fuzz every target for a while (SECONDS_PER_TARGET=60)
	@tools/fuzz $(SECONDS_PER_TARGET)

bench: ## measure against peers and floors, as ratios of one interleaved run
	@tools/setup bench
	@$(CMAKE) -B build/release -DCMAKE_BUILD_TYPE=Release >build/cmake.log || { cat build/cmake.log; exit 1; }
	@cmake --build build/release
	@bench/run

soak: release ## long versions of the fault tests (minutes to hours)
	@tests/faults/soak

check: setup-test release ## format, tidy, and clang-tidy on changed files
	@tools/check

format: ## put every file into the project's format
	@git ls-files -co --exclude-standard '*.cc' '*.h' | xargs clang-format-19 -i

docs: build ## write docs/cli.md, man pages and completions from the table of commands, routes of docs/http.md from their own
	@tools/generate-docs
	@tools/generate-http-docs

clean: ## remove everything that was built; fetched sources stay
	@rm -rf build/release build/asan build/debug build/tsan

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
