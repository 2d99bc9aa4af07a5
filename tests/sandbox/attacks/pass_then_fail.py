# SPDX-License-Identifier: Apache-2.0
import sys

print("PASS", flush=True)
print("ALL_TESTS_PASSED", flush=True)
sys.exit(1)
