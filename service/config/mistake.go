package config

import (
	"fmt"
)

// MistakeError is a mistake in flags, environment or config file.
type MistakeError struct{ cause error }

func (e *MistakeError) Error() string { return e.cause.Error() }

func (e *MistakeError) Unwrap() error { return e.cause }

// Mistake makes a MistakeError of what fmt.Errorf makes.
func Mistake(format string, args ...any) error {
	return &MistakeError{fmt.Errorf(format, args...)}
}
