//go:build unix

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/servicetest"
	"zonedeck/service/view"
)

func TestACutFileIsNotNamedByTheHashOfTheWhole(t *testing.T) {
	dir := t.TempDir()
	const room = 16 << 20 // what else this process writes, such as go test's own log, has room
	page := strings.Repeat("paid for ", room/8)
	hash := sha256.Sum256([]byte(page))
	servicetest.LimitFiles(t, room)
	var out view.Fetch
	attachBody(&out, model.BodyRef{Bytes: []byte(page), Size: int64(len(page)), SHA256: hex.EncodeToString(hash[:])}, dir)
	if out.BodyFile != "" || out.Body == nil || *out.Body != page {
		t.Errorf("file %q", out.BodyFile)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("left %v, %v", files, err)
	}
}
