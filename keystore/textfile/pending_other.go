//go:build !unix

package textfile

import (
	"crypto/rand"
	"errors"
	"os"
)

// pending does what renameio's file of that name does, where renameio does not
// build.
type pending struct {
	*os.File
	root         *os.Root
	temp, target string
	replaced     bool
}

func newPending(root *os.Root, name string) (*pending, error) {
	temp := "." + name + rand.Text()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &pending{File: f, root: root, temp: temp, target: name}, nil
}

// CloseAtomicallyReplace syncs, closes and renames.
func (p *pending) CloseAtomicallyReplace() error {
	if err := errors.Join(p.Sync(), p.Close()); err != nil {
		return err
	}
	if err := p.root.Rename(p.temp, p.target); err != nil {
		return err
	}
	p.replaced = true
	return nil
}

// Cleanup removes the temporary file unless it has replaced the target.
func (p *pending) Cleanup() error {
	if p.replaced {
		return nil
	}
	_ = p.Close() // it may be closed already
	return p.root.Remove(p.temp)
}

// syncFolder does nothing: folders cannot be synced here.
func syncFolder(*os.Root) error { return nil }
