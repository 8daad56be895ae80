package pace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"zonedeck/keystore/textfile"
)

// maxFile bounds the file of a zone, in bytes.
const maxFile = 256 << 10

// Files keeps each zone in a file of its own, for the processes of one user. There is none until a zone was refused.
type Files struct{ Dir string }

// Update is that of a [Store].
func (f Files) Update(ctx context.Context, profile, zone string, begin bool, change func(z *Zone)) error {
	file := filepath.Join(f.Dir, fmt.Sprintf("%.16x.json", sha256.Sum256([]byte(profile+"\x00"+zone))))
	if _, err := os.Stat(file); !begin && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := textfile.Lock(ctx, file)
	if err != nil {
		return err
	}
	defer unlock()
	text, err := textfile.ReadBounded(file, maxFile)
	z := ReadZone(text)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		z.damaged = true
	}
	maps.DeleteFunc(z.Places, func(sign, _ string) bool { return !textfile.Alive(f.signs(), sign) })
	change(&z)
	if z.Blank() {
		return os.RemoveAll(file)
	}
	after, err := json.Marshal(z)
	if err != nil || bytes.Equal(after, text) {
		return err
	}
	return textfile.Write(file, after)
}

func (f Files) signs() string { return filepath.Join(f.Dir, "alive") }

// Sign is that of a [Store].
func (f Files) Sign(Call) (Sign, error) {
	sign, err := textfile.NewSign(f.signs())
	if err != nil {
		return nil, err
	}
	return sign, nil
}

// Ahead is that of a [Store].
func (Files) Ahead() time.Duration { return 0 }
