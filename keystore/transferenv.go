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

// EnvKey is a key that a .env file sets.
type EnvKey struct {
	Key   model.Key
	Place string // the file
}

// maxEnvFiles and maxEnvFile bound a look through .env files.
const (
	maxEnvFiles = 5000
	maxEnvFile  = 1 << 20
)

// ReadEnv finds the keys that the .env files of a folder set, the folders in it included: variables
// whose name ends with one of endings ("_API_KEY"). A key gets the name of its variable as its
// name, and a reference to it; its value is fingerprinted and dropped. The same value in several
// files is one key. Symbolic links are not followed.
func ReadEnv(ctx context.Context, folder string, endings []string) ([]EnvKey, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	var out []EnvKey
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
			out = addEnv(out, line, endings, filepath.Join(folder, filepath.FromSlash(name)))
		}
		return err
	})
	return out, err
}

// addEnv adds the key that a line of a .env file sets, if it sets one.
func addEnv(keys []EnvKey, line string, endings []string, place string) []EnvKey {
	line = strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(line, "export "); ok {
		line = strings.TrimSpace(rest)
	}
	name, value, ok := strings.Cut(line, "=")
	name = strings.TrimSpace(name)
	if !ok || !isEnvName(name) || !slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(strings.ToUpper(name), strings.ToUpper(end)) }) {
		return keys
	}
	value = strings.TrimSpace(value)
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		value, _, _ = strings.Cut(value[1:], value[:1])
	} else {
		value, _, _ = strings.Cut(value, " #")
		value = strings.TrimSpace(value)
	}
	if len(value) < shortest || strings.HasPrefix(value, "$") {
		return keys // no key: a placeholder, or another variable
	}
	secret := NewSecret(value)
	k := model.Key{Name: name, Secret: SchemeEnv + ":" + name, Fingerprint: secret.Fingerprint(), Last4: secret.Last4(), Note: "found in " + place}
	for i := range keys {
		if keys[i].Key.Fingerprint == k.Fingerprint {
			return keys
		}
		if keys[i].Key.Name == k.Name {
			k.Name = name + " " + k.Last4 // another value under the same variable
		}
	}
	return append(keys, EnvKey{k, place})
}
