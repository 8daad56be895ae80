// Package noerr checks in tests that what had to go well went well. It knows nothing of the
// program, so that the tests of every package may use it, those of the emulator too.
package noerr

// T is what a test, a benchmark, a fuzz target and a property have in common.
type T interface {
	Helper()
	Error(args ...any)
	Fatal(args ...any)
}

// Must ends the test where there is an error.
func Must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Want fails the test where there is an error, and lets it go on.
func Want(t T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// From is the error of a call whose value is of no use.
func From[V any](_ V, err error) error { return err }
