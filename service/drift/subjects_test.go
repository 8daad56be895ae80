package drift

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"zonedeck/internal/noerr"
	"zonedeck/keystore/textfile"
)

// The editor gets the file that is there, whatever it is called, or the one that has to be mended first.
func TestTheContractToEditIsTheOneThatIsThere(t *testing.T) {
	dir := t.TempDir()
	d := Subjects{Monitor: NewMonitor(Config{ContractsDir: dir}), Profile: "p"}
	for name, text := range map[string]string{
		"shop.toml":   "dataset = \"gd_x\"\n",
		"broken.toml": "dataset = \"gd_y\"\nmin_rows = -1\n",
	} {
		noerr.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, want := range map[string]string{"gd_x": "shop.toml", "gd_y": "broken.toml", "gd_z": "dataset-gd_z.toml"} {
		if file, err := d.ToEdit(Dataset, name); err != nil || file != filepath.Join(dir, want) {
			t.Errorf("%s: %s, %v", name, file, err)
		}
	}
	var fault *textfile.Error
	if _, err := d.ContractFile(Dataset, "gd_y"); !errors.As(err, &fault) || fault.Line != 2 {
		t.Errorf("%v", err)
	}
}

// Contracts that cannot be read have no file to edit.
func TestAFolderIsNotGivenToTheEditor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "contracts")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file in its place
		t.Fatal(err)
	}
	d := Subjects{Monitor: NewMonitor(Config{ContractsDir: dir}), Profile: "p"}
	if file, err := d.ToEdit(Dataset, "gd_x"); err == nil || file != "" {
		t.Errorf("%q, %v", file, err)
	}
}
