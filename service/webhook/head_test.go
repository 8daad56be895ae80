package webhook

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

func TestTheBeginningOfABodyIsInflated(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	noerr.Must(t, noerr.From(z.Write([]byte(strings.Repeat("a", 5000)+"the end"))))
	noerr.Must(t, z.Close())
	gz := []model.WebhookHeader{{Name: "content-encoding", Value: "GZIP"}}
	for name, c := range map[string]struct {
		body    []byte
		headers []model.WebhookHeader
		most    int64
		raw     int
		plain   string // its end
		none    bool
	}{
		"plain":                     {[]byte("{}"), nil, 100, 2, "", true},
		"gzip":                      {packed.Bytes(), gz, 10_000, packed.Len(), "athe end", false},
		"gzip, more than is asked":  {packed.Bytes(), gz, 1000, packed.Len(), "aaa", false},
		"gzip that is cut":          {packed.Bytes()[:packed.Len()/2], gz, 10_000, packed.Len() / 2, "", false},
		"called gzip, and is none":  {[]byte("{}"), gz, 100, 2, "", true},
		"packed, and not called so": {packed.Bytes(), nil, 100, packed.Len(), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "body")
			noerr.Must(t, os.WriteFile(file, c.body, 0o600))
			h, err := HeadOf(model.Webhook{File: file, Headers: c.headers}, c.most)
			if err != nil || len(h.Raw) != int(min(int64(c.raw), c.most)) || (h.Plain == nil) != c.none || !strings.HasSuffix(string(h.Plain), c.plain) || len(h.Plain) > int(c.most) {
				t.Errorf("%d raw, %d plain ending in %.20q, %v", len(h.Raw), len(h.Plain), string(h.Plain[max(0, len(h.Plain)-20):]), err)
			}
		})
	}
	if _, err := HeadOf(model.Webhook{File: filepath.Join(t.TempDir(), "none")}, 1); err == nil {
		t.Error("a file that is gone")
	}
}
