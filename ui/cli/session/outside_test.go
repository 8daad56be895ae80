package session

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/profile"
)

func TestABodyOfTheHistoryIsShownOnlyAsItCame(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("EDITOR", "true")
	s := &Session{o: Options{Getenv: os.Getenv}, Paths: profile.Paths{Cache: dir}}
	edit := s.editBody()
	sum := sha256.Sum256([]byte("as it came"))
	b := model.BodyRef{File: filepath.Join(dir, "page.html"), Size: 10, SHA256: hex.EncodeToString(sum[:])}
	for text, want := range map[string]string{"as it came": "", "as it goes": b.File + " has changed since the body was received"} {
		if err := os.WriteFile(b.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := s.openBody(t.Context(), b)
		cmd, eerr := edit(t.Context(), b, "text/html")
		if want != "" {
			if err == nil || eerr == nil || !strings.Contains(err.Error(), want) || !strings.Contains(eerr.Error(), want) {
				t.Errorf("%q: %v, %v", text, err, eerr)
			}
			continue
		}
		if err != nil || eerr != nil {
			t.Fatal(err, eerr)
		}
		got, err := io.ReadAll(io.NewSectionReader(src.Reader, 0, src.Size))
		copied, cerr := os.ReadFile(cmd.(*editor).file)
		if err != nil || cerr != nil || string(got) != text || string(copied) != text || src.Close() != nil {
			t.Errorf("%q and %q, %v, %v", got, copied, err, cerr)
		}
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
	}
	if err := os.Remove(b.File); err != nil {
		t.Fatal(err)
	}
	if _, err := s.openBody(t.Context(), b); err == nil || !strings.Contains(err.Error(), "no longer exists") {
		t.Errorf("%v", err)
	}
}
