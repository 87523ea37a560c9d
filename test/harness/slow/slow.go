// Package slow marks the tests that `make check` and `make test` leave out.
package slow

import "testing"

// Test skips the test under -short. A test is slow if it takes more than a few seconds, starts a control plane of its own, or repeats
// over a real control plane what another story there already connects. `make test-all` and CI run it.
func Test(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: runs without -short, as in make test-all")
	}
}
