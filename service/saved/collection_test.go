package saved

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func names(t *testing.T, s *Store) []string {
	t.Helper()
	list, err := s.List(t.Context())
	noerr.Must(t, err)
	var out []string
	for _, e := range list {
		out = append(out, e.Name)
	}
	return out
}

func TestRequestsStandInFolders(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	for _, name := range []string{"shop/de/cart", "b", "shop/a", "Shop2/x", "A"} {
		noerr.Must(t, noerr.From(s.Save(t.Context(), name, full(), false)))
	}
	if got, want := names(t, s), []string{"A", "b", "shop/a", "shop/de/cart", "Shop2/x"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if r, err := s.Load(t.Context(), "shop/de/cart"); err != nil || r.URL != full().URL {
		t.Errorf("%+v, %v", r, err)
	}
	// A link leads nowhere, and no name leaves the folder.
	outside := t.TempDir()
	write(t, outside, "x.toml", "zone = \"z\"\nurl = \"http://a/\"\n")
	noerr.Must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	if got := names(t, s); slices.Contains(got, "link/x") {
		t.Errorf("%q", got)
	}
	if _, err := s.Load(t.Context(), "link/x"); err == nil {
		t.Error("a name leads through a link out of the folder")
	}
	for _, name := range []string{"../a", "a/../../b", "/a", "a/", "a//b", ".deleted/a", "a/b/c/d/e/f", "a\\b", "con/a"} {
		if err := CheckName(name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestARequestIsRenamed(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	for _, name := range []string{"a/b/c", "a/d", "e"} {
		noerr.Must(t, noerr.From(s.Save(t.Context(), name, full(), false)))
	}
	for _, c := range []struct {
		from, to string
		want     error
		left     []string
	}{
		{"a/b/c", "f/c", nil, []string{"e", "a/d", "f/c"}},
		{"e", "f/c", ErrExists, []string{"e", "a/d", "f/c"}},
		{"e", "e", nil, []string{"e", "a/d", "f/c"}},
		{"f", "g/h", nil, []string{"e", "a/d", "g/h/c"}}, // a folder
		{"a", "g", ErrExists, []string{"e", "a/d", "g/h/c"}},
		{"none", "x", ErrNotFound, []string{"e", "a/d", "g/h/c"}},
		{"e", "../e", ErrName, []string{"e", "a/d", "g/h/c"}},
	} {
		if err := s.Rename(t.Context(), c.from, c.to); !errors.Is(err, c.want) {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
		if got := names(t, s); !slices.Equal(got, c.left) {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, got, c.left)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "a", "b")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder is left: %v", err)
	}
}

func TestADeletedRequestIsRestored(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "requests"))
	if err := s.Restore(t.Context(), "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("without a folder: %v", err)
	}
	save := func(name, url string) {
		t.Helper()
		r := full()
		r.URL = url
		noerr.Must(t, noerr.From(s.Save(t.Context(), name, r, false)))
	}
	for i := range 2 {
		save("a/b", fmt.Sprintf("http://lab.test/%d", i))
		noerr.Must(t, s.Delete(t.Context(), "a/b"))
	}
	if got := names(t, s); len(got) != 0 {
		t.Errorf("%q", got)
	}
	noerr.Must(t, s.Restore(t.Context(), "a/b"))
	if r, err := s.Load(t.Context(), "a/b"); err != nil || r.URL != "http://lab.test/1" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.Restore(t.Context(), "a/b"); !errors.Is(err, ErrExists) {
		t.Errorf("over another: %v", err)
	}
	for i := range MaxDeleted {
		name := fmt.Sprintf("n%d", i)
		save(name, "http://lab.test/")
		noerr.Must(t, s.Delete(t.Context(), name))
	}
	noerr.Must(t, s.Delete(t.Context(), "a/b"))
	files, err := os.ReadDir(s.DeletedDir())
	if err != nil || len(files) != MaxDeleted {
		t.Errorf("%d are kept, %v", len(files), err)
	}
	if err := s.Restore(t.Context(), "n0"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the oldest: %v", err)
	}
	if err := s.Restore(t.Context(), "n1"); err != nil {
		t.Errorf("the next: %v", err)
	}
}

func TestASecretHeaderMayBeAVariable(t *testing.T) {
	dir := t.TempDir()
	r := model.FetchRequest{URL: "http://lab.test/{{q}}", Header: http.Header{
		"Authorization": {"Bearer {{token}}"}, "X-Api-Key": {"{{key}}"}, "Cookie": {"sid=1; a={{b}}"},
	}}
	omitted, err := New(dir).Save(t.Context(), "v", r, false)
	if err != nil || !slices.Equal(omitted, []string{"Cookie"}) {
		t.Errorf("%q, %v", omitted, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "v.toml"))
	if err != nil || !strings.Contains(string(b), "Bearer {{token}}") || strings.Contains(string(b), "sid=1") {
		t.Errorf("%s, %v", b, err)
	}
}
