package keystore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"zonedeck/model"
)

// The limits of ReadEnv: the number of .env files, and the size of each in bytes.
const (
	maxEnvFiles = 5000
	maxEnvFile  = 1 << 20
)

// ReadEnv finds the keys that the .env files in a folder and its subfolders set: variables whose
// names end with one of endings ("_API_KEY"). A key gets the name of its variable and a reference
// to it; its value is fingerprinted and dropped. The same value in several files is one key.
// A note says which variable with such a name was left out, because its value is no key. Symbolic links are not
// followed.
func ReadEnv(ctx context.Context, folder string, endings []string) (found []model.Key, notes []string, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	files := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case entry.IsDir() && (base == ".git" || base == "node_modules"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !strings.HasPrefix(base, ".env") && path.Ext(base) != ".env":
			return nil
		}
		if files++; files > maxEnvFiles {
			return errors.New("there are too many files: import a smaller folder")
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, maxEnvFile+1))
		if len(text) > maxEnvFile {
			return fmt.Errorf("%s is larger than %d MiB", filepath.Join(folder, filepath.FromSlash(name)), maxEnvFile>>20)
		}
		for line := range strings.Lines(string(text)) {
			place := filepath.Join(folder, filepath.FromSlash(name))
			variable, value, marks, ok := envLine(line, endings)
			if marks != "" {
				notes = append(notes, variable+" of "+place+": "+marks+" at the ends was taken off")
			}
			switch why := notKey(value); {
			case !ok:
			case why != "":
				notes = append(notes, variable+" of "+place+" is left out: "+why)
			default:
				found = addEnv(found, variable, value, place)
			}
		}
		return err
	})
	return found, notes, err
}

// envLine parses a line of a .env file. marks names those that were taken off the ends of the line and of the value. ok is false
// if the line sets no variable whose name fits.
func envLine(line string, endings []string) (name, value, marks string, ok bool) {
	line, around := model.TrimMarks(line)
	if rest, exported := strings.CutPrefix(line, "export "); exported {
		line = strings.TrimSpace(rest)
	}
	name, value, ok = strings.Cut(line, "=")
	name = strings.TrimSpace(name)
	if !ok || !isEnvName(name) || !slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(strings.ToUpper(name), strings.ToUpper(end)) }) {
		return "", "", "", false
	}
	value, before := model.TrimMarks(value)
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		value, _, _ = strings.Cut(value[1:], value[:1])
	} else {
		value, _, _ = strings.Cut(value, " #")
	}
	value, within := model.TrimMarks(value)
	all := slices.DeleteFunc([]string{around, before, within}, func(marks string) bool { return marks == "" })
	return name, value, strings.Join(slices.Compact(all), ", "), true
}

// notKey says why a value is no key; empty if it may be one.
func notKey(value string) string {
	switch {
	case value == "":
		return "it has no value"
	case strings.HasPrefix(value, "$"):
		return "its value refers to another variable"
	case len(value) < shortest:
		return fmt.Sprintf("its value is shorter than %d characters: no key is", shortest)
	}
	return ""
}

// addEnv adds the key in a variable, unless the list has its value already.
func addEnv(keys []model.Key, name, value, place string) []model.Key {
	secret := NewSecret(value)
	k := model.Key{Name: name, Secret: SchemeEnv + ":" + name, Fingerprint: secret.Fingerprint(), Last4: secret.Last4(), Note: "found in " + place}
	for i := range keys {
		if keys[i].Fingerprint == k.Fingerprint {
			return keys
		}
		if keys[i].Name == k.Name {
			k.Name = name + " " + k.Last4 // another value under the same variable
		}
	}
	return append(keys, k)
}
