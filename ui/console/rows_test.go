package console

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/service"
)

// A kill while rows are written leaves no file of their name, which the next export would be refused for.
func TestRowsAreSavedWholeUnderANewName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.ndjson")
	name, err := saveNew(path, func(w io.Writer) error {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("it is there already: %v", err)
		}
		_, err := io.WriteString(w, "{}\n")
		return err
	})
	if b, rerr := os.ReadFile(path); err != nil || rerr != nil || name != path || string(b) != "{}\n" {
		t.Errorf("%s holds %q: %v, %v", name, b, err, rerr)
	}
	if _, err := saveNew(path, func(io.Writer) error { return nil }); err == nil || !strings.Contains(err.Error(), "is there already: choose another name") {
		t.Errorf("%v", err)
	}
}

func TestRowsAreSavedAndOpenedInTheHomeFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	path := filepath.Join(home, "rows.ndjson")
	name, err := saveNew("~/rows.ndjson", func(w io.Writer) error {
		_, err := io.WriteString(w, "{}\n")
		return err
	})
	if err != nil || name != path {
		t.Fatalf("%s, %v", name, err)
	}
	file, err := (&service.Service{}).OpenNamedResult(t.Context(), "~/rows.ndjson")
	noerr.Must(t, err)
	if file.Path() != path {
		t.Errorf("%s", file.Path())
	}
	noerr.Want(t, file.Close())
}
