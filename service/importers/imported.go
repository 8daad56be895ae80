package importers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zonedeck/model"
	"zonedeck/service/config"
)

// Imported is a request that was read.
type Imported struct {
	// Source says what it was: "curl, API Access".
	Source string
	// Request has only what was given: an empty zone, access method or format, a zero
	// Timeout and negative Retries mean that nothing was said. Its texts may hold variables.
	Request model.FetchRequest
	// Replaced are sentences about secrets that were left behind and what stands for them.
	// Left are those about what the form cannot express.
	Replaced, Dropped []string
}

// Known is what tells calls of the service from others, and keys by their references.
type Known struct {
	Profile config.Profile
	Keys    []model.Key
}

// errImport is wrapped by every refusal. Its texts never quote what was read.
var errImport = errors.New("it cannot be read")

// maxText bounds a pasted command, in bytes.
const maxText = 128 << 10

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errImport, fmt.Sprintf(format, args...))
}

func (i *Imported) dropped(format string, args ...any) {
	i.Dropped = addOnce(i.Dropped, fmt.Sprintf(format, args...))
}

func (i *Imported) replaced(format string, args ...any) {
	i.Replaced = addOnce(i.Replaced, fmt.Sprintf(format, args...))
}

func addOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// Taken names the fields that the request fills.
func (i Imported) Taken() []string {
	var out []string
	r := i.Request
	add := func(is bool, words string) {
		if is {
			out = append(out, words)
		}
	}
	add(r.Zone.Name != "", "zone "+string(r.Zone.Name))
	add(r.URL != "", "URL")
	add(r.Via != "", "via "+r.Via.String())
	add(r.Format != "", "format "+string(r.Format))
	add(r.Key != "", "key "+r.Key)
	add(r.Method != "", "method "+r.Method)
	n := 0
	for _, values := range r.Header {
		n += len(values)
	}
	add(n == 1, "1 header")
	add(n > 1, fmt.Sprintf("%d headers", n))
	add(r.Body != "", fmt.Sprintf("body of %d bytes", len(r.Body)))
	add(r.Country != "", "country "+r.Country)
	add(r.Session != "", "session "+r.Session)
	add(r.Timeout > 0, "timeout "+r.Timeout.String())
	add(r.Retries >= 0, fmt.Sprintf("%d retries", r.Retries))
	return out
}

// Summary says in one text what was taken and what was not.
func (i Imported) Summary() string {
	parts := []string{i.Source + ": " + strings.Join(i.Taken(), ", ") + "."}
	for _, s := range slices.Concat(i.Replaced, i.Dropped) {
		parts = append(parts, strings.ToUpper(s[:1])+s[1:]+".")
	}
	return strings.Join(parts, " ")
}
