package keystore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"filippo.io/age"

	"zonedeck/internal/noerr"
)

func TestAnIdentityIsReadPastCommentsAndSpace(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	noerr.Must(t, err)
	path := filepath.Join(t.TempDir(), "key")
	for text, want := range map[string]string{
		id.String(): "",
		"# a comment\n\n \t\n  # another\n  " + id.String() + " \r\nmore": "",
		"":                       path + " is empty",
		"# a comment\n\n":        path + " is empty",
		id.String() + "x\n":      path + " holds no X25519 identity (AGE-SECRET-KEY-1…)",
		"x\n" + id.String():      path + " holds no X25519 identity (AGE-SECRET-KEY-1…)",
		"#" + id.String() + "\n": path + " is empty",
	} {
		noerr.Must(t, os.WriteFile(path, []byte(text), 0o600))
		got, err := identityOf(t, path)
		switch {
		case want != "":
			if got != nil || err == nil || err.Error() != want {
				t.Errorf("%q: %v, %v; want %s", text, got, err, want)
			}
		case err != nil || got.String() != id.String():
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestAnIdentityThatAnyoneElseCanReachIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not kept on Windows")
	}
	path := filepath.Join(t.TempDir(), "key")
	noerr.Must(t, os.WriteFile(path, nil, 0o600))
	for _, mode := range []fs.FileMode{0o640, 0o620, 0o610, 0o604, 0o602, 0o601} {
		noerr.Must(t, os.Chmod(path, mode))
		want := path + " can be read by other users: run chmod 600 on it"
		if id, err := identityOf(t, path); id != nil || err == nil || err.Error() != want {
			t.Errorf("%v: %v, %v", mode, id, err)
		}
	}
}

func TestTheSecretsFolderAndItsKeyMustBeThere(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if b, err := readInside(gone, "a"); b != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading: %q, %v", b, err)
	}
	if b, err := readInside(t.TempDir(), "a"); b != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a file that is not there: %q, %v", b, err)
	}
	if err := writeInside(gone, "a", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("writing: %v", err)
	}
	if id, err := identityOf(t, gone); id != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the key: %v, %v", id, err)
	}
	folder := filepath.Join(t.TempDir(), "folder")
	noerr.Must(t, os.Mkdir(folder, 0o700))
	if id, err := identityOf(t, folder); id != nil || err == nil || strings.Contains(err.Error(), "is empty") {
		t.Errorf("a folder in place of the key: %v, %v", id, err)
	}
	if id, err := makeIdentity(gone+".key", gone); id != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("making a key for it: %v, %v", id, err)
	}
}

func TestAKeyIsMadeOnceAndIsOnDiskBeforeItIsUsed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "key")
	made, err := makeIdentity(path, dir)
	noerr.Must(t, err)
	if read, err := identityOf(t, path); err != nil || read.String() != made.String() {
		t.Errorf("read back as %v, %v", read, err)
	}
	if id, err := makeIdentity(filepath.Join(path, "below a file"), dir); id != nil || err == nil {
		t.Errorf("a key that cannot be written: %v, %v", id, err)
	}
	noerr.Must(t, os.WriteFile(filepath.Join(dir, "a.age"), nil, 0o600))
	want := fmt.Sprintf("%s is missing, and %s holds files that were made with it: restore it, or move them away", path, dir)
	if id, err := makeIdentity(path, dir); id != nil || err == nil || err.Error() != want {
		t.Errorf("beside files of a lost key: %v, %v", id, err)
	}
}

func TestTheLargestSecretFitsIntoAFile(t *testing.T) {
	r := NewResolver(ResolverOptions{SecretsDir: filepath.Join(t.TempDir(), "secrets")})
	want := strings.Repeat("s", maxSecret)
	noerr.Must(t, r.Store(t.Context(), "file:a", NewSecret(want)))
	if got, err := r.Resolve(t.Context(), "file:a"); err != nil || got.Reveal() != want {
		t.Errorf("%d bytes came back, %v", len(got.Reveal()), err)
	}
}

// identityOf is the key in an unprotected file.
func identityOf(t *testing.T, path string) (*age.X25519Identity, error) {
	t.Helper()
	return NewResolver(ResolverOptions{SecretsDir: filepath.Dir(path), AgeIdentityFile: path}).identity(t.Context())
}
