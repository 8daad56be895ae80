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

// Look is that of a [Store].
func (f Files) Look(ctx context.Context, c Call, _ bool, look func(z *Zone, signs Signs)) error {
	return f.update(ctx, c, false, func(z *Zone) { look(z, f) })
}

// Learn is that of a [Store].
func (f Files) Learn(ctx context.Context, o Outcome) (says string, err error) {
	err = f.update(ctx, o.Call, o.Urgent(), func(z *Zone) { says = o.To(z, f) })
	return says, err
}

// update changes a zone that is remembered; one that is not only if begin says so.
func (f Files) update(ctx context.Context, c Call, begin bool, change func(z *Zone)) error {
	file := filepath.Join(f.Dir, fmt.Sprintf("%.16x.json", sha256.Sum256([]byte(c.Profile+"\x00"+c.Zone))))
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

// Sign is that of [Signs].
func (f Files) Sign(Call) (Sign, error) {
	sign, err := textfile.NewSign(f.signs())
	if err != nil {
		return nil, err
	}
	return sign, nil
}

// Ahead is that of a [Store].
func (Files) Ahead() time.Duration { return 0 }
