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

// Got is what a call gave, and its error.
type Got[V any] struct {
	value V
	err   error
}

// Try keeps what a call gave.
func Try[V any](v V, err error) Got[V] { return Got[V]{v, err} }

// Must is the value; it ends the test where there is an error.
func (g Got[V]) Must(t T) V {
	t.Helper()
	Must(t, g.err)
	return g.value
}
