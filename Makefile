# SPDX-License-Identifier: Apache-2.0
# One line per task; each is a preset or a script that can be run by itself.
.PHONY: demo ci build test asan tsan tidy format check-format check-floors check-laws fuzz headers nightly check-trixie check-bundle bundle soak bench clean
demo:          ; scripts/demo.sh
ci:            ; scripts/test.sh
build:         ; cmake --preset release && cmake --build --preset release
test:          ; cmake --preset debug && cmake --build --preset debug && ctest --preset debug
asan:          ; cmake --preset asan && cmake --build --preset asan && ctest --preset asan
tsan:          ; cmake --preset tsan && cmake --build --preset tsan --target sandbox_test sandbox_lifetime_test sandbox_limits_test regatta-sandbox && ctest --preset tsan -R '^sandbox_(test|lifetime_test|limits_test)$$'
tidy:          ; scripts/tidy.sh
format:        ; git ls-files '*.cpp' '*.hpp' | xargs clang-format -i
check-format:  ; git ls-files '*.cpp' '*.hpp' | xargs clang-format --dry-run -Werror
check-floors:  ; python3 scripts/check_floors.py build/debug
check-laws:    ; python3 scripts/check_laws.py
fuzz:          ; scripts/fuzz.sh
headers:       ; cmake --preset debug && cmake --build --preset debug --target all_verify_interface_header_sets
nightly:       ; $(MAKE) test && $(MAKE) headers && $(MAKE) tidy && $(MAKE) asan && $(MAKE) fuzz
check-trixie:  ; scripts/check_trixie.sh
check-bundle:  ; scripts/check_bundle.sh "$$(scripts/bundle.sh)"
bundle:        ; scripts/bundle.sh
soak:          ; REGATTA_KILLS=100 REGATTA_SOURCE_DIR=$(CURDIR) REGATTA_BIN_DIR=$(CURDIR)/build/debug/bin python3 tests/race/resume.py kills
bench:         ; bench/run.sh
clean:         ; rm -rf build
