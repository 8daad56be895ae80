package noerr

import (
	"errors"
	"fmt"
	"testing"
)

// record keeps what a test is told.
type record struct{ lines []any }

func (*record) Helper()             {}
func (r *record) Error(args ...any) { r.lines = append(append(r.lines, "error"), args...) }
func (r *record) Fatal(args ...any) { r.lines = append(append(r.lines, "fatal"), args...) }

func TestOnlyAnErrorIsReported(t *testing.T) {
	broke := errors.New("it broke")
	for name, c := range map[string]struct {
		check func(T, error)
		line  string
	}{"Must": {Must, "fatal"}, "Want": {Want, "error"}} {
		var r record
		c.check(&r, nil)
		if len(r.lines) != 0 {
			t.Errorf("%s without an error: %v", name, r.lines)
		}
		c.check(&r, broke)
		if len(r.lines) != 2 || r.lines[0] != c.line || fmt.Sprint(r.lines[1]) != "it broke" {
			t.Errorf("%s: %v", name, r.lines)
		}
	}
}
