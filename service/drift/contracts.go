package drift

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// Contract finds the contract of a collector; nil without one. Its error is a *textfile.Error or what
// the file system said.
func (m *Monitor) Contract(kind Kind, name string) (*Contract, error) {
	if m.cfg.ContractsDir == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	c, err := ReadContract(m.ContractFile(kind, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	if c.Kind != kind || c.Name != name {
		return nil, &textfile.Error{File: c.File, Msg: fmt.Sprintf("the contract is of %s %q", c.Kind, model.Line(c.Name, 80)), Expected: fmt.Sprintf("%s = %q in this file", kind, name)}
	}
	return &c, nil
}

// ReadContract reads a file with a contract.
func ReadContract(file string) (Contract, error) {
	text, err := textfile.ReadBounded(file, textfile.MaxSize)
	if err != nil {
		return Contract{}, err
	}
	return ParseContract(file, text)
}

// ContractFile is the file with the contract of a collector.
func (m *Monitor) ContractFile(kind Kind, name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r) {
			return r
		}
		return '_'
	}, name)
	if plain != name || plain != strings.ToLower(plain) || len(plain) > 80 { // another name may come to the same
		plain = fmt.Sprintf("%s-%08x", model.Cut(plain, 60), uint32(keyOf(name))) //nolint:gosec // the low half will do
	}
	return filepath.Join(m.cfg.ContractsDir, string(kind)+"-"+plain+".toml")
}

// WriteContract writes the proposed contract of a collector, and names its file. Without over a file that is
// there stays, and the error wraps fs.ErrExist.
func (m *Monitor) WriteContract(r Run, over bool) (string, error) {
	file := m.ContractFile(r.Kind, r.Name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return file, err
	}
	if _, err := os.Lstat(file); err == nil && !over {
		return file, fmt.Errorf("%s: %w", file, fs.ErrExist)
	}
	return file, textfile.Write(file, Propose(r))
}

// FirstGood is the oldest good run of a collector that is stored, which a contract is proposed from; the
// newest one where it has been accepted.
func (m *Monitor) FirstGood(ctx context.Context, c Collector) (Run, error) {
	store, err := m.cfg.Open(ctx)
	if err != nil {
		return Run{}, err
	}
	accepted, err := store.LastAccepted(ctx, c)
	if err != nil {
		return Run{}, err
	}
	all, err := store.Runs(ctx, c, DefaultKeep().Runs+GoodRuns)
	if err != nil {
		return Run{}, err
	}
	if len(all) == 0 {
		return Run{}, fmt.Errorf("%s: %w", model.Line(c.Name, 80), ErrUnknown)
	}
	for _, r := range slices.Backward(all) {
		if accepted.Seq > 0 && r.At.Before(accepted.RunAt) {
			continue
		}
		if r.State.Compared() || r.Seq == accepted.RunSeq {
			return r, nil
		}
	}
	return Run{}, fmt.Errorf("%s: %w", model.Line(c.Name, 80), ErrNoGood)
}

// ErrNoGood says that no run of a collector was good.
var ErrNoGood = errors.New("no good run of it is stored")
