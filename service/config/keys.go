package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"zonedeck/keystore/textfile"
	"zonedeck/model"
)

// Keys is the [keys] table of config.toml: what holds for the keys of every profile.
type Keys struct {
	// Intervals are the days after which a value is to be made anew, by level; a level without
	// one has model.RotationDays.
	Intervals map[model.Level]int
	// Scan are the folders, absolute, that are looked through for what uses a key.
	Scan []string
}

// Apply puts the interval of the key's level into the key.
func (s Keys) Apply(k model.Key) model.Key {
	k.Rotation.Interval = s.Intervals[k.Level]
	return k
}

type keysEntry struct {
	RotationDays map[string]int `toml:"rotation_days"`
	Scan         []string       `toml:"scan"`
}

// maxInterval is ten years.
const maxInterval = 3650

func (e keysEntry) keys(dir string, doc textfile.Doc) (Keys, error) {
	out := Keys{Intervals: map[model.Level]int{}}
	for _, name := range slices.Sorted(maps.Keys(e.RotationDays)) {
		level, err := model.ParseLevel(name)
		if err != nil || level == model.LevelUnknown {
			return Keys{}, doc.Fault(textfile.At("keys", "rotation_days", name), fmt.Sprintf("%q is not a permission level", name), "ADMIN, FINANCE, OPS, LIMIT or USER")
		}
		days := e.RotationDays[name]
		if days < 1 || days > maxInterval {
			return Keys{}, doc.Fault(textfile.At("keys", "rotation_days", name), fmt.Sprintf("%d days cannot be an interval", days), fmt.Sprintf("a number of days from 1 to %d", maxInterval))
		}
		out.Intervals[level] = days
	}
	for i, folder := range e.Scan {
		if folder == "" {
			return Keys{}, doc.Fault(textfile.At("keys", "scan", i), "a folder has no name", "a path, relative to the folder of this file if it is not absolute")
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		out.Scan = append(out.Scan, filepath.Clean(folder))
	}
	return out, nil
}

// Keys is the [keys] table.
func (f File) Keys() Keys { return f.keys }
